package crs

import (
	"math"

	"github.com/paulmach/orb"
)

// method is a method of map projection.
type method string

const (
	methodTM       method = "tm"     // Transverse Mercator (EPSG 9807)
	methodLCC1     method = "lcc1"   // Lambert Conic Conformal with one standard parallel (EPSG 9801)
	methodLCC      method = "lcc2"   // Lambert Conic Conformal with two standard parallels (EPSG 9802)
	methodLAEA     method = "laea"   // Lambert Azimuthal Equal Area (EPSG 9820)
	methodPolar    method = "polar"  // Polar Stereographic, variants A and B (EPSG 9810, 9829)
	methodOblique  method = "sterea" // Oblique Stereographic by the conformal sphere of Gauss (EPSG 9809)
	methodStereo   method = "stere"  // Stereographic as in Snyder, by the conformal latitude alone
	methodMercator method = "mercator"
)

// conversion is a map projection with its parameters, in degrees and metres. Values are comparable.
type conversion struct {
	method     method
	lat0, lon0 float64    // natural or false origin; for Polar Stereographic lat0 is a pole
	scale      float64    // at the origin; 0: determined by the parallels, or the method has none
	parallels  [2]float64 // standard parallels; 0: none
	fe, fn     float64    // easting and northing of the origin
}

// projection returns the projection of an ellipsoid.
func (c conversion) projection(el ellipsoid) projection {
	switch c.method {
	case methodTM:
		return newTransverseMercator(el, c.lon0, c.lat0, c.scale, c.fe, c.fn)
	case methodLCC1:
		return newConic(el, c.lon0, c.lat0, c.lat0, c.lat0, c.scale, c.fe, c.fn)
	case methodLCC:
		return newConic(el, c.lon0, c.lat0, c.parallels[0], c.parallels[1], 1, c.fe, c.fn)
	case methodLAEA:
		return newAzimuthal(el, c.lon0, c.lat0, c.fe, c.fn)
	case methodPolar:
		return newPolar(el, c)
	case methodOblique, methodStereo:
		return newStereographic(el, c)
	}
	panic("crs: no projection of method " + string(c.method))
}

// legal reports whether the parameters define a projection.
func (c conversion) legal() bool {
	for _, v := range [...]float64{c.lat0, c.lon0, c.scale, c.parallels[0], c.parallels[1], c.fe, c.fn} {
		if !(math.Abs(v) < 1e9) {
			return false
		}
	}
	if math.Abs(c.lon0) > 180 || math.Abs(c.lat0) > 90 {
		return false
	}
	inside := math.Abs(c.lat0) < 89
	switch c.method {
	case methodTM:
		return c.scale > 0
	case methodLCC1:
		return inside && c.scale > 0 && math.Abs(c.lat0) > 1
	case methodLCC:
		a, b := c.parallels[0], c.parallels[1]
		return math.Abs(a) < 89 && math.Abs(b) < 89 && math.Abs(a+b) > 2 && (inside || (a+b)*c.lat0 > 0)
	case methodLAEA:
		return true
	case methodPolar:
		return math.Abs(c.lat0) == 90 && (c.scale > 0) != (c.parallels[0]*c.lat0 > 0) && math.Abs(c.parallels[0]) < 90
	case methodOblique, methodStereo:
		return inside && c.scale > 0
	}
	return false
}

// extents returns Domain and Area. The domain of transverse Mercator is that of the registered UTM tile matrix sets;
// that of azimuthal systems is the square inscribed in the disc of the whole earth.
func (c conversion) extents(p projection) (domain, area orb.Bound) {
	around := func(lon, south, north float64) orb.Bound {
		return orb.Bound{Min: orb.Point{math.Max(c.lon0-lon, -180), south},
			Max: orb.Point{math.Min(c.lon0+lon, 180), north}}
	}
	switch c.method {
	case methodTM:
		wide, high, fn := 10001966*c.scale/0.9996, 20003932*c.scale/0.9996, p.(*transverseMercator).fn
		return orb.Bound{Min: orb.Point{c.fe - wide, fn - high}, Max: orb.Point{c.fe + wide, fn + high}},
			around(40, -84, 84)
	case methodLCC, methodLCC1:
		if p.(*conic).n < 0 {
			return square(c.fe, c.fn, 1e7), around(90, -88, 30)
		}
		return square(c.fe, c.fn, 1e7), around(90, -30, 88)
	}
	half := 9e6
	switch {
	case c.method == methodLAEA && c.lat0 == 52: // Europe
		return square(c.fe, c.fn, half), orb.Bound{Min: orb.Point{-80, 0}, Max: orb.Point{100, 90}}
	case c.lat0 == 90:
		return square(c.fe, c.fn, half), orb.Bound{Min: orb.Point{-180, 0}, Max: orb.Point{180, 90}}
	case c.lat0 == -90:
		return square(c.fe, c.fn, half), orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 0}}
	}
	return square(c.fe, c.fn, half), around(60, math.Max(c.lat0-50, -89), math.Min(c.lat0+50, 89))
}

// param is a parameter of a projection, with its name in OGC 01-009, in degrees or metres.
type param struct {
	name  string
	value float64
}

// text returns the names of the method and of the parameters in OGC 01-009.
func (c conversion) text() (name string, params []param) {
	origin := []param{{"latitude_of_origin", c.lat0}, {"central_meridian", c.lon0}}
	scale, offset := param{"scale_factor", c.scale}, []param{{"false_easting", c.fe}, {"false_northing", c.fn}}
	switch c.method {
	case methodTM:
		return "Transverse_Mercator", append(append(origin, scale), offset...)
	case methodLCC1:
		return "Lambert_Conformal_Conic_1SP", append(append(origin, scale), offset...)
	case methodLCC:
		return "Lambert_Conformal_Conic_2SP", append(
			append(origin, param{"standard_parallel_1", c.parallels[0]}, param{"standard_parallel_2", c.parallels[1]}),
			offset...)
	case methodLAEA:
		return "Lambert_Azimuthal_Equal_Area", append(
			[]param{{"latitude_of_center", c.lat0}, {"longitude_of_center", c.lon0}},
			offset...)
	case methodPolar: // the latitude of origin is that of true scale
		if c.scale == 0 {
			origin[0].value, scale.value = c.parallels[0], 1
		}
		return "Polar_Stereographic", append(append(origin, scale), offset...)
	case methodOblique:
		return "Oblique_Stereographic", append(append(origin, scale), offset...)
	case methodStereo:
		return "Stereographic", append(append(origin, scale), offset...)
	}
	return "Mercator_1SP", append([]param{origin[1], scale}, offset...)
}
