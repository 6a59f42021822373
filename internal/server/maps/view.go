package maps

import (
	"math"
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/tile"
)

// view is the area, the CRS and the size of a picture.
type view struct {
	crs           crs.ID
	box           orb.Bound // x before y; across the antimeridian it reaches beyond 180 degrees
	width, height int
	reach         int       // width of the frame in which names are placed too, in pixels
	set           *tile.Set // set whose levels are used; nil: the most suitable for each collection
}

// cell is how wide and how high a pixel is, in units of the CRS.
func (v *view) cell() (x, y float64) {
	return (v.box.Max[0] - v.box.Min[0]) / float64(v.width), (v.box.Max[1] - v.box.Min[1]) / float64(v.height)
}

// wide is the default length of the longer side of a map, in pixels.
const wide = 1024

// margin is the ratio of the width of a map of all data to the width of the data.
const margin = 1.02

// view returns the area and the size of the map (OGC 20-058, 8 to 10).
func (c *call) view() (*view, error) {
	p := c.p
	v := &view{crs: p.crs}
	if v.crs == 0 {
		v.crs = c.stored()
	}
	if err := c.checkView(); err != nil {
		return nil, err
	}
	box, boxed, err := c.box(v.crs)
	if err != nil {
		return nil, err
	}
	at := box.Center()
	if p.center != "" {
		if at, err = c.middle(v.crs); err != nil {
			return nil, err
		}
	}
	v.box = box
	w, h := box.Max[0]-box.Min[0], box.Max[1]-box.Min[1]
	if !boxed && p.center == "" {
		w, h = w*margin, h*margin
		v.box = around(at, w, h)
	}
	switch {
	case p.scale > 0 || p.center != "":
		cell := max(w, h) / wide
		if p.scale > 0 {
			cell = p.mm / 1000 * p.scale / metres(v.crs, at)
		}
		v.width, v.height = p.width, p.height
		if boxed {
			v.width, v.height = pixels(w/cell), pixels(h/cell)
		} else {
			if v.width == 0 {
				v.width = cmpOr(p.height, pixels(w/cell), p.center != "")
			}
			if v.height == 0 {
				v.height = cmpOr(p.width, pixels(h/cell), p.center != "")
			}
			v.box = around(at, cell*float64(v.width), cell*float64(v.height))
		}
	case p.width > 0 && p.height > 0:
		v.width, v.height = p.width, p.height
		if !boxed { // all data, in the middle
			cell := max(w/float64(v.width), h/float64(v.height))
			v.box = around(at, cell*float64(v.width), cell*float64(v.height))
		}
	case p.width > 0:
		v.width, v.height = p.width, pixels(float64(p.width)*h/w)
	case p.height > 0:
		v.width, v.height = pixels(float64(p.height)*w/h), p.height
	default:
		cell := max(w, h) / wide
		v.width, v.height = pixels(w/cell), pixels(h/cell)
	}
	return v, c.checkPixels(v)
}

// checkPixels refuses a map of too many pixels, and one that has no area.
func (c *call) checkPixels(v *view) error {
	p := c.p
	if v.width > mostPixels || v.height > mostPixels {
		name, value := "scale-denominator", strconv.FormatFloat(p.scale, 'f', -1, 64)
		cure := "a smaller box, or a larger denominator"
		switch {
		case p.width > 0:
			name, value, cure = "width", strconv.Itoa(p.width), "a smaller width, or another box"
		case p.height > 0:
			name, value, cure = "height", strconv.Itoa(p.height), "a smaller height, or another box"
		}
		return problem.Invalidf(name, value, "the map would have %d by %d pixels, and may have %d by %d; ask for %s",
			v.width, v.height, mostPixels, mostPixels, cure)
	}
	if x, y := v.cell(); !finite(x, y, v.box.Min[0], v.box.Min[1]) || !(x > 0) || !(y > 0) {
		return problem.Invalidf("bbox", problem.Clip(p.bbox), "the map has no area there; ask for a larger box")
	}
	return nil
}

// cmpOr returns the other side of a map around a center if one side is given; else that of all data.
func cmpOr(other, all int, centred bool) int {
	if centred && other > 0 {
		return other
	}
	return min(max(all, 1), wide)
}

// pixels rounds a side to whole pixels, at least 1. Excessive values stay excessive.
func pixels(v float64) int { return int(min(max(math.Round(v), 1), 1e9)) }

func around(at orb.Point, w, h float64) orb.Bound {
	return orb.Bound{Min: orb.Point{at[0] - w/2, at[1] - h/2}, Max: orb.Point{at[0] + w/2, at[1] + h/2}}
}

// checkView refuses parameters that contradict each other.
func (c *call) checkView() error {
	p := c.p
	area := ""
	for _, x := range []struct {
		name  string
		given bool
	}{{"bbox", p.bbox != ""}, {"center", p.center != ""}, {"subset", p.subset != nil}} {
		if !x.given {
			continue
		}
		if area != "" {
			return problem.Invalidf(x.name, server.First(c.Values[x.name]), "give one of bbox, center and subset")
		}
		area = x.name
	}
	if p.scale > 0 && (area == "bbox" || area == "subset") && (p.width > 0 || p.height > 0) {
		return c.checkScale(area)
	}
	return nil
}

// checkScale refuses a scale together with a size.
func (c *call) checkScale(area string) error {
	return problem.Invalidf("scale-denominator", server.First(c.Values["scale-denominator"]),
		"leave it out, or width and height: with %s one of them says the other", area)
}

// stored returns the storage CRS of the data; CRS84 if collections differ, or if it has no name.
func (c *call) stored() crs.ID {
	var id crs.ID
	for _, at := range c.p.Calls() {
		of := at.Collection.Geometry.CRS
		if id != 0 && id != of || of.Own() {
			return crs.CRS84
		}
		id = of
	}
	if id == 0 {
		return crs.CRS84
	}
	return id
}

// box returns the area of the map. boxed is false if it is the extent of all data.
func (c *call) box(in crs.ID) (b orb.Bound, boxed bool, err error) {
	p := c.p
	switch {
	case p.bbox != "":
		of := or84(p.bboxCRS)
		box, err := cql2.ParseBBox(p.bbox, of)
		if err == nil {
			err = c.checkArea("bbox", box.Box)
		}
		if err != nil {
			return b, true, err
		}
		b, err = moved(box.Box, of, in)
		return b, true, err
	case p.subset != nil:
		of := or84(p.subsetCRS)
		box, err := c.subset(of)
		if err == nil {
			err = c.checkArea("subset", box)
		}
		if err != nil {
			return b, true, err
		}
		b, err = moved(box, of, in)
		return b, true, err
	}
	b, err = c.whole(in)
	return b, false, err
}

// subset returns the box of the parameter subset. An axis without a limit has the extent of all data.
func (c *call) subset(in crs.ID) (orb.Bound, error) {
	sides, seen, err := subsetBox(c.p.subset, in)
	if err != nil {
		return orb.Bound{}, err
	}
	box, err := c.whole(in)
	d := in.Domain()
	for axis := range 2 {
		if !seen[axis] {
			continue
		}
		low, high := sides[axis][0], sides[axis][1]
		if low > d.Max[axis] || low <= high && high < d.Min[axis] {
			return box, problem.NotFoundf("subset lies outside of %s, which reaches from %g to %g along that axis",
				in, d.Min[axis], d.Max[axis])
		}
		box.Min[axis], box.Max[axis] = low, high
	}
	return box, err
}

// whole is the box of all data of the map; around zero if there are none.
func (c *call) whole(in crs.ID) (b orb.Bound, err error) {
	var colls []orb.Bound
	for _, at := range c.p.Calls() {
		if e := at.Collection.Extent; e != nil {
			colls = append(colls, *e)
		}
	}
	if colls == nil {
		return around(orb.Point{}, 1, 1), nil
	}
	all := colls[0]
	for _, e := range colls[1:] {
		all = all.Union(e)
	}
	if in == crs.WebMercator {
		area := in.Area()
		all.Min[1], all.Max[1] = max(all.Min[1], area.Min[1]), min(all.Max[1], area.Max[1])
	}
	b, err = crs.EnvelopeOf(all, crs.CRS84, in)
	least := 1e-3
	if !in.Geographic() {
		least = 100
	}
	if w, h := b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]; w < least || h < least {
		b = around(b.Center(), max(w, least), max(h, least))
	}
	return b, err
}

// checkArea refuses a box without area. A box with its west east of its east crosses the antimeridian.
func (c *call) checkArea(name string, b orb.Bound) error {
	if b.Min[0] == b.Max[0] || !(b.Min[1] < b.Max[1]) {
		return problem.Invalidf(name, problem.Clip(server.First(c.Values[name])),
			"the box has no area; ask for a larger one")
	}
	return nil
}

func or84(id crs.ID) crs.ID {
	if id == 0 {
		return crs.CRS84
	}
	return id
}

// moved returns a box in another CRS. A box with its west east of its east crosses the antimeridian.
func moved(b orb.Bound, from, to crs.ID) (orb.Bound, error) {
	if from.Geographic() && b.Min[0] > b.Max[0] {
		b.Max[0] += 360
		if to.Geographic() {
			return b, nil
		}
		west, err := envelope(orb.Bound{Min: b.Min, Max: orb.Point{180, b.Max[1]}}, from, to)
		if err != nil {
			return west, err
		}
		east, err := envelope(orb.Bound{Min: orb.Point{-180, b.Min[1]}, Max: orb.Point{b.Max[0] - 360, b.Max[1]}},
			from, to)
		switch {
		case to == crs.WebMercator:
			west.Max[0] = east.Max[0] + world(to)
			return west, err
		case endless(west):
			return east, err
		case endless(east):
			return west, err
		}
		return west.Union(east), err
	}
	if crs.Same(from, to) {
		return b, nil
	}
	return envelope(b, from, to)
}

// envelope returns the envelope of a box in another CRS: of what lies in the part of the earth that the CRS can show,
// unless that is nothing.
func envelope(b orb.Bound, from, to crs.ID) (orb.Bound, error) {
	box, err := crs.EnvelopeOf(b, from, to)
	shown := to.Regular()
	if to == crs.WebMercator {
		shown = to.Area()
	}
	if err != nil || to != crs.WebMercator && !endless(box) {
		return box, err
	}
	deg, err := crs.EnvelopeOf(b, from, crs.CRS84)
	if err != nil || shown.Contains(deg.Min) && shown.Contains(deg.Max) {
		return box, err
	}
	deg = orb.Bound{Min: orb.Point{max(deg.Min[0], shown.Min[0]), max(deg.Min[1], shown.Min[1])},
		Max: orb.Point{min(deg.Max[0], shown.Max[0]), min(deg.Max[1], shown.Max[1])}}
	if !(deg.Min[0] < deg.Max[0] && deg.Min[1] < deg.Max[1]) {
		return box, nil
	}
	return crs.EnvelopeOf(deg, crs.CRS84, to)
}

// endless reports whether an envelope in metres is larger than the earth, as those of boxes that have none.
func endless(b orb.Bound) bool { return b.Max[0]-b.Min[0] > 1e9 }

// world returns the length of the equator in units of a CRS whose x wraps around the earth; 0 for others.
func world(id crs.ID) float64 {
	switch {
	case id.Geographic():
		return 360
	case id == crs.WebMercator:
		return 2 * 20037508.3427892
	}
	return 0
}

// middle returns center in a CRS.
func (c *call) middle(in crs.ID) (orb.Point, error) {
	of, v := or84(c.p.centerCRS), c.p.centerNumbers()
	if of.NorthFirst() {
		v[0], v[1] = v[1], v[0]
	}
	if !of.Domain().Contains(orb.Point{v[0], v[1]}) {
		return orb.Point{}, c.p.badCenter()
	}
	move, err := crs.Between(of, in)
	if err != nil {
		return orb.Point{}, err
	}
	x, y := move(v[0], v[1])
	return orb.Point{x, y}, nil
}

// metres returns the length of a unit of a CRS at a position, in metres on the ground, to the north.
func metres(id crs.ID, at orb.Point) float64 {
	step := 100.0
	if id.Geographic() {
		step = 1e-3
	}
	back, err := crs.Between(id, crs.CRS84)
	if err != nil {
		return 1
	}
	x, y := back(at[0], at[1]-step/2)
	u, w := back(at[0], at[1]+step/2)
	d := crs.Distance(orb.Point{x, y}, orb.Point{u, w}) / step
	if !finite(d) || !(d > 0) {
		if id.Geographic() {
			return 111319.49
		}
		return 1
	}
	return d
}
