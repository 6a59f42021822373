package coverage

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Index finds boxes by an R-tree. It is immutable.
type Index struct {
	order []int32  // numbers of the boxes, neighbours are adjacent
	tiers [][]span // bounds of 16 entries of the tier before; the first tier bounds boxes in order
}

type span struct{ low, high Point }

const fan = 16

// newIndex indexes n boxes, except those for which box returns false.
func newIndex(n int, box func(i int) (low, high Point, ok bool)) *Index {
	type entry struct {
		span
		code uint64
		n    int32
	}
	var list []entry
	for i := range n {
		if low, high, ok := box(i); ok {
			list = append(list, entry{span{low, high}, Morton(Point{low.X/2 + high.X/2, low.Y/2 + high.Y/2}), int32(i)})
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.n, b.n)) })
	x := &Index{}
	tier := make([]span, len(list))
	for i, e := range list {
		x.order = append(x.order, e.n)
		tier[i] = e.span
	}
	for x.tiers = append(x.tiers, tier); len(tier) > fan; x.tiers = append(x.tiers, tier) {
		var up []span
		for part := range slices.Chunk(tier, fan) {
			s := part[0]
			for _, t := range part[1:] {
				s.low = Point{min(s.low.X, t.low.X), min(s.low.Y, t.low.Y)}
				s.high = Point{max(s.high.X, t.high.X), max(s.high.Y, t.high.Y)}
			}
			up = append(up, s)
		}
		tier = up
	}
	return x
}

// Search appends the numbers of the boxes that touch a box, ascending.
func (x *Index) Search(dst []int32, low, high Point) []int32 {
	start := len(dst)
	var walk func(tier, from, to int)
	walk = func(tier, from, to int) {
		for i := from; i < min(to, len(x.tiers[tier])); i++ {
			s := &x.tiers[tier][i]
			switch {
			case s.low.X > high.X || s.high.X < low.X || s.low.Y > high.Y || s.high.Y < low.Y:
			case tier == 0:
				dst = append(dst, x.order[i])
			default:
				walk(tier-1, i*fan, (i+1)*fan)
			}
		}
	}
	walk(len(x.tiers)-1, 0, math.MaxInt)
	slices.Sort(dst[start:])
	return dst
}

// Any reports whether an indexed box touches a box.
func (x *Index) Any(low, high Point) bool {
	var walk func(tier, from, to int) bool
	walk = func(tier, from, to int) bool {
		for i := from; i < min(to, len(x.tiers[tier])); i++ {
			s := &x.tiers[tier][i]
			if s.low.X <= high.X && s.high.X >= low.X && s.low.Y <= high.Y && s.high.Y >= low.Y &&
				(tier == 0 || walk(tier-1, i*fan, (i+1)*fan)) {
				return true
			}
		}
		return false
	}
	return walk(len(x.tiers)-1, 0, math.MaxInt)
}

// Morton interleaves the bits of x and y. In this order the positions in a tile of a quad tree are consecutive.
func Morton(p Point) uint64 {
	return spread(uint32(p.X)^1<<31) | spread(uint32(p.Y)^1<<31)<<1
}

func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// Search appends the numbers of the features with polygons whose boxes touch a box, ascending.
func (l *Level) Search(dst []int32, low, high Point) []int32 {
	return l.indexed().Search(dst, low, high)
}

// Any reports whether the box of some feature touches a box.
func (l *Level) Any(low, high Point) bool { return l.indexed().Any(low, high) }

func (l *Level) indexed() *Index {
	l.once.Do(func() { l.index = newIndex(l.Features(), l.Around) })
	return l.index
}

// Around returns the lower left and the upper right corner of a feature; ok is false if it has no polygons.
func (l *Level) Around(feature int) (low, high Point, ok bool) {
	for i := range l.Polygons(feature) {
		a, b := l.Box(feature, i)
		if i == 0 {
			low, high = a, b
		}
		low, high = Point{min(low.X, a.X), min(low.Y, a.Y)}, Point{max(high.X, b.X), max(high.Y, b.Y)}
		ok = true
	}
	return low, high, ok
}

// Area returns the area of a feature in cells.
func (l *Level) Area(feature int) float64 {
	twice := int64(0)
	for _, p := range l.polygons[l.first[feature]:l.first[feature+1]] {
		for i := 1; i < len(p.rings); i++ {
			twice += l.area(l.refs[p.rings[i-1]:p.rings[i]])
		}
	}
	return float64(twice) / 2
}

// Shared returns the number of features that share an arc with another one.
func (l *Level) Shared() (n int) {
	of := make([]int32, l.Arcs()) // number+1 of the first feature on each arc
	shares := make([]bool, l.Features())
	for f := range int32(l.Features()) {
		for _, p := range l.polygons[l.first[f]:l.first[f+1]] {
			for _, ref := range l.refs[p.rings[0]:p.rings[len(p.rings)-1]] {
				switch a := &of[max(ref, ^ref)]; *a {
				case 0:
					*a = f + 1
				case f + 1:
				default:
					shares[f], shares[*a-1] = true, true
				}
			}
		}
	}
	for _, s := range shares {
		if s {
			n++
		}
	}
	return n
}

// Bytes returns the approximate memory of the level, including its index and sides.
func (l *Level) Bytes() int64 {
	return int64(bits.UintSize/8*16 + 4*len(l.arcs) + 8*len(l.points) + 4*len(l.first) + 64*len(l.polygons) +
		8*len(l.refs) + 4*len(l.arcs) + 22*len(l.first))
}

// Join appends the features of another level on the same grid, which share no arcs with those of l.
func (l *Level) Join(o *Level) {
	if len(l.arcs) == 0 {
		l.Unit, l.arcs, l.first = o.Unit, []int32{0}, []int32{0}
	}
	arcs, points, polygons, refs := int32(len(l.arcs)-1), int32(len(l.points)), int32(len(l.polygons)),
		int32(len(l.refs))
	for _, n := range o.arcs[1:] {
		l.arcs = append(l.arcs, n+points)
	}
	l.points = append(l.points, o.points...)
	for _, n := range o.first[1:] {
		l.first = append(l.first, n+polygons)
	}
	for _, p := range o.polygons {
		p.rings = slices.Clone(p.rings)
		for i := range p.rings {
			p.rings[i] += refs
		}
		l.polygons = append(l.polygons, p)
	}
	for _, r := range o.refs {
		if r >= 0 {
			r += arcs
		} else {
			r -= arcs
		}
		l.refs = append(l.refs, r)
	}
	l.LeftOut += o.LeftOut
}
