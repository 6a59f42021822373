package gpkg_test

import (
	"strings"
	"testing"

	"grense/internal/store"
)

// TestChoiceOfGeometry: of several geometry columns the first in the table is served,
// or the one that the settings name.
func TestChoiceOfGeometry(t *testing.T) {
	t.Parallel()
	const script = `DROP TABLE gpkg_geometry_columns; CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT, srs_id INTEGER, z INTEGER, m INTEGER);
		CREATE TABLE x (id INTEGER PRIMARY KEY, navn TEXT, senter BLOB, omraade BLOB);
		INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('x', 'features', 4326);
		INSERT INTO gpkg_geometry_columns VALUES ('x', 'omraade', 'POLYGON', 4326, 0, 0), ('x', 'senter', 'POINT', 4326, 0, 0);
		INSERT INTO x VALUES (1, 'a', x'47500001e61000000101000000000000000000f03f0000000000000040', NULL);`
	for name, c := range map[string]struct {
		settings     store.Settings
		column, note string // of the geometry, "": none; part of the notes, "": there are none
		refused      bool
	}{
		"the first": {store.Settings{}, "senter",
			`"omraade" is left out: "senter" is the geometry; geometry_column chooses`, false},
		"chosen":     {store.Settings{GeometryColumn: "Omraade"}, "omraade", "", false},
		"hidden":     {store.Settings{HiddenColumns: []string{"senter"}}, "omraade", "", false},
		"all hidden": {store.Settings{HiddenColumns: []string{"senter", "omraade"}}, "", "", false},
		"unknown":    {store.Settings{GeometryColumn: "navn"}, "", `no column "navn" with a geometry`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cat := foreign(t, script, map[string]store.Settings{"x": c.settings}).Catalog()
			got, ok := cat.Collection("x")
			if said := notes(cat, "x"); ok == c.refused || !strings.Contains(said, c.note) ||
				c.note == "" && said != "" {
				t.Fatalf("served %v, %q", ok, said)
			}
			if c.refused {
				return
			}
			column := ""
			if got.Geometry != nil {
				column = got.Geometry.Column
			}
			if column != c.column || len(got.Properties) != 1 || got.Count != 1 {
				t.Errorf("geometry %q, %+v", column, got)
			}
		})
	}
}
