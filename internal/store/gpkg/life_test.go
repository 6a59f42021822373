package gpkg_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestSideFile can be deleted, damaged and shared at any time.
func TestSideFile(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, a INT); INSERT INTO x VALUES (1, 1);`+attributes)
	dir := t.TempDir()
	sides := func() []string {
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		return names
	}
	version := openStore(t, path, gpkg.Options{DataDir: dir}).Catalog().Version
	first := sides()
	if len(first) != 1 {
		t.Fatalf("files %q", first)
	}
	if err := os.WriteFile(first[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, path, gpkg.Options{DataDir: dir})
	if got := s.Catalog().Version; got != version || len(sides()) != 1 {
		t.Errorf("version %s, want %s; files %q", got, version, sides())
	}
	if err := os.Remove(sides()[0]); err != nil {
		t.Fatal(err)
	}
	if p := page(t, s, store.Query{Collection: "x", Limit: 1}); p.Matched != 1 {
		t.Error("a store needs its side file after it was opened")
	}
	run(t, path, "INSERT INTO x VALUES (2, 2);")
	if err := s.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	c := s.Catalog()
	if c.Version == version || c.Collections[0].Count != 2 {
		t.Errorf("after a change: version %s, count %d", c.Version, c.Collections[0].Count)
	}
	if now := sides(); len(now) != 1 || now[0] == first[0] {
		t.Errorf("side files %q", now)
	}
}

// TestAJournalOfTheFileThatTookItsPlace: queries to the old file are repeated, since SQLite takes the journal for one
// that a dead writer left.
func TestAJournalOfTheFileThatTookItsPlace(t *testing.T) {
	t.Parallel()
	const rows = `CREATE TABLE x (fid INTEGER PRIMARY KEY, a INT); INSERT INTO x VALUES (1, 1);` + attributes
	path := build(t, rows)
	s := openStore(t, path, gpkg.Options{})
	page(t, s, store.Query{Collection: "x", Limit: 1})
	if err := os.Rename(build(t, rows), path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-journal", []byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"), 0o600); err != nil {
		// as of a writer that is about to commit
		t.Fatal(err)
	}
	if _, err := s.Page(t.Context(), store.Query{Collection: "x", Limit: 1,
		SortBy: []store.Sort{{Property: "a"}}}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("%v, want that the data changed", err)
	}
}

// TestReloadKeepsTheOldOnError and goes on from its cursors.
func TestReloadKeepsTheOldOnError(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1), (2), (5);`+attributes)
	s := openStore(t, path, gpkg.Options{})
	first := page(t, s, store.Query{Collection: "x", Limit: 2})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(content []byte) error {
		if err := os.WriteFile(path+".new", content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		return s.Reload(context.Background())
	}
	if err := replace(whole[:5000]); err == nil {
		t.Error("a truncated file was taken")
	}
	if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 3 || p.Version != first.Version {
		t.Errorf("after a failed reload: %+v", p)
	}
	if err := replace(whole); err != nil {
		t.Fatal(err)
	}
	run(t, path, "DELETE FROM x WHERE fid = 2; INSERT INTO x VALUES (3);")
	if err := s.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	p := page(t, s, store.Query{Collection: "x", Limit: 5, Cursor: first.Next})
	if len(p.Rows) != 2 || p.Rows[0].ID != "3" || p.Rows[1].ID != "5" || p.Version == first.Version {
		t.Errorf("a cursor of an older revision gives %+v", p)
	}
}

// TestUnchangingFileIsReplaced: a file that is read without locks hinders no writer, and another in its place is
// seen at the next reload.
func TestUnchangingFileIsReplaced(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1), (2);`+attributes)
	s := openStore(t, path, gpkg.Options{Unchanging: true})
	if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 2 {
		t.Errorf("matched %d, want 2", p.Matched)
	}
	other := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1), (2), (7);`+attributes)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 2 {
		t.Errorf("before the reload: matched %d, want 2", p.Matched)
	}
	if err := s.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 3 || p.Rows[2].ID != "7" {
		t.Errorf("after the reload: %+v", p)
	}
}

// TestAFileThatIsWrittenIntoAfterAll: it is logged once, and served in its current version after the next reload.
func TestAFileThatIsWrittenIntoAfterAll(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1), (2);`+attributes)
	var log bytes.Buffer
	s := openStore(t, path, gpkg.Options{Unchanging: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := os.Chmod(path, 0o600); err != nil { // which changes no content
		t.Fatal(err)
	}
	if s.BrokenPromise() {
		t.Error("a file that nobody wrote into is said to be changed")
	}
	run(t, path, "INSERT INTO x VALUES (3);")
	if !s.BrokenPromise() {
		t.Error("a file that was written into is not said to be changed")
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "SIGHUP") {
		t.Errorf("told %d times: %s", n, log.String())
	}
	if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 3 {
		t.Errorf("after the reload: matched %d, want 3", p.Matched)
	}
	if s.BrokenPromise() {
		t.Error("the file is said to be changed since it was opened anew")
	}
}

// TestAnUnchangingFileWithAJournalIsRefused: what lies beside it would not be read.
// A file in WAL mode that is whole needs no copy.
func TestAnUnchangingFileWithAJournalIsRefused(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1), (2);`+attributes+
		`PRAGMA journal_mode=WAL;`)
	dir := t.TempDir()
	s := openStore(t, path, gpkg.Options{Unchanging: true, DataDir: dir})
	if copies, _ := filepath.Glob(filepath.Join(dir, "*.gpkg")); len(copies) > 0 {
		t.Errorf("copies %q", copies)
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if err := os.WriteFile(path+suffix, []byte("changes"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := s.Reload(t.Context())
		if err == nil || !strings.Contains(err.Error(), suffix) || !strings.Contains(err.Error(), "remove unchanging") {
			t.Errorf("with %s: %v", suffix, err)
		}
		if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 2 {
			t.Errorf("after a refused reload: %+v", p)
		}
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWALFile leaves nothing beside a file in WAL mode, and sees changes that are not in it yet.
func TestWALFile(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1), (2);`+attributes+
		`PRAGMA journal_mode=WAL;`)
	beside := func() int {
		names, _ := os.ReadDir(filepath.Dir(path))
		return len(names)
	}
	before := beside()
	s := openStore(t, path, gpkg.Options{})
	if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 2 || beside() != before {
		t.Errorf("matched %d, %d files beside", p.Matched, beside())
	}
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.ExecuteScript(db, "INSERT INTO x VALUES (3);", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 3 {
		t.Errorf("matched %d while another program writes, want 3", p.Matched)
	}
}

// TestDeadlineInterrupts a question that would read for much longer.
func TestDeadlineInterrupts(t *testing.T) {
	t.Parallel()
	s := openStore(t, build(t,
		`CREATE TABLE x (fid INTEGER PRIMARY KEY, a TEXT); INSERT INTO x SELECT value, printf('%d-%0100d', value, value)
		FROM (WITH RECURSIVE g(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM g WHERE value < 100000) SELECT value FROM g);`+attributes), gpkg.Options{})
	var slow cql2.Or
	for range 40 {
		slow = append(slow, cql2.Like{X: cql2.Func{Name: "norm", Args: []cql2.Expr{cql2.Prop{Name: "a"}}},
			Pattern: cql2.Text("%q%")})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Page(ctx, store.Query{Collection: "x", Filter: slow, Limit: 1}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if p := page(t, s, store.Query{Collection: "x", Limit: 1}); p.Matched != 100000 {
		t.Errorf("afterwards: %+v", p)
	}
}

// TestLongEdgeBends: a line that is straight in metres is another one when its ends are joined in degrees.
// A box on that one matches, though it is far from the envelope of the line.
func TestLongEdgeBends(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	a, b := orb.Point{100000, 6600000}, orb.Point{500000, 6600000}
	create(t, path, func(w store.Writer) {
		c := points("x", crs.UTM33)
		c.Geometry.Type = "LineString"
		if err := w.Define(context.Background(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(context.Background(), "x", []string{"nr", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		if err := insert("1", store.Geometry{WKB: wkb.MustMarshal(orb.LineString{a, b})}); err != nil {
			t.Fatal(err)
		}
	})
	s := openStore(t, path, gpkg.Options{})
	f, err := crs.Between(crs.UTM33, crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	lon1, lat1 := f(a[0], a[1])
	lon2, lat2 := f(b[0], b[1])
	middle := orb.Point{(lon1 + lon2) / 2, (lat1 + lat2) / 2}
	for name, want := range map[float64]int{0: 1, 0.1: 0} {
		box := middle.Bound().Pad(0.001)
		box.Min[1] += name
		box.Max[1] += name
		q := store.Query{Collection: "x", Limit: 1, Filter: cql2.BBox{Prop: "geometry", CRS: crs.CRS84, Box: box}}
		if p := page(t, s, q); len(p.Rows) != want {
			t.Errorf("box %v degrees north of the line: %d features, want %d", name, len(p.Rows), want)
		}
	}
}
