package relate_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/geo/relate"
)

// TestEdgesAreOfWholeGeometriesAlone: geometries that have parts without a place have no edges.
func TestEdgesAreOfWholeGeometriesAlone(t *testing.T) {
	t.Parallel()
	nowhere := math.NaN()
	for name, g := range map[string]orb.Geometry{
		"empty":                     orb.Polygon{},
		"a vertex without a place":  orb.LineString{{0, 0}, {nowhere, 1}, {2, 2}},
		"a vertex at infinity":      orb.LineString{{0, 0}, {math.Inf(1), 1}, {2, 2}},
		"a point without a place":   orb.Collection{orb.Point{nowhere, nowhere}, orb.Point{1, 1}},
		"an empty outer ring":       orb.Polygon{{}, {{0, 0}, {1, 0}, {1, 1}, {0, 0}}},
		"a collection with nothing": orb.Collection{},
	} {
		if relate.NewEdges(wkb.MustMarshal(g)) != nil {
			t.Errorf("%s: there are edges", name)
		}
	}
	if relate.NewEdges(nil) != nil || relate.NewEdges([]byte{1, 3, 0}) != nil {
		t.Error("there are edges of bytes that are no geometry")
	}
}
