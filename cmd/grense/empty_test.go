package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/await"
)

// collectionsOf makes a GeoPackage of collections of squares, and runs SQL on it.
func collectionsOf(t *testing.T, dir, name, sql string, ids ...string) string {
	t.Helper()
	path := filepath.Join(dir, name+".gpkg")
	squared := writeFile(t, filepath.Join(dir, "squares.geojson"), squares(5))
	for _, id := range ids {
		if code, _, stderr := command(t, dir, "import", squared, "--collection", id, "--into", path); code != 0 {
			t.Fatal(stderr)
		}
	}
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteScript(c, sql, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// refuseAll makes a file of which no layer can be served.
const refuseAll = "UPDATE gpkg_contents SET data_type = 'drawings'"

// TestASourceWithoutCollectionsIsNoSource at the start, unless that is configured;
// check lists what is refused all the same.
func TestASourceWithoutCollectionsIsNoSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused := collectionsOf(t, dir, "refused", refuseAll, "a")
	bare := collectionsOf(t, dir, "bare",
		"DELETE FROM gpkg_geometry_columns; DELETE FROM gpkg_contents; DELETE FROM grense_collection", "a")
	for path, reason := range map[string]string{refused: `the data type "drawings" is not known`,
		bare: "set allow_empty"} {
		code, _, stderr := command(t, dir, "serve", "--addr", "127.0.0.1:0", path)
		if code == 0 || !strings.Contains(stderr, "no collection can be served") || !strings.Contains(stderr, reason) {
			t.Errorf("%s: status %d, %s", path, code, stderr)
		}
		if code, stdout, _ := command(t, dir, "check", path); code == 0 ||
			!strings.Contains(stdout, "Nothing would be served.") {
			t.Errorf("check %s: status %d, %s", path, code, stdout)
		}
	}
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "auth: open\nallow_empty: true\nlimits: {drain_wait: 0s}\n")
	r := serveAsIs(t, dir, refused, "--config", conf)
	if code, body := r.get(t, "/collections?f=json", ""); code != http.StatusOK ||
		!strings.Contains(body, `"collections":[]`) {
		t.Errorf("with allow_empty: %d %s", code, body)
	}
}

// TestAnUpdateThatHoldsNothingIsRefused keeps the old data. One that loses some collections is taken, with a warning
// for each; the log of changes has a drop for what is gone, and none for what is refused.
func TestAnUpdateThatHoldsNothingIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := collectionsOf(t, dir, "source", "", "a", "b", "c")
	r := serveAsIs(t, dir, src, "--auth", "open")
	changes := func() string {
		code, body := r.get(t, "/changes/latest", "")
		if code != http.StatusOK {
			t.Fatalf("changes: %d %s", code, body)
		}
		return body
	}
	await.True(t, "three loads", func() bool { return strings.Count(changes(), `"load"`) >= 3 })
	replace := func(path string) {
		if err := os.Rename(path, src); err != nil {
			t.Fatal(err)
		}
	}
	replace(collectionsOf(t, dir, "refused", refuseAll, "a", "b", "c"))
	r.hup(t, "reload failed; the data from before are still served")
	if code, body := r.get(t, "/collections/a/items?limit=1", ""); code != http.StatusOK ||
		!strings.Contains(body, `"numberMatched":5`) {
		t.Errorf("after an update that holds nothing: %d %s", code, body)
	}
	if code, body := r.get(t, "/readyz", ""); code != http.StatusOK ||
		!strings.Contains(body, "the last reload, which failed") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	replace(collectionsOf(t, dir, "less", "UPDATE gpkg_contents SET data_type = 'drawings' WHERE table_name = 'b'", "a",
		"b"))
	r.hup(t, "msg=reloaded")
	for id, reason := range map[string]string{"b": "is not known", "c": "the source does not have it any more"} {
		if want := fmt.Sprintf(`msg="a collection is no longer served" collection=%s reason="`,
			id); !strings.Contains(r.stderr.String(), want) || !strings.Contains(r.stderr.String(), reason) {
			t.Errorf("the loss of %s is not logged:\n%s", id, r.stderr.String())
		}
	}
	await.True(t, "a drop", func() bool { return strings.Contains(changes(), `"drop"`) })
	if got := changes(); strings.Count(got, `"drop"`) != 1 || !strings.Contains(got, `"collection":"c"`) {
		t.Errorf("changes: %s", got)
	}
}
