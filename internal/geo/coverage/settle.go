package coverage

import (
	"math"
	"slices"
)

// longestSliver is the largest number of edges of a face that settle considers. More edges do not change the levels of
// real divisions, but take three times as long; with eight they differ.
const longestSliver = 32

// smallFace is the area in cells up to which a face may be caused by moving vertices, whatever its width.
const smallFace = 16

// settle gives small faces one owner each. When vertices move to a grid, a face may turn inside out: then two features
// cover it, or none. It goes to the feature with the longest border there. settle considers only the borders of one
// layer. It reports whether labels have changed; edges may then have no features on their sides.
func (g *graph) settle(layer int) (changed bool) {
	var walk []int32
	for v := range int32(len(g.keys)) {
		if g.gone[v] || g.start[v+1]-g.start[v] < 3 {
			continue
		}
		for k := g.start[v]; k < g.start[v+1]; k++ {
			if !g.labels.on(g.along[k], layer) {
				continue
			}
			var ok bool
			if walk, ok = g.sliver(walk[:0], v, k, layer); ok && g.settleFace(walk, layer) {
				changed = true
			}
		}
	}
	return changed
}

// sliver walks around the face on the left of edge k, which begins at v, and returns the numbers of its edges, each
// followed by that of its reverse. ok is false if the face is not small.
func (g *graph) sliver(walk []int32, v, k int32, layer int) ([]int32, bool) {
	from, first := v, k
	origin := g.point(v)
	twice, round := int64(0), int32(0)
	for len(walk) < 2*longestSliver {
		to := g.to[k]
		back := g.reverseOf(from, to)
		walk = append(walk, k, back)
		a, b := g.point(from), g.point(to)
		twice += cross(origin, a, b)
		round += max(abs(b.X-a.X), abs(b.Y-a.Y))
		from, k = to, g.turn(to, back, layer)
		if k == first {
			area := float64(twice) / 2
			return walk, area > 0 && area <= float64(max(smallFace, round))
		}
	}
	return walk, false
}

// reverseOf returns the number of the edge from w to v.
func (g *graph) reverseOf(v, w int32) int32 {
	return g.start[w] + int32(slices.Index(g.to[g.start[w]:g.start[w+1]], v))
}

// turn returns the number of the edge from v that comes first after back, clockwise.
func (g *graph) turn(v, back int32, layer int) int32 {
	from, to := g.start[v], g.start[v+1]
	if other := from + to - 1 - back; to-from == 2 && g.labels.on(g.along[other], layer) {
		return other
	}
	center, p := g.point(v), g.point(g.to[back])
	best := back
	for k := from; k < to; k++ {
		if k != back && g.labels.on(g.along[k], layer) &&
			(best == back || clockwise(center, p, g.point(g.to[k]), g.point(g.to[best]))) {
			best = k
		}
	}
	return best
}

// settleFace settles a face with the edges of sliver; false if nothing had to change.
func (g *graph) settleFace(walk []int32, layer int) bool {
	// length of the border by feature: on the face, and beyond it
	on, beside := map[int32]float64{}, map[int32]float64{}
	open := false // some edge has no feature on the other side
	all := 0.0
	for i := 0; i < len(walk); i += 2 {
		a, b := g.point(g.to[walk[i+1]]), g.point(g.to[walk[i]])
		long := math.Hypot(float64(b.X)-float64(a.X), float64(b.Y)-float64(a.Y)) *
			g.labels.weight(g.along[walk[i]], layer)
		all += long
		other := false
		for _, f := range g.labels.set(g.along[walk[i]]) {
			if g.labels.layer(f) != layer {
				continue
			}
			if f > 0 {
				on[f] += long
			} else {
				beside[-f] += long
				other = true
			}
		}
		open = open || !other
	}
	switch {
	case len(on) == 0 && !open && len(beside) > 1: // a gap
		g.relabel(walk, longest(beside))
		return true
	case len(on) > 1:
		return g.settleOverlap(walk, on, all)
	case len(on) == 1:
		return g.settleInverted(walk, beside, layer)
	}
	return false
}

// settleInverted mends a face with an owner if a feature lies beyond every edge, beyond some of them together with the
// owner: the feature covers the face a negative number of times, since it has turned inside out.
func (g *graph) settleInverted(walk []int32, beside map[int32]float64, layer int) bool {
	for f := range beside {
		everywhere, alone := true, false
		for i := 0; i < len(walk); i += 2 {
			set := g.labels.set(g.along[walk[i]])
			everywhere = everywhere && slices.Contains(set, -f)
			alone = alone || !slices.ContainsFunc(set, func(x int32) bool {
				return x > 0 && g.labels.layer(x) == layer
			})
		}
		if everywhere && alone {
			g.relabel(walk, f)
			return true
		}
	}
	return false
}

// settleOverlap leaves one of the features on a face, the one with the longest border beyond it, and those with the
// same border there, such as versions of the same feature.
func (g *graph) settleOverlap(walk []int32, on map[int32]float64, all float64) bool {
	beyond := make(map[int32]float64, len(on))
	for f, long := range on {
		beyond[f] = all - long
	}
	stays := longest(beyond)
	changed := false
	for f := range on {
		if f != stays && (g.apartOn(walk, f, stays) || g.apartOn(walk, stays, f)) {
			g.relabel(walk, -f)
			changed = true
		}
	}
	return changed
}

// apartOn reports whether some edge has f on the side of the face only, but not other.
func (g *graph) apartOn(walk []int32, f, other int32) bool {
	for i := 0; i < len(walk); i += 2 {
		if set := g.labels.set(g.along[walk[i]]); slices.Contains(set, f) && !slices.Contains(set, other) {
			return true
		}
	}
	return false
}

// relabel adds a feature to the face, or removes it if it is negative.
func (g *graph) relabel(walk []int32, f int32) {
	change := g.labels.side(abs(f)-1, f > 0)
	for i := 0; i < len(walk); i += 2 {
		g.along[walk[i]] = g.labels.sum(g.along[walk[i]], change)
		g.along[walk[i+1]] = g.labels.reverse[g.along[walk[i]]]
	}
}

// longest returns the feature with the greatest length; of equal ones the first.
func longest(of map[int32]float64) int32 {
	best, most := int32(0), -1.0
	for f, l := range of {
		if l > most || l == most && f < best {
			best, most = f, l
		}
	}
	return best
}
