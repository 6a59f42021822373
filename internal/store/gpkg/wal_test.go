package gpkg_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// other is another program that writes into a file.
func other(t *testing.T, path string) (run func(statements ...string), end func()) {
	t.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	db.SetBlockOnBusy()
	end = sync.OnceFunc(func() { db.Close() })
	t.Cleanup(end)
	return func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if err := sqlitex.ExecuteTransient(db, sql, nil); err != nil {
				t.Fatal(sql, err)
			}
		}
	}, end
}

// counted reads the n of row 1 by its revision; 0 if the file changed in between.
func counted(t *testing.T, s *gpkg.Store) (rev uint64, n int64) {
	t.Helper()
	p, err := s.Page(t.Context(), store.Query{Collection: "x", Limit: 1, Count: store.CountExact})
	if err == nil {
		rev = p.Rows[0].Rev
		err = s.Fetch(t.Context(), "x", p.Rows, store.Want{}, func(f *store.Feature) error {
			n = f.Values[0].(int64)
			return nil
		})
	}
	if errors.Is(err, store.ErrChanged) {
		return 0, 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return rev, n
}

// TestEachStateOfAFileInWALModeHasItsRevision: what commits beside the file, and leaves its change counter as it was,
// is another state, from the switch to WAL mode through checkpoints and the end of the last writer to the switch back;
// while nobody writes the state is one.
func TestEachStateOfAFileInWALModeHasItsRevision(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, n INTEGER); INSERT INTO x VALUES (1, 0);`+attributes)
	s := openStore(t, path, gpkg.Options{})
	first, _ := counted(t, s)
	revs, n := map[uint64]int64{first: 0}, int64(0)
	run, end := other(t, path)
	look := func(what string) {
		t.Helper()
		var last uint64
		var version store.Version
		for i := range 3 {
			rev, got := counted(t, s)
			if got != n {
				t.Fatalf("%s: n is %d, want %d", what, got, n)
			}
			if before, seen := revs[rev]; seen && before != n {
				t.Fatalf("%s: the revision of n = %d is that of %d", what, n, before)
			}
			if i > 0 && rev != last {
				t.Errorf("%s: the revision changes though nobody writes", what)
			}
			if v, err := s.Version(t.Context()); err != nil || i > 0 && v != version {
				t.Errorf("%s: version %q, %v, want %q", what, v, err, version)
			} else {
				version = v
			}
			revs[rev], last = n, rev
		}
		p, err := s.Page(t.Context(), store.Query{Collection: "x", Filter: cql2.Compare{Op: cql2.Eq,
			L: cql2.Prop{Name: "n"}, R: cql2.Int(n)}, Limit: 1, Count: store.CountExact})
		if err != nil || p.Matched != 1 {
			t.Errorf("%s: finds %+v of n = %d: %v", what, p, n, err)
		}
	}
	commits := func(what string) {
		t.Helper()
		for range 3 {
			n++
			run("UPDATE x SET n = n + 1")
			look(what)
		}
	}
	commits("before")
	run("PRAGMA journal_mode=WAL")
	commits("in WAL mode")
	for _, how := range []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"} {
		run("PRAGMA wal_checkpoint(" + how + ")")
		look("after a checkpoint " + how)
		commits("since a checkpoint " + how)
	}
	end()
	look("without writers")
	for range 3 { // as a program does that opens the file for each change
		run, end = other(t, path)
		n++
		run("UPDATE x SET n = n + 1")
		end()
		look("by a writer that ends")
	}
}

// TestRevisionsHoldWhileManyWriteInWALMode: what is read by a revision is of that revision,
// whichever connection reads it.
func TestRevisionsHoldWhileManyWriteInWALMode(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, n INTEGER); INSERT INTO x VALUES (1, 0);`+attributes)
	s := openStore(t, path, gpkg.Options{})
	run, _ := other(t, path)
	run("PRAGMA journal_mode=WAL")
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for range 10 {
		run, _ := other(t, path)
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
					run("UPDATE x SET n = n + 1")
				}
			}
		})
	}
	var of sync.Map // n by revision; 0 for those that changed in between
	var told atomic.Int64
	for range 4 {
		readers.Go(func() {
			for i := 0; i < 500 || told.Load() < 4 && t.Context().Err() == nil; i++ {
				// however slowly others get to write
				rev, n := counted(t, s)
				was, seen := of.LoadOrStore(rev, n)
				if !seen {
					told.Add(1)
				} else if rev != 0 && was != n {
					t.Errorf("a revision is of n = %d and of %d", was, n)
					return
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	writers.Wait()
	t.Logf("%d revisions were read", told.Load())
}
