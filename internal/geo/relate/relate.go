// Package relate compares geometries exactly: the spatial predicates of OGC 06-103r4, and boxes as OGC 17-069r4 has
// them. A comparison ends with its context, which no library offers.
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

// Op is a spatial predicate, named as the function of CQL2 in lower case.
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

// place is where a point lies in a geometry (OGC 06-103r4, 6.1.15.1).
type place uint8

const (
	interior place = iota
	boundary
	exterior
)

// matrix has for each two places the dimension of what they have in common, plus one; 0 when that is nothing.
type matrix [3][3]int8

func (m *matrix) set(a, b place, dim int8) { m[a][b] = max(m[a][b], dim+1) }

func (m *matrix) any(a, b place) bool { return m[a][b] > 0 }

// relation computes the matrix of two geometries of one dimension each, as far as a predicate needs it. Every test is
// exact: where edges cross within both, the four sides are known without the point; elsewhere they meet in a vertex.
// What two geometries have in common is seen around these points, and for lines and rings without any by one of their
// vertices. Needed are the time and memory of searches, not of an overlay, and its context is asked again and again.
// Polygons are taken for valid; of others any answer may come.
type relation struct {
	ctx     context.Context
	a, b    *topology
	m       matrix
	done    func(*matrix) bool // nothing more is needed
	crossed bool               // edges cross within both, which tells all that such points can tell
	tests   int
	err     error
	met     [2][]bool // lines and rings of a and b that have a vertex in common with the other
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

// predicate9 is what a predicate asks of a matrix.
type predicate9 struct {
	never   bool
	decided func(*matrix) bool // holds will not change, whatever is added
	holds   func(*matrix) bool
}

// predicateOf names the patterns of a predicate (OGC 06-103r4, 6.1.15.3).
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

// tick asks the context now and then, and makes way for other goroutines; false ends all work.
func (r *relation) tick() bool {
	if r.tests++; r.tests&1023 == 0 && r.err == nil {
		if r.err = r.ctx.Err(); r.tests&8191 == 0 {
			runtime.Gosched()
		}
	}
	return r.err == nil
}

// on tells whether to go on.
func (r *relation) on() bool { return r.tick() && !r.done(&r.m) }

// set notes what places of a and b have in common; swapped, of b and a.
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

// ofDimension notes what the dimensions alone tell: of an area, something lies off every line.
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
		in := interior // of y, what is no boundary
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

// locate tells where a point lies in a geometry.
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

// meet finds where edges of x and y meet.
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

// edgePair is an edge of x and one of y whose boxes meet.
type edgePair struct {
	x, y         *topology
	e, f         *segment
	lastX, lastY bool // the end of the edge is no start of another
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
	// A vertex is looked at once: with the edges that start there, or with the one that it lies within.
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

// vertexAt reports whether some vertex lies where two edges cross; node tells what is there.
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

// cross notes what is known where edges cross within both. Whether another edge runs along one of them, as lines may,
// is seen where it begins.
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
	out bool  // the edge runs away from the point: to its left, against the clock, lies the interior of an area
}

// node looks around a point in which a vertex of one geometry lies on the other.
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
		if t.dim == 2 { // the side before the first ray is that after the last one
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

// turnPast notes what lies along the i-th ray, and others in its direction, and what follows it. It returns the number
// of the next ray.
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

// side is what follows the ray of an area against the clock.
func (x ray) side() place {
	if x.out {
		return interior
	}
	return exterior
}

// at tells what a point on a line, or on the border of an area, is of it.
func (t *topology) at(p orb.Point) place {
	if t.dim == 2 || t.odd[p] {
		return boundary
	}
	return interior
}

// around sorts rays against the clock; of one direction and area, the one that runs away comes last.
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

// direction compares the directions from p to x and y, against the clock from the east.
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

// apart notes where the lines and rings of x lie that no vertex shares with y, and the ends of lines.
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
