package crs

import "math"

// conic is the Lambert conformal conic projection of the ellipsoid with two standard parallels, both north of the equator (EPSG method 9802).
type conic struct {
	lon0, fe, fn float64 // radians, metres, metres
	n            float64 // of the cone: longitudes shrink by it
	scale        float64 // metres; the radius of the equator
	apex         float64 // northing of the north pole less fn, metres
	e            float64 // first eccentricity
}

// newConic takes degrees and metres: the longitude and latitude of the false origin, the two standard parallels, and easting and northing there.
func newConic(el ellipsoid, lon0, lat0, lat1, lat2, fe, fn float64) *conic {
	c := &conic{lon0: lon0 * radian, fe: fe, fn: fn, e: math.Sqrt(el.eccentricity2())}
	m := func(lat float64) float64 { // radius of the parallel, in semi-major axes
		sin, cos := math.Sincos(lat * radian)
		return cos / math.Sqrt(1-c.e*c.e*sin*sin)
	}
	c.n = math.Log(m(lat1)/m(lat2)) / (c.isometric(lat2) - c.isometric(lat1))
	c.scale = el.a * m(lat1) / c.n * math.Exp(c.n*c.isometric(lat1))
	c.apex = c.radius(lat0)
	return c
}

// isometric returns the isometric latitude, in radians.
func (c *conic) isometric(lat float64) float64 {
	return math.Asinh(conformal(c.e, math.Tan(lat*radian)))
}

// radius is the distance of a parallel from the pole, in metres on the map.
func (c *conic) radius(lat float64) float64 {
	if lat == 90 {
		return 0
	}
	return c.scale * math.Exp(-c.n*c.isometric(lat))
}

// forward gives numbers for every longitude; they are cut opposite the central meridian. The south pole is at about 1e20 m.
func (c *conic) forward(lon, lat float64) (x, y float64) {
	sin, cos := math.Sincos(c.n * math.Remainder(lon*radian-c.lon0, 2*math.Pi))
	r := c.radius(lat)
	return c.fe + r*sin, c.fn + c.apex - r*cos
}

func (c *conic) inverse(x, y float64) (lon, lat float64) {
	dx, dy := x-c.fe, c.apex-(y-c.fn)
	r := math.Hypot(dx, dy)
	if r < 1e-9 {
		return c.lon0 * degree, 90
	}
	lon = wrap((c.lon0 + math.Atan2(dx, dy)/c.n) * degree)
	return lon, math.Atan(geodetic(c.e, math.Sinh(math.Log(c.scale/r)/c.n))) * degree
}
