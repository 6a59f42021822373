package gpkg_test

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
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
	"grense/internal/migrate"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/gpkg/writer"
)

// points is a small collection.
func points(id string, in crs.ID) *store.Collection {
	return &store.Collection{
		ID: id, Table: id, Public: true, Key: store.FeatureKey{Column: "nr", Type: cql2.TypeText, Property: "nr"},
		Properties: []store.Property{
			{Name: "nr", Column: "nr", Type: cql2.TypeText}, {Name: "dag", Column: "dag", Type: cql2.TypeDate},
			{Name: "tid", Column: "tid", Type: cql2.TypeTimestamp},
		},
		Geometry: &store.Geom{Name: "geometry", Column: "geom", Type: "Point", CRS: in},
	}
}

func point(x, y float64) store.Geometry { return store.Geometry{WKB: wkb.MustMarshal(orb.Point{x, y})} }

// fillPoints writes one row for each id.
func fillPoints(t testing.TB, w store.Writer, c *store.Collection, replace bool, ids ...string) {
	t.Helper()
	if err := w.Define(context.Background(), c, replace); err != nil {
		t.Fatal(err)
	}
	insert, err := w.Insert(context.Background(), c.Table, []string{"nr", "geom", "dag", "tid"})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if err := insert(id, point(10+float64(i), 60), "2024-02-29",
			time.Date(2024, 2, 29, 12, 0, 0, 0, time.FixedZone("", 3600))); err != nil {
			t.Fatal(err)
		}
	}
}

func entries(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestWriterAddsToAnExistingFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) { fillPoints(t, w, points("a", crs.CRS84), false, "1", "2") })
	create(t, path, func(w store.Writer) {
		if err := w.Define(context.Background(), points("a", crs.CRS84), false); err == nil {
			t.Error("an existing collection was defined again")
		}
		fillPoints(t, w, points("b", crs.UTM33), false, "3")
	})
	create(t, path, func(w store.Writer) { fillPoints(t, w, points("a", crs.ETRS89), true, "4", "5", "6") })
	s := openStore(t, path, gpkg.Options{})
	for id, want := range map[string]int{"a": 3, "b": 1} {
		c, ok := s.Catalog().Collection(id)
		if !ok || c.Count != want || c.Key.Property != "nr" {
			t.Errorf("%s: %+v", id, c)
		}
		if p := page(t, s, store.Query{Collection: id, Limit: 9, Filter: cql2.BBox{Prop: "geometry",
			CRS: c.StorageCRS(), Box: orb.Bound{Max: orb.Point{99, 99}}}}); len(p.Rows) != want {
			t.Errorf("%s: bbox finds %d, want %d", id, len(p.Rows), want)
		}
	}
	if c, _ := s.Catalog().Collection("a"); c.StorageCRS() != crs.ETRS89 {
		t.Errorf("reference system %v", c.StorageCRS())
	}
}

func TestWriterWithoutCommitLeavesTheTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.gpkg")
	create(t, path, func(w store.Writer) { fillPoints(t, w, points("a", crs.CRS84), false, "1") })
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := writer.Create(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	fillPoints(t, w, points("a", crs.CRS84), true, "2", "3")
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the target changed before Commit, as a crash would leave it")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if names := entries(t, dir); len(names) != 1 {
		t.Errorf("left behind: %q", names)
	}
	if err := w.Commit(context.Background()); err == nil {
		t.Error("a closed writer was committed")
	}
}

// TestWriterRemovesWhatACrashLeft, but not what another writer may be at.
func TestWriterRemovesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a [former] folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{".x.gpkg.1.tmp": 25 * time.Hour, ".x.gpkg.2.tmp": time.Hour,
		".y.gpkg.3.tmp": 25 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	create(t, filepath.Join(dir, "x.gpkg"), func(store.Writer) {})
	if got := strings.Join(entries(t, dir), " "); got != ".x.gpkg.2.tmp .y.gpkg.3.tmp x.gpkg" {
		t.Errorf("files %s", got)
	}
}

func TestWriterCancelledCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := writer.Create(context.Background(), filepath.Join(dir, "x.gpkg"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fillPoints(t, w, points("a", crs.CRS84), false, "1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.Commit(ctx); err == nil {
		t.Error("committed")
	}
	if names := entries(t, dir); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

func TestWriterRefusesValues(t *testing.T) {
	t.Parallel()
	w, err := writer.Create(context.Background(), filepath.Join(t.TempDir(), "x.gpkg"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fillPoints(t, w, points("a", crs.CRS84), false, "1")
	insert, err := w.Insert(t.Context(), "a", []string{"nr", "geom", "dag"})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string][]any{
		"too few": {"2"}, "repeated id": {"1", nil, nil}, "null id": {nil, nil, nil}, "not UTF-8": {"\xff", nil, nil},
		"no date":      {"2", nil, "soon"},
		"not a number": {"2", nil, math.NaN()}, "broken geometry": {"2", store.Geometry{WKB: []byte{1, 2}}, nil},
		"unknown type": {"2", nil, struct{}{}},
	} {
		if err := insert(row...); err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := insert("2", nil, nil); err != nil {
		t.Errorf("a good row after bad ones: %v", err)
	}
	if _, err := w.Insert(t.Context(), "nowhere", []string{"a"}); err == nil {
		t.Error("an unknown table")
	}
	if _, err := w.Insert(t.Context(), "a", []string{"nowhere"}); err == nil {
		t.Error("an unknown column")
	}
}

// TestWrittenFileIsAGeoPackage asks SQLite and, where it is installed, GDAL.
func TestWrittenFileIsAGeoPackage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) {
		for _, id := range crs.Served() {
			fillPoints(t, w, points("l"+strings.ToLower(strings.ReplaceAll(id.String(), ":", "_")), id),
				false, "1", "2")
		}
	})
	db, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for question, want := range map[string]string{
		"PRAGMA application_id":                         "1196444487",
		"PRAGMA journal_mode":                           "delete",
		"PRAGMA integrity_check":                        "ok",
		"SELECT count(*) FROM pragma_foreign_key_check": "0",
		"SELECT group_concat(DISTINCT feature_count) FROM gpkg_ogr_contents":              "2",
		"SELECT min_x || ' ' || max_x FROM gpkg_contents WHERE table_name = 'lepsg_3857'": "10.0 11.0",
		"SELECT count(*) FROM rtree_lepsg_3857_geom":                                      "2",
		"SELECT dag || ' ' || tid FROM lepsg_3857 LIMIT 1": "2024-02-29 " +
			"2024-02-29T11:00:00.000Z",
		"SELECT count(*) FROM gpkg_extensions WHERE extension_name = 'gpkg_rtree_index'":          "12",
		"SELECT count(*) FROM gpkg_spatial_ref_sys WHERE definition = 'undefined' AND srs_id > 0": "0",
		// tables of the register only where they are used
		"SELECT count(*) FROM sqlite_schema WHERE name = 'sted'": "0",
	} {
		got := ""
		err := sqlitex.ExecuteTransient(db, question, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			got = s.ColumnText(0)
			return nil
		}})
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", question, got, err, want)
		}
	}
	if _, err := exec.LookPath("ogrinfo"); err != nil {
		t.Skip("skipped: no ogrinfo")
	}
	out, err := exec.Command("ogrinfo", "-al", "-so", "-ro", path).CombinedOutput()
	if err != nil || strings.Contains(string(out), "ERROR") || strings.Contains(string(out), "Warning") ||
		strings.Contains(string(out), "grense_") {
		t.Errorf("ogrinfo: %v\n%s", err, out)
	}
	if n := strings.Count(string(out), "Feature Count: 2"); n != 12 {
		t.Errorf("ogrinfo counts %d layers", n)
	}
	for _, id := range crs.Served() {
		if id != crs.CRS84 && !strings.Contains(string(out), "\"EPSG\","+strings.TrimPrefix(id.String(), "EPSG:")) {
			t.Errorf("ogrinfo does not name %v", id)
		}
	}
}

// TestWriterTakesTablesOfMigrations: the first use of one of their tables makes them all.
func TestWriterTakesTablesOfMigrations(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) {
		insert, err := w.Insert(t.Context(), "grense_collection", []string{"id", "table_name", "definition"})
		if err != nil {
			t.Fatal(err)
		}
		if err := insert("x", "nowhere", `{"id":"x","table":"nowhere"}`); err != nil {
			t.Fatal(err)
		}
	})
	s := openStore(t, path, gpkg.Options{})
	hasNote(t, s, "there is no table or view")
}

// TestImportLeavesTheRegisterOfAnOlderFile: what a later migration would empty stays until the
// register is written again.
func TestImportLeavesTheRegisterOfAnOlderFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) { fillPoints(t, w, points("a", crs.CRS84), false, "1") })
	list, err := migrate.GeoPackage()
	if err != nil {
		t.Fatal(err)
	}
	alter(t, path, list[1].SQL+"; INSERT INTO grense_migration VALUES (2, 'register'); INSERT INTO skrivemaate_fts "+
		"(rowid, norm) VALUES (1, 'nesvatnet')")
	for _, step := range []struct {
		name           string
		fill           func(store.Writer)
		latest, spells int
	}{
		{"another collection", func(w store.Writer) { fillPoints(t, w, points("b", crs.CRS84), false, "1") }, 2, 1},
		{"a table that only a later migration makes", func(w store.Writer) {
			if _, err := w.Insert(t.Context(), "skrivemaate_tekst", []string{"norm"}); err != nil {
				t.Fatal(err)
			}
		}, len(list), 0},
	} {
		create(t, path, step.fill)
		c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		latest, err := sqlitex.ResultInt(c.Prep("SELECT max(number) FROM grense_migration"))
		spells, err2 := sqlitex.ResultInt(
			c.Prep(`SELECT count(*) FROM skrivemaate_fts WHERE skrivemaate_fts MATCH '"vat"'`))
		if err := errors.Join(err, err2, c.Close()); err != nil {
			t.Fatal(err)
		}
		if latest != step.latest || spells != step.spells {
			t.Errorf("%s: migration %d and %d spellings, want %d and %d", step.name, latest, spells,
				step.latest, step.spells)
		}
	}
}
