package cql2

import (
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
)

// maxBounds is the largest number of bounds that Extent returns. More are merged into one.
const maxBounds = 16

// Extent returns bounds, x before y in the CRS in, which is that of the geometry property geom.
// Every feature that matches e and has a geometry touches at least one of them; touching proves nothing.
// Features without geometry may match too (see BBox).
// It returns false if no bound is certain: without a spatial condition, under NOT, with S_DISJOINT,
// and for OR with an unbounded branch.
//
// A BBox in another CRS is covered by its densified edges. It is tested there with straight edges between the vertices
// of a feature. So an edge that is long enough to bend by the transformation may match outside the bounds.
func Extent(e Expr, geom string, in crs.ID) ([]orb.Bound, bool) {
	switch e := e.(type) {
	case And:
		return tightest(e, geom, in)
	case Or:
		return union(e, geom, in)
	case Spatial:
		if e.Op == SDisjoint {
			return nil, false
		}
		if p, ok := e.L.(Prop); ok && p.Name == geom {
			return literalBounds(e.R, in)
		}
		if p, ok := e.R.(Prop); ok && p.Name == geom {
			return literalBounds(e.L, in)
		}
	case BBox:
		if e.Prop == geom {
			return boxBounds(e, in)
		}
	}
	return nil, false
}

// tightest returns the smallest of the parts' bounds. It must not intersect them: a large geometry may touch two bounds
// and not their intersection.
func tightest(parts []Expr, geom string, in crs.ID) (best []orb.Bound, ok bool) {
	least := math.Inf(1)
	for _, x := range parts {
		b, has := Extent(x, geom, in)
		if has && (!ok || area(b) < least) {
			best, least, ok = b, area(b), true
		}
	}
	return best, ok
}

// area returns the sum of the areas. A margin makes bounds without area comparable.
func area(bounds []orb.Bound) float64 {
	sum := 0.0
	for _, b := range bounds {
		sum += (b.Max[0] - b.Min[0] + 1e-9) * (b.Max[1] - b.Min[1] + 1e-9)
	}
	return sum
}

// union returns the bounds of all parts, or false if one part is unbounded.
func union(parts []Expr, geom string, in crs.ID) ([]orb.Bound, bool) {
	var all []orb.Bound
	for _, x := range parts {
		b, ok := Extent(x, geom, in)
		if !ok {
			return nil, false
		}
		all = append(all, b...)
	}
	if len(all) > maxBounds {
		whole := all[0]
		for _, b := range all[1:] {
			whole = whole.Union(b)
		}
		all = []orb.Bound{whole}
	}
	return all, len(all) > 0
}

// literalBounds returns the bounds of a geometry literal; one for each half of a box that crosses the antimeridian.
func literalBounds(e Expr, in crs.ID) ([]orb.Bound, bool) {
	g, ok := e.(Geom)
	if !ok {
		return nil, false
	}
	return relate.Bounds(g.G, g.CRS, in)
}

// placed holds the bounds of a box in a CRS. ok is false if no bound is certain.
type placed struct {
	in     crs.ID
	bounds []orb.Bound
	ok     bool
}

// Placed returns e with its bounds in the CRS in, which is that of the geometry property.
// A query needs them several times: to estimate its cost, to plan it, for SQL and for the exact test.
func (e BBox) Placed(in crs.ID) BBox {
	bounds, ok := boxBounds(e, in)
	e.placed = &placed{in, bounds, ok}
	return e
}

// boxBounds returns the bounds of a box, one for each side of the antimeridian. Callers must not change them.
func boxBounds(e BBox, in crs.ID) ([]orb.Bound, bool) {
	if e.placed != nil && e.placed.in == in {
		return e.placed.bounds, e.placed.ok
	}
	var all []orb.Bound
	for _, h := range relate.Halves(e.Box) {
		b, err := crs.EnvelopeOf(h, e.CRS, in)
		if err != nil || b.IsEmpty() {
			return nil, false
		}
		all = append(all, b)
	}
	return all, true
}
