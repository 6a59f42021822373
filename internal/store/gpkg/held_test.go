package gpkg_test

import (
	"context"
	"errors"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestWhatIsHeldIsOneStateWhileOthersWrite: in WAL mode, and before a file was switched to it.
func TestWhatIsHeldIsOneStateWhileOthersWrite(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, n INTEGER); INSERT INTO x VALUES (1, 0), (2, 0);`+
		attributes)
	s := openStore(t, path, gpkg.Options{MaxConns: 2})
	opened := versionOf(t, s)
	if string(opened) != s.Catalog().Version {
		t.Error("a file that nobody wrote into has another version than its catalog")
	}
	run, _ := other(t, path)
	run("PRAGMA journal_mode=WAL")
	for n := range int64(20) {
		held, err := s.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before, err := held.Page(t.Context(), store.Query{Collection: "x", Limit: 1, Count: store.CountCheap})
		if err != nil {
			t.Fatal(err)
		}
		run("UPDATE x SET n = n + 1")
		after, err := held.Page(t.Context(), store.Query{Collection: "x", Limit: 2})
		if err != nil || after.Rows[0] != before.Rows[0] {
			t.Errorf("two pages of what is held are of %v and %v: %v", before.Rows, after.Rows, err)
		}
		err = held.Fetch(t.Context(), "x", after.Rows, store.Want{}, func(f *store.Feature) error {
			if f.Values[0] != n {
				t.Errorf("n is %v, want %d", f.Values[0], n)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if rev, now := counted(t, s); now != n+1 || rev == after.Rows[0].Rev {
			t.Errorf("beside it n is %d, want %d", now, n+1)
		}
		if versionOf(t, s) == opened {
			t.Error("a file that was written into has the version of before")
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := held.Page(ended, store.Query{Collection: "x", Limit: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("after its end: %v", err)
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
		if err := held.Close(); err != nil {
			t.Errorf("again: %v", err)
		}
	}
}
