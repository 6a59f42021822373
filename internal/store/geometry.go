package store

import (
	"math"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/crs"
	"grense/internal/wkb"
)

// ErrGeometry reports bytes that are no geometry: package wkb says which. Adapters hand out none; they serve the feature with a null geometry.
var ErrGeometry = wkb.ErrInvalid

// Orb decodes the geometry as wkb.Decode does. A null geometry gives nil.
func (g Geometry) Orb() (orb.Geometry, error) {
	if g.IsNull() {
		return nil, nil
	}
	return wkb.Decode(g.WKB)
}

// Bound returns the smallest box around the geometry, x before y; false when it has no point. It fails exactly when Orb does, and allocates
// nothing.
func (g Geometry) Bound() (b orb.Bound, ok bool, err error) {
	if g.IsNull() {
		return orb.Bound{}, false, nil
	}
	in, err := wkb.Check(g.WKB)
	if err != nil || in.Positions == 0 {
		return orb.Bound{}, false, err
	}
	return in.Bound, true, nil
}

// geometryTypes are the GeoJSON names of declared types (OGC 12-128r18, annex G), and of what stands for those that may have arcs or are faces.
var geometryTypes = map[string]string{
	"POINT": "Point", "LINESTRING": "LineString", "POLYGON": "Polygon", "MULTIPOINT": "MultiPoint", "MULTILINESTRING": "MultiLineString",
	"MULTIPOLYGON": "MultiPolygon", "GEOMETRYCOLLECTION": "GeometryCollection", "GEOMCOLLECTION": "GeometryCollection",
	"CIRCULARSTRING": "LineString", "COMPOUNDCURVE": "LineString", "CURVE": "LineString", "CURVEPOLYGON": "Polygon", "TRIANGLE": "Polygon",
	"MULTICURVE": "MultiLineString", "MULTISURFACE": "MultiPolygon", "POLYHEDRALSURFACE": "MultiPolygon", "TIN": "MultiPolygon",
}

// GeometryType is the GeoJSON type that geometries of a declared type are served as, whatever the case of its letters; "" where that may be several.
func GeometryType(declared string) string { return geometryTypes[strings.ToUpper(declared)] }

// Chord is how far lines may lie from the arcs that they stand for, in units of the system.
func Chord(id crs.ID) float64 {
	if id.Geographic() {
		return wkb.ChordDegrees
	}
	return wkb.ChordMetres
}

// HasZ reports whether the outer geometry states heights.
func (g Geometry) HasZ() bool {
	r := wkb.NewReader(g.WKB)
	_, err := r.Header()
	return err == nil && r.HasZ()
}

// slack is how far, in degrees, coordinates may lie beyond the antimeridian and the poles from rounding.
const slack = 1e-6

// Spread is what the geometries of a layer cover, gathered by the adapter that surveys it.
type Spread struct {
	Bound       *orb.Bound // CRS84; nil: nothing
	LongestEdge float64    // units of the storage CRS
	Outside     bool       // some position is no longitude and latitude, that no place on earth has; it is not in Bound
}

// Add adds a geometry in the storage CRS, whose positions degrees takes to CRS84. Bytes that are none are added as far as they can be read.
func (s *Spread) Add(geometry []byte, degrees crs.Func) {
	bound := wkb.EmptyBound()
	if s.Bound != nil {
		bound = *s.Bound
	}
	_ = wkb.Walk(geometry, func(r wkb.Run) bool { // what is no geometry is counted by wkb.Check
		var px, py float64
		for i := range r.Len() {
			x, y := r.XY(i)
			if lon, lat := degrees(x, y); math.Abs(lon) <= 180+slack && math.Abs(lat) <= 90+slack {
				wkb.Extend(&bound, min(max(lon, -180), 180), min(max(lat, -90), 90))
			} else {
				s.Outside = true
			}
			if i > 0 {
				s.LongestEdge = max(s.LongestEdge, math.Hypot(x-px, y-py))
			}
			px, py = x, y
		}
		return true
	})
	if !bound.IsEmpty() {
		s.Bound = &bound
	}
}
