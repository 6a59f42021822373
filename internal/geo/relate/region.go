package relate

import (
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/wkb"
)

// region is one or several polygons, prepared for tests against points, segments and boxes.
// It contains all that its rings enclose by the even-odd rule, borders included. Every test is exact. It is immutable.
type region struct {
	bound orb.Bound
	parts []regionPart
}

// regionPart is one polygon. Its edges are indexed by horizontal bands of equal height.
type regionPart struct {
	bound orb.Bound
	edges []segment
	start []int32 // first index in list of each band, and the end
	list  []int32 // numbers of edges
	scale float64 // bands per unit
	last  float64 // number of the last band
}

type segment struct{ a, b orb.Point }

// maxBands is the largest number of bands of a polygon.
const maxBands = 4096

// newRegion reads a geometry from flatten. It returns nil if it is not an area, or if a ring is open.
func newRegion(f flat) *region {
	r := wkb.NewReader(f.wkb)
	if kind, err := r.Header(); err != nil || kind != wkb.Polygon && kind != wkb.MultiPolygon {
		return nil
	}
	a := &region{bound: f.bound}
	var part regionPart
	closed := true
	err := wkb.Walk(f.wkb, func(r wkb.Run) bool {
		if closed = part.add(&r); closed && r.Last {
			if len(part.edges) > 0 {
				part.index()
				a.parts = append(a.parts, part)
			}
			part = regionPart{}
		}
		return closed
	})
	if err != nil || !closed || len(a.parts) == 0 {
		return nil
	}
	return a
}

// add adds the edges of a ring. It returns false if the ring is open.
func (s *regionPart) add(r *wkb.Run) bool {
	var first, last orb.Point
	for i := range r.Len() {
		x, y := r.XY(i)
		p := orb.Point{x, y}
		if i == 0 {
			first = p
		} else {
			s.edges = append(s.edges, segment{last, p})
		}
		last = p
	}
	return r.Len() >= 2 && first == last
}

func (s *regionPart) index() {
	s.bound = orb.Bound{Min: s.edges[0].a, Max: s.edges[0].a}
	for _, e := range s.edges {
		s.bound = s.bound.Extend(e.b)
	}
	n := min(max(len(s.edges)/2, 1), maxBands)
	if s.scale = float64(n) / (s.bound.Max[1] - s.bound.Min[1]); !wkb.Finite(s.scale) {
		s.scale, n = 0, 1
	}
	s.last = float64(n - 1)
	s.start = make([]int32, n+2)
	for _, e := range s.edges {
		for k, last := s.bands(min(e.a[1], e.b[1]), max(e.a[1], e.b[1])); k <= last; k++ {
			s.start[k+2]++
		}
	}
	for k := 1; k < len(s.start); k++ {
		s.start[k] += s.start[k-1]
	}
	s.list = make([]int32, s.start[n+1])
	for i, e := range s.edges {
		for k, last := s.bands(min(e.a[1], e.b[1]), max(e.a[1], e.b[1])); k <= last; k++ {
			s.list[s.start[k+1]] = int32(i)
			s.start[k+1]++
		}
	}
	s.start = s.start[:n+1]
}

// bands returns the first and the last band of a range of y. It rounds in the same way for edges and for tests.
func (s *regionPart) bands(lo, hi float64) (first, last int) {
	at := func(y float64) int { return int(min(max((y-s.bound.Min[1])*s.scale, 0), s.last)) }
	return at(lo), at(hi)
}

func (s *regionPart) band(k int) []int32 { return s.list[s.start[k]:s.start[k+1]] }

// covers reports whether a point lies in the polygon or on its border.
func (s *regionPart) covers(p orb.Point) bool {
	if !holds(&s.bound, p) {
		return false
	}
	k, _ := s.bands(p[1], p[1])
	inside := false
	for _, i := range s.band(k) {
		e := &s.edges[i]
		low, high := e.a, e.b
		if low[1] > high[1] {
			low, high = high, low
		}
		if p[1] < low[1] || p[1] > high[1] || p[0] > low[0] && p[0] > high[0] {
			continue // neither on the edge nor crossed by the ray to the east
		}
		crossing := low[1] <= p[1] && p[1] < high[1]
		if p[0] < low[0] && p[0] < high[0] {
			if crossing {
				inside = !inside
			}
			continue
		}
		side := wkb.Turn(low, high, p)
		if side == 0 { // on the line, and within the bound of the edge
			return true
		}
		if crossing && side > 0 {
			inside = !inside
		}
	}
	return inside
}

// meets reports whether a segment touches an edge.
func (s *regionPart) meets(a, b orb.Point) bool {
	if min(a[0], b[0]) > s.bound.Max[0] || max(a[0], b[0]) < s.bound.Min[0] ||
		min(a[1], b[1]) > s.bound.Max[1] || max(a[1], b[1]) < s.bound.Min[1] {
		return false
	}
	for k, last := s.bands(min(a[1], b[1]), max(a[1], b[1])); k <= last; k++ {
		for _, i := range s.band(k) {
			if e := &s.edges[i]; segmentsTouch(a, b, e.a, e.b) {
				return true
			}
		}
	}
	return false
}

// crosses reports whether an edge touches a box.
func (s *regionPart) crosses(b *orb.Bound) bool {
	for k, last := s.bands(b.Min[1], b.Max[1]); k <= last; k++ {
		for _, i := range s.band(k) {
			if e := &s.edges[i]; edgeTouches(e.a, e.b, b) {
				return true
			}
		}
	}
	return false
}

// segmentsTouch reports whether two segments have a point in common.
func segmentsTouch(a, b, c, d orb.Point) bool {
	if min(a[0], b[0]) > max(c[0], d[0]) || max(a[0], b[0]) < min(c[0], d[0]) ||
		min(a[1], b[1]) > max(c[1], d[1]) || max(a[1], b[1]) < min(c[1], d[1]) {
		return false
	}
	return wkb.Turn(c, d, a)*wkb.Turn(c, d, b) <= 0 && wkb.Turn(a, b, c)*wkb.Turn(a, b, d) <= 0
}

// box reports what is true of all geometries in a box: that they touch the area, or that none does.
func (a *region) box(b orb.Bound) (all, none bool) {
	none = true
	for i := range a.parts {
		p := &a.parts[i]
		switch {
		case !p.bound.Intersects(b):
		case p.crosses(&b):
			none = false
		case p.covers(b.Min):
			return true, false
		}
	}
	return false, none
}

// touches reports whether a geometry touches the area. It stops at the first vertex that does.
// The error is ErrPlace if an earlier vertex is not finite.
func (a *region) touches(geometry []byte) (bool, error) {
	for _, edges := range [...]bool{false, true} { // most have a vertex in it, which is a cheap test
		w := regionTest{region: a, edges: edges}
		err := wkb.Walk(geometry, func(r wkb.Run) bool { return !w.run(&r) })
		if w.hit || w.lost {
			return w.hit, w.err()
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// regionTest walks a geometry once: for vertices in the area, or for edges that meet its edges and polygons around it.
type regionTest struct {
	*region
	edges     bool
	inside    []bool // by part: the current polygon contains it
	hit, lost bool
}

func (w *regionTest) err() error {
	if w.lost {
		return ErrPlace
	}
	return nil
}

// run tests the positions of a run, or the edges between them, and reports whether the walk can end.
func (w *regionTest) run(r *wkb.Run) bool {
	switch {
	case !w.edges:
		w.vertices(r)
		return w.hit || w.lost
	case r.Kind == wkb.Polygon && r.Ring == 0:
		w.inside = slices.Grow(w.inside[:0], len(w.parts))[:len(w.parts)]
		clear(w.inside)
	}
	w.path(r)
	if r.Kind == wkb.Polygon && r.Last && !w.lost {
		w.hit = w.hit || slices.Contains(w.inside, true)
	}
	return w.hit || w.lost
}

func (w *regionTest) vertices(r *wkb.Run) {
	for i := range r.Len() {
		x, y := r.XY(i)
		if w.lost = !wkb.Finite(x) || !wkb.Finite(y); w.lost {
			return
		}
		for k := range w.parts {
			if w.parts[k].covers(orb.Point{x, y}) {
				w.hit = true
				return
			}
		}
	}
}

func (w *regionTest) path(r *wkb.Run) {
	ring := r.Kind == wkb.Polygon
	var last orb.Point
	for i := range r.Len() {
		x, y := r.XY(i)
		p := orb.Point{x, y}
		if w.lost = !wkb.Finite(x) || !wkb.Finite(y); w.lost {
			return
		}
		for k := range w.parts {
			if i == 0 {
				continue
			}
			s := &w.parts[k]
			if s.meets(last, p) {
				w.hit = true
				return
			}
			if ring && passesBelow(last, p, s.edges[0].a) {
				w.inside[k] = !w.inside[k]
			}
		}
		last = p
	}
}

// pointTouches reports whether a geometry contains a point. It stops at the first hit, as touches does.
func pointTouches(geometry []byte, p orb.Point) (bool, error) {
	t := boxTest{n: 1}
	t.boxes[0] = orb.Bound{Min: p, Max: p}
	hit, err := t.test(geometry)
	if err == nil && !hit && t.lost {
		err = ErrPlace
	}
	return hit, err
}
