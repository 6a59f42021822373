package relate

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Box is a box, and a range of heights (nil: any). Min[0] > Max[0] crosses the antimeridian.
type Box struct {
	Bound orb.Bound
	Z     *[2]float64
	CRS   crs.ID
}

// Touches reports whether a geometry matches a box: whether they have a point in common in the CRS of the box,
// with straight edges between the transformed vertices (OGC 17-069r4, 7.15.3). The geometry is WKB (ISO or EWKB,
// either byte order) in the CRS in.
// A missing (nil) or empty geometry matches. A polygon around the box matches; one with the box in a hole does not.
// If both have heights, the range of heights of the point, line or polygon that touches must overlap that of the box.
// Vertices that cannot be transformed touch nothing.
// The test is exact, and allocates only if an edge passes a corner within rounding.
func (b Box) Touches(geometry []byte, in crs.ID) (bool, error) {
	if geometry == nil {
		return true, nil
	}
	t := boxTest{z: b.Z}
	if !crs.Same(in, b.CRS) {
		f, err := crs.Between(in, b.CRS)
		if err != nil {
			return false, fmt.Errorf("relate: box: %w", err)
		}
		t.f = f
	}
	t.boxes[0], t.n = b.Bound, 1
	if b.Bound.Min[0] > b.Bound.Max[0] {
		h := Halves(b.Bound)
		t.boxes[0], t.boxes[1], t.n = h[0], h[1], 2
	}
	hit, err := t.test(geometry)
	return hit || err == nil && !t.any, err
}

// BoxTest tests many geometries against a box. It is not safe for concurrent use.
type BoxTest struct {
	Box Box
	// Bounds returns the bounds of the box in a CRS, one for each side of the antimeridian.
	// It returns false if no bound is certain.
	Bounds func(in crs.ID) ([]orb.Bound, bool)

	in   crs.ID
	pad  float64
	f    crs.Func
	near *orb.Bound // edges outside it cannot touch the box, in the CRS in; nil if unknown
	at   orb.Point  // a point of the box in the CRS in
}

// Plain reports whether Touches uses edges: the box has no heights and does not cross the antimeridian.
func (m *BoxTest) Plain() bool { return m.Box.Z == nil && m.Box.Bound.Min[0] <= m.Box.Bound.Max[0] }

// Touches is Box.Touches. edges is the prepared geometry, or nil. pad is how far an edge that is straight in another
// CRS may leave the envelope of its ends, in units of in; infinite or NaN if unknown.
// With a pad, boxes in another CRS need few transformations.
func (m *BoxTest) Touches(geometry []byte, in crs.ID, edges *Edges, pad float64) (bool, error) {
	known := !math.IsInf(pad, 0) && !math.IsNaN(pad)
	switch same := crs.Same(in, m.Box.CRS); {
	case geometry == nil || !m.Plain():
		return m.Box.Touches(geometry, in)
	case same && edges != nil:
		return edges.touches(&m.Box.Bound), nil
	case same || !known:
		return m.Box.Touches(geometry, in)
	}
	if m.in != in || m.pad != pad {
		m.prepare(in, pad)
	}
	if m.near != nil {
		t := boxTest{f: m.f, n: 1, near: m.near, at: m.at, pad: m.pad}
		t.boxes[0] = m.Box.Bound
		if edges != nil {
			if hit, unsure := edges.near(&t); !unsure {
				return hit, nil
			}
		} else if hit, err := t.test(geometry); err != nil || !t.unsure {
			return hit || err == nil && !t.any, err
		}
	}
	return m.Box.Touches(geometry, in)
}

func (m *BoxTest) prepare(in crs.ID, pad float64) {
	m.in, m.pad, m.near = in, pad, nil
	bounds, ok := m.Bounds(in)
	f, err := crs.Between(in, m.Box.CRS)
	back, err2 := crs.Between(m.Box.CRS, in)
	if !ok || len(bounds) != 1 || err != nil || err2 != nil {
		return
	}
	x, y := back(m.Box.Bound.Min[0], m.Box.Bound.Min[1])
	if !wkb.Finite(x) || !wkb.Finite(y) {
		return
	}
	near := bounds[0].Pad(pad)
	m.f, m.near, m.at = f, &near, orb.Point{x, y}
}

// boxTest walks a geometry once.
type boxTest struct {
	f     crs.Func // nil: no transformation
	boxes [2]orb.Bound
	n     int // boxes in use
	z     *[2]float64
	any   bool // some vertex was seen
	lost  bool // some vertex cannot be transformed

	near   *orb.Bound // see BoxTest; nil: transform every vertex
	at     orb.Point
	pad    float64
	unsure bool // an edge passes so close to at that the polygon may contain it or not

	// of the current point, line or polygon:
	hit    bool
	inside [2]bool // an odd number of edges passed below the first corner, for each box
	lo, hi float64 // range of heights; lo > hi when there are none
}

// start begins a point, line or polygon; done ends it.
func (t *boxTest) start() {
	t.hit, t.inside, t.lo, t.hi = false, [2]bool{}, math.Inf(1), math.Inf(-1)
}

// done ends a point, line or polygon and reports whether it matches.
func (t *boxTest) done(polygon bool) bool {
	if !t.hit && (!polygon || !t.inside[0] && !t.inside[1]) {
		return false
	}
	return t.z == nil || t.lo > t.hi || t.lo <= t.z[1] && t.hi >= t.z[0]
}

// test walks a geometry until it matches or ends.
func (t *boxTest) test(geometry []byte) (hit bool, err error) {
	err = wkb.Walk(geometry, func(r wkb.Run) bool {
		if r.Ring == 0 {
			t.start()
		}
		if !t.hit || t.z != nil {
			t.path(&r)
		}
		hit = r.Last && t.done(r.Kind == wkb.Polygon)
		return !hit
	})
	return hit, err
}

// vertex returns the i-th position in the CRS of the box.
func (t *boxTest) vertex(r *wkb.Run, i int) orb.Point {
	x, y := r.XY(i)
	t.any = true
	if t.z != nil {
		if z := r.Z(i); !math.IsNaN(z) {
			t.lo, t.hi = min(t.lo, z), max(t.hi, z)
		}
	}
	if t.f != nil {
		x, y = t.f(x, y)
	}
	if !wkb.Finite(x) || !wkb.Finite(y) {
		t.lost = true
		return orb.Point{math.NaN(), math.NaN()} // NaN fails every comparison below
	}
	return orb.Point{x, y}
}

// nearPath is path for geometries with few edges near the box. If no edge of a polygon touches the box,
// the polygon contains all of it or nothing. Then it suffices to test the point at.
// Edges straight in either CRS give the same result, unless at lies between both courses of an edge.
func (t *boxTest) nearPath(r *wkb.Run) {
	box, ring := &t.boxes[0], r.Kind == wkb.Polygon
	var last orb.Point
	for i := range r.Len() {
		x, y := r.XY(i)
		p := orb.Point{x, y}
		if math.IsNaN(x) || math.IsNaN(y) {
			t.unsure = true
			break
		}
		t.any = true
		lo, hi := p, p
		if i > 0 {
			lo, hi = orb.Point{min(x, last[0]), min(y, last[1])}, orb.Point{max(x, last[0]), max(y, last[1])}
			if ring && passesBelow(last, p, t.at) {
				t.inside[0] = !t.inside[0]
			}
		}
		if lo[0] <= t.near.Max[0] && hi[0] >= t.near.Min[0] && lo[1] <= t.near.Max[1] && hi[1] >= t.near.Min[1] {
			q := orb.Point{}
			if q[0], q[1] = t.f(x, y); i == 0 {
				t.hit = holds(box, q)
			} else {
				before := orb.Point{}
				before[0], before[1] = t.f(last[0], last[1])
				t.hit = edgeTouches(before, q, box)
				t.unsure = t.unsure || lo[0]-t.pad <= t.at[0] && t.at[0] <= hi[0]+t.pad &&
					lo[1]-t.pad <= t.at[1] && t.at[1] <= hi[1]+t.pad
			}
			if t.hit {
				t.unsure = false
				break
			}
		}
		last = p
	}
}

// path tests the positions of a run and the edges between them.
func (t *boxTest) path(r *wkb.Run) {
	if t.near != nil {
		t.nearPath(r)
		return
	}
	n, ring := r.Len(), r.Kind == wkb.Polygon
	var last orb.Point
	for i := range n {
		p := t.vertex(r, i)
		for k := range t.n {
			box := &t.boxes[k]
			switch {
			case i == 0 || n == 1:
				t.hit = t.hit || holds(box, p)
			default:
				t.hit = t.hit || edgeTouches(last, p, box)
				if ring && !t.hit && passesBelow(last, p, box.Min) {
					t.inside[k] = !t.inside[k]
				}
			}
		}
		if last = p; t.hit && t.z == nil {
			break // this part is decided
		}
	}
}

// holds reports whether a point is in a closed box. It is false for NaN, unlike orb.Bound.Contains.
func holds(box *orb.Bound, p orb.Point) bool {
	return p[0] >= box.Min[0] && p[0] <= box.Max[0] && p[1] >= box.Min[1] && p[1] <= box.Max[1]
}

// edgeTouches reports whether a segment and a closed box have a point in common. A segment whose bound meets the box
// misses it only if all four corners lie strictly on one side of its line.
func edgeTouches(a, b orb.Point, box *orb.Bound) bool {
	if !(min(a[0], b[0]) <= box.Max[0] && max(a[0], b[0]) >= box.Min[0] &&
		min(a[1], b[1]) <= box.Max[1] && max(a[1], b[1]) >= box.Min[1]) {
		return false
	}
	if holds(box, a) || holds(box, b) {
		return true
	}
	side := wkb.Turn(a, b, box.Min)
	return side == 0 || wkb.Turn(a, b, orb.Point{box.Max[0], box.Min[1]}) != side || wkb.Turn(a, b, box.Max) != side ||
		wkb.Turn(a, b, orb.Point{box.Min[0], box.Max[1]}) != side
}

// passesBelow reports whether the ray from c to the south crosses a segment.
// An end counts if it lies west of c and the other end does not.
func passesBelow(a, b, c orb.Point) bool {
	if (a[0] < c[0]) == (b[0] < c[0]) {
		return false
	}
	if a[0] > b[0] {
		a, b = b, a
	}
	return wkb.Turn(a, b, c) > 0
}

// Halves splits a box that crosses the antimeridian in two.
func Halves(b orb.Bound) []orb.Bound {
	if b.Min[0] <= b.Max[0] {
		return []orb.Bound{b}
	}
	return []orb.Bound{
		{Min: b.Min, Max: orb.Point{180, b.Max[1]}},
		{Min: orb.Point{-180, b.Min[1]}, Max: b.Max},
	}
}

// BoxGeometry returns the geometry of the literal BBOX: a polygon, or two if the box crosses the antimeridian;
// a line or a point if the box has no width or height.
func BoxGeometry(b orb.Bound) orb.Geometry {
	if b.Min[0] > b.Max[0] {
		h := Halves(b)
		if h[0].Min[0] < 180 && h[1].Max[0] > -180 && b.Min[1] < b.Max[1] {
			return orb.MultiPolygon{h[0].ToPolygon(), h[1].ToPolygon()}
		}
		return orb.Collection{boxPart(h[0]), boxPart(h[1])}
	}
	return boxPart(b)
}

// boxPart is BoxGeometry of a box that does not cross the antimeridian.
func boxPart(b orb.Bound) orb.Geometry {
	switch {
	case b.Min == b.Max:
		return b.Min
	case b.Min[0] == b.Max[0] || b.Min[1] == b.Max[1]:
		return orb.LineString{b.Min, b.Max}
	}
	return b.ToPolygon()
}
