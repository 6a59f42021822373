package coverage

import (
	"container/heap"
	"math"
)

// Pole returns the position in the largest polygon of a feature that is furthest from its rings (the pole of
// inaccessibility), within the precision of the grid and a hundredth of the polygon's width. room is its distance to
// the rings, in cells, and area the polygon's area, in square cells. ok is false for a feature without polygons.
func (l *Level) Pole(feature int) (at Point, room, area float64, ok bool) {
	best := -1
	for i := range l.Polygons(feature) {
		p := &l.polygons[int(l.first[feature])+i]
		twice := int64(0)
		for k := 1; k < len(p.rings); k++ {
			twice += l.area(l.refs[p.rings[k-1]:p.rings[k]])
		}
		if a := float64(twice) / 2; best < 0 || a > area {
			best, area = i, a
		}
	}
	if best < 0 {
		return at, 0, 0, false
	}
	var rings [][]Point
	for k := 0; ; k++ {
		ring, more := l.AppendRing(nil, feature, best, k)
		if !more {
			break
		}
		rings = append(rings, ring)
	}
	low, high := l.Box(feature, best)
	x, y, room := pole(rings, low, high)
	return Point{int32(math.Round(x)), int32(math.Round(y))}, room, area, true
}

// square is a square around x, y with sides of twice half. distance is the distance from x, y to the rings, negative
// outside the polygon; most is the largest distance that a position in the square can have.
type square struct{ x, y, half, distance, most float64 }

// squares is a heap with the square with the largest most first.
type squares []square

func (s squares) Len() int           { return len(s) }
func (s squares) Less(i, j int) bool { return s[i].most > s[j].most }
func (s squares) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *squares) Push(v any)        { *s = append(*s, v.(square)) }
func (s *squares) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// pole searches by dividing squares that may contain a better position than the best so far (the algorithm of Mapbox
// polylabel).
func pole(rings [][]Point, low, high Point) (x, y, room float64) {
	w, h := float64(high.X-low.X), float64(high.Y-low.Y)
	size := min(w, h)
	precise := max(max(w, h)/100, 0.5)
	at := func(x, y, half float64) square {
		d := toRings(rings, x, y)
		return square{x, y, half, d, d + half*math.Sqrt2}
	}
	best := at(float64(low.X)+w/2, float64(low.Y)+h/2, 0)
	if c := centroid(rings[0], low); best.distance < toRings(rings, c[0], c[1]) {
		best = at(c[0], c[1], 0)
	}
	if size == 0 {
		return best.x, best.y, best.distance
	}
	const most = 64 // largest number of squares along a side of the polygon
	half := max(size, max(w, h)/most) / 2
	var queue squares
	for x := float64(low.X); x < float64(high.X); x += 2 * half {
		for y := float64(low.Y); y < float64(high.Y); y += 2 * half {
			queue = append(queue, at(x+half, y+half, half))
		}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		s := heap.Pop(&queue).(square)
		if s.distance > best.distance {
			best = s
		}
		if s.most-best.distance <= precise {
			break
		}
		half := s.half / 2
		for _, step := range [...][2]float64{{-1, -1}, {1, -1}, {-1, 1}, {1, 1}} {
			if part := at(s.x+step[0]*half, s.y+step[1]*half, half); part.most-best.distance > precise {
				heap.Push(&queue, part)
			}
		}
	}
	return best.x, best.y, best.distance
}

func centroid(ring []Point, origin Point) (c [2]float64) {
	sum := 0.0
	last := ring[len(ring)-1]
	for _, p := range ring {
		x0, y0 := float64(last.X-origin.X), float64(last.Y-origin.Y)
		x1, y1 := float64(p.X-origin.X), float64(p.Y-origin.Y)
		f := x0*y1 - x1*y0
		sum, c[0], c[1] = sum+3*f, c[0]+(x0+x1)*f, c[1]+(y0+y1)*f
		last = p
	}
	if sum == 0 {
		return [2]float64{float64(ring[0].X), float64(ring[0].Y)}
	}
	return [2]float64{float64(origin.X) + c[0]/sum, float64(origin.Y) + c[1]/sum}
}

// toRings returns the distance from a position to the nearest edge, negative outside the polygon.
func toRings(rings [][]Point, x, y float64) float64 {
	inside, least := false, math.Inf(1)
	for _, r := range rings {
		last := r[len(r)-1]
		ax, ay := float64(last.X)-x, float64(last.Y)-y
		for _, p := range r {
			bx, by := float64(p.X)-x, float64(p.Y)-y
			dx, dy := bx-ax, by-ay
			if (ay > 0) != (by > 0) && -ay*dx/dy+ax > 0 {
				inside = !inside
			}
			t := 0.0
			if n := dx*dx + dy*dy; n > 0 {
				t = min(max(-(ax*dx+ay*dy)/n, 0), 1)
			}
			ex, ey := ax+t*dx, ay+t*dy
			least = min(least, ex*ex+ey*ey)
			ax, ay = bx, by
		}
	}
	if inside {
		return math.Sqrt(least)
	}
	return -math.Sqrt(least)
}
