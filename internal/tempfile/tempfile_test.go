package tempfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/tempfile"
)

// names lists what is in a folder, and in the folders in it.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestWhatAKilledProcessLeftIsRemoved, with what SQLite left beside it, and nothing that a process still uses.
func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	path, done, err := tempfile.Begin(dir, ".x.gpkg.")
	if err != nil || filepath.Dir(path) != dir {
		t.Fatal(path, err)
	}
	used := filepath.Base(path)
	write(used, 48*time.Hour) // a long import
	for _, name := range []string{".x.gpkg.1.tmp", ".x.gpkg.1.tmp-journal", ".x.gpkg.1.tmp-grense-lock",
		".x.gpkg.2.tmp-grense-lock", ".y.gpkg.3.tmp", ".y.gpkg.3.tmp-grense-lock"} {
		write(name, 0)
	}
	folder := filepath.Join(dir, ".x.gpkg.4.tmp")
	if err := os.MkdirAll(filepath.Join(folder, "unpacked"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(".x.gpkg.4.tmp-grense-lock", 0)
	write(".x.gpkg.5.tmp", time.Hour)    // of an older program, perhaps still at work
	write(".x.gpkg.6.tmp", 25*time.Hour) // of an older program
	write("other.tmp", 48*time.Hour)     // of another program
	write("x.gpkg", 48*time.Hour)

	tempfile.Sweep(dir, ".x.gpkg.", "")
	want := []string{".x.gpkg.5.tmp", ".y.gpkg.3.tmp", ".y.gpkg.3.tmp-grense-lock", "other.tmp", "x.gpkg", used,
		used + "-grense-lock"}
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
	done()
	os.Remove(path)
	tempfile.Sweep(dir, "", "")
	if got := strings.Join(names(t, dir), " "); got != ".x.gpkg.5.tmp other.tmp x.gpkg" {
		t.Error(got)
	}
}
