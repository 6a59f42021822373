package ingest

import (
	"cmp"
	"grense/internal/format/input"
	"math"
	"slices"
)

// ringEdge is a straight edge of a ring, by the numbers of its ends. Edges of length 0 are left out.
type ringEdge struct {
	segment
	ring       int32
	prev, next int32 // its neighbours in the ring
}

// borders holds the rings of polygons as edges.
type borders struct {
	edges []ringEdge
	rings []ringPart
	left  int // steps left in the budget
}

// ringPart is a ring: a position on it, the number of its polygon, and whether it is the outer ring.
type ringPart struct {
	at    xy
	poly  int32
	outer bool
}

// plainlyValid reports that a polygon or multi-polygon is valid because no two rings meet, no ring meets itself,
// and each lies where it belongs. That is true of most geometries and takes the time of a sort. false proves nothing.
func plainlyValid(s *input.Shape) bool {
	b := bordersOf(s)
	return b != nil && b.apart() && b.nested()
}

// stepsPerEdge bounds the work, so that geometries that are drawn to be slow go to the library.
const stepsPerEdge = 500

// largest bounds coordinates, so that no product of two differences is infinite.
const largest = 1e150

// bordersOf returns the edges of all rings. It returns nil if a ring is empty,
// open or too large, or a polygon has none.
func bordersOf(s *input.Shape) *borders {
	for i, to := range s.Polys {
		if to == 0 || i > 0 && to == s.Polys[i-1] {
			return nil
		}
	}
	b := &borders{edges: make([]ringEdge, 0, s.Positions())}
	whole, poly := true, int32(-1)
	s.Rings(func(from, to int, outer bool) {
		if outer {
			poly++
		}
		if !whole || to-from < 4 || !s.Same(from, to-1) || poly < 0 {
			whole = false
			return
		}
		at := func(i int) xy { return xy{s.XYZ[3*i], s.XYZ[3*i+1]} }
		first, ring := int32(len(b.edges)), int32(len(b.rings))
		b.rings = append(b.rings, ringPart{at(from), poly, outer})
		for i := from; i+1 < to; i++ {
			p, q := at(i), at(i+1)
			if n := int32(len(b.edges)); p != q {
				b.edges = append(b.edges, ringEdge{segment{p, q}, ring, n - 1, n + 1})
			}
			whole = whole && math.Abs(p.x) < largest && math.Abs(p.y) < largest
		}
		last := int32(len(b.edges)) - 1
		if last-first < 2 {
			whole = false
			return
		}
		b.edges[first].prev, b.edges[last].next = last, first
	})
	if !whole || len(b.rings) == 0 {
		return nil
	}
	b.left = stepsPerEdge * (len(b.edges) + 1000)
	return b
}

// apart reports whether edges meet only in the common ends of neighbours. It sweeps from west to east.
func (b *borders) apart() bool {
	order := make([]int32, len(b.edges))
	for i := range order {
		order[i] = int32(i)
	}
	left := func(i int32) float64 { return min(b.edges[i].a.x, b.edges[i].b.x) }
	slices.SortFunc(order, func(i, j int32) int { return cmp.Compare(left(i), left(j)) })
	var open []int32 // edges that reach the x of the current one
	for _, i := range order {
		if b.left -= len(open); b.left < 0 {
			return false
		}
		s := &b.edges[i]
		lo, hi, x := min(s.a.y, s.b.y), max(s.a.y, s.b.y), left(i)
		kept := open[:0]
		for _, j := range open {
			o := &b.edges[j]
			if max(o.a.x, o.b.x) < x {
				continue
			}
			kept = append(kept, j)
			if max(o.a.y, o.b.y) >= lo && min(o.a.y, o.b.y) <= hi && b.meet(i, j) {
				return false
			}
		}
		open = append(kept, i)
	}
	return true
}

// meet reports whether two edges with overlapping boxes have a point in common; for neighbours,
// one besides their common end.
func (b *borders) meet(i, j int32) bool {
	s, o := &b.edges[i], &b.edges[j]
	if s.prev == j {
		s, o = o, s
	}
	if s.next == j || s.next == i { // o begins where s ends
		back, on := xy{s.a.x - s.b.x, s.a.y - s.b.y}, xy{o.b.x - o.a.x, o.b.y - o.a.y}
		return side(s.a, s.b, o.b) == 0 && back.x*on.x+back.y*on.y >= 0
	}
	return side(o.a, o.b, s.a)*side(o.a, o.b, s.b) <= 0 && side(s.a, s.b, o.a)*side(s.a, s.b, o.b) <= 0
}

// nested reports whether rings that do not meet lie where they belong: holes inside the outer ring of their polygon and
// outside each other, and no polygon inside another.
func (b *borders) nested() bool {
	bands := b.bands()
	outer := map[int32]int32{} // ring by polygon
	for i, r := range b.rings {
		if r.outer {
			outer[r.poly] = int32(i)
		}
	}
	odd := map[int32]bool{} // rings around a position
	for i, r := range b.rings {
		clear(odd)
		for _, k := range bands.at(r.at.y) {
			if b.left--; b.left < 0 {
				return false
			}
			e := &b.edges[k]
			if e.ring == int32(i) || (e.a.y <= r.at.y) == (e.b.y <= r.at.y) {
				continue
			}
			lower, upper := e.a, e.b
			if lower.y > upper.y {
				lower, upper = upper, lower
			}
			if side(lower, upper, r.at) < 0 {
				if odd[e.ring] = !odd[e.ring]; !odd[e.ring] {
					delete(odd, e.ring)
				}
			}
		}
		if !b.belongs(r, odd, outer) {
			return false
		}
	}
	return true
}

// belongs reports whether a ring lies where it should, judging by the rings around it.
func (b *borders) belongs(r ringPart, around map[int32]bool, outer map[int32]int32) bool {
	if !r.outer && !around[outer[r.poly]] {
		return false
	}
	inHole := map[int32]bool{} // by polygon
	for k := range around {
		if o := b.rings[k]; !o.outer {
			if o.poly == r.poly {
				return false
			}
			inHole[o.poly] = true
		}
	}
	for k := range around {
		if o := b.rings[k]; r.outer && o.outer && !inHole[o.poly] {
			return false
		}
	}
	return true
}

// bandList lists edges by the horizontal bands that they reach.
type bandList struct {
	low, scale float64
	list       [][]int32
}

func (l *bandList) of(y float64) int {
	return max(0, min(len(l.list)-1, int((y-l.low)*l.scale)))
}

func (l *bandList) at(y float64) []int32 { return l.list[l.of(y)] }

// bands sorts edges into bands. Their number keeps the lists a few times as long as there are edges.
func (b *borders) bands() *bandList {
	low, high, sum := math.Inf(1), math.Inf(-1), 0.0
	for i := range b.edges {
		e := &b.edges[i]
		low, high, sum = min(low, e.a.y), max(high, e.a.y), sum+math.Abs(e.a.y-e.b.y)
	}
	n := len(b.edges)
	if sum > 0 {
		n = int(min(float64(n), 4*float64(n)*(high-low)/sum)) + 1
	}
	l := &bandList{low: low, list: make([][]int32, n)}
	if high > low {
		l.scale = float64(n) / (high - low)
	}
	if math.IsInf(l.scale, 0) { // all in one band
		l.scale = 0
	}
	for i := range b.edges {
		e := &b.edges[i]
		for k, last := l.of(min(e.a.y, e.b.y)), l.of(max(e.a.y, e.b.y)); k <= last; k++ {
			l.list[k] = append(l.list[k], int32(i))
		}
	}
	return l
}
