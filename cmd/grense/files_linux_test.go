package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestFullDiskSaysOneThing: whatever is being written, one line says that the disk is full, and the cure.
func TestFullDiskSaysOneThing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	disk := filepath.Join(home, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=40k"); err != nil {
		t.Skipf("SKIPPED: a small disk cannot be mounted here: %v", err)
	}
	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	points := writeFile(t, filepath.Join(home, "points.geojson"), `{"type":"FeatureCollection","features":[`+
		strings.TrimSuffix(
			strings.Repeat(`{"type":"Feature","geometry":{"type":"Point","coordinates":[10,60]},"properties":{"a":"`+
				strings.Repeat("b", 100)+`"}},`, 2000), ",")+`]}`)
	imported := filepath.Join(home, "points.gpkg")
	if code, _, stderr := command(t, home, "import", points, "--into", imported, "--collection", "points"); code != 0 {
		t.Fatal(stderr)
	}
	c, err := sqlite.OpenConn(imported, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	// the side file gets one, larger than the disk
	err = sqlitex.ExecuteTransient(c, "DROP TABLE rtree_points_geom", nil)
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"demo":   {"serve", "--addr", "127.0.0.1:0", "--data-dir", filepath.Join(disk, "1")},
		"import": {"serve", points, "--addr", "127.0.0.1:0", "--data-dir", filepath.Join(disk, "2")},
		"side":   {"serve", imported, "--addr", "127.0.0.1:0", "--data-dir", filepath.Join(disk, "3")},
		"into":   {"import", points, "--into", filepath.Join(disk, "x.gpkg"), "--collection", "points"},
	} {
		code, _, stderr := command(t, home, args...)
		last := strings.Split(strings.TrimSpace(stderr), "\n")
		if code != exitFailed || strings.Count(stderr, "grense: ") != 1 ||
			!strings.Contains(last[len(last)-1], ": the disk is full; make room there") {
			t.Errorf("%s: status %d\n%s", name, code, stderr)
		}
		if name == "side" && !strings.Contains(stderr, "cannot open") {
			t.Errorf("the side file fits on the disk: %s", stderr)
		}
		for _, pattern := range []string{"*.side*", ".*.side*", "first-key-*"} {
			if left, _ := filepath.Glob(filepath.Join(disk, "*", pattern)); len(left) > 0 {
				t.Errorf("%s: left %q", name, left)
			}
		}
	}
}
