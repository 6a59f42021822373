package gpkg_test

import (
	"errors"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestASnapshotWhoseStateIsNamedIsOfThatState: once somebody has written into the file it answers no more, and another one has another name.
func TestASnapshotWhoseStateIsNamedIsOfThatState(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, n INT); INSERT INTO x VALUES (1, 1), (2, 1), (3, 1);`+attributes)
	s := openStore(t, path, gpkg.Options{})
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	names := map[string]bool{}
	for n := range 3 {
		named, free := snapshotOf(t, s), snapshotOf(t, s)
		name, err := named.Revision(t.Context(), "x")
		if now, err2 := s.RevisionOf(t.Context()); err != nil || err2 != nil || name != now || names[name] {
			t.Fatalf("state %q, %v, the store has %q, %v", name, err, now, err2)
		}
		names[name] = true
		first := store.Query{Collection: "x", Limit: 1}
		p, err := named.Page(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		if err := sqlitex.Execute(db, "UPDATE x SET n = n + 1", nil); err != nil {
			t.Fatal(err)
		}
		next := first
		next.Cursor = p.Next
		if _, err := named.Page(t.Context(), next); !errors.Is(err, store.ErrChanged) {
			t.Errorf("change %d: the next page: %v, want changed", n, err)
		}
		if err := named.Fetch(t.Context(), "x", p.Rows, store.Want{}, func(*store.Feature) error { return nil }); !errors.Is(err, store.ErrChanged) {
			t.Errorf("change %d: the first row: %v, want changed", n, err)
		}
		if again, err := named.Revision(t.Context(), "x"); err != nil || again != name {
			t.Errorf("change %d: state %q, %v after %q", n, again, err, name)
		}
		if _, err := free.Page(t.Context(), next); err != nil {
			t.Errorf("change %d: a snapshot whose state nobody asked for: %v", n, err)
		}
	}
}

func snapshotOf(t *testing.T, s *gpkg.Store) store.Snapshot {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { snap.Close() })
	return snap
}
