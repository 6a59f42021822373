package coverage

import (
	"math"
	"slices"
)

// graph contains planar edges by their ends. A vertex is numbered by the index of its key in keys, which are sorted by
// vertical strips of equal width, and from bottom to top in each.
type graph struct {
	labels *labels
	keys   []uint64
	min    Point
	shift  uint    // the width of a strip is 1<<shift
	strips []int32 // start of each strip in keys, and the end
	start  []int32 // start of each vertex in to and along, and the end
	to     []int32 // vertex at the other end
	along  []int32 // label of the edge in that direction
	gone   []bool
}

// positionBits is the number of bits for the strip and the x within it together, and for y.
const positionBits = 29

func newGraph(segs []seg, l *labels) *graph {
	g := &graph{labels: l, min: Point{math.MaxInt32, math.MaxInt32}}
	high := Point{math.MinInt32, math.MinInt32}
	for i := range segs {
		s := &segs[i]
		g.min.X, g.min.Y = min(g.min.X, s.a.X), min(g.min.Y, s.a.Y, s.b.Y)
		high.X, high.Y = max(high.X, s.b.X), max(high.Y, s.a.Y, s.b.Y)
	}
	if len(segs) == 0 {
		g.min, high = Point{}, Point{}
	}
	count := int32(math.Sqrt(float64(len(segs))))*2 + 1
	for (high.X-g.min.X)>>g.shift > count {
		g.shift++
	}
	g.keys = make([]uint64, 0, 2*len(segs))
	for i := range segs {
		g.keys = append(g.keys, g.key(segs[i].a), g.key(segs[i].b))
	}
	slices.Sort(g.keys)
	g.keys = slices.Compact(g.keys)
	g.strips = make([]int32, ((high.X-g.min.X)>>g.shift)+2)
	for _, k := range g.keys {
		g.strips[k>>(positionBits+g.shift)+1]++
	}
	for i := 1; i < len(g.strips); i++ {
		g.strips[i] += g.strips[i-1]
	}
	g.connect(segs)
	return g
}

func (g *graph) connect(segs []seg) {
	n := len(g.keys)
	g.gone = make([]bool, n)
	g.start = make([]int32, n+2)
	ends := make([][2]int32, len(segs))
	for i := range segs {
		ends[i] = [2]int32{g.vertex(segs[i].a), g.vertex(segs[i].b)}
		g.start[ends[i][0]+2]++
		g.start[ends[i][1]+2]++
	}
	for i := 1; i < len(g.start); i++ {
		g.start[i] += g.start[i-1]
	}
	g.to, g.along = make([]int32, 2*len(segs)), make([]int32, 2*len(segs))
	put := func(v, w, label int32) {
		g.to[g.start[v+1]], g.along[g.start[v+1]] = w, label
		g.start[v+1]++
	}
	for i, e := range ends {
		put(e[0], e[1], segs[i].label)
		put(e[1], e[0], g.labels.reverse[segs[i].label])
	}
	g.start = g.start[:n+1]
}

func (g *graph) key(p Point) uint64 {
	x, y := uint64(p.X-g.min.X), uint64(p.Y-g.min.Y)
	return x>>g.shift<<(positionBits+g.shift) | y<<g.shift | x&(1<<g.shift-1)
}

// vertex returns the number of an existing vertex.
func (g *graph) vertex(p Point) int32 {
	k := g.key(p)
	strip := k >> (positionBits + g.shift)
	from := g.strips[strip]
	i, _ := slices.BinarySearch(g.keys[from:g.strips[strip+1]], k)
	return from + int32(i)
}

func (g *graph) point(v int32) Point {
	k := g.keys[v]
	x := k>>(positionBits+g.shift)<<g.shift | k&(1<<g.shift-1)
	return Point{g.min.X + int32(x), g.min.Y + int32(k>>g.shift&(1<<positionBits-1))}
}

// isPlain reports whether a vertex is not a junction: exactly two edges with the same features on their sides meet
// there.
func (g *graph) isPlain(v int32) bool {
	k := g.start[v]
	return g.start[v+1]-k == 2 && g.labels.reverse[g.along[k]] == g.along[k+1]
}

// step goes from a plain vertex to the neighbour other than prev; to the first one if prev is negative.
func (g *graph) step(v, prev int32) (next, label int32) {
	k := g.start[v]
	if g.to[k] == prev {
		k++
	}
	return g.to[k], g.along[k]
}

// segments appends the remaining edges.
func (g *graph) segments(dst []seg) []seg {
	for v := range int32(len(g.keys)) {
		if g.gone[v] {
			continue
		}
		p := g.point(v)
		for k := g.start[v]; k < g.start[v+1]; k++ {
			if q := g.point(g.to[k]); p.less(q) {
				dst = append(dst, seg{p, q, g.along[k], true})
			}
		}
	}
	return dst
}

// holdsOther reports whether another vertex lies in a triangle or on its border. A triangle without area is a line.
func (g *graph) holdsOther(a, v, b int32) bool {
	p, q, r := g.point(a), g.point(v), g.point(b)
	turn := cross(p, q, r)
	if turn < 0 {
		p, r = r, p
	}
	lo, hi := Point{min(p.X, q.X, r.X), min(p.Y, q.Y, r.Y)}, Point{max(p.X, q.X, r.X), max(p.Y, q.Y, r.Y)}
	for strip := (lo.X - g.min.X) >> g.shift; strip <= (hi.X-g.min.X)>>g.shift; strip++ {
		from, to := g.strips[strip], g.strips[strip+1]
		first := uint64(strip)<<(positionBits+g.shift) | uint64(lo.Y-g.min.Y)<<g.shift
		i, _ := slices.BinarySearch(g.keys[from:to], first)
		for w := from + int32(i); w < to; w++ {
			x := g.point(w)
			if x.Y > hi.Y {
				break
			}
			if x.X < lo.X || x.X > hi.X || g.gone[w] || w == a || w == v || w == b {
				continue
			}
			if cross(p, q, x) >= 0 && cross(q, r, x) >= 0 && cross(r, p, x) >= 0 {
				return true
			}
		}
	}
	return false
}

// joined reports whether two vertices have a common edge.
func (g *graph) joined(v, w int32) bool {
	if g.start[w+1]-g.start[w] < g.start[v+1]-g.start[v] {
		v, w = w, v
	}
	return slices.Contains(g.to[g.start[v]:g.start[v+1]], w)
}

// relink replaces the edge from v to old by one from v to w.
func (g *graph) relink(v, old, w int32) {
	for k := g.start[v]; k < g.start[v+1]; k++ {
		if g.to[k] == old {
			g.to[k] = w
			return
		}
	}
}
