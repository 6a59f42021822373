package tile

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// wholeID names, in works and side files, levels that are one: that of the areas as they are stored.
const wholeID = "arcs"

// wholeOf is a grid over a collection in the CRS of its geometries, on which nothing is left out that it can show: of
// a millimetre, or as fine as there are positions for its extent.
func wholeOf(c *store.Collection) (*Set, error) {
	id := c.Geometry.CRS
	b, least := id.Domain(), .001
	if id.Geographic() {
		least = 1e-8
	}
	if c.Extent != nil {
		var err error
		if b, err = crs.EnvelopeOf(*c.Extent, crs.CRS84, id); err != nil {
			return nil, err
		}
	}
	// extents are rounded, and of other edges than their images
	width := 1.25 * max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1])
	unit := max(width/coverage.MaxPosition, least)
	return &Set{ID: wholeID, CRS: id, origin: b.Center(), width: 1, height: 1, cell: unit * Extent / Cells}, nil
}

// Topology is the areas of a collection as arcs, each of which is there once for the features on both of its sides.
// It is of one state of the data, and for one goroutine. Features are numbered from 0 in the order of their ids in
// the store. Positions are in CRS, x before y.
type Topology struct {
	CRS crs.ID
	// Coverage says that features which lie beside each other share their arcs; else their edges cross so often that
	// each has arcs of its own.
	Coverage bool

	l       *levels
	r       *records
	level   *coverage.Level
	origin  orb.Point
	degrees crs.Func // from CRS to CRS84
	points  []coverage.Point
}

// Topology returns the areas of a collection in full, in the CRS of its geometries, to a millimetre or what some 200
// million positions across its extent allow. It waits, for as long as ctx lets it, while they are made for the first
// time for this state of the data. A collection without areas gives a Topology without arcs, one that is not in the
// catalog store.ErrNotFound, and one without geometries an error of kind problem.NotFound.
func (m *Maker) Topology(ctx context.Context, st store.Store, collection string) (*Topology, error) {
	c, ok := st.Catalog().Collection(collection)
	switch {
	case !ok:
		return nil, store.ErrNotFound
	case c.Geometry == nil:
		return nil, problem.New(problem.NotFound, nil, "The collection %s has no geometries.", collection)
	}
	set, err := wholeOf(c)
	if err != nil {
		return nil, err
	}
	l, err := m.await(ctx, awaited{st, set, c, func(int) {}})
	if err != nil {
		return nil, err
	}
	return l.topology(l.side.sum.Last)
}

// Topology is the same of outlines, in the CRS of their set: of those that have an area on their level.
func (o *Outlines) Topology() (*Topology, error) { return o.l.topology(o.z) }

func (l *levels) topology(z int) (*Topology, error) {
	t := &Topology{CRS: l.set.CRS, Coverage: l.side.sum.Coverage, l: l, origin: l.set.origin}
	var err error
	if t.degrees, err = crs.Between(t.CRS, crs.CRS84); err != nil {
		return nil, err
	}
	if t.r, err = l.records([]string{}); err != nil {
		return nil, err
	}
	if t.level, err = l.area(z); t.level == nil && err == nil {
		t.level = coverage.Nothing(l.side.sum.Features, l.set.unit(z))
	}
	return t, err
}

// Features returns the number of features, with those that have no area.
func (t *Topology) Features() int { return t.level.Features() }

// Find returns the number of a feature; false when there is none with that id.
func (t *Topology) Find(id string) (feature int, ok bool, err error) { return t.l.find(t.r, id) }

// ID returns the id of a feature's row.
func (t *Topology) ID(feature int) (string, error) {
	_, _, err := t.r.of(feature)
	return t.r.rowID(), err
}

// Arcs returns the number of arcs.
func (t *Topology) Arcs() int { return t.level.Arcs() }

// Unit is the width of the grid on which positions lie, in units of the CRS.
func (t *Topology) Unit() float64 { return t.level.Unit }

// Arc appends the positions of an arc, at least two. A closed one ends where it begins.
func (t *Topology) Arc(dst []orb.Point, arc int) []orb.Point {
	t.points = t.level.Arc(t.points[:0], arc)
	for _, p := range t.points {
		dst = append(dst, orb.Point{t.origin[0] + float64(p.X)*t.level.Unit, t.origin[1] + float64(p.Y)*t.level.Unit})
	}
	return dst
}

// Polygons calls fn with the rings of each polygon of a feature, the outer one first, counter-clockwise with y up,
// holes clockwise. A ring is the arcs that it runs through, ^n for arc n backwards, as those of TopoJSON; their last
// position is that of the first. Rings belong to fn only until it returns.
func (t *Topology) Polygons(feature int, fn func(rings [][]int32) error) error {
	var rings [][]int32
	for i := range t.level.Polygons(feature) {
		rings = rings[:0]
		for k := range t.level.Rings(feature, i) {
			ring, _ := t.level.RingArcs(feature, i, k)
			rings = append(rings, ring)
		}
		if err := fn(rings); err != nil {
			return err
		}
	}
	return nil
}

// Neighbour is a feature beside another one.
type Neighbour struct {
	ID     string
	Length float64 // of the border that the two share, on the ellipsoid, in metres
}

// Neighbours returns the features that share a border with one, those with the longest first; of a collection of
// versions, those of all times. Features that meet in single points have none, nor have those whose edges do not
// match. Where there is no feature with that id, store.ErrNotFound.
func (t *Topology) Neighbours(id string) ([]Neighbour, error) {
	f, ok, err := t.Find(id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, store.ErrNotFound
	}
	list := []Neighbour{}
	lengths := map[int32]float64{} // of arcs: versions share them
	for _, b := range t.level.Borders(f) {
		n := Neighbour{}
		if n.ID, err = t.ID(b.Feature); err != nil {
			return nil, err
		}
		for _, a := range b.Arcs {
			if _, ok := lengths[a]; !ok {
				lengths[a] = t.length(int(a))
			}
			n.Length += lengths[a]
		}
		list = append(list, n)
	}
	slices.SortStableFunc(list, func(a, b Neighbour) int { return cmp.Compare(b.Length, a.Length) })
	return list, nil
}

// length is that of an arc in metres.
func (t *Topology) length(arc int) (sum float64) {
	last := orb.Point{math.NaN()}
	for _, p := range t.Arc(nil, arc) {
		x, y := t.degrees(p[0], p[1])
		if at := (orb.Point{x, y}); math.IsNaN(last[0]) {
			last = at
		} else {
			sum, last = sum+crs.Distance(last, at), at
		}
	}
	return sum
}
