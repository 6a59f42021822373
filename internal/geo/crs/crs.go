// Package crs defines the coordinate reference systems that Grense supports, with their axis order, and transforms
// between them.
//
// Inside this program coordinates are always x, y: east or longitude first, in the unit of the CRS (degrees or metres).
// Only parsers and encoders swap axes, for a CRS whose authority requires it.
//
// ETRS89 and WGS 84 are treated as equal (null transformation, as in PROJ). Grid-based and time-dependent datum shifts
// are refused. Transformations agree with PROJ within 1e-6 m over the area of use of every CRS.
package crs

import (
	"math"
	"strconv"

	"github.com/paulmach/orb"
)

// ID is an EPSG code, or CRS84, the only system of another authority, or the ID that FromText returns for a system
// without a code (see Own). The zero ID means "none".
type ID int

const (
	CRS84         ID = 84    // http://www.opengis.net/def/crs/OGC/1.3/CRS84: degrees, longitude before latitude
	WGS84         ID = 4326  // degrees, latitude before longitude
	ETRS89        ID = 4258  // degrees, latitude before longitude
	WebMercator   ID = 3857  // metres
	UTM32         ID = 25832 // ETRS89 / UTM zone 32N, metres
	UTM33         ID = 25833 // ETRS89 / UTM zone 33N, metres
	UTM35         ID = 25835 // ETRS89 / UTM zone 35N, metres
	WGS84UTM32    ID = 32632 // metres
	WGS84UTM33    ID = 32633 // metres
	WGS84UTM35    ID = 32635 // metres
	LAEAEurope    ID = 3035  // metres, northing before easting
	LAEANorthPole ID = 3575  // metres
)

// Valid reports whether id is known.
func (id ID) Valid() bool { return id.find() != nil }

// Geographic reports whether coordinates are degrees.
func (id ID) Geographic() bool {
	s := id.find()
	return s != nil && s.proj == nil
}

// NorthFirst reports whether the authority puts latitude or northing before longitude or easting.
func (id ID) NorthFirst() bool {
	s := id.find()
	return s != nil && s.northFirst
}

// Corners returns a box as a document has it: its lower and its upper corner in the axis order of the authority,
// rounded outwards to Decimals.
func (id ID) Corners(b orb.Bound) [4]float64 {
	k := math.Pow10(id.Decimals())
	c := [4]float64{math.Floor(b.Min[0]*k) / k, math.Floor(b.Min[1]*k) / k, math.Ceil(b.Max[0]*k) / k,
		math.Ceil(b.Max[1]*k) / k}
	if id.NorthFirst() {
		c[0], c[1], c[2], c[3] = c[1], c[0], c[3], c[2]
	}
	return c
}

// Decimals returns the usual number of decimals of coordinates: 7 for degrees, 2 for metres.
func (id ID) Decimals() int {
	if id.Geographic() {
		return 7
	}
	return 2
}

// Name returns the authority's name, or the name in the definition of a system without a code; String for an unknown
// ID.
func (id ID) Name() string {
	if s := id.find(); s != nil {
		return s.name
	}
	return id.String()
}

// Domain returns the valid coordinates, x before y: inside it transformations return finite numbers. It is far larger
// than the area of use. It is empty for an unknown ID.
func (id ID) Domain() orb.Bound {
	if s := id.find(); s != nil {
		return s.domain
	}
	return orb.Bound{Min: orb.Point{1, 1}, Max: orb.Point{-1, -1}}
}

// String returns AUTHORITY:CODE, or the name of a system without a code in quotes; "none" for the zero ID.
func (id ID) String() string {
	switch id {
	case 0:
		return "none"
	case CRS84:
		return "OGC:CRS84"
	}
	if s := id.find(); id.Own() && s != nil {
		return strconv.Quote(s.name)
	}
	return "EPSG:" + strconv.Itoa(int(id))
}

// URI returns the identifier by OGC 18-058r1, 6.2.1; "" for the zero ID and for a system without a code.
func (id ID) URI() string {
	switch id {
	case 0:
		return ""
	case CRS84:
		return uriPrefix + "OGC/1.3/CRS84"
	}
	if id.Own() {
		return ""
	}
	return uriPrefix + "EPSG/0/" + strconv.Itoa(int(id))
}
