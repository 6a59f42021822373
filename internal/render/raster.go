package render

import (
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"sync"

	"golang.org/x/image/vector"
)

// bandPixels is the number of pixels painted at a time. It limits the memory besides the picture.
const bandPixels = 1 << 21

// canvas returns a transparent picture for the drawing, in the memory of one that put has returned.
func (d *Drawing) canvas() (img *image.RGBA, put func()) {
	b := canvases.Get().(*[]byte)
	*b = cleared(*b, 4*d.Width*d.Height)
	return &image.RGBA{Pix: *b, Stride: 4 * d.Width, Rect: image.Rect(0, 0, d.Width, d.Height)},
		func() { canvases.Put(b) }
}

// canvases are the pixels of pictures that are not in use.
var canvases = sync.Pool{New: func() any { return new([]byte) }}

// paint paints a drawing on a transparent picture of its size. It ends early, with the context's error, where ctx ends.
func (d *Drawing) paint(ctx context.Context, img *image.RGBA) (*image.RGBA, error) {
	if d.ground != nil {
		paint(img.Pix, *d.ground)
	}
	rows := min(max(bandPixels/max(d.Width, 1), 64), d.Height)
	b := bands.Get().(*band)
	defer bands.Put(b)
	b.width = d.Width
	for top := 0; top < d.Height; top += rows {
		b.top, b.height = top, min(rows, d.Height-top)
		b.img = &image.RGBA{Pix: img.Pix[top*img.Stride : (top+b.height)*img.Stride], Stride: img.Stride,
			Rect: image.Rect(0, 0, d.Width, b.height)}
		for i, o := range d.ops {
			if i%64 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			switch o := o.(type) {
			case *fills:
				b.fills(o)
			case *strokes:
				b.strokes(o)
			case *text:
				b.text(o)
			}
		}
	}
	return img, nil
}

// bands are those that are not in use.
var bands = sync.Pool{New: func() any { return &band{} }}

// paint sets all pixels to a colour.
func paint(pix []byte, c color.NRGBA) {
	r, g, b, a := c.RGBA()
	one := [4]byte{byte(r >> 8), byte(g >> 8), byte(b >> 8), byte(a >> 8)}
	n := copy(pix, one[:])
	for n < len(pix) {
		n += copy(pix[n:], pix[:n])
	}
}

// band is the part of a picture that is being painted: some of its rows. Shapes have positions in the whole picture.
type band struct {
	img                *image.RGBA
	top, width, height int
	shape              shape
	layer              []byte // colours of a layer of areas, premultiplied
	covered            []byte // how much of each pixel the layer covers

	letters, halo *image.Alpha
	near          []near

	thin, left, right []Point // of the line that is being painted
	small             vector.Rasterizer
}

// begin starts a shape.
func (b *band) begin() { b.shape.reset(b.width, b.height) }

// add adds a ring to the current shape.
func (b *band) add(ring []Point) {
	if len(ring) < 3 {
		return
	}
	top := float32(b.top)
	low, high := ring[0], ring[0]
	for _, p := range ring[1:] {
		low, high = Point{min(low.X, p.X), min(low.Y, p.Y)}, Point{max(high.X, p.X), max(high.Y, p.Y)}
	}
	if low.Y-top >= float32(b.height) || high.Y <= top || low.X >= float32(b.width) || high.X <= 0 {
		return
	}
	before := ring[len(ring)-1]
	for _, p := range ring {
		b.shape.edge(before.X, before.Y-top, p.X, p.Y-top)
		before = p
	}
}

// over paints the current shape over the picture.
func (b *band) over(c color.NRGBA) {
	b.shape.spans(func(y, from, to int, cover uint32) {
		blend(b.img.Pix[y*b.img.Stride+4*from:y*b.img.Stride+4*to], c, cover)
	})
}

// blend paints a colour over pixels, of which it covers so much of 255.
func blend(pix []byte, c color.NRGBA, cover uint32) {
	a := (uint32(c.A)*cover + 127) / 255
	if a == 255 {
		paint(pix, c)
		return
	}
	rest := 255 - a
	red, green, blue := uint32(c.R)*a+127, uint32(c.G)*a+127, uint32(c.B)*a+127
	for i := 0; i+4 <= len(pix); i += 4 {
		px := pix[i : i+4 : i+4]
		px[0] = byte((red + uint32(px[0])*rest) / 255)
		px[1] = byte((green + uint32(px[1])*rest) / 255)
		px[2] = byte((blue + uint32(px[2])*rest) / 255)
		px[3] = byte(a + (uint32(px[3])*rest+127)/255)
	}
}

// fills paints the areas of a layer. Areas of several colours are gathered first: pixels that neighbours divide are
// covered by both together, so that no ground shines through between them.
func (b *band) fills(f *fills) {
	if len(f.groups) == 1 {
		b.begin()
		for _, p := range f.groups[0].parts {
			b.add(p)
		}
		b.over(f.groups[0].color)
		return
	}
	b.layer, b.covered = cleared(b.layer, 4*b.width*b.height), cleared(b.covered, b.width*b.height)
	for i := len(f.groups) - 1; i >= 0; i-- { // the last one is on top
		g := &f.groups[i]
		b.begin()
		for _, p := range g.parts {
			b.add(p)
		}
		b.gather(g.color)
	}
	b.compose()
}

// cleared returns n zeros, in the memory of a slice where they have room.
func cleared(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	b = b[:n]
	clear(b)
	return b
}

// gather adds the current shape to the layer, where that does not cover the pixels yet.
func (b *band) gather(c color.NRGBA) {
	a := uint32(c.A)
	whole := [4]uint32{uint32(c.R) * a / 255, uint32(c.G) * a / 255, uint32(c.B) * a / 255, a}
	one := whole[0] | whole[1]<<8 | whole[2]<<16 | whole[3]<<24
	b.shape.spans(func(y, from, to int, cover uint32) {
		at := y * b.width
		covered, layer := b.covered[at+from:at+to], b.layer[4*(at+from):4*(at+to)]
		for cover == 255 && len(covered) >= 8 && binary.LittleEndian.Uint64(covered) == 0 { // eight pixels at a time
			binary.LittleEndian.PutUint64(covered, math.MaxUint64)
			for i := range 4 {
				binary.LittleEndian.PutUint64(layer[8*i:], uint64(one)<<32|uint64(one))
			}
			covered, layer = covered[8:], layer[32:]
		}
		for x, before := range covered {
			k := min(cover, uint32(255-before))
			switch k {
			case 0:
				continue
			case 255:
				covered[x] = 255
				binary.LittleEndian.PutUint32(layer[4*x:], one)
				continue
			}
			covered[x] = before + byte(k)
			px := layer[4*x : 4*x+4 : 4*x+4]
			for i, v := range whole {
				px[i] += byte((v*k + 127) / 255)
			}
		}
	})
}

// compose lays the layer over the picture.
func (b *band) compose() {
	to := b.img.Pix
	for x := 0; x+4 <= len(b.layer); x += 4 { // the rows of both follow one another
		switch v := binary.LittleEndian.Uint32(b.layer[x:]); v >> 24 {
		case 0:
		case 255:
			binary.LittleEndian.PutUint32(to[x:], v)
		default:
			rest := 255 - v>>24
			for k := range 4 {
				to[x+k] = byte(min(uint32(b.layer[x+k])+(uint32(to[x+k])*rest+127)/255, 255))
			}
		}
	}
}

func (b *band) strokes(s *strokes) {
	b.begin()
	width := s.width
	c := s.color
	if width < 1 { // thinner lines are fainter
		c.A = uint8(math.Round(float64(c.A) * width))
		width = 1
	}
	pad := float32(width)
	top, bottom := float32(b.top)-pad, float32(b.top+b.height)+pad
	for i, line := range s.lines {
		low, high := line[0].Y, line[0].Y
		for _, p := range line {
			low, high = min(low, p.Y), max(high, p.Y)
		}
		if high < top || low > bottom {
			continue
		}
		if s.dash != nil {
			dashed(line, s.dash, func(piece []Point) { b.outline(piece, width/2, false) })
			continue
		}
		b.outline(line, width/2, s.closed[i])
	}
	b.over(c)
}

// outline adds a line of half a width to each side.
func (b *band) outline(line []Point, half float64, closed bool) {
	b.thin = thinned(b.thin[:0], line, closed)
	b.left, b.right = sides(b.left[:0], b.right[:0], b.thin, half, closed)
	reverse(b.right)
	if closed {
		b.add(b.left)
		b.add(b.right)
		return
	}
	b.left = append(b.left, b.right...)
	b.add(b.left)
}

func reverse(ps []Point) {
	for i, j := 0, len(ps)-1; i < j; i, j = i+1, j-1 {
		ps[i], ps[j] = ps[j], ps[i]
	}
}

// leastStep is the minimum distance between drawn positions of a line, in pixels.
const leastStep = .35

// thinned appends a line to out, without positions that are very near to the one before; the ends stay. The last
// position of a closed line, which is the first again, is left out.
func thinned(out, line []Point, closed bool) []Point {
	for i, p := range line {
		if i > 0 && i < len(line)-1 {
			q := out[len(out)-1]
			if dx, dy := p.X-q.X, p.Y-q.Y; dx*dx+dy*dy < leastStep*leastStep {
				continue
			}
		}
		out = append(out, p)
	}
	if closed && len(out) > 1 {
		out = out[:len(out)-1]
	}
	return out
}

// mostMitre is the maximum length of a mitred corner, in halves of the line width.
const mostMitre = 2

// sides appends the lines at both sides of a line to left and right; at sharp corners they are cut off.
func sides(left, right, line []Point, half float64, closed bool) (_, _ []Point) {
	n := len(line)
	if n < 2 {
		return left, right
	}
	h := float32(half)
	normal := func(a, b Point) (x, y float32, ok bool) {
		dx, dy := float64(b.X-a.X), float64(b.Y-a.Y)
		l := math.Sqrt(dx*dx + dy*dy)
		if l == 0 {
			return 0, 0, false
		}
		return float32(-dy / l), float32(dx / l), true
	}
	put := func(p Point, x, y float32) {
		left = append(left, Point{p.X + x*h, p.Y + y*h})
		right = append(right, Point{p.X - x*h, p.Y - y*h})
	}
	var px, py float32 // of the edge before
	before := false
	if closed {
		px, py, before = normal(line[n-1], line[0])
	}
	for i, p := range line {
		next := i + 1
		if next == n {
			if !closed {
				put(p, px, py)
				break
			}
			next = 0
		}
		x, y, ok := normal(p, line[next])
		if !ok {
			continue
		}
		switch {
		case !before:
			put(p, x, y)
		default:
			mx, my := px+x, py+y
			if l := mx*mx + my*my; l > 4/float32(mostMitre*mostMitre) { // the mitre is 2/l of this
				put(p, mx*2/l, my*2/l)
			} else {
				put(p, px, py)
				put(p, x, y)
			}
		}
		px, py, before = x, y, true
	}
	return left, right
}

// mostDashes bounds the pieces of a line.
const mostDashes = 100_000

// dashed calls fn with each dash of a line.
func dashed(line []Point, dash []float64, fn func(piece []Point)) {
	sum := 0.0
	for _, v := range dash {
		sum += v
	}
	if !(sum > .5) || lengthOf(line)/sum > mostDashes {
		fn(line)
		return
	}
	i, left, on := 0, dash[0], true
	piece := []Point{line[0]}
	for k := 1; k < len(line); k++ {
		a, b := line[k-1], line[k]
		l := math.Hypot(float64(b.X-a.X), float64(b.Y-a.Y))
		at := 0.0
		for l-at > left {
			at += left
			t := float32(at / l)
			p := Point{a.X + t*(b.X-a.X), a.Y + t*(b.Y-a.Y)}
			if on && len(piece) > 0 {
				fn(append(piece, p))
			}
			on, piece = !on, []Point{p}
			i++
			left = max(dash[i%len(dash)], 1e-3)
		}
		left -= l - at
		if on {
			piece = append(piece, b)
		}
	}
	if on && len(piece) > 1 {
		fn(piece)
	}
}
