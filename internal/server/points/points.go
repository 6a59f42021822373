// Package points finds features of areas at a position: in memory if the collection has an index, else in the store.
package points

import (
	"context"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/store"
)

// Finder finds features at positions for one request.
type Finder struct {
	*server.Call
	indexes *Indexes
}

// Finder returns a finder for a call.
func (x *Indexes) Finder(c *server.Call) Finder { return Finder{c, x} }

// Index returns the index of a collection for the current data version; nil if there is none, so that the store must
// answer.
func (c Finder) Index(coll *store.Collection) (*Index, error) {
	if server.IsVersioned(coll) { // an index holds all rows
		return nil, nil
	}
	state, err := c.DataVersion(coll.ID)
	if err == nil {
		err = c.PayOnce()
	}
	if err != nil {
		return nil, err
	}
	return c.indexes.of(coll.ID, state), nil
}

// attempts is how often AwaitIndex waits while the data change.
const attempts = 5

// AwaitIndex waits until an index that is being built is ready, and returns it; nil if there can be none.
func (c Finder) AwaitIndex(coll *store.Collection) (*Index, error) {
	for range attempts {
		i, err := c.Index(coll)
		if i != nil || err != nil {
			return i, err
		}
		built := c.indexes.begun(coll.ID)
		if built == nil { // it is ready by now, or there can be none
			return c.Index(coll)
		}
		select {
		case <-built:
		case <-c.Request.Context().Done():
			return nil, c.Request.Context().Err()
		}
	}
	return nil, nil
}

// Holding returns the condition that a feature has a position inside it or on its border.
func Holding(coll *store.Collection, system crs.ID, x, y float64) cql2.Expr {
	return cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: coll.Geometry.Name},
		R: cql2.Geom{G: orb.Point{x, y}, CRS: system}}
}

// AllOf returns all features that a query selects, which must be those at a position.
func (c Finder) AllOf(q store.Query) ([]store.Row, error) {
	var page *store.Page
	q.Limit, q.Count = c.indexes.kit.Config.Limits.PageMax, store.CountNone
	err := c.Ask(func(ctx context.Context) (err error) {
		page, err = c.indexes.kit.Store.Page(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	if page.Next != "" {
		return nil, problem.New(problem.TooLarge, nil,
			"more than %d features of %s cover the point; leave that collection out with the parameter collections",
			len(page.Rows), q.Collection)
	}
	return page.Rows, nil
}

// At returns the features of a collection of areas that have a position inside them or on their border, of versions
// those of a time; the zero time is now.
func (c Finder) At(coll *store.Collection, system crs.ID, x, y float64, at time.Time) ([]store.Row, error) {
	i, err := c.Index(coll)
	if err != nil {
		return nil, err
	}
	if i != nil {
		return i.At(coll, system, x, y)
	}
	e, err := cql2.Check(Holding(coll, system, x, y), coll)
	if err != nil {
		return nil, err
	}
	return c.AllOf(c.AsOf(coll, store.Query{Filter: e}, at))
}

// AsOf makes q a query of a collection that selects, of versions, those of a time; the zero time is now.
func (c Finder) AsOf(coll *store.Collection, q store.Query, at time.Time) store.Query {
	q = c.Current(coll, q)
	if !q.AsOf.IsZero() && !at.IsZero() {
		q.AsOf = store.Asked(at)
	}
	return q
}
