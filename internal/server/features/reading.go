package features

import (
	"grense/internal/server/drawing"
	"grense/internal/store"
)

// linkedMost limits the JSON-LD in the page of a feature, in bytes. Longer JSON-LD is written without the geometry.
const linkedMost = 64 << 10

// linkedOnPage returns a feature as JSON-LD for its page, without a long geometry.
func (c *call) linkedOnPage(f *store.Feature) (doc []byte, err error) {
	for _, skip := range []bool{c.Output().SkipGeometry, true} {
		enc, err := c.encoder(skip)
		if err != nil {
			return nil, err
		}
		if doc, err = enc.AppendJSONLD(nil, f, c.Item(c.Collection.ID, f.Public())); err != nil ||
			len(doc) <= linkedMost {
			return doc, err
		}
	}
	return doc, nil
}

// pageReading describes one query that serves a whole page: its texts, its map and its linked data.
type pageReading struct {
	want     store.Want
	asked    []int             // indexes in Feature.Values of the requested properties, in their order
	outlines *drawing.Outliner // nil if the page has no map
	titled   []int             // indexes of the properties that outlines need
}

// reading returns the query of a page: every property that is not hidden, in the order of the schema, and the
// geometry. If shown is not nil, it contains those properties and what outlines need; asked is nil then.
func (c *call) reading(shown []*store.Property) (r *pageReading, err error) {
	r = &pageReading{want: store.Want{Properties: []string{}}}
	if c.Collection.Geometry != nil && !c.Output().SkipGeometry {
		if r.outlines, err = c.Outliner(c.Collection,
			c.ScaleOfAll(c.Collection, drawing.CRS(c.Collection))); err != nil {
			return nil, err
		}
	}
	some := map[string]bool{}
	for _, p := range shown {
		some[p.Name] = true
	}
	if r.outlines != nil {
		for _, name := range r.outlines.Properties {
			some[name] = true
		}
	}
	place := map[string]int{}
	for i := range c.Collection.Properties {
		if p := &c.Collection.Properties[i]; !p.Hidden && (shown == nil || some[p.Name]) {
			place[p.Name] = len(r.want.Properties)
			r.want.Properties = append(r.want.Properties, p.Name)
		}
	}
	at := func(names []string) (out []int) {
		for _, n := range names {
			out = append(out, place[n])
		}
		return out
	}
	switch asked := c.Output().Properties; {
	case shown != nil:
	case asked != nil:
		r.asked = at(asked)
	default:
		r.asked = at(r.want.Properties)
	}
	if r.outlines != nil {
		r.titled = at(r.outlines.Properties)
	}
	return r, nil
}

func pickValues(values []any, at []int) []any {
	out := make([]any, len(at))
	for i, k := range at {
		out[i] = values[k]
	}
	return out
}

// selected returns the feature with the requested values. It is valid as long as f.
func (r *pageReading) selected(f *store.Feature) *store.Feature {
	g := *f
	g.Values = pickValues(f.Values, r.asked)
	return &g
}

// outline adds the outline of the feature if the page has a map.
func (r *pageReading) outline(f *store.Feature) (err error) {
	if r.outlines != nil {
		_, err = r.outlines.Outline(f, pickValues(f.Values, r.titled))
	}
	return err
}
