package crs

import "math"

// conic is the Lambert conformal conic projection of the ellipsoid (EPSG methods 9801 and 9802).
type conic struct {
	lon0, fe, fn float64 // radians, metres, metres
	n            float64 // cone constant: factor of longitudes; negative if the apex is the south pole
	scale        float64 // metres; the radius of the equator, with the sign of n
	apex         float64 // northing of the apex minus fn, metres
	e            float64 // first eccentricity
}

// newConic returns a projection with parameters in degrees and metres: origin, two standard parallels (which may be
// equal) and the scale there, and easting and northing of the origin.
func newConic(el ellipsoid, lon0, lat0, lat1, lat2, scale, fe, fn float64) *conic {
	c := &conic{lon0: lon0 * radian, fe: fe, fn: fn, e: math.Sqrt(el.eccentricity2())}
	m := func(lat float64) float64 { // radius of the parallel in semi-major axes
		sin, cos := math.Sincos(lat * radian)
		return cos / math.Sqrt(1-c.e*c.e*sin*sin)
	}
	if c.n = math.Sin(lat1 * radian); math.Abs(lat1-lat2) > 1e-10 {
		c.n = math.Log(m(lat1)/m(lat2)) / (c.isometric(lat2) - c.isometric(lat1))
	}
	c.scale = scale * el.a * m(lat1) / c.n * math.Exp(c.n*c.isometric(lat1))
	c.apex = c.radius(lat0)
	return c
}

// isometric returns the isometric latitude, in radians.
func (c *conic) isometric(lat float64) float64 {
	return math.Asinh(conformal(c.e, math.Tan(lat*radian)))
}

// radius returns the distance of a parallel from the apex on the map, in metres, with the sign of n.
func (c *conic) radius(lat float64) float64 {
	if lat == math.Copysign(90, c.n) {
		return 0
	}
	return c.scale * math.Exp(-c.n*c.isometric(lat))
}

// forward returns finite numbers for every longitude; the cut is opposite the central meridian. The other pole is
// mapped to about 1e20 m.
func (c *conic) forward(lon, lat float64) (x, y float64) {
	sin, cos := math.Sincos(c.n * math.Remainder(lon*radian-c.lon0, 2*math.Pi))
	r := c.radius(lat)
	return c.fe + r*sin, c.fn + c.apex - r*cos
}

func (c *conic) inverse(x, y float64) (lon, lat float64) {
	dx, dy := x-c.fe, c.apex-(y-c.fn)
	r := math.Copysign(math.Hypot(dx, dy), c.n)
	if math.Abs(r) < 1e-9 {
		return c.lon0 * degree, math.Copysign(90, c.n)
	}
	lon = wrap((c.lon0 + math.Atan2(math.Copysign(1, c.n)*dx, math.Copysign(1, c.n)*dy)/c.n) * degree)
	return lon, math.Atan(geodetic(c.e, math.Sinh(math.Log(c.scale/r)/c.n))) * degree
}
