package server

import (
	"slices"

	"grense/internal/store"
)

// Divisions returns the public collections of areas, those with the fewest features first.
func (c *Call) Divisions() (out []*store.Collection) {
	for _, coll := range c.Catalog.Collections {
		if g := coll.Geometry; coll.Public && g != nil && (g.Type == "Polygon" || g.Type == "MultiPolygon") {
			out = append(out, coll)
		}
	}
	slices.SortStableFunc(out, func(a, b *store.Collection) int { return a.Count - b.Count })
	return out
}
