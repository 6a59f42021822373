//go:build !race

package gpkg_test

import (
	"fmt"
	"os"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// BenchmarkFetchHits reads what hits of a search consist of, by id, from the register that GRENSE_ACCEPT_REGISTER names.
func BenchmarkFetchHits(b *testing.B) {
	path := os.Getenv("GRENSE_ACCEPT_REGISTER")
	if path == "" {
		b.Skip("GRENSE_ACCEPT_REGISTER names no register")
	}
	dir := path + ".bench"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	s, err := gpkg.Open(b.Context(), path, gpkg.Options{DataDir: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	want := store.Want{NoGeometry: true, Properties: []string{"stedsnummer", "stedsnavn", "navneobjekttype", "stedstatus", "kommuner", "land", "spraakprioritering",
		"sortering1", "sortering2", "antall_tilleggsopplysninger", "antall_merknader"}}
	for _, n := range []int{1, 10, 300, 5000} {
		p, err := s.Page(b.Context(), store.Query{Collection: "sted", SortBy: []store.Sort{{Property: "oppdatert", Desc: true}}, Limit: n, Count: store.CountNone})
		if err != nil {
			b.Fatal(err)
		}
		ids := make([]string, len(p.Rows))
		for i, r := range p.Rows {
			ids[i] = r.ID
		}
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Fetch(b.Context(), "sted", ids, want, func(*store.Feature) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/hit")
		})
	}
}
