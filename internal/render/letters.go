package render

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/math/fixed"
)

// text paints a label: its halo, and its letters on that.
func (b *band) text(t *text) {
	pad := int(math.Ceil(t.haloWidth)) + 2
	for i := range t.lines {
		l := &t.lines[i]
		x, y := int(math.Floor(float64(l.at.X)))-pad, int(math.Floor(float64(l.at.Y)-1.1*t.size))-pad
		w, h := int(math.Ceil(l.width))+2*pad+int(t.size/2)+2, int(math.Ceil(1.5*t.size))+2*pad
		if y-b.top >= b.height || y+h <= b.top || x >= b.width || x+w <= 0 {
			continue
		}
		b.write(t, l, image.Rect(x, y, x+w, y+h))
		if t.haloWidth > 0 && t.halo.A > 0 {
			b.spread(t.haloWidth)
			b.blend(b.halo, x, y-b.top, t.halo)
		}
		b.blend(b.letters, x, y-b.top, t.color)
	}
}

// write puts the letters of a line into a box of the picture.
func (b *band) write(t *text, l *textLine, box image.Rectangle) {
	f := faceOf(t.bold)
	b.small.Reset(box.Dx(), box.Dy())
	x0, y0 := l.at.X-float32(box.Min.X), l.at.Y-float32(box.Min.Y)
	k := float32(t.size) / float32(f.em)
	for _, r := range l.text {
		g := f.glyph(r)
		at := func(p fixed.Point26_6) (x, y float32) { return x0 + float32(p.X)*k, y0 + float32(p.Y)*k }
		for _, s := range g.segments {
			ax, ay := at(s.Args[0])
			switch s.Op {
			case 0: // move
				b.small.ClosePath()
				b.small.MoveTo(ax, ay)
			case 1:
				b.small.LineTo(ax, ay)
			case 2:
				bx, by := at(s.Args[1])
				b.small.QuadTo(ax, ay, bx, by)
			case 3:
				bx, by := at(s.Args[1])
				cx, cy := at(s.Args[2])
				b.small.CubeTo(ax, ay, bx, by, cx, cy)
			}
		}
		b.small.ClosePath()
		x0 += float32(g.advance*t.size + t.spacing)
	}
	b.letters = sized(b.letters, box.Dx(), box.Dy())
	b.small.DrawOp = draw.Src
	b.small.Draw(b.letters, b.letters.Rect, image.Opaque, image.Point{})
}

// sized is a mask of that size; its pixels are of any value.
func sized(m *image.Alpha, w, h int) *image.Alpha {
	if m == nil || cap(m.Pix) < w*h {
		return image.NewAlpha(image.Rect(0, 0, w, h))
	}
	return &image.Alpha{Pix: m.Pix[:w*h], Stride: w, Rect: image.Rect(0, 0, w, h)}
}

// spread makes the halo of the letters: all pixels that are at most r away from one of theirs.
func (b *band) spread(r float64) {
	from := b.letters
	w, h := from.Rect.Dx(), from.Rect.Dy()
	b.halo = sized(b.halo, w, h)
	to := b.halo.Pix
	clear(to)
	near := b.around(r)
	for y := range h {
		for x, v := range from.Pix[y*w:][:w] {
			if v == 0 {
				continue
			}
			for _, n := range near {
				if uint(x+n.dx) >= uint(w) || uint(y+n.dy) >= uint(h) {
					continue
				}
				at := &to[(y+n.dy)*w+x+n.dx]
				*at = max(*at, byte(uint32(v)*n.weight>>8))
			}
		}
	}
}

// near is a pixel beside another one, and how much of 256 it has of that one's halo.
type near struct {
	dx, dy int
	weight uint32
}

// around returns the pixels that are at most r away from another one. They are valid until the next call.
func (b *band) around(r float64) []near {
	b.near = b.near[:0]
	n := int(math.Ceil(r))
	for dy := -n; dy <= n; dy++ {
		for dx := -n; dx <= n; dx++ {
			weight := min(max(r+.5-math.Hypot(float64(dx), float64(dy)), 0), 1)
			if k := uint32(weight * 256); k > 0 {
				b.near = append(b.near, near{dx, dy, k})
			}
		}
	}
	return b.near
}

// blend paints a colour through a mask with its upper left corner at x, y of the band.
func (b *band) blend(mask *image.Alpha, x, y int, c color.NRGBA) {
	draw.DrawMask(b.img, mask.Rect.Add(image.Pt(x, y)), image.NewUniform(c), image.Point{}, mask, image.Point{},
		draw.Over)
}
