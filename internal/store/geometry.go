package store

import (
	"fmt"
	"math"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// ErrGeometry reports bytes that are not a geometry by the rules of package wkb. Adapters never return such bytes;
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

// geometryTypes maps declared types (OGC 12-128r18, annex G), also those with arcs or faces, to GeoJSON types.
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

// GeometryType returns the GeoJSON type of geometries of a declared type, ignoring case; "" if it may be several.
func GeometryType(declared string) string { return geometryTypes[strings.ToUpper(declared)] }

// Chord returns the largest distance between arcs and the lines that replace them, in units of the system.
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

// slack is the distance, in degrees, by which rounding may move coordinates beyond the antimeridian and the poles.
const slack = 1e-6

// Spread is the extent of the geometries of a layer. The adapter that surveys the layer fills it.
type Spread struct {
	Bound       *orb.Bound // CRS84; nil: nothing
	LongestEdge float64    // units of the storage CRS
	Outside     bool       // some position is no longitude and latitude on earth; it is not in Bound
	Nowhere     bool       // some of these is off by more than a turn of longitude
	// some edge crosses the antimeridian, or seems to: in degrees, it is longer than half a turn
	Across bool
	Wide   bool // some edges of a rectangle in degrees do; a rectangle may be that wide
}

// Placing describes how to interpret the geometries of a layer.
type Placing struct {
	CRS      crs.ID // of the stored coordinates
	Geodesic bool   // Geom.Geodesic
	// an import by Grense wrote them: it cuts what crosses the antimeridian in degrees
	Ours  bool
	Uncut bool // they are read for an import that cuts them
}

// Misplaced returns why a layer cannot be served, with the cure, or a note about it; "" and "" if all is well.
// Boxes and tiles of geometries that cross the antimeridian go around the world (RFC 7946, 3.1.9):
// the layer is refused unless it is uncut.
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

// Add adds a geometry in the storage CRS id; degrees transforms its positions to CRS84.
// Of invalid bytes it adds what can be read.
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

// isLong reports whether an edge in degrees is longer than half a turn, but not a whole turn, and touches no pole.
func isLong(fromX, fromY, toX, toY float64) bool {
	d := math.Abs(toX - fromX)
	return d > 180 && d < 360-slack && math.Max(math.Abs(fromY), math.Abs(toY)) <= 90-slack
}
