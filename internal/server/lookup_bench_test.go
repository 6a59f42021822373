package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"grense/internal/await"
)

// BenchmarkLookup looks up the divisions at new points, without the network. Some are on land, some outside all
// divisions, where the server searches the nearest one.
func BenchmarkLookup(b *testing.B) {
	p, err := demoFile()
	if err != nil {
		b.Fatal(err)
	}
	srv := benched(b, p)
	h := srv.Handler()
	await.Age(b, p, untrusted)
	h.ServeHTTP(&discard{h: http.Header{}}, httptest.NewRequest("GET", "/lookup?lon=10.5&lat=61", nil))
	indexed(b, srv)
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
