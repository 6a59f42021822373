package gpkg_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// Features outside the extent in the metadata match no box, not even one around that extent.
func TestBoxAroundTheExtentLeavesWhatLiesOutside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) {
		if err := w.Define(context.Background(), points("a", crs.UTM33), false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(context.Background(), "a", []string{"nr", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		for nr, at := range map[string]orb.Point{"here": {262000, 6649000}, "nowhere": {8e11, 8e11}} {
			if err := insert(nr, point(at[0], at[1])); err != nil {
				t.Fatal(err)
			}
		}
		if err := insert("without", nil); err != nil {
			t.Fatal(err)
		}
	})
	s := openStore(t, path, gpkg.Options{})
	for _, box := range []orb.Bound{{Min: orb.Point{5, 55}, Max: orb.Point{30, 70}},
		{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}} {
		p, err := s.Page(t.Context(),
			store.Query{Collection: "a", Limit: 10, Filter: cql2.BBox{Prop: "geometry", Box: box, CRS: crs.CRS84}})
		if err != nil || p.Matched != 2 || len(p.Rows) != 2 {
			t.Errorf("%v: %+v, %v", box, p, err)
		}
	}
}
