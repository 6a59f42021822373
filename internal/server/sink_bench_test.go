package server_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/cache"
	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/server/surface"
	"grense/internal/store/gpkg"
)

// discard is a client that reads everything at once and discards it.
type discard struct {
	h      http.Header
	n      int
	status int
}

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { d.n += len(b); return len(b), nil }

// BenchmarkItems requests a page of features with a warm cache, without the network: plain, with gzip from deflated
// fragments, and with gzip of the whole. The fragments of the kommuner of the demo are too small to be deflated (0.5
// KB).
func BenchmarkItems(b *testing.B) {
	for _, bb := range []struct {
		name, source, collection string
		sizes                    []int
	}{
		{"kommuner", "", "kommuner", []int{10, 100, 357}},
		{"fylker", "", "fylker", []int{10}},
		{"n1000", "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg", "kommune", []int{10, 100, 357}},
		{"kartverket", "norway/kartverket-fylker-25833.gpkg", "fylker", []int{10}},
	} {
		for _, n := range bb.sizes {
			for _, coding := range []string{"identity", "gzip"} {
				b.Run(bb.name+"/n="+strconv.Itoa(n)+"/"+coding,
					func(b *testing.B) { benchmarkItems(b, bb.source, bb.collection, n, coding) })
			}
		}
	}
}

func benchmarkItems(b *testing.B, source, collection string, n int, coding string) {
	if source != "" {
		source = shared(b, source)
	} else if p, err := demoFile(); err == nil {
		source = p
	}
	srv := benched(b, source)
	h := srv.Handler()
	d := &discard{}
	get := func() {
		r := httptest.NewRequest("GET", "/collections/"+collection+"/items?limit="+strconv.Itoa(n), nil)
		r.Header.Set("Accept-Encoding", coding)
		*d = discard{h: http.Header{}}
		h.ServeHTTP(d, r)
	}
	for range 3 {
		get()
	}
	if d.n < 1000 {
		b.Fatalf("%d bytes", d.n)
	}
	b.ReportAllocs()
	for b.Loop() {
		get()
	}
	b.ReportMetric(float64(d.n), "bytes")
}

// benched serves a GeoPackage to a benchmark, open and without a log.
func benched(b *testing.B, source string, change ...func(*config.Config)) *surface.Server {
	b.Helper()
	st, err := gpkg.Open(b.Context(), source, gpkg.Options{DataDir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	cfg := config.Default()
	cfg.Auth, cfg.BaseURL = "open", "http://localhost:8080"
	for _, f := range change {
		f(&cfg)
	}
	srv, err := surface.New(server.Options{Config: cfg, Store: st, Logger: slog.New(slog.DiscardHandler),
		Version: "test"})
	if err != nil {
		b.Fatal(err)
	}
	return srv
}

// untrusted is the age of a file below which the store reads it to know its version: benchmarks wait for it to pass.
const untrusted = 4 * time.Second

// indexed waits until the indexes of points that a request began are built.
func indexed(b *testing.B, s *surface.Server) {
	b.Helper()
	await.True(b, "the indexes of points", func() bool {
		i := slices.IndexFunc(s.Caches.Stats(), func(x cache.Stats) bool { return x.Name == "points" })
		x := s.Caches.Stats()[i]
		return x.Entries > 0 && x.Making == 0
	})
}
