// Package glyph makes the letters of the Go fonts as map libraries read them: signed distance fields in the protocol
// buffers that the MapLibre style specification calls glyphs, 256 code points in each. The fonts have Latin letters,
// those of Norwegian and the Sami languages among them, Greek and Cyrillic.
package glyph

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// What map libraries expect of glyphs.
const (
	size   = 24   // pixels of an em
	border = 3    // pixels around a letter
	radius = 8    // pixels, over which a distance goes from 0 to 255
	cutoff = 0.25 // part of the radius that lies within a letter
	ascent = 26   // pixels from the top of a line to its base line
)

// perRange is the number of code points in a range.
const perRange = 256

// Ranges is the number of ranges.
const Ranges = 65536 / perRange

// face is a font, which is read once. It is safe for concurrent use.
type face struct {
	name string
	ttf  []byte
	once sync.Once
	font *sfnt.Font
	err  error
}

func (f *face) load() (*sfnt.Font, error) {
	f.once.Do(func() { f.font, f.err = sfnt.Parse(f.ttf) })
	return f.font, f.err
}

var faces = [...]*face{{name: "Go Regular", ttf: goregular.TTF}, {name: "Go Bold", ttf: gobold.TTF},
	{name: "Go Italic", ttf: goitalic.TTF}}

// Names lists the fonts.
func Names() (names []string) {
	for _, f := range faces {
		names = append(names, f.name)
	}
	return names
}

// Face returns the font for a font stack, names with commas between them: the first that there is, else the one that
// is as bold or italic as the first name says.
func Face(stack string) string {
	for name := range strings.SplitSeq(stack, ",") {
		for _, f := range faces {
			if strings.EqualFold(strings.TrimSpace(name), f.name) {
				return f.name
			}
		}
	}
	first, _, _ := strings.Cut(strings.ToLower(stack), ",")
	switch {
	case strings.Contains(first, "bold"), strings.Contains(first, "black"), strings.Contains(first, "heavy"):
		return faces[1].name
	case strings.Contains(first, "italic"), strings.Contains(first, "oblique"):
		return faces[2].name
	}
	return faces[0].name
}

// Range returns the glyphs of range n of a font, from 0 to Ranges-1, as the message that a map library reads. stack is
// the name that it asked for. It panics if there is no such font or range.
func Range(name, stack string, n int) ([]byte, error) {
	if n < 0 || n >= Ranges {
		panic(fmt.Sprintf("glyph: range %d", n))
	}
	var f *face
	for _, x := range faces {
		if x.name == name {
			f = x
		}
	}
	if f == nil {
		panic("glyph: no font " + name)
	}
	from, err := f.load()
	if err != nil {
		return nil, fmt.Errorf("glyph: %s: %w", name, err)
	}
	first := rune(n * perRange)
	out := text(nil, 1, stack)
	out = text(out, 2, fmt.Sprintf("%d-%d", first, first+perRange-1))
	var buf sfnt.Buffer
	for r := first; r < first+perRange; r++ {
		g, ok, err := letter(from, &buf, r)
		if err != nil {
			return nil, fmt.Errorf("glyph: %s: %q: %w", name, r, err)
		}
		if ok {
			out = text(out, 3, string(g))
		}
	}
	return text(nil, 1, string(out)), nil
}

// Fields of protocol buffers: number and type.
func key(dst []byte, number, wire int) []byte {
	return binary.AppendUvarint(dst, uint64(number<<3|wire))
}

func text(dst []byte, number int, v string) []byte {
	dst = binary.AppendUvarint(key(dst, number, 2), uint64(len(v)))
	return append(dst, v...)
}

// letter is the message of a code point; false for one that the font lacks.
func letter(f *sfnt.Font, buf *sfnt.Buffer, r rune) (message []byte, ok bool, err error) {
	i, err := f.GlyphIndex(buf, r)
	if i == 0 || err != nil {
		return nil, false, err
	}
	// the em is larger than the letter, so that nothing is lost to the grid of the font
	const finer = 64
	em := fixed.I(size * finer)
	advance, err := f.GlyphAdvance(buf, i, em, font.HintingNone)
	if err != nil {
		return nil, false, err
	}
	segments, err := f.LoadGlyph(buf, i, em, nil)
	if err != nil {
		return nil, false, err
	}
	o := outline{scale: 1.0 / 64 / finer}
	for _, s := range segments {
		o.add(s)
	}
	o.close()
	put := func(number int, v uint64) { message = binary.AppendUvarint(key(message, number, 0), v) }
	put(1, uint64(r))
	left, top, w, h := o.box()
	if w > 0 && h > 0 {
		message = text(message, 2, string(o.field(left, top, w, h)))
	}
	put(3, uint64(w))
	put(4, uint64(h))
	message = binary.AppendVarint(key(message, 5, 0), int64(left)) // zigzag
	message = binary.AppendVarint(key(message, 6, 0), int64(-top-ascent))
	put(7, uint64(math.Round(float64(advance)*o.scale)))
	return message, true, nil
}

// outline is the edges of a letter in pixels, y down from the base line.
type outline struct {
	scale       float64
	edges       [][4]float64
	start, last [2]float64
}

func (o *outline) at(p fixed.Point26_6) [2]float64 {
	return [2]float64{float64(p.X) * o.scale, float64(p.Y) * o.scale}
}

func (o *outline) line(p [2]float64) {
	if p != o.last {
		o.edges = append(o.edges, [4]float64{o.last[0], o.last[1], p[0], p[1]})
	}
	o.last = p
}

func (o *outline) close() { o.line(o.start) }

// pieces is the number of line segments that replace a curve.
const pieces = 8

func (o *outline) add(s sfnt.Segment) {
	switch s.Op {
	case sfnt.SegmentOpMoveTo:
		o.close()
		o.start = o.at(s.Args[0])
		o.last = o.start
	case sfnt.SegmentOpLineTo:
		o.line(o.at(s.Args[0]))
	case sfnt.SegmentOpQuadTo:
		a, b, c := o.last, o.at(s.Args[0]), o.at(s.Args[1])
		for i := 1; i <= pieces; i++ {
			t := float64(i) / pieces
			u := 1 - t
			o.line([2]float64{u*u*a[0] + 2*u*t*b[0] + t*t*c[0], u*u*a[1] + 2*u*t*b[1] + t*t*c[1]})
		}
	case sfnt.SegmentOpCubeTo:
		a, b, c, d := o.last, o.at(s.Args[0]), o.at(s.Args[1]), o.at(s.Args[2])
		for i := 1; i <= pieces; i++ {
			t := float64(i) / pieces
			u := 1 - t
			o.line([2]float64{u*u*u*a[0] + 3*u*u*t*b[0] + 3*u*t*t*c[0] + t*t*t*d[0],
				u*u*u*a[1] + 3*u*u*t*b[1] + 3*u*t*t*c[1] + t*t*t*d[1]})
		}
	}
}

// box is where the letter lies in whole pixels: its upper left corner, width and height.
func (o *outline) box() (left, top, w, h int) {
	if len(o.edges) == 0 {
		return 0, 0, 0, 0
	}
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, e := range o.edges {
		for i := range 2 {
			low[i], high[i] = min(low[i], e[i], e[i+2]), max(high[i], e[i], e[i+2])
		}
	}
	left, top = int(math.Floor(low[0])), int(math.Floor(low[1]))
	return left, top, int(math.Ceil(high[0])) - left, int(math.Ceil(high[1])) - top
}

// field is the distance of each pixel, with the border, to the edge of the letter.
func (o *outline) field(left, top, w, h int) []byte {
	out := make([]byte, 0, (w+2*border)*(h+2*border))
	for y := top - border; y < top+h+border; y++ {
		for x := left - border; x < left+w+border; x++ {
			d := o.distance(float64(x)+.5, float64(y)+.5)
			out = append(out, byte(math.Round(min(max(255-255*(d/radius+cutoff), 0), 255))))
		}
	}
	return out
}

// distance is that to the nearest edge, negative within the letter, which is where edges wind around (TrueType).
func (o *outline) distance(x, y float64) float64 {
	least, winding := math.Inf(1), 0
	for _, e := range o.edges {
		ax, ay, bx, by := e[0]-x, e[1]-y, e[2]-x, e[3]-y
		dx, dy := bx-ax, by-ay
		if (ay > 0) != (by > 0) && ax-ay*dx/dy > 0 {
			if dy > 0 {
				winding++
			} else {
				winding--
			}
		}
		t := min(max(-(ax*dx+ay*dy)/(dx*dx+dy*dy), 0), 1)
		least = min(least, math.Hypot(ax+t*dx, ay+t*dy))
	}
	if winding != 0 {
		return -least
	}
	return least
}
