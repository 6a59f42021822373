// Package draw draws features: maps as SVG, without script or style, and a PNG preview of the area of a service.
//
// It depends on neither store nor HTTP. Positions are given as outlines in the plane of the map, x (east) before y
// (north): metres of a projection, or degrees. NaN and infinite positions are omitted. A map is simplified until it
// fits into a number of bytes.
package draw

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/simplify"
)

// Outline is a feature's geometry for maps: its lines in the plane of the map, simplified far below a pixel of any map
// that shows all of it. It must not be changed after drawing.
type Outline struct {
	ID    string // feature id
	Title string
	Lang  string // language of the title, a BCP 47 tag; "" if unknown
	Color int    // 1 to 4: class a0 to a3 of its areas, which neighbours do not have; 0: none

	rings  []orb.Ring // outer and inner rings of all areas; filled by the even-odd rule
	lines  []orb.LineString
	points []orb.Point
	bound  orb.Bound
	boxes  []orb.Bound // of each ring
	top    int         // ring with the largest box; -1: none
	// neighbours have equal positions along their borders, so both must be simplified in the same way
	shared bool
}

// NewShared returns an outline of areas that share borders with neighbours. nil gives an empty outline.
func NewShared(title, lang string, g orb.MultiPolygon) *Outline {
	o := &Outline{Title: title, Lang: lang, bound: emptyBound, shared: true}
	o.add(g, func(x, y float64) (float64, float64) { return x, y })
	return o.measured()
}

// measured sets the derived fields of an outline; it does not change the rings.
func (o *Outline) measured() *Outline {
	o.boxes, o.top = make([]orb.Bound, len(o.rings)), -1
	most := -1.0
	for i, r := range o.rings {
		b := r.Bound()
		if o.boxes[i] = b; boxArea(b) > most {
			o.top, most = i, boxArea(b)
		}
	}
	return o
}

func boxArea(b orb.Bound) float64 { return (b.Max[0] - b.Min[0]) * (b.Max[1] - b.Min[1]) }

// fineness is the ratio of the size of a feature's largest part to the tolerance of its outline.
const fineness = 1500

// NewOutline returns the outline of a geometry, which may be nil. project transforms positions to the plane. It omits
// positions that are then NaN or infinite.
func NewOutline(title string, g orb.Geometry, project func(x, y float64) (float64, float64)) *Outline {
	o := &Outline{Title: title, bound: emptyBound}
	o.add(g, project)
	size := 0.0 // of a single part, since the box of parts on both sides of the antimeridian spans the world
	for _, r := range o.rings {
		size = max(size, extentOfPart(r.Bound()))
	}
	for _, l := range o.lines {
		size = max(size, extentOfPart(l.Bound()))
	}
	tol := size / fineness
	if !(tol > 0) {
		return o.measured()
	}
	dp := simplify.DouglasPeucker(tol)
	kept, largest := o.rings[:0], o.measured().top
	for i, r := range o.rings {
		b := o.boxes[i]
		if i == largest || b.Max[0]-b.Min[0] > tol || b.Max[1]-b.Min[1] > tol {
			kept = append(kept, slices.Clone(dp.Ring(r)))
		}
	}
	o.rings = kept
	for i, l := range o.lines {
		o.lines[i] = slices.Clone(dp.LineString(l))
	}
	return o.measured()
}

func extentOfPart(b orb.Bound) float64 { return max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]) }

var emptyBound = orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}

// Empty reports whether the outline has no positions.
func (o *Outline) Empty() bool { return o.bound.Min[0] > o.bound.Max[0] }

// HasArea reports whether the outline has rings.
func (o *Outline) HasArea() bool { return len(o.rings) > 0 }

// Size returns roughly how many bytes the outline needs.
func (o *Outline) Size() int {
	n := 200 + len(o.Title) + 16*len(o.points)
	for _, r := range o.rings {
		n += 56 + 16*len(r)
	}
	for _, l := range o.lines {
		n += 24 + 16*len(l)
	}
	return n
}

func (o *Outline) add(g orb.Geometry, project func(x, y float64) (float64, float64)) {
	path := func(ps []orb.Point) []orb.Point {
		out := make([]orb.Point, 0, len(ps))
		for _, p := range ps {
			x, y := project(p[0], p[1])
			if math.IsNaN(x+y) || math.IsInf(x+y, 0) {
				continue
			}
			out = append(out, orb.Point{x, y})
			o.bound = o.bound.Extend(orb.Point{x, y})
		}
		return out
	}
	switch g := g.(type) {
	case orb.Point:
		o.points = append(o.points, path([]orb.Point{g})...)
	case orb.MultiPoint:
		o.points = append(o.points, path(g)...)
	case orb.LineString:
		if l := path(g); len(l) > 0 {
			o.lines = append(o.lines, l)
		}
	case orb.MultiLineString:
		for _, l := range g {
			o.add(l, project)
		}
	case orb.Polygon:
		for _, r := range g {
			if p := path(r); len(p) > 0 {
				o.rings = append(o.rings, p)
			}
		}
	case orb.MultiPolygon:
		for _, p := range g {
			o.add(p, project)
		}
	case orb.Collection:
		for _, x := range g {
			o.add(x, project)
		}
	}
}

// Union returns the union of areas with shared borders; nil if the borders of one are not shared.
func Union(all []*Outline) *Outline {
	type edge [2]orb.Point
	var order []edge
	odd := map[edge]bool{} // edges on an odd number of rings are part of the union's border
	for _, o := range all {
		if o == nil || !o.shared {
			return nil
		}
		for _, r := range o.rings {
			for i := range r {
				a, b := r[i], r[(i+1)%len(r)]
				if a[0] > b[0] || a[0] == b[0] && a[1] > b[1] {
					a, b = b, a
				}
				if e := (edge{a, b}); odd[e] {
					delete(odd, e)
				} else if a != b {
					odd[e], order = true, append(order, e)
				}
			}
		}
	}
	ends := map[orb.Point][]orb.Point{}
	for _, e := range order {
		if odd[e] {
			ends[e[0]], ends[e[1]] = append(ends[e[0]], e[1]), append(ends[e[1]], e[0])
			delete(odd, e)
		}
	}
	u := &Outline{bound: emptyBound, shared: true}
	for _, e := range order {
		for start := e[0]; len(ends[start]) > 0; {
			r := orb.Ring{start}
			// every position has an even number of edges, so the walk returns to its start
			for at := start; len(r) == 1 || at != start; r = append(r, at) {
				next := ends[at][0]
				ends[at] = ends[at][1:]
				i := slices.Index(ends[next], at)
				ends[next] = slices.Delete(ends[next], i, i+1)
				at = next
			}
			u.rings, u.bound = append(u.rings, r), u.bound.Union(r.Bound())
		}
	}
	return u.measured()
}
