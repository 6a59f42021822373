package server

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/paulmach/orb"
	cutting "github.com/paulmach/orb/clip"
	"github.com/paulmach/orb/simplify"
)

// outline is what maps keep of a feature: its lines in the plane of the map, simplified far below a pixel of any map that shows it
// whole. It is immutable.
type outline struct {
	title  string
	rings  []orb.Ring // of all its areas, outer and inner ones; filled by the even-odd rule
	lines  []orb.LineString
	points []orb.Point
	bound  orb.Bound
}

// fineness is how many times finer than the size of its largest part the outline of a feature is.
const fineness = 1500

// newOutline takes the outline of a geometry, which may be nil; project takes positions to the plane. Positions that are no numbers
// afterwards are left out.
func newOutline(title string, g orb.Geometry, project func(x, y float64) (float64, float64)) *outline {
	o := &outline{title: title, bound: emptyBound}
	o.add(g, project)
	size := 0.0 // of a part, since the box of parts on both sides of the antimeridian spans the world
	for _, r := range o.rings {
		size = max(size, extentOfPart(r.Bound()))
	}
	for _, l := range o.lines {
		size = max(size, extentOfPart(l.Bound()))
	}
	tol := size / fineness
	if !(tol > 0) {
		return o
	}
	dp := simplify.DouglasPeucker(tol)
	kept, largest := o.rings[:0], o.largest()
	for i, r := range o.rings {
		b := r.Bound()
		if i == largest || b.Max[0]-b.Min[0] > tol || b.Max[1]-b.Min[1] > tol {
			kept = append(kept, slices.Clone(dp.Ring(r)))
		}
	}
	o.rings = kept
	for i, l := range o.lines {
		o.lines[i] = slices.Clone(dp.LineString(l))
	}
	return o
}

func extentOfPart(b orb.Bound) float64 { return max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]) }

var emptyBound = orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}

func (o *outline) empty() bool { return o.bound.Min[0] > o.bound.Max[0] }

// size is about how much memory the outline takes, in bytes.
func (o *outline) size() int {
	n := 200 + len(o.title) + 16*len(o.points)
	for _, r := range o.rings {
		n += 24 + 16*len(r)
	}
	for _, l := range o.lines {
		n += 24 + 16*len(l)
	}
	return n
}

// largest is the index of the ring with the largest box; -1 when there is none.
func (o *outline) largest() int {
	best, most := -1, -1.0
	for i, r := range o.rings {
		b := r.Bound()
		if a := (b.Max[0] - b.Min[0]) * (b.Max[1] - b.Min[1]); a > most {
			best, most = i, a
		}
	}
	return best
}

func (o *outline) add(g orb.Geometry, project func(x, y float64) (float64, float64)) {
	path := func(ps []orb.Point) []orb.Point {
		out := make([]orb.Point, 0, len(ps))
		for _, p := range ps {
			x, y := project(p[0], p[1])
			if math.IsNaN(x+y) || math.IsInf(x+y, 0) {
				continue
			}
			out = append(out, orb.Point{x, y})
			o.bound = o.bound.Extend(orb.Point{x, y})
		}
		return out
	}
	switch g := g.(type) {
	case orb.Point:
		o.points = append(o.points, path([]orb.Point{g})...)
	case orb.MultiPoint:
		o.points = append(o.points, path(g)...)
	case orb.LineString:
		if l := path(g); len(l) > 0 {
			o.lines = append(o.lines, l)
		}
	case orb.MultiLineString:
		for _, l := range g {
			o.add(l, project)
		}
	case orb.Polygon:
		for _, r := range g {
			if p := path(r); len(p) > 0 {
				o.rings = append(o.rings, p)
			}
		}
	case orb.MultiPolygon:
		for _, p := range g {
			o.add(p, project)
		}
	case orb.Collection:
		for _, x := range g {
			o.add(x, project)
		}
	}
}

// mark is a feature on a map.
type mark struct {
	*outline
	href string // "" for no link
	near bool   // surroundings: grey, without label
}

// picture is a map before it is drawn. Coordinates are degrees (longitude, latitude) or metres of a projection.
type picture struct {
	degrees bool
	text    string // the text equivalent
	marks   []mark
	box     *orb.Bound // an extent to draw; nil: none
	tiles   []gridTile // a grid over the features
	labels  bool
	lookup  bool // the same links stand beside the map: they are no stops of the keyboard
}

// gridTile is a tile with what is written into it.
type gridTile struct {
	bound orb.Bound
	name  string
}

const (
	mapWidth  = 960 // of the widest map, in units of its picture
	mapHeight = 1100
	mapMargin = 14
	mapBudget = 58 << 10 // bytes of the SVG, at most
	labelSize = 26       // height of a label, in units
	labelMost = 60       // labels, at most
)

// svg draws the map in at most mapBudget bytes; "" when there is nothing to show. It needs no script and no style: classes are those of
// the style sheet.
func (p *picture) svg() template.HTML {
	d, ok := p.plan()
	if !ok {
		return ""
	}
	for tol := 1.0; tol < 500; tol *= 1.5 {
		if d.draw(p, tol); len(d.b) <= mapBudget {
			return template.HTML(d.b)
		}
		if tol > 3 && d.links { // too many features to name
			d.links, tol = false, 1/1.5
		}
	}
	return ""
}

// drawing is the way from the plane to the picture, and the bytes.
type drawing struct {
	view          orb.Bound
	kx, ky        float64 // units of the picture for one of the plane
	width, height int
	shift         float64 // parts west of it are shown 360 degrees further east; NaN: none are
	links         bool
	b             []byte
}

// plan fits the map around what it shows: the features, or without any the box.
func (p *picture) plan() (*drawing, bool) {
	d := &drawing{view: emptyBound, shift: math.NaN()}
	if p.degrees {
		d.shift = p.cut()
	}
	for _, m := range p.marks {
		d.links = d.links || m.href != ""
		if !m.near && !m.empty() {
			p.extend(d, m.outline)
		}
	}
	if p.box != nil && (p.box.Min[0] <= p.box.Max[0]) {
		d.view = d.view.Union(*p.box)
	}
	if d.view.Min[0] > d.view.Max[0] {
		return nil, false
	}
	least := 20000.0
	if p.degrees {
		least = 0.2
	}
	grow := max(d.view.Max[0]-d.view.Min[0], d.view.Max[1]-d.view.Min[1]) * .02
	if slices.ContainsFunc(p.marks, func(m mark) bool { return m.near }) {
		grow *= 5 // room for the surroundings
	}
	if d.view.Max[0]-d.view.Min[0]+d.view.Max[1]-d.view.Min[1] < least*1e-5 {
		grow = least / 2 // a point
	}
	d.view = d.view.Pad(grow)
	squeeze := 1.0
	if p.degrees {
		squeeze = max(math.Cos(d.view.Center()[1]*math.Pi/180), .1)
	}
	w, h := (d.view.Max[0]-d.view.Min[0])*squeeze, d.view.Max[1]-d.view.Min[1]
	k := min((mapWidth-2*mapMargin)/w, (mapHeight-2*mapMargin)/h)
	d.kx, d.ky = k*squeeze, k
	d.width, d.height = int(w*k)+2*mapMargin, max(int(h*k)+2*mapMargin, 120)
	return d, true
}

// extend widens the view by an outline.
func (p *picture) extend(d *drawing, o *outline) {
	if math.IsNaN(d.shift) {
		d.view = d.view.Union(o.bound)
		return
	}
	for _, r := range o.rings {
		d.view = d.view.Union(moved(r, d.shift).Bound())
	}
	for _, l := range o.lines {
		d.view = d.view.Union(orb.Ring(moved(orb.Ring(l), d.shift)).Bound())
	}
	for _, q := range o.points {
		d.view = d.view.Union(moved(orb.Ring{q}, d.shift).Bound())
	}
}

// cut finds where a map that crosses the antimeridian starts: the end of the widest range of longitudes that nothing lies in. NaN
// when the usual start is as good: the features shall fit into half of the width then.
func (p *picture) cut() float64 {
	type span struct{ from, to float64 }
	var spans []span
	add := func(b orb.Bound) { spans = append(spans, span{b.Min[0], b.Max[0]}) }
	for _, m := range p.marks {
		if m.near {
			continue
		}
		for _, r := range m.rings {
			add(r.Bound())
		}
		for _, l := range m.lines {
			add(l.Bound())
		}
		for _, q := range m.points {
			add(q.Bound())
		}
	}
	if len(spans) < 2 {
		return math.NaN()
	}
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.from < b.from:
			return -1
		case a.from > b.from:
			return 1
		}
		return 0
	})
	start, widest, reach := 0.0, 0.0, spans[0].to
	for _, s := range spans[1:] {
		if gap := s.from - reach; gap > widest {
			start, widest = s.from, gap
		}
		reach = max(reach, s.to)
	}
	if full := reach - spans[0].from; 360-widest > full/2 {
		return math.NaN()
	}
	return start
}

// moved shifts a part that lies west of where the map starts by a turn; NaN shifts nothing.
func moved(r orb.Ring, start float64) orb.Ring {
	if !(r.Bound().Max[0] < start) {
		return r
	}
	out := make(orb.Ring, len(r))
	for i, p := range r {
		out[i] = orb.Point{p[0] + 360, p[1]}
	}
	return out
}

// xy takes a position to the picture.
func (d *drawing) xy(p orb.Point) orb.Point {
	return orb.Point{mapMargin + (p[0]-d.view.Min[0])*d.kx, mapMargin + (d.view.Max[1]-p[1])*d.ky}
}

// draw writes the picture; what is smaller than tol units is left out.
func (d *drawing) draw(p *picture, tol float64) {
	linked := d.links
	role := `role="img"`
	if linked {
		role = `role="group"`
	}
	d.b = append(d.b[:0], `<svg class="map" viewBox="0 0 `...)
	d.int(d.width)
	d.b = append(d.b, ' ')
	d.int(d.height)
	d.b = append(append(append(d.b, `" `...), role...), ` aria-label="`...)
	d.b = append(append(d.b, template.HTMLEscapeString(p.text)...), `">`...)
	for _, group := range []struct {
		class string
		near  bool
	}{{"near", true}, {"here", false}} {
		d.b = append(append(append(d.b, `<g class="`...), group.class...), `">`...)
		for _, m := range p.marks {
			if m.near == group.near {
				d.feature(&m, tol, p.lookup)
			}
		}
		d.b = append(d.b, "</g>"...)
	}
	if p.box != nil {
		a, c := d.xy(orb.Point{p.box.Min[0], p.box.Max[1]}), d.xy(orb.Point{p.box.Max[0], p.box.Min[1]})
		d.b = append(d.b, `<path class="box" d="`...)
		d.path(orb.Ring{a, {c[0], a[1]}, c, {a[0], c[1]}, a}, true)
		d.b = append(d.b, `"/>`...)
	}
	d.grid(p.tiles)
	if p.labels {
		d.labels(p)
	}
	d.scale(p.degrees)
	d.b = append(d.b, "</svg>"...)
}

// grid draws tiles, each with its name in the middle.
func (d *drawing) grid(tiles []gridTile) {
	for _, t := range tiles {
		a, c := d.xy(orb.Point{t.bound.Min[0], t.bound.Max[1]}), d.xy(orb.Point{t.bound.Max[0], t.bound.Min[1]})
		d.b = append(d.b, `<path class="tile" d="`...)
		d.path(orb.Ring{a, {c[0], a[1]}, c, {a[0], c[1]}, a}, true)
		d.b = append(d.b, `"/><text class="tile" x="`...)
		d.int(int((a[0] + c[0]) / 2))
		d.b = append(d.b, `" y="`...)
		d.int(int((a[1] + c[1]) / 2))
		d.b = append(append(append(d.b, `">`...), template.HTMLEscapeString(t.name)...), "</text>"...)
	}
}

// feature writes one feature, with a link where it has one.
func (d *drawing) feature(m *mark, tol float64, lookup bool) {
	if m.empty() {
		return
	}
	start := len(d.b)
	linked := d.links && m.href != ""
	if linked {
		d.b = append(append(d.b, `<a href="`...), template.HTMLEscapeString(m.href)...)
		if lookup {
			d.b = append(d.b, `" tabindex="-1`...)
		}
		d.b = append(append(append(d.b, `"><title>`...), template.HTMLEscapeString(m.title)...), `</title>`...)
	}
	some := d.areas(m, tol)
	some = d.strokes(m, tol) || some
	some = d.dots(m, tol) || some
	if !some {
		d.b = d.b[:start]
	} else if linked {
		d.b = append(d.b, "</a>"...)
	}
}

// frame is the picture with a little around it, to which surroundings are cut.
func (d *drawing) frame() orb.Bound {
	return orb.Bound{Min: orb.Point{-9, -9}, Max: orb.Point{float64(d.width + 9), float64(d.height + 9)}}
}

func (d *drawing) areas(m *mark, tol float64) bool {
	if len(m.rings) == 0 {
		return false
	}
	start := len(d.b)
	d.b = append(d.b, `<path d="`...)
	begin, largest := len(d.b), m.largest()
	for i, r := range m.rings {
		px := d.points(moved(r, d.shift))
		if m.near {
			if px = cutting.Ring(d.frame(), px); len(px) == 0 {
				continue
			}
		}
		b := orb.Ring(px).Bound()
		small := b.Max[0]-b.Min[0] < 2*tol && b.Max[1]-b.Min[1] < 2*tol
		if small && (i != largest || m.near) {
			continue
		}
		px = simplify.DouglasPeucker(tol / 2).Ring(px)
		if !d.path(px, true) && i == largest {
			c := b.Center()
			d.path(orb.Ring{{c[0] - 2, c[1] - 2}, {c[0] + 2, c[1] - 2}, {c[0] + 2, c[1] + 2}, {c[0] - 2, c[1] + 2}}, true)
		}
	}
	return d.closePath(start, begin)
}

func (d *drawing) strokes(m *mark, tol float64) bool {
	if len(m.lines) == 0 {
		return false
	}
	start := len(d.b)
	d.b = append(d.b, `<path class="line" d="`...)
	begin := len(d.b)
	for i, l := range m.lines {
		px := d.points(moved(orb.Ring(l), d.shift))
		b := px.Bound()
		if b.Max[0]-b.Min[0] < 2*tol && b.Max[1]-b.Min[1] < 2*tol {
			if i == 0 && !m.near {
				d.dot(b.Center())
			}
			continue
		}
		d.path(orb.Ring(simplify.DouglasPeucker(tol/2).LineString(orb.LineString(px))), false)
	}
	return d.closePath(start, begin)
}

func (d *drawing) dots(m *mark, tol float64) bool {
	if len(m.points) == 0 {
		return false
	}
	start := len(d.b)
	d.b = append(d.b, `<path class="point" d="`...)
	begin := len(d.b)
	seen := map[[2]int]bool{}
	for _, q := range d.points(moved(orb.Ring(m.points), d.shift)) {
		cell := [2]int{int(q[0] / tol), int(q[1] / tol)}
		if !seen[cell] && d.frame().Contains(q) {
			seen[cell] = true
			d.dot(q)
		}
	}
	return d.closePath(start, begin)
}

// closePath ends a path that began at begin; a path without content goes, from start on.
func (d *drawing) closePath(start, begin int) bool {
	if len(d.b) == begin {
		d.b = d.b[:start]
		return false
	}
	d.b = append(d.b, `"/>`...)
	return true
}

// points takes positions to the picture; the caller owns the result.
func (d *drawing) points(ps orb.Ring) orb.Ring {
	out := make(orb.Ring, len(ps))
	for i, p := range ps {
		out[i] = d.xy(p)
	}
	return out
}

func (d *drawing) dot(p orb.Point) {
	d.b = append(d.b, 'M')
	d.pair(int(math.Round(p[0])), int(math.Round(p[1])))
	d.b = append(d.b, "h0"...)
}

// path writes a line, or a ring, in whole units: the first position, then steps. False when nothing is left of it.
func (d *drawing) path(ps orb.Ring, closed bool) bool {
	start, n := len(d.b), 0
	var x, y int
	if closed && len(ps) > 1 && ps[0] == ps[len(ps)-1] {
		ps = ps[:len(ps)-1]
	}
	for i, p := range ps {
		px, py := int(math.Round(p[0])), int(math.Round(p[1]))
		switch {
		case i == 0:
			d.b = append(d.b, 'M')
			d.pair(px, py)
		case px == x && py == y:
			continue
		default:
			if n == 1 {
				d.b = append(d.b, 'l')
			} else if px >= x {
				d.b = append(d.b, ' ')
			}
			d.pair(px-x, py-y)
		}
		x, y = px, py
		n++
	}
	if n < 2 || closed && n < 3 {
		d.b = d.b[:start]
		return false
	}
	if closed {
		d.b = append(d.b, 'z')
	}
	return true
}

func (d *drawing) pair(x, y int) {
	d.int(x)
	if y >= 0 {
		d.b = append(d.b, ' ')
	}
	d.int(y)
}

func (d *drawing) int(n int) { d.b = strconv.AppendInt(d.b, int64(n), 10) }

// labels writes the names of features where they cover neither each other nor leave the picture, those of large features first.
func (d *drawing) labels(p *picture) {
	type label struct {
		text   string
		at     orb.Point
		room   float64 // width of the feature
		beside bool
	}
	var all []label
	count := 0
	for _, m := range p.marks {
		if m.near || m.title == "" || m.empty() {
			continue
		}
		count++
		l := label{text: shortName(m.title)}
		if i := m.largest(); i >= 0 {
			px := d.points(moved(m.rings[i], d.shift))
			b := px.Bound()
			l.at, l.room = inside(px), b.Max[0]-b.Min[0]
		} else if len(m.points) > 0 {
			l.at, l.beside = d.points(moved(orb.Ring(m.points[:1]), d.shift))[0], true
		} else if l0 := m.lines[0]; len(l0) > 0 {
			l.at, l.beside = d.points(moved(orb.Ring(l0), d.shift))[len(l0)/2], true
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b label) int { return int(math.Round(b.room - a.room)) })
	var taken []orb.Bound
	d.b = append(d.b, `<g class="names" aria-hidden="true">`...)
	for _, l := range all {
		w := .58 * labelSize * float64(utf8.RuneCountInString(l.text))
		if len(taken) == labelMost || !l.beside && count > 20 && w > 1.3*l.room {
			continue
		}
		left := l.at[0] - w/2
		if l.beside {
			if left = l.at[0] + 12; left+w > float64(d.width)-4 {
				left = l.at[0] - 12 - w
			}
		} else {
			left = min(max(left, 4), float64(d.width)-4-w)
		}
		box := orb.Bound{Min: orb.Point{left - 4, l.at[1] - labelSize/2 - 2}, Max: orb.Point{left + w + 4, l.at[1] + labelSize/2 + 2}}
		if box.Min[0] < 0 || box.Min[1] < 0 || box.Max[0] > float64(d.width) || box.Max[1] > float64(d.height)-50 || slices.ContainsFunc(taken, box.Intersects) {
			continue
		}
		taken = append(taken, box)
		d.b = append(d.b, `<text x="`...)
		d.int(int(math.Round(left + w/2)))
		d.b = append(d.b, `" y="`...)
		d.int(int(math.Round(l.at[1] + labelSize/3.)))
		d.b = append(append(append(d.b, `">`...), template.HTMLEscapeString(l.text)...), "</text>"...)
	}
	d.b = append(d.b, "</g>"...)
}

// shortName is the first of the names that a title joins, cut to what fits on a map.
func shortName(s string) string {
	s, _, _ = strings.Cut(s, " - ")
	if r := []rune(s); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return s
}

// inside is a position in a ring with room to both sides: the middle of the longest piece of a few level lines that lies in it.
func inside(r orb.Ring) orb.Point {
	b := r.Bound()
	at, most := b.Center(), -1.0
	for _, part := range []float64{.5, .4, .6, .3, .7} {
		y := b.Min[1] + part*(b.Max[1]-b.Min[1])
		var xs []float64
		for i := range r {
			p, q := r[i], r[(i+1)%len(r)]
			if (p[1] > y) != (q[1] > y) {
				xs = append(xs, p[0]+(y-p[1])*(q[0]-p[0])/(q[1]-p[1]))
			}
		}
		slices.Sort(xs)
		for i := 0; i+1 < len(xs); i += 2 {
			if w := xs[i+1] - xs[i]; w > 1.15*most {
				at, most = orb.Point{(xs[i] + xs[i+1]) / 2, y}, w
			}
		}
	}
	return at
}

// metresPerDegree along a meridian, about.
const metresPerDegree = 111320

// scale writes a bar of a round length; none where the scale varies much over the map.
func (d *drawing) scale(degrees bool) {
	unit := 1 / d.kx // metres
	if degrees {
		if d.view.Max[1]-d.view.Min[1] > 25 {
			return
		}
		unit = metresPerDegree / d.ky
	}
	most := unit * min(float64(d.width)/4, 260)
	length := math.Pow(10, math.Floor(math.Log10(most)))
	for _, f := range []float64{5, 2} {
		if f*length <= most {
			length *= f
			break
		}
	}
	text := strconv.FormatFloat(length, 'f', -1, 64) + " m"
	if length >= 1000 {
		text = strconv.FormatFloat(length/1000, 'f', -1, 64) + " km"
	}
	w, y := int(math.Round(length/unit)), d.height-14
	d.b = append(d.b, `<g class="scale" aria-hidden="true"><path d="M`...)
	d.pair(mapMargin, y-8)
	d.b = append(d.b, "v8h"...)
	d.int(w)
	d.b = append(d.b, `v-8"/><text x="`...)
	d.int(mapMargin + w + 10)
	d.b = append(d.b, `" y="`...)
	d.int(y)
	d.b = append(append(append(d.b, `">`...), text...), "</text></g>"...)
}
