package gpkg_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/gpkg/writer"
	"grense/internal/store/storetest"
)

// namesOf makes a GeoPackage of n features with two names each, of few words, so that many are alike.
func namesOf(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "names.gpkg")
	c := &store.Collection{ID: "navn", Table: "navn", Public: true,
		Key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger}, Properties: []store.Property{
			{Name: "navn", Column: "navn", Type: cql2.TypeText}, {Name: "annet", Column: "annet", Type: cql2.TypeText}}}
	storetest.Write(t, func(w store.Writer) {
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "navn", []string{"id", "navn", "annet"})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		words := strings.Fields(
			"Os Oslo Osøyri Ås Å Bø Bo Nord Nordre Nord-Fron Vest Vestre Berg Berget Čohkka 12 1 øy (nes) B.")
		text := func() any {
			switch r.IntN(20) {
			case 0:
				return nil
			case 1:
				return " - "
			}
			var list []string
			for range 1 + r.IntN(3) {
				list = append(list, words[r.IntN(len(words))])
			}
			return strings.Join(list, " ")
		}
		for i := range n {
			if err := insert(int64(i)*7%int64(n)*3-500, text(), text()); err != nil { // ids in no order, some negative
				t.Fatal(err)
			}
		}
	})(writer.Create(t.Context(), path))
	return path
}

// opened opens a GeoPackage with room for type-ahead; negative: none.
func opened(t testing.TB, path string, room int) *gpkg.Store {
	t.Helper()
	o := gpkg.Options{DataDir: t.TempDir(), TypeAhead: room, Index: min(int64(room), 0)}
	return storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, o))
}

func typed(q string) store.Query {
	terms, err := cql2.ParseSearch(q)
	if err != nil {
		panic(err)
	}
	s := cql2.Search{Props: []string{"navn", "annet"}, Terms: terms}
	return store.Query{Collection: "navn", Filter: s, Rank: &s, Limit: 10}
}

// warm asks until the table of type-ahead is there.
func warm(t testing.TB, s *gpkg.Store) {
	t.Helper()
	await.True(t, "the table is built", func() bool {
		if _, err := s.Page(t.Context(), typed("o")); err != nil {
			t.Fatal(err)
		}
		_, ready := s.TypeAhead("navn")
		return ready
	})
}

// Pages from the table in memory are those of the index: rows, counts and cursors, forwards and backwards.
func TestTypeAheadAnswersAsTheIndexDoes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	path := namesOf(t, 2203)
	index, table := opened(t, path, -1), opened(t, path, 0)
	warm(t, table)
	both := func(q store.Query) *store.Page {
		t.Helper()
		want, err := index.Page(t.Context(), q)
		got, err2 := table.Page(t.Context(), q)
		if (err == nil) != (err2 == nil) || !reflect.DeepEqual(want, got) {
			t.Fatalf("%+v %q: %+v (%v), by the index %+v (%v)", q, q.Rank.Terms, got, err2, want, err)
		}
		return want
	}
	r := rand.New(rand.NewPCG(3, 4))
	matched := 0
	for _, text := range []string{"o", "os", "oslo", "a", "å", "b", "bø", "nord", "nord f", "nordre v",
		"nord nord nord", "n,b", "os,os b,12", "1", "čoh", "x", "berg berget", "vest ber", "nord-fron"} {
		q := typed(text)
		for _, limit := range []int{0, 7, 300} {
			q.Limit, q.Offset, q.Cursor = limit, 0, ""
			matched += both(q).Matched
			q.Offset = r.IntN(400)
			both(q)
		}
		q.Limit, q.Offset, q.Count = 1+r.IntN(100), 0, store.CountNone
		var last *store.Page
		for n := 0; n < 5; n++ { // on to the end or for a while, then back
			p := both(q)
			if last = p; p.Next == "" {
				break
			}
			q.Cursor = p.Next
			q.Offset = r.IntN(2) * r.IntN(70)
		}
		for q.Offset = 0; last.Prev != ""; last = both(q) {
			q.Cursor = last.Prev
		}
	}
	if matched < 5_000 {
		t.Errorf("%d matches prove little", matched)
	}
	q := typed("os")
	for _, keys := range [][]any{{int64(-1)}, {int64(3)}, {1.5}, {"x"}, {nil}, {int64(1)}} {
		// cursors that a client may make up
		for _, back := range []bool{false, true} {
			for _, id := range []string{"-9000", "1000", "1001", "99999999"} {
				q.Cursor = store.NewCursor(store.Place{Back: back, Order: q.OrderName(), Keys: keys, ID: id})
				both(q)
			}
		}
	}
}

// A question that is not a search alone is left to SQL, with the table there as without it.
func TestTypeAheadLeavesOtherQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("asks one question after another: nothing for the race detector")
	}
	t.Parallel()
	path := namesOf(t, 2101)
	index, table := opened(t, path, -1), opened(t, path, 0)
	warm(t, table)
	plain := typed("os")
	one := cql2.Search{Props: []string{"navn"}, Terms: []string{"os"}}
	for name, change := range map[string]func(q *store.Query){
		"a filter too": func(q *store.Query) {
			q.Filter = cql2.And{q.Filter, cql2.Compare{Op: cql2.Gt, L: cql2.Prop{Name: "id"}, R: cql2.Int(700)}}
		},
		"sorted":        func(q *store.Query) { q.Rank, q.SortBy = nil, []store.Sort{{Property: "navn"}} },
		"then sorted":   func(q *store.Query) { q.SortBy = []store.Sort{{Property: "navn", Desc: true}} },
		"no rank":       func(q *store.Query) { q.Rank = nil },
		"in a list":     func(q *store.Query) { q.Filter = cql2.And{q.Filter} },
		"not":           func(q *store.Query) { q.Rank, q.Filter = nil, cql2.Not{X: q.Filter} },
		"one property":  func(q *store.Query) { q.Filter, q.Rank = one, nil },
		"another order": func(q *store.Query) { s := *q.Rank; s.Terms = []string{"os", "bo"}; q.Filter = s },
	} {
		q := plain
		change(&q)
		want, err := index.Page(t.Context(), q)
		got, err2 := table.Page(t.Context(), q)
		if (err == nil) != (err2 == nil) || !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %+v (%v), want %+v (%v)", name, got, err2, want, err)
		}
	}
}

func TestTypeAheadKeepsWithinItsRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("asks one question after another: nothing for the race detector")
	}
	t.Parallel()
	path := namesOf(t, 2101)
	for name, room := range map[string]int{"none": -1, "too little": 10_000} {
		s := opened(t, path, room)
		for range 20 {
			if p, err := s.Page(t.Context(), typed("os")); err != nil || p.Matched == 0 {
				t.Fatalf("%s: %+v, %v", name, p, err)
			}
		}
		if err := s.Close(); err != nil { // waits for the table
			t.Error(err)
		}
		if begun, ready := s.TypeAhead("navn"); ready || begun != (room > 0) {
			t.Errorf("%s: begun %t, ready %t", name, begun, ready)
		}
	}
	small := opened(t, namesOf(t, 200), 0)
	if _, err := small.Page(t.Context(), typed("os")); err != nil {
		t.Fatal(err)
	}
	if begun, _ := small.TypeAhead("navn"); begun {
		t.Error("a small collection has a table")
	}
}

func BenchmarkTypeAhead(b *testing.B) {
	for _, n := range []int{3_000, 30_000} {
		path := namesOf(b, n)
		for name, room := range map[string]int{"index": -1, "table": 0} {
			s := opened(b, path, room)
			if room == 0 {
				warm(b, s)
			}
			for _, q := range []string{"o", "os", "oslo"} {
				b.Run(fmt.Sprintf("n=%d/%s/%s", n, name, q), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := s.Page(b.Context(), typed(q)); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
