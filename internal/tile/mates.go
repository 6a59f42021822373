package tile

import (
	"context"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

const (
	mostMates = 32 // largest number of collections that are compared for shared borders
	// number of features whose borders are looked up in the other collection, and number of edges of each
	mateSample  = 8
	matesShared = 4 // borders are shared if one in this many edges is found
)

// mateKey is a key of Maker.groups.
type mateKey struct{ version, set, collection string }

// mates returns c and the collections whose areas share borders with it, directly or through other collections. Two
// collections share borders if edges of some features of the smaller one are edges of the other, in the same CRS.
func (m *Maker) mates(ctx context.Context, in store.Reader, set *Set, c *store.Collection) ([]string, error) {
	key := mateKey{in.Catalog().Version, set.ID, c.ID}
	m.mu.Lock()
	found := m.groups[key]
	m.mu.Unlock()
	if found != nil {
		return found, nil
	}
	var list []*store.Collection
	for _, x := range in.Catalog().Collections {
		if x == c || x.Public && hasAreas(x) && set.Takes(x) && x.Geometry.CRS == c.Geometry.CRS &&
			len(list) < mostMates {
			list = append(list, x)
		}
	}
	group := []*store.Collection{c}
	for i := 0; hasAreas(c) && i < len(group); i++ {
		for k := 0; k < len(list); k++ {
			if list[k] == group[i] || list[k] == c {
				continue
			}
			ok, err := shareBorders(ctx, in, group[i], list[k])
			if err != nil {
				return nil, err
			}
			if ok {
				group, list = append(group, list[k]), append(list[:k:k], list[k+1:]...)
				k--
			}
		}
	}
	ids := make([]string, len(group))
	for i, x := range group {
		ids[i] = x.ID
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.groups {
		if k.version != key.version {
			delete(m.groups, k)
		}
	}
	for _, id := range ids {
		key.collection = id
		m.groups[key] = ids
	}
	return ids, nil
}

func hasAreas(c *store.Collection) bool {
	return c.Geometry != nil && c.Count > 0 && (c.Geometry.Type == "Polygon" || c.Geometry.Type == "MultiPolygon")
}

// borderEdge is an edge between two stored positions, the lesser one first.
type borderEdge [2]orb.Point

func edgeOf(r *wkb.Run, i int) borderEdge {
	var a, b orb.Point
	a[0], a[1] = r.XY(i)
	b[0], b[1] = r.XY(i + 1)
	if b[0] < a[0] || b[0] == a[0] && b[1] < a[1] {
		a, b = b, a
	}
	return borderEdge{a, b}
}

// shareBorders reports whether enough sample edges of the smaller collection are edges of the other one.
func shareBorders(ctx context.Context, in store.Reader, a, b *store.Collection) (bool, error) {
	if a.Extent != nil && b.Extent != nil && !a.Extent.Intersects(*b.Extent) {
		return false, nil
	}
	if a.Count > b.Count {
		a, b = b, a
	}
	sample, err := sampleEdges(ctx, in, a)
	if err != nil || len(sample) == 0 {
		return false, err
	}
	found, seen := map[borderEdge]bool{}, map[store.Row]bool{}
	for e := range sample {
		rows, err := touching(ctx, in, b, e)
		if err != nil {
			return false, err
		}
		var fresh []store.Row
		for _, r := range rows {
			if !seen[r] {
				seen[r], fresh = true, append(fresh, r)
			}
		}
		err = eachRing(ctx, in, b, fresh, func(r *wkb.Run) {
			for i := range r.Len() - 1 {
				if e := edgeOf(r, i); sample[e] {
					found[e] = true
				}
			}
		})
		if err != nil {
			return false, err
		}
		if len(found)*matesShared >= len(sample) {
			return true, nil
		}
	}
	return false, nil
}

// sampleEdges returns mateSample edges of the longest ring of each of the first mateSample features.
func sampleEdges(ctx context.Context, in store.Reader, c *store.Collection) (map[borderEdge]bool, error) {
	page, err := in.Page(ctx, store.Query{Collection: c.ID, Limit: mateSample, Count: store.CountNone})
	if err != nil {
		return nil, err
	}
	sample := map[borderEdge]bool{}
	for _, row := range page.Rows {
		var edges []borderEdge
		err := eachRing(ctx, in, c, []store.Row{row}, func(r *wkb.Run) {
			if n := r.Len() - 1; n > len(edges) {
				edges = edges[:0]
				for i := range n {
					edges = append(edges, edgeOf(r, i))
				}
			}
		})
		if err != nil {
			return nil, err
		}
		for i := range min(mateSample, len(edges)) {
			sample[edges[i*len(edges)/mateSample%len(edges)]] = true
		}
	}
	return sample, nil
}

// eachRing calls fn with each ring of the polygons of some features.
func eachRing(ctx context.Context, in store.Reader, c *store.Collection, rows []store.Row, fn func(*wkb.Run)) error {
	if len(rows) == 0 {
		return nil
	}
	return in.Fetch(ctx, c.ID, rows, store.Want{Properties: []string{}}, func(f *store.Feature) error {
		if f.Geometry.IsNull() {
			return nil
		}
		return wkb.Walk(f.Geometry.WKB, func(r wkb.Run) bool {
			if r.Kind == wkb.Polygon {
				fn(&r)
			}
			return true
		})
	})
}

// touching returns up to mateSample features whose boxes intersect an edge.
func touching(ctx context.Context, in store.Reader, c *store.Collection, e borderEdge) ([]store.Row, error) {
	b := orb.Bound{Min: e[0], Max: e[0]}.Extend(e[1])
	box, err := cql2.Check(cql2.BBox{Prop: c.Geometry.Name, CRS: c.Geometry.CRS, Box: b}, c)
	if err != nil {
		return nil, err
	}
	page, err := in.Page(ctx, store.Query{Collection: c.ID, Filter: box, Limit: mateSample, Count: store.CountNone})
	if err != nil {
		return nil, err
	}
	return page.Rows, nil
}
