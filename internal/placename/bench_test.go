//go:build !race

package placename_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	api "grense/api/placename"
	"grense/internal/await"
	"grense/internal/cache"
	"grense/internal/placename"
	"grense/internal/register/registertest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// BenchmarkSearch searches a large register, the file that GRENSE_ACCEPT_REGISTER names, and encodes the hits.
func BenchmarkSearch(b *testing.B) {
	path, dir := registertest.Large(b)
	caches := &cache.Group{}
	st, err := gpkg.Open(b.Context(), path, gpkg.Options{DataDir: dir, Caches: caches})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	s := placename.New(st, placename.Options{})
	var late time.Time // after which some 4,900 places were updated
	page, err := st.Page(
		b.Context(),
		store.Query{
			Collection: "sted",
			SortBy:     []store.Sort{{Property: "oppdatert", Desc: true}},
			Limit:      1,
			Offset:     4900,
			Count:      store.CountNone,
		},
	)
	if err == nil {
		err = st.Fetch(
			b.Context(),
			"sted",
			store.Current(page.Rows[0].ID),
			store.Want{Properties: []string{"oppdatert"}, NoGeometry: true},
			func(f *store.Feature) (err error) {
				late, err = time.Parse(time.RFC3339, f.Values[0].(string))
				return err
			},
		)
	}
	if err != nil {
		b.Fatal(err)
	}
	name, prefix := "Nesvatnet", "Nesvatn*"
	similar := make([]string, 0, 20)
	for w := range strings.FieldsSeq("innlandet svenskfjorden hampvannet royemyrveien breholmen dronttoppen " +
		"ryggtjernet knutmortennutten olefjorden bjornberget ashildtjonna guttormvannet askebjorkbekken " +
		"seljehaugdalen elinskjeret mikkeltoppen svartfjellet raudsigmundhogda mjolkbukta litldalen") {
		similar = append(similar, "~"+w)
	}
	advanced, turn := true, 0
	for _, bb := range []struct {
		name   string
		search api.StedSoek
	}{
		{"similar", api.StedSoek{AvansertSoek: &advanced}},
		{"updated", api.StedSoek{OppdatertEtter: &late}},
		{"name", api.StedSoek{Stedsnavn: &name}},
		{"prefix", api.StedSoek{Stedsnavn: &prefix}},
	} {
		b.Run(strings.ToLower(bb.name), func(b *testing.B) {
			if bb.search.AvansertSoek != nil {
				bb.search.Stedsnavn = &similar[7]
				s.Search(b.Context(), &api.FindSteder{StedSoek: bb.search})
				await.True(b, "the text indexes", func() bool {
					building := func(x cache.Stats) bool { return x.Making > 0 }
					return !slices.ContainsFunc(caches.Stats(), building)
				})
			}
			b.ReportAllocs()
			n := 0
			var text []byte
			for b.Loop() {
				if bb.search.AvansertSoek != nil {
					bb.search.Stedsnavn = &similar[turn%len(similar)]
					turn++
				}
				a, err := s.Search(b.Context(), &api.FindSteder{StedSoek: bb.search})
				if refusal := (*api.Refusal)(nil); errors.As(err, &refusal) {
					continue
				}
				if err != nil {
					b.Fatal(err)
				}
				text, n = text[:0], a.Count
				for a.Next != nil {
					hits, err := a.Next(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					if hits == nil {
						break
					}
					text = api.PlainNil.AppendHits(text, "findSteder", hits)
				}
			}
			b.ReportMetric(float64(n), "hits")
		})
	}
}
