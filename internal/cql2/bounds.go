package cql2

import (
	"math"

	"github.com/paulmach/orb"

	"grense/internal/crs"
)

// Bounds tells what is known of a predicate from the envelope of a geometry alone. It is not safe for concurrent use.
type Bounds struct{ test func(orb.Bound) Truth }

// NewBounds prepares a checked predicate for envelopes of the geometry property geom in the CRS in. pad is how far an edge that is straight
// in another CRS may lie outside of the envelope of its ends, in units of in; infinite when that is not known. It returns nil when envelopes
// tell nothing.
func NewBounds(e Expr, geom string, in crs.ID, pad float64) *Bounds {
	if test := bounds(e, geom, in, pad); test != nil {
		return &Bounds{test}
	}
	return nil
}

// Test returns True or False when that is the value of the predicate for every record whose geometry lies in b, borders included, and has at
// least one vertex and none that is not finite; else Null.
func (b *Bounds) Test(box orb.Bound) Truth { return b.test(box) }

// bounds is nil where nothing is known. With Null for what is not known, the logic is that of predicates.
func bounds(e Expr, geom string, in crs.ID, pad float64) func(orb.Bound) Truth {
	switch e := e.(type) {
	case And:
		return boundsOf(e, False, geom, in, pad)
	case Or:
		return boundsOf(e, True, geom, in, pad)
	case Not:
		if x := bounds(e.X, geom, in, pad); x != nil {
			return func(b orb.Bound) Truth { return -x(b) }
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

func boundsOf(list []Expr, decisive Truth, geom string, in crs.ID, pad float64) func(orb.Bound) Truth {
	var tests []func(orb.Bound) Truth
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
	return func(b orb.Bound) Truth {
		sum := -decisive
		if !all {
			sum = Null
		}
		for _, t := range tests {
			switch t(b) {
			case decisive:
				return decisive
			case Null:
				sum = Null
			}
		}
		return sum
	}
}

func boundsOfBox(e BBox, in crs.ID, pad float64) func(orb.Bound) Truth {
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
	return func(b orb.Bound) Truth {
		t := False
		for _, box := range boxes {
			switch {
			case !box.Intersects(b):
			case same && e.Z == nil && covered(b, box):
				return True
			default:
				t = Null
			}
		}
		return t
	}
}

// boundsOfSpatial knows what is apart, and for Intersects and Disjoint what lies in an area.
func boundsOfSpatial(op SpatialOp, literal Expr, in crs.ID) func(orb.Bound) Truth {
	if _, ok := literal.(Geom); !ok {
		return nil
	}
	side := newSpatialSide(literal)
	s, err := side.literal(&in)
	if err != nil || s.bound.IsEmpty() {
		return nil
	}
	return func(b orb.Bound) Truth {
		t := Null
		switch {
		case !s.bound.Intersects(b):
			t = False
		case s.area != nil && (op == SIntersects || op == SDisjoint):
			t = s.area.box(b)
		}
		if op == SDisjoint {
			return -t
		}
		return t
	}
}
