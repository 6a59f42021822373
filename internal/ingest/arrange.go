package ingest

import (
	"cmp"
	"errors"
	"grense/internal/format/input"
	"math"
	"math/big"
	"slices"
)

// xy is a position in the plane.
type xy struct{ x, y float64 }

// before orders positions by x, then y.
func (a xy) before(b xy) bool { return a.x < b.x || a.x == b.x && a.y < b.y }

// segment is a straight edge of a ring.
type segment struct{ a, b xy }

// edge is a line between two corners of an arrangement; from.before(to) holds.
// turn is the winding number on its left minus that on its right.
type edge struct {
	from, to    int32
	turn        int32
	left, right int32 // winding numbers
}

// arrangement is the plane divided by rings: edges meet only in corners, and each side of an edge has a winding number.
type arrangement struct {
	corners []xy
	edges   []edge
	// by corner: its half-edges counter-clockwise from the west; 2e runs along edge e, 2e+1 back
	around  [][]int32
	heights map[xy]float64
}

// errUnsettled reports that rounding keeps creating new crossings.
var errUnsettled = errors.New("its lines cross in more places than can be told apart")

// arrange divides the plane by the rings of a polygon or multi-polygon. It ignores whether rings are holes.
func arrange(s *input.Shape) (*arrangement, error) {
	a := &arrangement{}
	if s.HasZ {
		a.heights = map[xy]float64{}
	}
	var list []segment
	s.Rings(func(from, to int, _ bool) {
		for i := from; i < to; i++ {
			j := i + 1
			if j == to { // closed already, or by this edge
				j = from
			}
			p, q := xy{s.XYZ[3*i], s.XYZ[3*i+1]}, xy{s.XYZ[3*j], s.XYZ[3*j+1]}
			if a.heights != nil {
				a.height(p, s.XYZ[3*i+2])
			}
			if p != q {
				list = append(list, segment{p, q})
			}
		}
	})
	list, err := a.node(list)
	if err != nil {
		return nil, err
	}
	a.collect(list)
	a.sort()
	a.wind()
	return a, nil
}

// height stores the first height of a position.
func (a *arrangement) height(p xy, z float64) {
	if _, ok := a.heights[p]; !ok {
		a.heights[p] = z
	}
}

// maxRounds bounds how often pieces are cut again because a crossing was rounded to another position.
const maxRounds = 12

// node cuts segments where they meet others.
func (a *arrangement) node(list []segment) ([]segment, error) {
	for range maxRounds {
		cuts := crossings(list)
		if len(cuts) == 0 {
			return list, nil
		}
		var out []segment
		for i, s := range list {
			at := cuts[int32(i)]
			slices.SortFunc(at, func(p, q xy) int { return cmp.Compare(s.along(p), s.along(q)) })
			last := s.a
			for _, p := range append(at, s.b) {
				if p == last {
					continue
				}
				out = append(out, segment{last, p})
				if a.heights != nil && p != s.b {
					t := s.along(p) / s.along(s.b)
					a.height(p, a.heights[s.a]*(1-t)+a.heights[s.b]*t)
				}
				last = p
			}
		}
		list = out
	}
	return nil, errUnsettled
}

// along returns how far p lies along s, in squared units.
func (s segment) along(p xy) float64 {
	return (p.x-s.a.x)*(s.b.x-s.a.x) + (p.y-s.a.y)*(s.b.y-s.a.y)
}

// crossings returns, by segment number, where segments meet other than in common ends.
func crossings(list []segment) map[int32][]xy {
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	left := func(i int32) float64 { return min(list[i].a.x, list[i].b.x) }
	slices.SortFunc(order, func(i, j int32) int { return cmp.Compare(left(i), left(j)) })
	cuts := map[int32][]xy{}
	var open []int32 // segments that reach the x of the current one
	for _, i := range order {
		s := list[i]
		lo, hi, x := min(s.a.y, s.b.y), max(s.a.y, s.b.y), left(i)
		kept := open[:0]
		for _, j := range open {
			o := list[j]
			if max(o.a.x, o.b.x) < x {
				continue
			}
			kept = append(kept, j)
			if max(o.a.y, o.b.y) < lo || min(o.a.y, o.b.y) > hi {
				continue
			}
			cut(s, o, func(p xy) { cuts[i] = append(cuts[i], p) }, func(p xy) { cuts[j] = append(cuts[j], p) })
		}
		open = append(kept, i)
	}
	return cuts
}

// cut calls ofS and ofO with the positions at which two segments must be cut.
func cut(s, o segment, ofS, ofO func(xy)) {
	if s == o || s.a == o.b && s.b == o.a {
		return
	}
	sa, sb, oa, ob := side(o.a, o.b, s.a), side(o.a, o.b, s.b), side(s.a, s.b, o.a), side(s.a, s.b, o.b)
	met := false
	for _, c := range [...]struct {
		side int
		p    xy
		of   segment
		add  func(xy)
	}{{sa, s.a, o, ofO}, {sb, s.b, o, ofO}, {oa, o.a, s, ofS}, {ob, o.b, s, ofS}} {
		if c.side == 0 && c.of.holds(c.p) {
			if met = true; c.p != c.of.a && c.p != c.of.b {
				c.add(c.p)
			}
		}
	}
	if met || sa*sb >= 0 || oa*ob >= 0 {
		return
	}
	p := meeting(s, o)
	if p != s.a && p != s.b {
		ofS(p)
	}
	if p != o.a && p != o.b {
		ofO(p)
	}
}

// holds reports whether p lies in the box of s.
func (s segment) holds(p xy) bool {
	return p.x >= min(s.a.x, s.b.x) && p.x <= max(s.a.x, s.b.x) && p.y >= min(s.a.y, s.b.y) && p.y <= max(s.a.y, s.b.y)
}

// meeting returns the rounded crossing of two segments, inside the boxes of both.
func meeting(s, o segment) xy {
	dx, dy, ex, ey := s.b.x-s.a.x, s.b.y-s.a.y, o.b.x-o.a.x, o.b.y-o.a.y
	t := ((o.a.x-s.a.x)*ey - (o.a.y-s.a.y)*ex) / (dx*ey - dy*ex)
	if !(t >= 0 && t <= 1) { // nearly parallel
		t = 0.5
	}
	within := func(v, a, b, c, d float64) float64 {
		return min(max(v, max(min(a, b), min(c, d))), min(max(a, b), max(c, d)))
	}
	return xy{within(s.a.x+t*dx, s.a.x, s.b.x, o.a.x, o.b.x), within(s.a.y+t*dy, s.a.y, s.b.y, o.a.y, o.b.y)}
}

// side returns exactly on which side of the line from a to b the position c lies: 1 left, -1 right, 0 on it.
func side(a, b, c xy) int {
	l, r := (a.x-c.x)*(b.y-c.y), (a.y-c.y)*(b.x-c.x)
	if d := l - r; math.Abs(d) > 4e-16*(math.Abs(l)+math.Abs(r)) {
		return cmp.Compare(d, 0)
	}
	f := func(v float64) *big.Float { return new(big.Float).SetPrec(0).SetMode(big.ToNearestEven).SetFloat64(v) }
	const prec = 5000 // enough for the product of two differences of any two numbers
	sub := func(p, q float64) *big.Float { return new(big.Float).SetPrec(prec).Sub(f(p), f(q)) }
	mul := func(p, q *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Mul(p, q) }
	return mul(sub(a.x, c.x), sub(b.y, c.y)).Cmp(mul(sub(a.y, c.y), sub(b.x, c.x)))
}

// collect converts segments that meet only in ends to edges. Segments that cancel each other vanish.
func (a *arrangement) collect(list []segment) {
	number := map[xy]int32{}
	corner := func(p xy) int32 {
		n, ok := number[p]
		if !ok {
			n = int32(len(a.corners))
			number[p] = n
			a.corners = append(a.corners, p)
		}
		return n
	}
	turns := map[[2]int32]int32{}
	for _, s := range list {
		p, q := corner(s.a), corner(s.b)
		if s.a.before(s.b) {
			turns[[2]int32{p, q}]++
		} else {
			turns[[2]int32{q, p}]--
		}
	}
	for e, turn := range turns {
		if turn != 0 {
			a.edges = append(a.edges, edge{from: e[0], to: e[1], turn: turn})
		}
	}
	slices.SortFunc(a.edges, func(x, y edge) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
	})
}

// head returns the corner at which a half-edge ends.
func (a *arrangement) head(h int32) int32 {
	if e := &a.edges[h>>1]; h&1 == 0 {
		return e.to
	} else {
		return e.from
	}
}

// sort orders the half-edges around each corner.
func (a *arrangement) sort() {
	a.around = make([][]int32, len(a.corners))
	for i, e := range a.edges {
		a.around[e.from] = append(a.around[e.from], int32(2*i))
		a.around[e.to] = append(a.around[e.to], int32(2*i+1))
	}
	for c, list := range a.around {
		p := a.corners[c]
		// From the west counter-clockwise: downwards, then upwards; due west comes last.
		half := func(q xy) int {
			if q.y < p.y || q.y == p.y && q.x > p.x {
				return 0
			}
			return 1
		}
		slices.SortFunc(list, func(g, h int32) int {
			q, r := a.corners[a.head(g)], a.corners[a.head(h)]
			return cmp.Or(cmp.Compare(half(q), half(r)), -side(p, q, r))
		})
	}
}

// wind computes the winding numbers: at the westernmost corner of each connected part from what lies west of it,
// and from there around the corners.
func (a *arrangement) wind() {
	order := make([]int32, 0, len(a.corners))
	for c := range a.corners {
		order = append(order, int32(c))
	}
	slices.SortFunc(order, func(c, d int32) int {
		if a.corners[c].before(a.corners[d]) {
			return -1
		}
		return 1
	})
	seen := make([]bool, len(a.corners))
	for _, c := range order {
		if seen[c] || len(a.around[c]) == 0 {
			continue
		}
		seen[c] = true
		// number is the winding number before the half-edge of that slot
		type visit struct{ corner, slot, number int32 }
		next := []visit{{c, 0, a.west(a.corners[c])}}
		for len(next) > 0 {
			v := next[len(next)-1]
			next = next[:len(next)-1]
			list, w := a.around[v.corner], v.number
			for k := range list {
				h := list[(int(v.slot)+k)%len(list)]
				e := &a.edges[h>>1]
				if h&1 == 0 {
					e.right, e.left = w, w+e.turn
					w = e.left
				} else {
					e.left, e.right = w, w-e.turn
					w = e.right
				}
				if to := a.head(h); !seen[to] {
					seen[to] = true
					// At the other end, the reverse half-edge has on its right what this one has on its left.
					next = append(next, visit{to, int32(slices.Index(a.around[to], h^1)), w})
				}
			}
		}
	}
}

// west returns the winding number just west of p. Only edges count that pass west of p or whose
// both ends lie further west.
func (a *arrangement) west(p xy) (w int32) {
	for i := range a.edges {
		e := &a.edges[i]
		q, r := a.corners[e.from], a.corners[e.to]
		if (q.y <= p.y) == (r.y <= p.y) {
			continue
		}
		turn := e.turn
		if q.y > r.y {
			q, r, turn = r, q, -turn
		}
		if side(q, r, p) < 0 { // p lies right of the edge, which runs upwards
			w -= turn
		}
	}
	return w
}

// area returns the area of the faces whose winding number is in.
func (a *arrangement) area(in func(int32) bool) (sum float64) {
	if len(a.corners) == 0 {
		return 0
	}
	o := a.corners[0]
	for i := range a.edges {
		e := &a.edges[i]
		l, r := in(e.left), in(e.right)
		if l == r {
			continue
		}
		p, q := a.corners[e.from], a.corners[e.to]
		twice := (p.x-o.x)*(q.y-o.y) - (p.y-o.y)*(q.x-o.x)
		if r {
			twice = -twice
		}
		sum += twice / 2
	}
	return sum
}

// loop is a ring that visits no corner twice, as a list of corners without the repeated end.
type loop struct {
	corners []int32
	area    float64 // signed
}

// loops returns the rings around the faces whose winding number is in. The faces lie to their left.
func (a *arrangement) loops(in func(int32) bool) (list []loop) {
	use := make([]bool, 2*len(a.edges))
	for i := range a.edges {
		switch l, r := in(a.edges[i].left), in(a.edges[i].right); {
		case l && !r:
			use[2*i] = true
		case r && !l:
			use[2*i+1] = true
		}
	}
	place := make([]int32, len(a.corners)) // from 1, in the current path
	for h := range use {
		if !use[h] {
			continue
		}
		start := a.head(int32(h) ^ 1)
		path := []int32{start}
		place[start] = 1
		for at := int32(h); ; {
			use[at] = false
			c := a.head(at)
			if n := place[c]; n > 0 { // a ring is closed
				ring := slices.Clone(path[n-1:])
				for _, x := range path[n:] {
					place[x] = 0
				}
				path = path[:n]
				list = append(list, loop{ring, a.ringArea(ring)})
			} else {
				path = append(path, c)
				place[c] = int32(len(path))
			}
			if at = a.next(at, use); at < 0 {
				break
			}
		}
		for _, c := range path {
			place[c] = 0
		}
	}
	return list
}

// next returns the half-edge that follows h around the face on its left; -1 if all are used.
func (a *arrangement) next(h int32, use []bool) int32 {
	list := a.around[a.head(h)]
	k := slices.Index(list, h^1)
	for range list {
		if k--; k < 0 {
			k = len(list) - 1
		}
		if use[list[k]] {
			return list[k]
		}
	}
	return -1
}

func (a *arrangement) ringArea(ring []int32) (sum float64) {
	o := a.corners[ring[0]]
	for i, c := range ring {
		p, q := a.corners[c], a.corners[ring[(i+1)%len(ring)]]
		sum += ((p.x-o.x)*(q.y-o.y) - (p.y-o.y)*(q.x-o.x)) / 2
	}
	return sum
}

// polygons returns a geometry of the faces whose winding number is in; nil if there are none,
// or if a hole lies in no shell.
func (a *arrangement) polygons(in func(int32) bool) *input.Shape {
	var shells, holes []loop
	for _, l := range a.loops(in) {
		switch {
		case l.area > 0:
			shells = append(shells, l)
		case l.area < 0:
			holes = append(holes, l)
		}
	}
	slices.SortStableFunc(shells, func(x, y loop) int { return cmp.Compare(x.area, y.area) })
	inside := make([][]loop, len(shells))
	boxes := make([][2]xy, len(shells))
	for i, l := range shells {
		boxes[i] = a.box(l)
	}
	for _, h := range holes {
		b, found := a.box(h), false
		for i, s := range shells {
			if o := boxes[i]; s.area >= -h.area && o[0].x <= b[0].x && o[0].y <= b[0].y && o[1].x >= b[1].x &&
				o[1].y >= b[1].y && a.encloses(s, h) {
				inside[i], found = append(inside[i], h), true
				break
			}
		}
		if !found {
			return nil
		}
	}
	if len(shells) == 0 {
		return nil
	}
	out := &input.Shape{Kind: input.MultiPolygon, HasZ: a.heights != nil}
	for i := len(shells) - 1; i >= 0; i-- { // the largest first
		a.write(out, shells[i])
		for _, h := range inside[i] {
			a.write(out, h)
		}
		out.Polys = append(out.Polys, len(out.Ends))
	}
	return out
}

// outline appends rings around the faces whose winding number is in. The faces lie to the left of the rings;
// with reversed, to the right.
func (a *arrangement) outline(s *input.Shape, in func(int32) bool, reversed bool) {
	for _, l := range a.loops(in) {
		from := s.Positions()
		a.write(s, l)
		if reversed {
			s.Reverse(from, s.Positions())
		}
	}
}

func (a *arrangement) box(l loop) (b [2]xy) {
	b = [2]xy{a.corners[l.corners[0]], a.corners[l.corners[0]]}
	for _, c := range l.corners {
		p := a.corners[c]
		b[0], b[1] = xy{min(b[0].x, p.x), min(b[0].y, p.y)}, xy{max(b[1].x, p.x), max(b[1].y, p.y)}
	}
	return b
}

// encloses reports whether ring s is around ring h, whose edges it does not cross.
func (a *arrangement) encloses(s, h loop) bool {
	on := make(map[int32]bool, len(s.corners))
	for _, c := range s.corners {
		on[c] = true
	}
	for _, c := range h.corners {
		if !on[c] {
			return a.contains(s, a.corners[c])
		}
	}
	p, q := a.corners[h.corners[0]], a.corners[h.corners[1]] // all corners are shared
	return a.contains(s, xy{(p.x + q.x) / 2, (p.y + q.y) / 2})
}

// contains reports whether p, which is not on the ring, lies inside it.
func (a *arrangement) contains(l loop, p xy) (in bool) {
	for i, c := range l.corners {
		q, r := a.corners[c], a.corners[l.corners[(i+1)%len(l.corners)]]
		if (q.y <= p.y) == (r.y <= p.y) {
			continue
		}
		if q.y > r.y {
			q, r = r, q
		}
		if side(q, r, p) < 0 {
			in = !in
		}
	}
	return in
}

// write appends a closed ring.
func (a *arrangement) write(s *input.Shape, l loop) {
	for i := range len(l.corners) + 1 {
		p := a.corners[l.corners[i%len(l.corners)]]
		s.Add(p.x, p.y, a.heights[p])
	}
	s.Ends = append(s.Ends, s.Positions())
}
