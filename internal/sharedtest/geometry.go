package sharedtest

import (
	"math"
	"math/rand/v2"

	"github.com/paulmach/orb"
)

// Geometry makes a valid geometry on a coarse grid, so that vertices and edges often meet those of boxes.
func Geometry(r *rand.Rand) orb.Geometry {
	p := func() orb.Point { return orb.Point{float64(r.IntN(13)) / 2, float64(r.IntN(13)) / 2} }
	star := func(c orb.Point, size float64) orb.Ring {
		n := 3 + r.IntN(6)
		ring := make(orb.Ring, 0, n+1)
		for i := range n {
			d := size * (0.3 + 0.7*r.Float64())
			s, k := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			ring = append(ring, orb.Point{math.Round((c[0]+d*k)*8) / 8, math.Round((c[1]+d*s)*8) / 8})
		}
		return append(ring, ring[0])
	}
	switch r.IntN(6) {
	case 0:
		return p()
	case 1:
		return orb.LineString{p(), p(), p()}
	case 2:
		return orb.Polygon{star(p(), 4)}
	case 3:
		c := p()
		return orb.Polygon{star(c, 6), star(c, 0.25)}
	case 4:
		return orb.MultiPoint{p(), p()}
	}
	return orb.MultiPolygon{{star(orb.Point{1, 1}, 1)}, {star(orb.Point{5, 5}, 2)}}
}
