package tile_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/tile"
)

// BenchmarkTile makes tiles of the 357 municipalities of Norway from their levels, with their properties and without
// compression.
func BenchmarkTile(b *testing.B) {
	st := layer(b, "norway/robhop-2024/Kommuner-M.geojson.gz", "kommunenavn")
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	ready(b, m, st, "WebMercatorQuad", "areas")
	for name, at := range map[string]tile.Tile{"z=3": {Z: 3, Row: 2, Col: 4}, "z=6": {Z: 6, Row: 17, Col: 33},
		"z=10": {Z: 10, Row: 297, Col: 543}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				made, err := m.Tile(b.Context(), st,
					tile.Ask{Set: find(b, "WebMercatorQuad"), Tile: at, Layers: []tile.Query{{Collection: "areas"}}})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(made.Data)), "bytes")
			}
		})
	}
}

// BenchmarkAllLevels makes all levels of a layer from its store into a side file, and reads them again. Heap is the
// most that was in use.
func BenchmarkAllLevels(b *testing.B) {
	for _, x := range [][3]string{{"Norway", "norway/robhop-2024/Kommuner-M.geojson.gz", "kommunenavn"},
		{"France", "france/france-communes-2018.geojsonl.gz", "code"}} {
		b.Run(x[0], func(b *testing.B) {
			st := layer(b, x[1], x[2])
			runtime.GC()
			var most atomic.Uint64
			done := make(chan struct{})
			go func() {
				for tick := time.NewTicker(20 * time.Millisecond); ; {
					select {
					case <-tick.C:
						var s runtime.MemStats
						runtime.ReadMemStats(&s)
						most.Store(max(most.Load(), s.HeapInuse))
					case <-done:
						tick.Stop()
						return
					}
				}
			}()
			dir := ""
			for b.Loop() {
				dir = b.TempDir()
				make1(b, st, dir)
			}
			close(done)
			b.ReportMetric(float64(most.Load())/1e6, "MB-heap")
			start := time.Now()
			make1(b, st, dir)
			b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-again")
		})
	}
}

func make1(b *testing.B, st store.Store, dir string) {
	b.Helper()
	m := tile.NewMaker(tile.Options{Dir: dir})
	defer m.Close()
	ready(b, m, st, "WebMercatorQuad", "areas")
}
