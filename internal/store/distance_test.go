package store_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

func TestDistanceIsThatToTheNearestEdge(t *testing.T) {
	t.Parallel()
	same, err := crs.Between(crs.CRS84, crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	square := orb.Polygon{{{10, 60}, {11, 60}, {11, 61}, {10, 61}, {10, 60}}}
	across := orb.MultiPolygon{{{{179, 0}, {180, 0}, {180, 1}, {179, 0}}}}
	for _, tt := range []struct {
		name string
		g    orb.Geometry
		at   orb.Point
		to   orb.Point // the nearest position; its distance is wanted
	}{
		{"a corner", square, orb.Point{9, 59}, orb.Point{10, 60}},
		{"an edge", square, orb.Point{12, 60.5}, orb.Point{11, 60.5074}},
		{"inside", square, orb.Point{10.5, 60.01}, orb.Point{10.5, 60}},
		{"a point", orb.Point{5, 60}, orb.Point{6, 60}, orb.Point{5, 60}},
		{"opposite an edge", orb.LineString{{10, 60}, {11, 60}}, orb.Point{-169.5, -60}, orb.Point{10, 60}},
		{"beyond the antimeridian", across, orb.Point{-179, .5}, orb.Point{180, .5}},
	} {
		b := wkb.MustMarshal(tt.g)
		if got, want := (store.Geometry{WKB: b}).Distance(tt.at, same),
			crs.Distance(tt.at, tt.to); math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s: %.1f, want %.1f", tt.name, got, want)
		}
	}
	utm, err := crs.Between(crs.UTM33, crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	// straight in UTM, not on the earth
	long := wkb.MustMarshal(orb.LineString{{343486.49, 7472876.29}, {354846.24, 7437006.34}})
	x, y := utm(349415.945, 7453768.070)
	if got := (store.Geometry{WKB: long}).Distance(orb.Point{x, y}, utm); math.Abs(got-116.3) > .1 {
		t.Errorf("a long edge: %.2f", got)
	}
	if got := (store.Geometry{}).Distance(orb.Point{}, same); !math.IsInf(got, 1) {
		t.Errorf("of nothing: %v", got)
	}
}
