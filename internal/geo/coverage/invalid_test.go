package coverage_test

import (
	"testing"

	"github.com/paulmach/orb/planar"

	"grense/internal/geo/coverage"
)

// TestInvalidMunicipalitiesKeepTheirArea: 33 of the 357 have rings that cross themselves.
func TestInvalidMunicipalitiesKeepTheirArea(t *testing.T) {
	t.Parallel()
	features := collection(t, "norway/robhop-2024/Kommuner-M.geojson.gz")
	l := build(t, unit14, coverage.Options{}, 1, features...)[0]
	for i, g := range features {
		if part := l.Area(i) * l.Unit * l.Unit / planar.Area(g); part < 0.99 || part > 1.01 {
			t.Errorf("feature %d has %.3f of its area", i, part)
		}
	}
}
