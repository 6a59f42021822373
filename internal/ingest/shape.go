package ingest

import (
	"fmt"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// The types of geometries that are taken.
const (
	point           = wkb.Point
	lineString      = wkb.LineString
	polygon         = wkb.Polygon
	multiPoint      = wkb.MultiPoint
	multiLineString = wkb.MultiLineString
	multiPolygon    = wkb.MultiPolygon
	collection      = wkb.Collection
)

// shapeNames are the names of types in GeoJSON, by their code.
var shapeNames = [...]string{"", "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"}

// shape is a geometry, x before y. Positions lie flat; a line or ring ends before position ends[i], a polygon of a MultiPolygon
// before ring polys[i].
type shape struct {
	kind   wkb.Kind
	xyz    []float64 // three ordinates for each position; z means nothing without hasZ
	hasZ   bool
	ends   []int   // MultiLineString, Polygon, MultiPolygon
	polys  []int   // MultiPolygon
	shapes []shape // GeometryCollection
}

func (s *shape) positions() int { return len(s.xyz) / 3 }

func (s *shape) add(x, y, z float64) { s.xyz = append(s.xyz, x, y, z) }

// same tells whether two positions are equal in x and y.
func (s *shape) same(i, j int) bool { return s.xyz[3*i] == s.xyz[3*j] && s.xyz[3*i+1] == s.xyz[3*j+1] }

// isEmpty tells whether there is no position.
func (s *shape) isEmpty() bool {
	for i := range s.shapes {
		if !s.shapes[i].isEmpty() {
			return false
		}
	}
	return len(s.xyz) == 0
}

// rings calls fn with the extent of each ring and whether it is the outer one of its polygon.
func (s *shape) rings(fn func(from, to int, outer bool)) {
	from, next := 0, 0
	for i, to := range s.ends {
		outer := i == 0
		if s.kind == multiPolygon {
			outer = next == 0 && i == 0 || next > 0 && i == s.polys[next-1]
			if outer {
				next++
			}
		}
		fn(from, to, outer)
		from = to
	}
}

// setZ says whether s and all its parts have heights, and reports whether some part lost its own.
func (s *shape) setZ(z bool) (lost bool) {
	lost = s.hasZ && !z
	s.hasZ = z
	for i := range s.shapes {
		lost = s.shapes[i].setZ(z) || lost
	}
	return lost
}

// areal tells whether s has rings.
func (s *shape) areal() bool {
	for i := range s.shapes {
		if s.shapes[i].areal() {
			return true
		}
	}
	return (s.kind == polygon || s.kind == multiPolygon) && len(s.ends) > 0
}

// orient turns rings that do not follow the right-hand rule (RFC 7946, 3.1.6) and returns how many.
func (s *shape) orient() (turned int) {
	for i := range s.shapes {
		turned += s.shapes[i].orient()
	}
	if s.kind != polygon && s.kind != multiPolygon {
		return turned
	}
	s.rings(func(from, to int, outer bool) {
		if a := s.area(from, to); a != 0 && (a > 0) != outer {
			s.reverse(from, to)
			turned++
		}
	})
	return turned
}

// area returns the signed area of a ring, positive when it runs against the clock.
func (s *shape) area(from, to int) float64 {
	var a wkb.Area
	for i := from; i < to; i++ {
		a.Add(s.xyz[3*i], s.xyz[3*i+1])
	}
	return a.Signed()
}

func (s *shape) reverse(from, to int) {
	for i, j := from, to-1; i < j; i, j = i+1, j-1 {
		for k := range 3 {
			s.xyz[3*i+k], s.xyz[3*j+k] = s.xyz[3*j+k], s.xyz[3*i+k]
		}
	}
}

// bound widens b by all positions; the number of positions that are no finite numbers comes back.
func (s *shape) bound(b *orb.Bound) (bad int) {
	for i := range s.shapes {
		bad += s.shapes[i].bound(b)
	}
	for i := 0; i < len(s.xyz); i += 3 {
		x, y := s.xyz[i], s.xyz[i+1]
		if !wkb.Valid(x) || !wkb.Valid(y) || s.hasZ && !wkb.Finite(s.xyz[i+2]) {
			bad++
			continue
		}
		wkb.Extend(b, x, y)
	}
	return bad
}

// transform moves every position.
func (s *shape) transform(fn crs.Func) {
	for i := range s.shapes {
		s.shapes[i].transform(fn)
	}
	for i := 0; i < len(s.xyz); i += 3 {
		s.xyz[i], s.xyz[i+1] = fn(s.xyz[i], s.xyz[i+1])
	}
}

// append appends the geometry as ISO WKB, little-endian.
func (s *shape) append(dst []byte) []byte {
	switch s.kind {
	case point:
		return s.ordinates(s.header(dst, point), 0, 1)
	case lineString:
		return s.line(s.header(dst, lineString), 0, s.positions())
	case multiPoint:
		dst = wkb.AppendCount(s.header(dst, multiPoint), s.positions())
		for i := range s.positions() {
			dst = s.ordinates(s.header(dst, point), i, i+1)
		}
	case polygon:
		return s.rows(wkb.AppendCount(s.header(dst, polygon), len(s.ends)), 0, len(s.ends), 0)
	case multiLineString:
		return s.rows(wkb.AppendCount(s.header(dst, multiLineString), len(s.ends)), 0, len(s.ends), lineString)
	case multiPolygon:
		dst = wkb.AppendCount(s.header(dst, multiPolygon), len(s.polys))
		from := 0
		for _, to := range s.polys {
			dst = s.rows(wkb.AppendCount(s.header(dst, polygon), to-from), from, to, 0)
			from = to
		}
	case collection:
		dst = wkb.AppendCount(s.header(dst, collection), len(s.shapes))
		for i := range s.shapes {
			dst = s.shapes[i].append(dst)
		}
	default:
		panic(fmt.Sprintf("ingest: no WKB for kind %d", s.kind))
	}
	return dst
}

func (s *shape) header(dst []byte, kind wkb.Kind) []byte { return wkb.AppendHeader(dst, kind, s.hasZ) }

// rows appends lines or rings; kind 0 means rings, which have no header.
func (s *shape) rows(dst []byte, from, to int, kind wkb.Kind) []byte {
	start := 0
	if from > 0 {
		start = s.ends[from-1]
	}
	for _, end := range s.ends[from:to] {
		if kind != 0 {
			dst = s.header(dst, kind)
		}
		dst = s.line(dst, start, end)
		start = end
	}
	return dst
}

func (s *shape) line(dst []byte, from, to int) []byte {
	return s.ordinates(wkb.AppendCount(dst, to-from), from, to)
}

func (s *shape) ordinates(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		if s.hasZ {
			dst = wkb.AppendXYZ(dst, s.xyz[3*i], s.xyz[3*i+1], s.xyz[3*i+2])
		} else {
			dst = wkb.AppendXY(dst, s.xyz[3*i], s.xyz[3*i+1])
		}
	}
	return dst
}

// fromSimple copies a geometry of simplefeatures; measures are left out.
func fromSimple(g geom.Geometry) (shape, error) {
	if g.CoordinatesType() == geom.DimXYM || g.CoordinatesType() == geom.DimXYZM {
		dim := geom.DimXY
		if g.CoordinatesType() == geom.DimXYZM {
			dim = geom.DimXYZ
		}
		g = g.ForceCoordinatesType(dim)
	}
	s := shape{hasZ: g.CoordinatesType() == geom.DimXYZ}
	switch g.Type() {
	case geom.TypePoint:
		s.kind = point
		s.simplePoint(g.MustAsPoint())
	case geom.TypeLineString:
		s.kind = lineString
		s.sequence(g.MustAsLineString().Coordinates())
		s.ends = nil
	case geom.TypePolygon:
		s.kind = polygon
		s.simplePolygon(g.MustAsPolygon())
	case geom.TypeMultiPoint:
		s.kind = multiPoint
		m := g.MustAsMultiPoint()
		for i := range m.NumPoints() {
			s.simplePoint(m.PointN(i))
		}
	case geom.TypeMultiLineString:
		s.kind = multiLineString
		m := g.MustAsMultiLineString()
		for i := range m.NumLineStrings() {
			s.sequence(m.LineStringN(i).Coordinates())
		}
	case geom.TypeMultiPolygon:
		s.kind = multiPolygon
		m := g.MustAsMultiPolygon()
		for i := range m.NumPolygons() {
			if p := m.PolygonN(i); !p.IsEmpty() {
				s.simplePolygon(p)
				s.polys = append(s.polys, len(s.ends))
			}
		}
	case geom.TypeGeometryCollection:
		s.kind = collection
		m := g.MustAsGeometryCollection()
		for i := range m.NumGeometries() {
			part, err := fromSimple(m.GeometryN(i))
			if err != nil {
				return shape{}, err
			}
			if !part.isEmpty() { // a point of no positions has no form that is written
				s.shapes = append(s.shapes, part)
			}
		}
	default:
		return shape{}, fmt.Errorf("ingest: the geometry type %v is not known", g.Type())
	}
	return s, nil
}

func (s *shape) simplePoint(p geom.Point) {
	if c, ok := p.Coordinates(); ok {
		s.add(c.X, c.Y, c.Z)
	}
}

func (s *shape) sequence(q geom.Sequence) {
	for i := range q.Length() {
		c := q.Get(i)
		s.add(c.X, c.Y, c.Z)
	}
	s.ends = append(s.ends, s.positions())
}

func (s *shape) simplePolygon(p geom.Polygon) {
	if p.IsEmpty() {
		return
	}
	s.sequence(p.ExteriorRing().Coordinates())
	for i := range p.NumInteriorRings() {
		s.sequence(p.InteriorRingN(i).Coordinates())
	}
}

// check closes open rings and leaves out what is too short (RFC 7946, 3.1): lines of one position, rings of fewer than four, and a
// polygon without its outer ring. It returns how many rings were closed, and how many lines, rings and polygons were dropped. The
// geometry may be empty afterwards.
func (s *shape) check() (closed, dropped int) {
	shapes := s.shapes[:0]
	for _, part := range s.shapes {
		c, d := part.check()
		closed, dropped = closed+c, dropped+d
		if d == 0 || !part.isEmpty() {
			shapes = append(shapes, part)
		}
	}
	s.shapes = shapes
	switch s.kind {
	case lineString:
		if s.positions() == 1 {
			s.xyz, dropped = nil, dropped+1
		}
	case multiLineString:
		xyz, ends, from := s.xyz[:0], s.ends[:0], 0
		for _, to := range s.ends {
			if to-from < 2 {
				dropped++
			} else {
				xyz = append(xyz, s.xyz[3*from:3*to]...)
				ends = append(ends, len(xyz)/3)
			}
			from = to
		}
		s.xyz, s.ends = xyz, ends
	case polygon, multiPolygon:
		c, d := s.checkRings()
		closed, dropped = closed+c, dropped+d
	}
	return closed, dropped
}

const (
	closedRing = "the first and the last position of a ring must be the same; closed"
	shortPart  = "a ring needs four or more positions, and a line two; what has fewer is left out"
)

// length is the number of positions of a ring once it is closed.
func (s *shape) length(from, to int) int {
	if n := to - from; n == 0 || s.same(from, to-1) {
		return n
	}
	return to - from + 1
}

func (s *shape) checkRings() (closed, dropped int) {
	s.rings(func(from, to int, _ bool) {
		if n := s.length(from, to); n < 4 {
			dropped++
		} else if n > to-from {
			closed++
		}
	})
	for i, to := range s.polys {
		if i > 0 && to == s.polys[i-1] || to == 0 {
			dropped++ // a polygon without rings
		}
	}
	if closed == 0 && dropped == 0 {
		return 0, 0
	}
	out := shape{xyz: make([]float64, 0, len(s.xyz)+3*closed)}
	from, ring := 0, 0
	polygon := func(last int) { // appends the rings before number last
		first := len(out.ends)
		for start := ring; ring < last; ring++ {
			to := s.ends[ring]
			n := s.length(from, to)
			if n >= 4 && (ring == start || len(out.ends) > first) {
				out.xyz = append(out.xyz, s.xyz[3*from:3*to]...)
				if n > to-from {
					out.xyz = append(out.xyz, s.xyz[3*from:3*from+3]...)
				}
				out.ends = append(out.ends, out.positions())
			}
			from = to
		}
		if s.kind == multiPolygon && len(out.ends) > first {
			out.polys = append(out.polys, len(out.ends))
		}
	}
	if s.kind == multiPolygon {
		for _, last := range s.polys {
			polygon(last)
		}
	} else {
		polygon(len(s.ends))
	}
	s.xyz, s.ends, s.polys = out.xyz, out.ends, out.polys
	return closed, dropped
}
