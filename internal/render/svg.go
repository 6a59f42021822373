package render

import (
	"context"
	"encoding/xml"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// AppendSVG appends a drawing as an SVG document; title and lang say what it shows. It ends early, with the context's
// error, where ctx ends.
func (d *Drawing) AppendSVG(ctx context.Context, b []byte, title string) ([]byte, error) {
	w, h := strconv.Itoa(d.Width), strconv.Itoa(d.Height)
	s := &svg{b: append(b, `<svg xmlns="http://www.w3.org/2000/svg" width="`+w+`" height="`+h+`" viewBox="0 0 `+w+" "+
		h+`" role="img" font-family="Go, 'Noto Sans', Arial, sans-serif">`...), d: d}
	s.b = append(append(append(s.b, "<title>"...), escaped(title)...), "</title>"...)
	if d.ground != nil {
		s.b = append(s.b, `<rect width="`+w+`" height="`+h+`"`...)
		s.color("fill", *d.ground)
		s.b = append(s.b, "/>"...)
	}
	for i, o := range d.ops {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch o := o.(type) {
		case *fills:
			for i := range o.groups {
				s.fill(&o.groups[i], len(o.groups) > 1)
			}
		case *strokes:
			s.stroke(o)
		case *text:
			s.text(o)
		}
	}
	return append(s.b, "</svg>\n"...), nil
}

type svg struct {
	b []byte
	d *Drawing
}

// escaped is a text as it stands in XML; characters that XML has not are left out.
func escaped(t string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(t)) // a Builder takes all
	return b.String()
}

// color writes a colour as an attribute, with its opacity if it is not opaque.
func (s *svg) color(name string, c color.NRGBA) {
	const digits = "0123456789abcdef"
	s.b = append(append(append(s.b, ' '), name...), `="#`...)
	for _, v := range [...]byte{c.R, c.G, c.B} {
		s.b = append(s.b, digits[v>>4], digits[v&15])
	}
	s.b = append(s.b, '"')
	if c.A < 255 {
		s.b = append(append(append(s.b, ' '), name...), `-opacity="`...)
		s.b = append(strconv.AppendFloat(s.b, float64(c.A)/255, 'f', 2, 64), '"')
	}
}

// number writes a tenth of a number.
func (s *svg) number(tenths int) {
	if tenths < 0 {
		s.b = append(s.b, '-')
		tenths = -tenths
	}
	s.b = strconv.AppendInt(s.b, int64(tenths/10), 10)
	if t := tenths % 10; t != 0 {
		s.b = append(s.b, '.', byte('0'+t))
	}
}

func tenths(v float32) int { return int(math.Round(float64(v) * 10)) }

// path writes a line or ring, unless nothing of it is seen.
func (s *svg) path(ps []Point, ring bool) {
	if len(ps) < 2 {
		return
	}
	low, high := ps[0], ps[0]
	for _, p := range ps {
		low = Point{min(low.X, p.X), min(low.Y, p.Y)}
		high = Point{max(high.X, p.X), max(high.Y, p.Y)}
	}
	if high.X < 0 || high.Y < 0 || low.X > float32(s.d.Width) || low.Y > float32(s.d.Height) {
		return
	}
	x, y := 0, 0
	for i, p := range ps {
		px, py := tenths(p.X), tenths(p.Y)
		switch {
		case i == 0:
			s.b = append(s.b, 'M')
			s.number(px)
			s.b = append(s.b, ' ')
			s.number(py)
			s.b = append(s.b, 'l')
		case px == x && py == y:
			continue
		default:
			s.number(px - x)
			if py >= y {
				s.b = append(s.b, ' ')
			}
			s.number(py - y)
			s.b = append(s.b, ' ')
		}
		x, y = px, py
	}
	switch last := s.b[len(s.b)-1]; {
	case ring && last == ' ':
		s.b[len(s.b)-1] = 'z'
	case ring:
		s.b = append(s.b, "0 0z"...)
	case last == 'l':
		s.b = append(s.b, "0 0"...)
	}
}

func (s *svg) fill(g *fillGroup, several bool) {
	s.b = append(s.b, "<path"...)
	s.color("fill", g.color)
	if several && g.color.A == 255 { // so that no ground shines through between neighbours
		s.color("stroke", g.color)
		s.b = append(s.b, ` stroke-width=".4"`...)
	}
	s.b = append(s.b, ` d="`...)
	for _, p := range g.parts {
		s.path(p, true)
	}
	s.b = append(s.b, `"/>`...)
}

func (s *svg) stroke(o *strokes) {
	s.b = append(s.b, `<path fill="none" stroke-linejoin="round"`...)
	s.color("stroke", o.color)
	s.b = append(s.b, ` stroke-width="`...)
	s.b = append(strconv.AppendFloat(s.b, math.Round(o.width*100)/100, 'f', -1, 64), '"')
	if o.dash != nil {
		s.b = append(s.b, ` stroke-dasharray="`...)
		for i, v := range o.dash {
			if i > 0 {
				s.b = append(s.b, ' ')
			}
			s.b = strconv.AppendFloat(s.b, math.Round(v*100)/100, 'f', -1, 64)
		}
		s.b = append(s.b, '"')
	}
	s.b = append(s.b, ` d="`...)
	for i, l := range o.lines {
		if o.closed[i] {
			l = l[:len(l)-1]
		}
		s.path(l, o.closed[i])
	}
	s.b = append(s.b, `"/>`...)
}

func (s *svg) text(t *text) {
	s.b = append(s.b, "<text"...)
	s.color("fill", t.color)
	s.b = append(s.b, ` font-size="`...)
	s.b = append(strconv.AppendFloat(s.b, math.Round(t.size*10)/10, 'f', -1, 64), '"')
	if t.bold {
		s.b = append(s.b, ` font-weight="bold"`...)
	}
	if t.spacing != 0 {
		s.b = append(s.b, ` letter-spacing="`...)
		s.b = append(strconv.AppendFloat(s.b, math.Round(t.spacing*10)/10, 'f', -1, 64), '"')
	}
	if t.haloWidth > 0 && t.halo.A > 0 {
		s.color("stroke", t.halo)
		s.b = append(s.b, ` paint-order="stroke" stroke-linejoin="round" stroke-width="`...)
		s.b = append(strconv.AppendFloat(s.b, math.Round(t.haloWidth*20)/10, 'f', -1, 64), '"')
	}
	s.b = append(s.b, ` text-anchor="middle">`...)
	for i := range t.lines {
		l := &t.lines[i]
		s.b = append(s.b, `<tspan x="`...)
		s.number(tenths(l.at.X + float32(l.width/2)))
		s.b = append(s.b, `" y="`...)
		s.number(tenths(l.at.Y))
		s.b = append(append(append(s.b, `">`...), escaped(l.text)...), "</tspan>"...)
	}
	s.b = append(s.b, "</text>"...)
}
