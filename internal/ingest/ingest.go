// Package ingest reads files of geographic features and writes them to a store: GeoJSON (RFC 7946) and sequences of it (RFC 8142),
// TopoJSON, GeoPackage, Shapefile, FlatGeobuf, GeoParquet, GML (Simple Features), CSV with coordinates, and XLSX, each also packed with gzip or in a
// zip archive.
//
// An import has two passes. Survey reads everything once: it learns the properties, their types and the ids, and finds all faults.
// Write reads once more and fills a store.Writer. So a file may be of any size: what is kept of a feature after it was read is a few
// bytes that tell whether its id is unique; only the arcs of TopoJSON stay in memory. A fault that cannot be mended refuses the whole import, before anything is written.
//
// Measures (M) are left out, with a warning. Curves, triangles and surfaces come as lines and MultiPolygons: from a GeoPackage as its store serves them, and from well-known text and MultiPatch. Archives in archives are
// not opened. A GeoPackage is read through the store that Options.OpenGeoPackage returns, so what that store refuses is refused here.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// Source is a file that was opened. The caller must Close it.
type Source struct {
	Path   string
	Layers []*Layer // in the order of the file
	closes []func() error
}

// Layer is one set of features in a file.
type Layer struct {
	File   string // for people: the path, and in an archive the file in it
	Name   string // as the file has it, or the name of the file
	reader reader
	file   *file  // that tells the progress; nil where there is none
	stated crs.ID // Options.CRS
	silent crs.ID // of a layer that states none; 0: refused
	flat   bool   // features have no geometry

	of *store.Collection // what a store says of the layer; nil where it is of a file
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

// suffixes of files that are data, and what they are.
var suffixes = map[string]string{
	".geojson": "json", ".json": "json", ".geojsonl": "json", ".ndjson": "json", ".jsonl": "json", ".geojsons": "json", ".geojsonseq": "json", ".topojson": "json",
	".fgb": "fgb", ".parquet": "parquet", ".geoparquet": "parquet", ".gml": "gml", ".xlsx": "xlsx",
	".csv": "csv", ".tsv": "csv", ".shp": "shp", ".dbf": "dbf", ".gpkg": "gpkg",
}

// parts of a Shapefile beside its .shp.
var shapefileParts = []string{".shx", ".dbf", ".prj", ".cpg", ".qpj", ".sbn", ".sbx", ".qix", ".shp.xml"}

// IsData tells whether a file of that name is read: its ending is known, and it is not part of a Shapefile beside its .shp.
func IsData(name string) bool {
	low := strings.TrimSuffix(strings.ToLower(name), ".gz")
	if strings.HasSuffix(low, ".zip") {
		return true
	}
	switch suffixes[filepath.Ext(low)] {
	case "":
		return false
	case "dbf":
		f, err := looseFile(name, Limits{}.withDefaults())
		return err != nil || f.sibling(".shp") == nil
	}
	return true
}

// Open looks into a file and lists its layers. An error that is ErrRefused says what is wrong with the file.
func Open(ctx context.Context, name string, o Options) (*Source, error) {
	o.Limits = o.Limits.withDefaults()
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

func (s *Source) open(ctx context.Context, o Options) error {
	if info, err := os.Stat(s.Path); err != nil {
		return notFound(s.Path, err)
	} else if info.IsDir() {
		return refusal("%s is a folder; name the files in it", s.Path)
	}
	if strings.EqualFold(filepath.Ext(s.Path), ".zip") {
		files, closer, err := zipFiles(s.Path, o.Limits)
		if err != nil {
			return err
		}
		s.closes = append(s.closes, closer)
		return s.archive(ctx, files, o)
	}
	f, err := looseFile(s.Path, o.Limits)
	if err != nil {
		return notFound(s.Path, err)
	}
	if what := suffixes[f.suffix()]; what == "" {
		return s.unknown(f)
	}
	return s.add(ctx, f, s.Path, o)
}

// unknown refuses a file whose ending is not known.
func (s *Source) unknown(f *file) error {
	switch {
	case slices.Contains(shapefileParts, f.suffix()):
		return refusal("%s is a part of a Shapefile; name the .shp", s.Path)
	case f.suffix() == ".xml":
		return refusal("%s: if it is GML, let its name end in .gml; place names of the official product go in by grense register import", s.Path)
	}
	return refusal("%s: files that end in %q are not read; GeoJSON (.geojson, .json), sequences of it (.geojsonl, .ndjson), GeoPackage (.gpkg), "+
		"Shapefile (.shp), FlatGeobuf (.fgb), GeoParquet (.parquet), GML (.gml), CSV (.csv), XLSX (.xlsx) are, also as .gz or in a .zip", s.Path, f.suffix())
}

func (s *Source) archive(ctx context.Context, files []*file, o Options) error {
	for _, f := range files {
		what := suffixes[f.suffix()]
		if what == "" || what == "dbf" && f.sibling(".shp") != nil {
			continue
		}
		if err := s.add(ctx, f, s.Path+"/"+f.name, o); err != nil {
			return err
		}
	}
	if len(s.Layers) == 0 {
		return refusal("%s holds no file that is read (GeoJSON, GeoPackage, Shapefile, FlatGeobuf, GeoParquet, GML, CSV, XLSX)", s.Path)
	}
	return nil
}

// add appends the layers of one file.
func (s *Source) add(ctx context.Context, f *file, label string, o Options) error {
	layer := func(name string, r reader) *Layer {
		l := &Layer{File: label, Name: name, reader: r, file: f}
		s.Layers = append(s.Layers, l)
		return l
	}
	m := memory(o.Limits.Feature)
	switch suffixes[f.suffix()] {
	case "json":
		in, err := f.open()
		if err != nil {
			return err
		}
		names, topology, err := jsonLayers(in)
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
		for _, n := range names {
			name := n
			if name == "" {
				name = f.base()
			}
			if topology { // states no reference system
				layer(name, &topoReader{open: f.open, object: n, memory: m})
				continue
			}
			layer(name, &geoReader{open: f.open, layer: n, memory: m, as: o.CRS}).silent = crs.CRS84 // RFC 7946, 4
		}
	case "csv":
		r := &csvReader{open: f.open, memory: m}
		flat, err := r.isFlat()
		if err != nil {
			return err
		}
		layer(f.base(), r).flat = flat
	case "shp":
		layer(f.base(), &shapeReader{memory: m, shp: f, dbf: f.sibling(".dbf"), shx: f.sibling(".shx"), prj: f.sibling(".prj"), cpg: f.sibling(".cpg")})
	case "dbf":
		if f.sibling(".shp") != nil {
			return refusal("%s is a part of a Shapefile; name the .shp", label)
		}
		layer(f.base(), &shapeReader{dbf: f, cpg: f.sibling(".cpg")}).flat = true
	case "fgb":
		layer(f.base(), &flatReader{open: f.open, memory: m})
	case "parquet", "xlsx", "gml":
		if err := s.addTables(f, layer, o); err != nil {
			return fmt.Errorf("%s: %w", label, err)
		}
	case "gpkg":
		return s.geopackage(ctx, f, label, o)
	}
	return nil
}

// addTables appends the layers of a file that must be looked into.
func (s *Source) addTables(f *file, layer func(name string, r reader) *Layer, o Options) error {
	m := memory(o.Limits.Feature)
	if f.suffix() == ".gml" {
		names, err := gmlLayers(f)
		for _, n := range names {
			layer(n, &gmlReader{open: f.open, kind: n, memory: m, as: o.CRS})
		}
		return err
	}
	open, err := s.anywhere(f, o)
	if err != nil {
		return err
	}
	if suffixes[f.suffix()] == "parquet" {
		flat, err := parquetIsFlat(open)
		if err == nil {
			layer(f.base(), &parquetReader{open: open, memory: m}).flat = flat
		}
		return err
	}
	sheets, err := xlsxSheets(open, o.Limits)
	for _, x := range sheets {
		name := x.name
		if len(sheets) == 1 {
			name = f.base()
		}
		layer(name, &xlsxReader{open: open, sheet: x, limits: o.Limits, memory: m}).flat = !x.located
	}
	return err
}
