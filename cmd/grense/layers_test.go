package main_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// layersFile writes a GeoPackage of layers lag_0 to lag_(n-1), with as many points each as rows says.
// The column a of every row is value.
func layersFile(t testing.TB, n, rows int, value int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "layers.gpkg")
	ctx := context.Background()
	storetest.Write(t, func(w store.Writer) {
		for i := range n {
			id := fmt.Sprintf("lag_%d", i)
			c := &store.Collection{ID: id, Table: id, Public: true,
				Key:        store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
				Properties: []store.Property{{Name: "a", Column: "a", Type: cql2.TypeInteger}},
				Geometry:   &store.Geom{Name: "geometry", Column: "geom", Type: "Point", CRS: crs.WGS84}}
			if err := w.Define(ctx, c, true); err != nil {
				t.Fatal(err)
			}
			insert, err := w.Insert(ctx, id, []string{"fid", "a", "geom"})
			if err != nil {
				t.Fatal(err)
			}
			for r := range rows {
				at := wkb.AppendXY(wkb.AppendHeader(nil, wkb.Point, false), float64(r%360)-180, float64(r%170)-85)
				if err := insert(int64(r+1), value, store.Geometry{WKB: at}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})(gpkg.Create(ctx, path))
	return path
}
