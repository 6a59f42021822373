package ingest_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// stated are the reference systems that somebody who knows the files would state.
var stated = map[string]crs.ID{
	"fiona/curves_line.csv": crs.CRS84, "fiona/test_tin.csv": crs.CRS84, "fiona/test_tin.shp": crs.CRS84,
	"mapshaper-encodings/big5.shp":    crs.WebMercator,
	"mapshaper-encodings/chinese.shp": crs.WebMercator, "pyshp/corrupt_too_long.shp": crs.CRS84,
	"pyshp/latin1.shp": crs.CRS84,
}

// TestAwkwardFiles holds one row for each file, with what becomes of it. Rows with "imported" were read back from a
// GeoPackage.
func TestAwkwardFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	root := ingesttest.SharedPath(t, "data", "awkward")
	rows := []string{"# Decided by us, of files that others made; README.md says more."}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, ".result") || strings.Contains(path, ".cli-output") {
			return err // the last two are the findings of another program
		}
		name, err := filepath.Rel(root, path)
		for _, id := range slices.Compact([]crs.ID{0, stated[name]}) {
			rows = append(rows, outcome(t, path, name, id)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(rows, "\n") + "\n"
	golden := filepath.Join("testdata", "awkward.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(want)), "\n")
	for i := range max(len(lines), len(rows)) {
		a, b := "nothing", "nothing"
		if i < len(rows) {
			a = rows[i]
		}
		if i < len(lines) {
			b = lines[i]
		}
		if a != b {
			t.Fatalf("row %d:\n%s\nwant\n%s", i+1, a, b)
		}
	}
}

// outcome returns, in a row for each layer, what becomes of a file.
func outcome(t *testing.T, path, name string, id crs.ID) (rows []string) {
	t.Helper()
	if id != 0 {
		name += " --crs " + id.String()
	}
	row := func(layer, format string, a ...any) {
		if layer != "" {
			layer = " layer " + layer
		}
		rows = append(rows, strings.ReplaceAll(name+layer+": "+fmt.Sprintf(format, a...), filepath.Dir(path)+"/", ""))
	}
	src, err := ingest.Open(t.Context(), path, input.Options{CRS: id, OpenGeoPackage: ingesttest.Opener(t)})
	if errors.Is(err, input.ErrRefused) {
		row("", "refused: %s", input.Reason(err))
		return rows
	}
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if len(src.Layers) == 0 {
		row("", "no layers")
	}
	for _, l := range src.Layers {
		layer := l.Name
		if len(src.Layers) == 1 {
			layer = ""
		}
		plan, err := ingest.Survey(t.Context(), []*ingest.Layer{l}, ingest.Target{Collection: "x"}, ingest.Watch{})
		if err != nil && !errors.Is(err, input.ErrRefused) {
			t.Fatalf("%s: %v", name, err)
		}
		if err == nil {
			have := ingesttest.Features(t, ingesttest.Write(t, plan), "x")
			c := plan.Collection
			kind := "table"
			if c.Geometry != nil {
				kind = c.Geometry.CRS.String() + " " + c.Geometry.Type
			}
			row(layer, "imported %d of %d as %s, rings turned in %d", len(have), plan.Report.Read, kind,
				plan.Report.Turned)
		} else if plan.Report.Refused == 0 {
			t.Errorf("%s: %v without a refusal in the report", name, err)
		}
		for _, f := range plan.Report.Faults {
			if f.Reason == "" || f.File != path {
				t.Errorf("%s: an empty fault: %+v", name, f)
			}
			if strings.Contains(f.Reason, "no id of their own") || f.Action == input.Turned &&
				!strings.Contains(name, "bad/") {
				continue // true of most of these files
			}
			row(layer, "  %d:%d feature %d %s: %s", f.Line, f.Column, f.Feature, f.Action, f.Reason)
		}
	}
	return rows
}

// TestBadGeoJSONIsReportedWithALine reads the files that geojsonhint calls bad. Each has a fault, in a line of the
// file.
func TestBadGeoJSONIsReportedWithALine(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(ingesttest.SharedPath(t, "data", "awkward", "geojsonhint", "bad"),
		"*.geojson"))
	if err != nil || len(files) != 44 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		plan, err := ingest.Survey(t.Context(), ingesttest.Open(t, f, 0).Layers, ingest.Target{Collection: "x"},
			ingest.Watch{})
		if err != nil && !errors.Is(err, input.ErrRefused) {
			t.Fatal(err)
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(text), "\n") + 1
		if !slices.ContainsFunc(plan.Report.Faults, func(f ingest.Fault) bool {
			return f.Line > 0 && f.Line <= lines && f.Column > 0 && f.Reason != ""
		}) {
			t.Errorf("%s: no fault with a line in %v", filepath.Base(f), plan.Report.Faults)
		}
	}
}

func TestGoodGeoJSONIsRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(ingesttest.SharedPath(t, "data", "awkward", "geojsonhint", "good"),
		"*.geojson"))
	if err != nil || len(files) != 18 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		id := crs.ID(0)
		if filepath.Base(f) == "issue82.geojson" {
			id = crs.WebMercator // its latitudes go beyond the south pole, so that it cannot be in degrees
		}
		plan, err := ingest.Survey(t.Context(), ingesttest.Open(t, f, id).Layers, ingest.Target{Collection: "x"},
			ingest.Watch{})
		if err != nil || plan.Report.Read == 0 || plan.Report.Repaired > 0 {
			t.Errorf("%s: %v %+v", filepath.Base(f), err, plan.Report)
		}
	}
}
