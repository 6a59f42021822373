package writer

import (
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// geopackageTables creates an empty GeoPackage (OGC 12-128r18, annex C).
var geopackageTables = []string{
	"PRAGMA application_id=1196444487", // "GPKG"
	"PRAGMA user_version=10300",
	"PRAGMA encoding='UTF-8'",
	`CREATE TABLE gpkg_spatial_ref_sys (
  srs_name TEXT NOT NULL,
  srs_id INTEGER NOT NULL PRIMARY KEY,
  organization TEXT NOT NULL,
  organization_coordsys_id INTEGER NOT NULL,
  definition TEXT NOT NULL,
  description TEXT
)`,
	`INSERT INTO gpkg_spatial_ref_sys VALUES
  ('Undefined Cartesian SRS', -1, 'NONE', -1, 'undefined', 'undefined Cartesian coordinate reference system'),
  ('Undefined geographic SRS', 0, 'NONE', 0, 'undefined', 'undefined geographic coordinate reference system')`,
	`INSERT INTO gpkg_spatial_ref_sys VALUES ('WGS 84', 4326, 'EPSG', 4326, '` + crs.WGS84.Text() +
		`', 'longitude and latitude in degrees')`,
	`CREATE TABLE gpkg_contents (
  table_name TEXT NOT NULL PRIMARY KEY,
  data_type TEXT NOT NULL,
  identifier TEXT UNIQUE,
  description TEXT DEFAULT '',
  last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  min_x DOUBLE,
  min_y DOUBLE,
  max_x DOUBLE,
  max_y DOUBLE,
  srs_id INTEGER,
  CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id)
)`,
	`CREATE TABLE gpkg_geometry_columns (
  table_name TEXT NOT NULL,
  column_name TEXT NOT NULL,
  geometry_type_name TEXT NOT NULL,
  srs_id INTEGER NOT NULL,
  z TINYINT NOT NULL,
  m TINYINT NOT NULL,
  CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name),
  CONSTRAINT uk_gc_table_name UNIQUE (table_name),
  CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name),
  CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id)
)`,
	`CREATE TABLE gpkg_extensions (
  table_name TEXT,
  column_name TEXT,
  extension_name TEXT NOT NULL,
  definition TEXT NOT NULL,
  scope TEXT NOT NULL,
  CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name)
)`,
	`INSERT INTO gpkg_extensions VALUES ('` + schema.DefinitionTable + `', NULL, '` + schema.DefinitionTable +
		`', 'metadata of collections in JSON', 'read-write')`,
	// Without this extension, GDAL lists all tables that it finds in no other catalog table.
	`INSERT INTO gpkg_extensions VALUES (NULL, NULL, 'gdal_aspatial', 'http://gdal.org/geopackage_aspatial.html', ` +
		`'read-write')`,
	`CREATE TABLE gpkg_ogr_contents (table_name TEXT NOT NULL PRIMARY KEY, feature_count INTEGER DEFAULT NULL)`,
}

// createCollection returns the statement for the table of a collection. It has an integer primary key, as required (OGC
// 12-128r18, 2.1.6).
func createCollection(c *store.Collection) string {
	l := sqlq.Columns{Dialect: sqlq.SQLite{}, Type: schema.ColumnType, Folds: true}
	if c.Key.Type == cql2.TypeInteger {
		l.Add(c.Key.Column, "INTEGER PRIMARY KEY NOT NULL")
	} else {
		taken := map[string]bool{strings.ToLower(c.Key.Column): true}
		for _, p := range c.Properties {
			taken[strings.ToLower(p.Column)] = true
		}
		l.Add(store.Unique("fid", func(s string) bool { return taken[s] }), "INTEGER PRIMARY KEY NOT NULL")
	}
	if g := c.Geometry; g != nil {
		l.Add(g.Column, schema.GeometryTypeName(g.Type))
	}
	l.Add(c.Key.Column, "TEXT NOT NULL UNIQUE")
	l.AddProperties(c.Properties)
	for _, r := range c.Relations {
		l.Add(r.Key, "INTEGER")
	}
	return "CREATE TABLE " + sqlite.Quote(c.Table) + " (" + l.String() + ")"
}

// createRelation returns the statement for the table of a relation. The owner column has no declared type, since the
// key that it refers to may have any.
func createRelation(r store.Relation) string {
	l := sqlq.Columns{Dialect: sqlq.SQLite{}, Type: schema.ColumnType, Folds: true}
	l.Add(r.Owner, "")
	for _, sub := range r.Relations {
		l.Add(sub.Key, "INTEGER")
	}
	l.AddProperties(r.Columns)
	return "CREATE TABLE " + sqlite.Quote(r.Table) + " (" + l.String() + ")"
}
