package postgis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestTypesThatChange: until the catalog is new, an answer is as the catalog says or none.
func TestTypesThatChange(t *testing.T) {
	t.Parallel()
	const table = `CREATE TABLE x (id INT PRIMARY KEY, kode TEXT, nr INT, tall FLOAT8, des NUMERIC, dag DATE, tid TIMESTAMPTZ, ja BOOL, j JSONB, u UUID, geom GEOMETRY(Point, 4258));
		INSERT INTO x VALUES (1, '1', 7, 0.5, 1.5, '2024-02-29', '2024-02-29 12:00+00', TRUE, '{"a": 1}', '00000000-0000-0000-0000-00000000000a', 'SRID=4258;POINT(10.51 59.9)');`
	box := cql2.BBox{Prop: "geometry", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{10, 59}, Max: orb.Point{11, 60}}}
	for name, change := range map[string]string{
		"text to integer": "ALTER TABLE x ALTER kode TYPE INT USING kode::INT",
		"integer to text": "ALTER TABLE x ALTER nr TYPE TEXT USING '07'",
		"key to text":     "ALTER TABLE x ALTER id TYPE TEXT USING '01'",
		"double to text":  "ALTER TABLE x ALTER tall TYPE TEXT USING '0,5'",
		"numeric to text": "ALTER TABLE x ALTER des TYPE TEXT USING '1,5'",
		"day to moment":   "ALTER TABLE x ALTER dag TYPE TIMESTAMP", "day to text": "ALTER TABLE x ALTER dag TYPE TEXT",
		"moment to day": "ALTER TABLE x ALTER tid TYPE TEXT", "truth to text": "ALTER TABLE x ALTER ja TYPE TEXT",
		"JSON to text":      "ALTER TABLE x ALTER j TYPE TEXT USING 'abc'",
		"uuid to text":      "ALTER TABLE x ALTER u TYPE TEXT USING 'abc'",
		"double to integer": "ALTER TABLE x ALTER tall TYPE INT USING 5",
		"reference system":  "SELECT UpdateGeometrySRID('x', 'geom', 25833)",
		"coordinates":       "ALTER TABLE x ALTER geom TYPE GEOMETRY(Point, 25833) USING ST_Transform(geom, 25833)",
		"another table": "ALTER TABLE x RENAME TO gammel; CREATE TABLE x AS SELECT * FROM gammel; " +
			"INSERT INTO x SELECT * FROM gammel",
		"dropped column": "ALTER TABLE x DROP kode", "geometry gone": "ALTER TABLE x DROP geom",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := base(t, table+"CREATE TABLE annet (id INT PRIMARY KEY)")
			s := openStore(t, url, postgis.Options{Poll: time.Hour})
			was := values(t, s, "x", "1")
			if p := page(t, s, store.Query{Collection: "x", Filter: box, Limit: 1}); len(p.Rows) != 1 {
				t.Fatalf("%+v", p)
			}
			run(t, url, change)
			// The first of these may see the change, and the catalog may be new for those that follow.
			version := s.Catalog().Version
			if p, err := s.Page(context.Background(), store.Query{Collection: "x", Filter: box, Limit: 1}); err ==
				nil && len(p.Rows) != 1 && s.Catalog().Version == version {
				t.Errorf("a box does not find it any more")
			}
			c, ok := s.Catalog().Collection("x")
			if !ok || s.Catalog().Version != version {
				return
			}
			got := map[string]any{}
			err := s.Fetch(context.Background(), "x", store.Current("1"), store.Want{}, func(f *store.Feature) error {
				for i, p := range c.Properties {
					got[p.Name] = f.Values[i]
				}
				g, err := f.Geometry.Orb()
				got["(geometry)"] = g
				return err
			})
			switch {
			case err == nil && s.Catalog().Version == version && fmt.Sprint(got) != fmt.Sprint(was):
				t.Errorf("got  %v\nwant %v", got, was)
			case err == nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrNotFound):
			default:
				t.Errorf("error %v", err)
			}
			if err != nil { // which made it look
				eventually(t, "a new catalog", func() bool { return s.Catalog().Version != version })
			}
		})
	}
}

// TestReplacedTableIsServedByEveryConnection: the prepared statements that connections have cached
// are of the table before.
func TestReplacedTableIsServedByEveryConnection(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE x (id INT PRIMARY KEY, a TEXT); INSERT INTO x VALUES (1, 'a')"
	url := base(t, table)
	s := openStore(t, url, postgis.Options{Poll: 50 * time.Millisecond})
	ask := func() error {
		p, err := s.Page(t.Context(), store.Query{Collection: "x", Limit: 1, Count: store.CountExact})
		if err == nil {
			err = s.Fetch(t.Context(), "x", p.Rows, store.Want{}, func(*store.Feature) error { return nil })
		}
		return err
	}
	for range 3 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		version := s.Catalog().Version
		run(t, url, "BEGIN; DROP TABLE x; "+table+"; COMMIT")
		eventually(t, "a new catalog", func() bool { return s.Catalog().Version != version })
		eventually(t, "an answer", func() bool { return ask() == nil })
	}
}

// TestColumnOfAnySystemThatMoves: boxes compare numbers, whatever system they are in; an answer without rows is none
// while the geometries are in another one.
func TestColumnOfAnySystemThatMoves(t *testing.T) {
	t.Parallel()
	url := base(t, `CREATE TABLE fritt (id INT PRIMARY KEY, geom GEOMETRY); INSERT INTO fritt VALUES (1, NULL), (2, `+
		`'SRID=4258;POINT(10 60)'); CREATE VIEW utsnitt AS SELECT * FROM fritt`)
	box := cql2.BBox{Prop: "geometry", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{9, 59}, Max: orb.Point{11, 61}}}
	for _, id := range []string{"fritt", "utsnitt"} {
		for _, limit := range []int{0, 10} {
			s := openStore(t, url, postgis.Options{Poll: time.Hour})
			q := store.Query{Collection: id, Filter: box, Limit: limit}
			if p := page(t, s, q); p.Matched != 2 {
				t.Fatalf("%s: %d", id, p.Matched)
			}
			run(t, url, "DELETE FROM fritt WHERE geom IS NULL; UPDATE fritt SET geom = ST_Transform(geom, 25833)")
			if p, err := s.Page(context.Background(), q); !errors.Is(err, store.ErrUnavailable) &&
				(err != nil || p.Matched != 1) {
				t.Errorf("%s, limit %d: %+v, %v", id, limit, p, err)
			}
			eventually(t, "the geometry in its new system", func() bool {
				p, err := s.Page(context.Background(), q)
				return err == nil && p.Matched == 1
			})
			run(t, url, "UPDATE fritt SET geom = ST_Transform(geom, 4258); INSERT INTO fritt VALUES (1, NULL)")
		}
	}
}
