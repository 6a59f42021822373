package cql2

import (
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/geo/relate"
)

// geometry parses a GeoJSON geometry (RFC 7946, 3.1). It drops heights, because the predicates are planar,
// and ignores a member "bbox".
func (p *jsonParser) geometry(v *jsonValue) Expr {
	if g := p.shape(v, true); p.err == nil {
		return Geom{g, p.in}
	}
	return nil
}

func (p *jsonParser) shape(v *jsonValue, collection bool) orb.Geometry {
	kind := v.member("type")
	if v.kind != 'o' || kind == nil || kind.kind != 's' {
		p.fail(v, "expected a GeoJSON geometry")
		return nil
	}
	if collection && kind.text == "GeometryCollection" {
		return p.collection(v)
	}
	c := v.member("coordinates")
	if c == nil {
		p.fail(v, `a geometry needs "coordinates"`)
		return nil
	}
	switch kind.text {
	case "Point":
		return p.vertex(c)
	case "LineString":
		return p.line(c)
	case "Polygon":
		return p.polygon(c)
	case "MultiPoint":
		return orb.MultiPoint(items(p, c, p.vertex))
	case "MultiLineString":
		return orb.MultiLineString(items(p, c, p.line))
	case "MultiPolygon":
		return orb.MultiPolygon(items(p, c, p.polygon))
	}
	p.fail(kind, "%q is no geometry type that can stand here", clip(kind.text))
	return nil
}

// collection parses a GeometryCollection; collections do not nest.
func (p *jsonParser) collection(v *jsonValue) orb.Geometry {
	list := v.member("geometries")
	if list == nil {
		p.fail(v, `a geometry collection needs "geometries"`)
		return nil
	}
	return orb.Collection(items(p, list, func(x *jsonValue) orb.Geometry { return p.shape(x, false) }))
}

// items parses a non-empty array.
func items[T any](p *jsonParser, v *jsonValue, item func(*jsonValue) T) []T {
	if v.kind != 'a' || len(v.values) == 0 {
		p.fail(v, "expected an array of coordinates or geometries that is not empty")
		return nil
	}
	list := make([]T, 0, len(v.values))
	for _, x := range v.values {
		if p.err != nil {
			return nil
		}
		list = append(list, item(x))
	}
	return list
}

func (p *jsonParser) line(v *jsonValue) orb.LineString {
	line := orb.LineString(items(p, v, p.vertex))
	if p.err == nil && len(line) < 2 {
		p.fail(v, "a line has at least 2 points")
	}
	return line
}

func (p *jsonParser) polygon(v *jsonValue) orb.Polygon { return orb.Polygon(items(p, v, p.ring)) }

func (p *jsonParser) ring(v *jsonValue) orb.Ring {
	ring := orb.Ring(items(p, v, p.vertex))
	if p.err == nil && !closed(ring) {
		p.fail(v, "a ring of a polygon has at least 4 points, the last equal to the first")
	}
	return ring
}

func (p *jsonParser) vertex(v *jsonValue) orb.Point {
	if p.vertices++; p.vertices > MaxVertices {
		p.fail(v, "the geometries have more than %d vertices", MaxVertices)
	}
	n := p.numbers(v)
	if p.err != nil {
		return orb.Point{}
	}
	if len(n) < 2 || len(n) > 3 {
		p.fail(v, "a position has 2 numbers, or 3 with a height")
		return orb.Point{}
	}
	return point(n[0], n[1], p.in)
}

// numbers reads an array of numbers.
func (p *jsonParser) numbers(v *jsonValue) []float64 {
	return items(p, v, func(x *jsonValue) float64 {
		v, err := strconv.ParseFloat(x.text, 64)
		if x.kind != 'n' || err != nil {
			p.fail(x, "expected a number")
			return 0
		}
		return v
	})
}

// box parses the numbers of "bbox".
func (p *jsonParser) box(v *jsonValue) Expr {
	n := p.numbers(v)
	if p.err != nil {
		return nil
	}
	b, _, wrong := boxNumbers(n, p.in)
	if wrong.Form != "" {
		return p.fail(v, wrong.Form, wrong.With...)
	}
	p.vertices += 5
	return Geom{relate.BoxGeometry(b), p.in}
}
