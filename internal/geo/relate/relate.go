// Package relate evaluates spatial predicates exactly: those of OGC 06-103r4, and boxes as in OGC 17-069r4.
// The end of a context cancels a comparison, which no library offers.
package relate

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/wkb"
)

// Op is a spatial predicate, named like the function of CQL2 in lower case.
type Op string

const (
	Intersects Op = "s_intersects"
	Disjoint   Op = "s_disjoint"
	Equals     Op = "s_equals"
	Touches    Op = "s_touches"
	Crosses    Op = "s_crosses"
	Overlaps   Op = "s_overlaps"
	Within     Op = "s_within"
	Contains   Op = "s_contains"
)

// place is the position of a point relative to a geometry: interior, boundary or exterior (OGC 06-103r4, 6.1.15.1).
type place uint8

const (
	interior place = iota
	boundary
	exterior
)

// matrix holds, for each pair of places, the dimension of their intersection plus one; 0 if it is empty.
type matrix [3][3]int8

func (m *matrix) set(a, b place, dim int8) { m[a][b] = max(m[a][b], dim+1) }

func (m *matrix) any(a, b place) bool { return m[a][b] > 0 }

// relation computes the matrix of two geometries of one dimension each, as far as a predicate needs it.
// Every test is exact. Where two edges cross in their interiors, the four sides are known without computing the point;
// elsewhere edges meet in a vertex. The rest follows from these points, and for lines and rings without any
// from one of their vertices.
// It needs the time and memory of searches, not of an overlay, and polls its context. Polygons must be valid;
// for others the result is undefined.
type relation struct {
	ctx     context.Context
	a, b    *topology
	m       matrix
	done    func(*matrix) bool // the predicate is decided
	crossed bool               // edges cross in their interiors; further crossings add nothing
	tests   int
	err     error
	met     [2][]bool // lines and rings of a and b that share a vertex with the other
	rays    []ray
}

// holdsRelation computes a predicate of two geometries.
func holdsRelation(ctx context.Context, op Op, a, b *topology) (bool, error) {
	want := predicateOf(op, a.dim, b.dim)
	if want.never {
		return false, nil
	}
	r := &relation{ctx: ctx, a: a, b: b, done: want.decided}
	r.met = [2][]bool{make([]bool, len(a.paths)-1), make([]bool, len(b.paths)-1)}
	r.compute()
	return want.holds(&r.m), r.err
}

// predicate9 evaluates a predicate on a matrix.
type predicate9 struct {
	never   bool
	decided func(*matrix) bool // the value of holds is final
	holds   func(*matrix) bool
}

// predicateOf returns the patterns of a predicate (OGC 06-103r4, 6.1.15.3).
func predicateOf(op Op, a, b int) predicate9 {
	not := func(f func(*matrix) bool) func(*matrix) bool { return func(m *matrix) bool { return !f(m) } }
	meets := func(m *matrix) bool {
		return m.any(interior, interior) || m.any(interior, boundary) ||
			m.any(boundary, interior) || m.any(boundary, boundary)
	}
	sticksOut := func(m *matrix) bool { return m.any(interior, exterior) || m.any(boundary, exterior) }
	lacks := func(m *matrix) bool { return m.any(exterior, interior) || m.any(exterior, boundary) }
	inside := func(m *matrix) bool { return m.any(interior, interior) }
	switch op {
	case Intersects:
		return predicate9{decided: meets, holds: meets}
	case Disjoint:
		return predicate9{decided: meets, holds: not(meets)}
	case Touches:
		return predicate9{decided: inside, holds: func(m *matrix) bool { return !inside(m) && meets(m) }}
	case Within:
		return predicate9{decided: sticksOut, holds: func(m *matrix) bool { return inside(m) && !sticksOut(m) }}
	case Contains:
		return predicate9{decided: lacks, holds: func(m *matrix) bool { return inside(m) && !lacks(m) }}
	case Equals:
		differs := func(m *matrix) bool { return sticksOut(m) || lacks(m) }
		return predicate9{decided: differs, holds: func(m *matrix) bool { return inside(m) && !differs(m) }}
	case Overlaps:
		both := func(m *matrix) bool {
			return int(m[interior][interior]) == a+1 && m.any(interior, exterior) && m.any(exterior, interior)
		}
		return predicate9{never: a != b, decided: both, holds: both}
	case Crosses:
		return crosses(a, b)
	}
	panic(fmt.Sprintf("relate: spatial predicate %q", op))
}

func crosses(a, b int) predicate9 {
	if a == b {
		return predicate9{
			never:   a != 1,
			decided: func(m *matrix) bool { return m[interior][interior] == 2 },
			holds:   func(m *matrix) bool { return m[interior][interior] == 1 },
		}
	}
	holds := func(m *matrix) bool {
		return m.any(interior, interior) && (a < b && m.any(interior, exterior) || a > b && m.any(exterior, interior))
	}
	return predicate9{decided: holds, holds: holds}
}

// tick polls the context now and then and yields to other goroutines. It returns false if the work must end.
func (r *relation) tick() bool {
	if r.tests++; r.tests&1023 == 0 && r.err == nil {
		if r.err = r.ctx.Err(); r.tests&8191 == 0 {
			runtime.Gosched()
		}
	}
	return r.err == nil
}

// on reports whether to continue.
func (r *relation) on() bool { return r.tick() && !r.done(&r.m) }

// set records the intersection of a place of a and one of b; of b and a if swapped.
func (r *relation) set(swapped bool, x, y place, dim int8) {
	if swapped {
		x, y = y, x
	}
	r.m.set(x, y, dim)
}

func (r *relation) compute() {
	r.m.set(exterior, exterior, 2)
	switch {
	case r.a.dim == 0:
		r.computePoints(r.a, r.b, false)
		return
	case r.b.dim == 0:
		r.computePoints(r.b, r.a, true)
		return
	}
	r.ofDimension(r.a, r.b, false)
	r.ofDimension(r.b, r.a, true)
	if !r.on() {
		return
	}
	if len(r.a.edges) <= len(r.b.edges) {
		r.meet(r.a, r.b, false)
	} else {
		r.meet(r.b, r.a, true)
	}
	r.apart(r.a, r.b, false)
	r.apart(r.b, r.a, true)
}

// ofDimension records what follows from the dimensions alone: an area always extends beyond a line.
func (r *relation) ofDimension(x, y *topology, swapped bool) {
	if x.dim == 2 && y.dim == 1 {
		r.set(swapped, interior, exterior, 2)
	}
}

func (r *relation) computePoints(x, y *topology, swapped bool) {
	for _, p := range x.points {
		r.set(swapped, interior, r.locate(y, p), 0)
		if !r.on() {
			return
		}
	}
	switch y.dim {
	case 0, 1:
		in := interior // interior of y
		if y.dim == 1 {
			r.set(swapped, exterior, interior, 1)
			in = boundary
		}
		for p := range y.odd {
			if !x.odd[p] {
				r.set(swapped, exterior, in, 0)
			}
		}
	case 2:
		r.set(swapped, exterior, interior, 2)
		r.set(swapped, exterior, boundary, 1)
	}
}

// locate returns the place of a point in a geometry.
func (r *relation) locate(t *topology, p orb.Point) place {
	switch t.dim {
	case 0:
		if t.odd[p] {
			return interior
		}
		return exterior
	case 1:
		at := exterior
		t.search(&orb.Bound{Min: p, Max: p}, func(i int) bool {
			if t.edges[i].holds(p) {
				at = interior
			}
			return at == exterior && r.tick()
		})
		if at == interior && t.odd[p] {
			at = boundary
		}
		return at
	}
	if !holds(&t.bound, p) {
		return exterior
	}
	at := exterior
	t.search(&orb.Bound{Min: p, Max: orb.Point{t.bound.Max[0], p[1]}}, func(i int) bool {
		low, high := t.edges[i].a, t.edges[i].b
		if low[1] > high[1] {
			low, high = high, low
		}
		side := wkb.Turn(low, high, p)
		switch {
		case side == 0 && t.edges[i].holds(p):
			at = boundary
			return false
		case low[1] <= p[1] && p[1] < high[1] && side > 0: // the ray to the east crosses it
			at = exterior - at
		}
		return r.tick()
	})
	return at
}

// meet finds the points where edges of x and y meet.
func (r *relation) meet(x, y *topology, swapped bool) {
	for i := range x.edges {
		e := &x.edges[i]
		box := e.bound()
		if !r.on() {
			return
		}
		if !box.Intersects(y.bound) {
			continue
		}
		last := x.isLast(i)
		y.search(&box, func(k int) bool {
			r.pair(edgePair{x, y, e, &y.edges[k], last, y.isLast(k), swapped})
			return r.on()
		})
	}
}

// edgePair is an edge of x and one of y whose boxes overlap.
type edgePair struct {
	x, y         *topology
	e, f         *segment
	lastX, lastY bool // the end of the edge is not the start of another
	swapped      bool // x is b
}

func (r *relation) pair(p edgePair) {
	e, f := p.e, p.f
	s1, s2 := wkb.Turn(f.a, f.b, e.a), wkb.Turn(f.a, f.b, e.b)
	if s1*s2 > 0 {
		return
	}
	s3, s4 := wkb.Turn(e.a, e.b, f.a), wkb.Turn(e.a, e.b, f.b)
	if s3*s4 > 0 {
		return
	}
	if s1*s2*s3*s4 != 0 {
		if !r.crossed && !r.vertexAt(p) {
			r.cross(p.x.dim, p.y.dim, p.swapped)
		}
		return
	}
	// Handle each vertex once: with the edges that start there, or with the edge that contains it.
	own := func(v orb.Point) bool { return f.holds(v) && (v != f.b || p.lastY) }
	if own(e.a) {
		r.node(e.a)
	}
	if p.lastX && own(e.b) {
		r.node(e.b)
	}
	within := func(v orb.Point) bool { return v != e.a && v != e.b && e.holds(v) }
	if within(f.a) {
		r.node(f.a)
	}
	if p.lastY && within(f.b) {
		r.node(f.b)
	}
}

// vertexAt reports whether two edges meet in a vertex, which node then handles.
func (r *relation) vertexAt(p edgePair) bool {
	box, other := p.e.bound(), p.f.bound()
	box = orb.Bound{
		Min: orb.Point{max(box.Min[0], other.Min[0]), max(box.Min[1], other.Min[1])},
		Max: orb.Point{min(box.Max[0], other.Max[0]), min(box.Max[1], other.Max[1])},
	}
	for _, t := range [...]*topology{p.x, p.y} {
		none := t.search(&box, func(i int) bool {
			for _, v := range [...]orb.Point{t.edges[i].a, t.edges[i].b} {
				if holds(&box, v) && wkb.Turn(p.e.a, p.e.b, v) == 0 && wkb.Turn(p.f.a, p.f.b, v) == 0 {
					return false
				}
			}
			return r.tick()
		})
		if !none {
			return true
		}
	}
	return false
}

// cross records what follows from edges that cross in their interiors. If another edge runs along one of them,
// as lines may, its start handles that.
func (r *relation) cross(x, y int, swapped bool) {
	r.crossed = true
	set := func(a, b place, dim int8) { r.set(swapped, a, b, dim) }
	switch {
	case x == 2 && y == 2:
		r.m.set(interior, interior, 2)
		r.m.set(interior, boundary, 1)
		r.m.set(boundary, interior, 1)
		r.m.set(boundary, boundary, 0)
		r.m.set(interior, exterior, 2)
		r.m.set(exterior, interior, 2)
		r.m.set(boundary, exterior, 1)
		r.m.set(exterior, boundary, 1)
	case x == 1 && y == 1:
		r.m.set(interior, interior, 0)
	case x == 2:
		r.cross(y, x, !swapped)
	default:
		set(interior, interior, 1)
		set(interior, exterior, 1)
		set(interior, boundary, 0)
	}
}

// ray is an edge seen from a point on it.
type ray struct {
	to  orb.Point
	of  uint8 // 0: a, 1: b
	out bool  // the edge leaves the point: the interior of an area lies to its left, counter-clockwise
}

// node records the places around a point in which a vertex of one geometry lies on the other.
func (r *relation) node(p orb.Point) {
	r.rays = r.rays[:0]
	for of, t := range [...]*topology{r.a, r.b} {
		t.search(&orb.Bound{Min: p, Max: p}, func(i int) bool {
			e := &t.edges[i]
			if e.holds(p) {
				r.met[of][t.path(i)] = true
				if e.b != p {
					r.rays = append(r.rays, ray{e.b, uint8(of), true})
				}
				if e.a != p {
					r.rays = append(r.rays, ray{e.a, uint8(of), false})
				}
			}
			return r.tick()
		})
	}
	if r.err != nil {
		return
	}
	around(p, r.rays)
	r.m.set(r.a.at(p), r.b.at(p), 0)
	var sides [2]place
	for of, t := range [...]*topology{r.a, r.b} {
		sides[of] = exterior
		if t.dim == 2 { // the side before the first ray is the side after the last one
			for i := len(r.rays) - 1; i >= 0; i-- {
				if int(r.rays[i].of) == of {
					sides[of] = r.rays[i].side()
					break
				}
			}
		}
	}
	for i := 0; i < len(r.rays) && r.tick(); {
		i = r.turnPast(p, i, &sides)
	}
}

// turnPast records the places along the i-th ray, with others in its direction, and after it.
// It returns the number of the next ray.
func (r *relation) turnPast(p orb.Point, i int, sides *[2]place) int {
	along, k := *sides, i
	for ; k < len(r.rays) && direction(p, r.rays[i].to, r.rays[k].to) == 0; k++ {
		x := r.rays[k]
		if [...]*topology{r.a, r.b}[x.of].dim == 1 {
			along[x.of] = interior
			continue
		}
		along[x.of], sides[x.of] = boundary, x.side()
	}
	r.m.set(along[0], along[1], 1)
	r.m.set(sides[0], sides[1], 2)
	return k
}

// side returns the place that follows the ray of an area counter-clockwise.
func (x ray) side() place {
	if x.out {
		return interior
	}
	return exterior
}

// at returns the place of a point on a line or on the border of an area.
func (t *topology) at(p orb.Point) place {
	if t.dim == 2 || t.odd[p] {
		return boundary
	}
	return interior
}

// around sorts rays counter-clockwise. Of one direction and area, the ray that leaves the point comes last.
func around(p orb.Point, rays []ray) {
	slices.SortFunc(rays, func(x, y ray) int {
		if c := direction(p, x.to, y.to); c != 0 || x.of != y.of {
			return cmp.Or(c, cmp.Compare(x.of, y.of))
		}
		switch {
		case x.out == y.out:
			return 0
		case x.out:
			return 1
		}
		return -1
	})
}

// direction compares the directions from p to x and y, counter-clockwise from the east.
func direction(p, x, y orb.Point) int {
	half := func(q orb.Point) int {
		if q[1] > p[1] || q[1] == p[1] && q[0] > p[0] {
			return 0
		}
		return 1
	}
	if c := cmp.Compare(half(x), half(y)); c != 0 {
		return c
	}
	return -wkb.Turn(p, x, y)
}

// apart records the places of lines and rings of x that share no vertex with y, and of the ends of lines.
func (r *relation) apart(x, y *topology, swapped bool) {
	met := r.met[0]
	if swapped {
		met = r.met[1]
	}
	for i, is := range met {
		if !r.on() {
			return
		}
		if is {
			continue
		}
		if x.dim == 2 {
			r.apartRing(x, y, i, swapped)
			continue
		}
		at := exterior
		if y.dim == 2 {
			at = r.locate(y, x.edges[x.paths[i]].a)
		}
		r.set(swapped, interior, at, 1)
	}
	for p := range x.odd {
		if !r.on() {
			return
		}
		r.set(swapped, boundary, r.locate(y, p), 0)
	}
}

func (r *relation) apartRing(x, y *topology, i int, swapped bool) {
	if y.dim == 1 {
		r.set(swapped, boundary, exterior, 1)
		return
	}
	at := r.locate(y, x.edges[x.paths[i]].a)
	r.set(swapped, boundary, at, 1)
	r.set(swapped, interior, at, 2)
	r.set(swapped, exterior, at, 2)
}
