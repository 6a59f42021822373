package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"grense/internal/await"
	"grense/internal/config"
)

// BenchmarkWarmTile requests a cached tile, without the network.
func BenchmarkWarmTile(b *testing.B) {
	for _, x := range []struct{ name, source, path string }{
		{"demo", "", "/collections/kommuner/tiles/WebMercatorQuad/3/2/4"},
		{"dataset", "", "/tiles/WebMercatorQuad/3/2/4"},
		{"n1000", "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg",
			"/collections/kommune/tiles/WebMercatorQuad/6/17/33"},
	} {
		b.Run(x.name, func(b *testing.B) {
			source := x.source
			if source != "" {
				source = shared(b, source)
			} else if p, err := demoFile(); err == nil {
				source = p
			}
			srv := benched(b, source)
			h, d := srv.Handler(), &discard{}
			get := func() {
				r := httptest.NewRequest("GET", x.path, nil)
				r.Header.Set("Accept-Encoding", "gzip")
				*d = discard{h: http.Header{}}
				h.ServeHTTP(d, r)
			}
			get()
			tilesReady(b, srv)
			await.Age(b, source, untrusted)
			if get(); d.n == 0 {
				b.Fatal(d.status)
			}
			b.ReportAllocs()
			for b.Loop() {
				get()
			}
			b.ReportMetric(float64(d.n), "B")
		})
	}
}

// BenchmarkColdTile builds a tile of 357 municipalities for the first time, from tile levels, compressed, without the
// network.
func BenchmarkColdTile(b *testing.B) {
	uncached := func(cfg *config.Config) { cfg.Limits.Answers = 0 }
	srv := benched(b, shared(b, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"), uncached)
	h, d := srv.Handler(), &discard{}
	for _, x := range []struct{ name, path string }{{"z=3", "/3/2/4"}, {"z=6", "/6/18/33"}} {
		get := func() {
			r := httptest.NewRequest("GET", "/collections/kommune/tiles/WebMercatorQuad"+x.path, nil)
			r.Header.Set("Accept-Encoding", "gzip")
			*d = discard{h: http.Header{}}
			h.ServeHTTP(d, r)
		}
		b.Run(x.name, func(b *testing.B) {
			get()
			tilesReady(b, srv)
			if get(); d.n == 0 {
				b.Fatal(d.status)
			}
			b.ReportAllocs()
			for b.Loop() {
				get()
			}
			b.ReportMetric(float64(d.n), "B")
		})
	}
}

// BenchmarkColdMap draws 357 municipalities as pictures from levels, without the network: a map of all, and tiles.
func BenchmarkColdMap(b *testing.B) {
	uncached := func(cfg *config.Config) { cfg.Limits.Answers = 0 }
	srv := benched(b, shared(b, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"), uncached)
	h, d := srv.Handler(), &discard{}
	for _, x := range []struct{ name, path string }{
		{"1000x1000", "/map?f=png&width=1000&height=1000"},
		{"z=4", "/map/tiles/WebMercatorQuad/4/4/8?f=png"},
		{"z=6", "/map/tiles/WebMercatorQuad/6/18/33?f=png"},
		{"z=9", "/map/tiles/WebMercatorQuad/9/148/271?f=png"},
	} {
		get := func() {
			*d = discard{h: http.Header{}}
			h.ServeHTTP(d, httptest.NewRequest("GET", "/collections/kommune"+x.path, nil))
		}
		b.Run(x.name, func(b *testing.B) {
			get()
			tilesReady(b, srv)
			if get(); d.n == 0 || d.status >= 400 {
				b.Fatal(d.status)
			}
			b.ReportAllocs()
			for b.Loop() {
				get()
			}
			b.ReportMetric(float64(d.n), "B")
		})
	}
}
