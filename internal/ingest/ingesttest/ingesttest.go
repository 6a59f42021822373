// Package ingesttest imports small files for tests of formats and of the import.
package ingesttest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// SharedPath returns a path in the folder of shared data. The test is skipped without it.
func SharedPath(t testing.TB, elem ...string) string { return sharedtest.Path(t, elem...) }

func WriteFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Opener opens GeoPackages for ingest.
func Opener(t testing.TB) func(context.Context, string) (store.Store, error) {
	dir := t.TempDir()
	return func(ctx context.Context, path string) (store.Store, error) {
		return gpkg.Open(ctx, path, gpkg.Options{DataDir: dir, AllowEmpty: true})
	}
}

// Open opens a file with its layers. It is closed at the end of the test.
func Open(t testing.TB, path string, id crs.ID) *ingest.Source {
	t.Helper()
	src, err := ingest.Open(t.Context(), path, input.Options{CRS: id, OpenGeoPackage: Opener(t)})
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

// Write fills a new GeoPackage and opens it. The store must have no notes.
func Write(t testing.TB, plan *ingest.Plan) store.Store {
	t.Helper()
	st := Fill(t, plan)
	for _, n := range st.Catalog().Notes {
		t.Errorf("the store notes about what was imported: %+v", n)
	}
	return st
}

// Fill fills a new GeoPackage and opens it.
func Fill(t testing.TB, plan *ingest.Plan) store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.gpkg")
	storetest.Write(t, func(w store.Writer) {
		if err := plan.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), path))
	return storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()}))
}

// ImportText imports a file with that text, all layers into one collection. Refusals fail the test.
func ImportText(t testing.TB, name, text string, target ingest.Target) (*ingest.Plan, []Feature) {
	t.Helper()
	plan, err := Survey(t, name, text, target)
	if err != nil {
		t.Fatal(err)
	}
	return plan, Features(t, Write(t, plan), target.Collection)
}

func Survey(t testing.TB, name, text string, target ingest.Target) (*ingest.Plan, error) {
	t.Helper()
	return ingest.Survey(t.Context(), Open(t, WriteFile(t, name, text), 0).Layers, target, ingest.Watch{})
}

// Feature is a stored feature as a test compares it.
type Feature struct {
	ID     string
	Values map[string]any
	WKB    []byte
}

// Features reads a collection in the order of ids.
func Features(t testing.TB, st store.Store, id string) []Feature {
	t.Helper()
	c, ok := st.Catalog().Collection(id)
	if !ok {
		t.Fatalf("there is no collection %s", id)
	}
	var out []Feature
	page, err := st.Page(t.Context(), store.Query{Collection: id, Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(page.Rows))
	for i, r := range page.Rows {
		ids[i] = r.ID
	}
	err = st.Fetch(t.Context(), id, store.Current(ids...), store.Want{}, func(f *store.Feature) error {
		x := Feature{ID: strings.Clone(f.ID), Values: map[string]any{}, WKB: append([]byte(nil), f.Geometry.WKB...)}
		for i, p := range c.Properties {
			x.Values[p.Name] = f.Values[i]
		}
		out = append(out, x)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Find returns the first fault of an action whose reason contains a text.
func Find(r ingest.Report, a input.Action, reason string) (ingest.Fault, bool) {
	for _, f := range r.Faults {
		if f.Action == a && strings.Contains(f.Reason, reason) {
			return f, true
		}
	}
	return ingest.Fault{}, false
}

// CountingWriter is a store.Writer that only counts the rows.
type CountingWriter struct{ Rows int }

func (w *CountingWriter) Define(context.Context, *store.Collection, bool) error { return nil }
func (w *CountingWriter) Insert(context.Context, string, []string) (func(...any) error, error) {
	return func(...any) error { w.Rows++; return nil }, nil
}
func (w *CountingWriter) Commit(context.Context) error { return nil }
func (w *CountingWriter) Close() error                 { return nil }

var Into = ingest.Target{Collection: "x"}

func MustSurvey(t testing.TB, path string, id crs.ID) *ingest.Plan {
	t.Helper()
	plan, err := ingest.Survey(t.Context(), Open(t, path, id).Layers, Into, ingest.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// GeoJSON returns a collection of points with the given members and properties, one feature a line.
func GeoJSON(list ...string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(list, ",\n") + `]}`
}

func PointWith(members, properties string) string {
	return `{"type":"Feature",` + members + `"properties":{` + properties +
		`},"geometry":{"type":"Point","coordinates":[10,60]}}`
}
