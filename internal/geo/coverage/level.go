package coverage

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Level contains the polygons of a layer on one grid. It is immutable.
type Level struct {
	Unit     float64 // width of a cell, in units of the Grid's coordinate system
	arcs     []int32 // start of each arc in points, and the end
	points   []Point // arcs have only their ends in common
	first    []int32 // start of each feature in polygons, and the end
	polygons []polygon
	refs     []int32 // arcs of rings; ^n is arc n in reverse
	LeftOut  int     // number of features that had rings before
	once     sync.Once
	index    *Index

	sidesOnce sync.Once
	sides     sides
}

// polygon lists the rings of a polygon in refs, the outer one first.
type polygon struct {
	rings    []int32 // start of each ring in refs, and the end
	min, max Point
}

// Features returns the number of features.
func (l *Level) Features() int { return len(l.first) - 1 }

// Vertices returns the number of vertices of all arcs. Ends are counted once for each arc.
func (l *Level) Vertices() int { return len(l.points) }

// Arcs returns the number of arcs.
func (l *Level) Arcs() int { return len(l.arcs) - 1 }

// Polygons returns the number of polygons of a feature.
func (l *Level) Polygons(feature int) int { return int(l.first[feature+1] - l.first[feature]) }

// Rings returns the number of rings of a polygon.
func (l *Level) Rings(feature, i int) int { return len(l.polygons[int(l.first[feature])+i].rings) - 1 }

// Box returns the lower left and the upper right corner of a polygon.
func (l *Level) Box(feature, i int) (low, high Point) {
	p := &l.polygons[int(l.first[feature])+i]
	return p.min, p.max
}

// AppendRing appends a ring of a polygon without repeating the first position. Ring 0 is the outer one,
// counter-clockwise with Y pointing up; holes are clockwise. It returns false if there is no such ring.
func (l *Level) AppendRing(dst []Point, feature, i, ring int) ([]Point, bool) {
	p := &l.polygons[int(l.first[feature])+i]
	if ring >= len(p.rings)-1 {
		return dst, false
	}
	for _, ref := range l.refs[p.rings[ring]:p.rings[ring+1]] {
		dst = l.appendArc(dst, ref)
	}
	return dst, true
}

// appendArc appends an arc without its last point.
func (l *Level) appendArc(dst []Point, ref int32) []Point {
	if ref >= 0 {
		return append(dst, l.points[l.arcs[ref]:l.arcs[ref+1]-1]...)
	}
	list := l.points[l.arcs[^ref]:l.arcs[^ref+1]]
	for i := len(list) - 1; i > 0; i-- {
		dst = append(dst, list[i])
	}
	return dst
}

// ends returns the first two and the last two points of an arc.
func (l *Level) ends(ref int32) (first, second, beforeLast, last Point) {
	n := ref
	if n < 0 {
		n = ^n
	}
	p := l.points[l.arcs[n]:l.arcs[n+1]]
	first, second, beforeLast, last = p[0], p[1], p[len(p)-2], p[len(p)-1]
	if ref < 0 {
		return last, beforeLast, second, first
	}
	return first, second, beforeLast, last
}

// level builds the arcs and rings of a graph.
func (g *graph) level(features int32) *Level {
	l := &Level{}
	on := g.cutArcs(l)
	byFeature := make([][]int32, features)
	for n, label := range on {
		for _, f := range g.labels.set(label) {
			ref := int32(n)
			if f < 0 {
				ref = ^ref
			}
			byFeature[abs(f)-1] = append(byFeature[abs(f)-1], ref)
		}
	}
	l.first = make([]int32, 1, features+1)
	for _, refs := range byFeature {
		if l.addFeature(refs); len(l.polygons) > int(l.first[len(l.first)-1]) {
			l.LeftOut--
		}
		l.first = append(l.first, int32(len(l.polygons)))
	}
	return l
}

// cutArcs sets arcs and points, and returns the label of each arc.
func (g *graph) cutArcs(l *Level) (on []int32) {
	done := make([]bool, len(g.keys))
	walk := func(v, next, label int32) {
		l.arcs = append(l.arcs, int32(len(l.points)))
		l.points = append(l.points, g.point(v))
		on = append(on, label)
		prev, at := v, next
		for at != v && g.isPlain(at) {
			done[at] = true
			l.points = append(l.points, g.point(at))
			next, _ := g.step(at, prev)
			prev, at = at, next
		}
		l.points = append(l.points, g.point(at))
		done[at] = done[at] || at == v
		if !g.isPlain(at) { // reached from both ends; added once
			g.drop(at, prev)
		}
	}
	for v := range int32(len(g.keys)) {
		if g.gone[v] || g.isPlain(v) {
			continue
		}
		for k := g.start[v]; k < g.start[v+1]; k++ {
			if g.to[k] >= 0 {
				next := g.to[k]
				g.to[k] = -1
				walk(v, next, g.along[k])
			}
		}
	}
	for v := range int32(len(g.keys)) {
		if !g.gone[v] && !done[v] && g.isPlain(v) {
			done[v] = true
			walk(v, g.to[g.start[v]], g.along[g.start[v]])
		}
	}
	l.arcs = append(l.arcs, int32(len(l.points)))
	return on
}

// drop marks an edge at a junction as used.
func (g *graph) drop(v, to int32) {
	for k := g.start[v]; k < g.start[v+1]; k++ {
		if g.to[k] == to {
			g.to[k] = -1
			return
		}
	}
}

// loop is a simple ring that is not yet part of a polygon.
type loop struct {
	refs      []int32
	twice     int64 // twice the signed area in the original direction
	ring      []Point
	low, high Point
	hole      bool
	holes     []int
}

// addFeature builds polygons of arcs that have the feature on their left. If a ring crosses itself, some arcs have it
// on their right and are reversed.
func (l *Level) addFeature(refs []int32) {
	loops, whole := l.loops(refs)
	if l.sortLoops(loops) || !whole {
		loops, _ = l.loops(l.turned(refs))
		l.sortLoops(loops)
	}
	l.addPolygons(loops)
}

// loops connects arcs to simple rings; whole is false if some arc has no successor.
func (l *Level) loops(refs []int32) (loops []loop, whole bool) {
	whole = true
	from := map[Point][]int32{} // arcs by first point
	for _, r := range refs {
		first, _, _, _ := l.ends(r)
		from[first] = append(from[first], r)
	}
	used := map[int32]bool{}
	for _, r := range refs {
		if used[r] {
			continue
		}
		walk := l.face(r, from, used)
		whole = whole && walk != nil
		for _, part := range l.simple(walk) {
			if a := l.area(part); a != 0 {
				loops = append(loops, loop{refs: part, twice: a})
			}
		}
	}
	return loops, whole
}

// face walks around the face on the left, beginning with an arc; nil if the walk does not return to it.
func (l *Level) face(r int32, from map[Point][]int32, used map[int32]bool) (walk []int32) {
	start := r
	for !used[r] {
		used[r] = true
		walk = append(walk, r)
		_, _, before, last := l.ends(r)
		if r = l.sharpest(from[last], last, before); r == noArc {
			return nil
		}
	}
	if r != start {
		return nil
	}
	return walk
}

// noArc is a number that no arc has.
const noArc = math.MaxInt32

// sharpest returns the arc of a list, all beginning at a junction, that comes first clockwise from the direction of p.
func (l *Level) sharpest(list []int32, at, p Point) int32 {
	best := int32(noArc)
	var other Point
	for _, c := range list {
		_, second, _, _ := l.ends(c)
		if best == noArc || clockwise(at, p, second, other) {
			best, other = c, second
		}
	}
	return best
}

// clockwise reports whether, turning clockwise around c from the direction of p, a comes before b. The direction of p
// itself comes last.
func clockwise(c, p, a, b Point) bool {
	half := func(q Point) int {
		switch t := cross(c, p, q); {
		case t < 0:
			return 0
		case t > 0:
			return 2
		}
		if int64(p.X-c.X)*int64(q.X-c.X)+int64(p.Y-c.Y)*int64(q.Y-c.Y) < 0 {
			return 1
		}
		return 3
	}
	if ha, hb := half(a), half(b); ha != hb {
		return ha < hb
	}
	return cross(c, a, b) < 0
}

// simple splits a walk wherever it returns to a junction.
func (l *Level) simple(walk []int32) (parts [][]int32) {
	at := map[Point]int{}
	var stack []int32
	for _, r := range walk {
		first, _, _, last := l.ends(r)
		at[first] = len(stack)
		stack = append(stack, r)
		if k, ok := at[last]; ok {
			part := slices.Clone(stack[k:])
			for _, x := range part {
				p, _, _, _ := l.ends(x)
				delete(at, p)
			}
			stack = stack[:k]
			parts = append(parts, part)
		}
	}
	return parts
}

func (l *Level) area(refs []int32) (twice int64) {
	origin, _, _, _ := l.ends(refs[0])
	for _, r := range refs {
		n := r
		if n < 0 {
			n = ^n
		}
		p := l.points[l.arcs[n]:l.arcs[n+1]]
		sum := int64(0)
		for i := 1; i < len(p); i++ {
			sum += cross(origin, p[i-1], p[i])
		}
		if r < 0 {
			sum = -sum
		}
		twice += sum
	}
	return twice
}

// sortLoops finds out which loops are holes, and of which loop. Loops do not cross: one within an even number of others
// is an outer ring, else a hole of the smallest of them. turned reports that a loop had the wrong direction and was
// reversed.
func (l *Level) sortLoops(loops []loop) (turned bool) {
	slices.SortStableFunc(loops, func(a, b loop) int { return cmp.Compare(abs64(b.twice), abs64(a.twice)) })
	for i := range loops {
		x := &loops[i]
		for _, r := range x.refs {
			x.ring = l.appendArc(x.ring, r)
		}
		x.low, x.high = corners(x.ring)
		for k := i - 1; k >= 0; k-- {
			y := &loops[k]
			if y.low.X > x.low.X || y.low.Y > x.low.Y || y.high.X < x.high.X || y.high.Y < x.high.Y ||
				!encloses(y.ring, x.ring) {
				continue
			}
			if x.hole = !y.hole; x.hole {
				y.holes = append(y.holes, i)
			}
			break
		}
		if (x.twice > 0) == x.hole { // part of a ring that crosses itself
			slices.Reverse(x.refs)
			for k, r := range x.refs {
				x.refs[k] = ^r
			}
			turned = true
		}
	}
	return turned
}

// addPolygons adds the polygons of sorted loops.
func (l *Level) addPolygons(loops []loop) {
	for i := range loops {
		if loops[i].hole {
			continue
		}
		p := polygon{min: loops[i].low, max: loops[i].high}
		for _, k := range append([]int{i}, loops[i].holes...) {
			p.rings = append(p.rings, int32(len(l.refs)))
			l.refs = append(l.refs, loops[k].refs...)
		}
		p.rings = append(p.rings, int32(len(l.refs)))
		l.polygons = append(l.polygons, p)
	}
}

func corners(ring []Point) (low, high Point) {
	low, high = ring[0], ring[0]
	for _, p := range ring {
		low.X, low.Y = min(low.X, p.X), min(low.Y, p.Y)
		high.X, high.Y = max(high.X, p.X), max(high.Y, p.Y)
	}
	return low, high
}

// encloses reports whether a ring lies within another one. They must not cross, but may touch.
func encloses(outer, inner []Point) bool {
	for _, p := range inner {
		if in, on := holds(outer, p, 1); !on {
			return in
		}
	}
	last := inner[len(inner)-1]
	for _, p := range inner { // if all corners are on it, the middle of some edge is not
		if in, on := holds(outer, Point{last.X + p.X, last.Y + p.Y}, 2); !on {
			return in
		}
		last = p
	}
	return false
}

// holds reports whether a position is inside a ring, scaled by scale, and whether it is on its border.
func holds(ring []Point, p Point, scale int32) (in, on bool) {
	times := func(q Point) Point { return Point{scale * q.X, scale * q.Y} }
	a := times(ring[len(ring)-1])
	for _, b := range ring {
		b = times(b)
		lower, upper := a, b
		if upper.Y < lower.Y {
			lower, upper = upper, lower
		}
		t := cross(lower, upper, p)
		if t == 0 && p.X >= min(a.X, b.X) && p.X <= max(a.X, b.X) && p.Y >= lower.Y && p.Y <= upper.Y {
			return false, true
		}
		if lower.Y <= p.Y && p.Y < upper.Y && t > 0 {
			in = !in
		}
		a = b
	}
	return in, false
}

// Layer returns a level of the features from from to before to, renumbered from 0. Its LeftOut is 0.
func (l *Level) Layer(from, to int) *Level {
	out := &Level{Unit: l.Unit, arcs: []int32{0}, first: make([]int32, 1, to-from+1)}
	number := make(map[int32]int32)
	for f := from; f < to; f++ {
		for _, p := range l.polygons[l.first[f]:l.first[f+1]] {
			q := polygon{min: p.min, max: p.max, rings: make([]int32, 0, len(p.rings))}
			for _, at := range p.rings {
				q.rings = append(q.rings, at-p.rings[0]+int32(len(out.refs)))
			}
			for _, ref := range l.refs[p.rings[0]:p.rings[len(p.rings)-1]] {
				a := max(ref, ^ref)
				n, ok := number[a]
				if !ok {
					n = int32(len(out.arcs) - 1)
					number[a] = n
					out.points = append(out.points, l.points[l.arcs[a]:l.arcs[a+1]]...)
					out.arcs = append(out.arcs, int32(len(out.points)))
				}
				if ref < 0 {
					n = ^n
				}
				out.refs = append(out.refs, n)
			}
			out.polygons = append(out.polygons, q)
		}
		out.first = append(out.first, int32(len(out.polygons)))
	}
	return out
}

// Finer returns the same polygons on a grid that is 2^times as fine.
func (l *Level) Finer(times uint) *Level {
	out := &Level{Unit: l.Unit / float64(int64(1)<<times), arcs: l.arcs, first: l.first, refs: l.refs,
		LeftOut: l.LeftOut,
		points:  make([]Point, len(l.points)), polygons: make([]polygon, len(l.polygons))}
	scaled := func(p Point) Point { return Point{p.X << times, p.Y << times} }
	for i, p := range l.points {
		out.points[i] = scaled(p)
	}
	for i, p := range l.polygons {
		out.polygons[i] = polygon{rings: p.rings, min: scaled(p.min), max: scaled(p.max)}
	}
	return out
}

// Nothing returns a level of features without polygons.
func Nothing(features int, unit float64) *Level {
	return &Level{Unit: unit, arcs: []int32{0}, first: make([]int32, features+1)}
}
