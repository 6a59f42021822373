package cql2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
)

// spatialTest is a prepared spatial predicate. It is computed in the CRS of the record's geometry, to which literals are transformed with
// points on edges that bend (see bent).
type spatialTest struct {
	op   SpatialOp
	l, r spatialSide
}

// spatialSide is an operand: a property, or a literal with what was made of it.
type spatialSide struct {
	prop   string
	shown  orb.Geometry // the literal; nil for a property
	in     crs.ID       // of the literal
	made   *shape       // of the literal, for the CRS madeIn
	madeIn crs.ID
}

// shape is a geometry ready for predicates.
type shape struct {
	flat
	tried bool
	topo  *topology  // nil when it is a collection
	area  *region    // of literals for Intersects; nil when it is none
	point *orb.Point // the same
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
	case errors.Is(err, errNoGeometry), errors.Is(err, wkb.ErrInvalid), errors.Is(err, errPlace), errors.Is(err, errUndefined):
		return Null, nil
	}
	return Null, err
}

func (t *spatialTest) test(r Record) (bool, error) {
	first, second := &t.l, &t.r
	if t.l.shown != nil { // a property rules the CRS
		first, second = second, first
	}
	if (t.op == SIntersects || t.op == SDisjoint) && first.shown == nil && second.shown != nil {
		return t.touches(r, first, second)
	}
	return t.relate(r, first, second)
}

// touches computes Intersects and Disjoint of a property and a literal that is an area or a point, without making the former a geometry.
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
	var hit bool
	switch {
	case s.area != nil:
		hit, err = s.area.touches(source)
	case s.point != nil:
		if edges := edgesOf(r); edges != nil {
			hit = edges.touches(&orb.Bound{Min: *s.point, Max: *s.point})
		} else {
			hit, err = pointTouches(source, *s.point)
		}
	default:
		return t.relate(r, property, literal)
	}
	return hit == (t.op == SIntersects), err
}

// relate computes any predicate of any operands.
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
	if known, answer := envelopes(t.op, a.bound, b.bound); known {
		return answer, nil
	}
	return relate(contextOf(r), t.op, a, b)
}

// shape returns the operand in the CRS target, which the first operand sets to its own.
func (s *spatialSide) shape(r Record, target *crs.ID) (*shape, error) {
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
	return newShape(source, in, *target)
}

// literal returns the literal in the CRS target, and keeps it for the next record.
func (s *spatialSide) literal(target *crs.ID) (*shape, error) {
	if *target == 0 {
		*target = s.in
	}
	if s.made != nil && s.madeIn == *target {
		return s.made, nil
	}
	made, err := newShape(wkb.Append(nil, bent(s.shown, s.in, *target)), s.in, *target)
	if err != nil {
		return nil, err
	}
	if made.area = newRegion(made.flat); made.area == nil {
		made.point = onePoint(made.flat)
	}
	s.made, s.madeIn = made, *target
	return made, nil
}

// onePoint returns the position of a point; nil when f is something else.
func onePoint(f flat) *orb.Point {
	r := wkb.NewReader(f.wkb)
	if kind, err := r.Header(); err != nil || kind != wkb.Point || f.bound.IsEmpty() {
		return nil
	}
	return &f.bound.Min
}

func newShape(source []byte, from, to crs.ID) (*shape, error) {
	var f crs.Func
	if !crs.Same(from, to) {
		var err error
		if f, err = crs.Between(from, to); err != nil {
			return nil, fmt.Errorf("cql2: geometry: %w", err)
		}
	}
	flat, err := flatten(source, f)
	return &shape{flat: flat}, err
}

// topology returns the geometry ready for relation; nil when it is a collection.
func (s *shape) topology() *topology {
	if !s.tried {
		s.tried, s.topo = true, newTopology(s.flat)
	}
	return s.topo
}

// envelopes answers from the bounds alone where that is possible. An empty geometry is disjoint from everything.
func envelopes(op SpatialOp, a, b orb.Bound) (known, answer bool) {
	if a.IsEmpty() || b.IsEmpty() || !a.Intersects(b) {
		return true, op == SDisjoint
	}
	switch op {
	case SEquals:
		return a != b, false
	case SWithin:
		return !covered(a, b), false
	case SContains:
		return !covered(b, a), false
	}
	return false, false
}

// covered reports whether a lies in b.
func covered(a, b orb.Bound) bool { return b.Contains(a.Min) && b.Contains(a.Max) }

// errUndefined reports that a predicate has no answer, as for an invalid polygon.
var errUndefined = errors.New("cql2: the predicate is not defined for these geometries")

// relate computes the exact predicate (OGC 06-103r4, 6.1.15), until ctx ends.
func relate(ctx context.Context, op SpatialOp, a, b *shape) (bool, error) {
	if x, y := a.topology(), b.topology(); x != nil && y != nil {
		return holdsRelation(ctx, op, x, y)
	}
	return relateCollections(op, a, b)
}

// maxCollection bounds the bytes of two geometries of which one is a collection. Their comparison cannot be broken off, and takes about a second
// of this size.
const maxCollection = 20_000 * 16

// maxMeetings bounds the pairs of edges whose boxes meet when a collection is compared, besides those that follow each other.
const maxMeetings = 50_000

// meetOften reports whether edges of two geometries, or of one of them, may meet more often than maxMeetings.
func meetOften(geometries ...flat) bool {
	var boxes []orb.Bound
	for _, f := range geometries {
		err := wkb.Walk(f.wkb, func(r wkb.Run) bool {
			for i := 1; i < r.Len(); i++ {
				b := wkb.EmptyBound()
				for k := i - 1; k <= i; k++ {
					x, y := r.XY(k)
					wkb.Extend(&b, x, y)
				}
				if b.Min != b.Max { // a position that is repeated is no edge
					boxes = append(boxes, b)
				}
			}
			return true
		})
		if err != nil {
			return false // the caller reads it again and reports the error
		}
	}
	slices.SortFunc(boxes, func(a, b orb.Bound) int { return cmp.Compare(a.Min[0], b.Min[0]) })
	var active []int
	met := -len(boxes)
	for i, b := range boxes {
		left := active[:0]
		for _, k := range active {
			if boxes[k].Max[0] < b.Min[0] {
				continue
			}
			left = append(left, k)
			if boxes[k].Min[1] <= b.Max[1] && boxes[k].Max[1] >= b.Min[1] {
				met++
			}
		}
		if met > maxMeetings {
			return true
		}
		active = append(left, i)
	}
	return false
}

// relateCollections computes the predicate where a geometry has parts of several dimensions, or none of the extent of its type.
func relateCollections(op SpatialOp, a, b *shape) (bool, error) {
	if len(a.wkb)+len(b.wkb) > maxCollection {
		return false, problem.New(problem.Invalid, nil, "%s compares a geometry collection, and both geometries have more than 20,000 positions together. Use bbox, or a filter that leaves such collections out.", op)
	}
	if meetOften(a.flat, b.flat) {
		return false, problem.New(problem.Invalid, nil, "%s compares a geometry collection, and edges of both geometries meet more than 50,000 times. Use bbox, or a filter that leaves such collections out.", op)
	}
	x, err1 := geom.UnmarshalWKB(a.wkb, geom.NoValidate{})
	y, err2 := geom.UnmarshalWKB(b.wkb, geom.NoValidate{})
	if err := errors.Join(err1, err2); err != nil {
		return false, fmt.Errorf("%w: %w", wkb.ErrInvalid, err)
	}
	f := map[SpatialOp]func(a, b geom.Geometry) (bool, error){
		SEquals: geom.Equals, STouches: geom.Touches, SCrosses: geom.Crosses, SOverlaps: geom.Overlaps, SWithin: geom.Within, SContains: geom.Contains,
		SIntersects: func(a, b geom.Geometry) (bool, error) { return geom.Intersects(a, b), nil },
		SDisjoint:   func(a, b geom.Geometry) (bool, error) { return !geom.Intersects(a, b), nil },
	}[op]
	if f == nil {
		panic(fmt.Sprintf("cql2: spatial predicate %q", op))
	}
	hit, err := f(x, y)
	if err != nil {
		return false, fmt.Errorf("%w: %v", errUndefined, err)
	}
	return hit, nil
}
