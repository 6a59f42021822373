package relate

import (
	"math"
	"math/bits"

	"github.com/paulmach/orb"
	orbclip "github.com/paulmach/orb/clip"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

const (
	metre      = 1.0           // distance by which an edge may bend and still count as straight
	metreOf    = metre / 111e3 // in degrees
	longEdge   = 1e6           // in metres: an edge of this length is always divided
	longEdgeOf = 10            // in degrees
	mostPieces = 1 << 8        // pieces of one edge
	mostPoints = 20_000        // points that are added to one geometry, about
)

// bent returns a literal whose vertices can be transformed: it adds points to edges that are straight in the CRS from
// and bend in the CRS to. It cuts off what lies outside the projection, far from all data in it.
func bent(g orb.Geometry, from, to crs.ID) orb.Geometry {
	if b, ok := g.(orb.Bound); ok {
		g = BoxGeometry(b)
	}
	if crs.Same(from, to) || g.Dimensions() == 0 {
		return g
	}
	f, err := crs.Between(from, to)
	if err != nil {
		return g
	}
	if regular := to.Regular(); from.Geographic() && !Covered(g.Bound(), regular) {
		if g = orbclip.Geometry(regular, orb.Clone(g)); g == nil {
			return orb.MultiPoint{}
		}
	}
	n := 0
	EachPoint(g, func(orb.Point) { n++ })
	most := max(bits.Len(uint(min(mostPieces, mostPoints/max(n, 1))))-1, 2)
	x := bender{f: f, most: most, long: longEdge, tolerance: metre}
	if from.Geographic() {
		x.long = longEdgeOf
	}
	if to.Geographic() {
		x.tolerance = metreOf
	}
	return x.geometry(g)
}

// bender adds points to edges.
type bender struct {
	f               crs.Func
	most            int // halvings of one edge
	long, tolerance float64
}

func (x *bender) geometry(g orb.Geometry) orb.Geometry {
	switch g := g.(type) {
	case orb.LineString:
		return orb.LineString(x.line(g))
	case orb.Ring:
		return orb.Ring(x.line(g))
	case orb.MultiLineString:
		return bendParts(x, g)
	case orb.Polygon:
		return bendParts(x, g)
	case orb.MultiPolygon:
		return bendParts(x, g)
	case orb.Collection:
		return bendParts(x, g)
	}
	return g
}

func bendParts[P ~[]T, T orb.Geometry](x *bender, parts P) P {
	out := make(P, len(parts))
	for i, p := range parts {
		out[i] = x.geometry(p).(T)
	}
	return out
}

func (x *bender) line(line []orb.Point) []orb.Point {
	if len(line) == 0 {
		return line
	}
	out := append(make([]orb.Point, 0, len(line)), line[0])
	at := x.image(line[0])
	for _, p := range line[1:] {
		end := x.image(p)
		out = append(x.halve(out, [2]orb.Point{out[len(out)-1], p}, [2]orb.Point{at, end}, x.most), p)
		at = end
	}
	return out
}

func (x *bender) image(p orb.Point) orb.Point {
	a, b := x.f(p[0], p[1])
	return orb.Point{a, b}
}

// halve appends the points between the ends of an edge.
func (x *bender) halve(out []orb.Point, edge, image [2]orb.Point, most int) []orb.Point {
	middle := func(e [2]orb.Point) orb.Point { return orb.Point{(e[0][0] + e[1][0]) / 2, (e[0][1] + e[1][1]) / 2} }
	m, straight := middle(edge), middle(image)
	at := x.image(m)
	if most == 0 || !wkb.Finite(at[0]) || !wkb.Finite(at[1]) ||
		far(edge[0], edge[1]) <= x.long && far(at, straight) <= x.tolerance {
		return out
	}
	out = append(x.halve(out, [2]orb.Point{edge[0], m}, [2]orb.Point{image[0], at}, most-1), m)
	return x.halve(out, [2]orb.Point{m, edge[1]}, [2]orb.Point{at, image[1]}, most-1)
}

// far returns the larger of the distances along the two axes.
func far(a, b orb.Point) float64 { return max(a[0]-b[0], b[0]-a[0], a[1]-b[1], b[1]-a[1]) }

// EachPoint calls fn for every vertex.
func EachPoint(g orb.Geometry, fn func(orb.Point)) {
	switch g := g.(type) {
	case orb.Point:
		fn(g)
	case orb.MultiPoint:
		for _, p := range g {
			fn(p)
		}
	case orb.LineString:
		for _, p := range g {
			fn(p)
		}
	case orb.Ring:
		for _, p := range g {
			fn(p)
		}
	case orb.Bound:
		fn(g.Min)
		fn(g.Max)
	case orb.MultiLineString:
		eachPart(g, fn)
	case orb.Polygon:
		eachPart(g, fn)
	case orb.MultiPolygon:
		eachPart(g, fn)
	case orb.Collection:
		eachPart(g, fn)
	}
}

func eachPart[T orb.Geometry](parts []T, fn func(orb.Point)) {
	for _, p := range parts {
		EachPoint(p, fn)
	}
}

// Bounds returns the bounds of a Literal in the CRS to; one for each half of a box that crosses the antimeridian.
// It returns false if a vertex cannot be transformed.
func Bounds(g orb.Geometry, from, to crs.ID) ([]orb.Bound, bool) {
	f, err := crs.Between(from, to)
	if err != nil {
		return nil, false
	}
	shown := bent(g, from, to)
	parts := []orb.Geometry{shown}
	if m, ok := shown.(orb.MultiPolygon); ok && len(m) == 2 {
		parts = []orb.Geometry{m[0], m[1]}
	}
	var all []orb.Bound
	ok := true
	for _, part := range parts {
		b := orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}
		EachPoint(part, func(p orb.Point) {
			x, y := f(p[0], p[1])
			ok = ok && wkb.Finite(x) && wkb.Finite(y)
			b.Min = orb.Point{min(b.Min[0], x), min(b.Min[1], y)}
			b.Max = orb.Point{max(b.Max[0], x), max(b.Max[1], y)}
		})
		if !ok || b.IsEmpty() {
			return nil, false
		}
		all = append(all, b)
	}
	return all, true
}
