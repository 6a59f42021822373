package datadir_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"grense/internal/datadir"
)

// TestOnlyItsOwnerMayReadADataDirectory, also one that existed before; files of others in it stay as they are.
func TestOnlyItsOwnerMayReadADataDirectory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no such permissions")
	}
	at := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(at, "imports"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := map[string]os.FileMode{"": 0o700, "imports": 0o700, datadir.StateFile: 0o600,
		datadir.StateFile + "-wal": 0o600, "a[1].side": 0o600, "imports/x.gpkg": 0o600, "theirs.txt": 0o644}
	for name := range want {
		if filepath.Ext(name) == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(at, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := datadir.Create(at)
	if err != nil || dir != at {
		t.Fatalf("%s, %v", dir, err)
	}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(at, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}
}

// TestADirectoryIsOfOneSource at a time; locks of one source are shared.
func TestADirectoryIsOfOneSource(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no such locks")
	}
	dir := t.TempDir()
	own := func(source string) *datadir.Lock {
		t.Helper()
		l, err := datadir.Own(dir, source)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second := own("a"), own("a")
	first.Close()
	if _, err := datadir.Own(dir, "b"); err == nil || !strings.Contains(err.Error(), "in use by a server of a;") {
		t.Errorf("another source: %v", err)
	}
	second.Close()
	own("b").Close()
}

func TestALostDirectoryIsNoticed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := datadir.Create(dir); err != nil {
		t.Fatal(err)
	}
	l, err := datadir.Own(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if l.AwaitLoss(ended) {
		t.Error("it is there")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if !l.AwaitLoss(t.Context()) {
		t.Error("it is gone")
	}
	if err := datadir.CheckLost(dir); runtime.GOOS == "linux" && (err == nil ||
		!strings.Contains(err.Error(), "was deleted while a server uses it")) {
		t.Errorf("%v", err)
	}
}
