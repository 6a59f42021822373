// Package geopackage reads and writes GeoPackage (OGC 12-128r19) through a store.
package geopackage

import (
	"cmp"
	"context"
	"strconv"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/format/input"
	"grense/internal/store"
)

// Layers lists the layers of a GeoPackage as its store serves them.
func Layers(ctx context.Context, f *input.File, o input.Options) ([]input.Layer, error) {
	if o.OpenGeoPackage == nil {
		return nil, input.Refuse("%s: GeoPackages are not read here", f.Label)
	}
	path, err := f.Unpacked(o.TempDir)
	if err != nil {
		return nil, err
	}
	st, err := o.OpenGeoPackage(ctx, path)
	if err != nil {
		return nil, input.Refuse("%s: %v", f.Label, err)
	}
	f.AtClose(st.Close)
	return StoreLayers(st, input.Memory(o.Limits.Feature)), nil
}

// StoreLayers returns the public collections of a store as layers, and the layers that it refuses.
// The store must stay open while they are read.
func StoreLayers(st store.Store, m input.Memory) (layers []input.Layer) {
	cat := st.Catalog()
	for _, c := range cat.Collections {
		if !c.Public {
			continue
		}
		r := &reader{st: st, c: c, memory: m}
		for _, n := range cat.Notes {
			if n.Layer == c.Table {
				r.notes = append(r.notes, input.Note{Action: input.Warning, Reason: n.Reason})
			}
		}
		layers = append(layers, input.Layer{Name: c.Table, Reader: r, Flat: c.Geometry == nil, Of: c})
	}
	for _, n := range cat.Notes {
		if n.Refused {
			layers = append(layers, input.Layer{Name: n.Layer,
				Reader: &reader{notes: []input.Note{{Action: input.Refused, Reason: n.Reason}}}, Flat: true})
		}
	}
	return layers
}

// reader reads a collection of a store, in the order of ids.
type reader struct {
	st    store.Store
	c     *store.Collection // nil: the store refused the layer
	notes []input.Note

	memory input.Memory
}

// batch is the number of features in a query.
const batch = 500

func (r *reader) Read(ctx context.Context, out input.Sink) error {
	for _, n := range r.notes {
		out.Fault(input.Place{}, false, n.Action, n.Reason)
	}
	if r.c == nil {
		return nil
	}
	if g := r.c.Geometry; g != nil {
		out.Reference(input.Place{}, cmp.Or(g.CRS.URI(), input.WKTPrefix+g.CRS.Text()))
	}
	names := make([]string, 0, len(r.c.Properties))
	types := make([]cql2.Type, 0, len(r.c.Properties))
	for _, p := range r.c.Properties {
		if !p.Hidden {
			names, types = append(names, p.Name), append(types, p.Type)
		}
	}
	out.Fields(names)
	q := store.Query{Collection: r.c.ID, Limit: batch, Count: store.CountNone}
	for {
		page, err := r.st.Page(ctx, q)
		if err != nil {
			return err
		}
		err = r.st.Fetch(ctx, r.c.ID, page.Rows, store.Want{}, func(f *store.Feature) error {
			return out.Record(r.record(f, names, types, out))
		})
		if err != nil {
			return err
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

func (r *reader) record(f *store.Feature, names []string, types []cql2.Type, out input.Sink) *input.Record {
	rec := &input.Record{ID: input.Value{Kind: input.Plain, Text: f.ID}, Fields: make([]input.Field, len(names))}
	if r.c.Key.Type == cql2.TypeInteger {
		rec.ID.Kind = input.Integer
	}
	for i, v := range f.Values {
		rec.Fields[i] = input.Field{Name: names[i], Value: stated(v, types[i])}
	}
	if f.Geometry.IsNull() {
		return rec
	}
	if wrong := r.memory.Positions(len(f.Geometry.WKB) / 16); wrong != "" {
		rec.Refused = true
		out.Fault(input.Place{}, true, input.Refused, wrong)
		return rec
	}
	var notes []input.Note
	_, _, err := f.Geometry.Bound() // limits the nesting, which the library does not
	wrong := ""
	if err == nil {
		var g geom.Geometry
		if g, err = geom.UnmarshalWKB(f.Geometry.WKB, geom.NoValidate{}); err == nil {
			rec.Shape, notes, wrong = input.Normalize(g)
		}
	}
	for _, n := range notes {
		out.Fault(input.Place{}, true, n.Action, n.Reason)
	}
	if err != nil {
		wrong = "the geometry cannot be read: " + err.Error()
	}
	if wrong != "" {
		rec.Refused = true
		out.Fault(input.Place{}, true, input.Refused, wrong)
	}
	return rec
}

// stated returns a value of a store with the kind of its property.
func stated(v any, t cql2.Type) input.Value {
	switch v := v.(type) {
	case string:
		if t == cql2.TypeDate || t == cql2.TypeTimestamp {
			return input.Value{Kind: input.Text, Text: v}
		}
		return input.Value{Kind: input.Plain, Text: v}
	case int64:
		return input.Value{Kind: input.Integer, Text: strconv.FormatInt(v, 10)}
	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if t == cql2.TypeNumber {
			return input.Value{Kind: input.Number, Text: s}
		}
		return input.Value{Kind: input.Integer, Text: s}
	case bool:
		return input.Value{Kind: input.Boolean, Text: strconv.FormatBool(v)}
	case store.JSON:
		if t == cql2.TypeNumber { // with more digits than a double
			return input.Value{Kind: input.Number, Text: string(v)}
		}
		return input.Value{Kind: input.Object, Text: string(v)}
	}
	return input.Value{Kind: input.Null}
}
