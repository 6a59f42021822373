package ingest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// sharedPath is a path in the folder of shared data. The test skips without it.
func sharedPath(t testing.TB, elem ...string) string { return sharedtest.Path(t, elem...) }

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// opener opens GeoPackages for ingest.
func opener(t testing.TB) func(context.Context, string) (store.Store, error) {
	dir := t.TempDir()
	return func(ctx context.Context, path string) (store.Store, error) {
		return gpkg.Open(ctx, path, gpkg.Options{DataDir: dir, AllowEmpty: true})
	}
}

// open opens a file with its layers; it is closed with the test.
func open(t testing.TB, path string, id crs.ID) *ingest.Source {
	t.Helper()
	src, err := ingest.Open(t.Context(), path, ingest.Options{CRS: id, OpenGeoPackage: opener(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

// write fills a new GeoPackage and opens it, which must have nothing to note.
func write(t testing.TB, plan *ingest.Plan) store.Store {
	t.Helper()
	st := fill(t, plan)
	for _, n := range st.Catalog().Notes {
		t.Errorf("the store notes about what was imported: %+v", n)
	}
	return st
}

// fill fills a new GeoPackage and opens it.
func fill(t testing.TB, plan *ingest.Plan) store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.gpkg")
	storetest.Write(t, func(w store.Writer) {
		if err := plan.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), path))
	return storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()}))
}

// importText imports a file with that text, all layers into one collection, and fails on refusals.
func importText(t testing.TB, name, text string, target ingest.Target) (*ingest.Plan, []feature) {
	t.Helper()
	plan, err := survey(t, name, text, target)
	if err != nil {
		t.Fatal(err)
	}
	return plan, features(t, write(t, plan), target.Collection)
}

func survey(t testing.TB, name, text string, target ingest.Target) (*ingest.Plan, error) {
	t.Helper()
	return ingest.Survey(t.Context(), open(t, writeFile(t, name, text), 0).Layers, target, ingest.Watch{})
}

// feature is a stored feature as a test compares it.
type feature struct {
	id     string
	values map[string]any
	wkb    []byte
}

// features reads a collection in the order of ids.
func features(t testing.TB, st store.Store, id string) []feature {
	t.Helper()
	c, ok := st.Catalog().Collection(id)
	if !ok {
		t.Fatalf("there is no collection %s", id)
	}
	var out []feature
	page, err := st.Page(t.Context(), store.Query{Collection: id, Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(page.Rows))
	for i, r := range page.Rows {
		ids[i] = r.ID
	}
	err = st.Fetch(t.Context(), id, store.Current(ids...), store.Want{}, func(f *store.Feature) error {
		x := feature{id: strings.Clone(f.ID), values: map[string]any{}, wkb: append([]byte(nil), f.Geometry.WKB...)}
		for i, p := range c.Properties {
			x.values[p.Name] = f.Values[i]
		}
		out = append(out, x)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// find returns the first fault of an action whose reason contains a text.
func find(r ingest.Report, a ingest.Action, reason string) (ingest.Fault, bool) {
	for _, f := range r.Faults {
		if f.Action == a && strings.Contains(f.Reason, reason) {
			return f, true
		}
	}
	return ingest.Fault{}, false
}

// countingWriter is a store.Writer that keeps nothing but the number of rows.
type countingWriter struct{ rows int }

func (w *countingWriter) Define(context.Context, *store.Collection, bool) error { return nil }
func (w *countingWriter) Insert(context.Context, string, []string) (func(...any) error, error) {
	return func(...any) error { w.rows++; return nil }, nil
}
func (w *countingWriter) Commit(context.Context) error { return nil }
func (w *countingWriter) Close() error                 { return nil }
