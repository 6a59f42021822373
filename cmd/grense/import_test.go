package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"grense/internal/format/input"
	"grense/internal/ingest"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// squares is a collection of n squares of degrees with a number and a name. Squares with a number in bad cover a part
// of themselves twice, which no repair mends.
func squares(n int, bad ...int) string {
	var b strings.Builder
	b.WriteString(`{"type":"FeatureCollection","features":[`)
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		x, y := float64(i%100)/10, 50+float64(i/100)/10
		ring := fmt.Sprintf("[%.1[1]f,%.1[2]f],[%.1[3]f,%.1[2]f],[%.1[3]f,%.1[4]f],[%.1[1]f,%.1[4]f],[%.1[1]f,%.1[2]f]",
			x, y, x+0.1, y+0.1)
		for _, k := range bad {
			if k == i {
				ring = fmt.Sprintf("[%.1[1]f,%.1[2]f],[%.1[3]f,%.1[2]f],[%.1[3]f,%.1[4]f],[%.1[1]f,%.1[4]f],[%.1[1]f,"+
					"%.1[2]f],[%.2[5]f,%.1[2]f],[%.2[5]f,%.1[4]f],[%.1[1]f,%.1[4]f],[%.1[1]f,%.1[2]f]",
					x, y, x+0.1, y+0.1, x+0.05)
			}
		}
		fmt.Fprintf(&b, `{"type":"Feature","properties":{"nr":"%04d","navn":"Rute %d"},"geometry":{"type":"Polygon",`+
			`"coordinates":[[%s]]}}`, i, i, ring)
	}
	b.WriteString("]}\n")
	return b.String()
}

// counts opens a GeoPackage and returns the number of features of each collection, after reading them all.
func counts(t *testing.T, path string) map[string]int {
	t.Helper()
	st, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	out := map[string]int{}
	for _, c := range st.Catalog().Collections {
		page, err := st.Page(t.Context(), store.Query{Collection: c.ID, Limit: 1_000_000})
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, len(page.Rows))
		for i, r := range page.Rows {
			ids[i] = r.ID
		}
		err = st.Fetch(t.Context(), c.ID, store.Current(ids...), store.Want{}, func(f *store.Feature) error {
			out[c.ID]++
			_, err := f.Geometry.Orb()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range st.Catalog().Notes {
		t.Errorf("%+v", n)
	}
	return out
}

func TestImportKeepsTheOtherCollections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := writeFile(t, filepath.Join(dir, "Ruter.geojson"), squares(250, 7))
	into := filepath.Join(dir, "data.gpkg")
	report := filepath.Join(dir, "faults.jsonl")
	code, stdout, stderr := command(t, dir, "import", src, "--into", into, "--collection", "ruter", "--id-field", "nr",
		"--title-field", "navn", "--report", report)
	if code != 0 || !strings.Contains(stdout, "250 features in collection ruter (Polygon, OGC:CRS84, id from nr)") ||
		!strings.Contains(stdout, "invalid and kept 1") {
		t.Fatalf("status %d\n%s%s", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "Ruter.geojson:8:1, feature 8: kept: invalid") {
		t.Errorf("the fault is not told:\n%s", stderr)
	}
	b, err := os.ReadFile(report)
	var f ingest.Fault
	if err != nil || json.Unmarshal(b, &f) != nil || f.File != src || f.Line != 8 || f.Feature != 8 ||
		f.Action != input.Kept || bytes.Count(b, []byte("\n")) != 1 {
		t.Errorf("%v, report %s", err, b)
	}
	if code, _, stderr := command(t, dir, "import", src, "--into", into, "--collection", "more"); code != 0 {
		t.Fatalf("status %d\n%s", code, stderr)
	}
	if got := counts(t, into); got["ruter"] != 250 || got["more"] != 250 || len(got) != 2 {
		t.Errorf("%v", got)
	}
	small := writeFile(t, filepath.Join(dir, "small.geojson"), squares(3))
	code, _, stderr = command(t, dir, "import", small, "--into", into, "--collection", "ruter")
	if code != exitFailed || !strings.Contains(stderr, "has a collection ruter already; replace it with --replace") ||
		counts(t, into)["ruter"] != 250 {
		t.Errorf("status %d\n%s", code, stderr)
	}
	code, _, stderr = command(t, dir, "import", small, "--into", into, "--collection", "ruter", "--replace")
	if got := counts(t, into); code != 0 || got["ruter"] != 3 || got["more"] != 250 {
		t.Errorf("status %d, %v\n%s", code, got, stderr)
	}
	two := writeFile(t, filepath.Join(dir, "two.csv"), "nr,navn,lon,lat\nx,Punkt,10,60\n")
	code, stdout, stderr = command(t, dir, "import", small, two, "--into", into, "--collection", "both",
		"--id-field", "nr")
	if got := counts(t, into); code != 0 || got["both"] != 4 ||
		!strings.Contains(stdout, "geometries of several types") {
		t.Errorf("status %d, %v\n%s%s", code, got, stdout, stderr)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 5 {
		t.Errorf("files are left behind: %v, %v", left, err)
	}
}

func TestARefusedImportLeavesTheTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := filepath.Join(dir, "data.gpkg")
	good := writeFile(t, filepath.Join(dir, "good.geojson"), squares(10))
	if code, _, stderr := command(t, dir, "import", good, "--into", into, "--collection", "ruter"); code != 0 {
		t.Fatal(stderr)
	}
	before, err := os.ReadFile(into)
	if err != nil {
		t.Fatal(err)
	}
	broken := writeFile(t, filepath.Join(dir, "broken.geojson"),
		strings.Replace(squares(10), `"coordinates":[[[0.5`, `"coordinates":[[["0.5"`, 1))
	twoLayers := writeFile(t, filepath.Join(dir, "two.json"),
		`{"A":{"type":"FeatureCollection","features":[]},"B":{"type":"FeatureCollection","features":[]}}`)
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"a fault in a feature": {[]string{broken},
			[]string{"nothing was imported", "broken.geojson:6:", "feature 6", "must be a number"}},
		"ids twice": {[]string{good, good, "--id-field", "nr"},
			[]string{`the property nr "0000" is that of feature 1 of`, "and 9 more"}},
		"no such file":     {[]string{dir + "/none.geojson"}, []string{"there is no file"}},
		"no such property": {[]string{good, "--id-field", "Nr"}, []string{`there is no property "Nr"`, "nr, navn"}},
		"no such title": {[]string{good, "--title-field", "name"},
			[]string{`there is no property "name" for --title-field`}},
		"bad id": {[]string{good, "--collection", "Ruter Ø"}, []string{`"ruter_o" can`}},
		"layers": {[]string{twoLayers},
			[]string{"two.json has 2 layers (A, B); choose one with --layer"}},
		"no such layer": {[]string{twoLayers, "--layer", "C"}, []string{"two.json has no layer C, but A, B"}},
		"crs": {[]string{good, "--crs", "EPSG:27700"},
			[]string{"--crs EPSG:27700: ", "is not served", "ogr2ogr -t_srs EPSG:4258"}},
		"crs without a name": {[]string{good, "--crs", "utm33"},
			[]string{"--crs utm33 is not the name of a reference system", "--crs EPSG:25833"}},
		"crs against the data": {[]string{good, "--crs", "EPSG:25833"}, []string{"--crs EPSG:25833"}},
		"target":               {[]string{good, "--into", good}, []string{"cannot write", "good.geojson"}},
		"report":               {[]string{good, "--report", dir + "/none/x"}, []string{"cannot write the report"}},
	} {
		args := append([]string{"import", "--into", into, "--collection", "ruter", "--replace"}, c.args...)
		code, stdout, stderr := command(t, dir, args...)
		if code != exitFailed || stdout != "" {
			t.Errorf("%s: status %d, %s", name, code, stdout)
		}
		for _, w := range c.want {
			if !strings.Contains(stderr, w) {
				t.Errorf("%s: %q is not in\n%s", name, w, stderr)
			}
		}
	}
	if after, err := os.ReadFile(into); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the target has changed: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 4 {
		t.Errorf("files are left behind: %v, %v", left, err)
	}
}

func TestImportUnderANameThatATableHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := writeFile(t, filepath.Join(dir, "a.geojson"), squares(2))
	into := filepath.Join(dir, "data.gpkg")
	for _, id := range []string{"sted", "gpkg_contents", "sqlite_x", "rtree_a", "grense_collection"} {
		if code, _, stderr := command(t, dir, "import", src, "--into", into, "--collection", id); code != 0 ||
			counts(t, into)[id] != 2 {
			t.Errorf("%s: status %d, %v\n%s", id, code, counts(t, into), stderr)
		}
	}
}

// importInChild is set in the environment of a child that is this test's program; it runs the command line after it.
const importInChild = "GRENSE_TEST_IMPORT"

func TestImportProcess(t *testing.T) {
	args := os.Getenv(importInChild)
	if args == "" {
		t.Skip("only as a child of TestKilledImportsLeaveTheTarget")
	}
	if code := run(context.Background(), &process{Args: strings.Split(args, "\n"), Stdout: io.Discard,
		Stderr: os.Stderr}); code != 0 {
		t.Fatal("status", code)
	}
}

// TestKilledImportsLeaveTheTarget kills an import at random moments. The target is then the old file or the whole new
// one. The next import removes what they left behind.
func TestKilledImportsLeaveTheTarget(t *testing.T) {
	rounds := sharedtest.Rounds(t, 20)
	dir := t.TempDir()
	into := filepath.Join(dir, "data.gpkg")
	scratch := t.TempDir()
	src := writeFile(t, filepath.Join(dir, "new.geojson"), squares(5000))
	if code, _, stderr := command(t, dir, "import", writeFile(t, filepath.Join(dir, "old.geojson"), squares(500)),
		"--into", into, "--collection", "ruter"); code != 0 {
		t.Fatal(stderr)
	}
	old, err := os.ReadFile(into)
	if err != nil {
		t.Fatal(err)
	}
	child := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestImportProcess$")
		cmd.Env = append(os.Environ(), "TMPDIR="+scratch, importInChild+"="+
			strings.Join([]string{"import", src, "--into", into, "--collection", "ruter", "--replace"}, "\n"))
		return cmd
	}
	start := time.Now()
	if out, err := child().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := time.Since(start)
	random := rand.New(rand.NewPCG(1, uint64(start.UnixNano())))
	kept := 0
	for i := range rounds {
		if err := os.WriteFile(into, old, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := child()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		moment := time.Duration(random.Int64N(int64(whole) * 11 / 10))
		timer := time.AfterFunc(moment, func() { cmd.Process.Kill() })
		cmd.Wait()
		timer.Stop()
		now, err := os.ReadFile(into)
		switch {
		case err != nil:
			t.Fatal(err)
		case bytes.Equal(now, old):
			kept++
		case counts(t, into)["ruter"] != 5000:
			t.Fatalf("round %d, killed after %v of %v: the target is neither old nor new", i, moment, whole)
		}
	}
	if kept == 0 {
		t.Errorf("no import of %d was killed before its end, which proves nothing", rounds)
	}
	if out, err := child().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	left, _ := os.ReadDir(scratch)
	beside, _ := filepath.Glob(filepath.Join(dir, ".data.gpkg.*"))
	if len(left)+len(beside) > 0 {
		t.Errorf("killed imports left %v and %v", left, beside)
	}
	t.Logf("%d of %d kept the old file; an import takes %v", kept, rounds, whole)
}

func TestServeImportsOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "Kart Ø")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	src := writeFile(t, filepath.Join(folder, "Ruter.geojson"), squares(20))
	writeFile(t, filepath.Join(folder, "Bad.geojson"), `{"type":"Point","coordinates":["x",1]}`)
	writeFile(t, filepath.Join(folder, "punkter.csv"), "id,lon,lat\n0301,10,60\n")
	writeFile(t, filepath.Join(folder, "readme.txt"), "nothing")
	code, stdout, stderr := command(t, dir, "check", folder)
	if code != exitFailed || !strings.HasPrefix(row(stdout, "Ruter"), "Ruter ruter OGC:CRS84 20 Polygon") ||
		!strings.HasPrefix(row(stdout, "punkter"), "punkter punkter OGC:CRS84 1 Point") ||
		!strings.Contains(stdout, "refused: ") || !strings.Contains(stdout, "Bad.geojson:1:32, feature 1") {
		t.Errorf("status %d\n%s%s", code, stdout, stderr)
	}
	if strings.Count(stderr, "msg=imported ") != 2 {
		t.Errorf("not two imports:\n%s", stderr)
	}
	if _, stdout, stderr := command(t, dir, "check", folder); strings.Contains(stderr, "msg=imported ") ||
		!strings.Contains(stdout, "Bad.geojson:1:32") {
		t.Errorf("the copy is not used again:\n%s%s", stdout, stderr)
	}
	r := serve(t, dir, src, "--auth", "open")
	if code, body := r.get(t, "/collections/ruter/items?limit=1", ""); code != 200 ||
		!strings.Contains(body, "Rute 0") || !strings.Contains(body, `"numberMatched":20`) {
		t.Errorf("%d %.500s", code, body)
	}
	writeFile(t, src, squares(25))
	r.hup(t, "msg=reloaded")
	if _, body := r.get(t, "/collections/ruter/items?limit=1", ""); !strings.Contains(body, `"numberMatched":25`) {
		t.Errorf("after the reload of a changed file: %.500s", body)
	}
	writeFile(t, src, "{")
	r.hup(t, "reload failed; the data from before are still served")
	if _, body := r.get(t, "/collections/ruter/items?limit=1", ""); !strings.Contains(body, `"numberMatched":25`) {
		t.Errorf("after the reload of a broken file: %.500s", body)
	}
	writeFile(t, src, squares(30))
	if _, _, stderr := command(t, dir, "check", src); strings.Count(stderr, "msg=imported ") != 1 {
		t.Errorf("the changed file is not imported again:\n%s", stderr)
	}
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "collections: {Ruter: {id_column: nr}}\n")
	if code, stdout, stderr := command(t, dir, "check", src, "--config", conf); code != 0 ||
		!strings.HasSuffix(row(stdout, "Ruter"), " nr") {
		t.Errorf("the configured id is not used:\n%s%s", stdout, stderr)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command(t, dir, "check", empty); code != exitFailed ||
		!strings.Contains(stderr, "is a folder, and none of its files is read") {
		t.Errorf("status %d\n%s", code, stderr)
	}
	if code, _, stderr := command(t, dir, "check", filepath.Join(folder, "Bad.geojson")); code != exitFailed ||
		!strings.Contains(stderr, "must be a number") {
		t.Errorf("status %d\n%s", code, stderr)
	}
	made, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(made) != 4 {
		t.Errorf("something was written beside the source: %v", made)
	}
}

// A file that is served from a copy is downloaded as any other: in the state that links name,
// before and after a reload.
func TestServedFilesAreDownloaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := writeFile(t, filepath.Join(dir, "punkter.csv"), "id,navn,lon,lat\n0301,Oslo,10,60\n")
	r := serve(t, dir, src, "--auth", "open")
	if code, body := r.get(t, "/collections/punkter/download?f=csv", ""); code != 200 ||
		body != "id,navn,lon,lat\r\n0301,Oslo,10,60\r\n" {
		t.Errorf("%d %q", code, body)
	}
	_, before := r.get(t, "/collections/punkter?f=json", "")
	if !strings.Contains(before, "/download?f=gpkg&revision=") {
		t.Errorf("the links name no state: %s", before)
	}
	writeFile(t, src, "id,navn,lon,lat\n0301,Oslo,10,60\n0302,Nord,11,61\n")
	r.hup(t, "msg=reloaded")
	if code, body := r.get(t, "/collections/punkter/download?f=csv", ""); code != 200 ||
		strings.Count(body, "\n") != 3 {
		t.Errorf("after a reload: %d %q", code, body)
	}
	if _, after := r.get(t, "/collections/punkter?f=json", ""); after == before {
		t.Error("after a reload the links name the same state")
	}
}
