package coverage

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
)

// maxPasses is the largest number of passes of planar; a few are enough for all known data.
const maxPasses = 200

// ErrPlanar reports edges that still cross after maxPasses. No such data are known.
var ErrPlanar = errors.New("edges do not come apart")

// planar splits edges where they meet, until no two have more than an end in common, and joins edges that lie on each
// other. The result is sorted. A crossing is moved to the grid, which moves the edges by less than a unit and may make
// them meet others. For edges of the source it may return ErrApart.
func (b *Builder) planar(ctx context.Context, segs []seg, source bool) ([]seg, error) {
	segs = b.join(segs)
	for i := range maxPasses {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cuts, crossings := meetings(segs)
		if i == 0 && source && b.ringed > 1 && crossings > b.mostCrossings(len(segs)) {
			return nil, ErrApart
		}
		if b.o.Memory > 0 && int64(len(segs)+len(cuts))*edgeBytes > 2*b.o.Memory {
			return nil, ErrTooLarge
		}
		if len(cuts) == 0 {
			for i := range segs {
				segs[i].label = b.labels.once(segs[i].label)
			}
			return segs, nil
		}
		segs = b.cut(segs, cuts)
	}
	return nil, ErrPlanar
}

// mostCrossings returns how many crossings a coverage with a number of edges may have on its finest level.
func (b *Builder) mostCrossings(edges int) int {
	often := oftenCrossing
	if b.skip > 0 {
		often = oftenMoved
	}
	return max(mostCrossings, edges/often)
}

func (s *seg) compare(t *seg) int {
	switch {
	case s.a.X != t.a.X:
		return cmp.Compare(s.a.X, t.a.X)
	case s.a.Y != t.a.Y:
		return cmp.Compare(s.a.Y, t.a.Y)
	case s.b.X != t.b.X:
		return cmp.Compare(s.b.X, t.b.X)
	}
	return cmp.Compare(s.b.Y, t.b.Y)
}

// join sorts edges and joins those that lie on each other. It removes edges without length, or without features on
// their sides.
func (b *Builder) join(segs []seg) []seg {
	slices.SortFunc(segs, func(s, t seg) int { return s.compare(&t) })
	out := segs[:0]
	for i := 0; i < len(segs); {
		s := segs[i]
		for i++; i < len(segs) && segs[i].a == s.a && segs[i].b == s.b; i++ {
			s.label = b.labels.add(s.label, segs[i].label)
			s.fresh = s.fresh && segs[i].fresh
		}
		if s.a != s.b && s.label != 0 {
			out = append(out, s)
		}
	}
	return out
}

// cutAt is a point at which an edge must be split.
type cutAt struct {
	seg int32
	at  Point
}

// cut splits edges and joins the result.
func (b *Builder) cut(segs []seg, cuts []cutAt) []seg {
	slices.SortFunc(cuts, func(x, y cutAt) int {
		if x.seg != y.seg {
			return cmp.Compare(x.seg, y.seg)
		}
		s := &segs[x.seg]
		along := func(p Point) int64 {
			return int64(p.X-s.a.X)*int64(s.b.X-s.a.X) + int64(p.Y-s.a.Y)*int64(s.b.Y-s.a.Y)
		}
		return cmp.Compare(along(x.at), along(y.at))
	})
	out := make([]seg, 0, len(segs)+len(cuts))
	k := 0
	for i, s := range segs {
		if k == len(cuts) || cuts[k].seg != int32(i) {
			s.fresh = false
			out = append(out, s)
			continue
		}
		from := s.a
		for ; k < len(cuts) && cuts[k].seg == int32(i); k++ {
			if cuts[k].at != from {
				out = append(out, b.labels.segment(from, cuts[k].at, s.label))
				from = cuts[k].at
			}
		}
		if from != s.b {
			out = append(out, b.labels.segment(from, s.b, s.label))
		}
	}
	return b.join(out)
}

// meetings sweeps over sorted edges from left to right. It returns where fresh edges meet others, except at common
// ends, and counts the crossings.
func meetings(segs []seg) (cuts []cutAt, crossings int) {
	if len(segs) == 0 {
		return nil, 0
	}
	lo, hi := int32(math.MaxInt32), int32(math.MinInt32)
	for i := range segs {
		lo, hi = min(lo, segs[i].a.Y, segs[i].b.Y), max(hi, segs[i].a.Y, segs[i].b.Y)
	}
	rows := int64(math.Sqrt(float64(len(segs))))*2 + 1
	height := (int64(hi)-int64(lo))/rows + 1
	row := func(y int32) int { return int((int64(y) - int64(lo)) / height) }
	active := make([][]int32, row(hi)+1)
	for i := range segs {
		s := &segs[i]
		low, high := min(s.a.Y, s.b.Y), max(s.a.Y, s.b.Y)
		first := row(low)
		for k := first; k <= row(high); k++ {
			list := active[k]
			for n := 0; n < len(list); n++ {
				t := &segs[list[n]]
				if t.b.X < s.a.X {
					list[n] = list[len(list)-1]
					list = list[:len(list)-1]
					n--
					continue
				}
				tLow, tHigh := min(t.a.Y, t.b.Y), max(t.a.Y, t.b.Y)
				if (s.fresh || t.fresh) && tLow <= high && tHigh >= low && k == max(first, row(tLow)) {
					var crossing bool
					if cuts, crossing = meet(cuts, segs, int32(i), list[n]); crossing {
						crossings++
					}
				}
			}
			active[k] = append(list, int32(i))
		}
	}
	return cuts, crossings
}

// cross returns twice the signed area of a triangle, positive if it is counter-clockwise.
func cross(a, b, c Point) int64 {
	return int64(b.X-a.X)*int64(c.Y-a.Y) - int64(b.Y-a.Y)*int64(c.X-a.X)
}

// inside reports whether p, which lies on the line through s, lies between its ends.
func (s *seg) inside(p Point) bool {
	return s.a.less(p) && p.less(s.b)
}

// meet appends where two edges must be split, and reports whether they cross.
func meet(cuts []cutAt, segs []seg, i, j int32) ([]cutAt, bool) {
	s, t := &segs[i], &segs[j]
	ta, tb := cross(s.a, s.b, t.a), cross(s.a, s.b, t.b)
	if ta > 0 && tb > 0 || ta < 0 && tb < 0 {
		return cuts, false
	}
	sa, sb := cross(t.a, t.b, s.a), cross(t.a, t.b, s.b)
	if sa > 0 && sb > 0 || sa < 0 && sb < 0 {
		return cuts, false
	}
	if ta != 0 && tb != 0 && sa != 0 && sb != 0 {
		f := float64(sa) / float64(sa-sb)
		p := Point{s.a.X + int32(math.Round(f*float64(s.b.X-s.a.X))), s.a.Y + int32(math.Round(f*float64(s.b.Y-s.a.Y)))}
		if p != s.a && p != s.b {
			cuts = append(cuts, cutAt{i, p})
		}
		if p != t.a && p != t.b {
			cuts = append(cuts, cutAt{j, p})
		}
		return cuts, true
	}
	for _, x := range [...]struct {
		on   int32
		side int64
		at   Point
	}{{i, ta, t.a}, {i, tb, t.b}, {j, sa, s.a}, {j, sb, s.b}} {
		if x.side == 0 && segs[x.on].inside(x.at) {
			cuts = append(cuts, cutAt{x.on, x.at})
		}
	}
	return cuts, false
}
