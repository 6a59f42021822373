package gpkg_test

import (
	"reflect"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
)

func partOf(pattern string) cql2.Expr { return partOfProperty("navn", pattern) }

func partOfProperty(name, pattern string) cql2.Expr {
	casei := func(x cql2.Expr) cql2.Expr { return cql2.Func{Name: "casei", Args: []cql2.Expr{x}} }
	return cql2.Like{X: casei(cql2.Prop{Name: name, Type: cql2.TypeText}), Pattern: casei(cql2.Text(pattern))}
}

// Each table may need all the room and holds a connection while it is made.
func TestTablesInMemoryAreMadeOneAtATime(t *testing.T) {
	t.Parallel()
	s := opened(t, namesOf(t, 2203), 0)
	for deadline := time.Now().Add(time.Minute); !s.Folded("navn", "navn") || !s.Folded("navn", "annet"); time.Sleep(time.Millisecond) {
		for _, name := range []string{"navn", "annet"} {
			if _, err := s.Page(t.Context(), store.Query{Collection: "navn", Filter: partOfProperty(name, "%os%"), Limit: 1, Count: store.CountNone}); err != nil {
				t.Fatal(err)
			}
			if n := s.Making(); n > 1 {
				t.Fatalf("%d tables are made at once", n)
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the tables were not made")
		}
	}
}

// Rows found in folded texts in memory are those that SQLite finds: rows, counts and cursors, forwards and backwards.
func TestPartsOfTextsAreFoundAsBySQLite(t *testing.T) {
	t.Parallel()
	path := namesOf(t, 2203)
	sql, table := opened(t, path, -1), opened(t, path, 0)
	q := store.Query{Collection: "navn", Filter: partOf("%os%"), Limit: 10}
	for deadline := time.Now().Add(time.Minute); !table.Folded("navn", "navn"); time.Sleep(time.Millisecond) {
		if _, err := table.Page(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the table was not made")
		}
	}
	both := func(q store.Query) *store.Page {
		t.Helper()
		want, err := sql.Page(t.Context(), q)
		got, err2 := table.Page(t.Context(), q)
		if err != nil || err2 != nil || len(want.Rows)+len(got.Rows) > 0 && !reflect.DeepEqual(want, got) || want.Matched != got.Matched {
			t.Fatalf("%v from %q: %+v (%v), by SQLite %+v (%v)", q.Filter, q.Cursor, got, err2, want, err)
		}
		return want
	}
	matched := map[string]int{}
	for _, pattern := range []string{"%os%", "%OS%", "%ø%", "%Ø%", "%čoh%", "%.%", "% %", "%(nes)%", "%1%", "%none%", "%o%s%", "%o_%", "os%", "%os", "%%", "%\\%%", "%s o%"} {
		q.Filter = partOf(pattern)
		for _, limit := range []int{0, 7, 5000} {
			q.Limit, q.Offset, q.Cursor = limit, 0, ""
			matched[pattern] = both(q).Matched
			q.Offset = 30
			both(q)
		}
		q.Limit, q.Offset = 40, 0
		var last *store.Page
		for range 4 {
			if last = both(q); last.Next == "" {
				break
			}
			q.Cursor = last.Next
		}
		for last.Prev != "" {
			q.Cursor = last.Prev
			last = both(q)
		}
	}
	if matched["%os%"] == 0 || matched["%os%"] != matched["%OS%"] || matched["%ø%"] != matched["%Ø%"] || matched["%none%"] != 0 || matched["% %"] == 0 {
		t.Errorf("matches %v", matched)
	}
}
