package input

import (
	"context"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Options says how files are read. The zero value is right for files that tell all about themselves.
type Options struct {
	CRS    crs.ID // of the coordinates, whatever the files state; 0: as they state
	Limits Limits
	// OpenGeoPackage opens a GeoPackage for reading. Without it, GeoPackages are refused.
	OpenGeoPackage func(ctx context.Context, path string) (store.Store, error)
	TempDir        string // for GeoPackages that must be unpacked; "": the system's
}

// Layer is one set of features in a file.
type Layer struct {
	Name   string // as the file has it; "": as the file is called
	Reader Reader
	Silent crs.ID            // of a layer that states none; 0: refused
	Flat   bool              // features have no geometry
	Of     *store.Collection // what a store says of the layer; nil where it is of a file
}

// ListLayers lists the layers of a file. An error that is ErrRefused says what is wrong with it.
type ListLayers func(ctx context.Context, f *File, o Options) ([]Layer, error)
