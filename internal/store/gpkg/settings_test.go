package gpkg_test

import (
	"fmt"
	"strings"
	"testing"

	"grense/internal/store"
)

// TestStorageCRSOfLayersWithoutOne: the settings name the reference system of a layer whose own is undefined.
func TestStorageCRSOfLayersWithoutOne(t *testing.T) {
	t.Parallel()
	for srs, want := range map[int]struct {
		crs  string
		note string
	}{-1: {"EPSG:25833", ""}, 0: {"EPSG:25833", ""}, 4326: {"EPSG:4326", "storage_crs is not used"}} {
		cat := foreign(t, fmt.Sprintf(`CREATE TABLE x (id INTEGER PRIMARY KEY, geom BLOB);
			INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('x', 'features', %[1]d);
			INSERT INTO gpkg_geometry_columns VALUES ('x', 'geom', 'POINT', %[1]d, 0, 0);`, srs),
			map[string]store.Settings{"x": {StorageCRS: 25833}}).Catalog()
		c, ok := cat.Collection("x")
		if said := notes(cat, "x"); !ok || fmt.Sprint(c.Geometry.CRS) != want.crs ||
			!strings.Contains(said, want.note) || want.note == "" && said != "" {
			t.Errorf("srs_id %d: %v, %q", srs, c, said)
		}
	}
}
