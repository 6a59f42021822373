package feature

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/crs"
)

// Geometry writes stored geometries in another CRS: straight from well-known binary, without decoding and without allocation.
// It is immutable and safe for concurrent use. The zero Geometry is not usable; NewGeometry makes one.
type Geometry struct {
	transform crs.Func // nil: coordinates as stored
	decimals  int
	swap      bool // the authority puts north first
	orient    bool // rings follow RFC 7946, 3.1.6
}

// heightDecimals is the number of decimals of third ordinates, in metres.
const heightDecimals = 2

// NewGeometry returns a writer of geometries stored in from as coordinates of to.
func NewGeometry(from, to crs.ID) (Geometry, error) {
	g := Geometry{decimals: to.Decimals(), swap: to.NorthFirst(), orient: to == crs.CRS84}
	f, err := crs.Between(from, to)
	if err != nil {
		return Geometry{}, fmt.Errorf("feature: %w", err)
	}
	if !crs.Same(from, to) {
		g.transform = f
	}
	return g, nil
}

// AppendGeoJSON writes a GeoJSON geometry (RFC 7946, 3.1): axes in the order of the CRS's authority, Z kept where it is a number, M
// dropped, empty parts left out; null when nothing is left. In CRS84 exterior rings run counter-clockwise and holes clockwise.
func (g *Geometry) AppendGeoJSON(dst, wkb []byte) ([]byte, error) {
	return g.append(dst, wkb, writer{quote: `"`, open: '[', close: ']', swap: g.swap, orient: g.orient})
}

// appendQuoted is AppendGeoJSON for the inside of a JSON string.
func (g *Geometry) appendQuoted(dst, wkb []byte) ([]byte, error) {
	return g.append(dst, wkb, writer{quote: `\"`, open: '[', close: ']', swap: g.swap, orient: g.orient})
}

// AppendWKT writes well-known text (OGC 06-103r4, 7) in two dimensions, always x before y, rings as they are stored; "POINT EMPTY"
// and the like when nothing is left.
func (g *Geometry) AppendWKT(dst, wkb []byte) ([]byte, error) {
	return g.append(dst, wkb, writer{wkt: true, open: '(', close: ')'})
}

func (g *Geometry) append(dst, wkb []byte, w writer) ([]byte, error) {
	start := len(dst)
	w.r.b, w.g = wkb, g
	out, some, err := w.geometry(dst, 0)
	switch {
	case err != nil:
		return dst[:start], err
	case some:
		return out, nil
	case w.wkt:
		kind, _ := (&reader{b: wkb}).header()
		return append(append(out[:start], wktNames[kind]...), " EMPTY"...), nil
	}
	return append(out[:start], "null"...), nil
}

var (
	jsonNames = [...]string{"", "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"}
	wktNames  = [...]string{"", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"}
)

// writer is one pass over one geometry. Its methods append a part and report whether the part holds any position; when it does not,
// what was appended is garbage for the caller to cut off.
type writer struct {
	r            reader
	g            *Geometry
	wkt          bool
	swap, orient bool
	quote        string
	open, close  byte
}

func (w *writer) geometry(dst []byte, depth int) ([]byte, bool, error) {
	kind, err := w.r.header()
	if err != nil {
		return dst, false, err
	}
	if w.wkt {
		return w.body(append(dst, wktNames[kind]...), kind, depth)
	}
	q := w.quote
	dst = append(append(append(dst, '{'), q...), "type"...)
	dst = append(append(append(dst, q...), ':'), q...)
	dst = append(append(append(dst, jsonNames[kind]...), q...), ',')
	member := "coordinates"
	if kind == wkbCollection {
		member = "geometries"
	}
	dst = append(append(append(append(dst, q...), member...), q...), ':')
	dst, some, err := w.body(dst, kind, depth)
	return append(dst, '}'), some, err
}

// body writes what comes after the name of the type.
func (w *writer) body(dst []byte, kind uint32, depth int) ([]byte, bool, error) {
	switch kind {
	case wkbPoint:
		return w.point(dst)
	case wkbLineString:
		return w.line(dst, false, false)
	case wkbPolygon:
		return w.polygon(dst)
	}
	if depth == maxDepth {
		return dst, false, errDepth
	}
	n, err := w.r.count(5)
	if err != nil {
		return dst, false, err
	}
	dst = append(dst, w.open)
	some := false
	for range n {
		mark := len(dst)
		if some {
			dst = append(dst, ',')
		}
		var ok bool
		if kind == wkbCollection {
			dst, ok, err = w.geometry(dst, depth+1)
		} else {
			dst, ok, err = w.member(dst, kind-wkbMultiPoint+wkbPoint, depth+1)
		}
		if err != nil {
			return dst, false, err
		}
		if !ok {
			dst = dst[:mark]
		}
		some = some || ok
	}
	return append(dst, w.close), some, nil
}

// member writes a part of a multi geometry, which must be of one type.
func (w *writer) member(dst []byte, want uint32, depth int) ([]byte, bool, error) {
	kind, err := w.r.header()
	if err != nil {
		return dst, false, err
	}
	if kind != want {
		return dst, false, fmt.Errorf("a %s is part of a Multi%s", jsonNames[kind], jsonNames[want])
	}
	return w.body(dst, kind, depth)
}

// point writes a point; one whose ordinates are NaN is empty.
func (w *writer) point(dst []byte) ([]byte, bool, error) {
	at := w.r.off
	if len(w.r.b)-at < w.r.stride {
		return dst, false, errShort
	}
	w.r.off += w.r.stride
	if math.IsNaN(w.r.float(at)) && math.IsNaN(w.r.float(at+8)) {
		return dst, false, nil
	}
	var err error
	if w.wkt {
		dst, err = w.position(append(dst, '('), at)
		return append(dst, ')'), true, err
	}
	dst, err = w.position(dst, at)
	return dst, true, err
}

func (w *writer) polygon(dst []byte) ([]byte, bool, error) {
	n, err := w.r.count(4)
	if err != nil {
		return dst, false, err
	}
	dst = append(dst, w.open)
	some := false
	for i := range n {
		mark := len(dst)
		if some {
			dst = append(dst, ',')
		}
		var ok bool
		if dst, ok, err = w.line(dst, w.orient, i > 0); err != nil {
			return dst, false, err
		}
		if !ok {
			dst = dst[:mark]
		}
		some = some || ok
	}
	return append(dst, w.close), some, nil
}

// line writes a list of positions; with orient set it is a ring, which runs counter-clockwise, as a hole clockwise.
func (w *writer) line(dst []byte, orient, hole bool) ([]byte, bool, error) {
	n, err := w.r.count(w.r.stride)
	if err != nil || n == 0 {
		return dst, false, err
	}
	at, step := w.r.off, w.r.stride
	if orient {
		// Transforms keep the sense of rotation, so that stored coordinates tell it.
		if a := w.r.area(n); a < 0 && !hole || a > 0 && hole {
			at, step = at+(n-1)*step, -step
		}
	}
	w.r.off += n * w.r.stride
	dst = append(dst, w.open)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = w.position(dst, at); err != nil {
			return dst, false, err
		}
		at += step
	}
	return append(dst, w.close), true, nil
}

// position writes the ordinates at an offset that was checked.
func (w *writer) position(dst []byte, at int) ([]byte, error) {
	p, err := w.g.project(w.r.float(at), w.r.float(at+8))
	if err != nil {
		return dst, err
	}
	x, y := p[0], p[1]
	d := w.g.decimals
	if w.wkt {
		dst = append(appendFixed(dst, x, d), ' ')
		return appendFixed(dst, y, d), nil
	}
	if w.swap {
		x, y = y, x
	}
	dst = append(dst, '[')
	dst = append(appendFixed(dst, x, d), ',')
	dst = appendFixed(dst, y, d)
	if w.r.hasZ {
		z := w.r.float(at + 16)
		switch {
		case math.Abs(z) <= maxOrdinate:
			dst = appendFixed(append(dst, ','), z, heightDecimals)
		case !math.IsNaN(z): // NaN stands for no height
			return dst, fmt.Errorf("a position has no legal height: %g", z)
		}
	}
	return append(dst, ']'), nil
}

// location returns where a point is, x before y; false for what is no point or an empty one.
func (g *Geometry) location(wkb []byte) (p orb.Point, ok bool, err error) {
	r := reader{b: wkb}
	if len(wkb) == 0 {
		return p, false, nil
	}
	kind, err := r.header()
	if err != nil || kind != wkbPoint {
		return p, false, err
	}
	if len(wkb)-r.off < r.stride {
		return p, false, errShort
	}
	x, y := r.float(r.off), r.float(r.off+8)
	if math.IsNaN(x) && math.IsNaN(y) {
		return p, false, nil
	}
	p, err = g.project(x, y)
	return p, err == nil, err
}

// project returns a stored position in the CRS of g, x before y.
func (g *Geometry) project(x, y float64) (orb.Point, error) {
	p := orb.Point{x, y}
	if g.transform != nil {
		p[0], p[1] = g.transform(x, y)
	}
	if !(math.Abs(p[0]) <= maxOrdinate && math.Abs(p[1]) <= maxOrdinate) {
		return p, fmt.Errorf("a position is no legal coordinate: %g %g", x, y)
	}
	return p, nil
}
