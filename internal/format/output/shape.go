package output

import (
	"errors"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Position is x, y and height in the units of a reference system; a missing height is NaN.
type Position [3]float64

// Shape is a geometry as formats write it. A Point has one position, or none if it is empty;
// a LineString has positions; a Polygon has rings as parts, each a LineString; the others have members.
type Shape struct {
	Kind  wkb.Kind
	Z     bool // some position has a height
	Line  []Position
	Parts []Shape
}

// Shaper converts stored geometries to shapes: transformed, rounded for text formats and,
// if requested, with oriented rings.
type Shaper struct {
	move     crs.Func // nil: as stored
	decimals float64  // 10 to the power of the number of decimals; NaN: do not round x and y
	heights  float64  // the same for heights
	none     bool     // no geometry, whatever the bytes hold
	turn     int      // 1: outer rings run counter-clockwise and holes clockwise; -1: the other way round; 0: as stored
}

// Prepare returns the columns of the options and the Shaper of their geometries.
func (o *Options) Prepare(turn int) ([]Column, *Shaper, error) {
	cols, err := o.Columns()
	if err != nil {
		return nil, nil, err
	}
	s, err := NewShaper(o, turn)
	return cols, s, err
}

func NewShaper(o *Options, turn int) (*Shaper, error) {
	s := &Shaper{turn: turn, none: o.SkipGeometry}
	if o.SkipGeometry {
		return s, nil
	}
	from := o.Collection.Geometry.CRS
	move, err := crs.Between(from, o.CRS)
	if err != nil {
		return nil, err
	}
	if !crs.Same(from, o.CRS) {
		s.move = move
	}
	s.decimals, s.heights = math.Pow10(o.CRS.Decimals()), 100
	return s, nil
}

// Shape converts stored bytes and leaves out empty parts. ok is false for an empty geometry and for bytes
// that are not a geometry.
func (s *Shaper) Shape(b []byte) (Shape, bool, error) {
	if s.none || len(b) == 0 {
		return Shape{}, false, nil
	}
	if _, err := wkb.Check(b); err != nil {
		return Shape{}, false, nil // served as null everywhere
	}
	r := wkb.NewReader(b)
	k, err := r.Header()
	if err != nil {
		return Shape{}, false, err
	}
	g, err := s.read(&r, k, 0)
	if err == errNoPlace {
		return Shape{}, false, nil
	}
	return g, !g.empty(), err
}

// errNoPlace reports a position that cannot be transformed to the reference system:
// its geometry is null, as in GeoJSON.
var errNoPlace = errors.New("format: a position has no place in the reference system")

func (s *Shaper) read(r *wkb.Reader, k wkb.Kind, depth int) (Shape, error) {
	g := Shape{Kind: k}
	var err error
	switch k {
	case wkb.Point, wkb.LineString:
		var run wkb.Run
		if k == wkb.Point {
			run, err = r.Point()
		} else {
			run, err = r.Line()
		}
		if err == nil {
			err = s.positions(&g, &run)
		}
		return g, err
	}
	n, err := r.Parts(k)
	for i := 0; i < n && err == nil; i++ {
		var part Shape
		if k == wkb.Polygon {
			part, err = s.ring(r, i > 0)
		} else {
			var m wkb.Kind
			if m, err = r.Member(k, depth); err == nil {
				part, err = s.read(r, m, depth+1)
			}
		}
		if err == nil && !part.empty() {
			g.Z = g.Z || part.Z
			g.Parts = append(g.Parts, part)
		}
	}
	return g, err
}

func (s *Shaper) ring(r *wkb.Reader, hole bool) (Shape, error) {
	g := Shape{Kind: wkb.LineString}
	run, err := r.Line()
	if err != nil {
		return g, err
	}
	if err := s.positions(&g, &run); err != nil {
		return g, err
	}
	// Transformations preserve orientation, so the stored coordinates show it.
	if a := run.Area(); s.turn != 0 && a != 0 && (a > 0) != (s.turn > 0) != hole {
		for i, j := 0, len(g.Line)-1; i < j; i, j = i+1, j-1 {
			g.Line[i], g.Line[j] = g.Line[j], g.Line[i]
		}
	}
	return g, nil
}

// positions appends the positions of a run.
func (s *Shaper) positions(g *Shape, run *wkb.Run) error {
	g.Line = make([]Position, run.Len())
	for i := range g.Line {
		x, y := run.XY(i)
		if s.move != nil {
			x, y = s.move(x, y)
		}
		if !wkb.Valid(x) || !wkb.Valid(y) {
			return errNoPlace
		}
		z := run.Z(i)
		if z == z {
			g.Z = true
			z = round(z, s.heights)
		}
		g.Line[i] = Position{round(x, s.decimals), round(y, s.decimals), z}
	}
	return nil
}

// round rounds half away from zero to a number of decimals, given as its power of ten, and never returns -0.
// NaN means no rounding.
func round(v, scale float64) float64 {
	if scale != scale {
		return v
	}
	return math.Round(v*scale)/scale + 0
}

func (g *Shape) empty() bool { return len(g.Line) == 0 && len(g.Parts) == 0 }

// Each calls fn with every position.
func (g *Shape) Each(fn func(Position)) {
	for _, p := range g.Line {
		fn(p)
	}
	for i := range g.Parts {
		g.Parts[i].Each(fn)
	}
}

// Bound returns the envelope, x before y.
func (g *Shape) Bound() orb.Bound {
	b := wkb.EmptyBound()
	g.Each(func(p Position) { wkb.Extend(&b, p[0], p[1]) })
	return b
}

// Multi returns the shape as the multi type of its kind, so that a layer has one type.
func (g Shape) Multi() Shape {
	if g.Kind >= wkb.Point && g.Kind <= wkb.Polygon {
		return Shape{Kind: g.Kind + 3, Z: g.Z, Parts: []Shape{g}}
	}
	return g
}

// appendWKB appends the shape as ISO WKB. With z all positions have heights; missing ones become NaN.
func (g *Shape) appendWKB(dst []byte, z bool) []byte {
	dst = wkb.AppendHeader(dst, g.Kind, z)
	switch g.Kind {
	case wkb.Point:
		return appendPositions(dst, g.Line, z)
	case wkb.LineString:
		return appendPositions(wkb.AppendCount(dst, len(g.Line)), g.Line, z)
	}
	dst = wkb.AppendCount(dst, len(g.Parts))
	for i := range g.Parts {
		if g.Kind == wkb.Polygon {
			dst = appendPositions(wkb.AppendCount(dst, len(g.Parts[i].Line)), g.Parts[i].Line, z)
		} else {
			dst = g.Parts[i].appendWKB(dst, z)
		}
	}
	return dst
}

func appendPositions(dst []byte, line []Position, z bool) []byte {
	for _, p := range line {
		if z {
			dst = wkb.AppendXYZ(dst, p[0], p[1], p[2])
		} else {
			dst = wkb.AppendXY(dst, p[0], p[1])
		}
	}
	return dst
}

// LayerKind returns the one type of geometries in a file of the collection, Multi if they may be mixed;
// 0 if only the features show it.
func (o *Options) LayerKind() wkb.Kind {
	if o.SkipGeometry {
		return 0
	}
	switch o.Collection.Geometry.Type {
	case "Point":
		return wkb.Point
	case "LineString", "MultiLineString":
		return wkb.MultiLineString
	case "Polygon", "MultiPolygon":
		return wkb.MultiPolygon
	case "MultiPoint":
		return wkb.MultiPoint
	}
	return 0
}
