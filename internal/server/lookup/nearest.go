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
	"grense/internal/server/points"
	"grense/internal/store"
)

// candidate is a feature with its distance from the point.
type candidate struct {
	coll   *store.Collection
	row    store.Row
	metres float64
}

// sameDistance is the accuracy of distances, in metres. Distances that differ by less are equal.
const sameDistance = 0.001

// nearestOf returns the nearest of candidates, which are ordered by collection and id; nil if there is none. Of several
// at the same distance it returns the last, which is of the smallest kind.
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

// nearest returns the division nearest to a point that no division covers; nil if there are no divisions. It queries
// the store for collections without an index, and if the index would have to measure too many features.
func (c *call) nearest(at orb.Point, indexes []*points.Index) (*division, error) {
	p := c.Params.(*lookupParams)
	var space [8]candidate
	all := space[:0]
	var others []*store.Collection
	within := math.Inf(1)
	// collections with many features come first: one of these is usually the nearest
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

// alsoNearest is the extra distance, in metres, up to which the nearest feature of another collection is shown too. In
// simplified data, a border that two kinds share is drawn in two places.
const alsoNearest = 1000.0

// nearestOfEach returns near, the nearest division, and those of other collections that are at most alsoNearest farther
// away, in the order of the collections.
func (c *call) nearestOfEach(at orb.Point, indexes []*points.Index, near *division) (out []*division, err error) {
	within := near.distance + alsoNearest
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

// Half the sides of the boxes that are searched for the nearest division, in metres: the first, the factor from one to
// the next, and the last, which covers half the earth.
const (
	nearFirst = 4000.0
	nearGrow  = 4.0
	nearLast  = 20037508.0
)

// nearStored returns candidates for the feature nearest to a point, from queries with growing boxes. It may return none
// if known is nearer. The distance of the first feature found determines the last box.
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

// within returns the features of a collection that touch a box around a CRS84 point, with half sides of r metres.
func (c *call) within(at orb.Point, r float64, coll *store.Collection) (rows []store.Row, err error) {
	const degree = 110500.0 // the smallest length of a degree of latitude in metres
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

// closest returns the features within about r metres that were nearer than all before them, in the order of
// collections. The nearest one is among them.
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
