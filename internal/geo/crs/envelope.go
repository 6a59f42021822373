package crs

import (
	"math"

	"github.com/paulmach/orb"
)

const (
	edgePoints = 64 // points on each edge of a box
	// for a box of at most smallEdge degrees, which bends so little that the margin is only tens of metres
	fewPoints   = 8
	smallEdge   = 2
	meridianGap = 80 // degrees from the central meridian up to which transverse Mercator is regular
)

// everywhere contains the image of the earth in any projection, in metres.
var everywhere = orb.Bound{Min: orb.Point{-1e9, -1e9}, Max: orb.Point{1e9, 1e9}}

// EnvelopeOf returns a box in the CRS to that contains every point of b, a box in the CRS from, both x before y. It
// follows the edges of b with a margin for what lies between the points, and includes a pole or the antimeridian. It
// may be larger than necessary, even everywhere, but never smaller. An empty b stays empty. In degrees the result is
// within [-180, 180] and [-90, 90]; a box across the antimeridian has all longitudes.
func EnvelopeOf(b orb.Bound, from, to ID) (orb.Bound, error) {
	f, err := Between(from, to)
	if err != nil {
		return orb.Bound{}, err
	}
	if Same(from, to) || b.IsEmpty() {
		return b, nil
	}
	if from.Geographic() {
		return projected(b, b, f, to), nil
	}
	inverse := from.find().proj
	deg := geographic(b, inverse)
	if to.Geographic() {
		return deg, nil
	}
	if to == WebMercator { // cut at the antimeridian: edges are not enough; axes are parallel to those of deg
		return projected(deg, deg, forward(to.find().proj), to), nil
	}
	return projected(b, deg, f, to), nil
}

// projected returns the envelope of f over b. f ends in the projected CRS to, and deg contains b in degrees. Except at
// singular points, projections map inner points to inner points. If a singular point may be near, the result is
// everywhere.
func projected(b, deg orb.Bound, f Func, to ID) orb.Bound {
	switch p := to.find().proj.(type) {
	case *transverseMercator:
		lon0 := p.lon0 * degree
		if deg.Min[0] < lon0-meridianGap || deg.Max[0] > lon0+meridianGap {
			return everywhere
		}
	case *conic: // cut opposite the central meridian; the other pole is far away in all directions
		lon0 := p.lon0 * degree
		if deg.Min[0] < lon0-179 || deg.Max[0] > lon0+179 || p.n > 0 && deg.Min[1] < -80 || p.n < 0 && deg.Max[1] > 80 {
			return everywhere
		}
	case *azimuthal: // the antipode of the origin becomes a circle
		lon, lat := wrap(p.lon0*degree+180), -p.lat0
		if deg.Pad(5).Contains(orb.Point{lon, lat}) || lat == -90 && deg.Min[1] < -85 || lat == 90 && deg.Max[1] > 85 {
			return everywhere
		}
	case *polarStereographic: // the other pole is far away in all directions
		if p.north > 0 && deg.Min[1] < -80 || p.north < 0 && deg.Max[1] > 80 {
			return everywhere
		}
	case *stereographic: // the antipode of the origin is far away in all directions, and its meridian is cut
		if deg.Min[0] < p.lon0-150 || deg.Max[0] > p.lon0+150 {
			return everywhere
		}
	}
	points := edgePoints
	if deg.Max[0]-deg.Min[0] <= smallEdge && deg.Max[1]-deg.Min[1] <= smallEdge {
		points = fewPoints
	}
	e := trace(b, f, points)
	if e.broken {
		return everywhere
	}
	return e.bound()
}

// geographic returns the envelope in degrees of a box in a projected CRS.
func geographic(b orb.Bound, p projection) orb.Bound {
	e := trace(b, p.inverse, edgePoints)
	if e.broken {
		return degrees
	}
	d := e.bound()
	for _, lat := range [...]float64{90, -90} {
		x, y := p.forward(0, lat)
		if !math.IsNaN(x+y) && b.Contains(orb.Point{x, y}) {
			d.Min, d.Max = orb.Point{-180, math.Min(d.Min[1], lat)}, orb.Point{180, math.Max(d.Max[1], lat)}
		}
	}
	if _, flat := p.(sphericalMercator); !flat && (e.jump > 90 || d.Min[0] < -180 || d.Max[0] > 180) {
		d.Min[0], d.Max[0] = -180, 180 // crosses the antimeridian, or the margin does
	}
	for k := range d.Min {
		d.Min[k], d.Max[k] = math.Max(d.Min[k], degrees.Min[k]), math.Min(d.Max[k], degrees.Max[k])
	}
	return d
}

// outline describes the image of a box's edges.
type outline struct {
	min, max orb.Point
	bend     orb.Point // largest second difference of consecutive points, by axis
	jump     float64   // largest step of x between consecutive points
	broken   bool      // some point cannot be transformed
}

// trace transforms the edges of b by f, with a number of points on each.
func trace(b orb.Bound, f Func, points int) outline {
	e := outline{min: orb.Point{math.Inf(1), math.Inf(1)}, max: orb.Point{math.Inf(-1), math.Inf(-1)}}
	ring := [...]orb.Point{b.Min, {b.Max[0], b.Min[1]}, b.Max, {b.Min[0], b.Max[1]}, b.Min}
	for i := range 4 {
		e.edge(ring[i], ring[i+1], f, points)
	}
	return e
}

func (e *outline) edge(from, to orb.Point, f Func, points int) {
	var last, before orb.Point
	for i := range points + 1 {
		t := float64(i) / float64(points)
		x, y := f(from[0]*(1-t)+to[0]*t, from[1]*(1-t)+to[1]*t)
		p := orb.Point{x, y}
		for k := range p {
			if math.IsNaN(p[k]) || math.IsInf(p[k], 0) {
				e.broken = true
				return
			}
			e.min[k], e.max[k] = math.Min(e.min[k], p[k]), math.Max(e.max[k], p[k])
			if i > 1 {
				e.bend[k] = math.Max(e.bend[k], math.Abs(p[k]-2*last[k]+before[k]))
			}
		}
		if i > 0 {
			e.jump = math.Max(e.jump, math.Abs(p[0]-last[0]))
		}
		last, before = p, last
	}
}

// bound returns the envelope with a margin. A smooth curve leaves the box of its points by at most an eighth of the
// second difference; the margin is a whole one, plus rounding.
func (e *outline) bound() orb.Bound {
	var b orb.Bound
	for k := range b.Min {
		margin := e.bend[k] + 1e-12*math.Max(math.Abs(e.min[k]), math.Abs(e.max[k]))
		b.Min[k], b.Max[k] = e.min[k]-margin, e.max[k]+margin
	}
	return b
}
