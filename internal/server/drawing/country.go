package drawing

import (
	"context"
	"errors"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

// mostGround limits the features of the country under a map of other features. If there are more, the country is
// drawn without inner borders.
const mostGround = 60

// Ground returns the country in grey, for the map of another collection; nil if there is none in that plane.
func (c Drawing) Ground(at Scale) ([]draw.Mark, error) {
	under := server.Country(c.Catalog)
	if under == nil && c.maps.Shore != nil && at.Plane == crs.UTM33 {
		return []draw.Mark{{Outline: c.maps.Shore, Near: true}}, nil
	}
	if under == nil || under == c.Collection || CRS(under) != at.Plane {
		return nil, nil
	}
	return c.groundOf(under, at, 0)
}

// groundOf returns the areas of a collection in grey, or nil if they are no more than the shown features.
func (c Drawing) groundOf(under *store.Collection, at Scale, shown int) ([]draw.Mark, error) {
	o, err := c.Outliner(under, at.of(under.Count))
	if err != nil {
		return nil, err
	}
	rows, err := c.allRows(under)
	if err != nil {
		return nil, err
	}
	outs, complete, err := c.lightOutlines(o, rows)
	if err == nil && !complete { // a part of a country would look like all of it
		return nil, nil
	}
	marks := c.Marks(under, outs, false)
	if errors.Is(err, store.ErrChanged) || err == nil && len(marks) <= shown { // the background may be left out
		return nil, nil
	}
	if err == nil && len(marks) > mostGround {
		all := make([]*draw.Outline, len(marks))
		for i, m := range marks {
			all[i] = m.Outline
		}
		if marks = nil; len(all) > 0 {
			if whole := draw.Union(all); whole != nil {
				marks = []draw.Mark{{Outline: whole}}
			}
		}
	}
	for i := range marks {
		marks[i].Near, marks[i].Href = true, ""
	}
	return marks, err
}

// surroundings returns the other features of the collection that touch a box in its storage CRS, widened by a fifth.
func (c Drawing) surroundings(at Scale, id string, b orb.Bound) ([]draw.Mark, error) {
	g := c.Collection.Geometry
	least := 10000.0
	if g.CRS.Geographic() {
		least = .1
	}
	wide := b.Pad(max((b.Max[0]-b.Min[0])/5, (b.Max[1]-b.Min[1])/5, least))
	domain := g.CRS.Domain()
	wide = orb.Bound{Min: orb.Point{max(wide.Min[0], domain.Min[0]), max(wide.Min[1], domain.Min[1])},
		Max: orb.Point{min(wide.Max[0], domain.Max[0]), min(wide.Max[1], domain.Max[1])}}
	e, err := cql2.Check(cql2.BBox{Prop: g.Name, CRS: g.CRS, Box: wide}, queryable.Schema(c.Collection, c.Zone()))
	if err != nil {
		return nil, err
	}
	var page *store.Page
	err = c.Ask(func(ctx context.Context) (err error) {
		page, err = c.maps.Store.Page(ctx,
			c.Current(c.Collection, store.Query{Filter: e, Limit: mostNear, Count: store.CountNone}))
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(page.Rows, func(r store.Row) bool { return r.ID == id })
	o, err := c.Outliner(c.Collection, at)
	if err != nil {
		return nil, err
	}
	outs, _, err := c.lightOutlines(o, rows)
	if errors.Is(err, store.ErrChanged) { // they may be left out
		return nil, nil
	}
	return c.Marks(c.Collection, outs, true), err
}
