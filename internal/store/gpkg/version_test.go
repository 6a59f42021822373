package gpkg_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/await"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// stampSteps is longer than the steps of file times on Linux.
const stampSteps = 40 * time.Millisecond

// settled waits until the stamp of the file shows its version, and returns that.
func settled(t *testing.T, s *gpkg.Store) store.Version {
	t.Helper()
	if !s.HasStamp() {
		t.Skip("the file system has no times that only the kernel sets")
	}
	var v store.Version
	await.True(t, "the stamp of the file is trusted", func() bool {
		v = versionOf(t, s)
		return s.Stamped()
	})
	return v
}

// leftAlone waits until the file was last changed longer ago than the steps of its times.
func leftAlone(t testing.TB, s *gpkg.Store) {
	t.Helper()
	await.True(t, "the file is left alone", func() bool { return s.Unchanged() > 2*stampSteps })
}

func versionOf(t *testing.T, s *gpkg.Store) store.Version {
	t.Helper()
	v, err := s.Version(t.Context())
	if err != nil || v == "" {
		t.Fatalf("version %q, %v", v, err)
	}
	return v
}

// TestVersionsNeverMissAChange: what another program commits is seen at once, however soon after the last look, in
// whichever way it keeps its journal.
func TestVersionsNeverMissAChange(t *testing.T) {
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
	seen := map[store.Version]bool{settled(t, s): true}
	for i, journal := range []string{"DELETE", "TRUNCATE", "PERSIST", "MEMORY", "OFF", "DELETE"} {
		run("PRAGMA journal_mode=" + journal)
		for range 4 {
			if i%2 == 0 {
				settled(t, s)
			}
			run("UPDATE x SET fid = -fid") // the file keeps its size
			v := versionOf(t, s)
			if seen[v] {
				t.Fatalf("journal %s: an earlier version", journal)
			}
			seen[v] = true
		}
	}
	settled(t, s)
	run("BEGIN", "UPDATE x SET fid = 7 * fid", "ROLLBACK")
	if !seen[settled(t, s)] {
		t.Error("what was rolled back makes another version")
	}
	run("PRAGMA journal_mode=WAL")
	for range 4 { // commits do not touch the file
		run("UPDATE x SET fid = 3 * fid")
		if s.Stamped() {
			t.Error("the stamp of a file in WAL mode is trusted")
		}
		v := versionOf(t, s)
		if seen[v] {
			t.Fatal("journal WAL: an earlier version")
		}
		seen[v] = true
		leftAlone(t, s)
	}
}

// TestStampsWaitForAFileToSettle: a file that was written just now may be written again within the same step of its
// times.
func TestStampsWaitForAFileToSettle(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1);`+attributes)
	s := openStore(t, path, gpkg.Options{})
	versionOf(t, s)
	if _, err := snapshotOf(t, s).Page(t.Context(), store.Query{Collection: "x", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	if s.Stamped() {
		t.Error("the stamp of a file that was made just now is trusted")
	}
}

// TestStampsAreOfTheFileThatIsServed: another file in its place has the stamp of nothing that was read.
func TestStampsAreOfTheFileThatIsServed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("stamps are those of Linux")
	}
	const rows = `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1);` + attributes
	path, other := build(t, rows), build(t, rows)
	s := openStore(t, path, gpkg.Options{})
	s.SettleAfter(stampSteps)
	settled(t, s)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	leftAlone(t, s)
	for range 2 {
		if s.Stamped() {
			t.Error("the version of the file that is served is told by the stamp of another one")
		}
		versionOf(t, s)
	}
}

// TestTheVersionOfAnUnchangingFileIsThatOfItsCatalog.
func TestTheVersionOfAnUnchangingFileIsThatOfItsCatalog(t *testing.T) {
	t.Parallel()
	s := openStore(t, build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY);`+attributes), gpkg.Options{Unchanging: true})
	if v := versionOf(t, s); !s.Stamped() || string(v) != s.Catalog().Version {
		t.Errorf("%s, want %s", v, s.Catalog().Version)
	}
}

func BenchmarkVersion(b *testing.B) {
	s := openStore(b, build(b, `CREATE TABLE x (fid INTEGER PRIMARY KEY);`+attributes), gpkg.Options{})
	for _, what := range []string{"read", "stamped"} {
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Version(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		s.SettleAfter(time.Millisecond)
		leftAlone(b, s)
	}
}
