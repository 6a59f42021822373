package server_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/demo"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestSomeOfTheAreasLieOnAllOfThem: if the data have one collection of areas, a page with some of them draws the rest
// as background. A page with all of them draws each once.
func TestSomeOfTheAreasLieOnAllOfThem(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for query, grounded := range map[string]bool{"?f=html&limit=5": true, "?f=html&q=oslo": true, "?f=html": false} {
		a.settled("/collections/fylker/items" + query)
		body := string(a.get("/collections/fylker/items" + query).wants(200).Body)
		if land := strings.Contains(body, `<g class="near"><path`); land != grounded ||
			strings.Contains(body, "map bare") {
			t.Errorf("%s: land under it is %t", query, land)
		}
	}
}

// TestTheExtentOfManyFeaturesIsNoEmptyFrame: if there are too many features to draw, and no land is known at that
// place, the extent lies in a grid of degrees.
func TestTheExtentOfManyFeaturesIsNoEmptyFrame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{ID: "felt", Table: "felt", Public: true,
			Key:        store.FeatureKey{Column: "nr", Property: "nr", Type: cql2.TypeInteger},
			Properties: []store.Property{{Name: "nr", Column: "nr", Type: cql2.TypeInteger}},
			Geometry:   &store.Geom{Name: "geometry", Column: "geometry", Type: "Polygon", CRS: crs.CRS84}}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		add, err := w.Insert(t.Context(), "felt", []string{"nr", "geometry"})
		for i := int64(0); i < 600 && err == nil; i++ {
			g := geom.NewEnvelope(geom.XY{X: float64(i % 30), Y: float64(i / 30)},
				geom.XY{X: float64(i%30) + 1, Y: float64(i/30) + 1}).AsGeometry()
			err = add(i, store.Geometry{WKB: g.AsBinary()})
		}
		if err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), path))
	page := string(serve(t, path, func(c *config.Config) { c.Auth = "open" }).get(
		"/collections/felt?f=html&lang=en").wants(200).Body)
	if !strings.Contains(page, `class="degree"`) {
		t.Errorf("the frame is empty: %s", regexp.MustCompile(`(?s)<svg.*?</svg>`).FindString(
			page[strings.Index(page, "<figure"):]))
	}
}

// TestPointsWithoutAreasLieOnTheCountry: maps of a file without areas show the outline of the country as background.
// A file elsewhere in the world has no such background.
func TestPointsWithoutAreasLieOnTheCountry(t *testing.T) {
	t.Parallel()
	shore, err := demo.Shore()
	if err != nil {
		t.Fatal(err)
	}
	for at, grounded := range map[string]bool{"POINT(10.7 59.9)": true, "POINT(7.1 62.2)": true,
		"POINT(2.3 48.9)": false} {
		path := filepath.Join(t.TempDir(), "x.gpkg")
		storetest.Write(t, func(w store.Writer) {
			c := &store.Collection{ID: "punkter", Table: "punkter", Public: true,
				Key: store.FeatureKey{Column: "kode", Type: cql2.TypeText}, TitleProperty: "navn",
				Properties: []store.Property{{Name: "navn", Column: "navn", Type: cql2.TypeText}},
				Geometry:   &store.Geom{Name: "geometry", Column: "geometry", Type: "Point", CRS: crs.CRS84}}
			if err := w.Define(t.Context(), c, false); err != nil {
				t.Fatal(err)
			}
			add, err := w.Insert(t.Context(), "punkter", []string{"kode", "navn", "geometry"})
			if err != nil {
				t.Fatal(err)
			}
			g, err := geom.UnmarshalWKT(at)
			if err == nil {
				err = add("a", "Et sted", store.Geometry{WKB: g.AsBinary()})
			}
			if err != nil {
				t.Fatal(err)
			}
		})(gpkg.Create(t.Context(), path))
		a := serveOptions(t, openTest(t, path), nil, func(o *server.Options) { o.Shore = shore })
		for _, page := range []string{"/collections/punkter", "/collections/punkter/items",
			"/collections/punkter/items/a"} {
			a.settled(page + "?f=html")
			body := string(a.get(page + "?f=html").wants(200).Body)
			if land := strings.Contains(body, `<g class="near"><path`); land != grounded {
				t.Errorf("%s, %s: land under it is %t", at, page, land)
			}
			m := regexp.MustCompile(`data-shore="([^"]*)"`).FindStringSubmatch(body)
			if (m != nil) != (grounded && !strings.HasSuffix(page, "/items")) {
				t.Errorf("%s, %s: the map of tiles has the shore %q", at, page, m)
			}
			if m == nil {
				continue
			}
			var rings [][]int
			if err := json.Unmarshal(a.get(m[1]).wants(200).Body, &rings); err != nil || len(rings) < 2 {
				t.Errorf("%s: %d rings, %v", m[1], len(rings), err)
			}
		}
	}
}
