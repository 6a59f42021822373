package draw

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/simplify"

	"grense/internal/geo/crs"
)

// Size in pixels of the picture that social networks show for a link.
const (
	previewWidth, previewHeight = 1200, 630
	previewMargin               = 36
)

var (
	previewGround = color.RGBA{0xf3, 0xf6, 0xf5, 0xff}
	previewLine   = color.RGBA{0xd3, 0xdc, 0xda, 0xff}
	previewArea   = color.RGBA{0xb9, 0xd6, 0xd1, 0xff}
	previewAccent = color.RGBA{0x0f, 0x5f, 0x59, 0xff}
)

// PreviewPNG returns a picture of an extent in CRS84 with a grid of degrees and marks, whose coordinates are in the
// plane. Without marks it shows the extent, without an extent an empty background.
func PreviewPNG(extent *orb.Bound, plane crs.ID, marks []Mark) ([]byte, error) {
	p := newPreview()
	if extent != nil {
		if err := p.area(*extent, plane, marks); err != nil {
			return nil, err
		}
	}
	p.fill([]orb.Ring{{{0, 0}, {previewWidth, 0}, {previewWidth, 12}, {0, 12}}}, previewAccent)
	var b bytes.Buffer
	if err := png.Encode(&b, p.img); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// PreviewUnit returns the approximate width of a pixel of that picture, in units of the plane.
func PreviewUnit(area orb.Bound, degrees bool) float64 {
	return unitIn(area, degrees, previewWidth-2*previewMargin, previewHeight-2*previewMargin-12)
}

// preview is a picture in progress.
type preview struct {
	img   *image.RGBA
	cover []float32 // coverage of each pixel in a row by a shape, 0 to 1
}

func newPreview() *preview {
	p := &preview{img: image.NewRGBA(image.Rect(0, 0, previewWidth, previewHeight)),
		cover: make([]float32, previewWidth)}
	draw.Draw(p.img, p.img.Bounds(), image.NewUniform(previewGround), image.Point{}, draw.Src)
	return p
}

// area paints an extent in CRS84 with a grid of degrees, and the marks in the plane; without marks, the extent itself.
func (p *preview) area(extent orb.Bound, plane crs.ID, marks []Mark) error {
	project, err := crs.Between(crs.CRS84, plane)
	if err != nil {
		return err
	}
	line := func(from, to orb.Point) orb.Ring { return straight(project, from, to) }
	a, b := extent.Min, extent.Max
	box := slices.Concat(line(a, orb.Point{b[0], a[1]}), line(orb.Point{b[0], a[1]}, b), line(b, orb.Point{a[0], b[1]}),
		line(orb.Point{a[0], b[1]}, a))
	view := emptyBound
	for _, m := range marks {
		view = view.Union(m.bound)
	}
	if marks == nil {
		view = box.Bound()
	}
	squeeze := 1.0
	if plane.Geographic() {
		squeeze = max(math.Cos(view.Center()[1]*math.Pi/180), .1)
	}
	w, h := max((view.Max[0]-view.Min[0])*squeeze, 1e-6), max(view.Max[1]-view.Min[1], 1e-6)
	k := min((previewWidth-2*previewMargin)/w, (previewHeight-2*previewMargin-12)/h)
	mid := view.Center()
	to := func(ps orb.Ring) orb.Ring {
		out := make(orb.Ring, len(ps))
		for i, q := range ps {
			out[i] = orb.Point{previewWidth/2 + (q[0]-mid[0])*squeeze*k, previewHeight/2 + 6 - (q[1]-mid[1])*k}
		}
		return out
	}
	if marks == nil {
		p.fill([]orb.Ring{to(box)}, previewArea)
	}
	p.degrees(extent, func(from, end orb.Point) orb.Ring { return to(line(from, end)) })
	if marks == nil {
		p.stroke(to(append(box, box[0])), 4, previewAccent)
	}
	for _, m := range marks {
		var rings []orb.Ring
		for _, r := range m.rings {
			px := to(r)
			if !m.shared {
				px = simplify.DouglasPeucker(.3).Ring(px)
			}
			rings = append(rings, px)
		}
		p.fill(rings, previewArea)
		for _, r := range rings {
			p.stroke(r, 1.5, previewGround)
		}
	}
	return nil
}

// straight returns a line in the plane that is straight in degrees.
func straight(project crs.Func, from, to orb.Point) (out orb.Ring) {
	const n = 60
	for i := range n + 1 {
		t := float64(i) / n
		x, y := project(from[0]+t*(to[0]-from[0]), from[1]+t*(to[1]-from[1]))
		if !math.IsNaN(x+y) && !math.IsInf(x+y, 0) {
			out = append(out, orb.Point{x, y})
		}
	}
	return out
}

// degrees paints a grid of degrees around an extent in CRS84. line returns one of its lines in pixels.
func (p *preview) degrees(extent orb.Bound, line func(from, to orb.Point) orb.Ring) {
	a, b := extent.Min, extent.Max
	step := 1.0
	for _, s := range []float64{2, 5, 10, 30} {
		if max(b[0]-a[0], b[1]-a[1])/step > 12 {
			step = s
		}
	}
	west, east := max(math.Floor((a[0]-60)/step)*step, -180), min(b[0]+60, 180)
	south, north := max(math.Floor((a[1]-20)/step)*step, -90), min(b[1]+20, 90)
	for x := west; x <= east; x += step {
		p.stroke(line(orb.Point{x, south}, orb.Point{x, min(north, 89)}), 1.5, previewLine)
	}
	for y := south; y <= north; y += step {
		p.stroke(line(orb.Point{west, y}, orb.Point{east, y}), 1.5, previewLine)
	}
}

// stroke paints a line of a width in pixels.
func (p *preview) stroke(ps orb.Ring, width float64, col color.RGBA) {
	for i := 1; i < len(ps); i++ {
		a, b := ps[i-1], ps[i]
		dx, dy := b[0]-a[0], b[1]-a[1]
		l := math.Hypot(dx, dy)
		if l == 0 || max(a[1], b[1]) < 0 || min(a[1], b[1]) > previewHeight {
			continue
		}
		nx, ny := -dy/l*width/2, dx/l*width/2
		p.fill(
			[]orb.Ring{{{a[0] + nx, a[1] + ny}, {b[0] + nx, b[1] + ny}, {b[0] - nx, b[1] - ny},
				{a[0] - nx, a[1] - ny}}},
			col,
		)
	}
}

// fill fills rings by the even-odd rule, in pixels from the upper left corner. It antialiases with four scan lines for
// each row of pixels and exact coverage along each.
func (p *preview) fill(rings []orb.Ring, col color.RGBA) {
	const parts = 4
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range rings {
		b := r.Bound()
		low, high = min(low, b.Min[1]), max(high, b.Max[1])
	}
	var xs []float64
	for row := max(int(math.Floor(low)), 0); row <= min(int(math.Floor(high)), previewHeight-1); row++ {
		clear(p.cover)
		for part := range parts {
			y := float64(row) + (float64(part)+.5)/parts
			xs = xs[:0]
			for _, r := range rings {
				for i := range r {
					a, b := r[i], r[(i+1)%len(r)]
					if (a[1] > y) != (b[1] > y) {
						xs = append(xs, a[0]+(y-a[1])*(b[0]-a[0])/(b[1]-a[1]))
					}
				}
			}
			slices.Sort(xs)
			for i := 0; i+1 < len(xs); i += 2 {
				from, to := max(xs[i], 0), min(xs[i+1], previewWidth)
				for x := int(from); x < previewWidth && float64(x) < to; x++ {
					p.cover[x] += float32(min(to, float64(x+1))-max(from, float64(x))) / parts
				}
			}
		}
		for x, c := range p.cover {
			if c > 0 {
				p.blend(x, row, min(c, 1), col)
			}
		}
	}
}

func (p *preview) blend(x, y int, part float32, col color.RGBA) {
	px := p.img.Pix[p.img.PixOffset(x, y):]
	for i, v := range [3]uint8{col.R, col.G, col.B} {
		px[i] = uint8(float32(px[i]) + part*(float32(v)-float32(px[i])) + .5)
	}
}
