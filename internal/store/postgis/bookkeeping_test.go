package postgis_test

import (
	"slices"
	"testing"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestTablesOfProgramsAreNoCollections: styles and projects of QGIS are served only where the settings name them,
// or they have a geometry.
func TestTablesOfProgramsAreNoCollections(t *testing.T) {
	t.Parallel()
	s := openStore(t,
		base(t,
			`CREATE TABLE layer_styles (id INT PRIMARY KEY, styleqml TEXT); CREATE TABLE qgis_projects (name TEXT PRIMARY KEY);
		CREATE SCHEMA ogr_system_tables; CREATE TABLE ogr_system_tables.metadata (id INT PRIMARY KEY); CREATE TABLE metadata (id INT PRIMARY KEY);
		CREATE TABLE alembic_version (v TEXT PRIMARY KEY); CREATE TABLE schema_version (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258))`),
		postgis.Options{Settings: map[string]store.Settings{"alembic_version": {}}})
	cat := s.Catalog()
	var served []string
	for _, c := range cat.Collections {
		served = append(served, c.ID)
	}
	if !slices.Equal(served, []string{"alembic_version", "metadata", "schema_version"}) ||
		!slices.Equal(cat.Bookkeeping, []string{"layer_styles", "qgis_projects", "ogr_system_tables.metadata"}) {
		t.Errorf("served %q, not %q", served, cat.Bookkeeping)
	}
}
