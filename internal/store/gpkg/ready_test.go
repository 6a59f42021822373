package gpkg_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// createRegister writes a public collection and one that is not.
func createRegister(t testing.TB, path string, ids ...string) {
	t.Helper()
	create(t, path, func(w store.Writer) {
		fillPoints(t, w, points("a", crs.UTM33), true, ids...)
		hidden := points("h", crs.UTM33)
		hidden.Public, hidden.Geometry = false, nil
		if err := w.Define(context.Background(), hidden, true); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Insert(context.Background(), "h", []string{"nr", "dag", "tid"}); err != nil {
			t.Fatal(err)
		}
	})
}

func alter(t testing.TB, path, sql string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteScript(c, sql, nil); err != nil {
		t.Fatal(err)
	}
}

// found returns the number of features of collection a whose words begin with q, and of all.
func found(t testing.TB, s *gpkg.Store, q string) (matches, all int) {
	t.Helper()
	c, ok := s.Catalog().Collection("a")
	if !ok {
		t.Fatalf("no collection: %v", s.Catalog().Notes)
	}
	p, err := s.Page(t.Context(), store.Query{Collection: "a",
		Filter: cql2.Search{Props: c.SearchNames(), Terms: []string{q}}, Limit: 10, Count: store.CountExact})
	if err != nil {
		t.Fatal(err)
	}
	return p.Matched, c.Count
}

func TestRegisterNeedsNoSideFileUntilItIsChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "register.gpkg")
	createRegister(t, path, "first", "second")
	createRegister(t, path, "third", "fourth", "fifth") // in place of the others, and of what was kept about them
	open := func(o gpkg.Options) (*gpkg.Store, int) {
		o.DataDir = t.TempDir()
		s := openStore(t, path, o)
		return s, len(entries(t, o.DataDir))
	}
	ready, files := open(gpkg.Options{})
	if n, all := found(t, ready, "thi"); n != 1 || all != 3 || files != 0 {
		t.Errorf("%d matches of %d, %d side files", n, all, files)
	}
	// a survey of its own
	other, files := open(gpkg.Options{Settings: map[string]store.Settings{"a": {Instant: "dag"}}})
	if n, all := found(t, other, "thi"); n != 1 || all != 3 || files != 1 {
		t.Errorf("with settings: %d matches of %d, %d side files", n, all, files)
	}
	a, _ := ready.Catalog().Collection("a")
	b, _ := other.Catalog().Collection("a")
	if a.Extent == nil || b.Extent == nil || *a.Extent != *b.Extent || a.Properties[2].Type != b.Properties[2].Type {
		t.Errorf("%+v differs from %+v", a, b)
	}
	if err := ready.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, path, "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'trigger'; "+
		"PRAGMA writable_schema = RESET; DELETE FROM a WHERE nr = 'third'; UPDATE a SET tid = 'noon' WHERE "+
		"nr = 'fifth'")
	changed, files := open(gpkg.Options{})
	if n, all := found(t, changed, "thi"); n != 0 || all != 2 || files != 1 {
		t.Errorf("after a change: %d matches of %d, %d side files", n, all, files)
	}
	c, _ := changed.Catalog().Collection("a")
	if p, ok := c.Find("tid"); !ok || p.Type != cql2.TypeText {
		t.Errorf("a column with another value is %+v", p)
	}
}

// A copy by SQLite restarts its change counter: no number of changes to it makes it look like the sealed file.
func TestChangedCopyOfARegisterIsReadAsAnyOtherFile(t *testing.T) {
	if testing.Short() {
		t.Skip("asks one question after another: nothing for the race detector")
	}
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "register.gpkg"), filepath.Join(dir, "copied.gpkg")
	createRegister(t, path, "first", "second")
	alter(t, path, "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'trigger'; "+
		"PRAGMA writable_schema = RESET; DELETE FROM a WHERE nr = 'second'")
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteTransient(c, "VACUUM INTO '"+copied+"'", nil), c.Close()); err != nil {
		t.Fatal(err)
	}
	// as if the file had been compact
	alter(t, copied, "UPDATE grense_side_state SET pages = (SELECT page_count FROM pragma_page_count)")
	for range 40 {
		alter(t, copied, "UPDATE a SET dag = date(coalesce(dag, '2000-01-01'), '+1 day')")
		s := openStore(t, copied, gpkg.Options{})
		if _, all := found(t, s, "first"); all != 1 {
			t.Fatalf("%d features", all)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileOfPublicCollectionsHasNoTablesOfOurs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) { fillPoints(t, w, points("a", crs.CRS84), false, "1") })
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n, err := sqlitex.ResultInt(c.Prep("SELECT count(*) FROM sqlite_schema WHERE name GLOB 'grense_side_*'"))
	if err != nil || n != 0 {
		t.Errorf("%d tables: %v", n, err)
	}
}
