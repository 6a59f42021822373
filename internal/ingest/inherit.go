package ingest

import (
	"grense/internal/format/geopackage"
	"grense/internal/store"
)

// StoreLayers returns the public collections of a store as layers, and the layers that it refuses.
// The store must stay open while they are read.
func StoreLayers(label string, st store.Store) (layers []*Layer) {
	for _, l := range geopackage.StoreLayers(st, 0) {
		layers = append(layers, &Layer{Layer: l, File: label})
	}
	return layers
}

// source returns the collection of the only layer, if it comes from a store; else nil.
func source(layers []*Layer) *store.Collection {
	if len(layers) != 1 {
		return nil
	}
	return layers[0].Of
}

func (p *Plan) sources() (layers []*Layer) {
	for _, l := range p.layers {
		layers = append(layers, l.Layer)
	}
	return layers
}

// inherit copies from a collection of a store what the rows do not show.
func (p *Plan) inherit(from *store.Collection) {
	c := p.Collection
	if c.Title == nil {
		c.Title = from.Title
	}
	c.Description, c.Keywords, c.Links = from.Description, from.Keywords, from.Links
	now := func(name string) string { // new name of the property
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
			to.Title, to.Description, to.Unit, to.Enum, to.CodeList, to.Ref = known.Title, known.Description,
				known.Unit, known.Enum, known.CodeList, known.Ref
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
