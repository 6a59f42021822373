package render

import (
	"math"
	"math/bits"
)

// shape gathers the edges of a shape and reports how much of each pixel they enclose. It is exact: an edge adds to the
// pixels that it crosses the area at its right, as the difference from the pixel at their left.
type shape struct {
	width, height int
	cells         []float32 // width+1 for each row; all are zero between shapes, as are marks
	marks         []uint64  // a bit for each cell that edges have changed, words for each row
	words         int
	low, high     int // rows with edges
}

// reset begins a shape on so many pixels. The one before has been read by spans.
func (s *shape) reset(width, height int) {
	if n := (width + 1) * height; len(s.cells) < n {
		s.cells = make([]float32, n)
	}
	words := width/64 + 1
	if n := words * height; len(s.marks) < n {
		s.marks = make([]uint64, n)
	}
	s.width, s.height, s.words = width, height, words
	s.low, s.high = height, 0
}

// edge adds an edge between two positions. Edges of a shape are those of closed rings.
func (s *shape) edge(ax, ay, bx, by float32) {
	x, y, endX, end, way := float64(ax), float64(ay), float64(bx), float64(by), 1.0
	if y > end {
		x, y, endX, end, way = endX, end, x, y, -1
	}
	if !(y < end) || end <= 0 || y >= float64(s.height) {
		return
	}
	slope := (endX - x) / (end - y)
	if y < 0 {
		x, y = x-y*slope, 0
	}
	end = min(end, float64(s.height))
	row := int(y)
	s.low = min(s.low, row)
	for ; y < end; row++ {
		below := min(float64(row+1), end)
		next := x + slope*(below-y)
		s.across(row, x, next, way*(below-y))
		x, y = next, below
	}
	s.high = max(s.high, row)
}

// across adds the part of an edge within a row, of so much height, downwards positive.
func (s *shape) across(row int, x, next, height float64) {
	if x > next {
		x, next = next, x
	}
	width := float64(s.width)
	if !(x < width && next >= x) {
		return
	}
	cells := s.cells[row*(s.width+1):][:s.width+1]
	marks := s.marks[row*s.words:][:s.words]
	if x < 0 { // what lies at the left covers all pixels from the first on
		part := 1.0
		if next > 0 {
			part = -x / (next - x)
		}
		cells[0] += float32(part * height)
		marks[0] |= 1
		if next <= 0 {
			return
		}
		x, height = 0, height*(1-part)
	}
	if next > width {
		next, height = width, height*(width-x)/(next-x)
	}
	first := int(x)
	last := int(math.Ceil(next))
	if last <= first+1 { // within one pixel
		part := (x+next)/2 - float64(first)
		cells[first] += float32(height * (1 - part))
		cells[first+1] += float32(height * part)
		marks[first/64] |= 1 << (first % 64)
		marks[(first+1)/64] |= 1 << ((first + 1) % 64)
		return
	}
	each := height / (next - x) // height within a whole pixel
	enter, leave := float64(first+1)-x, next-float64(last-1)
	area, before := each*enter*enter/2, 0.0 // at the right of the edge in a pixel, and in the one before
	cells[first] += float32(area)
	before = area
	for i := first + 1; i < last-1; i++ {
		area = each * (enter + float64(i-first-1) + .5)
		cells[i] += float32(area - before)
		before = area
	}
	area = height - each*leave*leave/2
	cells[last-1] += float32(area - before)
	cells[last] += float32(height - area)
	for i := first; i <= last; i++ {
		marks[i/64] |= 1 << (i % 64)
	}
}

// spans calls fn with the pixels of a row that the shape covers alike, by row: the first, the one after the last, and
// how much of 255. Then the shape is empty.
func (s *shape) spans(fn func(y, from, to int, cover uint32)) {
	for y := s.low; y < s.high; y++ {
		cells, marks := s.cells[y*(s.width+1):][:s.width+1], s.marks[y*s.words:][:s.words]
		sum, cover, start := float32(0), uint32(0), 0
		for w, word := range marks {
			if word == 0 {
				continue
			}
			marks[w] = 0
			for ; word != 0; word &= word - 1 {
				i := 64*w + bits.TrailingZeros64(word)
				v := cells[i]
				if v == 0 {
					continue
				}
				cells[i] = 0
				sum += v
				whole := sum
				if whole < 0 {
					whole = -whole
				}
				now := min(uint32(whole*255+.5), 255)
				if now == cover {
					continue
				}
				if cover > 0 && start < i {
					fn(y, start, i, cover)
				}
				start, cover = i, now
			}
		}
		if cover > 0 && start < s.width {
			fn(y, start, s.width, cover)
		}
	}
	s.low, s.high = s.height, 0
}
