// Package render draws maps: features in pixels and a style of MapLibre become a list of shapes and texts, which is
// written as PNG, JPEG or SVG.
//
// It knows no store, no HTTP and no coordinate systems. Of the style specification (Mapbox style, version 8) it draws
// the layers background, fill, line, circle and symbol with text, with the properties and expressions that
// docs/use/maps.md lists. Positions are in pixels from the upper left corner, y down.
package render

import (
	"context"
	"image/color"
	"math"
	"math/bits"
	"sync"

	"grense/internal/style"
)

// Point is a position in pixels.
type Point struct{ X, Y float32 }

// Kind is the kind of a feature's geometry.
type Kind uint8

// Kinds of geometries, as vector tiles number them.
const (
	Points Kind = iota + 1
	Lines
	Polygons
)

// Feature is a feature of a layer of a source.
type Feature struct {
	ID    uint64
	Kind  Kind
	Parts [][]Point // points, lines or rings; rings are open, the outer ones turn the other way than the inner ones
	Tags  []Tag
}

// Tag is a property: string, float64 or bool.
type Tag struct {
	Key   string
	Value any
}

// Map is the input of Draw.
type Map struct {
	Width, Height int
	// Ratio multiplies sizes of the style: pixels of the picture per pixel of the style. 0 means 1.
	Ratio float64
	Zoom  float64 // by which the style is evaluated
	Rules []*style.Rules
	// Sources holds the features by the name of their layer ("source-layer"), in drawing order.
	Sources map[string][]Feature
	// Ground is below all layers; nil leaves the ground transparent. The layer background of the style is drawn only
	// where Styled.
	Ground *color.NRGBA
	Styled bool
	// Reach is the distance beyond the edges, in pixels, within which labels are placed, so that neighbouring pictures
	// have the same labels at their common edge.
	Reach int
	// Captions are written on top of all else.
	Captions []Caption
}

// Caption is a line of text. Its base line begins at a position.
type Caption struct {
	Text  string
	At    Point
	Size  float64 // of the letters, in pixels
	Color color.NRGBA
}

// WidthOf returns how wide a caption is, in pixels.
func WidthOf(c Caption) float64 { t := text{size: c.Size}; return t.measure(c.Text) }

// Drawing is a list of shapes and texts. It is immutable.
type Drawing struct {
	Width, Height int
	ground        *color.NRGBA
	ops           []op
}

// op is a step of a Drawing: one of *fills, *strokes and *text.
type op any

// fills are areas of one layer, which do not cover each other, by their colours.
type fills struct {
	groups []fillGroup
}

type fillGroup struct {
	color color.NRGBA
	parts [][]Point
}

// strokes are lines of one colour and width.
type strokes struct {
	color  color.NRGBA
	width  float64
	dash   []float64 // in pixels; nil: unbroken
	lines  [][]Point
	closed []bool
}

// text is a label.
type text struct {
	lines     []textLine
	size      float64
	bold      bool
	spacing   float64 // between letters
	color     color.NRGBA
	halo      color.NRGBA
	haloWidth float64
}

// textLine is a line of a label. Its base line begins at the position at.
type textLine struct {
	text  string
	at    Point
	width float64
}

// Draw makes the shapes of a map. It ends early, with the context's error, where ctx ends.
func Draw(ctx context.Context, m *Map) (*Drawing, error) {
	d := &drawer{Map: m, out: &Drawing{Width: m.Width, Height: m.Height, ground: m.Ground}, ctx: ctx}
	if d.Ratio <= 0 {
		d.Ratio = 1
	}
	d.asked.Get = d.get
	d.edges = edgeSets.Get().(*edgeSet)
	defer edgeSets.Put(d.edges)
	var labels []*label
	for _, l := range m.Rules {
		if !l.At(m.Zoom) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		features := m.Sources[l.SourceLayer]
		l = l.Fixed(m.Zoom)
		var err error
		switch l.Type {
		case "background":
			d.background(l)
		case "fill":
			err = d.fill(l, features)
		case "line":
			err = d.line(l, features)
		case "circle":
			err = d.circle(l, features)
		case "symbol":
			labels, err = d.symbol(labels, l, features)
		}
		if err != nil {
			return nil, err
		}
	}
	d.place(labels)
	for _, c := range m.Captions {
		t := &text{size: c.Size, color: c.Color}
		t.lines = []textLine{{c.Text, c.At, t.measure(c.Text)}}
		d.out.ops = append(d.out.ops, t)
	}
	return d.out, nil
}

// drawer makes a Drawing.
type drawer struct {
	*Map
	out   *Drawing
	ctx   context.Context
	at    *Feature      // the current one; nil: none
	asked style.Feature // the same for the style
	edges *edgeSet
	runs  []Point // of lines, in one piece
}

// get returns a property of the current feature.
func (d *drawer) get(name string) any {
	if d.at == nil {
		return nil
	}
	for i := range d.at.Tags {
		if t := &d.at.Tags[i]; t.Key == name {
			return t.Value
		}
	}
	return nil
}

// enter makes a feature the current one.
func (d *drawer) enter(f *Feature) {
	d.at, d.asked.ID, d.asked.Kind = f, float64(f.ID), [...]string{"", "Point", "LineString", "Polygon"}[min(f.Kind, 3)]
}

func (d *drawer) number(l *style.Rules, name string) float64 { return l.Number(name, d.Zoom, &d.asked) }

// color is the value of a colour with the opacity that another property has.
func (d *drawer) color(l *style.Rules, name, opacity string) color.NRGBA {
	c := l.Color(name, d.Zoom, &d.asked)
	c.A = uint8(math.Round(float64(c.A) * min(max(d.number(l, opacity), 0), 1)))
	return c
}

// each calls fn with the features that a layer shows.
func (d *drawer) each(l *style.Rules, features []Feature, fn func(f *Feature)) error {
	for i := range features {
		if i%256 == 255 && d.ctx.Err() != nil {
			return d.ctx.Err()
		}
		d.enter(&features[i])
		if l.Shows(d.Zoom, &d.asked) {
			fn(&features[i])
		}
	}
	return nil
}

func (d *drawer) background(l *style.Rules) {
	c := d.color(l, "background-color", "background-opacity")
	if !d.Styled || c.A == 0 {
		return
	}
	w, h := float32(d.Width), float32(d.Height)
	d.out.ops = append(d.out.ops, &fills{groups: []fillGroup{{c, [][]Point{{{0, 0}, {w, 0}, {w, h}, {0, h}}}}}})
}

// groupsOf groups parts by colour, in the order of the first part of each colour.
type groupsOf struct {
	list []fillGroup
	at   map[color.NRGBA]int
}

func (g *groupsOf) add(c color.NRGBA, parts ...[]Point) {
	if c.A == 0 {
		return
	}
	i, ok := g.at[c]
	if !ok {
		if g.at == nil {
			g.at = map[color.NRGBA]int{}
		}
		i = len(g.list)
		g.at[c], g.list = i, append(g.list, fillGroup{color: c})
	}
	g.list[i].parts = append(g.list[i].parts, parts...)
}

func (d *drawer) fill(l *style.Rules, features []Feature) error {
	var groups groupsOf
	err := d.each(l, features, func(f *Feature) {
		if f.Kind == Polygons {
			groups.add(d.color(l, "fill-color", "fill-opacity"), f.Parts...)
		}
	})
	if err != nil || len(groups.list) == 0 {
		return err
	}
	d.out.ops = append(d.out.ops, &fills{groups.list})
	if l.Has("fill-outline-color") {
		return d.outline(l, features, nil, func() (color.NRGBA, float64) {
			return d.color(l, "fill-outline-color", "fill-opacity"), 1
		})
	}
	return nil
}

func (d *drawer) line(l *style.Rules, features []Feature) error {
	return d.outline(l, features, l.Numbers("line-dasharray", d.Zoom, &d.asked), func() (color.NRGBA, float64) {
		return d.color(l, "line-color", "line-opacity"), d.number(l, "line-width")
	})
}

// mostWidth bounds the width of lines, of circles and of letters, in pixels.
const mostWidth = 512

// outline draws lines, and the rings of areas; look is that of the current feature. An edge that several features
// share is drawn once.
func (d *drawer) outline(l *style.Rules, features []Feature, dash []float64,
	look func() (color.NRGBA, float64)) error {
	type key struct {
		color color.NRGBA
		width float64
	}
	at := map[key]*strokes{}
	var list []*strokes
	positions := 0
	for i := range features {
		for _, p := range features[i].Parts {
			positions += len(p)
		}
	}
	d.edges.reset(positions / 2) // most edges are shared by two
	d.runs = make([]Point, 0, positions/2)
	err := d.each(l, features, func(f *Feature) {
		if f.Kind == Points {
			return
		}
		c, w := look()
		if w *= d.Ratio; c.A == 0 || !(w > 0) {
			return
		}
		k := key{c, min(w, mostWidth)}
		s := at[k]
		if s == nil {
			s = &strokes{color: c, width: k.width}
			for _, v := range dash {
				s.dash = append(s.dash, max(v, 0)*k.width)
			}
			at[k], list = s, append(list, s)
		}
		for _, p := range f.Parts {
			d.unique(s, p, f.Kind == Polygons)
		}
	})
	for _, s := range list {
		if len(s.lines) > 0 {
			d.out.ops = append(d.out.ops, s)
		}
	}
	return err
}

// unique adds the edges of a line or ring that are not drawn yet, and that may be seen.
func (d *drawer) unique(s *strokes, p []Point, ring bool) {
	n := len(p)
	if n < 2 {
		return
	}
	pad := float32(s.width)/2 + 2
	low, high := Point{-pad, -pad}, Point{float32(d.Width) + pad, float32(d.Height) + pad}
	edges := n - 1
	if ring {
		edges = n
	}
	start := len(d.runs)
	flush := func() {
		if run := d.runs[start:len(d.runs):len(d.runs)]; len(run) > 1 {
			s.lines, s.closed = append(s.lines, run), append(s.closed, ring && len(run) == n+1)
		}
		start = len(d.runs)
	}
	for i := range edges {
		a, b := p[i], p[(i+1)%n]
		outside := a.X < low.X && b.X < low.X || a.X > high.X && b.X > high.X ||
			a.Y < low.Y && b.Y < low.Y || a.Y > high.Y && b.Y > high.Y
		if outside || ring && !d.edges.add(a, b) {
			flush()
			continue
		}
		if len(d.runs) == start {
			d.runs = append(d.runs, a)
		}
		d.runs = append(d.runs, b)
	}
	flush()
}

func (d *drawer) circle(l *style.Rules, features []Feature) error {
	var edges, bodies groupsOf
	err := d.each(l, features, func(f *Feature) {
		if f.Kind != Points {
			return
		}
		r := min(max(d.number(l, "circle-radius"), 0)*d.Ratio, mostWidth)
		w := min(max(d.number(l, "circle-stroke-width"), 0)*d.Ratio, mostWidth)
		body := d.color(l, "circle-color", "circle-opacity")
		edge := d.color(l, "circle-stroke-color", "circle-stroke-opacity")
		for _, part := range f.Parts {
			for _, at := range part {
				if w > 0 {
					edges.add(edge, ringAround(at, r+w))
				}
				bodies.add(body, ringAround(at, r))
			}
		}
	})
	for _, g := range append(edges.list, bodies.list...) { // one after another, since they may cover each other
		d.out.ops = append(d.out.ops, &fills{groups: []fillGroup{g}})
	}
	return err
}

// ringAround is a circle.
func ringAround(at Point, r float64) []Point {
	n := min(max(int(4*math.Sqrt(r)), 8), 64)
	ring := make([]Point, n)
	for i := range ring {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		ring[i] = Point{at.X + float32(r*cos), at.Y + float32(r*sin)}
	}
	return ring
}

// edgeSet knows the edges that were added, whichever way they run. The zero value is empty.
type edgeSet struct {
	slots []edge
	used  int
}

// edgeSets are those that are not in use.
var edgeSets = sync.Pool{New: func() any { return &edgeSet{} }}

// edge joins two positions, the lesser first. The zero edge marks an empty slot.
type edge struct{ a, b uint64 }

// reset empties the set and makes room for n edges.
func (s *edgeSet) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	if cap(s.slots) < size {
		s.slots = make([]edge, size)
	}
	s.slots, s.used = s.slots[:size], 0
	clear(s.slots)
}

// add adds an edge; false when it is there already, or has no length.
func (s *edgeSet) add(p, q Point) bool {
	e := edge{packed(p), packed(q)}
	switch {
	case e.a == e.b:
		return false
	case e.a > e.b:
		e.a, e.b = e.b, e.a
	}
	if 2*s.used >= len(s.slots) {
		s.grow()
	}
	if !s.put(e) {
		return false
	}
	s.used++
	return true
}

func (s *edgeSet) put(e edge) bool {
	mask := uint64(len(s.slots) - 1)
	for i := (e.a*0x9e3779b97f4a7c15 ^ e.b*0xc2b2ae3d27d4eb4f) >> 17 & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case e:
			return false
		case edge{}:
			s.slots[i] = e
			return true
		}
	}
}

func (s *edgeSet) grow() {
	old := s.slots
	s.slots = make([]edge, max(1024, 2*len(old)))
	for _, e := range old {
		if e != (edge{}) {
			s.put(e)
		}
	}
}

func packed(p Point) uint64 {
	return uint64(math.Float32bits(p.X))<<32 | uint64(math.Float32bits(p.Y))
}
