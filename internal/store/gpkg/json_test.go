package gpkg_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestJSONColumns: columns that are declared or marked as JSON hold JSON, unless a value is none.
func TestJSONColumns(t *testing.T) {
	t.Parallel()
	s := foreign(t,
		`CREATE TABLE x (id INTEGER PRIMARY KEY, declared JSON, marked TEXT, list TEXT, broken TEXT, plain TEXT);
		INSERT INTO x VALUES (1, '{"a":'||char(10)||' 1}', '{"b": [1, 2]}', '["a", "b"]', '{"a":1}', '[1]'), (2, NULL, '5', '[]', 'no', NULL), (3, 7, 'null', NULL, NULL, NULL);
		CREATE TABLE gpkg_data_columns (table_name TEXT, column_name TEXT, name TEXT, title TEXT, description TEXT, mime_type TEXT, constraint_name TEXT);
		INSERT INTO gpkg_data_columns VALUES ('x', 'Marked', NULL, 'Merket', NULL, 'application/json', NULL), ('x', 'list', NULL, NULL, NULL, 'application/json', NULL),
			('x', 'broken', NULL, NULL, NULL, 'application/json', NULL);`+attributes, nil)
	c, _ := s.Catalog().Collection("x")
	want := map[string]cql2.Type{"declared": cql2.TypeJSON, "marked": cql2.TypeJSON, "list": cql2.TypeJSON,
		"broken": cql2.TypeText, "plain": cql2.TypeText}
	for _, p := range c.Properties {
		if p.Type != want[p.Name] || (p.Items != "") != (p.Name == "list") || (p.Title != nil) != (p.Name == "marked") {
			t.Errorf("%+v", p)
		}
	}
	hasNote(t, s, `column "broken" is declared JSON but holds other values too; it is served as text`)
	var got []any
	if err := s.Fetch(context.Background(), "x", store.Current("1", "2", "3"), store.Want{},
		func(f *store.Feature) error { got = append(got, f.Values...); return nil }); err != nil {
		t.Fatal(err)
	}
	for i, v := range []any{store.JSON(`{"a":1}`), store.JSON(`{"b": [1, 2]}`), store.JSON(`["a", "b"]`), `{"a":1}`,
		"[1]", nil, store.JSON("5"), store.JSON("[]"), "no", nil, store.JSON("7"), store.JSON("null")} {
		if got[i] != v {
			t.Errorf("value %d is %#v, want %#v", i, got[i], v)
		}
	}
}

// TestWrittenJSONColumnsAreMarked: GDAL reads them as JSON, and so do we where our own definitions are gone.
func TestWrittenJSONColumnsAreMarked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "json.gpkg")
	for range 2 { // a collection that is written again is marked once
		create(t, path, func(w store.Writer) {
			c := &store.Collection{ID: "x", Table: "x", Public: true,
				Key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
				Properties: []store.Property{{Name: "navn", Column: "navn", Type: cql2.TypeJSON},
					{Name: "nr", Column: "nr", Type: cql2.TypeText}}}
			if err := w.Define(t.Context(), c, true); err != nil {
				t.Fatal(err)
			}
			insert, err := w.Insert(t.Context(), "x", []string{"id", "navn", "nr"})
			if err == nil {
				err = insert(int64(1), store.JSON(`["a","b"]`), "1")
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	run(t, path, "DROP TABLE grense_collection; DELETE FROM gpkg_extensions WHERE table_name = 'grense_collection'")
	c, _ := openStore(t, path, gpkg.Options{}).Catalog().Collection("x")
	if p, _ := c.Find("navn"); p == nil || p.Type != cql2.TypeJSON || p.Items != "string" {
		t.Errorf("%+v", p)
	}
	if _, err := exec.LookPath("ogrinfo"); err != nil {
		t.Skip("skipped: no ogrinfo")
	}
	out, err := exec.Command("ogrinfo", "-al", "-so", "-ro", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "navn: String(JSON)") ||
		strings.Contains(string(out), "nr: String(JSON)") {
		t.Errorf("ogrinfo: %v\n%s", err, out)
	}
}
