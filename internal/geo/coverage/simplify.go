package coverage

import "math"

// sharp is how much the weight of a vertex depends on the sharpness of its bend.
const sharp = 0.7

// weight returns the area of the triangle of a vertex and its neighbours, reduced for a sharp bend and increased for a
// flat one.
func weight(a, v, b Point) float64 {
	area := float64(abs64(cross(a, v, b))) / 2
	ax, ay, bx, by := float64(a.X-v.X), float64(a.Y-v.Y), float64(b.X-v.X), float64(b.Y-v.Y)
	return area * (1 - sharp*(ax*bx+ay*by)/math.Sqrt((ax*ax+ay*ay)*(bx*bx+by*by)))
}

// candidate is a plain vertex with its weight when it was queued.
type candidate struct {
	weight float32
	v      int32
}

// less orders candidates by weight, then by vertex, so that results are reproducible.
func (c candidate) less(d candidate) bool {
	return c.weight < d.weight || c.weight == d.weight && c.v < d.v
}

// queue is a heap of candidates.
type queue []candidate

func (q *queue) push(c candidate) {
	*q = append(*q, c)
	h := *q
	i := len(h) - 1
	for i > 0 && c.less(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = c
}

func (q *queue) pop() candidate {
	h := *q
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		k := 2*i + 1
		if k >= len(h) {
			break
		}
		if k+1 < len(h) && h[k+1].less(h[k]) {
			k++
		}
		if !h[k].less(last) {
			break
		}
		h[i] = h[k]
		i = k
	}
	h[i] = last
	return top
}

// simplify removes plain vertices by the weighted area of their triangles, the smallest first (Visvalingam and Whyatt
// 1993), up to a limit, which is higher if the removal brings features nearer to their original area (allowed). drift
// is the current deviation of the areas, which simplify updates. A vertex remains if its triangle contains another
// vertex, or if its neighbours have a common edge: so edges neither cross nor coincide.
func (g *graph) simplify(limit float64, drift []int64) {
	var q queue
	now := make([]float32, len(g.keys))
	enqueue := func(v int32) {
		if g.gone[v] || !g.isPlain(v) {
			return
		}
		w := weight(g.point(g.to[g.start[v]]), g.point(v), g.point(g.to[g.start[v]+1]))
		now[v] = float32(w)
		if w < limit*healing {
			q.push(candidate{now[v], v})
		}
	}
	for v := range int32(len(g.keys)) {
		enqueue(v)
	}
	for len(q) > 0 {
		c := q.pop()
		v := c.v
		if g.gone[v] || c.weight != now[v] {
			continue
		}
		a, b := g.to[g.start[v]], g.to[g.start[v]+1]
		twice := cross(g.point(a), g.point(v), g.point(b))
		if float64(c.weight) >= g.allowed(limit, v, twice, drift) || g.joined(a, b) || g.holdsOther(a, v, b) {
			continue
		}
		for _, f := range g.labels.set(g.along[g.start[v]+1]) {
			drift[abs(f)-1] += grown(f, twice)
		}
		g.gone[v] = true
		g.relink(a, v, b)
		g.relink(b, v, a)
		enqueue(a)
		enqueue(b)
	}
}
