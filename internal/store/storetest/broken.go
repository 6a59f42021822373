package storetest

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Put replaces a geometry with bytes, bypassing the Writer: in the row of a table whose key column holds id.
// It reports whether the storage accepts them.
type Put func(c *store.Collection, id string, geometry []byte) bool

// BrokenOpener is an Opener that calls spoil after writing and before opening.
type BrokenOpener func(t *testing.T, fill func(w store.Writer), spoil func(Put)) store.Store

// noGeometries returns invalid geometries, as other programs may leave them (package wkb), and one without positions.
func noGeometries() map[string][]byte {
	line := func(xy ...float64) []byte {
		b := wkb.AppendCount(wkb.AppendHeader(nil, wkb.LineString, false), len(xy)/2)
		for i := 0; i < len(xy); i += 2 {
			b = wkb.AppendXY(b, xy[i], xy[i+1])
		}
		return b
	}
	point := func(x, y float64) []byte { return wkb.AppendXY(wkb.AppendHeader(nil, wkb.Point, false), x, y) }
	among := func(k wkb.Kind, parts ...[]byte) []byte {
		b := wkb.AppendCount(wkb.AppendHeader(nil, k, false), len(parts))
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	nan, inf := math.NaN(), math.Inf(1)
	ring := line(10, 60, 11, 60, 11, inf, 10, 60)
	return map[string][]byte{
		"a line that ends in NaN":   line(10.1, 60, nan, nan),
		"a line that begins in NaN": line(nan, 60, 10.1, 60),
		"half a point":              point(nan, 60),
		"a point at infinity":       point(10, inf),
		"a point beyond Earth":      point(1e300, 60),
		"a half point among points": among(wkb.MultiPoint, point(10, 60), point(10, nan)),
		"an infinite ring": append(wkb.AppendCount(wkb.AppendHeader(nil, wkb.Polygon, false), 1),
			ring[5:]...),
		"a broken part behind":          among(wkb.Collection, point(10, 60), line(10, 60, nan, nan)),
		"a line among points":           among(wkb.MultiPoint, line(10, 60, 11, 61)),
		"more positions than there are": line(10, 60, 11, 61)[:25],
		"more parts than there are":     wkb.AppendCount(wkb.AppendHeader(nil, wkb.Collection, false), 1<<30),
		"nothing":                       line(),
	}
}

// ExerciseBroken tests invalid geometries: the feature is served without one, matches every bbox and no spatial
// predicate, and is counted and named in the notes of the catalog.
func ExerciseBroken(t *testing.T, open BrokenOpener) {
	t.Helper()
	d := newDataset()
	spoilt := map[*set]int{}
	s := open(t, func(w store.Writer) { d.write(t, w) }, func(put Put) {
		for _, set := range d.sets {
			i := 0
			for _, b := range noGeometries() {
				for ; set.c.Geometry != nil && set.rows[i].shape == nil; i++ {
				}
				if f := set.rows[i]; set.c.Geometry != nil && put(set.c, f.id, b) {
					if f.shape = nil; len(b) > 9 {
						spoilt[set]++
					}
				}
			}
		}
	})
	t.Run("catalog", func(t *testing.T) { exerciseCatalog(t, s, d) })
	t.Run("fetch", func(t *testing.T) { exerciseFetch(t, s, d) })
	t.Run("filters", func(t *testing.T) { exerciseFilters(t, s, d) })
	for i, set := range d.sets {
		if set.c.Geometry == nil {
			continue
		}
		if spoilt[set] < 6 {
			t.Errorf("%s: the storage took %d of the values", set.c.ID, spoilt[set])
		}
		if !noted(s, set) {
			t.Errorf("%s: the catalog does not tell of %d values: %+v", set.c.ID, spoilt[set], s.Catalog().Notes)
		}
		t.Run("no geometry of "+set.c.ID, func(t *testing.T) {
			agree(t, s, set, cql2.IsNull{X: name(set.c.Geometry.Name)})
			agree(t, s, set, cql2.Not{X: cql2.IsNull{X: name(set.c.Geometry.Name)}})
			far := orb.Bound{Min: orb.Point{170, -80}, Max: orb.Point{171, -79}}
			agree(t, s, set, cql2.BBox{Prop: set.c.Geometry.Name, CRS: crs.CRS84, Box: far})
			agree(t, s, set, cql2.BBox{Prop: set.c.Geometry.Name, CRS: set.c.Geometry.CRS, Box: far})
			agree(t, s, set, cql2.Not{X: cql2.BBox{Prop: set.c.Geometry.Name, CRS: set.c.Geometry.CRS, Box: far}})
			g := &generator{r: rand.New(rand.NewPCG(12, uint64(i))), set: set}
			for range 200 {
				agree(t, s, set, g.predicate(3))
			}
		})
	}
}

// noted reports whether a note states how many values of a collection cannot be read, and the first of them.
func noted(s store.Store, set *set) bool {
	for _, n := range s.Catalog().Notes {
		if strings.HasSuffix(n.Layer, set.c.Table) && !n.Refused &&
			strings.Contains(n.Reason, "cannot be read (the first ") {
			return true
		}
	}
	return false
}
