package register_test

import (
	"math"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/paulmach/orb/planar"

	"grense/internal/demo"
	"grense/internal/store"
)

// Each place lies in its municipality: the point, or the first point of the others, of which no part is farther than
// some hundred metres.
func TestPositionsLieInTheirMunicipality(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	set, err := demo.Divisions()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	read(t, small).Each(t, "sted", func(get func(string) any) {
		g, err := wkb.Unmarshal(get("geom").(store.Geometry).WKB)
		if err != nil {
			t.Fatalf("place %v: %v", get("id"), err)
		}
		seen[g.GeoJSONType()]++
		at := anchor(t, g)
		if !slices.ContainsFunc(set.Kommuner, func(k demo.Kommune) bool {
			return k.Nr == get("kommunenummer") && k.Cell().Contains(int64(math.Round(100*at[0])),
				int64(math.Round(100*at[1])))
		}) {
			t.Errorf("place %v does not lie in %v", get("id"), get("kommunenummer"))
		}
		if b := g.Bound(); b.Max[0]-b.Min[0] > 4_000 || b.Max[1]-b.Min[1] > 4_000 {
			t.Errorf("place %v spans %v", get("id"), b)
		}
		for _, v := range [...]float64{at[0], at[1]} {
			if c := v * 100; math.Abs(c-math.Round(c)) > 1e-4 {
				t.Errorf("place %v is not on a whole centimetre: %v", get("id"), at)
			}
		}
	})
	for _, kind := range []string{"Point", "MultiPoint", "LineString", "Polygon"} {
		if seen[kind] == 0 {
			t.Errorf("no place is a %s: %v", kind, seen)
		}
	}
}

// anchor returns the point from which a geometry was drawn, after a check of its form.
func anchor(t *testing.T, g orb.Geometry) orb.Point {
	t.Helper()
	switch g := g.(type) {
	case orb.Point:
		return g
	case orb.MultiPoint:
		if len(g) < 2 || len(g) > 6 {
			t.Errorf("%d points", len(g))
		}
		return g[0]
	case orb.LineString:
		if len(g) < 2 || planar.Length(g) == 0 {
			t.Errorf("line %v", g)
		}
		return g[0]
	case orb.Polygon:
		if len(g) != 1 || !g[0].Closed() || len(g[0]) != 9 || g[0].Orientation() != orb.CCW {
			t.Errorf("area %v", g)
		}
		return orb.Point{g[0][2][0], g[0][0][1]} // east of it lies the first corner, south of the third
	}
	t.Errorf("unexpected %T", g)
	return orb.Point{}
}
