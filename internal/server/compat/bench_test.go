package compat_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"grense/internal/await"
	"grense/internal/cache"
	"grense/internal/config"
	"grense/internal/server"
)

// BenchmarkPunkt asks /punkt and /lookup for points that nobody asked for before, without the network.
func BenchmarkPunkt(b *testing.B) {
	caches := &cache.Group{}
	c := serve(b, openDemo(b), func(_ *config.Config, o *server.Options) { o.Caches = caches })
	ask := func(path string) {
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK {
			b.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	ask("/kommuneinfo/v1/punkt?nord=61&ost=10.5") // begins the index of points
	ask("/lookup?lon=10.5&lat=61")
	await.True(b, "the indexes of points", func() bool {
		i := slices.IndexFunc(caches.Stats(), func(x cache.Stats) bool { return x.Name == "points" })
		x := caches.Stats()[i]
		return x.Entries > 0 && x.Making == 0
	})
	for _, x := range []struct{ name, path string }{{"lookup", "/lookup?lat=%.5f&lon=%.5f"},
		{"punkt", "/kommuneinfo/v1/punkt?nord=%.5f&ost=%.5f"}} {
		b.Run(x.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				ask(fmt.Sprintf(x.path, 60.5+r.Float64(), 10+r.Float64()))
			}
		})
	}
}
