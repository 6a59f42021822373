package render

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/draw"
	"grense/internal/style"
)

// label is a text that looks for its place.
type label struct {
	text
	layer    int     // labels of higher layers are placed first
	key      float64 // second criterion: smaller keys first
	area     float64 // third criterion: larger areas first
	low      Point   // box
	high     Point
	overlaps bool
}

// mostLetters is the maximum length of a label, mostLabels the maximum number of labels in a picture.
const (
	mostLetters = 200
	mostLabels  = 20_000
)

// symbol gathers the labels of a layer.
func (d *drawer) symbol(labels []*label, l *style.Rules, features []Feature) ([]*label, error) {
	n := len(labels)
	err := d.each(l, features, func(f *Feature) {
		if len(labels) >= mostLabels {
			return
		}
		s := strings.ToValidUTF8(strings.TrimSpace(l.Text("text-field", d.Zoom, &d.asked)), "")
		if r := []rune(s); len(r) > mostLetters {
			s = string(r[:mostLetters-1]) + "…"
		}
		switch l.Text("text-transform", d.Zoom, &d.asked) {
		case "uppercase":
			s = strings.ToUpper(s)
		case "lowercase":
			s = strings.ToLower(s)
		}
		size := min(d.number(l, "text-size")*d.Ratio, mostWidth/4)
		if s == "" || !(size >= 1) {
			return
		}
		one := label{layer: n, overlaps: l.Bool("text-allow-overlap", d.Zoom, &d.asked)}
		if l.Has("symbol-sort-key") {
			one.key = d.number(l, "symbol-sort-key")
		}
		one.size, one.bold = size, d.isBold(l)
		one.color, one.halo = d.color(l, "text-color", "text-opacity"), d.color(l, "text-halo-color", "text-opacity")
		one.haloWidth = min(max(d.number(l, "text-halo-width"), 0)*d.Ratio, size/2)
		one.spacing = d.number(l, "text-letter-spacing") * size
		lines := wrapped(&one, s, d.number(l, "text-max-width")*size)
		for _, at := range d.anchors(f, &one) {
			labels = append(labels, d.laid(one, lines, at, l))
		}
	})
	return labels, err
}

// isBold reports whether the first font that a layer names is a bold one.
func (d *drawer) isBold(l *style.Rules) bool {
	fonts := l.Texts("text-font", d.Zoom, &d.asked)
	return len(fonts) > 0 && strings.Contains(strings.ToLower(fonts[0]), "bold")
}

// anchors are where the labels of a feature may stand. They set the area of the label.
func (d *drawer) anchors(f *Feature, l *label) []Point {
	reach := float32(d.Reach)
	var out []Point
	seen := func(p Point) bool {
		return p.X >= -reach && p.Y >= -reach && p.X <= float32(d.Width)+reach && p.Y <= float32(d.Height)+reach
	}
	switch f.Kind {
	case Points:
		for _, part := range f.Parts {
			for _, p := range part {
				if seen(p) {
					out = append(out, p)
				}
			}
		}
	case Lines:
		if i := longest(f.Parts); i >= 0 {
			if p := middleOf(f.Parts[i]); seen(p) {
				out = append(out, p)
			}
		}
	case Polygons:
		largest, most := -1, 0.0
		for i, r := range f.Parts {
			if a := areaOf(r); math.Abs(a) > math.Abs(most) {
				largest, most = i, a
			}
		}
		if largest < 0 {
			break
		}
		l.area = math.Abs(most)
		poly := orb.Polygon{toOrb(f.Parts[largest])}
		for _, r := range f.Parts[largest+1:] {
			if areaOf(r)*most >= 0 { // the next outer ring
				break
			}
			poly = append(poly, toOrb(r))
		}
		at := draw.Inside(poly)
		if p := (Point{float32(at[0]), float32(at[1])}); seen(p) {
			out = append(out, p)
		}
	}
	return out
}

func toOrb(r []Point) orb.Ring {
	out := make(orb.Ring, len(r))
	for i, p := range r {
		out[i] = orb.Point{float64(p.X), float64(p.Y)}
	}
	return out
}

// areaOf is the area of a ring, by its turn positive or negative.
func areaOf(r []Point) (sum float64) {
	for i, p := range r {
		q := r[(i+1)%len(r)]
		sum += float64(p.X)*float64(q.Y) - float64(q.X)*float64(p.Y)
	}
	return sum / 2
}

func lengthOf(line []Point) (sum float64) {
	for i := 1; i < len(line); i++ {
		sum += math.Hypot(float64(line[i].X-line[i-1].X), float64(line[i].Y-line[i-1].Y))
	}
	return sum
}

func longest(lines [][]Point) int {
	best, most := -1, -1.0
	for i, l := range lines {
		if n := lengthOf(l); len(l) > 0 && n > most {
			best, most = i, n
		}
	}
	return best
}

// middleOf is the position halfway along a line.
func middleOf(line []Point) Point {
	left := lengthOf(line) / 2
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		n := math.Hypot(float64(b.X-a.X), float64(b.Y-a.Y))
		if n >= left && n > 0 {
			t := float32(left / n)
			return Point{a.X + t*(b.X-a.X), a.Y + t*(b.Y-a.Y)}
		}
		left -= n
	}
	return line[0]
}

// wrapped breaks a text at blanks into lines of at most so many pixels.
func wrapped(l *label, s string, most float64) (lines []textLine) {
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			lines = append(lines, textLine{text: s, width: l.measure(s)})
		}
	}
	for part := range strings.SplitSeq(s, "\n") {
		line := ""
		for _, word := range strings.Fields(part) {
			longer := strings.TrimSpace(line + " " + word)
			if line != "" && l.measure(longer) > most {
				add(line)
				longer = word
			}
			line = longer
		}
		add(line)
	}
	return lines[:min(len(lines), 8)]
}

// laid is a label with its lines around an anchor.
func (d *drawer) laid(l label, lines []textLine, at Point, r *style.Rules) *label {
	width := 0.0
	for _, x := range lines {
		width = max(width, x.width)
	}
	high := max(d.number(r, "text-line-height"), .5) * l.size
	tall := high * float64(len(lines))
	left, top := float64(at.X)-width/2, float64(at.Y)-tall/2
	anchor := r.Text("text-anchor", d.Zoom, &d.asked)
	switch {
	case strings.HasSuffix(anchor, "left"):
		left = float64(at.X)
	case strings.HasSuffix(anchor, "right"):
		left = float64(at.X) - width
	}
	switch {
	case strings.HasPrefix(anchor, "top"):
		top = float64(at.Y)
	case strings.HasPrefix(anchor, "bottom"):
		top = float64(at.Y) - tall
	}
	if offset := r.Numbers("text-offset", d.Zoom, &d.asked); len(offset) == 2 {
		left, top = left+offset[0]*l.size, top+offset[1]*l.size
	}
	l.lines = slices.Clone(lines)
	for i := range l.lines {
		x := &l.lines[i]
		x.at = Point{float32(left + (width-x.width)/2), float32(top + high*float64(i) + high/2 + .36*l.size)}
	}
	pad := d.number(r, "text-padding") * d.Ratio
	l.low = Point{float32(left - pad), float32(top - pad)}
	l.high = Point{float32(left + width + pad), float32(top + tall + pad)}
	return &l
}

// place draws the labels that have room. Labels of higher layers come first, then those across the edges of a picture
// with neighbours, then smaller keys, then larger areas. Pictures on both sides of an edge know the same labels near
// it, but may not agree which of these have room. So a label across an edge gives way to those of higher layers, also
// to those that have none.
func (d *drawer) place(labels []*label) {
	order := slices.Clone(labels)
	w, h := float32(d.Width), float32(d.Height)
	edge := func(l *label) int {
		across := func(low, high, size float32) bool { return low < 0 && high > 0 || low < size && high > size }
		switch {
		case d.Reach > 0 && across(l.low.X, l.high.X, w):
			return 0
		case d.Reach > 0 && across(l.low.Y, l.high.Y, h):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(a, b *label) int {
		return cmp.Or(-cmp.Compare(a.layer, b.layer), cmp.Compare(edge(a), edge(b)), cmp.Compare(a.key, b.key),
			-cmp.Compare(a.area, b.area))
	})
	var taken, higher boxes
	shown := map[*label]bool{}
	for i, first := 0, 0; i < len(order); i++ {
		l := order[i]
		if l.layer != order[first].layer {
			for _, o := range order[first:i] {
				if edge(o) > 0 {
					higher.add(o.low, o.high, true)
				}
			}
			first = i
		}
		if edge(l) < 2 && !l.overlaps && !higher.free(l.low, l.high) {
			continue
		}
		if d.Reach == 0 && (l.low.X < 0 || l.low.Y < 0 || l.high.X > w || l.high.Y > h) {
			continue // it would be cut
		}
		if taken.add(l.low, l.high, l.overlaps) {
			shown[l] = l.low.X < w && l.low.Y < h && l.high.X > 0 && l.high.Y > 0
		}
	}
	for _, l := range labels {
		if shown[l] {
			d.out.ops = append(d.out.ops, &l.text)
		}
	}
}

// boxes knows the room that is taken. The zero value is empty.
type boxes struct {
	cells map[[2]int32][][2]Point
}

const cellOfBoxes = 64 // pixels

// add takes the room of a box; false, without taking it, where another box is, unless it may overlap.
func (b *boxes) add(low, high Point, overlaps bool) bool {
	if !overlaps && !b.free(low, high) {
		return false
	}
	if b.cells == nil {
		b.cells = map[[2]int32][][2]Point{}
	}
	return cellsOf(low, high, func(cell [2]int32) bool {
		b.cells[cell] = append(b.cells[cell], [2]Point{low, high})
		return true
	})
}

// free reports whether no other box is where a box is.
func (b *boxes) free(low, high Point) bool {
	return cellsOf(low, high, func(cell [2]int32) bool {
		for _, o := range b.cells[cell] {
			if o[0].X < high.X && o[1].X > low.X && o[0].Y < high.Y && o[1].Y > low.Y {
				return false
			}
		}
		return true
	})
}

// cellsOf calls fn with the cells of a box until it returns false, and returns what fn did last.
func cellsOf(low, high Point, fn func(cell [2]int32) bool) bool {
	at := func(v float32) int32 { return int32(math.Floor(float64(v) / cellOfBoxes)) }
	for x := at(low.X); x <= at(high.X); x++ {
		for y := at(low.Y); y <= at(high.Y); y++ {
			if !fn([2]int32{x, y}) {
				return false
			}
		}
	}
	return true
}
