package crs

import (
	"fmt"
	"math"
)

// Func transforms one point, x before y. For input that is not on the earth it returns NaN or Inf. It is pure,
// allocates nothing and is safe for concurrent use.
type Func func(x, y float64) (float64, float64)

// Same reports whether coordinates in the two systems are equal, except for the axis order outside of this program.
func Same(a, b ID) bool { return a == b || a.Geographic() && b.Geographic() }

// Between returns the transformation of coordinates; the identity if Same(from, to).
func Between(from, to ID) (Func, error) {
	f, t := from.find(), to.find()
	if f == nil || t == nil {
		return nil, fmt.Errorf("crs: no transformation from %v to %v", from, to)
	}
	switch {
	case Same(from, to):
		return func(x, y float64) (float64, float64) { return x, y }, nil
	case f.proj == nil:
		return forward(t.proj), nil
	case t.proj == nil:
		return f.proj.inverse, nil
	}
	inv, fwd := f.proj.inverse, forward(t.proj)
	return func(x, y float64) (float64, float64) { return fwd(inv(x, y)) }, nil
}

// projection is a map projection of the ellipsoid: from degrees (lon, lat) to metres (x, y) and back.
type projection interface {
	forward(lon, lat float64) (x, y float64)
	inverse(x, y float64) (lon, lat float64)
}

// latitudeSlack is how far rounding may move a latitude beyond a pole, in degrees.
const latitudeSlack = 1e-7

// forward wraps a projection to return NaN for latitudes that do not exist.
func forward(p projection) Func {
	return func(lon, lat float64) (float64, float64) {
		switch {
		case lat >= -90 && lat <= 90:
		case math.Abs(lat) <= 90+latitudeSlack:
			lat = math.Copysign(90, lat)
		default:
			return math.NaN(), math.NaN()
		}
		return p.forward(lon, lat)
	}
}

const (
	radian = math.Pi / 180 // degrees to radians
	degree = 180 / math.Pi // radians to degrees
)

// wrap moves a longitude into [-180, 180] degrees.
func wrap(lon float64) float64 {
	if math.Abs(lon) <= 180 {
		return lon
	}
	return math.Remainder(lon, 360)
}

// ellipsoid is given by its semi-major axis in metres and its inverse flattening.
type ellipsoid struct{ a, invf float64 }

// The ellipsoids for distances and for Web Mercator.
var (
	grs80 = ellipsoid{6378137, 298.257222101}
	wgs84 = ellipsoid{6378137, 298.257223563}
)

// third returns the third flattening n and its powers up to the sixth.
func (e ellipsoid) third() (n [7]float64) {
	f := 1 / e.invf
	n[0], n[1] = 1, f/(2-f)
	for i := 2; i < len(n); i++ {
		n[i] = n[i-1] * n[1]
	}
	return n
}

// eccentricity returns the first eccentricity squared.
func (e ellipsoid) eccentricity2() float64 {
	f := 1 / e.invf
	return f * (2 - f)
}

// sphericalMercator is EPSG method 1024 (Popular Visualisation Pseudo-Mercator). It maps the poles to about 2.4e8 m
// instead of infinity, as PROJ does.
type sphericalMercator struct{}

func (sphericalMercator) forward(lon, lat float64) (x, y float64) {
	return wgs84.a * (lon * radian), wgs84.a * math.Asinh(math.Tan(lat*radian))
}

func (sphericalMercator) inverse(x, y float64) (lon, lat float64) {
	return x / wgs84.a * degree, math.Atan(math.Sinh(y/wgs84.a)) * degree
}
