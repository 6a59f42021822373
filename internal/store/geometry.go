package store

import (
	"fmt"
	"math"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// ErrGeometry reports bytes that are not a valid geometry by the rules of package wkb. Stores never return such bytes;
// they serve the feature with a null geometry.
var ErrGeometry = wkb.ErrInvalid

// Orb decodes the geometry as wkb.Decode does. A null geometry returns nil.
func (g Geometry) Orb() (orb.Geometry, error) {
	if g.IsNull() {
		return nil, nil
	}
	return wkb.Decode(g.WKB)
}

// Bound returns the envelope of the geometry, x before y. ok is false if it is empty.
// It fails exactly when Orb does, and allocates nothing.
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

// geometryTypes maps declared types (OGC 12-128r18, annex G), including those with curves or faces, to GeoJSON types.
var geometryTypes = map[string]string{
	"POINT": "Point", "LINESTRING": "LineString", "POLYGON": "Polygon", "MULTIPOINT": "MultiPoint",
	"MULTILINESTRING": "MultiLineString",
	"MULTIPOLYGON":    "MultiPolygon", "GEOMETRYCOLLECTION": "GeometryCollection",
	"GEOMCOLLECTION": "GeometryCollection",
	"CIRCULARSTRING": "LineString", "COMPOUNDCURVE": "LineString", "CURVE": "LineString", "CURVEPOLYGON": "Polygon",
	"TRIANGLE":   "Polygon",
	"MULTICURVE": "MultiLineString", "MULTISURFACE": "MultiPolygon", "POLYHEDRALSURFACE": "MultiPolygon",
	"TIN": "MultiPolygon",
}

// GeometryType returns the GeoJSON type for a declared type, ignoring case; "" if geometries may have several types.
func GeometryType(declared string) string { return geometryTypes[strings.ToUpper(declared)] }

// Chord returns the largest distance between circular arcs and the straight lines that replace them, in units of the
// CRS.
func Chord(id crs.ID) float64 {
	if id.Geographic() {
		return wkb.ChordDegrees
	}
	return wkb.ChordMetres
}

// HasZ reports whether the outermost geometry type has a Z coordinate.
func (g Geometry) HasZ() bool {
	r := wkb.NewReader(g.WKB)
	_, err := r.Header()
	return err == nil && r.HasZ()
}

// slack is a tolerance in degrees: rounding may move coordinates this far beyond the antimeridian or a pole.
const slack = 1e-6

// Spread is the extent of the geometries of a layer. Stores fill it with Add when they read a layer for the first time.
type Spread struct {
	Bound       *orb.Bound // CRS84; nil: nothing
	LongestEdge float64    // units of the storage CRS
	Outside     bool       // some position is not a longitude and latitude on earth; Bound does not include it
	Nowhere     bool       // some such position is more than 540° from the prime meridian, or beyond a pole
	// some edge seems to cross the antimeridian: in degrees, it spans more than 180° of longitude
	Across bool
	Wide   bool // as Across, but the edge is part of a rectangle in degrees, which may really be that wide
}

// Placing describes how to interpret the geometries of a layer.
type Placing struct {
	CRS      crs.ID // of the stored coordinates
	Geodesic bool   // Geom.Geodesic
	// written by grense import, which cuts geometries at the antimeridian if coordinates are degrees
	Ours  bool
	Uncut bool // read by grense import, which will cut them
}

// Misplaced returns why a layer cannot be served, with the cure, or a note about it; both are "" if all is well. A
// layer with geometries that cross the antimeridian uncut is refused: their boxes and tiles would go around the world
// (RFC 7946, 3.1.9).
func (s *Spread) Misplaced(p Placing) (wrong, note string) {
	id := p.CRS
	across, wide := s.Across, s.Wide
	switch {
	case p.Geodesic:
		across, wide = across || wide, false
	case p.Ours && id.Geographic():
		across, wide = false, false
	}
	const cure = "grense import cuts lines and areas there and writes a collection that is served"
	beyond := s.Outside && !s.Nowhere && (id.Geographic() || id == crs.WebMercator)
	switch {
	case p.Uncut && (beyond || across || wide):
		return "", ""
	case beyond && id.Geographic():
		return "some longitudes lie beyond ±180, across the antimeridian; " + cure +
			"; points need 360 taken off or added", ""
	case beyond:
		return "some coordinates lie beyond x = ±20037508.34, across the antimeridian; " + cure +
			"; points need 40075016.69 taken off or added", ""
	case across && id.Geographic():
		return "some lines or areas cross the antimeridian: they have edges that go more than half around the world; " +
			cure, ""
	case wide:
		return "a rectangle goes more than half around the world, and may cross the antimeridian instead; " +
			"if so, cut it there, for example with " +
			"ogr2ogr -wrapdateline; if it is as wide as it says, serve what grense import writes", ""
	case across:
		return fmt.Sprintf("some lines or areas cross the antimeridian, so that in longitudes and latitudes they "+
			"would go around the world; %s; the reference system, %v, is right", cure, id), ""
	case s.Outside && id.Geographic():
		return "coordinates are not longitudes and latitudes; set the reference system that they are in", ""
	case s.Outside:
		return "", fmt.Sprintf("some coordinates lie outside of the area of %v", id)
	}
	return "", ""
}

// Add extends s by a geometry in the storage CRS id; degrees transforms its positions to CRS84. Of an invalid geometry
// it adds the part before the fault.
func (s *Spread) Add(geometry []byte, id crs.ID, degrees crs.Func) {
	geographic := id.Geographic()
	bound := wkb.EmptyBound()
	if s.Bound != nil {
		bound = *s.Bound
	}
	_ = wkb.Walk(geometry, func(r wkb.Run) bool { // wkb.Check counts invalid geometries
		var px, py, before float64
		long, square := false, geographic
		for i := range r.Len() {
			x, y := r.XY(i)
			lon, lat := degrees(x, y)
			if math.Abs(lon) <= 180+slack && math.Abs(lat) <= 90+slack {
				wkb.Extend(&bound, min(max(lon, -180), 180), min(max(lat, -90), 90))
			} else {
				s.Outside = true
				s.Nowhere = s.Nowhere || !(math.Abs(lon) <= 540 && math.Abs(lat) <= 90+slack)
			}
			if i > 0 {
				s.LongestEdge = max(s.LongestEdge, math.Hypot(x-px, y-py))
				switch {
				case geographic:
					long = long || isLong(px, py, x, y)
					square = square && (px == x || py == y)
				case math.Abs(lon-before) > 180 && crs.Turn(degrees, orb.Point{px, py}, orb.Point{x, y}) != 0:
					s.Across = true
				}
			}
			px, py, before = x, y, lon
		}
		if long {
			rectangle := square && r.Kind == wkb.Polygon
			s.Wide, s.Across = s.Wide || rectangle, s.Across || !rectangle
		}
		return true
	})
	if !bound.IsEmpty() {
		s.Bound = &bound
	}
}

// isLong reports whether an edge in degrees spans more than 180° but less than 360° of longitude, and touches no pole.
func isLong(fromX, fromY, toX, toY float64) bool {
	d := math.Abs(toX - fromX)
	return d > 180 && d < 360-slack && math.Max(math.Abs(fromY), math.Abs(toY)) <= 90-slack
}
