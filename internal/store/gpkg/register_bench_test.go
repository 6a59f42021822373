//go:build !race

package gpkg_test

import (
	"testing"

	"grense/internal/cql2"
	"grense/internal/register/registertest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// openLargeRegister opens the file that GRENSE_ACCEPT_REGISTER names, or skips.
func openLargeRegister(b *testing.B) store.Store {
	path, dir := registertest.Large(b)
	s, err := gpkg.Open(b.Context(), path, gpkg.Options{DataDir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkRegister asks a large register, the file that GRENSE_ACCEPT_REGISTER names, for the ids of searches.
func BenchmarkRegister(b *testing.B) {
	s := openLargeRegister(b)
	c, _ := s.Catalog().Collection("sted")
	for _, bb := range []struct {
		name   string
		filter cql2.Expr
	}{
		{"name", has("skrivemaater", named("nesvatnet"))},
		{"prefix", has("skrivemaater", liked("nesvatn%"))},
		{"municipality", has("kommuner", is("kommunenummer", cql2.Text("5612")))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			x, err := cql2.Check(bb.filter, c)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				p, err := s.All(b.Context(), store.AllQuery{Query: store.Query{Collection: "sted", Filter: x,
					SortBy: []store.Sort{{Property: "rang"}}, Limit: 5001}})
				if err != nil {
					b.Fatal(err)
				}
				n = len(p.Rows)
			}
			b.ReportMetric(float64(n), "rows")
		})
	}
}
