package feature

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Geometry writes stored geometries in another CRS, directly from well-known binary, without allocation. It is
// immutable and safe for concurrent use. Use NewGeometry.
type Geometry struct {
	transform crs.Func // nil: no transformation
	decimals  int
	swap      bool // the authority has north before east
	orient    bool // orient rings as in RFC 7946, 3.1.6
}

// heightDecimals is the number of decimals of third ordinates, in metres.
const heightDecimals = 2

// NewGeometry returns a writer of geometries stored in the CRS from, in the CRS to.
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

// XFirst returns a writer with x before y, whatever the axis order of the CRS.
func (g Geometry) XFirst() Geometry {
	g.swap = false
	return g
}

// setPrecision sets the number of decimals of x and y; nil: by the CRS.
func (g *Geometry) setPrecision(decimals *int) {
	if decimals != nil {
		g.decimals = *decimals
	}
}

// AppendGeoJSON writes a GeoJSON geometry (RFC 7946, 3.1) in the axis order of the CRS's authority. It keeps finite Z
// values, drops M and empty parts, and writes null if nothing is left. In CRS84 exterior rings are counter-clockwise
// and holes clockwise. It fails for an invalid geometry (package wkb), and if a position cannot be transformed; callers
// then write null.
func (g *Geometry) AppendGeoJSON(dst, geometry []byte) ([]byte, error) {
	return g.append(dst, geometry, writer{quote: `"`, open: '[', close: ']', swap: g.swap, orient: g.orient})
}

// appendQuoted is AppendGeoJSON within a JSON string.
func (g *Geometry) appendQuoted(dst, geometry []byte) ([]byte, error) {
	return g.append(dst, geometry, writer{quote: `\"`, open: '[', close: ']', swap: g.swap, orient: g.orient})
}

// AppendWKT writes well-known text (OGC 06-103r4, 7) in two dimensions, x before y, with rings as stored; "POINT EMPTY"
// and the like if nothing is left.
func (g *Geometry) AppendWKT(dst, geometry []byte) ([]byte, error) {
	return g.append(dst, geometry, writer{wkt: true, open: '(', close: ')'})
}

func (g *Geometry) append(dst, geometry []byte, w writer) ([]byte, error) {
	start := len(dst)
	w.r, w.g = wkb.NewReader(geometry), g
	out, some, err := w.geometry(dst)
	switch {
	case err != nil:
		return dst[:start], err
	case some:
		return out, nil
	case w.wkt:
		r := wkb.NewReader(geometry)
		kind, _ := r.Header()
		return append(append(out[:start], wktNames[kind]...), " EMPTY"...), nil
	}
	return append(out[:start], "null"...), nil
}

var wktNames = [...]string{
	"",
	"POINT",
	"LINESTRING",
	"POLYGON",
	"MULTIPOINT",
	"MULTILINESTRING",
	"MULTIPOLYGON",
	"GEOMETRYCOLLECTION",
}

// writer writes one geometry. Its methods append a part and report whether the part has a position; if not, the caller
// must cut off what was appended.
type writer struct {
	r            wkb.Reader
	g            *Geometry
	wkt          bool
	swap, orient bool
	quote        string
	open, close  byte
}

func (w *writer) geometry(dst []byte) ([]byte, bool, error) {
	kind, err := w.r.Header()
	if err != nil {
		return dst, false, err
	}
	return w.named(dst, kind, 0)
}

// named writes the type name of a geometry and the geometry, whose header has been read.
func (w *writer) named(dst []byte, kind wkb.Kind, depth int) ([]byte, bool, error) {
	if w.wkt && kind.Simple() {
		return w.body(append(dst, wktNames[kind]...), kind, depth)
	}
	q := w.quote
	dst = append(append(append(dst, '{'), q...), "type"...)
	dst = append(append(append(dst, q...), ':'), q...)
	dst = append(append(append(dst, kind.String()...), q...), ',')
	member := "coordinates"
	if kind == wkb.Collection {
		member = "geometries"
	}
	dst = append(append(append(append(dst, q...), member...), q...), ':')
	dst, some, err := w.body(dst, kind, depth)
	return append(dst, '}'), some, err
}

// body writes a geometry without its type name.
func (w *writer) body(dst []byte, kind wkb.Kind, depth int) ([]byte, bool, error) {
	switch kind {
	case wkb.Point:
		return w.point(dst)
	case wkb.LineString:
		return w.line(dst, false, false)
	case wkb.Polygon:
		return w.polygon(dst)
	}
	n, err := w.r.Parts(kind)
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
		part, err := w.r.Member(kind, depth)
		switch {
		case err != nil:
		case kind == wkb.Collection:
			dst, ok, err = w.named(dst, part, depth+1)
		default:
			dst, ok, err = w.body(dst, part, depth+1)
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

func (w *writer) point(dst []byte) ([]byte, bool, error) {
	p, err := w.r.Point()
	if err != nil || p.Len() == 0 {
		return dst, false, err
	}
	if w.wkt {
		dst, err = w.position(append(dst, '('), &p, 0)
		return append(dst, ')'), true, err
	}
	dst, err = w.position(dst, &p, 0)
	return dst, true, err
}

func (w *writer) polygon(dst []byte) ([]byte, bool, error) {
	n, err := w.r.Parts(wkb.Polygon)
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

// line writes a list of positions. With orient it is a ring: counter-clockwise or, for a hole, clockwise.
func (w *writer) line(dst []byte, orient, hole bool) ([]byte, bool, error) {
	p, err := w.r.Line()
	n := p.Len()
	if err != nil || n == 0 {
		return dst, false, err
	}
	at, step := 0, 1
	if orient {
		// The area of the stored coordinates shows the orientation, since transformations keep it.
		if a := p.Area(); a < 0 && !hole || a > 0 && hole {
			at, step = n-1, -1
		}
	}
	dst = append(dst, w.open)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = w.position(dst, &p, at); err != nil {
			return dst, false, err
		}
		at += step
	}
	return append(dst, w.close), true, nil
}

// position writes the i-th position of a run.
func (w *writer) position(dst []byte, run *wkb.Run, i int) ([]byte, error) {
	p, err := w.g.project(run.XY(i))
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
	if run.HasZ() {
		if z := run.Z(i); !math.IsNaN(z) {
			dst = appendFixed(append(dst, ','), z, heightDecimals)
		}
	}
	return append(dst, ']'), nil
}

// location returns the position of a point, x before y; false if it is not a point, is empty, or cannot be transformed.
func (g *Geometry) location(geometry []byte) (orb.Point, bool) {
	r := wkb.NewReader(geometry)
	if kind, err := r.Header(); err != nil || kind != wkb.Point {
		return orb.Point{}, false
	}
	at, err := r.Point()
	if err != nil || at.Len() == 0 {
		return orb.Point{}, false
	}
	p, err := g.project(at.XY(0))
	return p, err == nil
}

// project returns a stored position in the CRS of g, x before y.
func (g *Geometry) project(x, y float64) (orb.Point, error) {
	p := orb.Point{x, y}
	if g.transform != nil {
		p[0], p[1] = g.transform(x, y)
	}
	if !wkb.Valid(p[0]) || !wkb.Valid(p[1]) {
		return p, fmt.Errorf("a position is no legal coordinate: %g %g", x, y)
	}
	return p, nil
}
