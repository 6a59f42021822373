package crs

import "math"

// azimuthal is the Lambert azimuthal equal-area projection of the ellipsoid (EPSG method 9820), oblique or on a pole,
// through the authalic latitude: series in the third flattening to order 6 (Karney 2024, On auxiliary latitudes). The
// series keep full accuracy at the poles, where the closed formula loses half of the digits.
type azimuthal struct {
	lon0, fe, fn float64    // radians, metres, metres
	lat0         float64    // degrees
	radius       float64    // of the authalic sphere, metres
	sin1, cos1   float64    // of the authalic latitude of the origin
	d            float64    // makes the scale 1 at the origin
	to, from     [6]float64 // series: authalic minus geodetic latitude, and vice versa
}

func newAzimuthal(el ellipsoid, lon0, lat0, fe, fn float64) *azimuthal {
	n := el.third()
	p := &azimuthal{
		lon0: lon0 * radian, lat0: lat0, fe: fe, fn: fn,
		to: [6]float64{
			-4*n[1]/3 - 4*n[2]/45 + 88*n[3]/315 + 538*n[4]/4725 + 20824*n[5]/467775 - 44732*n[6]/2837835,
			34*n[2]/45 + 8*n[3]/105 - 2482*n[4]/14175 - 37192*n[5]/467775 - 12467764*n[6]/212837625,
			-1532*n[3]/2835 - 898*n[4]/14175 + 54968*n[5]/467775 + 100320856*n[6]/1915538625,
			6007*n[4]/14175 + 24496*n[5]/467775 - 5884124*n[6]/70945875,
			-23356*n[5]/66825 - 839792*n[6]/19348875,
			570284222 * n[6] / 1915538625,
		},
		from: [6]float64{
			4*n[1]/3 + 4*n[2]/45 - 16*n[3]/35 - 2582*n[4]/14175 + 60136*n[5]/467775 + 28112932*n[6]/212837625,
			46*n[2]/45 + 152*n[3]/945 - 11966*n[4]/14175 - 21016*n[5]/51975 + 251310128*n[6]/638512875,
			3044*n[3]/2835 + 3802*n[4]/14175 - 94388*n[5]/66825 - 8797648*n[6]/10945935,
			6059*n[4]/4725 + 41072*n[5]/93555 - 1472637812*n[6]/638512875,
			768272*n[5]/467775 + 455935736*n[6]/638512875,
			4210684958 * n[6] / 1915538625,
		},
	}
	e2 := el.eccentricity2()
	e := math.Sqrt(e2)
	p.radius = el.a * math.Sqrt((1+(1-e2)*math.Atanh(e)/e)/2)
	if math.Abs(lat0) == 90 {
		p.sin1, p.cos1, p.d = math.Copysign(1, lat0), 0, 1
		return p
	}
	sin, cos := math.Sincos(lat0 * radian)
	p.sin1, p.cos1 = math.Sincos(shift(&p.to, lat0*radian))
	p.d = el.a * cos / math.Sqrt(1-e2*sin*sin) / (p.radius * p.cos1)
	return p
}

func (p *azimuthal) forward(lon, lat float64) (x, y float64) {
	sinLon, cosLon := math.Sincos(lon*radian - p.lon0)
	sin, cos := math.Sincos(shift(&p.to, lat*radian))
	b := p.radius * math.Sqrt(2/(1+p.sin1*sin+p.cos1*cos*cosLon))
	return p.fe + b*p.d*cos*sinLon, p.fn + b/p.d*(p.cos1*sin-p.sin1*cos*cosLon)
}

// inverse returns NaN outside the disc that is the image of the earth.
func (p *azimuthal) inverse(x, y float64) (lon, lat float64) {
	x, y = (x-p.fe)/p.d, (y-p.fn)*p.d
	rho := math.Hypot(x, y)
	if rho == 0 {
		return p.lon0 * degree, p.lat0
	}
	sinC, cosC := math.Sincos(2 * math.Asin(rho/(2*p.radius)))
	x, y = x/rho*sinC, y/rho*sinC
	// a point on the sphere: east, towards the origin's meridian, north
	east, front, north := x, p.cos1*cosC-p.sin1*y, p.sin1*cosC+p.cos1*y
	lat = shift(&p.from, math.Atan2(north, math.Hypot(east, front)))
	return wrap((p.lon0 + math.Atan2(east, front)) * degree), lat * degree
}

// shift returns lat + Σ c[j]·sin(2(j+1)·lat), in radians.
func shift(c *[6]float64, lat float64) float64 {
	sin, cos := math.Sincos(2 * lat)
	var b0, b1 float64
	for j := len(c) - 1; j >= 0; j-- {
		b0, b1 = 2*cos*b0-b1+c[j], b0
	}
	return lat + sin*b0
}
