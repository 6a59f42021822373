package render

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// face is a font with the outlines and widths of its letters, which are read once. It is safe for concurrent use.
type face struct {
	font   *sfnt.Font
	em     fixed.Int26_6
	mu     sync.Mutex
	buf    sfnt.Buffer
	glyphs map[rune]*glyph
}

// glyph is a letter, in parts of the size of its font.
type glyph struct {
	index    sfnt.GlyphIndex
	advance  float64
	segments []sfnt.Segment // in units of the font
}

var faces = [2]func() *face{
	sync.OnceValue(func() *face { return newFace(goregular.TTF) }),
	sync.OnceValue(func() *face { return newFace(gobold.TTF) }),
}

func faceOf(bold bool) *face {
	if bold {
		return faces[1]()
	}
	return faces[0]()
}

// newFace parses an embedded font. It panics if the font is invalid.
func newFace(ttf []byte) *face {
	f, err := sfnt.Parse(ttf)
	if err != nil {
		panic(err)
	}
	return &face{font: f, em: fixed.I(int(f.UnitsPerEm())), glyphs: map[rune]*glyph{}}
}

// mostGlyphs bounds the letters that are cached; texts may have any.
const mostGlyphs = 4096

// glyph returns the glyph of a letter; a box if the font lacks it.
func (f *face) glyph(r rune) *glyph {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g := f.glyphs[r]; g != nil {
		return g
	}
	g := &glyph{}
	g.index, _ = f.font.GlyphIndex(&f.buf, r)
	if adv, err := f.font.GlyphAdvance(&f.buf, g.index, f.em, font.HintingNone); err == nil {
		g.advance = float64(adv) / float64(f.em)
	}
	if segs, err := f.font.LoadGlyph(&f.buf, g.index, f.em, nil); err == nil {
		g.segments = append(g.segments, segs...)
	}
	if len(f.glyphs) >= mostGlyphs {
		clear(f.glyphs)
	}
	f.glyphs[r] = g
	return g
}

// measure returns the width of a line of the text, in pixels.
func (t *text) measure(s string) float64 {
	f, width := faceOf(t.bold), 0.0
	for _, r := range s {
		width += f.glyph(r).advance*t.size + t.spacing
	}
	return width
}
