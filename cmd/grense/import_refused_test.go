package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/ingest"
)

// TestRefusalIsToldLastAndWhole imports a file whose only refusal comes after thousands of notes.
func TestRefusalIsToldLastAndWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `{"type":"Feature","id":%d,"properties":{"n":1},"geometry":{"type":"Polygon",`+
			`"coordinates":[[[1,50],[2,51],[2,50],[1,51]]]}}`+"\n", i)
	}
	b.WriteString(`{"type":"Feature","id":"last","properties":{"n":1},"geometry":{"type":"Point",` +
		`"coordinates":["x",50]}}` + "\n")
	src := writeFile(t, filepath.Join(dir, "a.geojsonl"), b.String())
	const reason = "each element of a position must be a number"
	for name, args := range map[string][]string{
		"import": {"import", src, "--into", filepath.Join(dir, "a.gpkg"), "--collection", "a"},
		"import into an old target": {"import", src, "--into", filepath.Join(dir, "a.gpkg"), "--collection",
			"a", "--replace"},
		"check": {"check", src},
		"serve": {"serve", src, "--addr", "127.0.0.1:0"},
		"import with another --crs": {"import", src, "--into", filepath.Join(dir, "a.gpkg"), "--collection", "a",
			"--crs", "EPSG:4258"},
		"import of two files as one": {"import", src, src, "--into", filepath.Join(dir, "a.gpkg"), "--collection", "a"},
	} {
		code, stdout, stderr := command(t, dir, args...)
		lines := strings.Split(strings.TrimSpace(stdout+stderr), "\n")
		if last := lines[len(lines)-1]; code == 0 || !strings.Contains(last, reason) ||
			!strings.Contains(last, "a.geojsonl:3001:") && name != "check" {
			t.Errorf("%s: status %d, last line %s", name, code, last)
		}
	}
	report := filepath.Join(dir, "report.jsonl")
	if code, _, stderr := command(t, dir, "import", src, "--into", filepath.Join(dir, "a.gpkg"), "--collection", "a",
		"--report", report); code == 0 {
		t.Errorf("it was imported: %s", stderr)
	}
	if all := faultsIn(t, report); len(all) < 6001 || all[0].Action != input.Refused ||
		!strings.Contains(all[0].Reason, reason) {
		t.Errorf("%d faults, the first %+v", len(all), all[0])
	}
	// A reason that is no fault of a feature is in the report as well.
	if code, _, _ := command(t, dir, "import", filepath.Join(dir, "none.geojson"), "--into",
		filepath.Join(dir, "a.gpkg"), "--collection", "a", "--report", report); code == 0 {
		t.Error("a file that is not there was imported")
	}
	if all := faultsIn(t, report); len(all) != 1 || all[0].Action != input.Refused ||
		!strings.Contains(all[0].Reason, "none.geojson") {
		t.Errorf("%+v", all)
	}
}

// faultsIn reads a report.
func faultsIn(t *testing.T, path string) (list []ingest.Fault) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var f ingest.Fault
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}
