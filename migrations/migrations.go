// Package migrations contains the SQL that creates and changes our own tables, for each dialect: files NNNN_name.sql,
// applied once in the order of their numbers. Both dialects have the same numbers. A released file must not be changed.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed gpkg postgis
var files embed.FS

// GeoPackage returns the migrations of a GeoPackage.
func GeoPackage() fs.FS { return folder("gpkg") }

// PostGIS returns the migrations of the schema grense of a PostGIS database. Names in them have no schema.
func PostGIS() fs.FS { return folder("postgis") }

func folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // cannot fail, since the directory is embedded
	}
	return sub
}
