package server_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// TestParametersOfAnOperationDoNotCollideInCode guards client generators, which make one identifier of Id and id_, or
// of bbox_crs and bbox-crs.
func TestParametersOfAnOperationDoNotCollideInCode(t *testing.T) {
	t.Parallel()
	path, err := fillFile(filepath.Join(t.TempDir(), "names.gpkg"), func(ctx context.Context, w store.Writer) error {
		c := &store.Collection{ID: "x", Table: "x", Public: true,
			Key:      store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Geometry: &store.Geom{Name: "geom", Column: "geom", Type: "Point", CRS: crs.CRS84}}
		columns := []string{"Id", "id_", "i-d", "bbox_crs", "Limit_", "navn", "navn_like", "navn.from"}
		for _, n := range columns {
			c.Properties = append(c.Properties, store.Property{Name: n, Column: n, Type: cql2.TypeText})
		}
		if err := w.Define(ctx, c, false); err != nil {
			return err
		}
		insert, err := w.Insert(ctx, "x", columns)
		if err != nil {
			return err
		}
		return insert("a", "b", "c", "d", "e", "f", "g", "h")
	})
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	doc := a.get("/openapi").wants(200).json()
	shared := doc["components"].(map[string]any)["parameters"].(map[string]any)
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			seen := map[string]string{}
			list, _ := op.(map[string]any)["parameters"].([]any)
			for _, p := range list {
				def := p.(map[string]any)
				if ref, ok := def["$ref"].(string); ok {
					def = shared[strings.TrimPrefix(ref, "#/components/parameters/")].(map[string]any)
				}
				name := def["name"].(string)
				code := strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
				if other, ok := seen[code]; ok {
					t.Errorf("%s %s: %s and %s", method, path, other, name)
				}
				seen[code] = name
			}
		}
	}
	for _, query := range []string{"Id=a", "id_=b", "i-d=c", "navn_like=g", "navn.like=f"} { // all are accepted
		if n := a.get("/collections/x/items?" + query).wants(200).page().NumberMatched; n != 1 {
			t.Errorf("%s: %d features", query, n)
		}
	}
}

// TestPagesOfferCSVForSpreadsheets, for all features and for the selected ones.
func TestPagesOfferCSVForSpreadsheets(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for page, href := range map[string]string{
		"/collections/fylker?f=html":              "/collections/fylker/download?f=csv&dialect=excel",
		"/collections/fylker/items?f=html&q=vest": "/collections/fylker/download?f=csv&q=vest&dialect=excel"} {
		if html := string(a.get(page).wants(200).Body); !strings.Contains(
			html, strings.ReplaceAll(href, "&", "&amp;")) {
			t.Errorf("%s lacks %s", page, href)
		}
		if r := a.get(href).wants(200); !strings.HasPrefix(string(r.Body), "\uFEFF") {
			t.Errorf("%s: %.40q", href, r.Body)
		}
	}
}
