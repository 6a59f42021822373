package cql2

import (
	"errors"
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
	"grense/internal/geo/wkb"
)

// spatialTest is a prepared spatial predicate. It is evaluated in the CRS of the record's geometry;
// literals are transformed to it, with extra points on edges that bend.
type spatialTest struct {
	op   SpatialOp
	l, r spatialSide
}

// spatialSide is an operand: a property, or a literal with its prepared form.
type spatialSide struct {
	prop   string
	shown  orb.Geometry  // the literal; nil for a property
	in     crs.ID        // of the literal
	made   *relate.Shape // prepared form of the literal in the CRS madeIn
	madeIn crs.ID
}

func newSpatialTest(e Spatial) *spatialTest {
	return &spatialTest{e.Op, newSpatialSide(e.L), newSpatialSide(e.R)}
}

func newSpatialSide(e Expr) spatialSide {
	switch e := e.(type) {
	case Prop:
		return spatialSide{prop: e.Name}
	case Geom:
		return spatialSide{shown: e.G, in: e.CRS}
	}
	panic(fmt.Sprintf("cql2: geometry of %T", e))
}

// errNoGeometry reports that an operand is null.
var errNoGeometry = errors.New("cql2: no geometry")

func (t *spatialTest) eval(r Record) (Truth, error) {
	hit, err := t.test(r)
	switch {
	case err == nil:
		return truth(hit), nil
	case errors.Is(err, errNoGeometry), errors.Is(err, wkb.ErrInvalid),
		errors.Is(err, relate.ErrPlace), errors.Is(err, relate.ErrUndefined):
		return Null, nil
	}
	return Null, err
}

func (t *spatialTest) test(r Record) (bool, error) {
	first, second := &t.l, &t.r
	if t.l.shown != nil { // the property decides the CRS
		first, second = second, first
	}
	if (t.op == SIntersects || t.op == SDisjoint) && first.shown == nil && second.shown != nil {
		return t.touches(r, first, second)
	}
	return t.relate(r, first, second)
}

// touches evaluates Intersects and Disjoint of a property and a literal, if it can do so without building
// a Shape of the property.
func (t *spatialTest) touches(r Record, property, literal *spatialSide) (bool, error) {
	source, in, err := r.Geometry(property.prop)
	if err != nil {
		return false, err
	}
	if source == nil {
		return false, errNoGeometry
	}
	s, err := literal.literal(&in)
	if err != nil {
		return false, err
	}
	hit, ok, err := s.Intersects(source, edgesOf(r))
	if !ok {
		return t.relate(r, property, literal)
	}
	return hit == (t.op == SIntersects), err
}

// relate evaluates any predicate on any operands.
func (t *spatialTest) relate(r Record, first, second *spatialSide) (bool, error) {
	var target crs.ID
	a, err := first.shape(r, &target)
	if err != nil {
		return false, err
	}
	b, err := second.shape(r, &target)
	if err != nil {
		return false, err
	}
	if first != &t.l {
		a, b = b, a
	}
	return relate.Holds(contextOf(r), t.op, a, b)
}

// shape returns the operand in the CRS target. The first operand sets target to its own CRS.
func (s *spatialSide) shape(r Record, target *crs.ID) (*relate.Shape, error) {
	if s.shown != nil {
		return s.literal(target)
	}
	source, in, err := r.Geometry(s.prop)
	if err != nil {
		return nil, err
	}
	if source == nil {
		return nil, errNoGeometry
	}
	if *target == 0 {
		*target = in
	}
	return relate.New(source, in, *target)
}

// literal returns the literal in the CRS target, and caches it for the next record.
func (s *spatialSide) literal(target *crs.ID) (*relate.Shape, error) {
	if *target == 0 {
		*target = s.in
	}
	if s.made != nil && s.madeIn == *target {
		return s.made, nil
	}
	made, err := relate.Literal(s.shown, s.in, *target)
	if err != nil {
		return nil, err
	}
	s.made, s.madeIn = made, *target
	return made, nil
}

// Edged is a Record that may hold its geometry as Edges; nil if not. The evaluator calls Geometry first.
type Edged interface{ Edges() *relate.Edges }

func edgesOf(r Record) *relate.Edges {
	if e, ok := r.(Edged); ok {
		return e.Edges()
	}
	return nil
}

// Padded is a Record that knows its pad: how far an edge of its geometry that is straight in another CRS may leave the
// envelope of its ends. The unit is that of the geometry's CRS; infinite if unknown.
// Boxes in another CRS then need few transformations.
type Padded interface{ Pad() float64 }

// touchesBox returns the test of a box.
func touchesBox(e BBox) func(Record) (Truth, error) {
	test := &relate.BoxTest{
		Box:    relate.Box{Bound: e.Box, Z: e.Z, CRS: e.CRS},
		Bounds: func(in crs.ID) ([]orb.Bound, bool) { return boxBounds(e, in) },
	}
	return func(r Record) (Truth, error) {
		geometry, in, err := r.Geometry(e.Prop)
		if err != nil {
			return Null, err
		}
		var edges *relate.Edges
		if geometry != nil && test.Plain() {
			edges = edgesOf(r)
		}
		pad := math.Inf(1)
		if p, ok := r.(Padded); ok {
			pad = p.Pad()
		}
		hit, err := test.Touches(geometry, in, edges, pad)
		if errors.Is(err, wkb.ErrInvalid) { // no geometry: matches every box
			return True, nil
		}
		return truth(hit), err
	}
}
