package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkLookup looks up the divisions at new points, without the network. Some are on land, some outside all
// divisions, where the server searches the nearest one.
func BenchmarkLookup(b *testing.B) {
	p, err := demoFile()
	if err != nil {
		b.Fatal(err)
	}
	h := benched(b, p).Handler()
	time.Sleep(6 * time.Second) // the demo is a new file
	for _, x := range []struct {
		name                string
		west, south, degree float64
	}{{"land", 10, 60.5, 1}, {"sea", 4, 61, 0.3}} {
		b.Run(x.name, func(b *testing.B) {
			r, d := rand.New(rand.NewPCG(1, 2)), &discard{}
			b.ReportAllocs()
			for b.Loop() {
				req := httptest.NewRequest("GET", fmt.Sprintf(
					"/lookup?lon=%.5f&lat=%.5f", x.west+x.degree*r.Float64(), x.south+x.degree*r.Float64()), nil)
				req.Header.Set("Accept-Encoding", "gzip")
				*d = discard{h: http.Header{}}
				h.ServeHTTP(d, req)
			}
			b.ReportMetric(float64(d.n), "B")
		})
	}
}
