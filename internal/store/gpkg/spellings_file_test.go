//go:build !race && (linux || darwin || freebsd) && (amd64 || arm64)

package gpkg_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// namesLike asks for places that have a name like a pattern.
func namesLike(t *testing.T, s *gpkg.Store, pattern string) store.Query {
	t.Helper()
	c, _ := s.Catalog().Collection("sted")
	filter, err := cql2.Check(has("skrivemaater", liked(pattern)), c)
	if err != nil {
		t.Fatal(err)
	}
	return store.Query{Collection: "sted", Filter: filter, SortBy: []store.Sort{{Property: "rang"}}, Limit: 5000, Count: store.CountNone, AllOrNothing: true}
}

// wayOf is how a store answers now.
func wayOf(t *testing.T, s *gpkg.Store, q store.Query) string {
	t.Helper()
	plan, err := s.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Way
}

// Spellings that a process made are at hand with the first question of the next, and tell the same; a file that is damaged is made anew, and one of
// another state of the source is removed.
func TestSpellingsAreKeptForTheNextStart(t *testing.T) {
	t.Parallel()
	path, dir := manyNames(t), t.TempDir()
	sql := opened(t, path, -1)
	open := func() *gpkg.Store {
		s := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: dir}))
		s.KeepSpellings()
		return s
	}
	files := func() []string {
		list, err := filepath.Glob(filepath.Join(dir, "*.spellings"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	made := func(s *gpkg.Store) {
		t.Helper()
		if way := wayOf(t, s, namesLike(t, s, "%vatn%")); way == "spellings" {
			t.Error("there are spellings before they are made")
		}
		for until := time.Now().Add(time.Minute); s.Making() > 0 && time.Now().Before(until); time.Sleep(time.Millisecond) {
		}
		if list := files(); len(list) != 1 {
			t.Fatalf("files %q", list)
		}
	}
	same := func(s *gpkg.Store) {
		t.Helper()
		for _, pattern := range []string{"%vatn%", "%å%", "%a_e%", "%qx%", "%en%"} {
			q := namesLike(t, s, pattern)
			want, err := sql.Page(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if way := wayOf(t, s, q); way != "spellings" {
				t.Errorf("way %q for %q", way, pattern)
			}
			got, err := s.Page(t.Context(), q)
			if err != nil || !slices.EqualFunc(got.Rows, want.Rows, func(a, b store.Row) bool { return a.ID == b.ID }) {
				t.Errorf("%q: %d rows, %v; by SQLite %d", pattern, len(got.Rows), err, len(want.Rows))
			}
		}
	}
	made(open())
	s := open()
	same(s)
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(s)

	first := files()[0]
	b, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{b[:len(b)-8], b[:4], append(slices.Clone(b[:5000]), append([]byte{b[5000] ^ 1}, b[5001:]...)...)} {
		if err := os.Remove(first); err != nil { // others have it open
			t.Fatal(err)
		}
		if err := os.WriteFile(first, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open()
		made(s)
		same(s)
	}
	s = open()
	same(s)
	if err := os.Truncate(first, 4096); err != nil {
		t.Fatal(err)
	}
	q := namesLike(t, s, "%vatn%")
	want, err := sql.Page(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Page(t.Context(), q); err != nil || len(got.Rows) != len(want.Rows) {
		t.Errorf("of a file that was cut: %v, %d rows", err, len(got.Rows))
	}
	made(open())
	if whole, err := os.ReadFile(first); err != nil || !reflect.DeepEqual(whole, b) {
		t.Errorf("the file that was made anew is another: %v", err)
	}

	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	open()
	if list := files(); len(list) > 0 {
		t.Errorf("files of a former state: %q", list)
	}
}
