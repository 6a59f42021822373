package server_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// wide serves a table of 1,990 columns, nearly as many as a GeoPackage can have.
func wide(t *testing.T) *api {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wide.gpkg")
	storetest.Write(t, func(w store.Writer) {
		coll := &store.Collection{ID: "wide", Table: "wide", Public: true,
			Key: store.FeatureKey{Column: "id", Type: cql2.TypeText}}
		names, row := []string{"id"}, []any{"a"}
		for i := range 1990 {
			name := fmt.Sprintf("c%04d", i)
			coll.Properties = append(coll.Properties, store.Property{Name: name, Column: name, Type: cql2.TypeText})
			names, row = append(names, name), append(row, fmt.Sprintf("value %04d", i))
		}
		if err := w.Define(t.Context(), coll, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "wide", names)
		if err != nil {
			t.Fatal(err)
		}
		if err := insert(row...); err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), path))
	return serve(t, path, nil)
}

// TestWideTables: the page of features shows some dozens of columns, fields and sort orders, and links to the rest.
// Programs and the page of a feature get all.
func TestWideTables(t *testing.T) {
	t.Parallel()
	if onPostGIS() {
		t.Skip("PostgreSQL has no tables of so many columns")
	}
	a := wide(t)
	for lang, want := range map[string]string{"en": "The table shows 5 of 1,990 properties.",
		"nb": "Tabellen viser 5 av 1\u00a0990 egenskaper.", "nn": "Tabellen viser 5 av 1\u00a0990 eigenskapar."} {
		page := string(a.get("/collections/wide/items?f=html&lang=" + lang).wants(200).Body)
		if !strings.Contains(page, want) {
			t.Errorf("%s: the page does not say %q", lang, want)
		}
		if n := strings.Count(page, "<td"); n != 5 {
			t.Errorf("%s: %d cells", lang, n)
		}
		if n := strings.Count(page, `<input id="q-`); n != 40 {
			t.Errorf("%s: %d fields", lang, n)
		}
		if len(page) > 100_000 {
			t.Errorf("%s: %d bytes", lang, len(page))
		}
	}
	page := string(a.get("/collections/wide/items?f=html&properties=c1900,c1989&c1955=value%201955").wants(200).Body)
	if !strings.Contains(page, "value 1989") || strings.Contains(page, `id="columns"`) ||
		!strings.Contains(page, `<input id="q-c1955.like" name="c1955.like" type="text" value="value 1955"`) {
		t.Errorf("properties that were chosen are not shown: %.3000s", page)
	}
	if page := string(a.get("/collections/wide/items/a?f=html").wants(200).Body); !strings.Contains(
		page, "value 1989") {
		t.Error("the page of the feature lacks properties")
	}
	if n := len(a.get("/collections/wide/items/a").wants(200).json()["properties"].(map[string]any)); n != 1990 {
		t.Errorf("%d properties", n)
	}
}
