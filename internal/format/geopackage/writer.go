package geopackage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Losses lists what a reader may not get back.
var Losses = []string{"JSON properties are text", "names that differ in case only get a number"}

// writer writes a GeoPackage with one table, through a store.Writer.
type writer struct {
	*output.Table
	w    io.Writer
	name string // of the table; "": the id of the collection
}

func New(w io.Writer, o output.Options) (output.Writer, error) {
	if o.GeoPackage == nil {
		return nil, fmt.Errorf("nothing writes GeoPackages here")
	}
	t, err := output.NewTable(o, 1)
	if err != nil {
		return nil, err
	}
	return &writer{Table: t, w: w}, nil
}

func (g *writer) Close(abort bool) error {
	defer g.Scratch.Close()
	if abort {
		return nil
	}
	return throughFile(g.w, g.Options.Temp, g.write)
}

// throughFile copies to w the file that write creates at a path in a folder; "" is the system's.
func throughFile(w io.Writer, temp string, write func(path string) error) error {
	dir, err := os.MkdirTemp(temp, "grense-gpkg-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "out.gpkg")
	if err := write(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// Table is one table of a GeoPackage: a collection and the features to write.
type Table struct {
	Options output.Options
	Name    string // of the table; "": the id of the collection
	Query   store.Query
}

// WriteTables writes a GeoPackage with several tables, all from one snapshot.
// The options of the first layer apply to the file.
func WriteTables(ctx context.Context, w io.Writer, snap store.Snapshot, layers []Table) error {
	o := layers[0].Options
	if o.GeoPackage == nil {
		return fmt.Errorf("format: nothing writes GeoPackages here")
	}
	return throughFile(w, o.Temp, func(path string) error {
		out, err := newFile(&o, ctx, path)
		if err != nil {
			return err
		}
		defer out.Close()
		for _, l := range layers {
			if err := addTable(ctx, out, snap, l); err != nil {
				return err
			}
		}
		return out.Commit(ctx)
	})
}

// addTable writes one table.
func addTable(ctx context.Context, out store.Writer, snap store.Snapshot, l Table) error {
	l.Options.Complete()
	x, err := New(nil, l.Options)
	if err != nil {
		return fmt.Errorf("format: gpkg: %w", err)
	}
	g := x.(*writer)
	defer g.Scratch.Close()
	g.name = l.Name
	if err := (output.Feeder{W: g, From: output.Source{Snapshot: snap, Query: l.Query}}).Feed(ctx); err != nil {
		return err
	}
	return g.fill(ctx, out)
}

func (g *writer) write(path string) error {
	ctx := context.Background() // the caller notices the end of the request and stops writing
	out, err := newFile(&g.Options, ctx, path)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := g.fill(ctx, out); err != nil {
		return err
	}
	return out.Commit(ctx)
}

// newFile begins a GeoPackage.
func newFile(o *output.Options, ctx context.Context, path string) (store.Writer, error) {
	at := o.Dated
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	return o.GeoPackage(ctx, path, at)
}

// fill adds the table.
func (g *writer) fill(ctx context.Context, out store.Writer) error {
	c, columns := g.collection()
	if err := out.Define(ctx, c, false); err != nil {
		return err
	}
	insert, err := out.Insert(ctx, c.Table, columns)
	if err != nil {
		return err
	}
	row := make([]any, len(columns))
	defer func() { g.Rows = nil }() // the index needs their memory
	return g.Read(func(_ int, values []any, geom []byte) error {
		for i, v := range values {
			row[i] = valueOf(g.KindOf(i), v)
		}
		if c.Geometry != nil {
			row[len(values)] = nil
			if len(geom) > 0 {
				row[len(values)] = store.Geometry{WKB: geom}
			}
		}
		return insert(row...)
	})
}

// collection returns the collection to write, and its columns in the order of rows.
func (g *writer) collection() (*store.Collection, []string) {
	from := g.Options.Collection
	c := &store.Collection{ID: from.ID, Table: from.ID, Title: from.Title, Description: from.Description, Public: true,
		TitleProperty: from.TitleProperty,
		Instant:       from.Instant, IntervalStart: from.IntervalStart, IntervalEnd: from.IntervalEnd,
		Key: store.FeatureKey{Column: "id", Type: cql2.TypeText}}
	if g.name != "" {
		c.ID, c.Table = g.name, g.name
	}
	cols := append(append([]output.Column(nil), g.Cols...), output.Column{Name: "geom"})
	names := output.Distinct(cols, 0, strings.ToLower)
	for i, p := range g.Cols {
		if p.At >= 0 {
			c.Properties = append(c.Properties, store.Property{Name: names[i], Column: names[i], Type: g.KindOf(i)})
		}
	}
	if g.Options.SkipGeometry {
		return c, names[:len(names)-1]
	}
	kind := ""
	if k := g.OneKind(); k != 0 && g.Kinds[k] && len(g.Kinds) == 1 {
		kind = k.String()
	}
	id := g.Options.CRS
	if id == crs.CRS84 {
		id = crs.WGS84 // GeoPackage has x before y, whatever the authority defines (OGC 12-128r18, 1.1.1)
	}
	name := names[len(names)-1]
	c.Geometry = &store.Geom{Name: name, Column: name, Type: kind, HasZ: g.HasZ, CRS: id}
	return c, names
}

// valueOf converts a value to the type of its column. Moments have the form of OGC 12-128r18,
// table 1, unless they are finer.
func valueOf(t cql2.Type, v any) any {
	switch x := v.(type) {
	case int64:
		if t == cql2.TypeNumber {
			return float64(x)
		}
	case string:
		if at, ok := feature.Moment(x); ok && t == cql2.TypeTimestamp && at.Equal(at.Truncate(time.Millisecond)) {
			return at.Format("2006-01-02T15:04:05.000Z")
		}
		return x
	case nil:
		return nil
	}
	if t == cql2.TypeText {
		return output.ValueText(v)
	}
	return v
}
