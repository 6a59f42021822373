// Package format writes features of a collection to one file in a requested format, and finds the readers of formats.
//
// A Format opens a Writer for a selection of one collection. Features are written one by one in their order,
// and Close ends the file. Streaming formats hold nothing back; the others keep features in a temporary file.
// Text formats round coordinates to 7 decimals of a degree or 2 of a metre, unless Options.Precision differs,
// and heights to 2 decimals. GeoPackage, GeoParquet, FlatGeobuf and Shapefile do not round.
// GeoJSON, the member place of JSON-FG and GML use the axis order of the authority of the requested reference system,
// as items do; all other formats write x before y. Losses lists what a format cannot hold.
package format

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"grense/internal/format/csv"
	"grense/internal/format/flatgeobuf"
	"grense/internal/format/geojson"
	"grense/internal/format/geopackage"
	"grense/internal/format/gml"
	"grense/internal/format/input"
	"grense/internal/format/kml"
	"grense/internal/format/output"
	"grense/internal/format/parquet"
	"grense/internal/format/shapefile"
	"grense/internal/format/topojson"
	"grense/internal/format/xlsx"
	"grense/internal/geo/crs"
)

// Format is a file format.
type Format struct {
	Name    string   // value of the parameter f
	Media   string   // media type, without charset
	Charset bool     // the media type is text, written as UTF-8
	Ext     string   // of the file name, with its dot
	Title   string   // for people; the same in every language
	Streams bool     // the first byte is sent with the first feature, and nothing is held back
	Lon     bool     // coordinates are always CRS84, whatever is requested
	Most    int      // largest number of features in a file; 0: unlimited
	Precise bool     // Options.Precision applies
	Losses  []string // what a reader may not get back, each a phrase in English; LossesIn returns those of one file
	// NeedsWriter says that the format needs Options.GeoPackage.
	NeedsWriter bool
	open        func(w io.Writer, o output.Options) (output.Writer, error)
	// Suffixes are the endings of file names whose layers Read lists, in lower case with the dot.
	Suffixes []string
	Read     input.ListLayers
}

// All returns the formats in the order in which they are offered. The caller owns the slice; the formats are shared.
func All() []*Format { return slices.Clone(formats) }

// Find returns the format with a name; nil if there is none.
func Find(name string) *Format {
	for _, f := range formats {
		if strings.EqualFold(f.Name, name) {
			return f
		}
	}
	return nil
}

// ReaderOf returns the function that lists the layers of files with an ending, in lower case with the dot;
// nil if there is none.
func ReaderOf(suffix string) input.ListLayers {
	for _, f := range formats {
		if slices.Contains(f.Suffixes, suffix) {
			return f.Read
		}
	}
	return nil
}

// formats are in the order in which they are offered.
var formats = []*Format{
	{
		Name: "json", Media: "application/geo+json",
		Title: "GeoJSON", Ext: ".geojson",
		Streams: true, Precise: true,
		Losses: geojson.Losses, open: geojson.New,
		Suffixes: []string{".geojson", ".json", ".geojsonl", ".ndjson", ".jsonl", ".geojsons", ".geojsonseq"},
		Read:     readJSON,
	},
	{
		Name: "geojsonseq", Media: "application/geo+json-seq",
		Title: "GeoJSON text sequence (RFC 8142)", Ext: ".geojsons",
		Streams: true, Precise: true,
		Losses: geojson.SequenceLosses, open: geojson.NewSequence,
	},
	{
		Name: "ndjson", Media: "application/x-ndjson",
		Title: "GeoJSON, a feature a line (NDJSON)", Ext: ".ndjson",
		Streams: true, Precise: true,
		Losses: geojson.SequenceLosses, open: geojson.NewLines,
	},
	{
		Name: "csv", Media: "text/csv",
		Title: "CSV (RFC 4180)", Ext: ".csv",
		Charset: true, Streams: true, Lon: true, Precise: true,
		Losses: csv.Losses, open: csv.New,
		Suffixes: []string{".csv", ".tsv"}, Read: csv.Layers,
	},
	{
		Name: "gpkg", Media: "application/geopackage+sqlite3",
		Title: "GeoPackage", Ext: ".gpkg",
		NeedsWriter: true,
		Losses:      geopackage.Losses, open: geopackage.New,
		Suffixes: []string{".gpkg"}, Read: geopackage.Layers,
	},
	{
		Name: "flatgeobuf", Media: "application/flatgeobuf",
		Title: "FlatGeobuf", Ext: ".fgb",
		Losses: flatgeobuf.Losses, open: flatgeobuf.New,
		Suffixes: []string{".fgb"}, Read: flatgeobuf.Layers,
	},
	{
		Name: "parquet", Media: "application/vnd.apache.parquet",
		Title: "GeoParquet 1.1", Ext: ".parquet",
		Losses: parquet.Losses, open: parquet.New,
		Suffixes: []string{".parquet", ".geoparquet"}, Read: parquet.Layers,
	},
	{
		Name: "gml", Media: "application/gml+xml;version=3.2",
		Title: "GML 3.2, Simple Features level 0", Ext: ".gml",
		Streams: true,
		Losses:  gml.Losses, open: gml.New,
		Suffixes: []string{".gml"}, Read: gml.Layers,
	},
	{
		Name: "kml", Media: "application/vnd.google-earth.kml+xml",
		Title: "KML 2.2", Ext: ".kml",
		Streams: true, Lon: true,
		Losses: kml.Losses, open: kml.New,
		Suffixes: []string{".kml"}, Read: kml.Layers,
	},
	{
		Name: "topojson", Media: "application/topo+json",
		Title: "TopoJSON 1.0", Ext: ".topojson",
		Lon:    true,
		Losses: topojson.Losses, open: topojson.New,
		Suffixes: []string{".topojson"}, Read: readJSON,
	},
	{
		Name: "shapefile", Media: "application/zip",
		Title: "Shapefile (zip)", Ext: ".shp.zip",
		Losses: shapefile.Losses, open: shapefile.New,
		Suffixes: []string{".shp", ".dbf"}, Read: shapefile.Layers,
	},
	{
		Name: "xlsx", Media: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		Title: "Excel (XLSX)", Ext: ".xlsx",
		Lon: true, Most: xlsx.MaxRows,
		Losses: xlsx.Losses, open: xlsx.New,
		Suffixes: []string{".xlsx"}, Read: xlsx.Layers,
	},
}

// Open begins a file. It fails for a property that the collection lacks and for a reference system that is not served.
func (f *Format) Open(w io.Writer, o output.Options) (output.Writer, error) {
	if f.Lon {
		o.CRS = crs.CRS84
	}
	o.Complete()
	x, err := f.open(w, o)
	if err != nil {
		return nil, fmt.Errorf("format: %s: %w", f.Name, err)
	}
	return x, nil
}

// LossesIn returns the losses of a file with these options.
func (f *Format) LossesIn(o output.Options) (losses []string) {
	g := o.Collection.Geometry
	if o.SkipGeometry {
		g = nil
	}
	for _, l := range f.Losses {
		switch l {
		case output.LossShapes:
			if g == nil || g.Type == "Point" {
				continue
			}
		case output.LossHeights:
			if g == nil {
				continue
			}
		case output.LossPrecision:
			if g == nil || slices.Contains(f.Losses, output.LossShapes) && !g.MayBePoint() {
				continue
			}
			if f.Precise && o.Precision != nil {
				l = fmt.Sprintf("decimals beyond %d of coordinates, 2 of heights", *o.Precision)
			}
		}
		losses = append(losses, l)
	}
	return losses
}

// FileName returns the name under which clients save a file: the collection, the selection ("" for all),
// the reference system unless it is CRS84, and the ending.
func (f *Format) FileName(collection, selection string, id crs.ID) string {
	name := collection
	if selection != "" {
		name += "-" + selection
	}
	if id != 0 && id != crs.CRS84 && !f.Lon {
		name += fmt.Sprintf("-%d", int(id))
	}
	return name + f.Ext
}

// TooMany returns the error for more features than a file can hold.
func (f *Format) TooMany() error {
	return output.TooMany(f.Name, f.Most)
}
