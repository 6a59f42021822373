//go:build unix

package main_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/store/storetest"
)

// manyLayers writes a GeoPackage of n layers of three points each into path, in one transaction and with the spatial
// index and the triggers that GDAL makes for each.
func manyLayers(t testing.TB, path string, n int) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	run := func(sql string, args ...any) {
		t.Helper()
		if err := sqlitex.ExecuteScript(c, fmt.Sprintf(sql, args...), nil); err != nil {
			t.Fatalf("%v: %.300s", err, sql)
		}
	}
	for _, sql := range []string{"PRAGMA application_id = 1196444487", "PRAGMA user_version = 10300",
		"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA writable_schema = ON",
		"CREATE TEMP TABLE aside (type, name, tbl_name, rootpage, sql)", "BEGIN"} {
		if err := sqlitex.ExecuteTransient(c, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	run(
		`CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER NOT NULL PRIMARY KEY, organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL,
  definition TEXT NOT NULL, description TEXT);
INSERT INTO gpkg_spatial_ref_sys VALUES ('WGS 84', 4326, 'EPSG', 4326, 'GEOGCS["WGS 84"]', NULL);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE, description TEXT DEFAULT '',
  last_change DATETIME NOT NULL DEFAULT (strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ','now')), min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER);
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL,
  z TINYINT NOT NULL, m TINYINT NOT NULL, CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name));
CREATE TABLE gpkg_extensions (table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL, definition TEXT NOT NULL, scope TEXT NOT NULL);
CREATE TABLE gpkg_ogr_contents (table_name TEXT NOT NULL PRIMARY KEY, feature_count INTEGER DEFAULT NULL);
CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE numbered;`)
	// Each statement that makes a table or trigger reads the whole schema, so that the rows of most are put aside until
	// the end, and what has no pages is written as rows.
	var late strings.Builder
	put := func(kind, name, of, sql string) {
		fmt.Fprintf(&late, "INSERT INTO aside VALUES ('%s', '%s', '%s', 0, '%s');\n", kind, name, of,
			strings.ReplaceAll(sql, "'", "''"))
	}
	for i := range n {
		name := fmt.Sprintf("layer_%04d", i)
		index := "rtree_" + name + "_geom"
		rows := make([]string, 3)
		for k := range rows {
			rows[k] = fmt.Sprintf("(%d, x'%x', 'name %d', %d)", k+1, pointBlob(float64(10+k), float64(60+k)), k, i)
		}
		run(`CREATE TABLE "%[1]s" (fid INTEGER PRIMARY KEY NOT NULL, geom POINT, name TEXT(40), a MEDIUMINT);
INSERT INTO gpkg_contents (table_name, data_type, identifier, min_x, min_y, max_x, max_y, srs_id) VALUES ('%[1]s', 'features', '%[1]s', 10, 60, 12, 62, 4326);
INSERT INTO gpkg_geometry_columns VALUES ('%[1]s', 'geom', 'POINT', 4326, 0, 0);
INSERT INTO gpkg_ogr_contents VALUES ('%[1]s', 3);
INSERT INTO gpkg_extensions VALUES ('%[1]s', 'geom', 'gpkg_rtree_index', 'http://www.geopackage.org/spec120/#extension_rtree', 'write-only');
INSERT INTO "%[1]s" VALUES %[2]s`, name, strings.Join(rows, ", "))
		if i == 0 {
			run(`CREATE VIRTUAL TABLE "%[1]s" USING rtree(id, minx, maxx, miny, maxy);
INSERT INTO "%[1]s" VALUES (1, 10, 10, 60, 60), (2, 11, 11, 61, 61), (3, 12, 12, 62, 62)`, index)
		} else {
			run(`CREATE TABLE "%[1]s_rowid"(rowid INTEGER PRIMARY KEY,nodeno);
CREATE TABLE "%[1]s_node"(nodeno INTEGER PRIMARY KEY,data);
CREATE TABLE "%[1]s_parent"(nodeno INTEGER PRIMARY KEY,parentnode);
INSERT INTO "%[1]s_rowid" SELECT * FROM rtree_layer_0000_geom_rowid;
INSERT INTO "%[1]s_node" SELECT * FROM rtree_layer_0000_geom_node`, index)
			if i%50 == 0 {
				run(putAside)
			}
			put("table", index, index,
				fmt.Sprintf(`CREATE VIRTUAL TABLE "%s" USING rtree(id, minx, maxx, miny, maxy)`, index))
		}
		for trigger, sql := range map[string]string{
			index +
				"_insert": `AFTER INSERT ON "%[1]s" WHEN (new.geom NOT NULL AND NOT ST_IsEmpty(NEW.geom)) BEGIN INSERT OR REPLACE INTO "%[2]s"
  VALUES (NEW.fid, ST_MinX(NEW.geom), ST_MaxX(NEW.geom), ST_MinY(NEW.geom), ST_MaxY(NEW.geom)); END`,
			index +
				"_update6": `AFTER UPDATE OF geom ON "%[1]s" WHEN OLD.fid = NEW.fid AND (NEW.geom NOTNULL AND NOT ST_IsEmpty(NEW.geom)) BEGIN
  UPDATE "%[2]s" SET minx = ST_MinX(NEW.geom), maxx = ST_MaxX(NEW.geom), miny = ST_MinY(NEW.geom), maxy = ST_MaxY(NEW.geom) WHERE id = NEW.fid; END`,
			index +
				"_update2": `AFTER UPDATE OF geom ON "%[1]s" WHEN OLD.fid = NEW.fid AND (NEW.geom ISNULL OR ST_IsEmpty(NEW.geom)) BEGIN
  DELETE FROM "%[2]s" WHERE id = OLD.fid; END`,
			index + "_delete": `AFTER DELETE ON "%[1]s" WHEN old.geom NOT NULL BEGIN DELETE FROM "%[2]s" WHERE id = ` +
				`OLD.fid; END`,
			"trigger_insert_feature_count_" +
				name: `AFTER INSERT ON "%[1]s" BEGIN UPDATE gpkg_ogr_contents SET feature_count = feature_count + 1
  WHERE lower(table_name) = lower('%[1]s'); END`,
			"trigger_delete_feature_count_" +
				name: `AFTER DELETE ON "%[1]s" BEGIN UPDATE gpkg_ogr_contents SET feature_count = feature_count - 1
  WHERE lower(table_name) = lower('%[1]s'); END`,
		} {
			put("trigger", trigger, name, fmt.Sprintf(`CREATE TRIGGER "`+trigger+`" `+sql, name, index))
		}
	}
	// In the order of GDAL: each table with its index, the tables of that, and its triggers.
	if err := sqlitex.ExecuteScript(c, putAside+";"+late.String()+`INSERT INTO sqlite_schema
SELECT type, name, tbl_name, rootpage, replace(sql, 'PRIMARY KEY NOT NULL', 'PRIMARY KEY AUTOINCREMENT NOT NULL') FROM aside
ORDER BY substr(name, instr(name, 'layer_'), 10), type = 'trigger', length(name)`, nil); err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(c, "COMMIT", nil); err != nil {
		t.Fatal(err)
	}
}

const putAside = `INSERT INTO aside SELECT * FROM sqlite_schema WHERE name GLOB '*layer_[0-9]*'; ` +
	`DELETE FROM sqlite_schema WHERE name GLOB '*layer_[0-9]*'`

// pointBlob is a point in WGS 84 as a GeoPackage holds it.
func pointBlob(x, y float64) []byte {
	b := []byte{'G', 'P', 0, 1, 0xe6, 0x10, 0, 0, 1, 1, 0, 0, 0}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, math.Float64bits(x)),
		math.Float64bits(y))
}

// TestAttackManyLayers opens files of thousands of layers, twice each, as after a restart.
// The hash tables of SQLite have at most 64 buckets, so that reading a schema takes more than linear time.
func TestAttackManyLayers(t *testing.T) {
	attack(t)
	for _, n := range []int{1000, 5000} {
		file := filepath.Join(t.TempDir(), "layers.gpkg")
		manyLayers(t, file, n)
		dir := t.TempDir()
		for k, which := range []string{"first", "second"} {
			bound := []time.Duration{time.Duration(n) * 4 * time.Millisecond,
				time.Duration(n) * 2 * time.Millisecond}[k]
			s := serve(t, []string{"GRENSE_DATA_DIR=" + dir, "GRENSE_AUTH=open", tellsMetrics}, file)
			figure(t, fmt.Sprintf("%d layers: CPU of the %s start", n, which), s.cpu(t), bound)
			s.rest(t)
			t.Logf("CPU until it rests: %v", s.cpu(t))
			figure(t, "  memory at rest", size(resident(t, s.cmd.Process.Pid)), 300<<20)
			_, body, err := s.get(t.Context(), "/collections?f=json&limit=10000")
			if err != nil {
				t.Fatal(err)
			}
			figure(t, "  collections that are missing", n-bytes.Count(body, []byte(`"itemType"`)), 0)
			_, body, err = s.get(t.Context(), "/collections/layer_0007/items?bbox=10.5,59,13,63")
			if err != nil {
				t.Fatal(err)
			}
			figure(t, "  features of a box that are missing", 2-bytes.Count(body, []byte(`"Feature"`)), 0)
			s.finish(t)
		}
	}
}

// TestAttackManyTables opens a database of 1,000 tables, twice, as after a restart.
func TestAttackManyTables(t *testing.T) {
	attack(t)
	const tables = 1000
	var own storetest.Cluster
	t.Cleanup(own.Stop)
	address := own.Database(t)
	db, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for from := 0; from < tables; from += 100 { // locks are of a transaction
		_, err := db.Exec(t.Context(), fmt.Sprintf(`DO $$ BEGIN FOR i IN %d..%d LOOP
	EXECUTE format('CREATE TABLE layer_%%s (fid int PRIMARY KEY, name text, a int, geom geometry(Point, 4326))', i);
	EXECUTE format('INSERT INTO layer_%%s SELECT k, ''name'', k, ST_SetSRID(ST_Point(10 + k, 60), 4326) FROM generate_series(1, 3) k', i);
	EXECUTE format('CREATE INDEX ON layer_%%s USING gist (geom)', i);
END LOOP; END $$`, from, from+99))
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for _, which := range []string{"first", "second"} {
		began := time.Now()
		s := serve(t, []string{"GRENSE_DATA_DIR=" + dir, "GRENSE_AUTH=open", tellsMetrics}, address)
		t.Logf("open after %v", time.Since(began))
		figure(t, fmt.Sprintf("%d tables of PostGIS: CPU of the %s start", tables, which), s.cpu(t), 4*time.Second)
		s.rest(t)
		figure(t, "  memory at rest", size(resident(t, s.cmd.Process.Pid)), 300<<20)
		s.finish(t)
	}
}
