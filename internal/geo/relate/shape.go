package relate

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

// Shape is a planar geometry prepared for predicates. It is not safe for concurrent use.
type Shape struct {
	flat
	tried bool
	topo  *topology  // nil for a collection
	area  *region    // for literals and Intersects; nil if not an area
	point *orb.Point // for literals and Intersects; nil if not a point
}

// New returns a geometry from WKB (ISO or EWKB), with its vertices transformed from one CRS to another.
// It returns ErrPlace if a vertex cannot be transformed.
func New(geometry []byte, from, to crs.ID) (*Shape, error) {
	var f crs.Func
	if !crs.Same(from, to) {
		var err error
		if f, err = crs.Between(from, to); err != nil {
			return nil, fmt.Errorf("relate: %w", err)
		}
	}
	flat, err := flatten(geometry, f)
	return &Shape{flat: flat}, err
}

// Literal returns a geometry that is compared with many others in the CRS to. Its edges are straight in the CRS from.
func Literal(g orb.Geometry, from, to crs.ID) (*Shape, error) {
	s, err := New(wkb.Append(nil, bent(g, from, to)), from, to)
	if err != nil {
		return nil, err
	}
	if s.area = newRegion(s.flat); s.area == nil {
		s.point = onePoint(s.flat)
	}
	return s, nil
}

// Bound returns the envelope, which is empty if the geometry is.
func (s *Shape) Bound() orb.Bound { return s.bound }

// IsArea reports whether a literal is an area, so that InBox decides more than its envelope.
func (s *Shape) IsArea() bool { return s.area != nil }

// InBox reports what is true of all geometries in a box: that they intersect the area, or that none does.
func (s *Shape) InBox(b orb.Bound) (all, none bool) { return s.area.box(b) }

// Intersects reports whether a literal that is an area or a point intersects a geometry in WKB in its CRS.
// edges is the prepared geometry, or nil. ok is false if the literal is neither.
func (s *Shape) Intersects(geometry []byte, edges *Edges) (hit, ok bool, err error) {
	switch {
	case s.area != nil:
		hit, err = s.area.touches(geometry)
	case s.point == nil:
		return false, false, nil
	case edges != nil:
		hit = edges.touches(&orb.Bound{Min: *s.point, Max: *s.point})
	default:
		hit, err = pointTouches(geometry, *s.point)
	}
	return hit, true, err
}

// onePoint returns the position of a point; nil when f is something else.
func onePoint(f flat) *orb.Point {
	r := wkb.NewReader(f.wkb)
	if kind, err := r.Header(); err != nil || kind != wkb.Point || f.bound.IsEmpty() {
		return nil
	}
	return &f.bound.Min
}

// topology returns the geometry prepared for relation; nil for a collection.
func (s *Shape) topology() *topology {
	if !s.tried {
		s.tried, s.topo = true, newTopology(s.flat)
	}
	return s.topo
}

// envelopes decides a predicate from the bounds alone if possible. An empty geometry is disjoint from everything.
func envelopes(op Op, a, b orb.Bound) (known, answer bool) {
	if a.IsEmpty() || b.IsEmpty() || !a.Intersects(b) {
		return true, op == Disjoint
	}
	switch op {
	case Equals:
		return a != b, false
	case Within:
		return !Covered(a, b), false
	case Contains:
		return !Covered(b, a), false
	}
	return false, false
}

// Covered reports whether a lies in b.
func Covered(a, b orb.Bound) bool { return b.Contains(a.Min) && b.Contains(a.Max) }

// ErrUndefined reports that a predicate has no result, as for an invalid polygon.
var ErrUndefined = errors.New("relate: the predicate is not defined for these geometries")

// Holds evaluates the exact predicate on two geometries in one CRS (OGC 06-103r4, 6.1.15), until ctx ends.
func Holds(ctx context.Context, op Op, a, b *Shape) (bool, error) {
	if known, answer := envelopes(op, a.bound, b.bound); known {
		return answer, nil
	}
	if x, y := a.topology(), b.topology(); x != nil && y != nil {
		return holdsRelation(ctx, op, x, y)
	}
	return relateCollections(op, a, b)
}

// maxCollection bounds the bytes of two geometries of which one is a collection. Their comparison cannot be cancelled;
// at this size it takes about a second.
const maxCollection = 20_000 * 16

// maxMeetings bounds the pairs of edges whose boxes overlap in comparisons of collections.
// Consecutive edges do not count.
const maxMeetings = 50_000

// meetOften reports whether the number of pairs of edges, of two geometries or within one, may exceed maxMeetings.
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
				if b.Min != b.Max { // repeated positions form no edge
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

// relateCollections evaluates the predicate for geometries with parts of several dimensions,
// or with none of the extent of its type.
func relateCollections(op Op, a, b *Shape) (bool, error) {
	if len(a.wkb)+len(b.wkb) > maxCollection {
		return false,
			problem.New(problem.Invalid, nil, "%s compares a geometry collection, and both geometries have more than "+
				"20,000 positions together. Use bbox, or a filter that leaves such collections out.", op)
	}
	if meetOften(a.flat, b.flat) {
		return false,
			problem.New(problem.Invalid, nil, "%s compares a geometry collection, and edges of both geometries meet "+
				"more than 50,000 times. Use bbox, or a filter that leaves such collections out.", op)
	}
	x, err1 := geom.UnmarshalWKB(a.wkb, geom.NoValidate{})
	y, err2 := geom.UnmarshalWKB(b.wkb, geom.NoValidate{})
	if err := errors.Join(err1, err2); err != nil {
		return false, fmt.Errorf("%w: %w", wkb.ErrInvalid, err)
	}
	f := map[Op]func(a, b geom.Geometry) (bool, error){
		Equals: geom.Equals, Touches: geom.Touches, Crosses: geom.Crosses,
		Overlaps: geom.Overlaps, Within: geom.Within, Contains: geom.Contains,
		Intersects: func(a, b geom.Geometry) (bool, error) { return geom.Intersects(a, b), nil },
		Disjoint:   func(a, b geom.Geometry) (bool, error) { return !geom.Intersects(a, b), nil },
	}[op]
	if f == nil {
		panic(fmt.Sprintf("relate: spatial predicate %q", op))
	}
	hit, err := f(x, y)
	if err != nil {
		return false, fmt.Errorf("%w: %v", ErrUndefined, err)
	}
	return hit, nil
}
