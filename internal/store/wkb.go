package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// ErrGeometry reports bytes that are no geometry of a kind that is served: truncated, of wrong counts, with coordinates that are no
// numbers, or of a type that GeoJSON lacks (curves, surfaces, TIN).
var ErrGeometry = errors.New("store: not a geometry that can be read")

// Type codes of OGC 06-103r4, 8.2.8, without the dimension.
const (
	wkbPoint           = 1
	wkbLineString      = 2
	wkbPolygon         = 3
	wkbMultiPoint      = 4
	wkbMultiLineString = 5
	wkbMultiPolygon    = 6
	wkbCollection      = 7
)

// maxNesting is how deep collections may lie in collections.
const maxNesting = 16

// Orb decodes the geometry: x before y, heights and measures left out. A null geometry gives nil. Points without coordinates are
// left out of collections; alone, one gives an empty MultiPoint. The caller owns the result.
func (g Geometry) Orb() (orb.Geometry, error) {
	if g.IsNull() {
		return nil, nil
	}
	r := wkbReader{b: g.WKB}
	o, err := r.geometry(0)
	if err == nil && o == nil {
		o = orb.MultiPoint{}
	}
	return o, err
}

// Bound returns the smallest box around the geometry, x before y; false when it has no point. It allocates nothing.
func (g Geometry) Bound() (b orb.Bound, ok bool, err error) {
	b = orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}
	if g.IsNull() {
		return orb.Bound{}, false, nil
	}
	r := wkbReader{b: g.WKB}
	err = r.walk(0, func(x, y float64, _ bool) {
		b.Min[0], b.Max[0] = min(b.Min[0], x), max(b.Max[0], x)
		b.Min[1], b.Max[1] = min(b.Min[1], y), max(b.Max[1], y)
	})
	if err != nil || b.Min[0] > b.Max[0] {
		return orb.Bound{}, false, err
	}
	return b, true, nil
}

// Walk calls fn with each position in the order of storage, x before y; first tells that no edge leads to it from the one before.
// It fails with ErrGeometry exactly when Orb does.
func (g Geometry) Walk(fn func(x, y float64, first bool)) error {
	if g.IsNull() {
		return nil
	}
	r := wkbReader{b: g.WKB}
	return r.walk(0, fn)
}

// HasZ reports whether the outer geometry states heights.
func (g Geometry) HasZ() bool {
	r := wkbReader{b: g.WKB}
	_, dim, err := r.header()
	return err == nil && dim.z
}

// wkbReader reads ISO and extended WKB from the front of b.
type wkbReader struct {
	b     []byte
	order binary.ByteOrder
}

// dims tells which ordinates follow x and y.
type dims struct{ z, m bool }

func (d dims) size() int {
	n := 16
	if d.z {
		n += 8
	}
	if d.m {
		n += 8
	}
	return n
}

func broken(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrGeometry, fmt.Sprintf(format, a...))
}

func (r *wkbReader) header() (kind uint32, d dims, err error) {
	if len(r.b) < 5 {
		return 0, d, broken("truncated")
	}
	switch r.b[0] {
	case 0:
		r.order = binary.BigEndian
	case 1:
		r.order = binary.LittleEndian
	default:
		return 0, d, broken("byte order %d", r.b[0])
	}
	t := r.order.Uint32(r.b[1:])
	r.b = r.b[5:]
	d.z, d.m = t&0x80000000 != 0, t&0x40000000 != 0 // flags of extended WKB
	if t&0x20000000 != 0 {
		if len(r.b) < 4 {
			return 0, d, broken("truncated")
		}
		r.b = r.b[4:]
	}
	t &= 0x1fffffff
	switch t / 1000 {
	case 0:
	case 1:
		d.z = true
	case 2:
		d.m = true
	case 3:
		d.z, d.m = true, true
	default:
		return 0, d, broken("type %d", t)
	}
	if t %= 1000; t < wkbPoint || t > wkbCollection {
		return 0, d, broken("type %d has no GeoJSON form", t)
	}
	return t, d, nil
}

// count reads a number of elements, each of at least size bytes.
func (r *wkbReader) count(size int) (int, error) {
	if len(r.b) < 4 {
		return 0, broken("truncated")
	}
	n := r.order.Uint32(r.b)
	r.b = r.b[4:]
	if uint64(n)*uint64(size) > uint64(len(r.b)) {
		return 0, broken("truncated: %d elements announced", n)
	}
	return int(n), nil
}

// point reads one position; false when it is empty (all ordinates NaN).
func (r *wkbReader) point(d dims) (p orb.Point, ok bool, err error) {
	if len(r.b) < d.size() {
		return p, false, broken("truncated")
	}
	p[0] = math.Float64frombits(r.order.Uint64(r.b))
	p[1] = math.Float64frombits(r.order.Uint64(r.b[8:]))
	r.b = r.b[d.size():]
	if math.IsNaN(p[0]) && math.IsNaN(p[1]) {
		return p, false, nil
	}
	if math.IsNaN(p[0]+p[1]) || math.IsInf(p[0], 0) || math.IsInf(p[1], 0) {
		return p, false, broken("coordinate %v %v", p[0], p[1])
	}
	return p, true, nil
}

func (r *wkbReader) points(d dims) ([]orb.Point, error) {
	n, err := r.count(d.size())
	if err != nil {
		return nil, err
	}
	ps := make([]orb.Point, n)
	for i := range ps {
		var ok bool
		if ps[i], ok, err = r.point(d); err != nil {
			return nil, err
		} else if !ok {
			return nil, broken("a position of a line is not a number")
		}
	}
	return ps, nil
}

func (r *wkbReader) polygon(d dims) (orb.Polygon, error) {
	n, err := r.count(4)
	if err != nil {
		return nil, err
	}
	p := make(orb.Polygon, n)
	for i := range p {
		ps, err := r.points(d)
		if err != nil {
			return nil, err
		}
		p[i] = ps
	}
	return p, nil
}

// geometry reads one geometry; nil for a point without coordinates.
func (r *wkbReader) geometry(depth int) (orb.Geometry, error) {
	kind, d, err := r.header()
	if err != nil {
		return nil, err
	}
	switch kind {
	case wkbPoint:
		p, ok, err := r.point(d)
		if err != nil || !ok {
			return nil, err
		}
		return p, nil
	case wkbLineString:
		ps, err := r.points(d)
		return orb.LineString(ps), err
	case wkbPolygon:
		return r.polygon(d)
	}
	if depth == maxNesting {
		return nil, broken("more than %d collections in each other", maxNesting)
	}
	parts, err := r.members(kind, depth)
	if err != nil {
		return nil, err
	}
	return assemble(kind, parts), nil
}

// members reads the parts of a collection of any kind, without points that have no coordinates.
func (r *wkbReader) members(kind uint32, depth int) ([]orb.Geometry, error) {
	n, err := r.count(9)
	if err != nil {
		return nil, err
	}
	parts := make([]orb.Geometry, 0, n)
	for range n {
		if err := r.member(kind); err != nil {
			return nil, err
		}
		g, err := r.geometry(depth + 1)
		if err != nil {
			return nil, err
		}
		if g != nil {
			parts = append(parts, g)
		}
	}
	return parts, nil
}

// member checks that the next geometry may lie in a collection of kind, and leaves it unread.
func (r *wkbReader) member(kind uint32) error {
	ahead := *r
	k, _, err := ahead.header()
	if err != nil {
		return err
	}
	if kind != wkbCollection && k != kind-3 {
		return broken("type %d inside type %d", k, kind)
	}
	return nil
}

func assemble(kind uint32, parts []orb.Geometry) orb.Geometry {
	switch kind {
	case wkbMultiPoint:
		m := make(orb.MultiPoint, len(parts))
		for i, p := range parts {
			m[i] = p.(orb.Point)
		}
		return m
	case wkbMultiLineString:
		m := make(orb.MultiLineString, len(parts))
		for i, p := range parts {
			m[i] = p.(orb.LineString)
		}
		return m
	case wkbMultiPolygon:
		m := make(orb.MultiPolygon, len(parts))
		for i, p := range parts {
			m[i] = p.(orb.Polygon)
		}
		return m
	}
	return orb.Collection(parts)
}

// walk is geometry without building anything.
func (r *wkbReader) walk(depth int, fn func(x, y float64, first bool)) error {
	kind, d, err := r.header()
	if err != nil {
		return err
	}
	switch kind {
	case wkbPoint:
		p, ok, err := r.point(d)
		if ok {
			fn(p[0], p[1], true)
		}
		return err
	case wkbLineString:
		return r.walkLine(d, fn)
	case wkbPolygon:
		n, err := r.count(4)
		for i := 0; i < n && err == nil; i++ {
			err = r.walkLine(d, fn)
		}
		return err
	}
	if depth == maxNesting {
		return broken("more than %d collections in each other", maxNesting)
	}
	n, err := r.count(9)
	for i := 0; i < n && err == nil; i++ {
		if err = r.member(kind); err == nil {
			err = r.walk(depth+1, fn)
		}
	}
	return err
}

func (r *wkbReader) walkLine(d dims, fn func(x, y float64, first bool)) error {
	n, err := r.count(d.size())
	if err != nil {
		return err
	}
	for i := range n {
		p, ok, err := r.point(d)
		if err != nil {
			return err
		}
		if !ok {
			return broken("a position of a line is not a number")
		}
		fn(p[0], p[1], i == 0)
	}
	return nil
}
