package storetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"grense/internal/store"
)

// exerciseAllOrNothing runs random queries that need all matches or none, with some of them first.
func exerciseAllOrNothing(t *testing.T, s store.Store, d *dataset) {
	orders := append(slices.Clone(sorts), []store.Sort{{Property: "skjult"}}, []store.Sort{{Property: "antall"}})
	for i, set := range d.sets {
		g := &generator{r: rand.New(rand.NewPCG(13, uint64(i))), set: set}
		c := find(t, s, set.c.ID)
		moved := 0
		for n := range 300 {
			q := store.Query{Collection: c.ID, SortBy: orders[n%len(orders)], Limit: 1000, Count: store.CountNone,
				AllOrNothing: true}
			if n%10 > 0 {
				q.Filter = checked(t, c, g.predicate(n%3))
			}
			want := set.filter(t, q.Filter, q.SortBy)
			plain := want
			if n%5 > 0 {
				q.First = checked(t, c, g.predicate(n%4/2))
				first := set.matching(t, q.First)
				rest := slices.Clone(want)
				want = slices.DeleteFunc(slices.Clone(want), func(id string) bool { return !first[id] })
				want = append(want, slices.DeleteFunc(rest, func(id string) bool { return first[id] })...)
			}
			if !slices.Equal(want, plain) {
				moved++
			}
			p := page(t, s, q)
			same(t, c.ID, idsOf(p), want)
			if p.Next != "" {
				t.Errorf("%+v: more than all", q)
			}
			if q.Limit = len(want); q.Limit > 0 {
				same(t, "as many as there are", idsOf(page(t, s, q)), want)
			}
			if q.Limit--; q.Limit > 0 {
				p = page(t, s, q)
				got := idsOf(p)
				if slices.Sort(got); p.Next == "" || len(slices.Compact(got)) != q.Limit ||
					slices.ContainsFunc(got, func(id string) bool { return !slices.Contains(want, id) }) {
					t.Errorf("%+v: %q, next page %q", q, got, p.Next)
				}
			}
		}
		if moved < 10 {
			t.Errorf("%s: First changes the order of %d answers only", c.ID, moved)
		}
	}
}
