//go:build !race

package gpkg_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
)

// textsOf returns the folded names of rows, each once.
func textsOf(t *testing.T, s store.Store, rows []store.Row) []string {
	t.Helper()
	texts := []string{}
	err := s.Fetch(t.Context(), "skrivemaate", rows, store.Want{Properties: []string{"langnavn"}, NoGeometry: true},
		func(f *store.Feature) error {
			texts = append(texts, cql2.Norm(f.Values[0].(string)))
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
		q := store.Query{Collection: coll, SortBy: []store.Sort{{Property: "rang"}},
			Limit: []int{1, 20, 500, 100_000}[r.IntN(4)], Count: store.CountNone, AllOrNothing: true}
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
		want, err := sql.Page(t.Context(), q)
		plan, err2 := table.Explain(t.Context(), q)
		for until := time.Now().Add(time.Minute); err2 == nil && slices.Contains(plan.Passed, "spellings") &&
			table.Making() > 0 && time.Now().Before(until); time.Sleep(time.Millisecond) {
			plan, err2 = table.Explain(t.Context(), q)
		}
		got, err3 := table.Page(t.Context(), q)
		if err != nil || err2 != nil || err3 != nil {
			t.Fatal(err, err2, err3)
		}
		ways[plan.Way]++
		if (want.Next == "") != (got.Next == "") {
			t.Fatalf("%s, %#v, limit %d: more %q, by SQLite %q", coll, q.Filter, q.Limit, got.Next, want.Next)
		}
		switch {
		case want.Next != "":
			ways["too many"]++
		case got.Texts != nil:
			ways["texts"]++
			if slices.Sort(got.Texts); !slices.Equal(got.Texts, textsOf(t, sql, want.Rows)) || got.Rows != nil {
				t.Fatalf("%#v: %q, by SQLite %q", q.Filter, got.Texts, textsOf(t, sql, want.Rows))
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
	in := has("kommuner",
		cql2.In{X: cql2.Prop{Name: "kommunenummer"}, List: []cql2.Expr{cql2.Text("5612"), cql2.Text("0301")}})
	for _, q := range []store.Query{
		{Collection: "skrivemaate", Filter: cql2.And{in, liked("%an%")}, Texts: "langnavn"},
		{Collection: "skrivemaate", Filter: liked("%an%"), Texts: "langnavn"},
		{Collection: "sted", Filter: cql2.Related{Relation: "skrivemaater", X: liked("%an%")},
			SortBy: []store.Sort{{Property: "rang"}}},
	} {
		c, _ := s.Catalog().Collection(q.Collection)
		filter, err := cql2.Check(q.Filter, c)
		if err != nil {
			t.Fatal(err)
		}
		q.Filter, q.Limit, q.Count, q.AllOrNothing = filter, 50_000, store.CountNone, true
		_, err = s.Explain(t.Context(), q)
		for until := time.Now().Add(time.Minute); err == nil && s.Making() > 0 &&
			time.Now().Before(until); time.Sleep(time.Millisecond) {
			_, err = s.Explain(t.Context(), q)
		}
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := s.Explain(t.Context(), q); err != nil || plan.Way != "spellings" {
			t.Fatalf("%s, %#v: way %q, %v", q.Collection, q.Filter, plan.Way, err)
		}
	}
	if n := s.Tables(); n != 1 {
		t.Errorf("there are %d tables", n)
	}
}

// The rows of a municipality are read once, not again for another pattern within it;
// after a reload they are read again.
func TestWhatPatternsAreAskedWithinIsReadOnce(t *testing.T) {
	t.Parallel()
	s := opened(t, manyNames(t), 0)
	reads := func(pattern, number string) bool {
		t.Helper()
		c, _ := s.Catalog().Collection("sted")
		filter, err := cql2.Check(cql2.And{has("skrivemaater", liked(pattern)),
			has("kommuner", is("kommunenummer", cql2.Text(number)))}, c)
		if err != nil {
			t.Fatal(err)
		}
		q := store.Query{Collection: "sted", Filter: filter, SortBy: []store.Sort{{Property: "rang"}}, Limit: 5000,
			Count: store.CountNone, AllOrNothing: true}
		plan, err := s.Explain(t.Context(), q)
		for until := time.Now().Add(time.Minute); err == nil && plan.Way != "spellings" &&
			time.Now().Before(until); time.Sleep(time.Millisecond) {
			plan, err = s.Explain(t.Context(), q)
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(plan.Steps) > 0
	}
	for i, step := range []struct {
		pattern, number string
		reads           bool
	}{{"%an%", "5612", true}, {"%an%", "5612", false}, {"%vatn%", "5612", false}, {"va%", "5612", false},
		{"%vatn", "5612", false}, {"%an%", "0301", true}, {"%an%", "9999", true}, {"%vatn%", "9999", false}} {
		if got := reads(step.pattern, step.number); got != step.reads {
			t.Errorf("step %d: rows are read: %v", i, got)
		}
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !reads("%an%", "5612") {
		t.Error("rows of before the reload are used")
	}
}
