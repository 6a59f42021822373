// Package migrations holds the SQL that makes and changes our own tables, for each dialect: NNNN_name.sql,
// applied once, in the order of the numbers. Both dialects have the same numbers.
// A file that was released is never changed.
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
		panic(err) // the folder is embedded
	}
	return sub
}
