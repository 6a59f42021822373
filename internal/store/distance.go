package store

import (
	"math"

	"github.com/paulmach/orb"

	"grense/internal/crs"
	"grense/internal/wkb"
)

// Distance is the least distance in metres, along the ellipsoid, from a position in CRS84 to the points and edges of the geometry, which back brings to CRS84;
// infinite when there are none, or they cannot be read. Edges are straight in the geometry's own system. Inside of a polygon it is the distance to its border.
func (g Geometry) Distance(at orb.Point, back crs.Func) float64 {
	n := nearest{at: at, back: back, least: math.Inf(1)}
	err := wkb.Walk(g.WKB, func(r wkb.Run) bool {
		var last vertex
		for i := range r.Len() {
			x, y := r.XY(i)
			v := n.vertex(orb.Point{x, y})
			if i == 0 {
				last = v
			}
			n.edge(last, v)
			last = v
		}
		return true
	})
	if err != nil || math.IsInf(n.least, 1) {
		return math.Inf(1)
	}
	x, y := back(n.best[0], n.best[1])
	return crs.Distance(at, orb.Point{x, y})
}

// nearest looks for the position nearest to another one.
type nearest struct {
	at    orb.Point // CRS84
	back  crs.Func
	least float64   // distance so far, on a sphere of radius 1
	best  orb.Point // as stored
}

// vertex is a position as it is stored, and on a plane around the one looked from, on which distances and directions from there are those of a sphere of radius 1.
type vertex struct{ stored, plane orb.Point }

func (n *nearest) vertex(p orb.Point) vertex {
	const rad = math.Pi / 180
	lon, lat := n.back(p[0], p[1])
	sinL, cosL := math.Sincos((lon - n.at[0]) * rad)
	sin1, cos1 := math.Sincos(n.at[1] * rad)
	sin2, cos2 := math.Sincos(lat * rad)
	x, y := cos2*sinL, cos1*sin2-sin1*cos2*cosL
	h := math.Hypot(x, y)
	if h == 0 {
		return vertex{stored: p}
	}
	k := math.Atan2(h, sin1*sin2+cos1*cos2*cosL) / h
	return vertex{p, orb.Point{k * x, k * y}}
}

// shortEdge is the length of edges that are taken as straight on the plane: about a kilometre, which bends by centimetres.
const shortEdge = 1.5e-4

// edge measures an edge. One that is long, and so may bend on the plane by as much as its length squared, is halved where it may be the nearest.
func (n *nearest) edge(a, b vertex) {
	dx, dy := b.plane[0]-a.plane[0], b.plane[1]-a.plane[1]
	t, length := 0.0, math.Hypot(dx, dy)
	if length > 0 {
		t = max(0, min(1, -(a.plane[0]*dx+a.plane[1]*dy)/(length*length)))
	}
	d := math.Hypot(a.plane[0]+t*dx, a.plane[1]+t*dy)
	if length > shortEdge {
		if d-length*length < n.least {
			middle := n.vertex(orb.Point{(a.stored[0] + b.stored[0]) / 2, (a.stored[1] + b.stored[1]) / 2})
			n.edge(a, middle)
			n.edge(middle, b)
		}
		return
	}
	if d < n.least {
		n.least, n.best = d, orb.Point{a.stored[0] + t*(b.stored[0]-a.stored[0]), a.stored[1] + t*(b.stored[1]-a.stored[1])}
	}
}
