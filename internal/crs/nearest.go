package crs

import (
	"math"

	"github.com/paulmach/orb"
)

// Nearest looks for the position nearest to another one, on vertices and edges. Edges are straight in their own system. Make it by NewNearest. It is not safe for
// concurrent use.
type Nearest struct {
	Least float64   // distance so far, on a sphere of radius 1; what is not nearer does not count
	Best  orb.Point // that position, in the system of the vertices; none while nothing was nearer

	at       orb.Point // CRS84
	sin, cos float64   // of its latitude
	back     Func
}

// NewNearest returns a Nearest for a position in CRS84, to which back brings those that are looked through.
func NewNearest(at orb.Point, back Func) Nearest {
	n := Nearest{Least: math.Inf(1), at: at, back: back}
	n.sin, n.cos = math.Sincos(at[1] * radian)
	return n
}

// Vertex is a position as it is stored, and on a plane around the one looked from, on which distances and directions from there are those of a sphere of radius 1.
type Vertex struct{ stored, plane orb.Point }

// Vertex places a position.
func (n *Nearest) Vertex(p orb.Point) Vertex {
	lon, lat := n.back(p[0], p[1])
	sinL, cosL := math.Sincos((lon - n.at[0]) * radian)
	sin2, cos2 := math.Sincos(lat * radian)
	x, y := cos2*sinL, n.cos*sin2-n.sin*cos2*cosL
	h := math.Hypot(x, y)
	if h == 0 {
		return Vertex{stored: p}
	}
	k := math.Atan2(h, n.sin*sin2+n.cos*cos2*cosL) / h
	return Vertex{p, orb.Point{k * x, k * y}}
}

// shortEdge is the length of edges that are taken as straight on the plane: about a kilometre, which bends by centimetres.
const shortEdge = 1.5e-4

// Edge measures an edge. One that is long, and so may bend on the plane by as much as its length squared, is halved where it may be the nearest, while there is a
// number between its ends: opposite the position that is looked from, the plane has no end.
func (n *Nearest) Edge(a, b Vertex) {
	dx, dy := b.plane[0]-a.plane[0], b.plane[1]-a.plane[1]
	t, length := 0.0, math.Hypot(dx, dy)
	if length > 0 {
		t = max(0, min(1, -(a.plane[0]*dx+a.plane[1]*dy)/(length*length)))
	}
	d := math.Hypot(a.plane[0]+t*dx, a.plane[1]+t*dy)
	if length > shortEdge {
		if !(d-length*length < n.Least) {
			return
		}
		middle := orb.Point{(a.stored[0] + b.stored[0]) / 2, (a.stored[1] + b.stored[1]) / 2}
		if middle != a.stored && middle != b.stored {
			m := n.Vertex(middle)
			n.Edge(a, m)
			n.Edge(m, b)
			return
		}
		t = 0 // both ends are one position
		d = math.Hypot(a.plane[0], a.plane[1])
	}
	if d < n.Least {
		n.Least, n.Best = d, orb.Point{a.stored[0] + t*(b.stored[0]-a.stored[0]), a.stored[1] + t*(b.stored[1]-a.stored[1])}
	}
}

// Metres is the distance to the best position along the ellipsoid.
func (n *Nearest) Metres() float64 {
	x, y := n.back(n.Best[0], n.Best[1])
	return Distance(n.at, orb.Point{x, y})
}

// A distance along the ellipsoid is at least and at most so many metres for each radian on the sphere that has the same longitudes and latitudes: the smallest
// and the largest radius of curvature of GRS 80.
const (
	LeastRadius = 6335439.0
	MostRadius  = 6399594.0
)
