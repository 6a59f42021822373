package crs_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// The distances are what PROJ's geod prints for GRS 80.
func TestDistanceAgreesWithPROJ(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to orb.Point
		want     float64
	}{
		{orb.Point{10.7522, 59.9139}, orb.Point{5.3221, 60.3913}, 306164.975},
		{orb.Point{10.7522, 59.9139}, orb.Point{10.7523, 59.9139}, 5.594},
		{orb.Point{30, 70}, orb.Point{6, 58}, 1756135.009},
		{orb.Point{0, 0}, orb.Point{1, 0}, 111319.491},
		{orb.Point{0, 0}, orb.Point{90, 0}, 10018754.171},
		{orb.Point{179.5, 10}, orb.Point{-179.5, 10}, 109639.322},
		{orb.Point{18.4, -33.9}, orb.Point{25.8, 71.2}, 11670230.274},
		{orb.Point{0, 89}, orb.Point{180, 89}, 223387.730},
		{orb.Point{10, 45}, orb.Point{10, 45}, 0},
	} {
		for _, got := range []float64{crs.Distance(tt.from, tt.to), crs.Distance(tt.to, tt.from)} {
			if math.Abs(got-tt.want) > 1e-3 {
				t.Errorf("%v to %v: %.4f, want %.3f", tt.from, tt.to, got, tt.want)
			}
		}
	}
	if got := crs.Distance(orb.Point{0, 0.1}, orb.Point{179.9, 0}); math.Abs(got-20003931) > 0.006*20003931 {
		t.Errorf("almost opposite: %.0f", got)
	}
}
