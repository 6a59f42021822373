package relate

import (
	"slices"
	"unsafe"

	"github.com/paulmach/orb"

	"grense/internal/geo/wkb"
)

// Edges is a geometry prepared for tests against boxes and points. Each group of consecutive edges has a bound,
// so that most edges are skipped. The results equal those of a walk over all edges. It shares memory with its WKB,
// is immutable and safe for concurrent use.
type Edges struct {
	runs  []wkb.Run
	chain []chain
}

// chain is a group of consecutive edges of a run.
type chain struct {
	bound       orb.Bound
	run         int32
	first, last int32 // positions
}

// edgesInChain is the number of edges that share a bound.
const edgesInChain = 16

// NewEdges reads a geometry in WKB. It returns nil if the bytes are invalid, if the geometry or a part of it is empty,
// or if a coordinate is not finite.
func NewEdges(geometry []byte) *Edges {
	g := &Edges{}
	plain := true
	err := wkb.Walk(geometry, func(r wkb.Run) bool {
		plain = g.add(r)
		return plain
	})
	if err != nil || !plain || len(g.chain) == 0 {
		return nil
	}
	g.runs, g.chain = slices.Clip(g.runs), slices.Clip(g.chain)
	return g
}

// add adds a run. It returns false if the run is empty or a coordinate is not finite.
func (g *Edges) add(r wkb.Run) bool {
	n, run := r.Len(), int32(len(g.runs))
	if n == 0 {
		return false
	}
	g.runs = append(g.runs, r)
	for from := 0; from == 0 || from < n-1; from += edgesInChain {
		c := chain{bound: wkb.EmptyBound(), run: run, first: int32(from), last: int32(min(from+edgesInChain, n-1))}
		for i := c.first; i <= c.last; i++ {
			x, y := r.XY(int(i))
			if !wkb.Finite(x) || !wkb.Finite(y) {
				return false
			}
			wkb.Extend(&c.bound, x, y)
		}
		g.chain = append(g.chain, c)
	}
	return true
}

// Bytes returns the memory that it takes in addition to its WKB.
func (g *Edges) Bytes() int {
	if g == nil {
		return 0
	}
	return int(unsafe.Sizeof(*g)) + cap(g.runs)*int(unsafe.Sizeof(wkb.Run{})) + cap(g.chain)*int(unsafe.Sizeof(chain{}))
}

// Bound returns the envelope of all positions.
func (g *Edges) Bound() orb.Bound {
	b := g.chain[0].bound
	for i := range g.chain {
		b = b.Union(g.chain[i].bound)
	}
	return b
}

// touches reports whether the geometry and a closed box in the same CRS have a point in common.
// It equals boxTest without heights.
func (g *Edges) touches(box *orb.Bound) bool {
	for i := range g.chain {
		if c := &g.chain[i]; c.bound.Intersects(*box) && g.chainTouches(c, box) {
			return true
		}
	}
	return g.around(box.Min)
}

func (g *Edges) chainTouches(c *chain, box *orb.Bound) bool {
	r := &g.runs[c.run]
	last := vertexOf(r, c.first)
	if c.first == c.last {
		return holds(box, last)
	}
	for i := c.first + 1; i <= c.last; i++ {
		p := vertexOf(r, i)
		if edgeTouches(last, p, box) {
			return true
		}
		last = p
	}
	return false
}

func vertexOf(r *wkb.Run, i int32) orb.Point {
	x, y := r.XY(int(i))
	return orb.Point{x, y}
}

// around reports whether an odd number of edges of some polygon pass below a point.
func (g *Edges) around(at orb.Point) bool {
	inside := false
	for i := range g.chain {
		c := &g.chain[i]
		r := &g.runs[c.run]
		if r.Kind != wkb.Polygon {
			continue
		}
		if inside && r.Ring == 0 && c.first == 0 { // the next polygon begins
			return true
		}
		if g.chainPasses(c, at) {
			inside = !inside
		}
	}
	return inside
}

// chainPasses reports whether an odd number of the edges pass below a point.
func (g *Edges) chainPasses(c *chain, at orb.Point) bool {
	b := &c.bound
	if b.Min[0] >= at[0] || b.Max[0] < at[0] || b.Min[1] > at[1] {
		return false // no edge spans the x of the point, or all edges are above
	}
	r := &g.runs[c.run]
	last := vertexOf(r, c.first)
	if b.Max[1] < at[1] {
		return (last[0] < at[0]) != (vertexOf(r, c.last)[0] < at[0])
	}
	odd := false
	for i := c.first + 1; i <= c.last; i++ {
		p := vertexOf(r, i)
		if passesBelow(last, p, at) {
			odd = !odd
		}
		last = p
	}
	return odd
}

// near equals boxTest with nearPath, for a box in another CRS. unsure reports that this does not decide.
func (g *Edges) near(t *boxTest) (hit, unsure bool) {
	for i := range g.chain {
		c := &g.chain[i]
		if !c.bound.Intersects(*t.near) {
			continue
		}
		if hit, doubt := g.chainNear(c, t); hit {
			return true, false
		} else if doubt {
			unsure = true
		}
	}
	return !unsure && g.around(t.at), unsure
}

func (g *Edges) chainNear(c *chain, t *boxTest) (hit, unsure bool) {
	box, r := &t.boxes[0], &g.runs[c.run]
	to := func(p orb.Point) (q orb.Point) {
		q[0], q[1] = t.f(p[0], p[1])
		return q
	}
	last := vertexOf(r, c.first)
	if c.first == 0 && holds(t.near, last) && holds(box, to(last)) {
		return true, false
	}
	for i := c.first + 1; i <= c.last; i++ {
		p := vertexOf(r, i)
		edge := (&segment{last, p}).bound()
		if edge.Intersects(*t.near) {
			if edgeTouches(to(last), to(p), box) {
				return true, false
			}
			wide := edge.Pad(t.pad)
			unsure = unsure || holds(&wide, t.at)
		}
		last = p
	}
	return false, unsure
}
