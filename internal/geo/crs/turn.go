package crs

import (
	"math"

	"github.com/paulmach/orb"
)

// near is by how much, in degrees, a position is off by rounding; so near to a pole it has any longitude.
const near = 1e-6

// Turn returns what is to be added to the longitude of to, in degrees, so that longitudes go on along an edge that is
// straight in a projected system: ±360 where it crosses the antimeridian, 0 where it does not, or an end is a pole.
// degrees takes positions of the system to CRS84.
func Turn(degrees Func, from, to orb.Point) float64 {
	a, north := degrees(from[0], from[1])
	b, lat := degrees(to[0], to[1])
	if !(math.Abs(b-a) > 180) || math.Max(math.Abs(north), math.Abs(lat)) > 90-near {
		return 0
	}
	mid, _ := degrees((from[0]+to[0])/2, (from[1]+to[1])/2)
	if math.Max(math.Abs(mid-a), math.Abs(b-mid)) <= 180+near { // the long way, which is meant
		return 0
	}
	return -math.Copysign(360, b-a)
}
