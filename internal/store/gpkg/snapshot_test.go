package gpkg_test

import (
	"errors"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestASnapshotIsOfOneVersion: once somebody has written into the file it answers no more, and another one has
// another version.
func TestASnapshotIsOfOneVersion(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, n INT); INSERT INTO x VALUES (1, 1), (2, 1), (3, 1);`+
		attributes)
	s := openStore(t, path, gpkg.Options{})
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	versions := map[store.Version]bool{}
	for n := range 3 {
		snap := snapshotOf(t, s)
		version, err := snap.Version(t.Context(), "x")
		if now := versionOf(t, s); err != nil || version != now || versions[version] {
			t.Fatalf("version %q, %v, the store has %q", version, err, now)
		}
		versions[version] = true
		first := store.Query{Collection: "x", Limit: 1}
		p, err := snap.Page(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		if err := sqlitex.Execute(db, "UPDATE x SET n = n + 1", nil); err != nil {
			t.Fatal(err)
		}
		next := first
		next.Cursor = p.Next
		if _, err := snap.Page(t.Context(), next); !errors.Is(err, store.ErrChanged) {
			t.Errorf("change %d: the next page: %v, want changed", n, err)
		}
		if err := snap.Fetch(t.Context(), "x", p.Rows, store.Want{}, func(*store.Feature) error {
			return nil
		}); !errors.Is(err, store.ErrChanged) {
			t.Errorf("change %d: the first row: %v, want changed", n, err)
		}
		if again, err := snap.Version(t.Context(), "x"); err != nil || again != version {
			t.Errorf("change %d: version %q, %v after %q", n, again, err, version)
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
