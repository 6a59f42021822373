package server_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// preciseMixed serves a collection of a point with many decimals, a line and no geometry, in metres.
func preciseMixed(t *testing.T) *api {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mixed.gpkg")
	ctx := context.Background()
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{ID: "mixed", Table: "mixed", Public: true,
			Key:      store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
			Geometry: &store.Geom{Name: "geometry", Column: "geom", CRS: crs.UTM33}}
		if err := w.Define(ctx, c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(ctx, "mixed", []string{"id", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range []orb.Geometry{orb.Point{250000.123456, 6650000.987654},
			orb.LineString{{250000, 6650000}, {260000, 6650000}}, nil} {
			var geometry any
			if g != nil {
				geometry = store.Geometry{WKB: wkb.Append(nil, g)}
			}
			if err := insert(int64(i+1), geometry); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(ctx, path))
	return serve(t, path, nil)
}

func TestPrecisionIsChosenOnItemsAndDownloads(t *testing.T) {
	t.Parallel()
	a := preciseMixed(t)
	const utm = "crs=http://www.opengis.net/def/crs/EPSG/0/25833"
	for path, want := range map[string]string{
		"items?f=json&" + utm:             "[250000.12,6650000.99]",
		"items?f=json&precision=6&" + utm: "[250000.123456,6650000.987654]",
		"items?f=json&precision=0&" + utm: "[250000,6650001]",
		"items?f=json&precision=4&profile=jsonfg&" +
			utm: `"place":{"type":"Point","coordinates":[250000.1235,6650000.9877]}`,
		"items/1?f=json&precision=3&" + utm:                            "[250000.123,6650000.988]",
		"items?f=csv&precision=2":                                      "\r\n1,10.53,59.91\r\n",
		"items?f=csv":                                                  "\r\n1,10.52",
		"download?f=json&precision=6&" + utm:                           "[250000.123456,6650000.987654]",
		"download?f=ndjson&precision=5&bbox=10,59,11,61&" + utm:        "[250000.12346,6650000.98765]",
		"download?f=geojsonseq&precision=1&properties=geometry&" + utm: "[250000.1,6650001]",
		"download?f=csv&precision=2":                                   "\r\n1,10.53,59.91\r\n2,,\r\n3,,\r\n",
	} {
		res, b := fetchAs(t, a.URL+"/collections/mixed/"+path, nil)
		if res.StatusCode != 200 || !strings.Contains(string(b), want) {
			t.Errorf("%s: %d, no %q in %s", path, res.StatusCode, want, b)
		}
		if res, b = fetchAs(t, a.URL+"/collections/mixed/"+path, nil); !strings.Contains(string(b), want) {
			t.Errorf("%s again: %d, no %q in %s", path, res.StatusCode, want, b)
		}
	}
	for path, param := range map[string]string{
		"items?f=json&precision=16": "precision", "items?f=json&precision=-1": "precision",
		"items?f=csv&precision=x": "precision", "items?f=html&precision=3": "precision",
		"items?f=gml&precision=3": "precision", "items/1?f=html&precision=3": "precision",
		"download?f=gpkg&precision=3": "precision", "download?f=kml&precision=3": "precision",
	} {
		if res, b := fetchAs(t, a.URL+"/collections/mixed/"+path,
			map[string]string{"Accept": "*/*"}); res.StatusCode != 400 || !strings.Contains(string(b), param) {
			t.Errorf("%s: %d %.300s", path, res.StatusCode, b)
		}
	}
}

func TestEachAnswerStatesItsLosses(t *testing.T) {
	t.Parallel()
	a := preciseMixed(t)
	for path, want := range map[string]string{
		"download?f=csv":                   "geometries other than points; heights; decimals beyond 7 of degrees",
		"items?f=csv&precision=9":          "decimals beyond 9 of coordinates",
		"download?f=json":                  "decimals beyond 7 of degrees, 2 of metres",
		"download?f=json&precision=9":      "decimals beyond 9 of coordinates",
		"download?f=csv&skipGeometry=true": "the types of values",
	} {
		res, _ := fetchAs(t, a.URL+"/collections/mixed/"+path, nil)
		if got := res.Header.Get("Format-Losses"); res.StatusCode != 200 ||
			!strings.HasPrefix(got, want) && !strings.Contains(got, "; "+want) {
			t.Errorf("%s: %d, the losses are %q", path, res.StatusCode, got)
		}
	}
	r := a.run("export-collection-csv", `{"inputs":{"collection_id":"mixed"},"response":"raw"}`).wants(200)
	if got := r.Header.Get("Format-Losses"); !strings.HasPrefix(got, "geometries other than points; ") ||
		!strings.Contains(string(r.Body), "\r\n1,10.52") {
		t.Errorf("the process tells %q of %s", got, r.Body)
	}
}

func TestNewlineDelimitedJSONIsAFeatureALine(t *testing.T) {
	t.Parallel()
	a := preciseMixed(t)
	for _, path := range []string{"items", "download"} {
		res, b := fetchAs(t, a.URL+"/collections/mixed/"+path, map[string]string{"Accept": "application/x-ndjson"})
		lines := strings.SplitAfter(string(b), "\n")
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/x-ndjson" || len(lines) != 4 ||
			lines[3] != "" || !strings.HasPrefix(lines[0], `{"type":"Feature",`) {
			t.Errorf("%s: %d %s %q", path, res.StatusCode, res.Header.Get("Content-Type"), b)
		}
	}
}
