package relate

import (
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/wkb"
)

// topology is a geometry of one dimension prepared for relation: points, lines or areas. It is immutable.
type topology struct {
	dim    int
	bound  orb.Bound
	points []orb.Point        // of dimension 0
	edges  []segment          // of lines and areas, path by path, none of length 0; areas lie to their left
	paths  []int32            // first edge of each line or ring, and the end
	odd    map[orb.Point]bool // ends of an odd number of lines: their boundary (OGC 06-103r4, 6.1.8); or all points
	levels [][]orb.Bound      // each bounds fanout entries of the level below, or edges
}

// fanout is the number of edges, or boxes of them, that share a box.
// Edges that are close in a path are close in the plane.
const fanout = 8

// newTopology reads a geometry from flatten. It returns nil for a collection, or if no part has the extent of its type.
func newTopology(f flat) *topology {
	r := wkb.NewReader(f.wkb)
	kind, err := r.Header()
	if err != nil || kind > wkb.MultiPolygon {
		return nil
	}
	t := &topology{bound: f.bound, paths: []int32{0}, odd: map[orb.Point]bool{}}
	switch kind {
	case wkb.LineString, wkb.MultiLineString:
		t.dim = 1
	case wkb.Polygon, wkb.MultiPolygon:
		t.dim = 2
	}
	if wkb.Walk(f.wkb, func(r wkb.Run) bool { t.add(&r); return true }) != nil || len(t.points)+len(t.edges) == 0 {
		return nil
	}
	t.index()
	return t
}

// add adds a point, a line or a ring.
func (t *topology) add(r *wkb.Run) {
	start := len(t.edges)
	var last orb.Point
	for i := range r.Len() {
		x, y := r.XY(i)
		p := orb.Point{x, y}
		switch {
		case t.dim == 0:
			t.points, t.odd[p] = append(t.points, p), true
		case i > 0 && p != last:
			t.edges = append(t.edges, segment{last, p})
		}
		last = p
	}
	path := t.edges[start:]
	if len(path) == 0 {
		return
	}
	first := path[0].a
	switch {
	case t.dim == 1 && first != last:
		t.end(first)
		t.end(last)
	case t.dim == 2:
		if first != last {
			t.edges = append(t.edges, segment{last, first})
			path = t.edges[start:]
		}
		if len(path) < 3 {
			t.edges = t.edges[:start]
			return
		}
		if leftward(path) != (r.Ring == 0) {
			slices.Reverse(path)
			for i, e := range path {
				path[i] = segment{e.b, e.a}
			}
		}
	}
	t.paths = append(t.paths, int32(len(t.edges)))
}

func (t *topology) end(p orb.Point) {
	if t.odd[p] {
		delete(t.odd, p)
	} else {
		t.odd[p] = true
	}
}

// leftward reports whether the inside of a ring is to its left: whether it turns left at its
// lowest, westernmost corner.
func leftward(ring []segment) bool {
	k := 0
	for i, e := range ring {
		if c := ring[k].a; e.a[0] < c[0] || e.a[0] == c[0] && e.a[1] < c[1] {
			k = i
		}
	}
	if side := wkb.Turn(ring[(k+len(ring)-1)%len(ring)].a, ring[k].a, ring[k].b); side != 0 {
		return side > 0
	}
	var area wkb.Area
	for _, e := range ring {
		area.Add(e.a[0], e.a[1])
	}
	area.Add(ring[0].a[0], ring[0].a[1])
	return area.Signed() > 0
}

func (e *segment) bound() orb.Bound {
	return orb.Bound{
		Min: orb.Point{min(e.a[0], e.b[0]), min(e.a[1], e.b[1])},
		Max: orb.Point{max(e.a[0], e.b[0]), max(e.a[1], e.b[1])},
	}
}

// holds reports whether a point lies on the edge, ends included.
func (e *segment) holds(p orb.Point) bool {
	return p == e.a || p == e.b ||
		p[0] >= min(e.a[0], e.b[0]) && p[0] <= max(e.a[0], e.b[0]) &&
			p[1] >= min(e.a[1], e.b[1]) && p[1] <= max(e.a[1], e.b[1]) && wkb.Turn(e.a, e.b, p) == 0
}

func (t *topology) index() {
	level := make([]orb.Bound, (len(t.edges)+fanout-1)/fanout)
	for i := range level {
		level[i] = wkb.EmptyBound()
		for k := i * fanout; k < min((i+1)*fanout, len(t.edges)); k++ {
			level[i] = level[i].Union(t.edges[k].bound())
		}
	}
	for t.levels = append(t.levels, level); len(level) > fanout; t.levels = append(t.levels, level) {
		above := make([]orb.Bound, (len(level)+fanout-1)/fanout)
		for i := range above {
			above[i] = wkb.EmptyBound()
			for _, b := range level[i*fanout : min((i+1)*fanout, len(level))] {
				above[i] = above[i].Union(b)
			}
		}
		level = above
	}
}

// search calls fn with the numbers of edges whose boxes may overlap a box, until fn returns false.
// It reports whether fn never did.
func (t *topology) search(box *orb.Bound, fn func(i int) bool) bool {
	top := len(t.levels) - 1
	return t.descend(top, 0, len(t.levels[top]), box, fn)
}

func (t *topology) descend(level, from, to int, box *orb.Bound, fn func(i int) bool) bool {
	for i := from; i < to; i++ {
		if b := &t.levels[level][i]; b.Min[0] > box.Max[0] || b.Max[0] < box.Min[0] ||
			b.Min[1] > box.Max[1] || b.Max[1] < box.Min[1] {
			continue
		}
		if level > 0 {
			if !t.descend(level-1, i*fanout, min((i+1)*fanout, len(t.levels[level-1])), box, fn) {
				return false
			}
			continue
		}
		for k := i * fanout; k < min((i+1)*fanout, len(t.edges)); k++ {
			e := &t.edges[k]
			if min(e.a[0], e.b[0]) <= box.Max[0] && max(e.a[0], e.b[0]) >= box.Min[0] &&
				min(e.a[1], e.b[1]) <= box.Max[1] && max(e.a[1], e.b[1]) >= box.Min[1] && !fn(k) {
				return false
			}
		}
	}
	return true
}

// path returns the number of the line or ring of an edge.
func (t *topology) path(edge int) int {
	i, found := slices.BinarySearch(t.paths, int32(edge))
	if found {
		return i
	}
	return i - 1
}

// isLast reports whether an edge is the last of an open line. The end of every other edge is the start of the next.
func (t *topology) isLast(i int) bool { return t.dim == 1 && int(t.paths[t.path(i)+1]) == i+1 }
