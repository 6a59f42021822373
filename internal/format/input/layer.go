package input

import (
	"context"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Options controls how files are read. The zero value suits files that describe themselves completely.
type Options struct {
	CRS    crs.ID // CRS of the coordinates, overriding the files; 0: as they state
	Limits Limits
	// OpenGeoPackage opens a GeoPackage for reading. Without it, GeoPackages are refused.
	OpenGeoPackage func(ctx context.Context, path string) (store.Store, error)
	TempDir        string // for unpacked GeoPackages; "": the system's
}

// Layer is a set of features in a file.
type Layer struct {
	Name   string // in the file; "": the name of the file
	Reader Reader
	Silent crs.ID            // CRS of a layer that states none; 0: refused
	Flat   bool              // features have no geometry
	Of     *store.Collection // the collection of a layer in a store; nil for a file
}

// ListLayers lists the layers of a file. An error that is ErrRefused describes what is wrong with it.
type ListLayers func(ctx context.Context, f *File, o Options) ([]Layer, error)
