package ingest

import (
	"fmt"
	"grense/internal/format/input"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// halfTurn is half of a turn around the globe, in degrees.
const halfTurn = 180

// cutWorld cuts a geometry in degrees that crosses the antimeridian (RFC 7946, 3.1.9), so that all longitudes are
// within ±180. cut is nil if nothing is done; warn is the reason if it looks as if something should be done.
// An edge of more than half a turn counts as the short one, except around poles and in rectangles, which may be that
// wide.
func cutWorld(s *input.Shape) (cut *input.Shape, warn string) {
	if s.Kind == input.Collection {
		out := *s
		out.Shapes = slices.Clone(s.Shapes)
		for i := range out.Shapes {
			part, wrong := cutWorld(&out.Shapes[i])
			if part != nil {
				out.Shapes[i], cut = *part, &out
			}
			if wrong != "" {
				warn = wrong
			}
		}
		return cut, warn
	}
	if s.Kind == input.Point || s.Kind == input.MultiPoint || s.Kind == 0 || !goesAround(s) {
		return nil, ""
	}
	flat, warn := unwrapShape(s)
	if flat == nil {
		return nil, warn
	}
	if s.HasZ {
		return nil, "it crosses the antimeridian, where it would lose its heights if it were cut (RFC 7946, 3.1.9); " +
			"cut it in its source"
	}
	out, err := intoStrips(flat)
	if err != nil || out == nil {
		return nil,
			"it seems to cross the antimeridian, and could not be cut there (RFC 7946, 3.1.9); cut it in its source"
	}
	return out, ""
}

// goesAround reports whether some edge is longer than half a turn, or a longitude exceeds ±180 by less than a turn.
func goesAround(s *input.Shape) bool {
	around, other := false, false
	eachLine(s, func(from, to int) {
		for i := from; i < to; i++ {
			x := math.Abs(s.XYZ[3*i])
			other = other || x > 3*halfTurn || math.Abs(s.XYZ[3*i+1]) > 90+slack // not degrees
			around = around || x > halfTurn+slack || i > from && math.Abs(s.XYZ[3*i]-s.XYZ[3*i-3]) > halfTurn
		}
	})
	return around && !other
}

// eachLine calls fn for each line or ring.
func eachLine(s *input.Shape, fn func(from, to int)) {
	if s.Kind == input.LineString {
		fn(0, s.Positions())
		return
	}
	from := 0
	for _, to := range s.Ends {
		fn(from, to)
		from = to
	}
}

// unwrapShape continues longitudes beyond ±180, so that no edge is longer than half a turn.
// It returns nil if the intent is different or unclear.
func unwrapShape(s *input.Shape) (out *input.Shape, warn string) {
	o := *s
	o.XYZ = slices.Clone(s.XYZ)
	const odd = "an edge goes more than half around the world, and whether it crosses the antimeridian cannot be " +
		"told (RFC 7946, 3.1.9): "
	areal := s.Kind == input.Polygon || s.Kind == input.MultiPolygon
	shell := 0 // start of the outer ring
	outers := map[int]bool{}
	if areal {
		s.Rings(func(from, _ int, outer bool) { outers[from] = outer })
	}
	collapsed, partial := false, false
	eachLine(&o, func(from, to int) {
		turn, square := 0.0, true
		for i := from + 1; i < to; i++ {
			d := s.XYZ[3*i] - s.XYZ[3*i-3]
			square = square && (d == 0 || s.XYZ[3*i+1] == s.XYZ[3*i-2])
			if math.Abs(d) > halfTurn {
				turn -= math.Copysign(2*halfTurn, d)
				partial = partial || math.Abs(d) < 2*halfTurn-slack
			}
			o.XYZ[3*i] += turn
		}
		switch {
		case !areal || to == from:
		case turn != 0:
			warn = odd + "it goes around a pole"
		case square && changedLine(&o, s, from, to):
			warn = odd + "it is a rectangle"
		case o.Area(from, to) == 0:
			collapsed = true
		case outers[from]:
			shell = from
		default: // the hole lies beside its shell
			shiftLine(&o, from, to, 2*halfTurn*math.Round((o.XYZ[3*shell]-o.XYZ[3*from])/(2*halfTurn)))
		}
	})
	if collapsed || !partial && warn != "" { // around the world, from -180 to 180
		return nil, ""
	}
	if warn != "" {
		return nil, warn
	}
	o.Ends, o.Polys = slices.Clone(s.Ends), slices.Clone(s.Polys)
	o.Orient()
	return &o, ""
}

// changedLine reports whether longitudes differ from those of o.
func changedLine(s *input.Shape, o *input.Shape, from, to int) bool {
	return !slices.Equal(s.XYZ[3*from:3*to], o.XYZ[3*from:3*to])
}

func shiftLine(s *input.Shape, from, to int, dx float64) {
	for i := from; i < to; i++ {
		s.XYZ[3*i] += dx
	}
}

// intoStrips cuts an unwrapped geometry at every antimeridian and shifts the pieces into ±180.
// The library may panic on invalid geometries.
func intoStrips(s *input.Shape) (out *input.Shape, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("ingest: %v", r)
		}
	}()
	if v := validate(s, s.Append(nil)); v.shape != nil {
		s = v.shape
	} else if v.action != "" {
		return nil, fmt.Errorf("ingest: %s", v.reason)
	}
	g, err := geom.UnmarshalWKB(s.Append(nil), geom.NoValidate{})
	if err != nil {
		return nil, err
	}
	out = &input.Shape{Kind: input.MultiPolygon}
	if s.Kind == input.LineString || s.Kind == input.MultiLineString {
		out.Kind = input.MultiLineString
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := 0; i < len(s.XYZ); i += 3 {
		lo, hi = min(lo, s.XYZ[i]), max(hi, s.XYZ[i])
	}
	for turn := math.Floor((lo + halfTurn) / (2 * halfTurn)); 2*halfTurn*turn-halfTurn < hi; turn++ {
		west := 2*halfTurn*turn - halfTurn
		box := geom.NewEnvelope(geom.XY{X: west, Y: -91}, geom.XY{X: west + 2*halfTurn, Y: 91}).AsGeometry()
		piece, err := geom.Intersection(g, box)
		if err != nil {
			return nil, err
		}
		if err := gatherStrips(out, piece, -2*halfTurn*turn); err != nil {
			return nil, err
		}
	}
	if len(out.Ends) == 0 {
		return nil, nil
	}
	if out.Kind == input.MultiPolygon {
		before, after := sumArea(s, false), sumArea(out, false)
		if math.Abs(after-before) > maxDoubt*before {
			return nil, fmt.Errorf("ingest: the area moved from %v to %v", before, after)
		}
		out.Orient()
	}
	return out, nil
}

// gatherStrips adds the polygons or lines of a geometry, shifted by dx. It skips parts of lower dimension,
// which only touch the cut.
func gatherStrips(s *input.Shape, g geom.Geometry, dx float64) error {
	for _, part := range g.Dump() {
		p, err := input.FromSimple(part)
		if err != nil {
			return err
		}
		switch {
		case p.Kind == input.Polygon && s.Kind == input.MultiPolygon, p.Kind == input.LineString &&
			s.Kind == input.MultiLineString:
		default:
			continue
		}
		shiftLine(&p, 0, p.Positions(), dx)
		n := s.Positions()
		s.XYZ = append(s.XYZ, p.XYZ...)
		if p.Kind == input.LineString {
			s.Ends = append(s.Ends, s.Positions())
			continue
		}
		for _, end := range p.Ends {
			s.Ends = append(s.Ends, n+end)
		}
		s.Polys = append(s.Polys, len(s.Ends))
	}
	return nil
}
