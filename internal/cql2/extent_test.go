package cql2_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
)

func TestExtentPromisesOnlyWhatHolds(t *testing.T) {
	t.Parallel()
	schema := columns{"g": cql2.TypeGeometry, "h": cql2.TypeGeometry, "a": cql2.TypeInteger}
	b := func(v ...float64) (out []orb.Bound) {
		for i := 0; i < len(v); i += 4 {
			out = append(out, orb.Bound{Min: orb.Point{v[i], v[i+1]}, Max: orb.Point{v[i+2], v[i+3]}})
		}
		return out
	}
	for filter, want := range map[string][]orb.Bound{
		"a = 1":                                                                 nil,
		"S_INTERSECTS(g, BBOX(1,2,3,4))":                                        b(1, 2, 3, 4),
		"S_WITHIN(LINESTRING(1 2,3 4), g)":                                      b(1, 2, 3, 4),
		"S_TOUCHES(g, POINT(1 2))":                                              b(1, 2, 1, 2),
		"S_DISJOINT(g, POINT(1 2))":                                             nil,
		"S_INTERSECTS(g, h)":                                                    nil,
		"S_INTERSECTS(h, POINT(1 2))":                                           nil,
		"NOT S_INTERSECTS(g, POINT(1 2))":                                       nil,
		"NOT S_DISJOINT(g, POINT(1 2))":                                         nil,
		"g IS NOT NULL":                                                         nil,
		"a = 1 AND S_EQUALS(g, POINT(1 2))":                                     b(1, 2, 1, 2),
		"a = 1 OR S_EQUALS(g, POINT(1 2))":                                      nil,
		"S_EQUALS(g,POINT(1 2)) OR S_EQUALS(g,POINT(3 4))":                      b(1, 2, 1, 2, 3, 4, 3, 4),
		"S_EQUALS(g,POINT(1 2)) OR (a = 1 AND S_EQUALS(g,POINT(3 4)))":          b(1, 2, 1, 2, 3, 4, 3, 4),
		"S_EQUALS(g,POINT(1 2)) OR S_EQUALS(h,POINT(3 4))":                      nil,
		"S_INTERSECTS(g, BBOX(0,0,9,9)) AND S_INTERSECTS(g, BBOX(20,20,21,21))": b(20, 20, 21, 21),
		"S_INTERSECTS(g, BBOX(170,0,-170,1))":                                   b(170, 0, 180, 1, -180, 0, -170, 1),
		"S_INTERSECTS(g, BBOX(170,0,-170,1)) AND S_DISJOINT(g, POINT(175 0))":   b(170, 0, 180, 1, -180, 0, -170, 1),
	} {
		got, ok := cql2.Extent(must(t, filter, schema), "g", crs.WGS84)
		if ok != (want != nil) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v %v, want %v", filter, got, ok, want)
		}
	}
	for _, e := range []cql2.Expr{cql2.And{}, cql2.Or{},
		cql2.Related{Relation: "r", X: must(t, "S_EQUALS(g,POINT(1 2))", schema)}, cql2.Interval{}} {
		if got, ok := cql2.Extent(e, "g", crs.CRS84); ok {
			t.Errorf("%#v promises %v", e, got)
		}
	}
	many := cql2.Or{}
	for i := range 40 {
		many = append(many, must(t, fmt.Sprintf("S_EQUALS(g, POINT(%d 1))", i), schema))
	}
	if got, ok := cql2.Extent(many, "g", crs.CRS84); !ok || fmt.Sprint(got) != fmt.Sprint(b(0, 1, 39, 1)) {
		t.Errorf("many points: %v %v", got, ok)
	}
}

func TestExtentOfABoxCoversItInAnotherCRS(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	cross := cql2.BBox{Prop: "g", CRS: crs.ETRS89, Box: orb.Bound{Min: orb.Point{170, 60}, Max: orb.Point{-170, 70}}}
	if got, ok := cql2.Extent(cross, "g", crs.CRS84); !ok || len(got) != 2 || got[0].Max[0] != 180 ||
		got[1].Min[0] != -180 {
		t.Errorf("across the antimeridian: %v %v", got, ok)
	}
	matched := 0
	for range sharedtest.Rounds(t, 3000) {
		ids := []crs.ID{crs.CRS84, crs.UTM32, crs.UTM33, crs.LAEAEurope, crs.LAEANorthPole, crs.WebMercator}
		boxCRS, stored := ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]
		toBox, err := crs.Between(crs.CRS84, boxCRS)
		if err != nil {
			t.Fatal(err)
		}
		toStored, err := crs.Between(crs.CRS84, stored)
		if err != nil {
			t.Fatal(err)
		}
		p, q := orb.Point{-5 + 45*r.Float64(), 55 + 34*r.Float64()}, orb.Point{-5 + 45*r.Float64(), 55 + 34*r.Float64()}
		ax, ay := toBox(p[0], p[1])
		bx, by := toBox(q[0], q[1])
		e := cql2.BBox{Prop: "g", CRS: boxCRS,
			Box: orb.Bound{Min: orb.Point{min(ax, bx), min(ay, by)}, Max: orb.Point{max(ax, bx), max(ay, by)}}}
		bounds, ok := cql2.Extent(e, "g", stored)
		for _, in := range [...]crs.ID{stored, ids[r.IntN(len(ids))]} { // placed where the features are, or elsewhere
			if again, is := cql2.Extent(e.Placed(in), "g", stored); is != ok || !slices.Equal(again, bounds) {
				t.Fatalf("%v %v in %v: bounds %v, placed in %v %v", e.Box, boxCRS, stored, bounds, in, again)
			}
		}
		if !ok {
			continue
		}
		x, y := toStored(-5+45*r.Float64(), 55+34*r.Float64())
		place := orb.Point{x, y}
		if !touches(t, wkb.MustMarshal(place), stored, e) {
			continue
		}
		matched++
		in := false
		for _, b := range bounds {
			in = in || b.Contains(place)
		}
		if !in {
			t.Fatalf("%v %v in %v: %v matches outside %v", e.Box, boxCRS, stored, place, bounds)
		}
	}
	if matched < 100 {
		t.Errorf("only %d places matched: no test", matched)
	}
}
