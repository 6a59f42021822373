package compat_test

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// moving writes a municipality that moved east and got another name in 2010.
func moving(ctx context.Context, w store.Writer) error {
	property := func(name string, t cql2.Type) store.Property {
		return store.Property{Name: name, Column: name, Type: t}
	}
	err := w.Define(ctx, &store.Collection{
		ID: "kommuner", Table: "kommuner", Public: true, Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
		Properties: []store.Property{property("nr", cql2.TypeText), property("navn", cql2.TypeText),
			property("fra", cql2.TypeDate), property("til", cql2.TypeDate)},
		Geometry:      &store.Geom{Name: "geometry", Column: "geom", Type: "Polygon", CRS: crs.CRS84},
		Versions:      &store.Versions{ID: "nr", Start: "fra", End: "til"},
		IntervalStart: "fra", IntervalEnd: "til", DefaultSort: []store.Sort{{Property: "nr"}, {Property: "fra"}},
	}, true)
	if err != nil {
		return err
	}
	insert, err := w.Insert(ctx, "kommuner", []string{"fid", "nr", "navn", "fra", "til", "geom"})
	if err != nil {
		return err
	}
	square := func(x float64) store.Geometry {
		b := orb.Bound{Min: orb.Point{x, 60}, Max: orb.Point{x + 1, 61}}
		return store.Geometry{WKB: wkb.Append(nil, b.ToPolygon())}
	}
	if err := insert(int64(1), "0101", "Gamleby", "2000-01-01", "2010-01-01", square(10)); err != nil {
		return err
	}
	return insert(int64(2), "0101", "Nyby", "2010-01-01", nil, square(12))
}

// TestVersionsOfDataGiveTheBordersOfADay: data with versions know more than names.
func TestVersionsOfDataGiveTheBordersOfADay(t *testing.T) {
	t.Parallel()
	fill := storetest.Write(t, func(w store.Writer) {
		if err := moving(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	})
	for name, open := range map[string]func(*testing.T) store.Store{
		"GeoPackage": func(t *testing.T) store.Store {
			path := filepath.Join(t.TempDir(), "moving.gpkg")
			fill(gpkg.Create(t.Context(), path))
			return openFile(t, path)
		},
		"PostGIS": func(t *testing.T) store.Store {
			url := cluster.Database(t)
			fill(writer.Create(t.Context(), url))
			return storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), url, postgis.Options{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, open(t), nil)
			for day, want := range map[string]struct {
				name, inside, outside string
			}{"": {"Nyby", "12.5", "10.5"}, "&datetime=2005-06-01": {"Gamleby", "10.5", "12.5"}} {
				k := read[kommune](c, "/kommuneinfo/v1/kommuner/0101?x=y"+day)
				if k.Kommunenavn != want.name || k.Avgrensningsboks == nil {
					t.Errorf("%q: %+v", day, k)
				}
				k = read[kommune](c, "/kommuneinfo/v1/punkt?nord=60.5&ost="+want.inside+day)
				if k.Kommunenavn != want.name {
					t.Errorf("%q: the point lies in %s", day, k.Kommunenavn)
				}
				c.get("/kommuneinfo/v1/punkt?nord=60.5&ost="+want.outside+day, http.StatusNotFound)
				c.get("/kommuneinfo/v1/kommuner/0101/omrade?x=y"+day, http.StatusOK)
			}
			c.get("/kommuneinfo/v1/kommuner/0101?datetime=1999-12-31", http.StatusNotFound)
		})
	}
}
