package coverage

// Factors of the limit for the removal of a vertex: if both features come nearer to the area that they had before
// simplification, if both get further away from it, and in between if one gains what the other loses.
const (
	healing = 2.1
	harming = 0.7
)

// sizes returns twice the area of each feature in cells.
func (b *Builder) sizes(segs []seg) []int64 {
	out := make([]int64, b.n)
	for i := range segs {
		s := &segs[i]
		twice := int64(s.a.X)*int64(s.b.Y) - int64(s.a.Y)*int64(s.b.X)
		for _, f := range b.labels.set(s.label) {
			if f > 0 {
				out[f-1] += twice
			} else {
				out[-f-1] -= twice
			}
		}
	}
	return out
}

// drift returns twice the excess area of each feature on level i, in cells.
func (b *Builder) drift(segs []seg, i int) []int64 {
	out := b.sizes(segs)
	for f := range out {
		out[f] -= b.whole[f] >> (2 * i)
	}
	return out
}

// allowed returns the limit for the removal of a plain vertex. twice is twice the area of its triangle, positive if the
// triangle lies to the right.
func (g *graph) allowed(limit float64, v int32, twice int64, drift []int64) float64 {
	set := g.labels.set(g.along[g.start[v]+1])
	if twice == 0 || len(set) == 0 {
		return limit * healing
	}
	worse := int64(0)
	for _, f := range set {
		by := drift[abs(f)-1]
		worse += abs64(by+grown(f, twice)) - abs64(by)
	}
	part := float64(worse) / float64(abs64(twice)*int64(len(set))) // from -1 to 1
	return limit * (healing + harming - part*(healing-harming)) / 2
}

// grown returns by how much a feature on a side grows when the vertex is removed; see allowed.
func grown(f int32, twice int64) int64 {
	if f > 0 {
		return -twice
	}
	return twice
}
