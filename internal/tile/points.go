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

// points collects the points of a layer while levels are built, and one point for each line or area that is thinned
// together with them. Thinning shows only the most important point of a cell.
type points struct {
	c           *store.Collection
	first, last int
	thin        int    // last level with thinning
	bits        uint   // width of a cell of thinning in bits of the grid of a level
	by          string // property with the importance; "": none
	least       bool   // the smallest value is the most important, not the largest
	at          []place
	features    int     // number of features with points
	areas       []place // one for each feature with areas
	lines       []place // one for each feature with lines and no areas
}

// place is a point with its importance.
type place struct {
	at      coverage.Point
	feature int32   // feature number; ^n: the point stands for the outline of feature n
	class   int32   // first level that shows it
	rank    float64 // importance, the smallest is the most important; +Inf: unknown
	hash    uint32
	order   uint32 // position in the order of importance
}

// Names of properties with the importance of a feature, in lower case. In ranks the smallest number is the most
// important, in weights the largest.
var (
	ranks   = []string{"rang", "rank", "scalerank", "labelrank", "min_zoom"}
	weights = []string{"importance", "population", "folketall", "innbyggere", "innbyggertall", "pop_max", "pop"}
)

// bytes returns the memory that the points use while levels are built.
func (p *points) bytes() int64 {
	const each = 64 // including the copies in thinned
	return each * int64(len(p.at)+len(p.areas)+len(p.lines))
}

// property sets by and least from the properties of the collection.
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

// middle computes the point that stands for the outline of a feature: the centre of the box of its areas, else the
// middle position of its first line.
type middle struct {
	low, high, on coverage.Point
	area, line    bool
}

// add adds position k of a run of positions.
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

// outline adds the point for the outline of a feature, if it has lines or areas.
func (p *points) outline(m *middle, feature int, id string, value any) {
	switch {
	case m.area:
		at := coverage.Point{X: m.low.X + (m.high.X-m.low.X)/2, Y: m.low.Y + (m.high.Y-m.low.Y)/2}
		p.areas = append(p.areas, p.place(at, ^int32(feature), id, value))
	case m.line:
		p.lines = append(p.lines, p.place(m.on, ^int32(feature), id, value))
	}
}

// mix thins outlines together with points if most features are points, as in a layer of names. It does not thin areas
// that share borders (divided), since they cover the land without gaps.
func (p *points) mix(divided bool) {
	if p.features > len(p.areas)+len(p.lines) {
		p.at = append(p.at, p.lines...)
		if !divided {
			p.at = append(p.at, p.areas...)
		}
	}
	p.areas, p.lines = nil, nil
}

// cellBits is the width of a thinning cell in bits: 2^7 units of the level's grid, so 32 by 32 cells for each tile.
const cellBits = 7

// thin returns the last level whose points are thinned, the last with tiles at least 40 km wide; first-1 if there is
// none.
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

// thinned computes the first level on which each point is shown. It returns the section of a side file: the number of
// points that first appear at each level, then the points by level and Morton code. The best point of a cell is also
// the best of the smaller cell around it on the next level. So a point that is shown on a level is shown on all finer
// ones.
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
	left := make([]int32, len(p.at)) // points shown on level z+1
	for i := range left {
		left[i] = int32(i)
	}
	for z := p.thin; z >= p.first; z-- {
		shift := 2 * (uint(p.last-z) + p.bits)
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

// shown is the decoded section of points in a side file. It is immutable.
type shown struct {
	first, last int
	starts      []int // index of the first point of each level, and the number of points
	points      []shownPoint
	outlines    []uint8 // number of levels that do not show the outline, by feature; nil: all are shown
}

type shownPoint struct {
	at      coverage.Point
	feature int32 // feature number; ^n: the point stands for the outline of feature n
	order   uint32
	class   int32 // level from which on it is shown
}

// readPoints decodes the section of points of a layer; features is the number of its features.
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
		s.points[i] = shownPoint{at: coverage.Point{X: int32(v(0)), Y: int32(v(1))}, feature: int32(v(2)), order: v(3)}
	}
	for class := range n {
		list := s.points[s.starts[class]:s.starts[class+1]]
		for i := range list {
			p := &list[i]
			p.class = int32(first + class)
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

// hides reports whether level z omits the outline of a feature because of more important ones nearby. A nil s hides
// nothing.
func (s *shown) hides(feature int32, z int) bool {
	return s != nil && s.outlines != nil && int(s.outlines[feature]) > z-s.first
}

// search appends the points in a box that level levels[0] shows. The box is in units of the finest grid and covers
// about one tile of level levels[1].
func (s *shown) search(dst []shownPoint, levels [2]int, low, high coverage.Point) []shownPoint {
	s.each(levels, low, high, func(p shownPoint) bool {
		dst = append(dst, p)
		return true
	})
	return dst
}

// any reports whether level z shows a point in a box, which covers about one tile of level as.
func (s *shown) any(z, as int, low, high coverage.Point) (found bool) {
	s.each([2]int{z, as}, low, high, func(shownPoint) bool {
		found = true
		return false
	})
	return found
}

// each calls fn with the points in a box that level levels[0] shows, until fn returns false. The box covers about one
// tile of level levels[1].
func (s *shown) each(levels [2]int, low, high coverage.Point, fn func(shownPoint) bool) {
	z, size := levels[0], uint(s.last-levels[1])+12 // size of a tile in bits
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
