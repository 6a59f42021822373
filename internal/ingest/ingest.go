// Package ingest imports files of geographic features into a store: GeoJSON (RFC 7946) and sequences of it (RFC 8142),
// TopoJSON, GeoPackage, Shapefile, FlatGeobuf, GeoParquet, GML (Simple Features), KML, CSV with coordinates, and XLSX,
// each also packed with gzip or in a zip archive.
//
// An import has two passes. Survey reads everything once: it learns the properties, their types and the ids,
// and finds all faults. Write reads everything again and fills a store.Writer. So a file may have any size:
// the survey keeps only a few bytes of each feature, to detect repeated ids. Only the arcs of TopoJSON stay in memory.
// A fault that cannot be repaired refuses the whole import before anything is written.
//
// Measures (M) are dropped with a warning. Curves, triangles and surfaces become lines and MultiPolygons:
// a GeoPackage as its store serves them, and well-known text and MultiPatch here.
// Archives inside archives are not opened. A GeoPackage is read through the store that Options.OpenGeoPackage returns,
// so whatever that store refuses is refused here.
package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"grense/internal/format"
	"grense/internal/format/input"
	"grense/internal/geo/crs"
)

// Source is an open file. The caller must Close it.
type Source struct {
	Path   string
	Layers []*Layer // in the order of the file
	closes []func() error
}

// Close releases the file.
func (s *Source) Close() error {
	var err error
	for _, fn := range slices.Backward(s.closes) {
		err = errors.Join(err, fn())
	}
	s.closes = nil
	return err
}

// Layer is a set of features in a file.
type Layer struct {
	input.Layer
	File   string      // for messages: the path, and in an archive the file in it
	file   *input.File // reports the progress; nil if there is none
	stated crs.ID      // Options.CRS
}

// shapefileParts are the files of a Shapefile other than its .shp.
var shapefileParts = []string{".shx", ".dbf", ".prj", ".cpg", ".qpj", ".sbn", ".sbx", ".qix", ".shp.xml"}

// IsData reports whether a file of that name can be imported: its ending is known, and it is not a
// side file of a Shapefile.
func IsData(name string) bool {
	low := strings.TrimSuffix(strings.ToLower(name), ".gz")
	if isArchive(low) {
		return true
	}
	suffix := filepath.Ext(low)
	if suffix == ".dbf" {
		f, err := input.NewFile(name, input.Limits{}.WithDefaults())
		return err != nil || f.Sibling(".shp") == nil
	}
	return format.ReaderOf(suffix) != nil
}

// isArchive reports whether a file of that name is a zip archive, such as KMZ.
func isArchive(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".zip" || ext == ".kmz"
}

// Open opens a file and lists its layers. An error that is ErrRefused describes what is wrong with the file.
func Open(ctx context.Context, name string, o input.Options) (*Source, error) {
	o.Limits = o.Limits.WithDefaults()
	s := &Source{Path: name}
	err := s.open(ctx, o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, l := range s.Layers {
		l.stated = o.CRS
	}
	return s, nil
}

func (s *Source) open(ctx context.Context, o input.Options) error {
	if info, err := os.Stat(s.Path); err != nil {
		return input.NotFound(s.Path, err)
	} else if info.IsDir() {
		return input.Refuse("%s is a folder; name the files in it", s.Path)
	}
	if isArchive(s.Path) {
		files, closer, err := input.ZipFiles(s.Path, o.Limits)
		if err != nil {
			return err
		}
		s.closes = append(s.closes, closer)
		return s.archive(ctx, files, o)
	}
	f, err := input.NewFile(s.Path, o.Limits)
	if err != nil {
		return input.NotFound(s.Path, err)
	}
	if format.ReaderOf(f.Suffix()) == nil {
		return s.unknown(f)
	}
	return s.add(ctx, f, s.Path, o)
}

// unknown returns the error for a file with an unknown ending.
func (s *Source) unknown(f *input.File) error {
	switch {
	case slices.Contains(shapefileParts, f.Suffix()):
		return input.Refuse("%s is a part of a Shapefile; name the .shp", s.Path)
	case f.Suffix() == ".xml":
		return input.Refuse("%s: if it is GML, let its name end in .gml; place names of the official product go in "+
			"by grense register import", s.Path)
	}
	return input.Refuse("%s: files that end in %q are not read; GeoJSON (.geojson, .json), sequences of it "+
		"(.geojsonl, .ndjson), GeoPackage (.gpkg), "+
		"Shapefile (.shp), FlatGeobuf (.fgb), GeoParquet (.parquet), GML (.gml), KML (.kml, .kmz), CSV (.csv), "+
		"XLSX (.xlsx) are, also as .gz or in a .zip", s.Path, f.Suffix())
}

func (s *Source) archive(ctx context.Context, files []*input.File, o input.Options) error {
	for _, f := range files {
		if format.ReaderOf(f.Suffix()) == nil || f.Suffix() == ".dbf" && f.Sibling(".shp") != nil {
			continue
		}
		if err := s.add(ctx, f, s.Path+"/"+f.Name, o); err != nil {
			return err
		}
	}
	if len(s.Layers) == 0 {
		return input.Refuse("%s holds no file that is read (GeoJSON, GeoPackage, Shapefile, FlatGeobuf, GeoParquet, "+
			"GML, KML, CSV, XLSX)", s.Path)
	}
	return nil
}

// add appends the layers of one file.
func (s *Source) add(ctx context.Context, f *input.File, label string, o input.Options) error {
	f.Label = label
	s.closes = append(s.closes, f.Close)
	layers, err := format.ReaderOf(f.Suffix())(ctx, f, o)
	for _, l := range layers {
		if l.Name == "" {
			l.Name = f.Base()
		}
		x := &Layer{Layer: l, File: label, file: f}
		if l.Of != nil { // a store counts features
			x.file = nil
		}
		s.Layers = append(s.Layers, x)
	}
	return err
}
