package draw

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/paulmach/orb"
	cutting "github.com/paulmach/orb/clip"
	"github.com/paulmach/orb/planar"
	"github.com/paulmach/orb/simplify"
)

// crowd is the number of features above which a map shows labels that are wider than their features only for the
// largest ones.
const (
	crowd    = 20
	overMost = 30 // largest number of such labels on a crowded map
	over     = 17 // number of positions in around that lie over the feature

	leastLeader = 4.0 // shortest leader line in pixels; below that the label stands next to the feature
)

// label is the name of a feature. Lengths are in pixels.
type label struct {
	text   string
	at     orb.Point
	ring   orb.Ring // the largest part of an area
	room   float64  // width of the feature
	tall   float64  // height of the feature
	area   float64  // area of its largest part
	beside bool
	near   bool // the feature is in the surroundings
	first  bool // Mark.First
}

// labelsOf returns the labels of a map: first those with First, then those of large features, then, if requested, those
// of the surroundings.
func (d *drawing) labelsOf(p *Picture) (all []*label) {
	for _, m := range p.Marks {
		if m.Near && !p.Around || m.Title == "" || m.Empty() {
			continue
		}
		l := &label{text: shortName(m.Title), near: m.Near, first: m.First}
		if i := m.top; i >= 0 {
			if m.Near && !d.frame().Intersects(d.boxed(m.boxes[i])) {
				continue
			}
			px := d.points(moved(m.rings[i], d.shift))
			if m.Near { // the visible part of it
				if px = cutting.Ring(d.frame(), px); len(px) < 4 {
					continue
				}
			}
			b := px.Bound()
			l.at, l.ring, l.room, l.tall, l.area = inside(
				px,
				nil,
			), px, b.Max[0]-b.Min[0], b.Max[1]-b.Min[1], math.Abs(planar.Area(px))
		} else if len(m.points) > 0 {
			l.at, l.beside = d.points(moved(orb.Ring(m.points[:1]), d.shift))[0], true
		} else if l0 := m.lines[0]; len(l0) > 0 {
			l.at, l.beside = d.points(moved(orb.Ring(l0), d.shift))[len(l0)/2], true
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b *label) int {
		rank := func(l *label) int {
			switch {
			case l.near:
				return 2
			case l.first:
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.area, a.area))
	})
	return all
}

// labels draws labels of the height size without overlaps and within the picture: those with First come first, then
// those of large features. On a crowded map, labels wider than their features keep a distance from others. Otherwise a
// label without room at its feature stands apart with a leader line. If a label finds no place, it is tried before
// others.
func (d *drawing) labels(p *Picture, size float64, class string) {
	if d.names == nil {
		d.names = d.labelsOf(p)
		if len(d.names) <= crowd {
			d.land = d.landOf(p)
		}
	}
	d.b = append(d.b, `<g class="`...)
	d.b = append(append(d.b, class...), `" aria-hidden="true">`...)
	var best []byte
	names, from, least := d.names, len(d.b), len(d.names)
	for up := 1; ; up *= 2 {
		d.b = d.b[:from]
		missed := d.place(names, size)
		if best == nil || len(missed) < least {
			best, least = append(best[:0], d.b[from:]...), len(missed)
		}
		if least == 0 || len(names) > crowd || len(missed) > 2 || up > 4 {
			break
		}
		names = slices.Clone(d.names)
		for _, l := range missed {
			i := slices.Index(names, l)
			names = slices.Insert(slices.Delete(names, i, i+1), max(i-up, 0), l)
		}
	}
	d.b = append(append(d.b[:from], best...), "</g>"...)
}

// place draws labels in their order and returns those of features, not of surroundings, that find no place.
func (d *drawing) place(names []*label, size float64) (missed []*label) {
	q, wides := &placer{drawing: d, size: size, few: len(names) <= crowd}, 0
	for _, one := range names {
		l := *one
		w := .55 * size * float64(utf8.RuneCountInString(l.text))
		wide := !l.beside && !l.first && !q.few && w > 1.3*l.room
		if len(q.taken) == labelMost || wide && wides == overMost {
			continue
		}
		apart := 0.0
		if wide {
			apart = size
		}
		at, free := q.near(&l, w, apart)
		if !free && q.few && !l.beside && !l.near {
			at, free = q.apart(&l, w)
		}
		if !free {
			if !l.near {
				missed = append(missed, one)
			}
			continue
		}
		if b := q.box(at, w); q.few && !l.beside && !b.Pad(leastLeader).Contains(l.at) {
			end := nearest(b, l.at)
			d.b = append(d.b, `<path class="leader" d="`...)
			d.path(orb.Ring{l.at, end}, false)
			d.b = append(d.b, `"/>`...)
			q.lead(l.at, end)
		}
		if wide {
			wides++
		}
		q.taken = append(q.taken, q.box(at, w))
		d.name(&l, orb.Point{at[0], at[1] + size/3})
	}
	return missed
}

// name draws a label centred at a position on its baseline.
func (d *drawing) name(l *label, at orb.Point) {
	if d.b = append(d.b, "<text"...); l.near {
		d.b = append(d.b, ` class="quiet"`...)
	}
	d.b = append(d.b, ` x="`...)
	d.int(int(math.Round(at[0])))
	d.b = append(d.b, `" y="`...)
	d.int(int(math.Round(at[1])))
	d.b = append(append(append(d.b, `">`...), template.HTMLEscapeString(l.text)...), "</text>"...)
}

// placer finds free positions for labels. A position is the centre of a label.
type placer struct {
	*drawing
	size  float64
	few   bool // the map is not crowded: a label may stand next to its feature
	taken []orb.Bound
	lines [][2]orb.Point // leader lines
	along []orb.Bound    // boxes along the leader lines
}

// landOf returns the visible parts of areas, simplified, in pixels.
func (d *drawing) landOf(p *Picture) (out []orb.Ring) {
	dp := simplify.DouglasPeucker(3)
	for _, m := range p.Marks {
		for _, r := range m.rings {
			if px := dp.Ring(d.points(moved(r, d.shift))); len(px) > 3 {
				out = append(out, px)
			}
		}
	}
	return out
}

func (q *placer) box(at orb.Point, w float64) orb.Bound {
	return orb.Bound{
		Min: orb.Point{at[0] - w/2 - q.size/4, at[1] - q.size/2 - 2},
		Max: orb.Point{at[0] + w/2 + q.size/4, at[1] + q.size/2 + 2},
	}
}

// free reports whether a label of width w fits at a position, with a distance from other labels.
func (q *placer) free(at orb.Point, w, apart float64) bool {
	b, foot := q.box(at, w), float64(q.height)
	if b.Min[0] < mapMargin+scaleMost+4*q.size { // the scale bar
		foot -= 24 + q.size
	}
	corner := 95.0 // the buttons
	if q.size == narrowSize {
		corner = 128
	}
	if b.Min[0] < corner && b.Min[1] < corner {
		return false
	}
	return b.Min[0] >= 0 && b.Min[1] >= 0 && b.Max[0] <= float64(q.width) && b.Max[1] <= foot && !q.meets(b.Pad(apart))
}

// lead reserves the room of a leader line.
func (q *placer) lead(a, b orb.Point) {
	const pieces = 12
	q.lines = append(q.lines, [2]orb.Point{a, b})
	for i := range pieces {
		q.along = append(q.along,
			orb.MultiPoint{between(a, b, i, pieces), between(a, b, i+1, pieces)}.Bound().Pad(leastLeader/2))
	}
}

// nearest returns the position in a box that is nearest to another position.
func nearest(b orb.Bound, to orb.Point) orb.Point {
	return orb.Point{min(max(to[0], b.Min[0]), b.Max[0]), min(max(to[1], b.Min[1]), b.Max[1])}
}

// between returns position i of n on the line from a to b.
func between(a, b orb.Point, i, n int) orb.Point {
	t := float64(i) / float64(n)
	return orb.Point{a[0] + t*(b[0]-a[0]), a[1] + t*(b[1]-a[1])}
}

// meets reports whether a box touches a label or a leader line.
func (q *placer) meets(b orb.Bound) bool { return touches(q.taken, b) || touches(q.along, b) }

func touches(taken []orb.Bound, b orb.Bound) bool {
	for i := range taken {
		if t := &taken[i]; t.Min[0] <= b.Max[0] && b.Min[0] <= t.Max[0] && t.Min[1] <= b.Max[1] &&
			b.Min[1] <= t.Max[1] {
			return true
		}
	}
	return false
}

// near returns a position over the feature or close to its centre.
func (q *placer) near(l *label, w, apart float64) (at orb.Point, free bool) {
	at = l.at
	if l.beside {
		if at[0] += 12 + w/2; at[0]+w/2 > float64(q.width)-4 {
			at[0] = l.at[0] - 12 - w/2
		}
	}
	if q.few && l.ring != nil && !l.near && l.room < q.size && l.tall < q.size { // the label would cover the feature
		for _, side := range []float64{1, -1} {
			if by := (orb.Point{at[0] + side*(l.room/2+q.size/2+w/2), at[1]}); q.free(by, w, apart) &&
				!q.overLand(by, w) {
				return by, true
			}
		}
	}
	if free = q.free(at, w, apart); free || l.beside {
		return at, free
	}
	return q.aside(l, w, apart, around[:over])
}

// aside returns the first free one of some positions around the centre of the feature.
func (q *placer) aside(l *label, w, apart float64, places []orb.Point) (at orb.Point, free bool) {
	for _, step := range places {
		if high := math.Abs(step[1]) * q.size; high < l.tall/3 || q.few && high < l.tall/2+1.3*q.size {
			at = q.within(orb.Point{l.at[0] + step[0]*max(w, l.room), l.at[1] + step[1]*q.size}, w)
			if q.free(at, w, apart) && !q.crosses(l.at, nearest(q.box(at, w), l.at)) {
				return at, true
			}
		}
	}
	return at, false
}

// within moves a position sideways until the label is within the picture.
func (q *placer) within(at orb.Point, w float64) orb.Point {
	edge := w/2 + q.size/4
	return orb.Point{min(max(at[0], edge), float64(q.width)-edge), at[1]}
}

// apart returns a position for a label that does not fit over its feature: over no area, else next to the feature, else
// over other areas. The leader line begins where no label covers the feature.
func (q *placer) apart(l *label, w float64) (at orb.Point, free bool) {
	covered := func(b orb.Bound) bool { return b.Contains(l.at) }
	if slices.ContainsFunc(q.taken, covered) {
		l.at = inside(l.ring, q.taken)
	}
	if at, free = q.away(l, w, true); !free {
		if at, free = q.aside(l, w, 0, around[over:]); !free {
			at, free = q.away(l, w, false)
		}
	}
	return at, free
}

// away returns a position farther away, with outside over no area, whose leader line crosses no label or leader line.
func (q *placer) away(l *label, w float64, outside bool) (orb.Point, bool) {
	for far := 2.0; far < 14; far++ {
		for turn := range 24 {
			sin, cos := math.Sincos(float64(turn) * math.Pi / 12)
			at := q.within(orb.Point{l.at[0] + (far*q.size+w/2)*cos, l.at[1] + far*q.size*sin}, w)
			if q.free(at, w, 4) && !q.covers(l.at, at) && !q.crosses(l.at, nearest(q.box(at, w), l.at)) &&
				!(outside && q.overLand(at, w)) {
				return at, true
			}
		}
	}
	return orb.Point{}, false
}

// crosses reports whether a line crosses a leader line.
func (q *placer) crosses(a, b orb.Point) bool {
	side := func(p, q, r orb.Point) bool { return (q[0]-p[0])*(r[1]-p[1]) > (q[1]-p[1])*(r[0]-p[0]) }
	return slices.ContainsFunc(q.lines, func(l [2]orb.Point) bool {
		return side(a, b, l[0]) != side(a, b, l[1]) && side(l[0], l[1], a) != side(l[0], l[1], b)
	})
}

// covers reports whether a line crosses a label.
func (q *placer) covers(a, b orb.Point) bool {
	const steps = 40
	for i := range steps {
		if p := between(a, b, i, steps); slices.ContainsFunc(q.taken, func(t orb.Bound) bool { return t.Contains(p) }) {
			return true
		}
	}
	return false
}

// overLand reports whether a label would lie over an area of the map.
func (q *placer) overLand(at orb.Point, w float64) bool {
	b := q.box(at, w)
	for _, p := range []orb.Point{b.Min, {at[0], b.Min[1]}, {b.Max[0], b.Min[1]}, {b.Min[0], at[1]}, at,
		{b.Max[0], at[1]}, {b.Min[0], b.Max[1]}, {at[0], b.Max[1]}, b.Max} {
		if slices.ContainsFunc(q.land, func(r orb.Ring) bool { return planar.RingContains(r, p) }) {
			return true
		}
	}
	return false
}

// around are positions of a label relative to the centre of its feature: sideways in widths of the feature or the
// label, down in heights of the label. The first over positions lie over the feature.
var around = []orb.Point{{0, 0}, {0, -.6}, {0, .6}, {-.2, 0}, {.2, 0}, {0, -1.2}, {0, 1.2}, {-.2, -.6}, {.2, -.6},
	{-.2, .6}, {.2, .6}, {-.4, 0}, {.4, 0}, {-.4, -.6}, {.4, -.6}, {-.4, .6}, {.4, .6},
	{-.7, 0}, {.7, 0}, {-.5, -.3}, {-.5, .3}, {-.5, -.9}, {-.5, .9}, {-.7, .6}, {.7, .6}, {-.7, -.6}, {.7, -.6}}

// shortName returns the first of the names in a title, cut to a length that fits on a map.
func shortName(s string) string {
	for _, sep := range []string{" - ", " – "} {
		s, _, _ = strings.Cut(s, sep)
	}
	if r := []rune(s); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return s
}

// Inside returns a position in a polygon where it is wide.
func Inside(p orb.Polygon) orb.Point { return inside(p[0], nil, p[1:]...) }

// inside returns a position in a ring, outside of its holes, with room on both sides: the middle of the longest piece
// of some horizontal lines within the ring. If possible it is in none of the taken boxes; then it may be nearer to an
// end of a piece.
func inside(r orb.Ring, taken []orb.Bound, holes ...orb.Ring) orb.Point {
	b := r.Bound()
	at, most := b.Center(), -1.0
	var room [16]float64
	xs := room[:0]
	parts, along := []float64{.5, .4, .6, .3, .7}, []float64{.5}
	if len(taken) > 0 {
		parts, along = append(parts, .2, .8, .1, .9), append(along, .15, .85)
	}
	for _, part := range parts {
		y := b.Min[1] + part*(b.Max[1]-b.Min[1])
		xs = xs[:0]
		for h := -1; h < len(holes); h++ {
			ring := r
			if h >= 0 {
				ring = holes[h]
			}
			for i, p := range ring {
				if q := ring[(i+1)%len(ring)]; (p[1] > y) != (q[1] > y) {
					xs = append(xs, p[0]+(y-p[1])*(q[0]-p[0])/(q[1]-p[1]))
				}
			}
		}
		slices.Sort(xs)
		for i := 0; i+1 < len(xs); i += 2 {
			for j, t := range along {
				w := xs[i+1] - xs[i]
				p := orb.Point{xs[i] + t*w, y}
				if j > 0 {
					w /= 3
				}
				if w > 1.15*most && !slices.ContainsFunc(taken, func(b orb.Bound) bool { return b.Contains(p) }) {
					at, most = p, w
				}
			}
		}
	}
	return at
}
