package coverage

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Clipper clips the polygons of levels to boxes. It is for one goroutine. The zero value is ready to use.
type Clipper struct {
	in, out []Point
	rings   [][]Point
	points  []Point
}

// Feature calls fn with each polygon of a feature within a box, including its sides: rings as in AppendRing, the outer
// one first, valid until fn returns. Clipped polygons have edges along the sides of the box. A clipped edge ends on the
// grid, which moves it by less than a unit. Other polygons are unchanged.
func (c *Clipper) Feature(l *Level, feature int, low, high Point, fn func(rings [][]Point)) {
	for i := range l.Polygons(feature) {
		a, b := l.Box(feature, i)
		if a.X > high.X || b.X < low.X || a.Y > high.Y || b.Y < low.Y {
			continue
		}
		c.read(l, feature, i)
		if a.X >= low.X && b.X <= high.X && a.Y >= low.Y && b.Y <= high.Y {
			fn(c.rings)
			continue
		}
		c.cut(low, high, fn)
	}
}

// read reads the rings of a polygon.
func (c *Clipper) read(l *Level, feature, i int) {
	c.points, c.rings = c.points[:0], c.rings[:0]
	var ends [16]int
	list := ends[:0]
	for k := 0; ; k++ {
		var ok bool
		if c.points, ok = l.AppendRing(c.points, feature, i, k); !ok {
			break
		}
		list = append(list, len(c.points))
	}
	from := 0
	for _, to := range list {
		c.rings = append(c.rings, c.points[from:to:to])
		from = to
	}
}

// cut clips rings at each side of the box in turn (Sutherland and Hodgman 1974). If several parts remain, that leaves
// edges forth and back along the sides. Edges that lie on each other are summed up and vanish, and faces become rings.
func (c *Clipper) cut(low, high Point, fn func(rings [][]Point)) {
	var left [][]Point
	for _, r := range c.rings {
		c.in = append(c.in[:0], r...)
		for side := range 4 {
			c.half(side, low, high)
		}
		if len(c.in) > 2 {
			left = append(left, slices.Clone(c.in))
		}
	}
	if len(left) == 0 {
		return
	}
	if len(left) == 1 && plain(left[0], frame{low, high}) {
		fn(left)
		return
	}
	b := NewBuilder(Grid{Unit: 1}, Options{})
	for _, r := range left {
		last := r[len(r)-1]
		for _, p := range r {
			b.segs = append(b.segs, b.labels.segment(last, p, b.labels.side(0, true)))
			last = p
		}
	}
	segs, err := b.planar(context.Background(), b.segs, false)
	if err != nil {
		return // omits the polygon rather than returning one that crosses itself; no case is known
	}
	part := newGraph(segs, b.labels).level(1)
	for i := range part.Polygons(0) {
		var rings [][]Point
		for k := 0; ; k++ {
			r, ok := part.AppendRing(nil, 0, i, k)
			if !ok {
				break
			}
			rings = append(rings, r)
		}
		fn(rings)
	}
}

// half clips in at one side of the box: left, right, bottom, top.
func (c *Clipper) half(side int, low, high Point) {
	limit, sign := [...]int32{low.X, high.X, low.Y, high.Y}[side], int64(1)
	if side%2 == 1 {
		sign = -1
	}
	// depth is how far p lies inside of the side.
	depth := func(p Point) int64 {
		if side < 2 {
			return sign * int64(p.X-limit)
		}
		return sign * int64(p.Y-limit)
	}
	c.out = c.out[:0]
	if len(c.in) == 0 {
		return
	}
	add := func(p Point) {
		if n := len(c.out); n == 0 || c.out[n-1] != p {
			c.out = append(c.out, p)
		}
	}
	last := c.in[len(c.in)-1]
	dLast := depth(last)
	for _, p := range c.in {
		d := depth(p)
		if d < 0 && dLast > 0 || d > 0 && dLast < 0 {
			a, b, da, db := last, p, dLast, d
			if b.less(a) { // the same point for either direction of the edge
				a, b, da, db = b, a, db, da
			}
			f := float64(da) / float64(da-db)
			q := Point{a.X + int32(math.Round(f*float64(b.X-a.X))), a.Y + int32(math.Round(f*float64(b.Y-a.Y)))}
			if side < 2 {
				q.X = limit
			} else {
				q.Y = limit
			}
			add(q)
		}
		if d >= 0 {
			add(p)
		}
		last, dLast = p, d
	}
	if n := len(c.out); n > 1 && c.out[0] == c.out[n-1] {
		c.out = c.out[:n-1]
	}
	c.in, c.out = c.out, c.in
}

// frame is a box with functions for walking along its sides.
type frame struct{ low, high Point }

func (f frame) on(p Point) bool {
	return p.X == f.low.X || p.X == f.high.X || p.Y == f.low.Y || p.Y == f.high.Y
}

// round returns the total length of the sides.
func (f frame) round() int64 { return 2 * (int64(f.high.X-f.low.X) + int64(f.high.Y-f.low.Y)) }

// place returns the position of p along the sides, counter-clockwise from the lower left corner.
func (f frame) place(p Point) int64 {
	w, h := int64(f.high.X-f.low.X), int64(f.high.Y-f.low.Y)
	switch {
	case p.Y == f.low.Y:
		return int64(p.X - f.low.X)
	case p.X == f.high.X:
		return w + int64(p.Y-f.low.Y)
	case p.Y == f.high.Y:
		return w + h + int64(f.high.X-p.X)
	}
	return 2*w + h + int64(f.high.Y-p.Y)
}

// plain reports whether a clipped ring is certainly valid as it is: it runs along the sides only counter-clockwise,
// nowhere twice, and its clipped edges touch no others.
func plain(r []Point, f frame) bool {
	n := len(r)
	start := slices.IndexFunc(r, func(p Point) bool { return !f.on(p) })
	if start < 0 {
		return false
	}
	at := func(i int) Point { return r[(start+i)%n] }
	var runs [][2]int64 // place and length
	for i := 1; i < n; i++ {
		if !f.on(at(i)) {
			continue
		}
		first, length := i, int64(0)
		for ; f.on(at(i + 1)); i++ {
			step := f.place(at(i+1)) - f.place(at(i))
			if step < 0 {
				step += f.round()
			}
			if step > f.round()/2 {
				return false
			}
			length += step
		}
		if length == 0 || !apart(r, start+first-1) || !apart(r, start+i) {
			return false
		}
		runs = append(runs, [2]int64{f.place(at(first)), length})
	}
	slices.SortFunc(runs, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	for i, run := range runs {
		next := runs[(i+1)%len(runs)][0]
		if i == len(runs)-1 {
			next += f.round()
		}
		if run[0]+run[1] >= next {
			return false
		}
	}
	return true
}

// apart reports whether the i-th edge of a ring touches only the adjacent edges.
func apart(r []Point, i int) bool {
	n := len(r)
	a, b := r[i%n], r[(i+1)%n]
	for k := i + 2; k < i+n-1; k++ {
		if touch(a, b, r[k%n], r[(k+1)%n]) {
			return false
		}
	}
	return true
}

// touch reports whether two edges have a point in common.
func touch(a, b, c, d Point) bool {
	if max(a.X, b.X) < min(c.X, d.X) || max(c.X, d.X) < min(a.X, b.X) || max(a.Y, b.Y) < min(c.Y, d.Y) ||
		max(c.Y, d.Y) < min(a.Y, b.Y) {
		return false
	}
	p, q, r, s := cross(a, b, c), cross(a, b, d), cross(c, d, a), cross(c, d, b)
	return !(p > 0 && q > 0 || p < 0 && q < 0 || r > 0 && s > 0 || r < 0 && s < 0)
}
