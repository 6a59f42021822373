package locate_test

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/locate"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// oneByOne are the distances of all areas, each measured as a whole.
func oneByOne(areas [][]byte, at orb.Point, back crs.Func) []float64 {
	out := make([]float64, len(areas))
	for i, a := range areas {
		out[i] = store.Geometry{WKB: a}.Distance(at, back)
	}
	return out
}

// nearAgrees compares the areas near a position with all of them: the nearest is there, and each distance is right.
func nearAgrees(t *testing.T, x *locate.Index, areas [][]byte, at orb.Point, back crs.Func) {
	t.Helper()
	const same = 1e-6 // metres
	all := oneByOne(areas, at, back)
	least := math.Inf(1)
	for _, d := range all {
		least = min(least, d)
	}
	got, ok := x.AppendNear(nil, at, math.Inf(1))
	if !ok {
		t.Fatalf("%v: too much to measure", at)
	}
	told := map[int32]bool{}
	last := int32(-1)
	for _, n := range got {
		if math.Abs(n.Metres-all[n.Area]) > same || n.Area <= last {
			t.Fatalf("%v: area %d after %d at %v m, want %v", at, n.Area, last, n.Metres, all[n.Area])
		}
		told[n.Area], last = true, n.Area
	}
	for i, d := range all {
		if d <= least+1e-3 && !math.IsInf(d, 1) && !told[int32(i)] {
			t.Fatalf("%v: area %d at %v m is not told; nearest %v m, told %v", at, i, d, least, got)
		}
	}
	for _, within := range []float64{least + 1e-3, least * 0.98} {
		some, ok := x.AppendNear(nil, at, within)
		if math.IsInf(least, 1) {
			break
		}
		if within > 0 && least <= within && !slices.Equal(some, got) || !ok {
			t.Fatalf("%v: within %v m %v, without a bound %v", at, within, some, got)
		}
		for _, n := range some {
			if math.Abs(n.Metres-all[n.Area]) > same {
				t.Fatalf("%v: within %v m area %d at %v m, want %v", at, within, n.Area, n.Metres, all[n.Area])
			}
		}
	}
}

// TestNearestAreasAreThoseOfAllMeasuredOneByOne looks from places near and far, also from those that are as near to
// several.
func TestNearestAreasAreThoseOfAllMeasuredOneByOne(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for name, points := range map[string]int{"norway/robhop-2024/Kommuner-M.geojson.gz": 500,
		"world/ne_50m_admin_0_countries.geojson.gz": 50} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			areas := layer(t, name)
			x, all := build(t, areas), encoded(areas)
			r := rand.New(rand.NewPCG(21, 22))
			for i := range points {
				at := orb.Point{360*r.Float64() - 180, 180*r.Float64() - 90}
				switch i % 5 {
				case 0, 1:
					at = orb.Point{12*r.Float64() - 2, 58 + 13*r.Float64()}
				case 2:
					at = onBorders(areas, r, 4)[0]
				case 3:
					at = onBorders(areas, r, 4)[0]
					at[0], at[1] = at[0]+0.02*r.NormFloat64(), min(90, max(-90, at[1]+0.02*r.NormFloat64()))
				}
				nearAgrees(t, x, all, at, degrees)
			}
		})
	}
}

// TestNearestOfAwkwardLayers has areas at the poles, beyond the antimeridian, with long edges, without positions, and
// of one position.
func TestNearestOfAwkwardLayers(t *testing.T) {
	t.Parallel()
	square := func(x, y, side float64) orb.Polygon {
		return orb.Polygon{{{x, y}, {x + side, y}, {x + side, y + side}, {x, y + side}, {x, y}}}
	}
	utm, err := crs.Between(crs.UTM33, crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(23, 24))
	var small, scattered []orb.Geometry
	for range 40 {
		x, y := 358*r.Float64()-180, 178*r.Float64()-90
		small = append(small, square(-100e3+1e6*r.Float64(), 6.5e6+1.5e6*r.Float64(), 100e3*r.Float64()))
		scattered = append(scattered, square(x, y, min(2, 180-x)*r.Float64()))
	}
	for _, tt := range []struct {
		name  string
		areas []orb.Geometry
		back  crs.Func
	}{
		{"nothing", nil, degrees},
		{"without positions", []orb.Geometry{orb.Polygon{}, orb.MultiPolygon{}}, degrees},
		{"one that has positions", []orb.Geometry{orb.Polygon{}, square(10, 60, 1), orb.MultiPolygon{}}, degrees},
		{"one position", []orb.Geometry{orb.Polygon{{{5, 60}, {5, 60}}}, orb.Polygon{{{6, 60}}}}, degrees},
		{"on a line", []orb.Geometry{orb.Polygon{{{5, 60}, {5, 70}, {5, 60}}},
			orb.Polygon{{{5, 71}, {5, 75}, {5, 71}}}}, degrees},
		{"equal", []orb.Geometry{square(5, 60, 1), square(5, 60, 1), square(6, 60, 1)}, degrees},
		{"across the antimeridian", []orb.Geometry{orb.MultiPolygon{square(179, 0, 1), square(-180, 0, 1)},
			square(170, 0, 2)}, degrees},
		{"around the poles",
			[]orb.Geometry{orb.Polygon{{{-180, -90}, {180, -90}, {180, -80}, {90, -78}, {0, -82}, {-90, -79},
				{-180, -80}, {-180, -90}}},
				orb.Polygon{{{-180, 80}, {-60, 82}, {60, 81}, {180, 80}, {180, 90}, {-180, 90}, {-180, 80}}}}, degrees},
		{"around the world",
			[]orb.Geometry{orb.Polygon{{{-180, -90}, {180, -90}, {180, -61}, {-180, -61}, {-180, -90}}},
				orb.Polygon{{{-170, 40}, {175, 41}, {175, 50}, {-170, 50}, {-170, 40}}}, square(100, 0, 5)}, degrees},
		{"long edges", []orb.Geometry{square(0, 0, 60), square(-100, 10, 50)}, degrees},
		{"all over the world", scattered, degrees},
		{"in metres", small, utm},
		{"where nothing is", []orb.Geometry{square(1e30, 1e30, 1e29), square(400e3, 6.6e6, 1e4)}, utm},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := locate.NewBuilder(math.MaxInt64, tt.back)
			for _, a := range append(encoded(tt.areas), nil) { // and one whose geometry is null
				if err := b.Add(a); err != nil {
					t.Fatal(err)
				}
			}
			x, err := b.Index(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			all := append(encoded(tt.areas), wkb.Append(nil, orb.Polygon{}))
			r := rand.New(rand.NewPCG(25, 26))
			points := []orb.Point{
				{180, 0.5},
				{-180, 0.5},
				{-179.5, -1},
				{0, 90},
				{180, -90},
				{-170, 75},
				{5.5, 60.5},
				{6, 60.5},
				{5, 59.9},
				{-169, -60},
			}
			for range 30 {
				points = append(points, orb.Point{360*r.Float64() - 180, 180*r.Float64() - 90},
					orb.Point{20 * r.Float64(), 55 + 20*r.Float64()})
			}
			for _, p := range points {
				nearAgrees(t, x, all, p, tt.back)
			}
		})
	}
}

// TestLookingForTheNearestIsBounded looks from the middle of a circle, to which all of it is as near.
func TestLookingForTheNearestIsBounded(t *testing.T) {
	t.Parallel()
	ring := make(orb.Ring, 200_001)
	for i := range ring {
		sin, cos := math.Sincos(2 * math.Pi * float64(i%(len(ring)-1)) / float64(len(ring)-1))
		ring[i] = orb.Point{10 + cos, sin}
	}
	x := build(t, []orb.Geometry{orb.Polygon{ring}})
	if got, ok := x.AppendNear(nil, orb.Point{10, 0}, math.Inf(1)); ok {
		t.Errorf("%v", got)
	}
	if got, ok := x.AppendNear(nil, orb.Point{12, 0}, math.Inf(1)); !ok || len(got) != 1 ||
		math.Abs(got[0].Metres-111319.5) > 1 {
		t.Errorf("from outside: %v %v", got, ok)
	}
}

// BenchmarkAppendNear looks for the nearest municipality from the sea, some 50 km off, and from far away.
func BenchmarkAppendNear(b *testing.B) {
	x := build(b, layer(b, "norway/robhop-2024/Kommuner-M.geojson.gz"))
	for _, tt := range []struct {
		name string
		at   orb.Point
		size float64
	}{{"sea", orb.Point{4, 61}, 0.3}, {"far", orb.Point{-40, 30}, 20}} {
		b.Run(tt.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(27, 28))
			var room [32]locate.Near
			b.ReportAllocs()
			for b.Loop() {
				x.AppendNear(room[:0], orb.Point{tt.at[0] + tt.size*r.Float64(), tt.at[1] + tt.size*r.Float64()},
					math.Inf(1))
			}
		})
	}
}
