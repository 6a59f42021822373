package cql2_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
)

var spatialOps = []cql2.SpatialOp{cql2.SIntersects, cql2.SDisjoint, cql2.SEquals, cql2.STouches, cql2.SCrosses,
	cql2.SOverlaps, cql2.SWithin, cql2.SContains}

// related returns the values of all spatial predicates of two geometries, the first of a record, the second a literal.
func related(t *testing.T, a, b orb.Geometry) (out [8]cql2.Truth) {
	t.Helper()
	rec := record{wkb: map[string][]byte{"g": wkb.MustMarshal(a)}, in: crs.CRS84}
	for i, op := range spatialOps {
		e := cql2.Spatial{Op: op, L: cql2.Prop{Name: "g", Type: cql2.TypeGeometry}, R: cql2.Geom{G: b, CRS: crs.CRS84}}
		got, err := cql2.Eval(e, rec)
		if err != nil {
			t.Fatalf("%s of %v and %v: %v", op, a, b, err)
		}
		out[i] = got
	}
	return out
}

// rewritten returns the same set of points, written in another way: lines and rings in the other direction, rings from
// another corner, with positions twice and in the middle of edges, parts in another order, or as the only part.
func rewritten(r *rand.Rand, g orb.Geometry) orb.Geometry {
	line := func(in []orb.Point, ring bool) (out []orb.Point) {
		in = slices.Clone(in)
		if r.IntN(2) == 0 {
			slices.Reverse(in)
		}
		if ring {
			k := r.IntN(len(in) - 1)
			in = append(slices.Clone(in[k:len(in)-1]), in[:k+1]...)
		}
		for i, p := range in {
			out = append(out, p)
			if r.IntN(3) == 0 {
				out = append(out, p)
			}
			if i+1 < len(in) && r.IntN(3) == 0 {
				out = append(out, orb.Point{(p[0] + in[i+1][0]) / 2, (p[1] + in[i+1][1]) / 2})
			}
		}
		return out
	}
	polygon := func(p orb.Polygon) (out orb.Polygon) {
		for _, ring := range p {
			out = append(out, line(ring, true))
		}
		return out
	}
	switch g := g.(type) {
	case orb.Point:
		if r.IntN(2) == 0 {
			return orb.MultiPoint{g, g}
		}
	case orb.LineString:
		l := orb.LineString(line(g, false))
		if r.IntN(2) == 0 {
			return orb.MultiLineString{l}
		}
		return l
	case orb.Polygon:
		p := polygon(g)
		switch r.IntN(3) {
		case 0:
			return orb.MultiPolygon{p}
		case 1:
			return orb.Collection{p}
		}
		return p
	case orb.MultiPoint:
		out := slices.Clone(g)
		slices.Reverse(out)
		return append(out, g[0])
	case orb.MultiLineString:
		var out orb.MultiLineString
		for _, l := range slices.Backward(g) {
			out = append(out, line(l, false))
		}
		return out
	case orb.MultiPolygon:
		var out orb.MultiPolygon
		for _, p := range slices.Backward(g) {
			out = append(out, polygon(p))
		}
		return out
	}
	return g
}

// TestPredicatesAreOfPointsNotOfTheirWriting: orientation, first corner, repeated positions and the order of parts do
// not count (OGC 06-103r4, 6.1.15.3: they are relations of sets of points).
func TestPredicatesAreOfPointsNotOfTheirWriting(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(10, 1))
	hits := [8]int{}
	for range 800 {
		a, b := sharedtest.Geometry(r), sharedtest.Geometry(r)
		if r.IntN(4) == 0 {
			b = a
		}
		want := related(t, a, b)
		for range 2 {
			x, y := rewritten(r, a), rewritten(r, b)
			if got := related(t, x, y); got != want {
				t.Fatalf("%v and %v: %v are %v\nas %v and %v: %v", a, b, spatialOps, want, x, y, got)
			}
		}
		for i, v := range want {
			if v == cql2.True {
				hits[i]++
			}
		}
	}
	for i, n := range hits {
		if n < 3 {
			t.Errorf("%s held %d times: no test", spatialOps[i], n)
		}
	}
}

// TestPredicatesAreConsistent: disjoint is the opposite of intersects for any geometries, also for bow ties and holes
// outside of their shell. For valid ones contains is within, turned; the predicates without a direction are symmetric;
// and what relates in some way intersects.
func TestPredicatesAreConsistent(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 1))
	at := func() orb.Point { return orb.Point{float64(r.IntN(6)), float64(r.IntN(6))} }
	ring := func() orb.Ring {
		out := orb.Ring{at()}
		for range 2 + r.IntN(5) {
			out = append(out, at())
		}
		return append(out, out[0])
	}
	geometry := func() orb.Geometry {
		switch r.IntN(5) {
		case 0:
			return at()
		case 1:
			return orb.LineString{at(), at(), at()}
		case 2:
			return orb.MultiPolygon{{ring()}, {ring()}}
		case 3:
			return orb.Polygon{ring(), ring()}
		}
		return orb.Polygon{ring()}
	}
	decided := 0
	for range 1500 {
		a, b := geometry(), geometry()
		x, y := related(t, a, b), related(t, b, a)
		if x[0] != -x[1] || y[0] != -y[1] {
			t.Fatalf("%v and %v: intersects %d, disjoint %d; turned %d, %d", a, b, x[0], x[1], y[0], y[1])
		}
		if _, err := geom.UnmarshalWKB(wkb.MustMarshal(orb.Collection{a, b})); err != nil {
			continue
		}
		if x[6] != y[7] || x[7] != y[6] {
			t.Fatalf("%v and %v: within %d, contains %d; turned %d, %d", a, b, x[6], x[7], y[6], y[7])
		}
		for _, i := range []int{0, 2, 3, 5} {
			if x[i] != y[i] {
				t.Fatalf("%v and %v: %s is %d, turned %d", a, b, spatialOps[i], x[i], y[i])
			}
		}
		for i := 2; i < 8; i++ {
			if x[i] == cql2.True && x[0] == cql2.False {
				t.Fatalf("%v and %v: %s of what is disjoint", a, b, spatialOps[i])
			}
		}
		if x[0] != cql2.Null {
			decided++
		}
	}
	if decided < 200 {
		t.Errorf("%d pairs are decided: no test", decided)
	}
}

// TestBoxesAcrossTheAntimeridianAndAtThePoles: in a filter, and as the parameter bbox. Both sides of the antimeridian
// belong to such a box, as do its edges; a pole is a parallel.
func TestBoxesAcrossTheAntimeridianAndAtThePoles(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, box string
		at        orb.Point
		want      cql2.Truth
	}{
		{"west of the antimeridian", "170,-10,-170,10", orb.Point{175, 0}, cql2.True},
		{"east of the antimeridian", "170,-10,-170,10", orb.Point{-175, 0}, cql2.True},
		{"on it, from the west", "170,-10,-170,10", orb.Point{180, 10}, cql2.True},
		{"on it, from the east", "170,-10,-170,10", orb.Point{-180, -10}, cql2.True},
		{"on the western edge", "170,-10,-170,10", orb.Point{170, 0}, cql2.True},
		{"on the eastern edge", "170,-10,-170,10", orb.Point{-170, 10}, cql2.True},
		{"beyond the western edge", "170,-10,-170,10", orb.Point{169.9999999, 0}, cql2.False},
		{"beyond the eastern edge", "170,-10,-170,10", orb.Point{-169.9999999, 0}, cql2.False},
		{"on the other side of the world", "170,-10,-170,10", orb.Point{0, 0}, cql2.False},
		{"north of it", "170,-10,-170,10", orb.Point{180, 10.0000001}, cql2.False},
		{"nearly the whole world", "-170,-90,-171,90", orb.Point{0, 0}, cql2.True},
		{"the gap of nearly the whole world", "-170,-90,-171,90", orb.Point{-170.5, 0}, cql2.False},
		{"the whole world", "-180,-90,180,90", orb.Point{-180, 90}, cql2.True},
		{"the north pole", "-180,90,180,90", orb.Point{77, 90}, cql2.True},
		{"beside the north pole", "-180,90,180,90", orb.Point{77, 89.9999999}, cql2.False},
		{"the south pole", "-180,-90,180,-90", orb.Point{-77, -90}, cql2.True},
		{"a box without width", "10,59,10,60", orb.Point{10, 59.5}, cql2.True},
		{"beside a box without width", "10,59,10,60", orb.Point{10.0000001, 59.5}, cql2.False},
		{"a box that is a point", "10,60,10,60", orb.Point{10, 60}, cql2.True},
		{"the antimeridian alone, from the west", "180,0,180,1", orb.Point{180, 0.5}, cql2.True},
	} {
		rec := record{wkb: map[string][]byte{"g": wkb.MustMarshal(x.at)}, in: crs.CRS84}
		filter := "S_INTERSECTS(g, BBOX(" + x.box + "))"
		if got, err := cql2.Eval(must(t, filter, columns{"g": cql2.TypeGeometry}), rec); got != x.want || err != nil {
			t.Errorf("%s: %s of %v is %d, want %d; %v", x.name, filter, x.at, got, x.want, err)
		}
		b, err := cql2.ParseBBox(x.box, crs.CRS84)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		b.Prop = "g"
		if got, err := cql2.Eval(b, rec); got != x.want || err != nil {
			t.Errorf("%s: bbox=%s of %v is %d, want %d; %v", x.name, x.box, x.at, got, x.want, err)
		}
		bounds, ok := cql2.Extent(b, "g", crs.CRS84)
		inside := slices.ContainsFunc(bounds, func(b orb.Bound) bool { return b.Contains(x.at) })
		if !ok || inside != (x.want == cql2.True) {
			t.Errorf("%s: %v in the bounds %v: %t, %t", x.name, x.at, bounds, inside, ok)
		}
	}
}

// TestBoxesWithHeights compare heights where a geometry has them: a box of six numbers finds what reaches into it.
func TestBoxesWithHeights(t *testing.T) {
	t.Parallel()
	const z = 1000 // of the type code of ISO
	point := func(kind uint32, v ...float64) []byte {
		return floats(binary.LittleEndian, binary.LittleEndian.AppendUint32([]byte{1}, kind), v...)
	}
	for _, x := range []struct {
		name string
		wkb  []byte
		box  string
		want cql2.Truth
	}{
		{"within", point(1+z, 10, 60, 5), "9,59,0,11,61,10", cql2.True},
		{"at the lowest", point(1+z, 10, 60, 0), "9,59,0,11,61,10", cql2.True},
		{"at the highest", point(1+z, 10, 60, 10), "9,59,0,11,61,10", cql2.True},
		{"above", point(1+z, 10, 60, 10.5), "9,59,0,11,61,10", cql2.False},
		{"below", point(1+z, 10, 60, -0.5), "9,59,0,11,61,10", cql2.False},
		{"at the height of a box without one", point(1+z, 10, 60, 10.5), "9,59,11,61", cql2.True},
		{"beside the box at its height", point(1+z, 12, 60, 5), "9,59,0,11,61,10", cql2.False},
	} {
		b, err := cql2.ParseBBox(x.box, crs.CRS84)
		if err != nil {
			t.Fatal(err)
		}
		b.Prop = "g"
		rec := record{wkb: map[string][]byte{"g": x.wkb}, in: crs.CRS84}
		if got, err := cql2.Eval(b, rec); got != x.want || err != nil {
			t.Errorf("%s: %d, want %d; %v", x.name, got, x.want, err)
		}
	}
}

// TestNumbersThatAreNone: no number and infinity of a store are compared, and never equal by chance.
func TestNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	schema := columns{"nan": cql2.TypeNumber, "inf": cql2.TypeNumber, "low": cql2.TypeNumber, "max": cql2.TypeNumber}
	r := record{values: map[string]any{"nan": math.NaN(), "inf": math.Inf(1), "low": math.Inf(-1),
		"max": math.MaxFloat64}}
	for filter, want := range map[string]cql2.Truth{
		"nan = nan": cql2.Null, "nan <> nan": cql2.Null, "nan < 1": cql2.Null, "NOT nan >= 1": cql2.Null,
		"nan IN (1, 2)": cql2.Null, "nan BETWEEN 1 AND 2": cql2.Null, "nan + 1 IS NULL": cql2.True,
		"inf > 1e308": cql2.True, "low < -1e308": cql2.True, "inf = inf": cql2.True, "low < inf": cql2.True,
		"inf > 9223372036854775807": cql2.True, "low < -9223372036854775809": cql2.True, "inf - inf IS NULL": cql2.True,
		"inf + 1 IS NULL": cql2.True, "max * 2 IS NULL": cql2.True, "max + 1 = max": cql2.True,
		"-1 * max < 0":                 cql2.True,
		"max = 1.7976931348623157e308": cql2.True, "max > 1.7976931348623156e308": cql2.True, "0 * max = 0": cql2.True,
		"max % 2 = 0": cql2.True, "max div 1 = max": cql2.True, "abs(low) > max": cql2.True,
	} {
		if got, err := cql2.Eval(must(t, filter, schema), r); got != want || err != nil {
			t.Errorf("%s is %d, want %d; %v", filter, got, want, err)
		}
	}
}

// TestGeometriesOfStoresInEveryEncoding: each byte order, with heights and measures, ISO and extended; a part without
// positions does not count, and neither do bytes behind the geometry.
func TestGeometriesOfStoresInEveryEncoding(t *testing.T) {
	t.Parallel()
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		mark := byte(0)
		if order == binary.AppendByteOrder(binary.LittleEndian) {
			mark = 1
		}
		header := func(kind uint32, rest ...uint32) []byte {
			b := order.AppendUint32([]byte{mark}, kind)
			for _, v := range rest {
				b = order.AppendUint32(b, v)
			}
			return b
		}
		nan := math.NaN()
		for name, b := range map[string][]byte{
			"plain":            floats(order, header(1), 10, 60),
			"ISO with height":  floats(order, header(1001), 10, 60, 5),
			"ISO with measure": floats(order, header(2001), 10, 60, 5),
			"ISO with both":    floats(order, header(3001), 10, 60, 5, 7),
			"extended":         floats(order, header(1|0x20000000, 4326), 10, 60),
			"extended height":  floats(order, header(1|0x80000000), 10, 60, nan),
			"extended all":     floats(order, header(1|0xE0000000, 4326), 10, 60, 5, 7),
			"a line":           floats(order, header(2, 2), 10, 60, 11, 61),
			"a part of none": append(append(header(4, 2), floats(order, header(1), nan, nan)...), floats(order,
				header(1), 10, 60)...),
			"bytes behind it": append(floats(order, header(1), 10, 60), 1, 2, 3),
			"nested":          append(header(7, 1), append(header(7, 1), floats(order, header(1), 10, 60)...)...),
		} {
			rec := record{wkb: map[string][]byte{"g": b}, in: crs.CRS84}
			for filter, want := range map[string]cql2.Truth{"S_INTERSECTS(g, POINT(10 60))": cql2.True,
				"S_DISJOINT(g, BBOX(0,0,9,9))": cql2.True, "S_INTERSECTS(g, BBOX(9,59,10.5,61))": cql2.True,
				"g IS NULL": cql2.False, "S_WITHIN(g, BBOX(9,59,12,62))": cql2.True} {
				got, err := cql2.Eval(must(t, filter, columns{"g": cql2.TypeGeometry}), rec)
				if got != want || err != nil {
					t.Errorf("%s, byte order %d: %s is %d, want %d; %v", name, mark, filter, got, want, err)
				}
			}
		}
		for name, b := range map[string][]byte{
			"cut":            floats(order, header(1), 10),
			"no number":      floats(order, header(1), 10, nan),
			"infinite":       floats(order, header(1), math.Inf(1), 60),
			"too many parts": header(4, 0xFFFFFFFF),
			"another type":   header(99),
			"no bytes":       {},
			"a wrong part":   append(header(4, 1), floats(order, header(2, 1), 10, 60)...),
		} {
			rec := record{wkb: map[string][]byte{"g": b}, in: crs.CRS84}
			for _, filter := range []string{"S_INTERSECTS(g, POINT(10 60))", "S_DISJOINT(g, POINT(10 60))",
				"S_CONTAINS(g, POINT(10 60))", "S_EQUALS(g, g)"} {
				got, err := cql2.Eval(must(t, filter, columns{"g": cql2.TypeGeometry}), rec)
				if got != cql2.Null || err != nil {
					t.Errorf("%s, byte order %d: %s is %d; %v", name, mark, filter, got, err)
				}
			}
		}
	}
}

// TestPointsInAStarAgreeWithTheSumOfAngles: a point lies in a ring if the angles of its edges as seen from it sum up to
// a full turn.
func TestPointsInAStarAgreeWithTheSumOfAngles(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(12, 1))
	inside := 0
	for range 1500 {
		var ring orb.Ring
		n := 5 + r.IntN(20)
		for i := range n {
			angle, far := 2*math.Pi*float64(i)/float64(n), 1+4*r.Float64()
			ring = append(ring, orb.Point{10 + far*math.Cos(angle), 60 + far*math.Sin(angle)})
		}
		ring = append(ring, ring[0])
		if r.IntN(2) == 0 {
			slices.Reverse(ring)
		}
		p := orb.Point{5 + 10*r.Float64(), 55 + 10*r.Float64()}
		turn := 0.0
		for i := range ring[1:] {
			a := math.Atan2(ring[i][1]-p[1], ring[i][0]-p[0])
			b := math.Atan2(ring[i+1][1]-p[1], ring[i+1][0]-p[0])
			turn += math.Remainder(b-a, 2*math.Pi)
		}
		want := math.Abs(turn) > math.Pi
		got := related(t, orb.Polygon{ring}, p)
		if (got[0] == cql2.True) != want || (got[7] == cql2.True) != want || (got[1] == cql2.False) != want {
			t.Fatalf("%v in %v: %v, want %t", p, ring, got, want)
		}
		if want {
			inside++
		}
	}
	if inside < 100 || inside > 1400 {
		t.Errorf("%d points are inside: no test", inside)
	}
}

// TestMultipleGeometriesOfARecord: a record may have several properties with geometries, each in its own predicate.
func TestMultipleGeometriesOfARecord(t *testing.T) {
	t.Parallel()
	schema := columns{"area": cql2.TypeGeometry, "at": cql2.TypeGeometry, "none": cql2.TypeGeometry}
	rec := record{wkb: map[string][]byte{"area": wkb.MustMarshal(orb.Polygon{{{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}}}),
		"at": wkb.MustMarshal(orb.Point{4, 2})}, in: crs.CRS84}
	for filter, want := range map[string]cql2.Truth{
		"S_TOUCHES(at, area)": cql2.True, "S_WITHIN(at, area)": cql2.False, "S_INTERSECTS(area, at)": cql2.True,
		"S_EQUALS(at, at)": cql2.True, "S_EQUALS(area, at)": cql2.False, "S_INTERSECTS(area, none)": cql2.Null,
		"S_DISJOINT(none, none)": cql2.Null, "none IS NULL AND at IS NOT NULL": cql2.True,
		"S_CONTAINS(area, POINT(2 2)) AND S_EQUALS(at, POINT(4 2))":      cql2.True,
		"S_CONTAINS(area, POINT(2 2)) AND S_EQUALS(none, POINT(4 2))":    cql2.Null,
		"S_INTERSECTS(none, POINT(0 0)) OR S_INTERSECTS(at, POINT(4 2))": cql2.True,
	} {
		if got, err := cql2.Eval(must(t, filter, schema), rec); got != want || err != nil {
			t.Errorf("%s is %d, want %d; %v", filter, got, want, err)
		}
	}
	if got := fmt.Sprint(cql2.Props(must(t, "S_TOUCHES(at, area) OR at IS NULL", schema))); got != "[at area]" {
		t.Errorf("properties %s", got)
	}
}
