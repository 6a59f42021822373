package ingest

import (
	"cmp"
	"context"
	"os"
	"strconv"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/store"
)

// geopackage adds the layers of a GeoPackage as its store serves them.
func (s *Source) geopackage(ctx context.Context, f *file, label string, o Options) error {
	if o.OpenGeoPackage == nil {
		return refusal("%s: GeoPackages are not read here", label)
	}
	path := f.name
	if path != s.Path { // packed
		dir, err := os.MkdirTemp(o.TempDir, "grense-")
		if err != nil {
			return err
		}
		s.closes = append(s.closes, func() error { return os.RemoveAll(dir) })
		if path, err = extract(f, dir); err != nil {
			return err
		}
	}
	st, err := o.OpenGeoPackage(ctx, path)
	if err != nil {
		return refusal("%s: %v", label, err)
	}
	s.closes = append(s.closes, st.Close)
	for _, l := range StoreLayers(label, st) {
		if r, ok := l.reader.(*storeReader); ok {
			r.memory = memory(o.Limits.Feature)
		}
		s.Layers = append(s.Layers, l)
	}
	return nil
}

// StoreLayers are the public collections of a store as layers, and those that it refuses. The store must stay open while they are read.
func StoreLayers(label string, st store.Store) (layers []*Layer) {
	cat := st.Catalog()
	for _, c := range cat.Collections {
		if !c.Public {
			continue
		}
		r := &storeReader{st: st, c: c}
		for _, n := range cat.Notes {
			if n.Layer == c.Table {
				r.notes = append(r.notes, note{Warning, n.Reason})
			}
		}
		layers = append(layers, &Layer{File: label, Name: c.Table, reader: r, flat: c.Geometry == nil, of: c})
	}
	for _, n := range cat.Notes {
		if n.Refused {
			layers = append(layers, &Layer{File: label, Name: n.Layer, reader: &storeReader{notes: []note{{Refused, n.Reason}}}, flat: true})
		}
	}
	return layers
}

// source is what a store says of the only layer; nil where there are several, or it is of a file.
func source(layers []*Layer) *store.Collection {
	if len(layers) != 1 {
		return nil
	}
	return layers[0].of
}

func (p *Plan) sources() (layers []*Layer) {
	for _, l := range p.layers {
		layers = append(layers, l.Layer)
	}
	return layers
}

// inherit takes from a collection of a store what its rows do not tell.
func (p *Plan) inherit(from *store.Collection) {
	c := p.Collection
	if c.Title == nil {
		c.Title = from.Title
	}
	c.Description, c.Keywords, c.Links = from.Description, from.Keywords, from.Links
	now := func(name string) string { // what the property is called now
		if x := p.byName[name]; x != nil {
			return x.out
		}
		return ""
	}
	if from.Instant != "" || from.IntervalStart != "" || from.IntervalEnd != "" {
		c.Instant, c.IntervalStart, c.IntervalEnd = now(from.Instant), now(from.IntervalStart), now(from.IntervalEnd)
	}
	c.TitleProperty = now(from.TitleProperty)
	for _, s := range from.DefaultSort {
		if s.Property = now(s.Property); s.Property == "" {
			break
		}
		c.DefaultSort = append(c.DefaultSort, s)
	}
	for i, x := range p.columns {
		if known, ok := from.Find(x.name); ok {
			to := &c.Properties[i]
			to.Title, to.Description, to.Unit, to.Enum, to.CodeList, to.Ref = known.Title, known.Description, known.Unit, known.Enum, known.CodeList, known.Ref
		}
	}
	if c.Geometry != nil && from.Geometry != nil {
		if _, taken := c.Find(from.Geometry.Name); !taken {
			c.Geometry.Name = from.Geometry.Name
		}
		if p.layers[0].shapes == 0 || from.Geometry.Type == "" && !p.mixed {
			c.Geometry.Type = from.Geometry.Type
		}
		c.Geometry.HasZ = c.Geometry.HasZ || from.Geometry.HasZ
	}
}

// storeReader reads a collection of a store, in the order of ids.
type storeReader struct {
	st    store.Store
	c     *store.Collection // nil: the store refused the layer
	notes []note

	memory memory
}

// batch is how many features are asked for at once.
const batch = 500

func (r *storeReader) read(ctx context.Context, out sink) error {
	for _, n := range r.notes {
		out.fault(place{}, false, n.action, n.reason)
	}
	if r.c == nil {
		return nil
	}
	if g := r.c.Geometry; g != nil {
		out.reference(place{}, cmp.Or(g.CRS.URI(), prjName+g.CRS.Text()))
	}
	names := make([]string, 0, len(r.c.Properties))
	types := make([]cql2.Type, 0, len(r.c.Properties))
	for _, p := range r.c.Properties {
		if !p.Hidden {
			names, types = append(names, p.Name), append(types, p.Type)
		}
	}
	out.fields(names)
	q := store.Query{Collection: r.c.ID, Limit: batch, Count: store.CountNone}
	for {
		page, err := r.st.Page(ctx, q)
		if err != nil {
			return err
		}
		err = r.st.Fetch(ctx, r.c.ID, page.Rows, store.Want{}, func(f *store.Feature) error { return out.record(r.record(f, names, types, out)) })
		if err != nil {
			return err
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

func (r *storeReader) record(f *store.Feature, names []string, types []cql2.Type, out sink) *record {
	rec := &record{id: value{plain, f.ID}, fields: make([]field, len(names))}
	if r.c.Key.Type == cql2.TypeInteger {
		rec.id.kind = integer
	}
	for i, v := range f.Values {
		rec.fields[i] = field{names[i], stated(v, types[i])}
	}
	if f.Geometry.IsNull() {
		return rec
	}
	if wrong := r.memory.positions(len(f.Geometry.WKB) / 16); wrong != "" {
		rec.refused = true
		out.fault(place{}, true, Refused, wrong)
		return rec
	}
	var notes []note
	_, _, err := f.Geometry.Bound() // bounds the nesting, which the library does not
	wrong := ""
	if err == nil {
		var g geom.Geometry
		if g, err = geom.UnmarshalWKB(f.Geometry.WKB, geom.NoValidate{}); err == nil {
			rec.shape, notes, wrong = normalize(g)
		}
	}
	for _, n := range notes {
		out.fault(place{}, true, n.action, n.reason)
	}
	if err != nil {
		wrong = "the geometry cannot be read: " + err.Error()
	}
	if wrong != "" {
		rec.refused = true
		out.fault(place{}, true, Refused, wrong)
	}
	return rec
}

// stated is a value of a store with the kind that its property has.
func stated(v any, t cql2.Type) value {
	switch v := v.(type) {
	case string:
		if t == cql2.TypeDate || t == cql2.TypeTimestamp {
			return value{text, v}
		}
		return value{plain, v}
	case int64:
		return value{integer, strconv.FormatInt(v, 10)}
	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if t == cql2.TypeNumber {
			return value{number, s}
		}
		return value{integer, s}
	case bool:
		return value{boolean, strconv.FormatBool(v)}
	case store.JSON:
		if t == cql2.TypeNumber { // of more digits than a double
			return value{number, string(v)}
		}
		return value{object, string(v)}
	}
	return value{kind: null}
}
