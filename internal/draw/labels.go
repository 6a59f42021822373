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
)

// crowd is how many features a map may have before names wider than their features are left out, but for those of the largest ones.
const (
	crowd    = 20
	overMost = 30 // names that are wider than their features, in a crowd
)

// label is the name of a feature, in pixels.
type label struct {
	text   string
	at     orb.Point
	room   float64 // width of the feature
	tall   float64 // height of the feature
	area   float64 // of its largest part
	beside bool
	near   bool // of a feature in the surroundings
}

// labelsOf returns the names of the features of a map, those of large ones first, and of its surroundings, where they are asked for.
func (d *drawing) labelsOf(p *Picture) (all []label) {
	for _, m := range p.Marks {
		if m.Near && !p.Around || m.Title == "" || m.Empty() {
			continue
		}
		l := label{text: shortName(m.Title), near: m.Near}
		if i := m.largest(); i >= 0 {
			px := d.points(moved(m.rings[i], d.shift))
			if m.Near { // of what is seen of it
				if px = cutting.Ring(d.frame(), px); len(px) < 4 {
					continue
				}
			}
			b := px.Bound()
			l.at, l.room, l.tall, l.area = inside(px), b.Max[0]-b.Min[0], b.Max[1]-b.Min[1], math.Abs(planar.Area(px))
		} else if len(m.points) > 0 {
			l.at, l.beside = d.points(moved(orb.Ring(m.points[:1]), d.shift))[0], true
		} else if l0 := m.lines[0]; len(l0) > 0 {
			l.at, l.beside = d.points(moved(orb.Ring(l0), d.shift))[len(l0)/2], true
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b label) int {
		if a.near != b.near {
			if a.near {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.area, a.area)
	})
	return all
}

// labels writes the names of features, size units high, where they cover neither each other nor leave the picture, those of large
// features first. In a crowd names that are wider than their features keep away from others.
func (d *drawing) labels(p *Picture, size float64, class string) {
	all := d.labelsOf(p)
	count := len(all)
	var taken []orb.Bound
	over := 0
	few := count <= crowd // then a name may stand beside its feature
	places := around[:17]
	if few {
		places = around
	}
	d.b = append(d.b, `<g class="`...)
	d.b = append(append(d.b, class...), `" aria-hidden="true">`...)
	for _, l := range all {
		w := .55 * size * float64(utf8.RuneCountInString(l.text))
		wide := !l.beside && count > crowd && w > 1.3*l.room
		if len(taken) == labelMost || wide && over == overMost {
			continue
		}
		apart := 0.0
		if wide {
			apart = size
		}
		place := func(left, y float64) (box orb.Bound, free bool) {
			box = orb.Bound{Min: orb.Point{left - 4, y - size/2 - 2}, Max: orb.Point{left + w + 4, y + size/2 + 2}}
			return box, box.Min[0] >= 0 && box.Min[1] >= 0 && box.Max[0] <= float64(d.width) && box.Max[1] <= float64(d.height)-24-size && !slices.ContainsFunc(taken, box.Pad(apart).Intersects)
		}
		left, y := l.at[0]-w/2, l.at[1]
		if l.beside {
			if left = l.at[0] + 12; left+w > float64(d.width)-4 {
				left = l.at[0] - 12 - w
			}
		}
		box, free := place(left, y)
		for i := 0; i < len(places) && !free && !l.beside; i++ { // a little aside, higher or lower, over the feature still
			if step := around[i]; math.Abs(step[1])*size < l.tall/3 || few && math.Abs(step[1])*size < l.tall/2+1.3*size {
				left, y = min(max(l.at[0]-w/2+step[0]*max(w, l.room), 4), float64(d.width)-4-w), l.at[1]+step[1]*size
				box, free = place(left, y)
			}
		}
		if !free {
			continue
		}
		if wide {
			over++
		}
		taken = append(taken, box)
		if d.b = append(d.b, "<text"...); l.near {
			d.b = append(d.b, ` class="quiet"`...)
		}
		d.b = append(d.b, ` x="`...)
		d.int(int(math.Round(left + w/2)))
		d.b = append(d.b, `" y="`...)
		d.int(int(math.Round(y + size/3)))
		d.b = append(append(append(d.b, `">`...), template.HTMLEscapeString(l.text)...), "</text>"...)
	}
	d.b = append(d.b, "</g>"...)
}

// around are the places of a name besides the middle of its feature: aside in parts of the wider of the two, down in heights of the name.
var around = []orb.Point{{0, 0}, {0, -.6}, {0, .6}, {-.2, 0}, {.2, 0}, {0, -1.2}, {0, 1.2}, {-.2, -.6}, {.2, -.6}, {-.2, .6}, {.2, .6}, {-.4, 0}, {.4, 0}, {-.4, -.6}, {.4, -.6}, {-.4, .6}, {.4, .6},
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
