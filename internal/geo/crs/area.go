package crs

import "github.com/paulmach/orb"

// Area returns the part of the world, in CRS84 degrees, over which coordinates of id are sound: transforms there and
// back agree, and neighbours stay neighbours. It is wider than the authority's area of use. Empty for an ID that is
// not known.
func (id ID) Area() orb.Bound {
	if s := id.find(); s != nil {
		return s.area
	}
	return orb.Bound{Min: orb.Point{1, 1}, Max: orb.Point{-1, -1}}
}
