//go:build !race

package gpkg_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/store"
)

// textsOf returns the folded names of rows, each once.
func textsOf(t *testing.T, s store.Store, rows []store.Row) []string {
	t.Helper()
	texts := []string{}
	err := s.Fetch(t.Context(), "skrivemaate", rows, store.Want{Properties: []string{"langnavn"}, NoGeometry: true},
		func(f *store.Feature) error {
			texts = append(texts, fold.Norm(f.Values[0].(string)))
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// Patterns that are looked for among texts in memory find what SQLite finds: by place, by name and by spelling,
// alone and with other criteria, as rows and as texts, and refuse as many.
func TestPatternsAreFoundAmongSpellingsAsBySQLite(t *testing.T) {
	t.Parallel()
	path := manyNames(t)
	sql, table := opened(t, path, -1), opened(t, path, 0)
	everything, err := sql.Page(t.Context(),
		store.Query{Collection: "skrivemaate", Limit: 100_000, Count: store.CountNone})
	if err != nil {
		t.Fatal(err)
	}
	texts := textsOf(t, sql, everything.Rows)
	r := rand.New(rand.NewPCG(1, 2))
	part := func() string {
		s := []rune(texts[r.IntN(len(texts))])
		at := r.IntN(len(s))
		return string(s[at:min(len(s), at+1+r.IntN(4))])
	}
	var drawn func(depth int) cql2.Expr
	drawn = func(depth int) cql2.Expr {
		switch n := r.IntN(12); {
		case depth > 0 && n < 2:
			return cql2.And{drawn(depth - 1), drawn(depth - 1)}
		case depth > 0 && n < 5:
			return cql2.Or{drawn(depth - 1), drawn(depth - 1)}
		case depth > 0 && n == 5:
			return cql2.Not{X: drawn(depth - 1)}
		case depth < 2 && n == 6:
			return liked(part() + "%")
		case depth < 2 && n == 7:
			return liked("%" + part())
		case n == 8:
			return liked("%" + part() + "%" + part() + "%")
		case n == 9:
			return liked("%" + part() + "_" + part() + "%")
		}
		return liked("%" + part() + "%")
	}
	ways := map[string]int{}
	for range 400 {
		coll := []string{"sted", "stedsnavn", "skrivemaate"}[r.IntN(3)]
		q := store.AllQuery{Query: store.Query{Collection: coll, SortBy: []store.Sort{{Property: "rang"}},
			Limit: []int{1, 20, 500, 100_000}[r.IntN(4)]}}
		filter := cql2.And{drawn(2)}
		if coll != "skrivemaate" {
			filter = cql2.And{cql2.Related{Relation: "skrivemaater", X: filter[0]}}
		}
		switch r.IntN(3) {
		case 0:
			filter = append(filter, has("kommuner", cql2.In{X: cql2.Prop{Name: "kommunenummer"},
				List: []cql2.Expr{cql2.Text("5612"), cql2.Text("0301"), cql2.Text("4204")}}))
		case 1:
			filter = append(filter, is("navneobjekttype", cql2.Text("bekk")))
		}
		r.Shuffle(len(filter), reflect.Swapper(filter))
		c, _ := sql.Catalog().Collection(coll)
		if q.Filter, err = cql2.Check(filter, c); err != nil {
			t.Fatal(err)
		}
		wantsTexts := coll == "skrivemaate" && r.IntN(2) == 0
		if wantsTexts {
			q.Texts, q.SortBy = "langnavn", nil
		}
		want, err := sql.All(t.Context(), q)
		var plan *store.Plan
		var err2 error
		await.True(t, "the table of spellings is built", func() bool {
			plan, err2 = table.ExplainAll(t.Context(), q)
			return err2 != nil || !slices.Contains(plan.Passed, "spellings") || table.Making() == 0
		})
		got, err3 := table.All(t.Context(), q)
		if err != nil || err2 != nil || err3 != nil {
			t.Fatal(err, err2, err3)
		}
		ways[plan.Way]++
		if want.More != got.More {
			t.Fatalf("%s, %#v, limit %d: more %v, by SQLite %v", coll, q.Filter, q.Limit, got.More, want.More)
		}
		slices.Sort(want.Texts)
		slices.Sort(got.Texts)
		switch {
		case want.More:
			ways["too many"]++
		case wantsTexts:
			ways["texts"]++
			if !slices.Equal(got.Texts, want.Texts) || got.Rows != nil {
				t.Fatalf("%#v: %q, by SQLite %q", q.Filter, got.Texts, want.Texts)
			}
		case len(want.Rows)+len(got.Rows) > 0 && !reflect.DeepEqual(want.Rows, got.Rows):
			t.Fatalf("%s, %#v, by %q: %d rows %.200v, by SQLite %d %.200v", coll, q.Filter, plan.Way, len(got.Rows),
				got.Rows, len(want.Rows), want.Rows)
		case len(want.Rows) > 0:
			ways["found"]++
		}
	}
	if ways["spellings"] < 100 || ways["all or nothing"] < 10 || ways["texts"] < 10 || ways["too many"] < 20 ||
		ways["found"] < 100 {
		t.Errorf("answers %v", ways)
	}
}

// Texts of spellings in a municipality, texts of all, and places by their spellings are found in one table.
func TestTextsShareTheTableOfThePlaces(t *testing.T) {
	t.Parallel()
	s := opened(t, manyNames(t), 0)
	in := has("kommuner", cql2.In{X: cql2.Prop{Name: "kommunenummer"},
		List: []cql2.Expr{cql2.Text("5612"), cql2.Text("0301")}})
	for _, q := range []store.AllQuery{
		{Query: store.Query{Collection: "skrivemaate", Filter: cql2.And{in, liked("%an%")}}, Texts: "langnavn"},
		{Query: store.Query{Collection: "skrivemaate", Filter: liked("%an%")}, Texts: "langnavn"},
		{Query: store.Query{Collection: "sted", Filter: cql2.Related{Relation: "skrivemaater", X: liked("%an%")},
			SortBy: []store.Sort{{Property: "rang"}}}},
	} {
		c, _ := s.Catalog().Collection(q.Collection)
		filter, err := cql2.Check(q.Filter, c)
		if err != nil {
			t.Fatal(err)
		}
		q.Filter, q.Limit = filter, 50_000
		await.True(t, "the table of spellings is built", func() bool {
			_, err = s.ExplainAll(t.Context(), q)
			return err != nil || s.Making() == 0
		})
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := s.ExplainAll(t.Context(), q); err != nil || plan.Way != "spellings" {
			t.Fatalf("%s, %#v: way %q, %v", q.Collection, q.Filter, plan.Way, err)
		}
	}
	if n := s.Tables(); n != 1 {
		t.Errorf("there are %d tables", n)
	}
}
