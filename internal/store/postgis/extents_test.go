package postgis_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestStartDoesNotReadTablesAgain: it uses the results of the last run, and reads the tables while it serves.
func TestStartDoesNotReadTablesAgain(t *testing.T) {
	t.Parallel()
	url := base(t,
		places+
			`CREATE VIEW utsnitt AS SELECT kode, geom FROM sted; CREATE TABLE uten (id INT PRIMARY KEY, fra DATE, til DATE); INSERT INTO uten VALUES (1, '2020-01-01', '2021-01-01');
		CREATE TABLE fritt (id INT PRIMARY KEY, geom GEOMETRY); INSERT INTO fritt VALUES (1, 'SRID=25833;POINT(200000 6600000)');`)
	dir := t.TempDir()
	options := postgis.Options{Dir: dir, Poll: 100 * time.Millisecond,
		Settings: map[string]store.Settings{"uten": {IntervalStart: "fra", IntervalEnd: "til",
			Title: store.Text{"nb": "a", "nn": "b"}}}}
	start := func() *postgis.Store {
		s, err := postgis.Open(context.Background(), url, options)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	east := func(s *postgis.Store, id string) float64 {
		c, ok := s.Catalog().Collection(id)
		if !ok || c.Extent == nil {
			t.Fatalf("%s: %+v, %+v", id, c, s.Catalog().Notes)
		}
		return c.Extent.Max[0]
	}
	start().Close()
	run(t, url, "UPDATE sted SET geom = 'SRID=4258;POINT(20 60)' WHERE kode = 'a'; INSERT INTO uten VALUES (2, "+
		"'2022-01-01', '2023-01-01')")
	holder, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	if _, err := holder.Exec(context.Background(), "BEGIN; LOCK TABLE sted, uten, fritt IN ACCESS EXCLUSIVE MODE",
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	s := start() // which cannot read them
	defer s.Close()
	for _, id := range []string{"sted", "utsnitt"} {
		if e := east(s, id); e != 10.8 {
			t.Errorf("%s: x to %v", id, e)
		}
	}
	if c, ok := s.Catalog().Collection("uten"); !ok || c.Count != 1 || c.Temporal[1] == nil ||
		c.Temporal[1].Year() != 2021 {
		t.Errorf("%+v, %+v", c, s.Catalog().Notes)
	}
	if c, ok := s.Catalog().Collection("fritt"); !ok || c.Count != 1 || int(c.Geometry.CRS) != 25833 {
		t.Errorf("%+v, %+v", c, s.Catalog().Notes)
	}
	if _, err := holder.Exec(context.Background(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new extents", func() bool { return east(s, "sted") == 20 && east(s, "utsnitt") == 20 })
	eventually(t, "the new interval", func() bool {
		c, _ := s.Catalog().Collection("uten")
		return c.Count == 2 && c.Temporal[1].Year() == 2023
	})
}

// TestKeptExtentsAreOfOneDatabase, of one state of its definitions, and no harm when they cannot be read.
func TestKeptExtentsAreOfOneDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := base(t, places)
	start := func(url string) float64 {
		s := openStore(t, url, postgis.Options{Dir: dir, Poll: time.Hour})
		c, _ := s.Catalog().Collection("sted")
		return c.Extent.Max[0]
	}
	if e := start(url); e != 10.8 {
		t.Fatal(e)
	}
	files, err := filepath.Glob(filepath.Join(dir, "extents", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	run(t, url, "CREATE TABLE ny AS SELECT kode, navn, 'SRID=4258;POINT(20 60)'::GEOMETRY(Point, 4258) AS geom FROM "+
		"sted; DROP TABLE sted CASCADE; ALTER TABLE ny RENAME TO sted; ALTER TABLE sted ADD PRIMARY KEY (kode)")
	if e := start(url); e != 20 {
		t.Errorf("another table of the same name: x to %v", e)
	}
	for _, text := range []string{"", "{", "null", `{"Version":1}`,
		`{"Version":1,"Database":"0 0","Surveys":{"x":null}}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if e := start(url); e != 20 {
			t.Errorf("%q: x to %v", text, e)
		}
	}
}
