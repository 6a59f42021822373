package main_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/store/storetest"
)

// downloaded is data whose downloads are compared, from both stores.
type downloaded struct {
	name    string
	files   []string // patterns in the shared data; none: the demo
	systems string   // in how many reference systems; the first is CRS84
}

var downloads = []downloaded{
	{name: "demo", systems: "4"},
	{name: "counties", files: []string{"norway/kartverket-fylker-25833.gpkg"}, systems: "2"},
	{name: "municipalities", files: []string{"norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"}, systems: "2"},
	{name: "invalid areas", files: []string{"norway/robhop-2024/Kommuner-M.geojson.gz"}, systems: "2"},
	{name: "France", files: []string{"france/*.gz"}, systems: "1"},
	{name: "Natural Earth", files: []string{"world/*.gz", "cql2/*.gpkg"}, systems: "1"},
	{name: "awkward", files: []string{"awkward/*/*.gpkg", "awkward/*/*.geojson", "awkward/*/*.json", "awkward/*/*.shp",
		"awkward/*/*.csv", "awkward/*/*.gml", "awkward/*/good/*.geojson"}, systems: "1"},
	{name: "odd", files: []string{"odd.py"}, systems: "2"},
	{name: "places", files: []string{"register"}, systems: "2"},
}

// TestAcceptDownloadsInOtherReaders downloads collections in every format, reads them with GDAL's newest wheels,
// pyarrow, geopandas and openpyxl, and compares ids, properties, nulls, geometries and reference systems with what
// items gives. GRENSE_TEST_DOWNLOADS=name asks for one.
func TestAcceptDownloadsInOtherReaders(t *testing.T) {
	wantsClients(t)
	t.Parallel()
	python := readers(t)
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	for _, d := range downloads {
		if only := os.Getenv("GRENSE_TEST_DOWNLOADS"); only != "" && only != d.name {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			n := 0
			address := cluster.Database(t)
			for i, file := range d.packages(t) {
				t.Run(filepath.Base(cmp.Or(file, "demo")), func(t *testing.T) {
					s := serve(t, nil, []string{file}[:min(1, len(file))]...)
					served := seenByAll(t, s)
					if len(served) == 0 {
						t.Skip(
							"SKIPPED: it has no layer that is served and that GDAL shows, so nothing of it is compared")
					}
					n += compared(t, python, "compare.py", s, d.systems)
					if file == "" {
						file = demoFile(t, s.dir)
					}
					for _, layer := range layersOf(t, file) {
						id := idOf(layer)
						into := []string{"--layer", layer, "--into", address, "--collection",
							fmt.Sprintf("c%d_%s", i, id)}
						if slices.Contains(served, id) && !imports(t, file, into...) &&
							!imports(t, file, append(into, "--crs", "EPSG:4326")...) {
							// some name metres and have degrees
							t.Errorf("%s of %s is not taken by the database", layer, filepath.Base(file))
						}
					}
				})
			}
			if d.name == "odd" {
				b, err := os.ReadFile(filepath.Join("testdata", "downloads", "odd.sql"))
				if err != nil {
					t.Fatal(err)
				}
				ask(t, address, string(b))
			}
			m := compared(t, python, "compare.py", serveDatabase(t, address), d.systems)
			t.Logf("%d steps right from files, %d from a database", n, m)
		})
	}
}

// TestAcceptExportsInOtherReaders runs the processes that export, on the demo in both stores, and compares their files
// as downloads are; areas with what shapely finds in them.
func TestAcceptExportsInOtherReaders(t *testing.T) {
	wantsClients(t)
	t.Parallel()
	python := readers(t)
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	s := serve(t, nil)
	n := compared(t, python, "exports.py", s, "2")
	address, file := cluster.Database(t), demoFile(t, s.dir)
	for _, layer := range layersOf(t, file) {
		if !imports(t, file, "--layer", layer, "--into", address, "--collection", idOf(layer)) {
			t.Errorf("%s is not taken by the database", layer)
		}
	}
	m := compared(t, python, "exports.py", serveDatabase(t, address), "2")
	t.Logf("%d steps right from files, %d from a database", n, m)
}

// readers is the Python that reads downloads.
func readers(t *testing.T) string {
	t.Helper()
	python := rootPath(t, "bin", "readers", "bin", "python")
	if err := exec.Command(python, "-c", "import pyogrio, geopandas, pyarrow, openpyxl").Run(); err != nil {
		t.Fatalf("%s cannot be used (%v); make readers installs it", python, err)
	}
	return python
}

// compared runs a script of comparisons on all collections and returns how many steps were right.
func compared(t *testing.T, python, script string, s *serving, systems string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*clientTime)
	defer cancel()
	colls := seenByAll(t, s)
	args := append([]string{filepath.Join("testdata", "downloads", script), s.base, systems}, colls...)
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Env = append(os.Environ(), "GRENSE_KEY="+s.key, "GRENSE_SCHEMAS="+rootPath(t, "internal", "format", "testdata"),
		"no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	steps := strings.Count("\n"+string(out), "\nok ")
	if err != nil || steps < 8*len(colls) {
		var wrong []string
		for l := range strings.Lines(string(out)) {
			if !strings.HasPrefix(l, "ok ") {
				wrong = append(wrong, l)
			}
		}
		t.Errorf("%d steps right for %d collections, %v:\n%s", steps, len(colls), err, strings.Join(wrong, ""))
	}
	return steps
}

// seenByAll lists the collections but those whose tables GDAL hides for their name.
func seenByAll(t *testing.T, s *serving) []string {
	t.Helper()
	return slices.DeleteFunc(s.collections(t), func(id string) bool { return strings.HasSuffix(id, "ogr_empty_table") })
}

// packages are the GeoPackages that are served: those of the data as they are, one with all other files of it;
// "" is the demo.
func (d *downloaded) packages(t *testing.T) []string {
	t.Helper()
	if d.files == nil {
		return []string{""}
	}
	all := filepath.Join(t.TempDir(), "all.gpkg")
	switch d.name {
	case "places":
		grense(t, "register", "generate", "--places", "5000", "--seed", "1", "--out", all)
		return []string{all}
	case "odd":
		if out, err := exec.CommandContext(t.Context(), readers(t), filepath.Join("testdata", "downloads", "odd.py"),
			all).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return []string{all}
	}
	var out []string
	n := 0
	for _, pattern := range d.files {
		found, err := filepath.Glob(sharedPath(t, "data", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		for _, file := range found {
			if filepath.Ext(file) == ".gpkg" {
				if len(layersOf(t, file)) > 0 {
					out = append(out, file)
				}
				continue
			}
			if imports(t, file, "--into", all, "--collection", fmt.Sprintf("f%d", n)) ||
				imports(t, file, "--into", all, "--collection", fmt.Sprintf("f%d", n), "--crs", "EPSG:25833") {
				n++
			}
		}
	}
	if n > 0 {
		out = append(out, all)
	}
	return out
}

// layersOf lists the layers and tables of a GeoPackage.
func layersOf(t *testing.T, file string) (names []string) {
	t.Helper()
	c, err := sqlite.OpenConn("file:"+file+"?immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = sqlitex.ExecuteTransient(c, "SELECT table_name FROM gpkg_contents WHERE data_type IN ('features', "+
		"'attributes')", &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		names = append(names, s.ColumnText(0))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// idOf is the id of the collection of a layer (no two of a file here are alike).
func idOf(layer string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(layer))
}

// imports reports whether a file was imported.
func imports(t *testing.T, file string, args ...string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	out, err := program(t, ctx, t.TempDir(), append([]string{"import", file}, args...)...).CombinedOutput()
	if err != nil {
		t.Logf("%s: %v: %.500s", filepath.Base(file), err, bytes.TrimSpace(out))
	}
	return err == nil
}
