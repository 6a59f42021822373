package coverage

import "math"

// ClipLine appends the parts of a line within a box, including its sides. A clipped edge ends on the grid. A line of
// one position has no parts.
func ClipLine(dst [][]Point, line []Point, low, high Point) [][]Point {
	var part []Point
	end := func() {
		if len(part) > 1 {
			dst = append(dst, part)
		}
		part = nil
	}
	for i := 1; i < len(line); i++ {
		a, b, ok := clipEdge(line[i-1], line[i], low, high)
		if !ok {
			end()
			continue
		}
		if len(part) == 0 || part[len(part)-1] != a {
			end()
			part = append(part, a)
		}
		if b != a {
			part = append(part, b)
		}
		if b != line[i] {
			end()
		}
	}
	end()
	return dst
}

// clipEdge clips an edge to a box (Liang and Barsky 1984); ok is false if it lies outside.
func clipEdge(a, b, low, high Point) (from, to Point, ok bool) {
	t0, t1 := 0.0, 1.0
	dx, dy := float64(b.X)-float64(a.X), float64(b.Y)-float64(a.Y)
	for _, s := range [...][2]float64{
		{-dx, float64(a.X) - float64(low.X)}, {dx, float64(high.X) - float64(a.X)},
		{-dy, float64(a.Y) - float64(low.Y)}, {dy, float64(high.Y) - float64(a.Y)},
	} {
		switch d, room := s[0], s[1]; {
		case d == 0 && room < 0:
			return a, b, false
		case d < 0:
			t0 = max(t0, room/d)
		case d > 0:
			t1 = min(t1, room/d)
		}
	}
	if t0 > t1 {
		return a, b, false
	}
	at := func(t float64) Point {
		x, y := int32(math.Round(float64(a.X)+t*dx)), int32(math.Round(float64(a.Y)+t*dy))
		return Point{min(max(x, low.X), high.X), min(max(y, low.Y), high.Y)}
	}
	from, to = a, b
	if t0 > 0 {
		from = at(t0)
	}
	if t1 < 1 {
		to = at(t1)
	}
	return from, to, true
}
