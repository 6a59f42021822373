package format

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/crs"
	"grense/internal/feature"
	"grense/internal/store"
)

var geoPackage = &Format{Name: "gpkg", Media: "application/geopackage+sqlite3", Ext: ".gpkg", Title: "GeoPackage", NeedsWriter: true,
	Losses: []string{"JSON properties are text", "names that differ in case only get a number"},
	open:   newGeoPackage}

// geoPackageWriter writes a GeoPackage with one table, through a store.Writer.
type geoPackageWriter struct {
	*table
	w io.Writer
}

func newGeoPackage(w io.Writer, o Options) (Writer, error) {
	if o.GeoPackage == nil {
		return nil, fmt.Errorf("nothing writes GeoPackages here")
	}
	t, err := newTable(o, 1)
	if err != nil {
		return nil, err
	}
	return &geoPackageWriter{table: t, w: w}, nil
}

func (g *geoPackageWriter) Close(abort bool) error {
	defer g.tmp.close()
	if abort {
		return nil
	}
	dir, err := os.MkdirTemp(g.o.Temp, "grense-gpkg-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "out.gpkg")
	if err := g.write(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(g.w, f)
	return err
}

func (g *geoPackageWriter) write(path string) error {
	ctx := context.Background() // the request's end is seen by the caller, who gives up writing
	at := g.o.Dated
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	out, err := g.o.GeoPackage(ctx, path, at)
	if err != nil {
		return err
	}
	defer out.Close()
	c, columns := g.collection()
	if err := out.Define(ctx, c, false); err != nil {
		return err
	}
	insert, err := out.Insert(ctx, c.Table, columns)
	if err != nil {
		return err
	}
	row := make([]any, len(columns))
	err = g.read(func(_ int, values []any, geom []byte) error {
		for i, v := range values {
			row[i] = geoPackageValue(g.kindOf(i), v)
		}
		if c.Geometry != nil {
			row[len(values)] = nil
			if len(geom) > 0 {
				row[len(values)] = store.Geometry{WKB: geom}
			}
		}
		return insert(row...)
	})
	if err != nil {
		return err
	}
	return out.Commit(ctx)
}

// collection is what is written, and the columns in the order of rows.
func (g *geoPackageWriter) collection() (*store.Collection, []string) {
	from := g.o.Collection
	c := &store.Collection{ID: from.ID, Table: from.ID, Title: from.Title, Description: from.Description, Public: true, TitleProperty: from.TitleProperty,
		Instant: from.Instant, IntervalStart: from.IntervalStart, IntervalEnd: from.IntervalEnd, Key: store.FeatureKey{Column: "id", Type: cql2.TypeText}}
	cols := append(append([]column(nil), g.cols...), column{Name: "geom"})
	names := distinct(cols, 0, strings.ToLower)
	for i, p := range g.cols {
		if p.at >= 0 {
			c.Properties = append(c.Properties, store.Property{Name: names[i], Column: names[i], Type: g.kindOf(i)})
		}
	}
	if g.o.SkipGeometry {
		return c, names[:len(names)-1]
	}
	kind := ""
	if k := g.oneKind(); k != 0 && g.kinds[k] && len(g.kinds) == 1 {
		kind = k.String()
	}
	id := g.o.CRS
	if id == crs.CRS84 {
		id = crs.WGS84 // GeoPackage puts x before y whatever the authority says (OGC 12-128r18, 1.1.1)
	}
	name := names[len(names)-1]
	c.Geometry = &store.Geom{Name: name, Column: name, Type: kind, HasZ: g.z, CRS: id}
	return c, names
}

// geoPackageValue is a value in the type of its column; moments have the form of OGC 12-128r18, table 1, where they have no finer parts.
func geoPackageValue(t cql2.Type, v any) any {
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
		return valueText(v)
	}
	return v
}
