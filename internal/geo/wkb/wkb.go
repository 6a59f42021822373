// Package wkb reads and writes well-known binary: ISO (OGC 06-103r4, 8.2) and extended (PostGIS), of either byte
// order, with or without heights, measures and a reference system, x before y. It is the one place that knows these
// bytes.
//
// A geometry is one of the seven types of GeoJSON (RFC 7946, 3.1.1), whole within its bytes, with members of the
// types that its own allows, nested at most MaxDepth deep, whose ordinates x and y are numbers of at most
// MaxOrdinate. A point whose x and y are both NaN is empty. Heights that are no such numbers are no heights; measures
// are not looked at. Bytes after the geometry are ignored. All else is ErrInvalid: no geometry, which is served as
// null and found by no spatial predicate. Check decides.
//
// Readers of stored bytes walk them by Walk or, where the structure matters, by a Reader. Both find every fault of
// structure on their way; neither looks at numbers, which Check has done where the bytes came in.
package wkb

import (
	"errors"
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// ErrInvalid reports bytes that are no geometry.
var ErrInvalid = errors.New("not a geometry that can be read")

// MaxDepth is how deep collections may lie in collections.
const MaxDepth = 16

// MaxOrdinate is beyond every coordinate of a place on Earth, in degrees or metres; up to it numbers with 7 decimals
// fit into 64 bits.
const MaxOrdinate = 9e11

// KindError is ErrInvalid for a type that is known by name only.
type KindError struct{ Kind Kind }

func (e *KindError) Error() string {
	return ErrInvalid.Error() + ": " + e.Kind.String() + " has no GeoJSON form"
}

func (e *KindError) Unwrap() error { return ErrInvalid }

func invalid(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, a...))
}

// Kind is a type code without the dimension (OGC 06-103r4, 8.2.8; SQL/MM, 5.1.41).
type Kind uint32

// The types of GeoJSON.
const (
	Point Kind = 1 + iota
	LineString
	Polygon
	MultiPoint
	MultiLineString
	MultiPolygon
	Collection
)

// Types that are known by name only: a header of theirs is read, what follows is a KindError. Kind.Curved and
// Kind.Straight report which of them lines can replace.
const (
	CircularString Kind = 8 + iota
	CompoundCurve
	CurvePolygon
	MultiCurve
	MultiSurface
	Curve
	Surface
	PolyhedralSurface
	TIN
	Triangle
)

var names = [...]string{
	"",
	"Point",
	"LineString",
	"Polygon",
	"MultiPoint",
	"MultiLineString",
	"MultiPolygon",
	"GeometryCollection",
	"CircularString",
	"CompoundCurve",
	"CurvePolygon",
	"MultiCurve",
	"MultiSurface",
	"Curve",
	"Surface",
	"PolyhedralSurface",
	"TIN",
	"Triangle",
}

// String returns the name, as GeoJSON has it.
func (k Kind) String() string {
	if int(k) < len(names) && k != 0 {
		return names[k]
	}
	return fmt.Sprintf("type %d", uint32(k))
}

// Simple reports whether GeoJSON has the type.
func (k Kind) Simple() bool { return k >= Point && k <= Collection }

// Curved reports whether geometries of the type may hold arcs. Collections of them are not Curved themselves.
func (k Kind) Curved() bool { return k >= CircularString && k <= Surface }

// Straight returns the type that stands for a curved one when arcs have become lines; that of any other is itself.
func (k Kind) Straight() Kind {
	switch k {
	case CircularString, CompoundCurve, Curve:
		return LineString
	case CurvePolygon, Surface:
		return Polygon
	case MultiCurve:
		return MultiLineString
	case MultiSurface:
		return MultiPolygon
	}
	return k
}

// holds reports whether a geometry of type k may have a member of type m.
func (k Kind) holds(m Kind) bool { return k == Collection || m == k-3 }

// Valid reports whether v may be an x or a y.
func Valid(v float64) bool { return math.Abs(v) <= MaxOrdinate }

// Finite reports whether v is a number.
func Finite(v float64) bool { return v-v == 0 }

// EmptyBound returns the bound of nothing, x before y, for Extend.
func EmptyBound() orb.Bound {
	return orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}
}

// Extend widens b by a position.
func Extend(b *orb.Bound, x, y float64) {
	b.Min[0], b.Max[0] = min(b.Min[0], x), max(b.Max[0], x)
	b.Min[1], b.Max[1] = min(b.Min[1], y), max(b.Max[1], y)
}

// Area sums twice the signed area of a ring whose positions are added in order. Whether the last one repeats the
// first makes no difference. It counts from the first position, so that small rings far from the origin keep their
// digits. The zero Area is ready.
type Area struct {
	x0, y0, px, py float64
	some           bool
	twice          float64
}

// Add adds the next position.
func (a *Area) Add(x, y float64) {
	if !a.some {
		a.x0, a.y0, a.some = x, y, true
		return
	}
	x, y = x-a.x0, y-a.y0
	a.twice += a.px*y - x*a.py
	a.px, a.py = x, y
}

// Signed returns the area in the square of the unit of the positions, positive when the ring runs counter-clockwise
// (x to the right, y up).
func (a *Area) Signed() float64 { return a.twice / 2 }
