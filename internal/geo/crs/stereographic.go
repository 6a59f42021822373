package crs

import "math"

// polarStereographic is the polar stereographic projection of the ellipsoid (EPSG methods 9810 and 9829).
type polarStereographic struct {
	lon0, fe, fn float64 // radians, metres, metres
	north        float64 // 1 at the north pole, -1 at the south pole
	radius       float64 // metres: the distance from the pole is radius times exp(-isometric latitude)
	e            float64 // first eccentricity
}

func newPolar(el ellipsoid, c conversion) *polarStereographic {
	p := &polarStereographic{
		lon0:  c.lon0 * radian,
		fe:    c.fe,
		fn:    c.fn,
		north: math.Copysign(1, c.lat0),
		e:     math.Sqrt(el.eccentricity2()),
	}
	if c.scale != 0 {
		p.radius = 2 * el.a * c.scale / math.Sqrt(math.Pow(1+p.e, 1+p.e)*math.Pow(1-p.e, 1-p.e))
		return p
	}
	sin, cos := math.Sincos(math.Abs(c.parallels[0]) * radian)
	p.radius = el.a * cos / math.Sqrt(1-p.e*p.e*sin*sin) * math.Exp(math.Asinh(conformal(p.e, sin/cos)))
	return p
}

// forward maps the other pole to about 1e23 m.
func (p *polarStereographic) forward(lon, lat float64) (x, y float64) {
	rho := 0.0
	if lat *= p.north; lat < 90 {
		rho = p.radius * math.Exp(-math.Asinh(conformal(p.e, math.Tan(lat*radian))))
	}
	sin, cos := math.Sincos(lon*radian - p.lon0)
	return p.fe + rho*sin, p.fn - p.north*rho*cos
}

func (p *polarStereographic) inverse(x, y float64) (lon, lat float64) {
	x, y = x-p.fe, (p.fn-y)*p.north
	rho := math.Hypot(x, y)
	if rho == 0 {
		return p.lon0 * degree, 90 * p.north
	}
	lat = math.Atan(geodetic(p.e, math.Sinh(-math.Log(rho/p.radius)))) * degree
	return wrap((p.lon0 + math.Atan2(x, y)) * degree), lat * p.north
}

// stereographic is the oblique or equatorial stereographic projection of the ellipsoid by way of a sphere: the
// conformal sphere of Gauss (EPSG method 9809), or that of the conformal latitude (Snyder 1987, Map Projections: A
// Working Manual, 21-24 to 21-40).
type stereographic struct {
	lon0, lat0, fe, fn float64 // degrees, degrees, metres, metres
	diameter           float64 // of the sphere times the scale, metres
	// isometric latitude on the sphere is n times that on the ellipsoid plus k; longitudes are multiplied by n
	n, k       float64
	sin1, cos1 float64 // of the origin's latitude on the sphere
	e          float64 // first eccentricity
}

func newStereographic(el ellipsoid, c conversion) *stereographic {
	e2 := el.eccentricity2()
	s := &stereographic{lon0: c.lon0, lat0: c.lat0, fe: c.fe, fn: c.fn, n: 1, e: math.Sqrt(e2)}
	sin, cos := math.Sincos(c.lat0 * radian)
	isometric := s.isometric(c.lat0)
	w := 1 - e2*sin*sin
	if c.method == methodOblique {
		s.n = math.Sqrt(1 + e2*cos*cos*cos*cos/(1-e2))
		s.sin1 = sin / s.n
		s.cos1 = math.Sqrt(1 - s.sin1*s.sin1)
		s.k = math.Atanh(s.sin1) - s.n*isometric
		s.diameter = 2 * c.scale * el.a * math.Sqrt(1-e2) / w
		return s
	}
	s.sin1, s.cos1 = math.Tanh(isometric), 1/math.Cosh(isometric)
	s.diameter = 2 * c.scale * el.a * cos / (math.Sqrt(w) * s.cos1)
	return s
}

func (s *stereographic) isometric(lat float64) float64 {
	return math.Asinh(conformal(s.e, math.Tan(lat*radian)))
}

// forward returns infinite values at the antipode of the origin.
func (s *stereographic) forward(lon, lat float64) (x, y float64) {
	psi := s.n*s.isometric(lat) + s.k
	sin, cos := math.Tanh(psi), 1/math.Cosh(psi)
	sinL, cosL := math.Sincos(s.n * math.Remainder(lon-s.lon0, 360) * radian)
	b := s.diameter / (1 + s.sin1*sin + s.cos1*cos*cosL)
	return s.fe + b*cos*sinL, s.fn + b*(s.cos1*sin-s.sin1*cos*cosL)
}

func (s *stereographic) inverse(x, y float64) (lon, lat float64) {
	x, y = x-s.fe, y-s.fn
	rho := math.Hypot(x, y)
	if rho == 0 {
		return s.lon0, s.lat0
	}
	sinC, cosC := math.Sincos(2 * math.Atan2(rho, s.diameter))
	x, y = x/rho*sinC, y/rho*sinC
	// a point on the sphere: east, towards the origin's meridian, north
	east, front, north := x, s.cos1*cosC-s.sin1*y, s.sin1*cosC+s.cos1*y
	psi := math.Asinh(north / math.Hypot(east, front))
	lat = math.Atan(geodetic(s.e, math.Sinh((psi-s.k)/s.n))) * degree
	return wrap(s.lon0 + math.Atan2(east, front)/s.n*degree), lat
}
