package crs

import (
	"math"

	"github.com/paulmach/orb"
)

// Distance returns the length in metres of the shortest line on GRS 80 between two positions in CRS84 degrees, within a
// millimetre (Vincenty's inverse formula). For nearly antipodal positions, where that does not converge, it measures on
// a sphere, within 0.6 %. It returns NaN for invalid positions.
func Distance(from, to orb.Point) float64 {
	const rad = math.Pi / 180
	a, f := grs80.a, 1/grs80.invf
	b := a * (1 - f)
	l := math.Remainder(to[0]-from[0], 360) * rad
	sin1, cos1 := math.Sincos(math.Atan((1 - f) * math.Tan(from[1]*rad)))
	sin2, cos2 := math.Sincos(math.Atan((1 - f) * math.Tan(to[1]*rad)))
	lambda := l
	for range 100 {
		sinL, cosL := math.Sincos(lambda)
		sinS := math.Hypot(cos2*sinL, cos1*sin2-sin1*cos2*cosL)
		if sinS == 0 {
			return 0
		}
		cosS := sin1*sin2 + cos1*cos2*cosL
		sigma := math.Atan2(sinS, cosS)
		sinA := cos1 * cos2 * sinL / sinS
		cos2A := 1 - sinA*sinA
		cosM := 0.0 // the line runs along the equator
		if cos2A > 0 {
			cosM = cosS - 2*sin1*sin2/cos2A
		}
		c := f / 16 * cos2A * (4 + f*(4-3*cos2A))
		next := l + (1-c)*f*sinA*(sigma+c*sinS*(cosM+c*cosS*(2*cosM*cosM-1)))
		if math.Abs(next-lambda) > 1e-12 {
			lambda = next
			continue
		}
		u2 := cos2A * (a*a - b*b) / (b * b)
		p := 1 + u2/16384*(4096+u2*(-768+u2*(320-175*u2)))
		q := u2 / 1024 * (256 + u2*(-128+u2*(74-47*u2)))
		return b * p * (sigma - q*sinS*(cosM+q/4*(cosS*(2*cosM*cosM-1)-q/6*cosM*(4*sinS*sinS-3)*(4*cosM*cosM-3))))
	}
	mean := (2*a + b) / 3
	h := math.Sin((to[1]-from[1])*rad/2)*math.Sin((to[1]-from[1])*rad/2) +
		math.Cos(from[1]*rad)*math.Cos(to[1]*rad)*math.Sin(l/2)*math.Sin(l/2)
	return 2 * mean * math.Asin(math.Sqrt(min(1, h)))
}
