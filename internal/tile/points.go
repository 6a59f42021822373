package tile

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// points are the points of a layer while levels are made, and those by which lines and areas are thinned with them.
type points struct {
	c           *store.Collection
	first, last int
	thin        int    // last level that is thinned
	by          string // property of importance; "": none
	least       bool   // the smallest number of it is the most important
	at          []place
	features    int     // with points
	areas       []place // one of each feature with areas
	lines       []place // one of each other feature with lines
}

// place is a point with its rank, the smallest first.
type place struct {
	at      coverage.Point
	feature int32   // ^n: the outline of feature n
	class   int32   // level from which on it is shown
	rank    float64 // of the property; infinite without
	hash    uint32
	order   uint32 // by importance
}

// Names of properties that express importance, in lower case: those of which the smallest number is the most important,
// and those of which the largest is.
var (
	ranks   = []string{"rang", "rank", "scalerank", "labelrank", "min_zoom"}
	weights = []string{"importance", "population", "folketall", "innbyggere", "innbyggertall", "pop_max", "pop"}
)

// bytes is what the points take while levels are made.
func (p *points) bytes() int64 {
	const each = 64 // with the copies of thinned
	return each * int64(len(p.at)+len(p.areas)+len(p.lines))
}

// property finds the property of importance.
func (p *points) property() {
	for _, x := range []struct {
		names []string
		least bool
	}{{ranks, true}, {weights, false}} {
		for _, name := range x.names {
			for i := range p.c.Properties {
				q := &p.c.Properties[i]
				if strings.EqualFold(q.Name, name) && (q.Type == cql2.TypeInteger || q.Type == cql2.TypeNumber) {
					p.by, p.least = q.Name, x.least
					return
				}
			}
		}
	}
}

func (p *points) place(at coverage.Point, feature int32, id string, value any) place {
	rank := math.Inf(1)
	switch v := value.(type) {
	case int64:
		rank = float64(v)
	case float64:
		rank = v
	}
	if !p.least && !math.IsInf(rank, 0) {
		rank = -rank
	}
	h := addRow(14695981039346656037, id, 0)
	return place{at: at, feature: feature, rank: rank, hash: uint32(h ^ h>>32)}
}

// middle finds the point by which the outline of a feature is thinned: the middle of the box of its areas, or else
// the position in the middle of its first line.
type middle struct {
	low, high, on coverage.Point
	area, line    bool
}

// add takes position k of a run.
func (m *middle) add(r *wkb.Run, k int, p coverage.Point) {
	switch {
	case r.Kind == wkb.Polygon && !m.area:
		m.area, m.low, m.high = true, p, p
	case r.Kind == wkb.Polygon:
		m.low, m.high = coverage.Point{
			X: min(m.low.X, p.X),
			Y: min(m.low.Y, p.Y),
		}, coverage.Point{
			X: max(m.high.X, p.X),
			Y: max(m.high.Y, p.Y),
		}
	case r.Kind == wkb.LineString && !m.line && k == r.Len()/2:
		m.line, m.on = true, p
	}
}

// outline takes the outline of a feature, if it has one.
func (p *points) outline(m *middle, feature int, id string, value any) {
	switch {
	case m.area:
		at := coverage.Point{X: m.low.X + (m.high.X-m.low.X)/2, Y: m.low.Y + (m.high.Y-m.low.Y)/2}
		p.areas = append(p.areas, p.place(at, ^int32(feature), id, value))
	case m.line:
		p.lines = append(p.lines, p.place(m.on, ^int32(feature), id, value))
	}
}

// mix has the outlines of a layer thinned with its points where most of its features are points, as of names. Areas
// that share borders divide the land, and are not thinned.
func (p *points) mix(divided bool) {
	if p.features > len(p.areas)+len(p.lines) {
		p.at = append(p.at, p.lines...)
		if !divided {
			p.at = append(p.at, p.areas...)
		}
	}
	p.areas, p.lines = nil, nil
}

// cellBits is the width of a cell of thinning in bits of the grid of a level: 32 by 32 cells to a tile, each of which
// shows its most important point.
const cellBits = 7

// thin is the last level whose points are thinned: beyond, a tile is less than 40 km wide.
func (s *Set) thin() int {
	metres := 1.0
	if s.CRS.Geographic() {
		metres = 111319.49
	}
	z := s.first - 1
	for z < s.finest() && s.unit(z+1)*metres > 9.6 {
		z++
	}
	return z
}

// thinned settles from which level on each point is shown, and returns the section: how many points belong to each
// level, and the points, in the order of Morton in each. A point that is the best in its cell is the best in the
// smaller cells within; so what is shown on a level is shown on all finer ones, and a cell with points shows one.
// Those of outlines are thinned as they are.
func (p *points) thinned() []byte {
	slices.SortFunc(p.at, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.hash, b.hash), cmp.Compare(a.feature, b.feature))
	})
	for i := range p.at {
		p.at[i].order, p.at[i].class = uint32(i), int32(p.thin+1)
	}
	byPlace := func(a, b place) int {
		return cmp.Or(cmp.Compare(coverage.Morton(a.at), coverage.Morton(b.at)), cmp.Compare(a.order, b.order))
	}
	slices.SortFunc(p.at, byPlace)
	left := make([]int32, len(p.at)) // points that are shown on the level above
	for i := range left {
		left[i] = int32(i)
	}
	for z := p.thin; z >= p.first; z-- {
		shift := 2 * (p.last - z + cellBits)
		best := left[:0]
		for i, n := range left {
			cell := coverage.Morton(p.at[n].at) >> shift
			switch {
			case i == 0 || cell != coverage.Morton(p.at[best[len(best)-1]].at)>>shift:
				best = append(best, n)
			case p.at[n].order < p.at[best[len(best)-1]].order:
				best[len(best)-1] = n
			}
		}
		for _, n := range best {
			p.at[n].class = int32(z)
		}
		left = best
	}
	slices.SortFunc(p.at, func(a, b place) int { return cmp.Or(cmp.Compare(a.class, b.class), byPlace(a, b)) })
	counts := make([]uint32, p.last-p.first+2)
	for i := range p.at {
		counts[p.at[i].class-int32(p.first)]++
	}
	out := make([]byte, 0, 4*len(counts)+16*len(p.at))
	for _, n := range counts {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	for i := range p.at {
		x := &p.at[i]
		for _, v := range [...]uint32{uint32(x.at.X), uint32(x.at.Y), uint32(x.feature), x.order} {
			out = binary.LittleEndian.AppendUint32(out, v)
		}
	}
	return out
}

// shown are the points of a layer as they are in a side file. They are immutable.
type shown struct {
	first, last int
	starts      []int // of each level in the points, and the end
	points      []shownPoint
	outlines    []uint8 // of each feature: how many levels do not show its outline; nil: none
}

type shownPoint struct {
	at      coverage.Point
	feature int32 // ^n: the outline of feature n
	order   uint32
}

// readPoints reads the section of a layer with that many features.
func readPoints(b []byte, first, last, features int) (*shown, error) {
	s := &shown{first: first, last: last, starts: []int{0}}
	n := last - first + 2
	if len(b) < 4*n {
		return nil, errSide
	}
	for i := range n {
		s.starts = append(s.starts, s.starts[i]+int(binary.LittleEndian.Uint32(b[4*i:])))
	}
	if b = b[4*n:]; len(b) != 16*s.starts[n] {
		return nil, errSide
	}
	s.points = make([]shownPoint, s.starts[n])
	for i := range s.points {
		v := func(k int) uint32 { return binary.LittleEndian.Uint32(b[16*i+4*k:]) }
		s.points[i] = shownPoint{coverage.Point{X: int32(v(0)), Y: int32(v(1))}, int32(v(2)), v(3)}
	}
	for class := range n {
		for _, p := range s.points[s.starts[class]:s.starts[class+1]] {
			if p.feature >= 0 {
				continue
			}
			if s.outlines == nil {
				s.outlines = make([]uint8, features)
			}
			if int(^p.feature) >= features {
				return nil, errSide
			}
			s.outlines[^p.feature] = uint8(class)
		}
	}
	return s, nil
}

// hides reports whether level z does not show the outline of a feature, since others near it are more important; a
// nil s hides none.
func (s *shown) hides(feature int32, z int) bool {
	return s != nil && s.outlines != nil && int(s.outlines[feature]) > z-s.first
}

// search appends the points that are shown on the first level and lie in a box of the finest grid, which covers about
// one tile of the second.
func (s *shown) search(dst []shownPoint, levels [2]int, low, high coverage.Point) []shownPoint {
	s.each(levels, low, high, func(p shownPoint) bool {
		dst = append(dst, p)
		return true
	})
	return dst
}

// any reports whether a point that is shown on level z lies in a box, which covers about one tile of level as.
func (s *shown) any(z, as int, low, high coverage.Point) (found bool) {
	s.each([2]int{z, as}, low, high, func(shownPoint) bool {
		found = true
		return false
	})
	return found
}

// each calls fn with the points that are shown on the first level and lie in a box, until it returns false. The box
// covers about one tile of the second.
func (s *shown) each(levels [2]int, low, high coverage.Point, fn func(shownPoint) bool) {
	z, size := levels[0], uint(s.last-levels[1])+12 // bits
	for x := low.X >> size; x <= high.X>>size; x++ {
		for y := low.Y >> size; y <= high.Y>>size; y++ {
			from := coverage.Morton(coverage.Point{X: x << size, Y: y << size})
			to := from + 1<<(2*size) - 1
			for class := range min(z-s.first+1, len(s.starts)-1) {
				list := s.points[s.starts[class]:s.starts[class+1]]
				i, _ := slices.BinarySearchFunc(list, from,
					func(p shownPoint, m uint64) int { return cmp.Compare(coverage.Morton(p.at), m) })
				for ; i < len(list) && coverage.Morton(list[i].at) <= to; i++ {
					if p := list[i]; p.at.X >= low.X && p.at.X <= high.X && p.at.Y >= low.Y &&
						p.at.Y <= high.Y && !fn(p) {
						return
					}
				}
			}
		}
	}
}
