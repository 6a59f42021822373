package server_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/config"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// exchangeColumns swaps the names of the columns a and b in one transaction.
const exchangeColumns = `ALTER TABLE many RENAME COLUMN a TO c; ALTER TABLE many RENAME COLUMN b TO a;
	ALTER TABLE many RENAME COLUMN c TO b`

// exchangedStores are tables whose columns hold their own names, with a function that runs exchangeColumns.
func exchangedStores(t *testing.T) map[string]func(*testing.T) (store.Store, func()) {
	check := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(*testing.T) (store.Store, func()){
		"geopackage": func(t *testing.T) (store.Store, func()) {
			path := filepath.Join(t.TempDir(), "many.gpkg")
			storetest.Write(t, func(store.Writer) {})(gpkg.Create(t.Context(), path))
			db := writable(t, path)
			check(t, sqlitex.ExecuteScript(db, `CREATE TABLE many (fid INTEGER PRIMARY KEY, geom BLOB, a TEXT, b TEXT);
				INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('many', 'features', 4326);
				INSERT INTO gpkg_geometry_columns VALUES ('many', 'geom', 'POINT', 4326, 0, 0);
				INSERT INTO many WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM s WHERE i < 20)
					SELECT i, x'47500001E6100000010100000000000000000024400000000000004E40', 'from a', 'from b' FROM s`, nil))
			return openGeoPackage(t, path), func() { check(t, sqlitex.ExecuteScript(db, exchangeColumns, nil)) }
		},
		"postgis": func(t *testing.T) (store.Store, func()) {
			url := cluster.Database(t)
			db, err := pgx.Connect(t.Context(), url)
			check(t, err)
			t.Cleanup(func() { db.Close(context.Background()) })
			run := func(sql string) {
				_, err := db.Exec(t.Context(), sql)
				check(t, err)
			}
			run(`CREATE TABLE many (id int PRIMARY KEY, a text, b text, geom geometry(Point, 4326));
				INSERT INTO many SELECT i, 'from a', 'from b', ST_SetSRID(ST_Point(10, 60), 4326) FROM generate_series(1, 20) i`)
			return openURL(t, url), func() { run(exchangeColumns) }
		},
	}
}

// TestColumnsThatExchangeNames: from the commit on, no response has old values under new names.
func TestColumnsThatExchangeNames(t *testing.T) {
	t.Parallel()
	for name, open := range exchangedStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, exchange := open(t)
			a := serveStore(t, st, func(c *config.Config) { c.Limits.Rate = 0 })
			var paths []string
			for _, f := range []string{"json", "html", "csv", "jsonld", "geojsonseq"} {
				paths = append(paths, "items?properties=a&limit=10&f="+f, "items/1?properties=a&f="+f)
			}
			paths = append(paths, "tiles/WebMercatorQuad/0/0/0?properties=a", "download?f=csv&properties=a")
			current, former := "from a", "from b"
			ask := func(path string) bool {
				t.Helper()
				r := a.get("/collections/many/" + path)
				body := string(r.plain())
				if strings.HasPrefix(path, "items/1") && strings.HasSuffix(path, "f=html") { // which has both
					_, body, _ = strings.Cut(body, ">a<")
					body, _, _ = strings.Cut(body, ">b<")
				}
				if r.StatusCode == http.StatusServiceUnavailable || r.StatusCode == http.StatusBadRequest &&
					strings.Contains(path, "items/") {
					return false
				}
				if r.StatusCode != http.StatusOK || !strings.Contains(body, current) || strings.Contains(body, former) {
					t.Fatalf("%s: status %d, want %q only: %.300s", path, r.StatusCode, current, body)
				}
				return true
			}
			for range 4 {
				for range 3 { // from the caches, too
					for _, path := range paths {
						ask(path)
					}
				}
				exchange()
				current, former = former, current
				for _, path := range paths {
					ask(path)
				}
				for start := time.Now(); !ask(paths[0]); {
					if time.Since(start) > time.Minute {
						t.Fatal("no answers after the change")
					}
				}
			}
		})
	}
}
