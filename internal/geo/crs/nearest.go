package crs

import (
	"math"

	"github.com/paulmach/orb"
)

// Nearest finds the position nearest to a given one, on vertices and edges. Edges are straight in their own system. Use
// NewNearest. It is not safe for concurrent use.
type Nearest struct {
	Least float64   // distance so far on the unit sphere; positions that are not nearer are ignored
	Best  orb.Point // nearest position, in the system of the vertices; not set if none was nearer

	at       orb.Point // CRS84
	sin, cos float64   // of the latitude
	back     Func
}

// NewNearest returns a Nearest for a position in CRS84. back transforms vertices to CRS84.
func NewNearest(at orb.Point, back Func) Nearest {
	n := Nearest{Least: math.Inf(1), at: at, back: back}
	n.sin, n.cos = math.Sincos(at[1] * radian)
	return n
}

// Vertex is a position as stored, in CRS84, and on a plane around the given position: in the plane, distances and
// directions from that position are those on the unit sphere.
type Vertex struct{ stored, degrees, plane orb.Point }

// Vertex returns the Vertex of a stored position.
func (n *Nearest) Vertex(p orb.Point) Vertex {
	lon, lat := n.back(p[0], p[1])
	return n.Known(p, orb.Point{lon, lat})
}

// Known returns the Vertex of a stored position whose CRS84 coordinates are known.
func (n *Nearest) Known(p, degrees orb.Point) Vertex {
	lon, lat := degrees[0], degrees[1]
	sinL, cosL := math.Sincos((lon - n.at[0]) * radian)
	sin2, cos2 := math.Sincos(lat * radian)
	x, y := cos2*sinL, n.cos*sin2-n.sin*cos2*cosL
	h := long(x, y)
	if h == 0 {
		return Vertex{stored: p, degrees: degrees}
	}
	k := ahead(h, n.sin*sin2+n.cos*cos2*cosL)
	return Vertex{p, degrees, orb.Point{k * x, k * y}}
}

// long returns the length of (x, y), which are neither huge nor tiny unless 0: math.Hypot takes three times as long.
func long(x, y float64) float64 { return math.Sqrt(x*x + y*y) }

// ahead returns the ratio of an angle to its sine, which is not 0. For small angles it uses a series.
func ahead(sin, cos float64) float64 {
	if s := sin * sin; s < 1e-3 && cos > 0 {
		return 1 + s*(1./6+s*(3./40+s*(15./336+s*(105./3456+s*945./42240))))
	}
	return math.Atan2(sin, cos) / sin
}

const (
	// straight is how much an edge may bend in the plane and still count as straight: some centimetres, the bend of an
	// edge of a kilometre.
	straight = 1.5e-4 * 1.5e-4
	// gentle is the largest length, and mild the largest distance from the given position, of edges whose halves bend
	// in proportion to the whole: some 600 km and 6,000 km.
	gentle, mild = 0.1, 1
	// polar is the latitude from which parallels bend more than lines on other maps.
	polar = 80
)

// Edge measures an edge. If it may be the nearest, it is halved until its bend does not matter, or no number lies
// between its ends: opposite the given position, the plane is infinite.
func (n *Nearest) Edge(a, b Vertex) { n.edge(a, b, math.Inf(1)) }

// mostBend returns an upper bound for the bend of an edge: its length squared, and more around a pole or more than half
// around the world.
func mostBend(a, b Vertex, length float64) float64 {
	bend := length * length
	from, to := math.Abs(a.degrees[1]), math.Abs(b.degrees[1])
	turn := math.Abs(b.degrees[0]-a.degrees[0]) * radian
	if max(from, to) < polar && turn <= math.Pi {
		return bend
	}
	way := turn*math.Cos(min(from, to)*radian) + math.Abs(b.degrees[1]-a.degrees[1])*radian
	return bend + way*min(1, turn/2)
}

// edge is Edge with a known upper bound of the bend.
func (n *Nearest) edge(a, b Vertex, bend float64) {
	dx, dy := b.plane[0]-a.plane[0], b.plane[1]-a.plane[1]
	t, length := 0.0, long(dx, dy)
	if length > 0 {
		t = max(0, min(1, -(a.plane[0]*dx+a.plane[1]*dy)/(length*length)))
	}
	d := long(a.plane[0]+t*dx, a.plane[1]+t*dy)
	if bend = min(bend, mostBend(a, b, length)); bend > straight {
		if !(d-bend < n.Least) {
			return
		}
		middle := orb.Point{(a.stored[0] + b.stored[0]) / 2, (a.stored[1] + b.stored[1]) / 2}
		if middle != a.stored && middle != b.stored {
			m := n.Vertex(middle)
			half := math.Inf(1)
			if length < gentle && d < mild {
				// The halves of an arc that turns by less than two radians bend by little more than a quarter of its
				// bend. Where the edge is not such an arc, they bend by less than its length cubed.
				if s := long(m.plane[0]-(a.plane[0]+b.plane[0])/2, m.plane[1]-(a.plane[1]+b.plane[1])/2); s < length/4 {
					half = s/2 + length*length*length
				}
			}
			n.edge(a, m, half)
			n.edge(m, b, half)
			return
		}
		t = 0 // both ends are equal
		d = long(a.plane[0], a.plane[1])
	}
	if d < n.Least {
		n.Least, n.Best = d, orb.Point{a.stored[0] + t*(b.stored[0]-a.stored[0]),
			a.stored[1] + t*(b.stored[1]-a.stored[1])}
	}
}

// Metres returns the distance to the best position along the ellipsoid.
func (n *Nearest) Metres() float64 {
	x, y := n.back(n.Best[0], n.Best[1])
	return Distance(n.at, orb.Point{x, y})
}

// A radian on the sphere with the same longitudes and latitudes is at least and at most this many metres on the
// ellipsoid: the smallest and the largest radius of curvature of GRS 80.
const (
	LeastRadius = 6335439.0
	MostRadius  = 6399594.0
)
