package gpkg_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestTablesOfProgramsAreNoCollections: styles and projects of QGIS are served only where the settings name them,
// or they have a geometry.
func TestTablesOfProgramsAreNoCollections(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := openStore(t,
		build(t,
			`CREATE TABLE layer_styles (id INTEGER PRIMARY KEY, styleqml TEXT); CREATE TABLE "QGIS_Projects" (name TEXT PRIMARY KEY, content TEXT);
		CREATE TABLE x (a TEXT); CREATE TABLE schema_version (id INTEGER PRIMARY KEY, geom BLOB); CREATE TABLE alembic_version (v TEXT NOT NULL UNIQUE);
		INSERT INTO gpkg_contents (table_name, data_type) VALUES ('layer_styles', 'attributes'), ('QGIS_Projects', 'attributes'), ('alembic_version', 'attributes'), ('x', 'attributes');
		INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('schema_version', 'features', 4326);
		INSERT INTO gpkg_geometry_columns VALUES ('schema_version', 'geom', 'GEOMETRY', 4326, 0, 0);`),
		gpkg.Options{Settings: map[string]store.Settings{"alembic_version": {}},
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
	cat := s.Catalog()
	var served []string
	for _, c := range cat.Collections {
		served = append(served, c.ID)
	}
	if want := []string{"alembic_version", "x", "schema_version"}; !slices.Equal(served, want) ||
		!slices.Equal(cat.Bookkeeping, []string{"layer_styles", "QGIS_Projects"}) {
		t.Errorf("served %q, not %q", served, cat.Bookkeeping)
	}
	if said := log.String(); !strings.Contains(said, "layer=x") || !strings.Contains(said, "VACUUM may change") {
		t.Errorf("the log does not warn of row numbers: %s", said)
	}
}
