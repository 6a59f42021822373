package coverage

import (
	"maps"
	"math"
	"slices"
)

// drop omits features that have become too small. Their area goes to the neighbour with the longest common border; it
// becomes empty only if there is no neighbour.
func (b *Builder) drop(segs []seg) []seg {
	box := make([][2]Point, b.n) // lower left and upper right corner
	seen := make([]bool, b.n)
	for i := range segs {
		s := &segs[i]
		for _, f := range b.labels.set(s.label) {
			f = abs(f) - 1
			if !seen[f] {
				seen[f], box[f] = true, [2]Point{s.a, s.a}
			}
			lo, hi := &box[f][0], &box[f][1]
			lo.X, lo.Y = min(lo.X, s.a.X), min(lo.Y, s.a.Y, s.b.Y)
			hi.X, hi.Y = max(hi.X, s.b.X), max(hi.Y, s.a.Y, s.b.Y)
		}
	}
	// by layer and small feature: length of the border with each neighbour
	small := make([]map[int32]map[int32]float64, len(b.labels.layers)+1)
	for f := range b.n {
		if seen[f] && max(box[f][1].X-box[f][0].X, box[f][1].Y-box[f][0].Y) < b.o.Span {
			layer := b.labels.layer(f + 1)
			if small[layer] == nil {
				small[layer] = map[int32]map[int32]float64{}
			}
			small[layer][f] = map[int32]float64{}
		}
	}
	for _, layer := range b.labels.order() {
		if len(small[layer]) > 0 {
			segs = b.dropOf(segs, layer, small[layer])
		}
	}
	return segs
}

// dropOf omits small features of a layer. Their area goes to no neighbour beyond a border of another layer: if all
// features on this side are small, the largest remains.
func (b *Builder) dropOf(segs []seg, layer int, small map[int32]map[int32]float64) []seg {
	bordered := map[int32]bool{}
	for i := range segs {
		s := &segs[i]
		set, shared := b.labels.set(s.label), b.labels.weight(s.label, layer) < 1
		for _, f := range set {
			to := small[abs(f)-1]
			if to == nil {
				continue
			}
			if shared {
				bordered[abs(f)-1] = true
				continue
			}
			for _, g := range set {
				if (g > 0) != (f > 0) {
					to[abs(g)-1] += length(s)
				}
			}
		}
	}
	into := heirs(small)
	b.largest(small, into, bordered)
	for f, g := range into {
		b.whole[g] += b.whole[f]
		b.whole[f] = 0
	}
	changed := make([]int32, len(b.labels.reverse)) // new label by label; -1: not computed
	for i := range changed {
		changed[i] = -1
	}
	for i := range segs {
		s := &segs[i]
		if int(s.label) < len(changed) && changed[s.label] >= 0 {
			s.label = changed[s.label]
			continue
		}
		old := s.label
		s.label = b.replace(old, small, into)
		changed[old] = s.label
	}
	return slices.DeleteFunc(segs, func(s seg) bool { return s.label == 0 })
}

// largest handles small features without an heir of which some lie at a border of another layer: they go to the largest
// of them, which is then not omitted.
func (b *Builder) largest(small map[int32]map[int32]float64, into map[int32]int32, bordered map[int32]bool) {
	done := map[int32]bool{}
	for _, start := range slices.Sorted(maps.Keys(bordered)) {
		if _, gone := into[start]; gone || done[start] {
			continue
		}
		best, part := start, []int32{start}
		done[start] = true
		for i := 0; i < len(part); i++ {
			f := part[i]
			if b.whole[f] > b.whole[best] || b.whole[f] == b.whole[best] && f < best {
				best = f
			}
			for g := range small[f] { // they are small, too, otherwise f would have an heir
				if !done[g] {
					done[g] = true
					part = append(part, g)
				}
			}
		}
		for _, f := range part {
			if f != best {
				into[f] = best
			}
		}
		delete(small, best)
	}
}

func length(s *seg) float64 {
	return math.Hypot(float64(s.b.X-s.a.X), float64(s.b.Y-s.a.Y))
}

// heirs returns for each small feature the feature that gets its area; none if no larger one can be reached.
func heirs(small map[int32]map[int32]float64) map[int32]int32 {
	into := map[int32]int32{}
	left := make([]int32, 0, len(small))
	for f := range small {
		left = append(left, f)
	}
	slices.Sort(left)
	for found := true; found; {
		found = false
		settled := map[int32]int32{}
		for _, f := range left {
			best, most := int32(-1), 0.0
			for g, l := range small[f] {
				heir, settledAlready := into[g]
				if _, isSmall := small[g]; !isSmall {
					heir, settledAlready = g, true
				}
				if settledAlready && (l > most || l == most && heir < best) {
					best, most = heir, l
				}
			}
			if best >= 0 {
				settled[f], found = best, true
			}
		}
		for f, g := range settled {
			into[f] = g
		}
		left = slices.DeleteFunc(left, func(f int32) bool { _, ok := into[f]; return ok })
	}
	return into
}

// replace returns a label in which small features are replaced by their heirs.
func (b *Builder) replace(label int32, small map[int32]map[int32]float64, into map[int32]int32) int32 {
	list := slices.Clone(b.labels.set(label))
	changed := false
	out := list[:0]
	for _, f := range list {
		if _, is := small[abs(f)-1]; !is {
			out = append(out, f)
			continue
		}
		changed = true
		if g, ok := into[abs(f)-1]; ok {
			out = append(out, (g+1)*(f/abs(f)))
		}
	}
	if !changed {
		return label
	}
	return b.labels.once(b.labels.merge(out))
}

// ringOf is a ring without junctions.
type ringOf struct {
	at    int32 // a vertex
	twice int64 // twice the signed area, in the direction of the walk
	label int32 // in the direction of the walk
}

// within calls fn with the features, as number+1, that have the ring as an outer ring.
func (g *graph) within(l ringOf, fn func(feature int32) bool) bool {
	return slices.ContainsFunc(g.labels.set(l.label), func(f int32) bool {
		return (f > 0) == (l.twice > 0) && fn(abs(f))
	})
}

// islands removes rings without junctions whose area is below a limit, unless a feature has no larger ring.
func (g *graph) islands(limit float64) {
	largest := map[int32]int64{} // by feature; features with a junction have other rings
	for v := range int32(len(g.keys)) {
		for k := g.start[v]; k < g.start[v+1] && !g.isPlain(v); k++ {
			for _, f := range g.labels.set(g.along[k]) {
				largest[abs(f)] = 1 << 62
			}
		}
	}
	loops := g.loops()
	for _, l := range loops {
		g.within(l, func(f int32) bool {
			largest[f] = max(largest[f], abs64(l.twice))
			return false
		})
	}
	for _, l := range loops {
		if float64(abs64(l.twice))/2 >= limit || g.within(l, func(f int32) bool {
			return largest[f] <= abs64(l.twice)
		}) {
			continue
		}
		for prev, at := int32(-1), l.at; !g.gone[at]; {
			next, _ := g.step(at, prev)
			g.gone[at] = true
			prev, at = at, next
		}
	}
}

// loops returns all rings without junctions.
func (g *graph) loops() (list []ringOf) {
	done := make([]bool, len(g.keys))
	for v := range int32(len(g.keys)) {
		if done[v] || !g.isPlain(v) {
			continue
		}
		l := ringOf{at: v, label: g.along[g.start[v]]}
		origin := g.point(v)
		prev, at := int32(-1), v
		for g.isPlain(at) && !done[at] {
			done[at] = true
			next, _ := g.step(at, prev)
			l.twice += cross(origin, g.point(at), g.point(next))
			prev, at = at, next
		}
		if at == v {
			list = append(list, l)
		}
	}
	return list
}

func abs64(v int64) int64 { return max(v, -v) }
