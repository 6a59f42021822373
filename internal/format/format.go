// Package format writes the features of a collection as one file, in the format of the tool at hand.
//
// A Format opens a Writer for a selection of one collection; features are written one by one, in the order in which they come, and Close
// ends the file. Formats that stream hold nothing; the others keep what they cannot write yet in a temporary file. Text
// formats round coordinates to 7 decimals of a degree or 2 of a metre unless Options.Precision says otherwise, heights to 2 decimals; the
// others (GeoPackage, GeoParquet, FlatGeobuf and Shapefile) do not round. GeoJSON, the place of JSON-FG and GML have them in the axis order of the
// authority of the asked reference system, as items has; in all other formats x is before y. What a format cannot hold is listed in its Losses.
package format

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Format is one format of files.
type Format struct {
	Name    string   // value of the parameter f
	Media   string   // media type, without charset
	Charset bool     // the media type is text, written as UTF-8
	Ext     string   // of the file name, with its dot
	Title   string   // for people; the same in every language
	Streams bool     // the first byte comes with the first feature, and nothing is kept
	Lon     bool     // coordinates are always CRS84, whatever is asked
	Most    int      // features that a file can hold; 0: any number
	Precise bool     // Options.Precision has a meaning
	Losses  []string // what a reader may not get back, each a phrase in English; LossesIn returns those of one file
	// NeedsWriter says that the format needs Options.GeoPackage.
	NeedsWriter bool
	open        func(w io.Writer, o Options) (Writer, error)
}

// Writer writes one file. It is not safe for concurrent use.
type Writer interface {
	// Want is what features must be fetched with.
	Want() store.Want
	// Write appends a feature, which is not kept.
	Write(f *store.Feature) error
	// Close ends the file and removes what was kept beside it. It must be called once, also after an error; abort says that the file is
	// not wanted any more, so that nothing is written.
	Close(abort bool) error
}

// Options says what is written.
type Options struct {
	Collection   *store.Collection
	CRS          crs.ID   // of the coordinates; the zero ID is CRS84
	Properties   []string // names, in this order; nil: all that are not hidden, in schema order
	SkipGeometry bool
	Count        int    // how many features will come; -1: unknown
	Address      string // of the collection, for names in XML and the links of features
	Title        string // of the collection, in the language of the answer
	Temp         string // folder for temporary files; "": that of the system
	Excel        bool   // of CSV: for spreadsheets of the Nordic countries, see NewCSV
	Precision    *int   // decimals of coordinates where Format.Precise, 0 to feature.MaxPrecision; nil: 7 of degrees, 2 of metres
	// GeoPackage begins a new GeoPackage at a path, whose contents have a date. Nil: that format cannot be written.
	GeoPackage func(ctx context.Context, path string, at time.Time) (store.Writer, error)
	Dated      time.Time // of the data; the same features and date give the same bytes. Zero: the year 1970
	Profile    string    // of GeoJSON: "rfc7946" (also ""), "jsonfg" or "jsonfg-plus"
}

// All lists the formats, in the order in which they are offered. The caller owns the slice; the formats are shared.
func All() []*Format { return slices.Clone(formats) }

// Find returns the format with a name; nil when there is none.
func Find(name string) *Format {
	for _, f := range formats {
		if strings.EqualFold(f.Name, name) {
			return f
		}
	}
	return nil
}

var formats = []*Format{geoJSON, geoJSONSeq, ndJSON, csvText, geoPackage, flatGeobuf, geoParquet, gml, kml, topoJSON, shapefile, xlsx}

// Open begins a file. A property that the collection has not, or a reference system that is not served, is an error.
func (f *Format) Open(w io.Writer, o Options) (Writer, error) {
	if o.CRS == 0 || f.Lon {
		o.CRS = crs.CRS84
	}
	if o.Collection.Geometry == nil {
		o.SkipGeometry = true
	}
	x, err := f.open(w, o)
	if err != nil {
		return nil, fmt.Errorf("format: %s: %w", f.Name, err)
	}
	return x, nil
}

// Losses that depend on what is written.
const (
	lossShapes    = "geometries other than points"
	lossHeights   = "heights"
	lossPrecision = "decimals beyond 7 of degrees, 2 of metres and heights"
)

// LossesIn returns the losses of a file with these options.
func (f *Format) LossesIn(o Options) (losses []string) {
	g := o.Collection.Geometry
	if o.SkipGeometry {
		g = nil
	}
	for _, l := range f.Losses {
		switch l {
		case lossShapes:
			if g == nil || g.Type == "Point" {
				continue
			}
		case lossHeights:
			if g == nil {
				continue
			}
		case lossPrecision:
			if g == nil || slices.Contains(f.Losses, lossShapes) && !g.MayBePoint() {
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

// FileName is the name under which a file is saved: the collection, what was selected ("" for all), the reference system where it is not
// CRS84, and the ending.
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

// column is one property of a file that is a table.
type column struct {
	Name string
	Type cql2.Type
	at   int // index in Feature.Values; -1: the feature's id
}

// columns are the id and then the properties. A property called id repeats the id (the server has no other) and is left out.
func (o *Options) columns() ([]column, error) {
	cols := []column{{Name: "id", Type: cql2.TypeText, at: -1}}
	names := o.Properties
	if names == nil {
		for i := range o.Collection.Properties {
			if p := &o.Collection.Properties[i]; !p.Hidden {
				names = append(names, p.Name)
			}
		}
	}
	for i, n := range names {
		p, ok := o.Collection.Find(n)
		if !ok {
			return nil, fmt.Errorf("%s has no property %q", o.Collection.ID, n)
		}
		if n != "id" {
			cols = append(cols, column{Name: n, Type: p.Type, at: i})
		}
	}
	return cols, nil
}

// value is what a feature has in a column; nil where it has nothing.
func (c column) value(f *store.Feature) any {
	if c.at < 0 {
		return f.Public()
	}
	return f.Values[c.at]
}

// want is what a table of the options' columns is fetched with.
func (o *Options) want() store.Want {
	return store.Want{Properties: o.Properties, NoGeometry: o.SkipGeometry}
}

// distinct makes names different from each other under a fold, by a number at their end, and shorter than most bytes (0: any length).
func distinct(cols []column, most int, fold func(string) string) []string {
	names := make([]string, len(cols))
	taken := map[string]bool{}
	for i, c := range cols {
		name := cut(c.Name, most)
		for n := 2; taken[fold(name)]; n++ {
			end := fmt.Sprintf("_%d", n)
			stem := c.Name
			if most > 0 {
				stem = cut(stem, most-len(end))
			}
			name = stem + end
		}
		taken[fold(name)] = true
		names[i] = name
	}
	return names
}

// cut shortens a text to at most n bytes, whole characters; 0 leaves it.
func cut(s string, n int) string {
	if n <= 0 || len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
