package server_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// weighed counts the bytes of geometries that pages read. Tile levels are built from a snapshot, which it does not
// count.
type weighed struct {
	store.Store
	bytes atomic.Int64
}

func (s *weighed) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return s.Store.Fetch(ctx, collection, rows, want, func(f *store.Feature) error {
		s.bytes.Add(int64(len(f.Geometry.WKB)))
		return fn(f)
	})
}

// TestPagesDoNotReadLargeNeighbours: the map of a small feature leaves out neighbours and background that take long
// to draw.
func TestPagesDoNotReadLargeNeighbours(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	const large, corners = 12, 60_000 // of a megabyte each
	storetest.Write(t, func(w store.Writer) {
		for _, id := range []string{"flater", "punkt"} {
			coll := &store.Collection{ID: id, Table: id, Public: true,
				Key: store.FeatureKey{Column: "id", Type: cql2.TypeText},
				Geometry: &store.Geom{Name: "geometry", Column: "geom",
					Type: map[string]string{"flater": "Polygon", "punkt": "Point"}[id], CRS: crs.UTM33}}
			if err := w.Define(t.Context(), coll, false); err != nil {
				t.Fatal(err)
			}
			insert, err := w.Insert(t.Context(), id, []string{"id", "geom"})
			if err != nil {
				t.Fatal(err)
			}
			put := func(id string, g orb.Geometry) {
				if err := insert(id, store.Geometry{WKB: wkb.Append(nil, g)}); err != nil {
					t.Fatal(err)
				}
			}
			if id == "punkt" {
				put("p", orb.Point{250_000, 6_650_000})
				continue
			}
			put("a", orb.Polygon{{{250_000, 6_650_000}, {251_000, 6_650_000}, {251_000, 6_651_000},
				{250_000, 6_651_000}, {250_000, 6_650_000}}})
			for n := range large {
				r := make(orb.Ring, corners+1)
				for i := range corners {
					angle := 2 * math.Pi * float64(i) / corners
					r[i] = orb.Point{math.Round((250_000+40_000*math.Cos(angle))*1e3) / 1e3,
						math.Round((6_650_000+float64(n)+40_000*math.Sin(angle))*1e3) / 1e3}
				}
				r[corners] = r[0]
				put("x"+string(rune('a'+n)), orb.Polygon{r})
			}
		}
	})(gpkg.Create(t.Context(), path))
	for _, page := range []string{"flater/items/a", "punkt/items/p", "punkt/items"} {
		s := &weighed{Store: openGeoPackage(t, path)}
		a := serveStore(t, s, nil)
		if text := string(a.get("/collections/" + page + "?f=html").wants(200).Body); !strings.Contains(text, "<svg") {
			t.Errorf("%s: there is no map", page)
		}
		if n := s.bytes.Load(); n > 7<<20 {
			t.Errorf("%s: %d bytes of geometries were read", page, n)
		}
	}
}
