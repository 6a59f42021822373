package compat_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkPunkt asks /punkt and /lookup for points that nobody asked for before, without the network.
func BenchmarkPunkt(b *testing.B) {
	c := serve(b, openDemo(b), nil)
	ask := func(path string) {
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK {
			b.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	ask("/kommuneinfo/v1/punkt?nord=61&ost=10.5") // begins the index of points
	ask("/lookup?lon=10.5&lat=61")
	time.Sleep(3 * time.Second)
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
