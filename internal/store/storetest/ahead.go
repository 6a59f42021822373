package storetest

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/crs"
	"grense/internal/store"
)

// exerciseAhead compares features that come with the question that finds them with those that Fetch gives. A store that cannot leaves them out.
func exerciseAhead(t *testing.T, s store.Store, d *dataset) {
	foreseeing, can := s.(store.Foreseeing)
	for _, set := range d.sets {
		c := find(t, s, set.c.ID)
		filters := []cql2.Expr{nil, cql2.Compare{Op: cql2.Ge, L: cql2.Prop{Name: "antall"}, R: cql2.Int(0)}}
		if c.Geometry != nil {
			filters = append(filters, cql2.BBox{Prop: c.Geometry.Name, CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{5, 57}, Max: orb.Point{15, 70}}})
		}
		for _, want := range []store.Want{{}, {NoGeometry: true}, {Properties: []string{"navn"}}, {Properties: []string{}, NoGeometry: true}} {
			for _, f := range filters {
				q := store.Query{Collection: c.ID, Filter: checked(t, c, f), Limit: 7}
				for pages, back := 0, false; pages < 6; pages++ {
					plain := asked(t, s, q)
					q.Ahead = &want
					p := asked(t, s, q)
					q.Ahead = nil
					if p.Features == nil && can && f == nil && len(p.Rows) > 0 {
						t.Errorf("%s: no features come with a page", c.ID)
					}
					if p.Features != nil && !reflect.DeepEqual(p.Features, fetched(t, s, store.Query{Collection: c.ID, Ahead: &want}, p.Rows)) {
						t.Errorf("%s, %+v: other features come with a page than are fetched", c.ID, want)
					}
					if p.Features = nil; !reflect.DeepEqual(p, plain) {
						t.Errorf("%s: with its features a page is %+v, want %+v", c.ID, p, plain)
					}
					if back = back || p.Next == ""; back {
						q.Cursor = p.Prev
					} else {
						q.Cursor = p.Next
					}
					if q.Cursor == "" {
						break
					}
				}
			}
			if !can {
				continue
			}
			for _, r := range asked(t, s, store.Query{Collection: c.ID, Limit: 3}).Rows {
				row, prev, next, err := foreseeing.(store.Neighbourly).Neighbours(context.Background(), c.ID, r.ID)
				f, before, after, wrong := foreseeing.NeighboursAhead(context.Background(), c.ID, r.ID, want)
				if err != nil || wrong != nil || row != r || before != prev || after != next || !reflect.DeepEqual([]*store.Feature{f}, fetched(t, s, store.Query{Collection: c.ID, Ahead: &want}, []store.Row{r})) {
					t.Errorf("%s %s: %+v between %q and %q: %v, %v", c.ID, r.ID, f, before, after, err, wrong)
				}
			}
		}
	}
}

func asked(t *testing.T, s store.Store, q store.Query) *store.Page {
	t.Helper()
	p, err := s.Page(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fetched is what Fetch gives of rows that q found.
func fetched(t *testing.T, s store.Store, q store.Query, rows []store.Row) (list []*store.Feature) {
	t.Helper()
	err := s.Fetch(context.Background(), q.Collection, rows, *q.Ahead, func(f *store.Feature) error {
		g := *f
		g.Geometry.WKB, g.Values = slices.Clone(f.Geometry.WKB), slices.Clone(f.Values)
		list = append(list, &g)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
