//go:build !race

package gpkg_test

import (
	"testing"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// BenchmarkSpellings looks for parts of names in a large register, the file that GRENSE_ACCEPT_REGISTER names,
// once their texts are in memory.
func BenchmarkSpellings(b *testing.B) {
	s := openLargeRegister(b).(*gpkg.Store)
	in := has("kommuner", is("kommunenummer", cql2.Text("5612")))
	for _, bb := range []struct{ name, pattern, texts string }{
		{"infix of 4", "%unum%", ""},
		{"infix of 4, the widest", "%vatn%", ""},
		{"infix of 2, the widest", "%en%", ""},
		{"infix of 2, no hit", "%qx%", ""},
		{"widest infix in the biggest municipality", "%vatn%", "in"},
		{"texts", "%vatn%", "texts"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			q := store.AllQuery{Query: store.Query{Collection: "sted", Filter: has("skrivemaater", liked(bb.pattern)),
				SortBy: []store.Sort{{Property: "rang"}}, Limit: 5000}}
			switch bb.texts {
			case "in":
				q.Filter = cql2.And{q.Filter, in}
			case "texts":
				q.Collection, q.Filter, q.Texts, q.SortBy, q.Limit = "skrivemaate", liked(bb.pattern),
					"langnavn", nil, 50_000
			}
			c, _ := s.Catalog().Collection(q.Collection)
			filter, err := cql2.Check(q.Filter, c)
			if err != nil {
				b.Fatal(err)
			}
			q.Filter = filter
			await.True(b, "the table is built", func() bool {
				plan, err := s.ExplainAll(b.Context(), q)
				if err != nil {
					b.Fatal(err)
				}
				return plan.Way == "spellings" || s.Making() == 0
			})
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				p, err := s.All(b.Context(), q)
				if err != nil {
					b.Fatal(err)
				}
				n = len(p.Rows) + len(p.Texts)
			}
			b.ReportMetric(float64(n), "rows")
		})
	}
}
