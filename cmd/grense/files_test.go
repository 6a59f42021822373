package main

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestNobodyElseReadsTheDataFolder: whatever is served, all that lies in the data folder belongs to the owner alone,
// also where somebody else made the folder or an older program the files.
func TestNobodyElseReadsTheDataFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "made-by-others")
	for _, d := range []string{dir, filepath.Join(dir, "imports")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		os.Chmod(d, 0o755) // whatever the umask is
	}
	old := filepath.Join(dir, "old-0123456789abcdef-0123456789abcdef.side")
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	points := writeFile(t, filepath.Join(home, "points.geojson"),
		`{"type":"FeatureCollection","features":[{"type":"Feature","id":"1","geometry":{"type":"Point",`+
			`"coordinates":[10,60]},"properties":{"a":"b"}}]}`)
	imported := filepath.Join(home, "points.gpkg")
	if code, _, stderr := command(t, home, "import", points, "--into", imported, "--collection", "points"); code != 0 {
		t.Fatal(stderr)
	}
	for _, source := range [][]string{nil, {points}, {imported}} {
		r := serveAsIs(t, home, append(source, "--data-dir", dir)...)
		if code, _ := r.get(t, "/collections", ""); code != http.StatusOK {
			t.Errorf("%v: status %d", source, code)
		}
		r.stop()
		r.exit(t)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		seen++
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return err
	})
	if err != nil || seen < 7 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// TestTwoFirstStartsPrintOneKey: of processes that begin at once on one folder one makes the first
// key, and it is the only one.
func TestTwoFirstStartsPrintOneKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	haveDemo(t, dir)
	var printed [4]string
	t.Run("starts", func(t *testing.T) {
		for i := range printed {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				r := serveAsIs(t, dir)
				printed[i] = r.stdout.await(t, "Data need an API key")
				if code, body := r.get(t, "/collections", ""); code != http.StatusOK {
					t.Errorf("status %d: %s", code, body)
				}
				printed[i] = r.stdout.String()
			})
		}
	})
	key := regexp.MustCompile(`(?m)^  (grense_\S+)$`)
	if n := len(key.FindAllString(strings.Join(printed[:], "\n"), -1)); n != 1 {
		t.Errorf("%d keys were printed", n)
	}
	if _, list, _ := command(t, dir, "key", "list"); strings.Count(list, firstKeyName) != 1 {
		t.Errorf("keys:\n%s", list)
	}
}
