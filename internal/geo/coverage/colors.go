package coverage

import (
	"math"
	"slices"
)

// NoColor is the colour of a feature without polygons.
const NoColor = math.MaxUint8

// colorCount is the number of colours that suffice for any map whose areas each have one part (Appel and Haken 1976).
const colorCount = 4

// Colors returns a number from 0 to 3 for each feature, or NoColor for features without polygons. Features with a
// common border have different numbers. Where features overlap or have several parts, that may be impossible; then the
// pair with the shortest common border has the same number. The same level always gives the same result.
func (l *Level) Colors() []uint8 {
	c := &coloring{near: l.neighbours(), of: make([]uint8, l.Features())}
	for f := range c.of {
		c.of[f] = NoColor
	}
	for _, f := range c.order() {
		if l.Polygons(int(f)) > 0 {
			c.of[f] = c.free(f)
			c.used[c.of[f]]++
		}
	}
	return c.of
}

// beside is a feature that shares a border with another one.
type beside struct {
	feature int32
	length  float64 // length of the common border, in cells
}

// crowded is the largest number of features at the sides of an arc that counts as a border. Versions of a feature may
// be many.
const crowded = 64

// neighbours returns the features that share a border with each feature.
func (l *Level) neighbours() [][]beside {
	l.sidesOnce.Do(l.findSides)
	near := make([][]beside, l.Features())
	for arc := range l.Arcs() {
		on := l.sides.of[l.sides.first[arc]:l.sides.first[arc+1]]
		if len(on) < 2 || len(on) > crowded {
			continue
		}
		length := l.length(arc)
		for i, a := range on {
			for _, b := range on[i+1:] {
				if f, g := max(a, ^a), max(b, ^b); f != g && (a < 0) != (b < 0) {
					near[f] = append(near[f], beside{g, length})
					near[g] = append(near[g], beside{f, length})
				}
			}
		}
	}
	for f, list := range near {
		slices.SortFunc(list, func(a, b beside) int { return int(a.feature - b.feature) })
		one := list[:0]
		for _, b := range list {
			if n := len(one); n > 0 && one[n-1].feature == b.feature {
				one[n-1].length += b.length
			} else {
				one = append(one, b)
			}
		}
		near[f] = one
	}
	return near
}

func (l *Level) length(arc int) (sum float64) {
	p := l.points[l.arcs[arc]:l.arcs[arc+1]]
	for i := 1; i < len(p); i++ {
		sum += math.Hypot(float64(p[i].X-p[i-1].X), float64(p[i].Y-p[i-1].Y))
	}
	return sum
}

// coloring holds the colours of the features that have been coloured so far.
type coloring struct {
	near [][]beside
	of   []uint8
	used [colorCount]int // number of features of each colour
}

// order returns an order in which each feature has few neighbours before it: the reverse of the order in which the
// feature with the fewest remaining neighbours is removed repeatedly (Matula and Beck 1983).
func (c *coloring) order() []int32 {
	n := len(c.near)
	degree, gone := make([]int32, n), make([]bool, n)
	var buckets [][]int32
	put := func(f int32) {
		d := int(degree[f])
		for len(buckets) <= d {
			buckets = append(buckets, nil)
		}
		buckets[d] = append(buckets[d], f)
	}
	for f := range c.near {
		degree[f] = int32(len(c.near[f]))
		put(int32(f))
	}
	out := make([]int32, 0, n)
	for d := 0; d < len(buckets); {
		k := len(buckets[d]) - 1
		if k < 0 {
			d++
			continue
		}
		f := buckets[d][k]
		buckets[d] = buckets[d][:k]
		if gone[f] || int(degree[f]) != d { // outdated entry of a bucket
			continue
		}
		gone[f] = true
		out = append(out, f)
		for _, b := range c.near[f] {
			if g := b.feature; !gone[g] {
				degree[g]--
				put(g)
				d = min(d, int(degree[g]))
			}
		}
	}
	slices.Reverse(out)
	return out
}

// free returns a colour that no neighbour of feature f has, the rarest one. If there is none, it tries to change the
// colours of neighbours; if that fails too, it returns the colour of the neighbours with the shortest border.
func (c *coloring) free(f int32) uint8 {
	var border [colorCount]float64
	var has [colorCount]bool
	for _, b := range c.near[f] {
		if k := c.of[b.feature]; k != NoColor {
			border[k], has[k] = border[k]+b.length, true
		}
	}
	best := -1
	for k := range has {
		if !has[k] && (best < 0 || c.used[k] < c.used[best]) {
			best = k
		}
	}
	if best >= 0 {
		return uint8(best)
	}
	for a := range uint8(colorCount) {
		for b := range uint8(colorCount) {
			if a != b && c.swap(f, a, b) {
				return a
			}
		}
	}
	for k := range border {
		if best < 0 || border[k] < border[best] {
			best = k
		}
	}
	return uint8(best)
}

// swap tries to free colour a for feature f: it exchanges colours a and b in the connected features of these colours
// that contain its neighbours of colour a (Kempe 1879). It returns false if a neighbour of f would get colour a.
func (c *coloring) swap(f int32, a, b uint8) bool {
	seen := map[int32]bool{}
	var queue []int32
	add := func(g int32) {
		if !seen[g] && g != f && (c.of[g] == a || c.of[g] == b) {
			seen[g] = true
			queue = append(queue, g)
		}
	}
	for _, x := range c.near[f] {
		if c.of[x.feature] == a {
			add(x.feature)
		}
	}
	for i := 0; i < len(queue); i++ {
		for _, x := range c.near[queue[i]] {
			add(x.feature)
		}
	}
	for _, x := range c.near[f] {
		if seen[x.feature] && c.of[x.feature] == b {
			return false
		}
	}
	for _, g := range queue {
		c.used[c.of[g]]--
		c.of[g] = a + b - c.of[g]
		c.used[c.of[g]]++
	}
	return true
}
