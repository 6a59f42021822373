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

// crowd is how many features a map may have before names wider than their features are left out, but for those of the
// largest ones.
const (
	crowd    = 20
	overMost = 30 // names that are wider than their features, in a crowd
	over     = 17 // places of around

	leastLeader = 4.0 // pixels: a shorter line to a name is a dot beside it
)

// label is the name of a feature, in pixels.
type label struct {
	text   string
	at     orb.Point
	ring   orb.Ring // the largest part of an area
	room   float64  // width of the feature
	tall   float64  // height of the feature
	area   float64  // of its largest part
	beside bool
	near   bool // of a feature in the surroundings
	first  bool // see Mark
}

// labelsOf returns the names of the features of a map, after those that come first those of large ones, and of its
// surroundings, where they are requested.
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
			if m.Near { // of what is seen of it
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

// labels writes the names of features, size units high, where they cover neither each other nor leave the picture:
// those that come first, then those of large features. In a crowd names that are wider than their features keep away
// from others; elsewhere one that has no room beside its feature stands apart, with a line to it, and one that finds
// no place at all comes before some others.
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

// place writes names in their order, as labels says, and returns those of features, not of surroundings, that find no
// place.
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

// name writes a name around a position on its line.
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

// placer finds room for names, by their middles.
type placer struct {
	*drawing
	size  float64
	few   bool // then a name may stand beside its feature
	taken []orb.Bound
	lines [][2]orb.Point // to names
	along []orb.Bound    // room of the lines
}

// landOf are the parts of areas that names would cover, in pixels and coarse.
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

// free reports whether a name of width w fits, so far apart from others.
func (q *placer) free(at orb.Point, w, apart float64) bool {
	b, foot := q.box(at, w), float64(q.height)
	if b.Min[0] < mapMargin+scaleMost+4*q.size { // where the bar of the scale is
		foot -= 24 + q.size
	}
	corner := 95.0 // where the buttons are
	if q.size == narrowSize {
		corner = 128
	}
	if b.Min[0] < corner && b.Min[1] < corner {
		return false
	}
	return b.Min[0] >= 0 && b.Min[1] >= 0 && b.Max[0] <= float64(q.width) && b.Max[1] <= foot && !q.meets(b.Pad(apart))
}

// lead keeps the room of a line to a name.
func (q *placer) lead(a, b orb.Point) {
	const pieces = 12
	q.lines = append(q.lines, [2]orb.Point{a, b})
	for i := range pieces {
		q.along = append(q.along,
			orb.MultiPoint{between(a, b, i, pieces), between(a, b, i+1, pieces)}.Bound().Pad(leastLeader/2))
	}
}

// nearest is the position in a box that is nearest to another.
func nearest(b orb.Bound, to orb.Point) orb.Point {
	return orb.Point{min(max(to[0], b.Min[0]), b.Max[0]), min(max(to[1], b.Min[1]), b.Max[1])}
}

// between is the position i of n on the way from a to b.
func between(a, b orb.Point, i, n int) orb.Point {
	t := float64(i) / float64(n)
	return orb.Point{a[0] + t*(b[0]-a[0]), a[1] + t*(b[1]-a[1])}
}

// meets reports whether a box touches a name, or a line to one.
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

// near is a place over the feature, or a little aside, higher or lower.
func (q *placer) near(l *label, w, apart float64) (at orb.Point, free bool) {
	at = l.at
	if l.beside {
		if at[0] += 12 + w/2; at[0]+w/2 > float64(q.width)-4 {
			at[0] = l.at[0] - 12 - w/2
		}
	}
	if q.few && l.ring != nil && !l.near && l.room < q.size && l.tall < q.size { // it would be covered
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

// aside is one of some places around the middle of the feature.
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

// within moves a place sideways until the name is in the picture.
func (q *placer) within(at orb.Point, w float64) orb.Point {
	edge := w/2 + q.size/4
	return orb.Point{min(max(at[0], edge), float64(q.width)-edge), at[1]}
}

// apart is a place for a name that cannot lie over its feature: over no area, else beside the feature, else over
// others. The line to it begins where no name covers the feature.
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

// away is a place farther off, over no area where outside, to which no line would cross another name, or a line to one.
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

// crosses reports whether a line goes over another line to a name.
func (q *placer) crosses(a, b orb.Point) bool {
	side := func(p, q, r orb.Point) bool { return (q[0]-p[0])*(r[1]-p[1]) > (q[1]-p[1])*(r[0]-p[0]) }
	return slices.ContainsFunc(q.lines, func(l [2]orb.Point) bool {
		return side(a, b, l[0]) != side(a, b, l[1]) && side(l[0], l[1], a) != side(l[0], l[1], b)
	})
}

// covers reports whether a line goes over a name.
func (q *placer) covers(a, b orb.Point) bool {
	const steps = 40
	for i := range steps {
		if p := between(a, b, i, steps); slices.ContainsFunc(q.taken, func(t orb.Bound) bool { return t.Contains(p) }) {
			return true
		}
	}
	return false
}

// overLand reports whether a name would lie over an area of the map.
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

// around are the places of a name besides the middle of its feature: aside in parts of the wider of the two, down in
// heights of the name. Those before over lie over the feature.
var around = []orb.Point{{0, 0}, {0, -.6}, {0, .6}, {-.2, 0}, {.2, 0}, {0, -1.2}, {0, 1.2}, {-.2, -.6}, {.2, -.6},
	{-.2, .6}, {.2, .6}, {-.4, 0}, {.4, 0}, {-.4, -.6}, {.4, -.6}, {-.4, .6}, {.4, .6},
	{-.7, 0}, {.7, 0}, {-.5, -.3}, {-.5, .3}, {-.5, -.9}, {-.5, .9}, {-.7, .6}, {.7, .6}, {-.7, -.6}, {.7, -.6}}

// shortName is the first of the names that a title joins, cut to what fits on a map.
func shortName(s string) string {
	for _, sep := range []string{" - ", " – "} {
		s, _, _ = strings.Cut(s, sep)
	}
	if r := []rune(s); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return s
}

// Inside returns a position in a polygon, where it is wide.
func Inside(p orb.Polygon) orb.Point { return inside(p[0], nil, p[1:]...) }

// inside is a position in a ring, and in none of its holes, with room to both sides, in none of some boxes if there is
// such a one: the middle of the longest piece of a few level lines that lies in the ring, or where that is in a box,
// a place nearer to an end of a piece.
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
