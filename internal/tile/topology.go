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

// wholeID is the set ID of unsimplified levels: a single level with the areas as they are stored.
const wholeID = "arcs"

// wholeOf returns a set for the unsimplified level of a collection, in the CRS of its geometries. Its grid is 1 mm or,
// for a large extent, as fine as positions of 32 bits allow.
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
	// a margin, since extents are rounded, and their transformed edges are not straight
	width := 1.25 * max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1])
	unit := max(width/coverage.MaxPosition, least)
	return &Set{ID: wholeID, CRS: id, origin: b.Center(), width: 1, height: 1, cell: unit * Extent / Cells}, nil
}

// Topology holds the areas of a collection as arcs; two areas with a common border share the arcs of that border. It is
// of one version of the data, and for one goroutine. Features are numbered from 0 in the order of their ids in the
// store. Positions are in CRS, x before y.
type Topology struct {
	CRS crs.ID
	// Coverage means that adjacent features share their arcs. It is false if their edges cross too often; then each
	// feature has arcs of its own.
	Coverage bool

	l       *levels
	r       *records
	level   *coverage.Level
	origin  orb.Point
	degrees crs.Func // transforms CRS to CRS84
	points  []coverage.Point
}

// Topology returns the unsimplified areas of a collection in the CRS of its geometries. Positions are rounded to a
// millimetre, or to about 1/200,000,000 of a larger extent. The first call for a version of the data builds the
// topology and waits until it is complete or ctx ends. Without areas the Topology has no arcs. It returns
// store.ErrNotFound for a collection that is not in the catalog, and an error of kind problem.NotFound if it has no
// geometries.
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

// Topology returns the topology of the outlines, in the CRS of their set. It lacks areas too small for the level.
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

// Features returns the number of features, including those without areas.
func (t *Topology) Features() int { return t.level.Features() }

// Find returns the number of the feature with a row id; ok is false if there is none.
func (t *Topology) Find(id string) (feature int, ok bool, err error) { return t.l.find(t.r, id) }

// ID returns the row id of a feature.
func (t *Topology) ID(feature int) (string, error) {
	_, _, err := t.r.of(feature)
	return t.r.rowID(), err
}

// Arcs returns the number of arcs.
func (t *Topology) Arcs() int { return t.level.Arcs() }

// Unit returns the width of the grid of positions, in units of the CRS.
func (t *Topology) Unit() float64 { return t.level.Unit }

// Arc appends the positions of an arc, at least two. A closed arc ends where it begins.
func (t *Topology) Arc(dst []orb.Point, arc int) []orb.Point {
	t.points = t.level.Arc(t.points[:0], arc)
	for _, p := range t.points {
		dst = append(dst, orb.Point{t.origin[0] + float64(p.X)*t.level.Unit, t.origin[1] + float64(p.Y)*t.level.Unit})
	}
	return dst
}

// Polygons calls fn with the rings of each polygon of a feature: the outer ring first, counter-clockwise with y
// pointing up, then the holes, clockwise. A ring is a list of arcs in sequence; as in TopoJSON, ^n is arc n in reverse.
// Rings are valid only until fn returns.
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

// Neighbour is a feature that shares a border with another one.
type Neighbour struct {
	ID     string
	Length float64 // of the shared border, in metres on the ellipsoid
}

// Neighbours returns the features that share a border with a feature, the longest border first. In a collection with
// versions they include versions of any time. Features that only touch in points, or whose edges differ, are not
// neighbours. It returns store.ErrNotFound if there is no such feature.
func (t *Topology) Neighbours(id string) ([]Neighbour, error) {
	f, ok, err := t.Find(id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, store.ErrNotFound
	}
	list := []Neighbour{}
	lengths := map[int32]float64{} // by arc; versions of a feature share arcs
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

// length returns the length of an arc in metres.
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
