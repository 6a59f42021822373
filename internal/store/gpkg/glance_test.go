package gpkg_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// stampSteps is longer than the steps of file times on Linux.
const stampSteps = 40 * time.Millisecond

// known waits until the state can be told at a glance, and returns it.
func known(t *testing.T, s *gpkg.Store) uint64 {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		n, err := s.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := s.Glance(); ok {
			if at != n {
				t.Fatalf("at a glance %x, want %x", at, n)
			}
			return n
		}
	}
	t.Skip("the file system has no times that only the kernel sets")
	return 0
}

// TestAGlanceNeverMissesAChange: what another program commits is seen at once, however soon after the last look, in whichever way it keeps its journal.
func TestAGlanceNeverMissesAChange(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("stamps are those of Linux")
	}
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1), (2);`+attributes)
	s := openStore(t, path, gpkg.Options{})
	s.SettleAfter(stampSteps)
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run := func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if err := sqlitex.ExecuteTransient(db, sql, nil); err != nil {
				t.Fatal(sql, err)
			}
		}
	}
	seen := map[uint64]bool{known(t, s): true}
	for i, journal := range []string{"DELETE", "TRUNCATE", "PERSIST", "MEMORY", "OFF", "DELETE"} {
		run("PRAGMA journal_mode=" + journal)
		for range 4 {
			if i%2 == 0 {
				known(t, s)
			}
			run("UPDATE x SET fid = -fid") // the file keeps its size
			n, ok := s.Glance()
			if ok && seen[n] {
				t.Fatalf("journal %s: a state from before at a glance", journal)
			}
			if n, err = s.State(t.Context()); err != nil || seen[n] {
				t.Fatalf("journal %s: a state from before: %v", journal, err)
			}
			seen[n] = true
		}
	}
	known(t, s)
	run("BEGIN", "UPDATE x SET fid = 7 * fid", "ROLLBACK")
	if n := known(t, s); !seen[n] {
		t.Error("what was rolled back makes another state")
	}
	run("PRAGMA journal_mode=WAL")
	for range 4 { // commits do not touch the file
		run("UPDATE x SET fid = 3 * fid")
		if _, ok := s.Glance(); ok {
			t.Error("a file in WAL mode is known at a glance")
		}
		n, err := s.State(t.Context())
		if err != nil || seen[n] {
			t.Fatalf("journal WAL: a state from before: %v", err)
		}
		seen[n] = true
		time.Sleep(2 * stampSteps)
	}
}

// TestAGlanceWaitsForAFileToSettle: a file that was written just now may be written again within the same step of its times.
func TestAGlanceWaitsForAFileToSettle(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1);`+attributes)
	s := openStore(t, path, gpkg.Options{})
	if _, err := s.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshotOf(t, s).Page(t.Context(), store.Query{Collection: "x", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Glance(); ok {
		t.Error("a file that was made just now is known at a glance")
	}
}

// TestAGlanceIsOfTheFileThatIsServed: another file in its place has the stamp of nothing that was read.
func TestAGlanceIsOfTheFileThatIsServed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("stamps are those of Linux")
	}
	const rows = `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1);` + attributes
	path, other := build(t, rows), build(t, rows)
	s := openStore(t, path, gpkg.Options{})
	s.SettleAfter(stampSteps)
	known(t, s)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * stampSteps)
	for range 2 {
		if _, ok := s.Glance(); ok {
			t.Error("the state of the file that was served is told by another one")
		}
		if _, err := s.State(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStateIsKnownAtAGlanceWhereNobodyWrites: of a file that is never changed in place.
func TestStateIsKnownAtAGlanceWhereNobodyWrites(t *testing.T) {
	t.Parallel()
	s := openStore(t, build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY);`+attributes), gpkg.Options{Unchanging: true})
	n, ok := s.Glance()
	if want, err := s.State(t.Context()); !ok || err != nil || n != want {
		t.Errorf("%x, %v, want %x, %v", n, ok, want, err)
	}
}

func BenchmarkGlance(b *testing.B) {
	s := openStore(b, build(b, `CREATE TABLE x (fid INTEGER PRIMARY KEY);`+attributes), gpkg.Options{})
	b.Run("state", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.State(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	s.SettleAfter(time.Millisecond)
	time.Sleep(stampSteps)
	b.Run("glance", func(b *testing.B) {
		_, err := s.State(b.Context())
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := s.Glance(); !ok || err != nil {
				b.Fatal("not known")
			}
		}
	})
}
