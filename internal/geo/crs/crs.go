// Package crs names the coordinate reference systems that Grense serves, knows their axis order and transforms among
// them.
//
// Inside this program coordinates are always x, y: east or longitude first, in the unit of the CRS (degrees or metres).
// Only the edge (parsers and encoders) swaps axes, for a CRS whose authority says so.
//
// ETRS89 and WGS 84 are taken as equal (null transformation, as PROJ does): datum shifts by grid and time-dependent
// transformations are refused, not guessed. Transforms agree with PROJ within 1e-6 m over the area of use of every CRS.
package crs

import (
	"strconv"

	"github.com/paulmach/orb"
)

// ID is an EPSG code, or CRS84, the one system of another authority, or the ID of a system without a code (see Own),
// which FromText gives. The zero ID means "none".
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

// Valid reports whether the system of id is known.
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

// Decimals is the number of decimals with which coordinates are written: 7 for degrees, 2 for metres.
func (id ID) Decimals() int {
	if id.Geographic() {
		return 7
	}
	return 2
}

// Name is the authority's name for people, or that in the text of a system without a code; that of an ID that is not
// served is its String.
func (id ID) Name() string {
	if s := id.find(); s != nil {
		return s.name
	}
	return id.String()
}

// Domain returns the coordinates that are legal, x before y: for every point inside, transforms give numbers. It is
// far wider than the area of use. The domain of an ID that is not served is empty.
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

// URI returns the identifier of OGC 18-058r1, 6.2.1; "" for the zero ID and for a system without a code.
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
