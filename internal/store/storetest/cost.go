package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// circle returns a ring of n edges around Oslo.
func circle(n int) cql2.Geom {
	ring := make(orb.Ring, 0, n+1)
	for i := range n {
		a := float64(i) / float64(n)
		ring = append(ring, orb.Point{10.5 + a, 59.5 + a*(1-a)})
	}
	return cql2.Geom{G: orb.Polygon{append(ring, ring[0])}, CRS: crs.CRS84}
}

// exerciseCost tests that every class occurs, and that all stores agree.
func exerciseCost(t *testing.T, s store.Store) {
	eq := func(p string, v cql2.Expr) cql2.Expr { return cql2.Compare{Op: cql2.Eq, L: name(p), R: v} }
	box := cql2.BBox{Prop: "geometry", CRS: crs.CRS84,
		Box: orb.Bound{Min: orb.Point{10.1, 59.1}, Max: orb.Point{10.2, 59.2}}}
	spatial := func(op cql2.SpatialOp, g cql2.Geom) cql2.Expr { return cql2.Spatial{Op: op, L: name("geometry"), R: g} }
	point := cql2.Geom{G: orb.Point{10.1, 59.1}, CRS: crs.CRS84}
	related := cql2.Related{Relation: "navn", X: cql2.Compare{Op: cql2.Eq,
		L: cql2.Func{Name: "norm", Args: []cql2.Expr{name("tekst")}}, R: cql2.Text("oslo")}}
	for what, x := range map[string]struct {
		q    store.Query
		want store.Cost
	}{
		"all":                           {store.Query{}, store.CostPage},
		"a collection that is not here": {store.Query{Collection: "ingen"}, store.CostPage},
		"a page far away":               {store.Query{Offset: 1_000_000}, store.CostScan},
		"a box":                         {store.Query{Filter: box}, store.CostIndexed},
		"a box and more": {store.Query{Filter: cql2.And{eq("antall", cql2.Int(1)), box}},
			store.CostIndexed},
		"a box or more":             {store.Query{Filter: cql2.Or{eq("antall", cql2.Int(1)), box}}, store.CostScan},
		"outside of a box":          {store.Query{Filter: cql2.Not{X: box}}, store.CostScan},
		"a number without an index": {store.Query{Filter: eq("antall", cql2.Int(1))}, store.CostScan},
		"an order without an index": {store.Query{SortBy: []store.Sort{{Property: "navn"}}}, store.CostScan},
		"a part of a text": {store.Query{Filter: cql2.Like{X: name("navn"), Pattern: cql2.Text("%o%")}},
			store.CostScan},
		"a search column of a relation": {store.Query{Filter: related}, store.CostIndexed},
		"a point in a geometry":         {store.Query{Filter: spatial(cql2.SContains, point)}, store.CostIndexed},
		"a shape of a few edges":        {store.Query{Filter: spatial(cql2.SIntersects, circle(8))}, store.CostIndexed},
		"a shape of many edges": {store.Query{Filter: spatial(cql2.SIntersects, circle(100))},
			store.CostGeometry},
		"where edges meet": {store.Query{Filter: cql2.And{box, spatial(cql2.STouches, circle(8))}},
			store.CostGeometry},
		"two geometries of a row": {
			store.Query{Filter: cql2.Or{box, cql2.Spatial{Op: cql2.SEquals, L: name("geometry"), R: name("geometry")}}},
			store.CostGeometry},
	} {
		if x.q.Collection == "" {
			x.q.Collection = "steder"
			x.q.Filter = checked(t, find(t, s, "steder"), x.q.Filter)
		}
		if got := s.Cost(x.q); got != x.want {
			t.Errorf("%s: %v, want %v", what, got, x.want)
		}
		exerciseExplain(t, s, x.q)
	}
}

// exerciseExplain tests that Explain describes what Page returns.
func exerciseExplain(t *testing.T, s store.Store, q store.Query) {
	t.Helper()
	q.Limit = 10
	plan, err := s.Explain(context.Background(), q)
	if _, ok := s.Catalog().Collection(q.Collection); !ok {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%+v: %v", q, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	p := page(t, s, q)
	if plan.Way == "" || plan.Does == "" || plan.Cost != s.Cost(q) || plan.Rows != len(p.Rows) ||
		plan.Matched != p.Matched {
		t.Errorf("%+v: %+v, but a page of %d of %d", q, plan, len(p.Rows), p.Matched)
	}
}
