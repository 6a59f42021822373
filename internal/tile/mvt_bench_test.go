package tile_test

import (
	"testing"

	"github.com/paulmach/orb/project"

	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
	"grense/internal/sharedtest"
	"grense/internal/tile"
)

// norway makes levels of 357 municipalities in Web Mercator, the finest that of matrix 14 of WebMercatorQuad.
func norway(b *testing.B, n int) []*coverage.Level {
	b.Helper()
	build := coverage.NewBuilder(coverage.Grid{Unit: 40075016.685578488 / (tile.Extent << 14)}, coverage.Options{})
	for _, f := range sharedtest.Features(b, "data", "norway", "robhop-2024", "Kommuner-M.geojson.gz") {
		if err := build.Add(wkb.Append(nil, project.MultiPolygon(f.Area, project.WGS84.ToMercator)), nil); err != nil {
			b.Fatal(err)
		}
	}
	levels, err := build.Levels(b.Context(), n)
	if err != nil {
		b.Fatal(err)
	}
	return levels
}

// BenchmarkColdTile makes tiles of 357 municipalities from their levels, without compression: 0.3 ms of CPU for the
// whole country on matrix 3, 1.5 ms for its south on matrix 6 (17,000 vertices).
func BenchmarkColdTile(b *testing.B) {
	levels := norway(b, 12)
	for name, x := range map[string]struct {
		level  int
		origin coverage.Point // upper left corner
	}{"z=3": {11, coverage.Point{X: 0, Y: 3 * tile.Extent}},
		"z=6": {8, coverage.Point{X: tile.Extent, Y: 14 * tile.Extent}}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var c coverage.Clipper
				layer := tile.NewLayer("kommuner")
				for f := range levels[x.level].Features() {
					if _, err := layer.Polygons(&c, levels[x.level], f, x.origin, uint64(f),
						[]tile.Tag{{Key: "nr", Value: int64(f)}}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(layer.Append(nil))), "bytes")
			}
		})
	}
}
