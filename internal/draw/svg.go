package draw

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"
	cutting "github.com/paulmach/orb/clip"
	"github.com/paulmach/orb/simplify"
)

// Mark is a feature on a map.
type Mark struct {
	*Outline
	Foreign string // language of the title if it is not the page's, a BCP 47 tag; else ""
	Href    string // "": no link
	Near    bool   // in the surroundings: grey, without label
	First   bool   // its label has priority over those of larger features
}

// Bound returns the box around marks, in the plane of their outlines; without marks it is empty (Min above Max).
func Bound(marks []Mark) orb.Bound {
	b := emptyBound
	for _, m := range marks {
		b = b.Union(m.bound)
	}
	return b
}

// Picture describes a map. Coordinates are degrees (longitude, latitude) or metres of a projection (east, north).
type Picture struct {
	Degrees bool
	Text    string // alternative text
	Lang    string // language of the page: nb, nn or en
	Marks   []Mark
	Box     *orb.Bound // extent to draw; nil: none
	Tiles   []Tile     // grid over the features
	Around  bool       // also label the surroundings
	Labels  bool

	DegreeGrid bool // draw labelled lines of whole degrees around Box, for maps in degrees
	Lookup     bool // the page has the same links next to the map, so they are not tab stops
	Bare       bool // the background is not sea, since the coast is unknown
}

// Tile is a tile with its label.
type Tile struct {
	Bound orb.Bound
	Name  string
}

// Budget is the largest size of a map's SVG in bytes.
const Budget = 58 << 10

const (
	mapWidth   = 960 // width of the widest map, in units of the picture
	mapHeight  = 1100
	mapMargin  = 14
	labelSize  = 30  // height of a label in units
	narrowSize = 36  // the same on narrow screens, which have labels of their own
	labelMost  = 60  // largest number of labels
	scaleMost  = 260 // largest length of the scale bar
)

// SVG returns the map in at most Budget bytes; "" if there is nothing to show. It contains neither script nor style;
// its classes are those of the style sheet.
func (p *Picture) SVG() template.HTML {
	d, ok := p.plan()
	if !ok {
		return ""
	}
	for tol := 1.0; tol < 500; tol *= 1.5 {
		if d.draw(p, tol); len(d.b) <= Budget {
			return template.HTML(d.b)
		}
		if tol > 3 && d.links { // too many features for labels
			d.links, tol = false, 1/1.5
		}
	}
	return ""
}

// drawing is a map in progress: the transformation from the plane to the picture, and the bytes.
type drawing struct {
	view          orb.Bound
	kx, ky        float64 // units of the picture for each unit of the plane
	width, height int
	shift         float64 // parts west of it are shown 360° further east; NaN: none
	links         bool
	stop          bool // a link that is a tab stop has been written
	b             []byte
	px            orb.Ring // buffer for rings in pixels
	names         []*label // set by the first use
	land          []orb.Ring
}

// plan fits the map to the features or, without features, to the box.
func (p *Picture) plan() (*drawing, bool) {
	d := &drawing{view: emptyBound, shift: math.NaN()}
	if p.Degrees {
		d.shift = p.cut()
	}
	for _, m := range p.Marks {
		d.links = d.links || m.Href != ""
		if !m.Near && !m.Empty() {
			p.extend(d, m.Outline)
		}
	}
	if p.Box != nil && (p.Box.Min[0] <= p.Box.Max[0]) {
		d.view = d.view.Union(*p.Box)
	}
	if d.view.Min[0] > d.view.Max[0] {
		return nil, false
	}
	least := 20000.0
	if p.Degrees {
		least = 0.2
	}
	size := max(d.view.Max[0]-d.view.Min[0], d.view.Max[1]-d.view.Min[1])
	grow := size * .02
	if slices.ContainsFunc(p.Marks, func(m Mark) bool { return m.Near }) {
		grow *= 5 // includes some surroundings
	}
	if p.any(false, func(m Mark) bool { return len(m.points) > 0 }) {
		grow = max(grow, size*.18) // so that no point lies under the buttons in the corner
	}
	if p.DegreeGrid {
		grow = max(grow*12, least)
	}
	switch {
	// a map of a single place
	case p.Box == nil && size < least && !p.any(false, func(m Mark) bool { return len(m.rings)+len(m.lines) > 0 }):
		grow = max(grow, (least-size)/2)
		if p.any(true, func(m Mark) bool { return len(m.rings) > 0 }) {
			grow *= 8 // so that parts of the areas around it are visible
		}
	case size < least*1e-5:
		grow = least / 2
	}
	d.view = d.view.Pad(grow)
	squeeze := 1.0
	if p.Degrees {
		squeeze = max(math.Cos(d.view.Center()[1]*math.Pi/180), .1)
	}
	w, h := (d.view.Max[0]-d.view.Min[0])*squeeze, d.view.Max[1]-d.view.Min[1]
	k := min((mapWidth-2*mapMargin)/w, (mapHeight-2*mapMargin)/h)
	d.kx, d.ky = k*squeeze, k
	d.width, d.height = int(w*k)+2*mapMargin, max(int(h*k)+2*mapMargin, 120)
	return d, true
}

// any reports whether f is true for a feature or, with near, for one of the surroundings.
func (p *Picture) any(near bool, f func(Mark) bool) bool {
	return slices.ContainsFunc(p.Marks, func(m Mark) bool { return m.Near == near && f(m) })
}

// extend extends the bounds of the view by an outline.
func (p *Picture) extend(d *drawing, o *Outline) {
	if math.IsNaN(d.shift) {
		d.view = d.view.Union(o.bound)
		return
	}
	for _, b := range o.boxes {
		d.view = d.view.Union(movedBox(b, d.shift))
	}
	for _, l := range o.lines {
		d.view = d.view.Union(orb.Ring(moved(orb.Ring(l), d.shift)).Bound())
	}
	for _, q := range o.points {
		d.view = d.view.Union(moved(orb.Ring{q}, d.shift).Bound())
	}
}

// cut returns the longitude where a map that crosses the antimeridian begins: the end of the widest empty range of
// longitudes. It returns NaN if the features would not fit into half of the width then.
func (p *Picture) cut() float64 {
	type span struct{ from, to float64 }
	var spans []span
	add := func(b orb.Bound) { spans = append(spans, span{b.Min[0], b.Max[0]}) }
	for _, m := range p.Marks {
		if m.Near {
			continue
		}
		for _, b := range m.boxes {
			add(b)
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

// moved shifts a part that lies west of start by 360°; NaN shifts nothing.
func moved(r orb.Ring, start float64) orb.Ring {
	for _, p := range r {
		if !(p[0] < start) {
			return r
		}
	}
	out := make(orb.Ring, len(r))
	for i, p := range r {
		out[i] = orb.Point{p[0] + 360, p[1]}
	}
	return out
}

// movedBox is moved for a box.
func movedBox(b orb.Bound, start float64) orb.Bound {
	if b.Min[0] < start {
		b.Min[0], b.Max[0] = b.Min[0]+360, b.Max[0]+360
	}
	return b
}

// boxed transforms a box to the picture.
func (d *drawing) boxed(b orb.Bound) orb.Bound {
	b = movedBox(b, d.shift)
	a, c := d.xy(orb.Point{b.Min[0], b.Max[1]}), d.xy(orb.Point{b.Max[0], b.Min[1]})
	return orb.Bound{Min: a, Max: c}
}

// xy transforms a position to the picture.
func (d *drawing) xy(p orb.Point) orb.Point {
	return orb.Point{mapMargin + (p[0]-d.view.Min[0])*d.kx, mapMargin + (d.view.Max[1]-p[1])*d.ky}
}

// draw draws the picture, without details smaller than tol units.
func (d *drawing) draw(p *Picture, tol float64) {
	linked := d.links
	d.stop = false
	role := `role="img"`
	if linked {
		role = `role="group"`
	}
	d.b = append(d.b[:0], `<svg class="map`...)
	if p.Bare {
		d.b = append(d.b, ` bare`...)
	}
	d.b = append(d.b, `" width="`...)
	d.int(d.width)
	d.b = append(d.b, `" height="`...)
	d.int(d.height)
	d.b = append(d.b, `" viewBox="0 0 `...)
	d.int(d.width)
	d.b = append(d.b, ' ')
	d.int(d.height)
	d.b = append(append(append(d.b, `" `...), role...), ` aria-label="`...)
	d.b = append(append(d.b, template.HTMLEscapeString(p.Text)...), `">`...)
	for _, group := range []struct {
		class string
		near  bool
	}{{"near", true}, {"here", false}} {
		d.b = append(append(append(d.b, `<g class="`...), group.class...), `">`...)
		for _, m := range p.Marks {
			if m.Near == group.near {
				d.feature(&m, tol, p)
			}
		}
		d.b = append(d.b, "</g>"...)
	}
	if p.Box != nil {
		a, c := d.xy(orb.Point{p.Box.Min[0], p.Box.Max[1]}), d.xy(orb.Point{p.Box.Max[0], p.Box.Min[1]})
		d.b = append(d.b, `<path class="box" d="`...)
		d.path(orb.Ring{a, {c[0], a[1]}, c, {a[0], c[1]}, a}, true)
		d.b = append(d.b, `"/>`...)
	}
	d.grid(p.Tiles)
	if p.DegreeGrid {
		d.degrees(p.Lang)
	}
	if p.Labels {
		d.labels(p, labelSize, "names")
		d.labels(p, narrowSize, "names narrow")
	}
	if !p.DegreeGrid {
		d.scale(p.Degrees)
	}
	d.b = append(d.b, "</svg>"...)
}

// grid draws tiles with their labels.
func (d *drawing) grid(tiles []Tile) {
	for _, t := range tiles {
		a, c := d.xy(orb.Point{t.Bound.Min[0], t.Bound.Max[1]}), d.xy(orb.Point{t.Bound.Max[0], t.Bound.Min[1]})
		d.b = append(d.b, `<path class="tile" d="`...)
		d.path(orb.Ring{a, {c[0], a[1]}, c, {a[0], c[1]}, a}, true)
		// the centre of the visible part
		x, y := (max(a[0], 0)+min(c[0], float64(d.width)))/2, (max(a[1], 0)+min(c[1], float64(d.height)))/2
		d.b = append(d.b, `"/>`...)
		if min(c[0], float64(d.width))-max(a[0], 0) < 3*labelSize ||
			min(c[1], float64(d.height))-max(a[1], 0) < 2*labelSize {
			continue
		}
		d.b = append(d.b, `<text class="tile" x="`...)
		d.int(int(x))
		d.b = append(d.b, `" y="`...)
		d.int(int(y))
		d.b = append(append(append(d.b, `">`...), template.HTMLEscapeString(t.Name)...), "</text>"...)
	}
}

// degrees draws meridians and parallels of round degrees, with labels at the lower and left edges.
func (d *drawing) degrees(lang string) {
	east, west, north, south := "Ø", "V", "N", "S"
	switch lang {
	case "nn":
		east = "A"
	case "en":
		east, west = "E", "W"
	}
	name := func(v float64, plus, minus string) string {
		switch v = math.Round(v*100) / 100; {
		case v < 0:
			return decimal(-v, lang) + "°\u00a0" + minus
		case v > 0:
			return decimal(v, lang) + "°\u00a0" + plus
		}
		return "0°"
	}
	line := func(a, b orb.Point, text string, x, y float64) {
		d.b = append(d.b, `<path class="tile" d="`...)
		d.path(orb.Ring{a, b}, false)
		d.b = append(d.b, `"/><text class="degree" x="`...)
		d.int(int(x))
		d.b = append(d.b, `" y="`...)
		d.int(int(y))
		d.b = append(append(append(d.b, `">`...), text...), "</text>"...)
	}
	step := 60.0
	for _, s := range []float64{30, 10, 5, 2, 1, .5, .2, .1, .05, .02, .01} {
		if s*d.kx < 5*labelSize {
			break
		}
		step = s
	}
	w, h := float64(d.width), float64(d.height)
	for x := math.Ceil(max(d.view.Min[0], -180)/step) * step; x <= min(d.view.Max[0], 180); x += step {
		at := d.xy(orb.Point{x, 0})[0]
		line(orb.Point{at, 0}, orb.Point{at, h}, name(x, east, west), at+6, h-8)
	}
	for y := math.Ceil(max(d.view.Min[1], -90)/step) * step; y <= min(d.view.Max[1], 90); y += step {
		at := d.xy(orb.Point{0, y})[1]
		if at > h-2*labelSize { // the labels of the meridians are there
			continue
		}
		line(orb.Point{0, at}, orb.Point{w, at}, name(y, north, south), 6, at-6)
	}
}

// decimal formats a number below 1000 with the decimal separator of the language.
func decimal(v float64, lang string) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if lang == "en" {
		return s
	}
	return strings.Replace(s, ".", ",", 1)
}

// feature draws a feature, within a link if it has one.
func (d *drawing) feature(m *Mark, tol float64, p *Picture) {
	if m.Empty() {
		return
	}
	start := len(d.b)
	linked := d.links && m.Href != ""
	if linked {
		d.b = append(append(d.b, `<a href="`...), template.HTMLEscapeString(m.Href)...)
		if p.Lookup || d.stop { // a map is a single tab stop
			d.b = append(d.b, `" tabindex="-1`...)
		}
		d.stop = true
		if m.Foreign != "" {
			d.b = append(append(d.b, `" lang="`...), template.HTMLEscapeString(m.Foreign)...)
		}
		d.b = append(append(append(d.b, `"><title>`...), template.HTMLEscapeString(m.Title)...), `</title>`...)
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

// frame returns the picture with a margin, to which surroundings are clipped.
func (d *drawing) frame() orb.Bound {
	return orb.Bound{Min: orb.Point{-9, -9}, Max: orb.Point{float64(d.width + 9), float64(d.height + 9)}}
}

func (d *drawing) areas(m *Mark, tol float64) bool {
	if len(m.rings) == 0 {
		return false
	}
	start := len(d.b)
	d.b = append(d.b, `<path d="`...)
	begin, largest := len(d.b), m.top
	small := func(b orb.Bound) bool { return b.Max[0]-b.Min[0] < 2*tol && b.Max[1]-b.Min[1] < 2*tol }
	for i, r := range m.rings {
		b := d.boxed(m.boxes[i])
		f := d.frame()
		cut := m.Near && !(f.Contains(b.Min) && f.Contains(b.Max))
		if cut && !f.Intersects(b) || !cut && small(b) && (i != largest || m.Near) {
			continue
		}
		d.px = d.appendPoints(d.px[:0], moved(r, d.shift))
		px := d.px
		if cut {
			if px = cutting.Ring(f, px); len(px) == 0 {
				continue
			}
			if b = px.Bound(); small(b) {
				continue
			}
		}
		if m.shared {
			coarse(px, tol)
		} else {
			px = simplify.DouglasPeucker(tol / 2).Ring(px)
		}
		if !d.path(px, true) && i == largest {
			c := b.Center()
			d.path(orb.Ring{{c[0] - 2, c[1] - 2}, {c[0] + 2, c[1] - 2}, {c[0] + 2, c[1] + 2}, {c[0] - 2, c[1] + 2}},
				true)
		}
	}
	if m.Color > 0 && !m.Near && len(d.b) > begin {
		d.b = append(append(d.b, `" class="a`...), byte('0'+m.Color-1))
	}
	return d.closePath(start, begin)
}

// coarse snaps positions to a grid of width tol in whole units, equally on both sides of a border.
func coarse(ps orb.Ring, tol float64) {
	step := math.Floor(tol)
	if step == 1 { // path rounds the same way
		return
	}
	for i, p := range ps {
		ps[i] = orb.Point{math.Round(p[0]/step) * step, math.Round(p[1]/step) * step}
	}
}

// Unit returns the approximate width of a unit of the picture of an area, in units of the plane.
func Unit(area orb.Bound, degrees bool) float64 {
	return unitIn(area, degrees, mapWidth-2*mapMargin, mapHeight-2*mapMargin)
}

// unitIn is Unit for a picture of a given size.
func unitIn(area orb.Bound, degrees bool, width, height float64) float64 {
	w, h := area.Max[0]-area.Min[0], area.Max[1]-area.Min[1]
	if degrees {
		w *= max(math.Cos(area.Center()[1]*math.Pi/180), .1)
	}
	return max(w/width, h/height)
}

func (d *drawing) strokes(m *Mark, tol float64) bool {
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
			if i == 0 && !m.Near {
				d.dot(b.Center())
			}
			continue
		}
		d.path(orb.Ring(simplify.DouglasPeucker(tol/2).LineString(orb.LineString(px))), false)
	}
	return d.closePath(start, begin)
}

func (d *drawing) dots(m *Mark, tol float64) bool {
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

// closePath ends a path whose data began at begin. It removes an empty path from start on and returns false.
func (d *drawing) closePath(start, begin int) bool {
	if len(d.b) == begin {
		d.b = d.b[:start]
		return false
	}
	d.b = append(d.b, `"/>`...)
	return true
}

// points transforms positions to the picture. The caller owns the result.
func (d *drawing) points(ps orb.Ring) orb.Ring {
	return d.appendPoints(make(orb.Ring, 0, len(ps)), ps)
}

func (d *drawing) appendPoints(dst, ps orb.Ring) orb.Ring {
	for _, p := range ps {
		dst = append(dst, d.xy(p))
	}
	return dst
}

func (d *drawing) dot(p orb.Point) {
	d.b = append(d.b, 'M')
	d.pair(int(math.Round(p[0])), int(math.Round(p[1])))
	d.b = append(d.b, "h0"...)
}

// path writes a line or ring in whole units: the first position, then relative steps. It returns false if nothing is
// left.
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

// metresPerDegree is the approximate length of a degree along a meridian.
const metresPerDegree = 111320

// scale draws a scale bar of a round length, unless the scale varies much over the map.
func (d *drawing) scale(degrees bool) {
	unit := 1 / d.kx // metres
	if degrees {
		if d.view.Max[1]-d.view.Min[1] > 25 {
			return
		}
		unit = metresPerDegree / d.ky
	}
	most := unit * min(float64(d.width)/4, scaleMost)
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
