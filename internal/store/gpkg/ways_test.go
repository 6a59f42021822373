package gpkg_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// A question takes the first way that can answer it, is said to, and gets what it gets without that way.
func TestEachWayAnswersItsQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("asks one question after another: nothing for the race detector")
	}
	t.Parallel()
	names := namesOf(t, 2203)
	memory, none := opened(t, names, 0), opened(t, names, -1) // with and without tables in memory
	spots := spotFile(t, 100, crs.UTM33)
	place, tree := openStore(t, spots, gpkg.Options{}), openStore(t, spots, gpkg.Options{Columns: -1})
	box := cql2.BBox{Prop: "geom", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{8, 59}, Max: orb.Point{9, 60}}}
	search := cql2.Search{Props: []string{"navn", "annet"}, Terms: []string{"os"}}
	os := cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "navn", Type: cql2.TypeText}, R: cql2.Text("Os")}
	register := manyNames(t)
	spelled, unspelled := opened(t, register, 0), opened(t, register, -1)
	tests := map[string]struct {
		s, other *gpkg.Store
		q        store.Query
		without  string // way of other
	}{
		"all or nothing": {none, none, store.Query{Collection: "navn", Filter: os}, ""},
		"spellings": {spelled, unspelled, store.Query{Collection: "skrivemaate",
			SortBy: []store.Sort{{Property: "rang"}},
			Filter: liked("%ne%")},
			"all or nothing"},
		"type-ahead":   {memory, none, store.Query{Collection: "navn", Filter: search, Rank: &search}, "SQL"},
		"places":       {place, tree, store.Query{Collection: "x", Filter: box}, "SQL"},
		"column index": {memory, none, store.Query{Collection: "navn", Filter: os}, "SQL"},
		"column order": {memory, none, store.Query{Collection: "navn", SortBy: []store.Sort{{Property: "navn"}}},
			"SQL"},
		"ids": {memory, none, store.Query{Collection: "navn"}, "SQL"},
		"SQL": {none, none, store.Query{Collection: "navn", Filter: os}, ""},
	}
	for _, name := range gpkg.Ways() {
		x, ok := tests[name]
		if !ok {
			t.Errorf("no question takes the way %q", name)
			continue
		}
		x.q.Limit = 1000
		all := name == "all or nothing" || name == "spellings"
		explain := func(s *gpkg.Store) (*store.Plan, error) {
			if all {
				return s.ExplainAll(t.Context(), store.AllQuery{Query: x.q})
			}
			return s.Explain(t.Context(), x.q)
		}
		rows := func(s *gpkg.Store) ([]store.Row, error) {
			if all {
				a, err := s.All(t.Context(), store.AllQuery{Query: x.q})
				return a.Rows, err
			}
			p, err := s.Page(t.Context(), x.q)
			return p.Rows, err
		}
		plan, err := explain(x.s)
		if err == nil && x.without != "" && !slices.Contains(plan.Passed, name) && plan.Way != name {
			t.Errorf("%s: before the table is made: %+v", name, plan)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		await.Success(t, name, func() error {
			if plan, err = explain(x.s); err != nil || plan.Way != name || plan.Cost != x.s.Cost(x.q) {
				return fmt.Errorf("%+v (%w)", plan, err)
			}
			return nil
		})
		other, err := explain(x.other)
		if err != nil || x.without != "" && other.Way != x.without || other.Rows != plan.Rows ||
			other.Matched != plan.Matched || plan.Rows == 0 {
			t.Errorf("%s: %+v, without it %+v (%v)", name, plan, other, err)
		}
		got, err1 := rows(x.s)
		want, err2 := rows(x.other)
		if err1 != nil || err2 != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v (%v), without it %+v (%v)", name, got, err1, want, err2)
		}
	}
}
