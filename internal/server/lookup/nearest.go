package lookup

import (
	"context"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/locate"
	"grense/internal/server"
	"grense/internal/store"
)

// candidate is a feature that may be the nearest one.
type candidate struct {
	coll   *store.Collection
	row    store.Row
	metres float64
}

// sameDistance is by how many metres distances differ that count as equal: that is how exact they are.
const sameDistance = 0.001

// nearestOf is the nearest of candidates in the order of their collections and by id; of several at one distance the
// last, which is of the smallest kind. Nil when there is none.
func nearestOf(all []candidate) *candidate {
	least := math.Inf(1)
	for _, a := range all {
		least = min(least, a.metres)
	}
	for i, a := range slices.Backward(all) {
		if a.metres <= least+sameDistance && !math.IsInf(a.metres, 1) {
			return &all[i]
		}
	}
	return nil
}

// nearest is the division nearest to a point that none covers; nil when there is none at all. What has no index, or
// would be too much to measure in it, is asked of the store.
func (c *call) nearest(at orb.Point, indexes []*server.PointIndex) (*division, error) {
	p := c.Params.(*lookupParams)
	var space [8]candidate
	all := space[:0]
	var others []*store.Collection
	within := math.Inf(1)
	// those with the most features first, of which one is the nearest, as a rule
	for n, coll := range slices.Backward(p.collections) {
		var room [16]locate.Near
		var near []locate.Near
		known := false
		if indexes[n] != nil {
			near, known = indexes[n].AppendNear(room[:0], at, within)
		}
		if !known {
			others = append(others, coll)
			continue
		}
		for _, a := range near {
			all = append(all, candidate{coll, indexes[n].Rows[a.Area], a.Metres})
			within = min(within, a.Metres+sameDistance)
		}
	}
	if others != nil {
		slices.Reverse(others)
		more, err := c.nearStored(at, others, nearestOf(all))
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	place := func(a candidate) int { return slices.Index(p.collections, a.coll) }
	slices.SortStableFunc(all, func(a, b candidate) int { return place(a) - place(b) })
	best := nearestOf(all)
	if best == nil {
		return nil, nil
	}
	out, err := c.describe(best.coll, []store.Row{best.row})
	if err != nil {
		return nil, err
	}
	near := *out[0]
	near.distance = best.metres
	return &near, nil
}

// besideNearest is by how many metres the nearest of another kind may be farther away than the nearest of all, to be
// told beside it: borders of two kinds that are one are drawn apart in data that were simplified.
const besideNearest = 1000.0

// nearestOfEach is near, the nearest division, and those of the other collections that are nearly as near, in the
// order of the collections.
func (c *call) nearestOfEach(at orb.Point, indexes []*server.PointIndex, near *division) (out []*division, err error) {
	within := near.distance + besideNearest
	for n, coll := range c.Params.(*lookupParams).collections {
		if coll == near.coll {
			out = append(out, near)
			continue
		}
		var all []candidate
		var found []locate.Near
		known := false
		if indexes[n] != nil {
			found, known = indexes[n].AppendNear(nil, at, within)
		}
		for _, a := range found {
			all = append(all, candidate{coll, indexes[n].Rows[a.Area], a.Metres})
		}
		if !known {
			if all, err = c.nearStored(at, []*store.Collection{coll}, &candidate{metres: within}); err != nil {
				return nil, err
			}
		}
		best := nearestOf(all)
		if best == nil || best.metres > within {
			continue
		}
		described, err := c.describe(coll, []store.Row{best.row})
		if err != nil {
			return nil, err
		}
		also := *described[0]
		also.distance = best.metres
		out = append(out, &also)
	}
	return out, nil
}

// Half the sides of the boxes in which the nearest division is looked for, in metres: the first, by how much each is
// larger than the one before, and the last, which is half way round the world.
const (
	nearFirst = 4000.0
	nearGrow  = 4.0
	nearLast  = 20037508.0
)

// nearStored are the features of collections among which the nearest to a point is, unless known is nearer. A box
// holds all that is nearer than half its side, and the first thing found in one tells how large the box must be.
func (c *call) nearStored(at orb.Point, collections []*store.Collection, known *candidate) ([]candidate, error) {
	last := nearLast
	if known != nil {
		last = min(known.metres+sameDistance, nearLast)
	}
	for r := min(nearFirst, last); ; r = min(r*nearGrow, last) {
		all, err := c.closest(at, r, collections)
		best := nearestOf(all)
		switch {
		case err != nil || r >= last:
			return all, err
		case best == nil:
		case best.metres+sameDistance > r:
			return c.closest(at, min(best.metres+sameDistance, last), collections)
		default:
			return all, nil
		}
	}
}

// within finds the features of a collection that touch a box around a point, with half sides of r metres.
func (c *call) within(at orb.Point, r float64, coll *store.Collection) (rows []store.Row, err error) {
	const degree = 110500.0 // metres in a degree of latitude, at least
	dy := r / degree
	dx := 180.0
	if edge := math.Abs(at[1]) + dy; edge < 89 {
		dx = min(180, dy/math.Cos(edge*math.Pi/180))
	}
	box := orb.Bound{Min: orb.Point{at[0] - dx, max(-90, at[1]-dy)}, Max: orb.Point{at[0] + dx, min(90, at[1]+dy)}}
	switch {
	case dx >= 180:
		box.Min[0], box.Max[0] = -180, 180
	case box.Min[0] < -180:
		box.Min[0] += 360
	case box.Max[0] > 180:
		box.Max[0] -= 360
	}
	e, err := c.dividing(coll, cql2.BBox{Prop: coll.Geometry.Name, CRS: crs.CRS84, Box: box})
	if err != nil {
		return nil, err
	}
	q := c.dated(coll, store.Query{Filter: e, Limit: c.s.Config.Limits.PageMax, Count: store.CountNone})
	for more := true; more; more = q.Cursor != "" {
		err = c.Ask(func(ctx context.Context) error {
			page, err := c.s.Store.Page(ctx, q)
			if err == nil {
				rows, q.Cursor = append(rows, page.Rows...), page.Next
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// closest are the nearest features of collections among those within r metres or not much more, in order, with others
// before them that were the nearest so far.
func (c *call) closest(at orb.Point, r float64, collections []*store.Collection) (out []candidate, err error) {
	least := math.Inf(1)
	for _, coll := range collections {
		found, err := c.within(at, r, coll)
		if err != nil {
			return nil, err
		}
		back, err := crs.Between(coll.Geometry.CRS, crs.CRS84)
		if err != nil {
			return nil, err
		}
		for rows := range slices.Chunk(found, server.Batch) {
			n := 0
			err := c.Ask(func(ctx context.Context) error {
				return c.s.Store.Fetch(ctx, coll.ID, rows, store.Want{Properties: []string{}},
					func(f *store.Feature) error {
						if d := f.Geometry.Distance(at, back); d <= least+sameDistance && !math.IsInf(d, 1) {
							least = min(least, d)
							out = append(out, candidate{coll, rows[n], d})
						}
						n++
						return ctx.Err()
					})
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
