package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestAServerFindsWhatCheckHasLearnt: both keep the same file beside a source, which is made once.
func TestAServerFindsWhatCheckHasLearnt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, points := filepath.Join(dir, "ting.gpkg"), filepath.Join(dir, "points.geojson")
	const text = `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point",` +
		`"coordinates":[10,60]},"properties":{"a":"b"}}]}`
	if err := os.WriteFile(points, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := program(t, t.Context(), dir, "import", points, "--into", path, "--collection", "points").
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sides := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "data", "ting-*.side"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if out, err := program(t, t.Context(), dir, "check", "--data-dir", filepath.Join(dir, "data"), path).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before := sides()
	if len(before) != 1 {
		t.Fatalf("check has made %v", before)
	}
	was, err := os.Stat(before[0])
	if err != nil {
		t.Fatal(err)
	}
	serve(t, []string{"GRENSE_DATA_DIR=" + filepath.Join(dir, "data")}, path)
	after := sides()
	if !slices.Equal(before, after) {
		t.Fatalf("check has made %v, the server %v", before, after)
	}
	if now, err := os.Stat(after[0]); err != nil || !os.SameFile(was, now) {
		t.Errorf("%s was made anew: %v", after[0], err)
	}
}
