package gpkg_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestBoxesOfAFileOfManyLayers: SQLite reads the schema of thousands of R-trees slowly, so that such a file is served
// without, at the first start and at the next one.
func TestBoxesOfAFileOfManyLayers(t *testing.T) {
	t.Parallel()
	const layers = 1000
	var script strings.Builder
	for i := range layers {
		fmt.Fprintf(&script, `CREATE TABLE x%[1]d (id INTEGER PRIMARY KEY, geom BLOB);
			INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('x%[1]d', 'features', 4326);
			INSERT INTO gpkg_geometry_columns VALUES ('x%[1]d', 'geom', 'POINT', 4326, 0, 0);`, i)
	}
	for _, i := range []int{0, 500, layers - 1} {
		for id := range 3 {
			fmt.Fprintf(&script, "INSERT INTO x%d VALUES (%d, x'47500001e6100000%x');", i, id+1,
				point(float64(10+id), 60).WKB)
		}
	}
	path, dir := build(t, script.String()), t.TempDir()
	for _, start := range []string{"first", "second"} {
		s := openStore(t, path, gpkg.Options{DataDir: dir})
		if n := len(s.Catalog().Collections); n != layers {
			t.Fatalf("%s start: %d collections", start, n)
		}
		for _, i := range []int{0, 500, layers - 1} {
			box := cql2.BBox{Prop: "geometry", CRS: crs.CRS84,
				Box: orb.Bound{Min: orb.Point{10.5, 59}, Max: orb.Point{13, 61}}}
			rows := page(t, s, store.Query{Collection: fmt.Sprintf("x%d", i), Limit: 10, Filter: box}).Rows
			if len(rows) != 2 || rows[0].ID != "2" || rows[1].ID != "3" {
				t.Errorf("%s start: layer %d: %+v", start, i, rows)
			}
		}
	}
	if side, _ := filepath.Glob(filepath.Join(dir, "*.side")); len(side) != 1 {
		t.Errorf("side files %v", side)
	}
}

// TestViewsMayReadAnRTree: the connection that surveys a file can use the R-trees that its views name.
func TestViewsMayReadAnRTree(t *testing.T) {
	t.Parallel()
	s := foreign(t, fmt.Sprintf(`CREATE TABLE x (id INTEGER PRIMARY KEY, geom BLOB);
		CREATE VIRTUAL TABLE rtree_x_geom USING rtree(id, minx, maxx, miny, maxy);
		INSERT INTO x VALUES (1, x'47500001e6100000%x'); INSERT INTO rtree_x_geom VALUES (1, 10, 10, 60, 60);
		CREATE VIEW v AS SELECT x.id, x.geom FROM x JOIN rtree_x_geom AS r ON r.id = x.id WHERE r.minx > 0;
		INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('v', 'features', 4326);
		INSERT INTO gpkg_geometry_columns VALUES ('v', 'geom', 'POINT', 4326, 0, 0)`, point(10, 60).WKB), nil)
	if _, ok := s.Catalog().Collection("v"); !ok {
		t.Fatalf("refused: %+v", s.Catalog().Notes)
	}
	if rows := page(t, s, store.Query{Collection: "v", Limit: 10}).Rows; len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}
