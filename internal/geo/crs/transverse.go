package crs

import "math"

// transverseMercator is the Krüger series in the third flattening to order 6 (Karney 2011, Transverse Mercator with an
// accuracy of a few nanometers, equations 35 and 36). It is exact up to tens of degrees from the central meridian.
type transverseMercator struct {
	lon0        float64 // central meridian, radians
	fe, fn      float64 // easting and northing where the central meridian meets the equator, metres
	radius      float64 // scale times rectifying radius, metres
	e           float64 // first eccentricity
	alpha, beta [6]float64
}

// newTransverseMercator returns a projection with parameters in degrees and metres: central meridian, latitude of
// origin, scale on the meridian, and easting and northing of the origin.
func newTransverseMercator(el ellipsoid, lon0, lat0, scale, fe, fn float64) *transverseMercator {
	n := el.third()
	t := &transverseMercator{
		lon0: lon0 * radian, fe: fe, fn: fn,
		radius: scale * el.a / (1 + n[1]) * (1 + n[2]/4 + n[4]/64 + n[6]/256),
		e:      math.Sqrt(el.eccentricity2()),
		alpha: [6]float64{
			n[1]/2 - 2*n[2]/3 + 5*n[3]/16 + 41*n[4]/180 - 127*n[5]/288 + 7891*n[6]/37800,
			13*n[2]/48 - 3*n[3]/5 + 557*n[4]/1440 + 281*n[5]/630 - 1983433*n[6]/1935360,
			61*n[3]/240 - 103*n[4]/140 + 15061*n[5]/26880 + 167603*n[6]/181440,
			49561*n[4]/161280 - 179*n[5]/168 + 6601661*n[6]/7257600,
			34729*n[5]/80640 - 3418889*n[6]/1995840,
			212378941 * n[6] / 319334400,
		},
		beta: [6]float64{
			n[1]/2 - 2*n[2]/3 + 37*n[3]/96 - n[4]/360 - 81*n[5]/512 + 96199*n[6]/604800,
			n[2]/48 + n[3]/15 - 437*n[4]/1440 + 46*n[5]/105 - 1118711*n[6]/3870720,
			17*n[3]/480 - 37*n[4]/840 - 209*n[5]/4480 + 5569*n[6]/90720,
			4397*n[4]/161280 - 11*n[5]/504 - 830251*n[6]/7257600,
			4583*n[5]/161280 - 108847*n[6]/3991680,
			20648693 * n[6] / 638668800,
		},
	}
	if lat0 != 0 {
		_, y := t.forward(lon0, lat0)
		t.fn -= y - fn
	}
	return t
}

func (t *transverseMercator) forward(lon, lat float64) (x, y float64) {
	sinLon, cosLon := math.Sincos(lon*radian - t.lon0)
	tau := conformal(t.e, math.Tan(lat*radian))
	xi := math.Atan2(tau, cosLon)
	eta := math.Asinh(sinLon / math.Hypot(tau, cosLon))
	dxi, deta := clenshaw(&t.alpha, xi, eta)
	return t.fe + t.radius*(eta+deta), t.fn + t.radius*(xi+dxi)
}

func (t *transverseMercator) inverse(x, y float64) (lon, lat float64) {
	xi, eta := (y-t.fn)/t.radius, (x-t.fe)/t.radius
	dxi, deta := clenshaw(&t.beta, xi, eta)
	sinXi, cosXi := math.Sincos(xi - dxi)
	sinhEta := math.Sinh(eta - deta)
	lon = wrap((t.lon0 + math.Atan2(sinhEta, cosXi)) * degree)
	return lon, math.Atan(geodetic(t.e, sinXi/math.Sqrt(sinhEta*sinhEta+cosXi*cosXi))) * degree
}

// conformal returns the tangent of the conformal latitude for that of the geodetic latitude. e is the first
// eccentricity of the ellipsoid, below 0.083 for those of the earth, so that short series are exact to the last bit.
func conformal(e, tau float64) float64 {
	sec := math.Sqrt(1 + tau*tau)
	z := e * tau / sec
	z2 := z * z
	x := e * z * (1 + z2*(1./3+z2*(1./5+z2*(1./7+z2*(1./9+z2*(1./11+z2*(1./13)))))))
	x2 := x * x
	sigma := x * (1 + x2*(1./6+x2*(1./120)))
	return tau*math.Sqrt(1+sigma*sigma) - sigma*sec
}

// geodetic is the inverse of conformal, by Newton's method. Two steps are enough except near the poles.
func geodetic(e, want float64) float64 {
	f := 1 - e*e
	tau := want / f
	for range 5 {
		got := conformal(e, tau)
		step := (want - got) / math.Sqrt(1+got*got) * (1 + f*tau*tau) / (f * math.Sqrt(1+tau*tau))
		tau += step
		if math.Abs(step) < 1e-8*math.Max(1, math.Abs(tau)) {
			break
		}
	}
	return tau
}

// clenshaw sums c[j]·sin(2(j+1)(xi+i·eta)) and returns the real and the imaginary part.
func clenshaw(c *[6]float64, xi, eta float64) (re, im float64) {
	sin, cos := math.Sincos(2 * xi)
	sinh := math.Sinh(2 * eta)
	cosh := math.Sqrt(1 + sinh*sinh)
	ar, ai := 2*cos*cosh, -2*sin*sinh
	var r0, i0, r1, i1 float64
	for j := len(c) - 1; j >= 0; j-- {
		r0, i0, r1, i1 = ar*r0-ai*i0-r1+c[j], ar*i0+ai*r0-i1, r0, i0
	}
	sr, si := sin*cosh, cos*sinh
	return sr*r0 - si*i0, sr*i0 + si*r0
}
