package crs

import "github.com/paulmach/orb"

// Area returns the part of the world, in CRS84 degrees, over which coordinates of id are sound: transforms there and back agree,
// and neighbours stay neighbours. It is wider than the authority's area of use. Empty for an ID that is not served.
func (id ID) Area() orb.Bound {
	zone := func(lon0 float64) orb.Bound {
		return orb.Bound{Min: orb.Point{lon0 - 40, -84}, Max: orb.Point{lon0 + 40, 84}}
	}
	switch id {
	case CRS84, WGS84, ETRS89:
		return orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}
	case WebMercator:
		return orb.Bound{Min: orb.Point{-180, -85.06}, Max: orb.Point{180, 85.06}}
	case UTM32, WGS84UTM32:
		return zone(9)
	case UTM33, WGS84UTM33:
		return zone(15)
	case UTM35, WGS84UTM35:
		return zone(27)
	case LAEAEurope:
		return orb.Bound{Min: orb.Point{-80, 0}, Max: orb.Point{100, 90}}
	case LAEANorthPole:
		return orb.Bound{Min: orb.Point{-180, 0}, Max: orb.Point{180, 90}}
	}
	return orb.Bound{Min: orb.Point{1, 1}, Max: orb.Point{-1, -1}}
}
