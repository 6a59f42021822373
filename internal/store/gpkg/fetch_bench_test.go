//go:build !race

package gpkg_test

import (
	"fmt"
	"testing"

	"grense/internal/store"
)

// BenchmarkFetchHits reads what hits of a search consist of, by id, from the register that
// GRENSE_ACCEPT_REGISTER names.
func BenchmarkFetchHits(b *testing.B) {
	s := openLargeRegister(b)
	want := store.Want{NoGeometry: true, Properties: []string{"stedsnummer", "stedsnavn", "navneobjekttype",
		"stedstatus", "kommuner", "land", "spraakprioritering",
		"sortering1", "sortering2", "antall_tilleggsopplysninger", "antall_merknader"}}
	for _, n := range []int{1, 10, 300, 5000} {
		p, err := s.Page(b.Context(), store.Query{Collection: "sted",
			SortBy: []store.Sort{{Property: "oppdatert", Desc: true}}, Limit: n, Count: store.CountNone})
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
				if err := s.Fetch(b.Context(), "sted", store.Current(ids...), want, func(*store.Feature) error {
					return nil
				}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/hit")
		})
	}
}
