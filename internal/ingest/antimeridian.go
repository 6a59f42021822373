package ingest

import (
	"fmt"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// halfTurn is half of the way around the world, in degrees.
const halfTurn = 180

// cutWorld brings a geometry in degrees that crosses the antimeridian into the form of RFC 7946, 3.1.9: cut there, with all longitudes within
// ±180. cut is nil where nothing is done; warn tells why where it looks as if something should. An edge that goes more than half around the
// world is taken as the short one, but in rectangles, which may be as wide as they say, and around poles.
func cutWorld(s *shape) (cut *shape, warn string) {
	if s.kind == collection {
		out := *s
		out.shapes = slices.Clone(s.shapes)
		for i := range out.shapes {
			part, wrong := cutWorld(&out.shapes[i])
			if part != nil {
				out.shapes[i], cut = *part, &out
			}
			if wrong != "" {
				warn = wrong
			}
		}
		return cut, warn
	}
	if s.kind == point || s.kind == multiPoint || s.kind == 0 || !s.goesAround() {
		return nil, ""
	}
	flat, warn := s.unwrap()
	if flat == nil {
		return nil, warn
	}
	if s.hasZ {
		return nil, "it crosses the antimeridian, where it would lose its heights if it were cut (RFC 7946, 3.1.9); cut it in its source"
	}
	out, err := flat.strips()
	if err != nil || out == nil {
		return nil, "it seems to cross the antimeridian, and could not be cut there (RFC 7946, 3.1.9); cut it in its source"
	}
	return out, ""
}

// goesAround tells whether some edge is longer than half a turn, or a longitude lies beyond it, by less than a turn.
func (s *shape) goesAround() bool {
	around, other := false, false
	s.lines(func(from, to int) {
		for i := from; i < to; i++ {
			x := math.Abs(s.xyz[3*i])
			other = other || x > 3*halfTurn || math.Abs(s.xyz[3*i+1]) > 90+slack // no degrees
			around = around || x > halfTurn+slack || i > from && math.Abs(s.xyz[3*i]-s.xyz[3*i-3]) > halfTurn
		}
	})
	return around && !other
}

// lines calls fn for each line or ring.
func (s *shape) lines(fn func(from, to int)) {
	if s.kind == lineString {
		fn(0, s.positions())
		return
	}
	from := 0
	for _, to := range s.ends {
		fn(from, to)
		from = to
	}
}

// unwrap makes longitudes go on beyond ±180, so that no edge is longer than half a turn; nil where the intent is another or cannot be told.
func (s *shape) unwrap() (out *shape, warn string) {
	o := *s
	o.xyz = slices.Clone(s.xyz)
	const odd = "an edge goes more than half around the world, and whether it crosses the antimeridian cannot be told (RFC 7946, 3.1.9): "
	areal := s.kind == polygon || s.kind == multiPolygon
	shell := 0 // where the outer ring begins
	outers := map[int]bool{}
	if areal {
		s.rings(func(from, _ int, outer bool) { outers[from] = outer })
	}
	collapsed, partial := false, false
	o.lines(func(from, to int) {
		turn, square := 0.0, true
		for i := from + 1; i < to; i++ {
			d := s.xyz[3*i] - s.xyz[3*i-3]
			square = square && (d == 0 || s.xyz[3*i+1] == s.xyz[3*i-2])
			if math.Abs(d) > halfTurn {
				turn -= math.Copysign(2*halfTurn, d)
				partial = partial || math.Abs(d) < 2*halfTurn-slack
			}
			o.xyz[3*i] += turn
		}
		switch {
		case !areal || to == from:
		case turn != 0:
			warn = odd + "it goes around a pole"
		case square && o.changed(s, from, to):
			warn = odd + "it is a rectangle"
		case o.area(from, to) == 0:
			collapsed = true
		case outers[from]:
			shell = from
		default: // a hole lies beside its shell
			o.shift(from, to, 2*halfTurn*math.Round((o.xyz[3*shell]-o.xyz[3*from])/(2*halfTurn)))
		}
	})
	if collapsed || !partial && warn != "" { // around the world, from -180 to 180
		return nil, ""
	}
	if warn != "" {
		return nil, warn
	}
	o.ends, o.polys = slices.Clone(s.ends), slices.Clone(s.polys)
	o.orient()
	return &o, ""
}

// changed tells whether longitudes differ from those of o.
func (s *shape) changed(o *shape, from, to int) bool {
	return !slices.Equal(s.xyz[3*from:3*to], o.xyz[3*from:3*to])
}

func (s *shape) shift(from, to int, dx float64) {
	for i := from; i < to; i++ {
		s.xyz[3*i] += dx
	}
}

// strips cuts an unwrapped geometry at every antimeridian and brings the pieces into ±180. The library may panic on what is not valid.
func (s *shape) strips() (out *shape, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("ingest: %v", r)
		}
	}()
	if v := validate(s, s.append(nil)); v.shape != nil {
		s = v.shape
	} else if v.action != "" {
		return nil, fmt.Errorf("ingest: %s", v.reason)
	}
	g, err := geom.UnmarshalWKB(s.append(nil), geom.NoValidate{})
	if err != nil {
		return nil, err
	}
	out = &shape{kind: multiPolygon}
	if s.kind == lineString || s.kind == multiLineString {
		out.kind = multiLineString
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := 0; i < len(s.xyz); i += 3 {
		lo, hi = min(lo, s.xyz[i]), max(hi, s.xyz[i])
	}
	for turn := math.Floor((lo + halfTurn) / (2 * halfTurn)); 2*halfTurn*turn-halfTurn < hi; turn++ {
		west := 2*halfTurn*turn - halfTurn
		box := geom.NewEnvelope(geom.XY{X: west, Y: -91}, geom.XY{X: west + 2*halfTurn, Y: 91}).AsGeometry()
		piece, err := geom.Intersection(g, box)
		if err != nil {
			return nil, err
		}
		if err := out.gather(piece, -2*halfTurn*turn); err != nil {
			return nil, err
		}
	}
	if len(out.ends) == 0 {
		return nil, nil
	}
	if out.kind == multiPolygon {
		before, after := s.sumArea(false), out.sumArea(false)
		if math.Abs(after-before) > maxDoubt*before {
			return nil, fmt.Errorf("ingest: the area moved from %v to %v", before, after)
		}
		out.orient()
	}
	return out, nil
}

// gather adds the polygons or lines of a geometry, shifted; those of lower dimension, which only touch the cut, are left out.
func (s *shape) gather(g geom.Geometry, dx float64) error {
	for _, part := range g.Dump() {
		p, err := fromSimple(part)
		if err != nil {
			return err
		}
		switch {
		case p.kind == polygon && s.kind == multiPolygon, p.kind == lineString && s.kind == multiLineString:
		default:
			continue
		}
		p.shift(0, p.positions(), dx)
		n := s.positions()
		s.xyz = append(s.xyz, p.xyz...)
		if p.kind == lineString {
			s.ends = append(s.ends, s.positions())
			continue
		}
		for _, end := range p.ends {
			s.ends = append(s.ends, n+end)
		}
		s.polys = append(s.polys, len(s.ends))
	}
	return nil
}
