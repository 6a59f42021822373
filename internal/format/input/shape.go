package input

import (
	"fmt"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// The supported types of geometries.
const (
	Point           = wkb.Point
	LineString      = wkb.LineString
	Polygon         = wkb.Polygon
	MultiPoint      = wkb.MultiPoint
	MultiLineString = wkb.MultiLineString
	MultiPolygon    = wkb.MultiPolygon
	Collection      = wkb.Collection
)

// ShapeNames are the GeoJSON names of types, by their code.
var ShapeNames = [...]string{"", "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon",
	"GeometryCollection"}

// Depths is the number of arrays around a position, by kind of geometry.
var Depths = map[wkb.Kind]int{Point: 0, LineString: 1, MultiPoint: 1, Polygon: 2, MultiLineString: 2, MultiPolygon: 3}

func KindNamed(name string) wkb.Kind {
	for i, s := range ShapeNames {
		if i > 0 && s == name {
			return wkb.Kind(i)
		}
	}
	return 0
}

// Shape is a geometry, x before y. Positions are stored flat. A line or ring ends before position Ends[i],
// a polygon of a MultiPolygon before ring Polys[i].
type Shape struct {
	Kind   wkb.Kind
	XYZ    []float64 // three ordinates for each position; z is undefined without HasZ
	HasZ   bool
	Ends   []int   // MultiLineString, Polygon, MultiPolygon
	Polys  []int   // MultiPolygon
	Shapes []Shape // GeometryCollection
}

func (s *Shape) Positions() int { return len(s.XYZ) / 3 }

func (s *Shape) Add(x, y, z float64) { s.XYZ = append(s.XYZ, x, y, z) }

// Same reports whether two positions are equal in x and y.
func (s *Shape) Same(i, j int) bool { return s.XYZ[3*i] == s.XYZ[3*j] && s.XYZ[3*i+1] == s.XYZ[3*j+1] }

// IsEmpty reports whether it has no positions.
func (s *Shape) IsEmpty() bool {
	for i := range s.Shapes {
		if !s.Shapes[i].IsEmpty() {
			return false
		}
	}
	return len(s.XYZ) == 0
}

// Rings calls fn with the extent of each ring and whether it is the outer one of its polygon.
func (s *Shape) Rings(fn func(from, to int, outer bool)) {
	from, next := 0, 0
	for i, to := range s.Ends {
		outer := i == 0
		if s.Kind == MultiPolygon {
			outer = next == 0 && i == 0 || next > 0 && i == s.Polys[next-1]
			if outer {
				next++
			}
		}
		fn(from, to, outer)
		from = to
	}
}

// SetZ sets whether s and all its parts have heights, and reports whether some part lost its heights.
func (s *Shape) SetZ(z bool) (lost bool) {
	lost = s.HasZ && !z
	s.HasZ = z
	for i := range s.Shapes {
		lost = s.Shapes[i].SetZ(z) || lost
	}
	return lost
}

// Areal reports whether s has rings.
func (s *Shape) Areal() bool {
	for i := range s.Shapes {
		if s.Shapes[i].Areal() {
			return true
		}
	}
	return (s.Kind == Polygon || s.Kind == MultiPolygon) && len(s.Ends) > 0
}

// Orient reverses rings that violate the right-hand rule (RFC 7946, 3.1.6) and returns their number.
func (s *Shape) Orient() (turned int) {
	for i := range s.Shapes {
		turned += s.Shapes[i].Orient()
	}
	if s.Kind != Polygon && s.Kind != MultiPolygon {
		return turned
	}
	s.Rings(func(from, to int, outer bool) {
		if a := s.Area(from, to); a != 0 && (a > 0) != outer {
			s.Reverse(from, to)
			turned++
		}
	})
	return turned
}

// Area returns the signed area of a ring, positive if it runs counter-clockwise.
func (s *Shape) Area(from, to int) float64 {
	var a wkb.Area
	for i := from; i < to; i++ {
		a.Add(s.XYZ[3*i], s.XYZ[3*i+1])
	}
	return a.Signed()
}

func (s *Shape) Reverse(from, to int) {
	for i, j := from, to-1; i < j; i, j = i+1, j-1 {
		for k := range 3 {
			s.XYZ[3*i+k], s.XYZ[3*j+k] = s.XYZ[3*j+k], s.XYZ[3*i+k]
		}
	}
}

// Bound extends b by all positions and returns the number of positions that are not finite.
func (s *Shape) Bound(b *orb.Bound) (bad int) {
	for i := range s.Shapes {
		bad += s.Shapes[i].Bound(b)
	}
	for i := 0; i < len(s.XYZ); i += 3 {
		x, y := s.XYZ[i], s.XYZ[i+1]
		if !wkb.Valid(x) || !wkb.Valid(y) || s.HasZ && !wkb.Finite(s.XYZ[i+2]) {
			bad++
			continue
		}
		wkb.Extend(b, x, y)
	}
	return bad
}

// Transform applies fn to every position.
func (s *Shape) Transform(fn crs.Func) {
	for i := range s.Shapes {
		s.Shapes[i].Transform(fn)
	}
	for i := 0; i < len(s.XYZ); i += 3 {
		s.XYZ[i], s.XYZ[i+1] = fn(s.XYZ[i], s.XYZ[i+1])
	}
}

// Append appends the geometry as ISO WKB, little-endian.
func (s *Shape) Append(dst []byte) []byte {
	switch s.Kind {
	case Point:
		return s.ordinates(s.header(dst, Point), 0, 1)
	case LineString:
		return s.line(s.header(dst, LineString), 0, s.Positions())
	case MultiPoint:
		dst = wkb.AppendCount(s.header(dst, MultiPoint), s.Positions())
		for i := range s.Positions() {
			dst = s.ordinates(s.header(dst, Point), i, i+1)
		}
	case Polygon:
		return s.rows(wkb.AppendCount(s.header(dst, Polygon), len(s.Ends)), 0, len(s.Ends), 0)
	case MultiLineString:
		return s.rows(wkb.AppendCount(s.header(dst, MultiLineString), len(s.Ends)), 0, len(s.Ends), LineString)
	case MultiPolygon:
		dst = wkb.AppendCount(s.header(dst, MultiPolygon), len(s.Polys))
		from := 0
		for _, to := range s.Polys {
			dst = s.rows(wkb.AppendCount(s.header(dst, Polygon), to-from), from, to, 0)
			from = to
		}
	case Collection:
		dst = wkb.AppendCount(s.header(dst, Collection), len(s.Shapes))
		for i := range s.Shapes {
			dst = s.Shapes[i].Append(dst)
		}
	default:
		panic(fmt.Sprintf("ingest: no WKB for kind %d", s.Kind))
	}
	return dst
}

func (s *Shape) header(dst []byte, kind wkb.Kind) []byte { return wkb.AppendHeader(dst, kind, s.HasZ) }

// rows appends lines or rings; kind 0 means rings, which have no header.
func (s *Shape) rows(dst []byte, from, to int, kind wkb.Kind) []byte {
	start := 0
	if from > 0 {
		start = s.Ends[from-1]
	}
	for _, end := range s.Ends[from:to] {
		if kind != 0 {
			dst = s.header(dst, kind)
		}
		dst = s.line(dst, start, end)
		start = end
	}
	return dst
}

func (s *Shape) line(dst []byte, from, to int) []byte {
	return s.ordinates(wkb.AppendCount(dst, to-from), from, to)
}

func (s *Shape) ordinates(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		if s.HasZ {
			dst = wkb.AppendXYZ(dst, s.XYZ[3*i], s.XYZ[3*i+1], s.XYZ[3*i+2])
		} else {
			dst = wkb.AppendXY(dst, s.XYZ[3*i], s.XYZ[3*i+1])
		}
	}
	return dst
}

// FromSimple copies a geometry of simplefeatures without measures.
func FromSimple(g geom.Geometry) (Shape, error) {
	if g.CoordinatesType() == geom.DimXYM || g.CoordinatesType() == geom.DimXYZM {
		dim := geom.DimXY
		if g.CoordinatesType() == geom.DimXYZM {
			dim = geom.DimXYZ
		}
		g = g.ForceCoordinatesType(dim)
	}
	s := Shape{HasZ: g.CoordinatesType() == geom.DimXYZ}
	switch g.Type() {
	case geom.TypePoint:
		s.Kind = Point
		s.simplePoint(g.MustAsPoint())
	case geom.TypeLineString:
		s.Kind = LineString
		s.sequence(g.MustAsLineString().Coordinates())
		s.Ends = nil
	case geom.TypePolygon:
		s.Kind = Polygon
		s.simplePolygon(g.MustAsPolygon())
	case geom.TypeMultiPoint:
		s.Kind = MultiPoint
		m := g.MustAsMultiPoint()
		for i := range m.NumPoints() {
			s.simplePoint(m.PointN(i))
		}
	case geom.TypeMultiLineString:
		s.Kind = MultiLineString
		m := g.MustAsMultiLineString()
		for i := range m.NumLineStrings() {
			s.sequence(m.LineStringN(i).Coordinates())
		}
	case geom.TypeMultiPolygon:
		s.Kind = MultiPolygon
		m := g.MustAsMultiPolygon()
		for i := range m.NumPolygons() {
			if p := m.PolygonN(i); !p.IsEmpty() {
				s.simplePolygon(p)
				s.Polys = append(s.Polys, len(s.Ends))
			}
		}
	case geom.TypeGeometryCollection:
		s.Kind = Collection
		m := g.MustAsGeometryCollection()
		for i := range m.NumGeometries() {
			part, err := FromSimple(m.GeometryN(i))
			if err != nil {
				return Shape{}, err
			}
			if !part.IsEmpty() { // an empty point has no encoding
				s.Shapes = append(s.Shapes, part)
			}
		}
	default:
		return Shape{}, fmt.Errorf("ingest: the geometry type %v is not known", g.Type())
	}
	return s, nil
}

func (s *Shape) simplePoint(p geom.Point) {
	if c, ok := p.Coordinates(); ok {
		s.Add(c.X, c.Y, c.Z)
	}
}

func (s *Shape) sequence(q geom.Sequence) {
	for i := range q.Length() {
		c := q.Get(i)
		s.Add(c.X, c.Y, c.Z)
	}
	s.Ends = append(s.Ends, s.Positions())
}

func (s *Shape) simplePolygon(p geom.Polygon) {
	if p.IsEmpty() {
		return
	}
	s.sequence(p.ExteriorRing().Coordinates())
	for i := range p.NumInteriorRings() {
		s.sequence(p.InteriorRingN(i).Coordinates())
	}
}

// Check closes open rings and drops parts that are too short (RFC 7946, 3.1): lines of one position, rings of fewer
// than four, and polygons without an outer ring. It returns the number of closed rings and of dropped parts.
// The geometry may be empty afterwards.
func (s *Shape) Check() (closed, dropped int) {
	shapes := s.Shapes[:0]
	for _, part := range s.Shapes {
		c, d := part.Check()
		closed, dropped = closed+c, dropped+d
		if d == 0 || !part.IsEmpty() {
			shapes = append(shapes, part)
		}
	}
	s.Shapes = shapes
	switch s.Kind {
	case LineString:
		if s.Positions() == 1 {
			s.XYZ, dropped = nil, dropped+1
		}
	case MultiLineString:
		xyz, ends, from := s.XYZ[:0], s.Ends[:0], 0
		for _, to := range s.Ends {
			if to-from < 2 {
				dropped++
			} else {
				xyz = append(xyz, s.XYZ[3*from:3*to]...)
				ends = append(ends, len(xyz)/3)
			}
			from = to
		}
		s.XYZ, s.Ends = xyz, ends
	case Polygon, MultiPolygon:
		c, d := s.checkRings()
		closed, dropped = closed+c, dropped+d
	}
	return closed, dropped
}

const (
	ClosedRing = "the first and the last position of a ring must be the same; closed"
	ShortPart  = "a ring needs four or more positions, and a line two; what has fewer is left out"
)

// length returns the number of positions of a ring once it is closed.
func (s *Shape) length(from, to int) int {
	if n := to - from; n == 0 || s.Same(from, to-1) {
		return n
	}
	return to - from + 1
}

func (s *Shape) checkRings() (closed, dropped int) {
	s.Rings(func(from, to int, _ bool) {
		if n := s.length(from, to); n < 4 {
			dropped++
		} else if n > to-from {
			closed++
		}
	})
	for i, to := range s.Polys {
		if i > 0 && to == s.Polys[i-1] || to == 0 {
			dropped++ // a polygon without rings
		}
	}
	if closed == 0 && dropped == 0 {
		return 0, 0
	}
	out := Shape{XYZ: make([]float64, 0, len(s.XYZ)+3*closed)}
	from, ring := 0, 0
	polygon := func(last int) { // appends the rings before number last
		first := len(out.Ends)
		for start := ring; ring < last; ring++ {
			to := s.Ends[ring]
			n := s.length(from, to)
			if n >= 4 && (ring == start || len(out.Ends) > first) {
				out.XYZ = append(out.XYZ, s.XYZ[3*from:3*to]...)
				if n > to-from {
					out.XYZ = append(out.XYZ, s.XYZ[3*from:3*from+3]...)
				}
				out.Ends = append(out.Ends, out.Positions())
			}
			from = to
		}
		if s.Kind == MultiPolygon && len(out.Ends) > first {
			out.Polys = append(out.Polys, len(out.Ends))
		}
	}
	if s.Kind == MultiPolygon {
		for _, last := range s.Polys {
			polygon(last)
		}
	} else {
		polygon(len(s.Ends))
	}
	s.XYZ, s.Ends, s.Polys = out.XYZ, out.Ends, out.Polys
	return closed, dropped
}
