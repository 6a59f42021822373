package storetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"grense/internal/cql2/fold"
	"grense/internal/store"
)

// exerciseAllOrNothing runs random AllQueries.
func exerciseAllOrNothing(t *testing.T, s store.Store, d *dataset) {
	orders := append(slices.Clone(sorts), []store.Sort{{Property: "skjult"}}, []store.Sort{{Property: "antall"}})
	for i, set := range d.sets {
		g := &generator{r: rand.New(rand.NewPCG(13, uint64(i))), set: set}
		c := find(t, s, set.c.ID)
		for n := range 300 {
			q := store.Query{Collection: c.ID, SortBy: orders[n%len(orders)], Limit: 1000}
			if n%10 > 0 {
				q.Filter = checked(t, c, g.predicate(n%3))
			}
			want := set.filter(t, q.Filter, q.SortBy)
			all := func(limit int) *store.All {
				q.Limit = limit
				a, err := s.All(t.Context(), store.AllQuery{Query: q})
				if err != nil {
					t.Fatalf("%+v: %v", q, err)
				}
				return a
			}
			for _, limit := range []int{1000, len(want)} {
				if limit == 0 {
					continue
				}
				a := all(limit)
				same(t, c.ID, idsOf(&store.Page{Rows: a.Rows}), want)
				if a.More {
					t.Errorf("%+v: more than all", q)
				}
			}
			if len(want) > 1 {
				if a := all(len(want) - 1); !a.More || a.Rows != nil {
					t.Errorf("%+v: %d rows, more %v", q, len(a.Rows), a.More)
				}
			}
		}
	}
}

// exerciseTexts requests the folded texts of matches.
func exerciseTexts(t *testing.T, s store.Store, d *dataset) {
	for i, set := range d.sets {
		c := find(t, s, set.c.ID)
		at := slices.IndexFunc(c.Properties, func(p store.Property) bool { return p.Search.Norm != "" })
		if at < 0 {
			continue
		}
		name := c.Properties[at].Name
		g := &generator{r: rand.New(rand.NewPCG(14, uint64(i))), set: set}
		for n := range 50 {
			q := store.AllQuery{Query: store.Query{Collection: c.ID, Limit: 1000}, Texts: name}
			if n > 0 {
				q.Filter = checked(t, c, g.predicate(n%3))
			}
			want := map[string]bool{}
			rows := store.Current(set.filter(t, q.Filter, nil)...)
			wanted := store.Want{Properties: []string{name}}
			err := s.Fetch(t.Context(), c.ID, rows, wanted, func(f *store.Feature) error {
				text, _ := f.Values[0].(string)
				want[fold.Norm(text)] = true
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			a, err := s.All(t.Context(), q)
			if err != nil || a.More || a.Rows != nil || len(a.Texts) != len(want) ||
				slices.ContainsFunc(a.Texts, func(s string) bool { return !want[s] }) {
				t.Errorf("%+v: %+v, want %v (%v)", q, a, want, err)
			}
		}
	}
}
