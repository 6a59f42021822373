package crs

import (
	"math"

	"github.com/paulmach/orb"
)

// near is a tolerance for rounding in degrees. So close to a pole, any longitude is valid.
const near = 1e-6

// Turn returns what must be added to the longitude of to, in degrees, so that longitudes are continuous along an edge
// that is straight in a projected system: ±360 if it crosses the antimeridian, 0 if it does not, or if an end is a
// pole. degrees transforms positions to CRS84.
func Turn(degrees Func, from, to orb.Point) float64 {
	a, north := degrees(from[0], from[1])
	b, lat := degrees(to[0], to[1])
	if !(math.Abs(b-a) > 180) || math.Max(math.Abs(north), math.Abs(lat)) > 90-near {
		return 0
	}
	mid, _ := degrees((from[0]+to[0])/2, (from[1]+to[1])/2)
	if math.Max(math.Abs(mid-a), math.Abs(b-mid)) <= 180+near { // the edge does go the long way
		return 0
	}
	return -math.Copysign(360, b-a)
}
