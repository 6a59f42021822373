package tile

import (
	"context"
	"errors"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
)

// Outlines are the geometries of a collection on one level of a set: simplified for its scale, with borders that
// neighbours share. They are of one version of the data. Each is for one goroutine.
type Outlines struct {
	l     *levels
	r     *records
	z     int
	move  crs.Func
	other func() // called if rows have changed since the levels were built
}

// Scale selects a collection and the scale of a map: in the CRS of the set, with pixels of the width Cell in units of
// that CRS.
type Scale struct {
	Set        *Set
	Collection string
	Cell       float64
}

// Outlines returns geometries simplified for a scale: those of the level whose tiles are shown 512 pixels wide. It
// returns nil if no level is fine enough, the collection has only points, or levels need too much memory. It starts
// building levels; until they are complete, the error is of kind problem.Busy. Other errors are those of Range.
func (m *Maker) Outlines(ctx context.Context, st store.Store, of Scale) (*Outlines, error) {
	set := of.Set
	c, _, err := layerOf(st.Catalog(), set, of.Collection)
	if err != nil {
		return nil, err
	}
	z := set.levelOf(of.Cell)
	if c.Geometry == nil || c.Geometry.Type == "Point" || c.Geometry.Type == "MultiPoint" || z > set.finest() {
		return nil, nil
	}
	m.want(set, c)
	l, err := m.levels(ctx, st, set, c)
	if err != nil {
		return nil, err
	}
	if l == nil && m.tooLarge(c.ID, set) || l != nil && z > l.side.sum.drawn() {
		return nil, nil
	}
	if l == nil {
		return nil, problem.New(
			problem.Busy,
			nil,
			"The geometries of %s are being simplified for the first time. Try again after the seconds in "+
				"Retry-After, or leave zoom-level out.",
			c.ID,
		)
	}
	o := &Outlines{l: l, z: max(z, l.side.sum.First), other: func() { m.due(st, set, c) }}
	if o.move, err = crs.Between(c.Geometry.CRS, set.CRS); err == nil {
		o.r, err = l.records([]string{})
	}
	return o, err
}

// levelOf returns the first level whose cells are at most twice as wide as cell; last+1 or more if there is none.
func (s *Set) levelOf(cell float64) int {
	if !(cell > 0) {
		return s.last + 1
	}
	return s.first + max(0, int(math.Ceil(math.Log2(s.cell/cell/2)-1e-3)))
}

// Rev identifies the level and the version of its data.
func (o *Outlines) Rev() string { return o.l.rev + string(rune('0'+o.z)) }

// Geometry returns the simplified geometry of a feature as well-known binary in the CRS of the set, with the geometry
// type of the stored one in x. If the feature is too small for the level, it uses the next finer level that has it. It
// only transforms points, geometry collections, and features that the levels lack or have in another revision.
func (o *Outlines) Geometry(x *store.Feature) ([]byte, error) {
	stored := x.Geometry.WKB
	r := wkb.NewReader(stored)
	kind, err := r.Header()
	if err != nil {
		return nil, err
	}
	f, err := o.l.same(o.r, store.Row{ID: x.ID, Rev: x.Rev})
	known := err == nil
	if errors.Is(err, errOtherRows) {
		o.other()
	} else if err != nil && !errors.Is(err, store.ErrChanged) {
		return nil, err
	}
	for z := o.z; known && z <= o.l.side.sum.Last; z++ {
		var b []byte
		switch kind {
		case wkb.Polygon, wkb.MultiPolygon:
			b, err = o.area(kind, f, z)
		case wkb.LineString, wkb.MultiLineString:
			b, err = o.line(kind, f, z)
		default:
			known = false
		}
		if b != nil || err != nil {
			return b, err
		}
	}
	return wkb.AppendPlane(nil, stored, o.move)
}

// Area returns the polygons of a feature as in Geometry; nil if the levels have none.
func (o *Outlines) Area(id string) (orb.MultiPolygon, error) {
	f, known, err := o.l.find(o.r, id)
	for z := o.z; known && err == nil && z <= o.l.side.sum.Last; z++ {
		var b []byte
		if b, err = o.area(wkb.MultiPolygon, f, z); b != nil {
			g, err := wkb.Decode(b)
			areas, _ := g.(orb.MultiPolygon)
			return areas, err
		}
	}
	return nil, err
}

// Color returns the number of the colour of a feature, from 1 on: its color_index plus one. 0 means that it has none.
func (o *Outlines) Color(id string) (int, error) {
	f, known, err := o.l.find(o.r, id)
	if !known || err != nil {
		return 0, err
	}
	colors, err := o.l.colors()
	if colors == nil || err != nil || colors[f] == coverage.NoColor {
		return 0, err
	}
	return int(colors[f]) + 1, nil
}

// area returns the polygons of feature f on level z as well-known binary; nil if there are none, or several where kind
// is Polygon.
func (o *Outlines) area(kind wkb.Kind, f, z int) ([]byte, error) {
	level, err := o.l.area(z)
	if level == nil || err != nil {
		return nil, err
	}
	n := level.Polygons(f)
	if n == 0 || n > 1 && kind == wkb.Polygon {
		return nil, nil
	}
	var b []byte
	if kind == wkb.MultiPolygon {
		b = wkb.AppendCount(wkb.AppendHeader(nil, kind, false), n)
	}
	var ring []coverage.Point
	for i := range n {
		rings := level.Rings(f, i)
		b = wkb.AppendCount(wkb.AppendHeader(b, wkb.Polygon, false), rings)
		for k := range rings {
			ring, _ = level.AppendRing(ring[:0], f, i, k)
			b = o.run(b, append(ring, ring[0]), z)
		}
	}
	return b, nil
}

// line returns the lines of feature f on level z in the same way.
func (o *Outlines) line(kind wkb.Kind, f, z int) ([]byte, error) {
	lines, err := o.l.line(z)
	if lines == nil || err != nil {
		return nil, err
	}
	n := lines.Parts(f)
	if n == 0 || n > 1 && kind == wkb.LineString {
		return nil, nil
	}
	var b []byte
	if kind == wkb.MultiLineString {
		b = wkb.AppendCount(wkb.AppendHeader(nil, kind, false), n)
	}
	for i := range n {
		b = o.run(wkb.AppendHeader(b, wkb.LineString, false), lines.Part(f, i), z)
	}
	return b, nil
}

// run appends the number of positions and the positions, in the CRS of the set.
func (o *Outlines) run(b []byte, ps []coverage.Point, z int) []byte {
	b = wkb.AppendCount(b, len(ps))
	unit, origin := o.l.set.unit(z), o.l.set.origin
	for _, p := range ps {
		b = wkb.AppendXY(b, origin[0]+float64(p.X)*unit, origin[1]+float64(p.Y)*unit)
	}
	return b
}
