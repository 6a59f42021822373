package crs

import "github.com/paulmach/orb"

// Area returns the part of the world, in CRS84 degrees, in which coordinates of id are reliable: transforming there and
// back agrees, and neighbours remain neighbours. It is larger than the authority's area of use. It is empty for an
// unknown ID.
func (id ID) Area() orb.Bound {
	if s := id.find(); s != nil {
		return s.area
	}
	return orb.Bound{Min: orb.Point{1, 1}, Max: orb.Point{-1, -1}}
}
