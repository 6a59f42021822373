package cql2

import (
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
)

// Bounds evaluates a predicate on the envelope of a geometry alone, as far as that decides it.
// It is not safe for concurrent use.
type Bounds struct{ test envelopeTest }

// envelopeTest is Bounds.Test.
type envelopeTest func(b orb.Bound, slack float64) Truth

// NewBounds prepares a checked predicate for envelopes of the geometry property geom in the CRS in.
// pad is how far an edge that is straight in another CRS may leave the envelope of its ends, in units of in;
// infinite if unknown. It returns nil if envelopes decide nothing.
func NewBounds(e Expr, geom string, in crs.ID, pad float64) *Bounds {
	if test := bounds(e, geom, in, pad); test != nil {
		return &Bounds{test}
	}
	return nil
}

// Test returns True or False if the predicate has that value for every record whose geometry lies in b,
// borders included. Otherwise it returns Null. The geometries have at least one vertex,
// and all their coordinates are finite.
// Each such geometry has a vertex within slack of each side of b; slack is infinite if that is unknown.
func (b *Bounds) Test(box orb.Bound, slack float64) Truth { return b.test(box, slack) }

// bounds returns nil if nothing is known. Null stands for an unknown value and follows three-valued logic.
func bounds(e Expr, geom string, in crs.ID, pad float64) envelopeTest {
	switch e := e.(type) {
	case And:
		return boundsOf(e, False, geom, in, pad)
	case Or:
		return boundsOf(e, True, geom, in, pad)
	case Not:
		if x := bounds(e.X, geom, in, pad); x != nil {
			return func(b orb.Bound, slack float64) Truth { return -x(b, slack) }
		}
	case BBox:
		if e.Prop == geom {
			return boundsOfBox(e, in, pad)
		}
	case Spatial:
		if p, ok := e.L.(Prop); ok && p.Name == geom {
			return boundsOfSpatial(e.Op, e.R, in)
		}
		if p, ok := e.R.(Prop); ok && p.Name == geom {
			return boundsOfSpatial(e.Op, e.L, in)
		}
	}
	return nil
}

func boundsOf(list []Expr, decisive Truth, geom string, in crs.ID, pad float64) envelopeTest {
	var tests []envelopeTest
	all := true
	for _, x := range list {
		if t := bounds(x, geom, in, pad); t != nil {
			tests = append(tests, t)
		} else {
			all = false
		}
	}
	if tests == nil {
		return nil
	}
	return func(b orb.Bound, slack float64) Truth {
		sum := -decisive
		if !all {
			sum = Null
		}
		for _, t := range tests {
			switch t(b, slack) {
			case decisive:
				return decisive
			case Null:
				sum = Null
			}
		}
		return sum
	}
}

func boundsOfBox(e BBox, in crs.ID, pad float64) envelopeTest {
	boxes, ok := boxBounds(e, in)
	same := crs.Same(e.CRS, in)
	if !ok || !same && (math.IsInf(pad, 0) || math.IsNaN(pad)) {
		return nil
	}
	if !same {
		for i := range boxes {
			boxes[i] = boxes[i].Pad(pad)
		}
	}
	return func(b orb.Bound, slack float64) Truth {
		t := False
		for _, box := range boxes {
			switch {
			case !box.Intersects(b):
			case same && e.Z == nil && (relate.Covered(b, box) || coversSide(box, b, slack)):
				return True
			default:
				t = Null
			}
		}
		return t
	}
}

// coversSide reports whether box covers one side of b over its whole length, and at least slack into b.
func coversSide(box, b orb.Bound, slack float64) bool {
	for i := range 2 {
		across := 1 - i
		if box.Min[across] > b.Min[across] || box.Max[across] < b.Max[across] {
			continue
		}
		if box.Min[i] <= b.Min[i] && box.Max[i] >= b.Min[i]+slack || box.Max[i] >= b.Max[i] &&
			box.Min[i] <= b.Max[i]-slack {
			return true
		}
	}
	return false
}

// boundsOfSpatial detects envelopes apart from the literal, and for Intersects and Disjoint also those inside an area.
func boundsOfSpatial(op SpatialOp, literal Expr, in crs.ID) envelopeTest {
	if _, ok := literal.(Geom); !ok {
		return nil
	}
	side := newSpatialSide(literal)
	s, err := side.literal(&in)
	if err != nil || s.Bound().IsEmpty() {
		return nil
	}
	area := s.IsArea() && (op == SIntersects || op == SDisjoint)
	return func(b orb.Bound, _ float64) Truth {
		all, none := false, !s.Bound().Intersects(b)
		if !none && area {
			all, none = s.InBox(b)
		}
		t := Null
		switch {
		case all:
			t = True
		case none:
			t = False
		}
		if op == SDisjoint {
			return -t
		}
		return t
	}
}
