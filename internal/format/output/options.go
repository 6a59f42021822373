package output

import (
	"context"
	"fmt"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// Writer writes one file. It is not safe for concurrent use.
type Writer interface {
	// Want returns how features must be fetched.
	Want() store.Want
	// Write appends a feature and does not retain it.
	Write(f *store.Feature) error
	// Close ends the file and removes temporary files. Call it once, also after an error.
	// abort means that the file is no longer wanted, so nothing is written.
	Close(abort bool) error
}

// Options controls what is written.
type Options struct {
	Collection   *store.Collection
	CRS          crs.ID   // of the coordinates; the zero ID is CRS84
	Properties   []string // names, in this order; nil: all that are not hidden, in schema order
	SkipGeometry bool
	Count        int    // number of features that will be written; -1: unknown
	Address      string // of the collection, for names in XML and the links of features
	Title        string // of the collection, in the language of the answer
	Temp         string // folder for temporary files; "": that of the system
	Excel        bool   // CSV for spreadsheets of the Nordic countries, see NewCSV
	// decimals of coordinates if Format.Precise, 0 to feature.MaxPrecision; nil: 7 of degrees, 2 of metres
	Precision *int
	// GeoPackage creates a GeoPackage at a path, with contents of date at. nil: the format cannot be written.
	GeoPackage func(ctx context.Context, path string, at time.Time) (store.Writer, error)
	Dated      time.Time // of the data; the same features and date give the same bytes. Zero: the year 1970
	Profile    string    // of GeoJSON: "rfc7946" (also ""), "jsonfg" or "jsonfg-plus"
}

// Losses that depend on the content.
const (
	LossShapes    = "geometries other than points"
	LossHeights   = "heights"
	LossPrecision = "decimals beyond 7 of degrees, 2 of metres and heights"
)

// Complete fills zero fields from the collection.
func (o *Options) Complete() {
	if o.CRS == 0 {
		o.CRS = crs.CRS84
	}
	if o.Collection.Geometry == nil {
		o.SkipGeometry = true
	}
}

// Column is a property of a file that is a table.
type Column struct {
	Name string
	Type cql2.Type
	At   int // index in Feature.Values; -1: the feature's id
}

// Columns returns the id and then the properties. A property called id repeats the id and is left out.
func (o *Options) Columns() ([]Column, error) {
	cols := []Column{{Name: "id", Type: cql2.TypeText, At: -1}}
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
			cols = append(cols, Column{Name: n, Type: p.Type, At: i})
		}
	}
	return cols, nil
}

// Value returns the value of a feature in a column; nil if there is none.
func (c Column) Value(f *store.Feature) any {
	if c.At < 0 {
		return f.Public()
	}
	return f.Values[c.At]
}

// Want returns how to fetch features for a table of these columns.
func (o *Options) Want() store.Want {
	return store.Want{Properties: o.Properties, NoGeometry: o.SkipGeometry}
}

// Distinct returns names that differ under a fold, by appending numbers, and have at most most bytes (0: any length).
func Distinct(cols []Column, most int, fold func(string) string) []string {
	names := make([]string, len(cols))
	taken := map[string]bool{}
	for i, c := range cols {
		name := Cut(c.Name, most)
		for n := 2; taken[fold(name)]; n++ {
			end := fmt.Sprintf("_%d", n)
			stem := c.Name
			if most > 0 {
				stem = Cut(stem, most-len(end))
			}
			name = stem + end
		}
		taken[fold(name)] = true
		names[i] = name
	}
	return names
}

// Cut shortens a text to at most n bytes without splitting characters; 0 means any length.
func Cut(s string, n int) string {
	if n <= 0 || len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// TooMany returns the error for more features than a file of a format can hold.
func TooMany(name string, most int) error {
	return problem.Invalidf("f", name,
		"a sheet has at most %d rows; narrow the selection by a filter, or use f=csv, f=gpkg or f=parquet", most)
}
