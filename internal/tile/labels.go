package tile

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"grense/internal/geo/coverage"
	"grense/internal/store"
	"grense/internal/style"
)

// labelSuffix is what follows the id of a collection in the name of the layer with its labels.
const labelSuffix = "_label"

// LabelLayer returns the name of the layer with one point for each area of a collection, where a map writes its name;
// "" if there is none: no areas or no names, or a collection is called so. A point bears the id of its feature and
// the properties name, label, rank and min_zoom (package style).
func LabelLayer(cat *store.Catalog, c *store.Collection) string {
	if g := c.Geometry; g == nil || g.Type != "" && g.Type != "Polygon" && g.Type != "MultiPolygon" {
		return ""
	}
	if p, ok := c.Find(c.TitleProperty); !ok || p.Hidden {
		return ""
	}
	name := c.ID + labelSuffix
	if _, taken := cat.Collection(name); taken {
		return ""
	}
	return name
}

// LabelLayerOf describes the layer of labels of a collection but for its levels; ok is false if there is none.
func LabelLayerOf(cat *store.Catalog, c *store.Collection, title string) (l VectorLayer, ok bool) {
	l = VectorLayer{ID: LabelLayer(cat, c), Description: title, Fields: map[string]string{IDKey: "String",
		style.LabelName: "String", style.LabelLines: "String", style.LabelRank: "Number", style.LabelZoom: "Number"}}
	return l, l.ID != ""
}

// labelBits is the width of a cell of thinning of labels in bits of the grid of a level: 16 by 16 cells to a tile, each
// of which has at most one label.
const labelBits = 8

// poles finds the labels of areas while levels are made, each on a level that shows its feature well.
type poles struct {
	points
	done []bool
	left int
}

// polesWidth is how many cells the largest polygon of a feature is wide on the level of its label.
const polesWidth = 256

// add finds the labels of the features that are not much wider than that on a level; shift is by how many levels it is
// coarser than the finest. On the last level all are found.
func (p *poles) add(l *coverage.Level, shift uint, last bool) {
	if p.done == nil {
		p.done, p.left = make([]bool, l.Features()), l.Features()
	}
	if p.left == 0 {
		return
	}
	for f := range p.done {
		if p.done[f] || !last && wide(l, f) > polesWidth {
			continue
		}
		p.done[f] = true
		p.left--
		at, _, area, ok := l.Pole(f)
		if !ok {
			continue
		}
		p.at = append(p.at, place{at: coverage.Point{X: at.X << shift, Y: at.Y << shift}, feature: int32(f),
			rank: -math.Ldexp(area, 2*int(shift)), hash: uint32(f)})
	}
}

// wide is the width or height of the widest polygon of a feature, in cells.
func wide(l *coverage.Level, f int) (w int32) {
	for i := range l.Polygons(f) {
		low, high := l.Box(f, i)
		w = max(w, high.X-low.X, high.Y-low.Y)
	}
	return w
}

// labels returns the labels of a level of the file.
func (l *levels) labels() (*shown, error) {
	v, err := l.load(secLabels, func(b []byte) (any, int64, error) {
		p, err := readPoints(b, l.set.first, l.set.finest(), l.side.sum.Features)
		return p, int64(len(b)), err
	})
	p, _ := v.(*shown)
	return p, err
}

// colors are the numbers of the colours of areas (coverage.Level.Colors); nil if there are none.
func (l *levels) colors() ([]byte, error) {
	v, err := l.load(secColors, func(b []byte) (any, int64, error) {
		if len(b) != l.side.sum.Features {
			return nil, 0, errSide
		}
		return b, int64(len(b)), nil
	})
	b, _ := v.([]byte)
	return b, err
}

// colored appends the colour of a feature to its tags, unless these were chosen or have one already.
func (d *drawing) colored(f int32, tags []Tag) []Tag {
	if d.colors == nil || d.colors[f] == coverage.NoColor {
		return tags
	}
	d.tags = append(append(d.tags[:0], tags...), Tag{Key: style.ColorIndex, raw: colorValues[d.colors[f]]})
	return d.tags
}

// colorValues are the messages of the colours.
var colorValues = func() (out [4][]byte) {
	for i := range out {
		out[i], _ = appendValue(nil, int64(i)) // integers have messages
	}
	return out
}()

// readColors loads the colours of areas if their tags are to have them.
func (d *drawing) readColors() (err error) {
	if _, taken := d.c.Find(style.ColorIndex); !taken && d.q.Properties == nil {
		d.colors, err = d.l.colors()
	}
	return err
}

// labels adds the labels whose points lie in the tile without its buffer, so that each is in one tile of a level.
func (d *drawing) labels(ctx context.Context) error {
	if d.names == nil || d.tile.Z < d.l.side.sum.First {
		return nil
	}
	p, err := d.l.labels()
	if p == nil || err != nil {
		return err
	}
	shift, at, z := uint(p.last-d.tile.Z), d.frame.corner, d.tile.Z
	low := coverage.Point{X: at.X << shift, Y: (at.Y-d.frame.height)<<shift + 1}
	high := coverage.Point{X: (at.X+d.frame.width)<<shift - 1, Y: at.Y << shift}
	if d.chosen != nil {
		z = p.last
	}
	list := p.search(nil, [2]int{z, d.tile.Z}, low, high)
	level, err := d.l.area(min(d.tile.Z, d.l.side.sum.drawn()))
	if level == nil || err != nil {
		return err
	}
	list = slices.DeleteFunc(list,
		func(s shownPoint) bool { return d.hidden(s.feature) || level.Polygons(int(s.feature)) == 0 })
	slices.SortFunc(list, func(a, b shownPoint) int { return cmp.Compare(a.order, b.order) })
	if d.chosen != nil && d.tile.Z <= d.set.thin() {
		list = bestOfCells(list, shift+labelBits)
	}
	for i, s := range list {
		if i%256 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		id, tags, err := d.records.of(int(s.feature))
		if err != nil {
			return err
		}
		named := labelTags(d.c, tags)
		if named == nil {
			continue
		}
		named = append(named, Tag{Key: style.LabelRank, Value: int64(s.order)},
			Tag{Key: style.LabelZoom, Value: int64(s.class)})
		cell := coverage.Point{X: at.X + (s.at.X-at.X<<shift)>>shift, Y: at.Y - (at.Y<<shift-s.at.Y)>>shift}
		if err := d.names.Points([]coverage.Point{cell}, at, id, named); err != nil {
			return err
		}
	}
	return d.m.bound(d.names)
}

// labelTags are the id and the name of a feature; nil for one without a name.
func labelTags(c *store.Collection, tags []Tag) []Tag {
	i := slices.IndexFunc(tags, func(t Tag) bool { return t.Key == c.TitleProperty })
	if i < 0 || len(tags[i].raw) == 0 && tags[i].Value == nil {
		return nil
	}
	name := tags[i]
	name.Key = style.LabelName
	out := []Tag{tags[0], name}
	text, ok := name.Value.(string)
	if !ok {
		text = textOf(name.raw)
	}
	if lines := nameLines(text); lines != "" {
		out = append(out, Tag{Key: style.LabelLines, Value: lines})
	}
	return out
}

// nameLines writes names of several languages that are joined, as "Guovdageaidnu - Kautokeino", in a line each; "" for
// a single name.
func nameLines(s string) string {
	for _, sep := range []string{" - ", " – "} {
		if strings.Contains(s, sep) {
			return strings.ReplaceAll(s, sep, "\n")
		}
	}
	return ""
}

// putLabels writes the sections of labels and colours; prefix is that of coarse levels.
func (m *maker) putLabels(prefix string, p *poles, colors []uint8) error {
	if len(p.at) > 0 {
		if err := m.out.put(prefix+secLabels, p.thinned()); err != nil {
			return err
		}
	}
	if colors == nil {
		return nil
	}
	return m.out.put(prefix+secColors, colors)
}

// newPoles are the labels of a layer before there are any.
func (m *maker) newPoles() *poles {
	return &poles{points: points{first: m.set.first, last: m.set.finest(), thin: m.set.thin(), bits: labelBits}}
}

// slowLabels adds the labels of areas of a level that was made for a tile.
func (s *slow) slowLabels(level *coverage.Level, list []record) error {
	if s.names == nil {
		return nil
	}
	type label struct {
		at   coverage.Point
		n    int
		area float64
	}
	var all []label
	for i := range list {
		at, _, area, ok := level.Pole(i)
		if ok && at.X >= 0 && at.X < s.frame.width && at.Y <= 0 && at.Y > -s.frame.height {
			all = append(all, label{at, i, area})
		}
	}
	slices.SortStableFunc(all, func(a, b label) int { return cmp.Compare(b.area, a.area) })
	taken := map[coverage.Point]bool{}
	for _, x := range all {
		cell := coverage.Point{X: x.at.X >> labelBits, Y: x.at.Y >> labelBits}
		named := labelTags(s.c, list[x.n].tags)
		if named == nil || taken[cell] && s.frame.z <= s.set.thin() {
			continue
		}
		taken[cell] = true
		if err := s.names.Points([]coverage.Point{x.at}, coverage.Point{}, NumericID(list[x.n].id), named); err != nil {
			return err
		}
	}
	return nil
}
