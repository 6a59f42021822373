package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/datadir"
)

// TestADataDirectoryBelongsToOneSource at a time; processes of one source share it.
func TestADataDirectoryBelongsToOneSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := collectionsOf(t, dir, "a", "", "a"), collectionsOf(t, dir, "b", "", "b")
	first := serveAsIs(t, dir, a, "--auth", "open")
	second := serveAsIs(t, dir, a, "--auth", "open")
	for _, r := range []*running{first, second} {
		if code, body := r.get(t, "/collections/a/items?limit=1", ""); code != http.StatusOK {
			t.Errorf("%d %s", code, body)
		}
	}
	refused := func(when string) {
		t.Helper()
		code, _, stderr := command(t, dir, "serve", "--addr", "127.0.0.1:0", "--auth", "open", b)
		if code == 0 || !strings.Contains(stderr, a) || !strings.Contains(stderr, "--data-dir") {
			t.Errorf("another source %s: status %d, %s", when, code, stderr)
		}
	}
	refused("beside two servers")
	first.stop()
	first.exit(t)
	refused("beside one server")
	second.stop()
	second.exit(t)
	if code, body := serveAsIs(t, dir, b, "--auth", "open").get(t, "/collections/b/items?limit=1",
		""); code != http.StatusOK {
		t.Errorf("another source after both: %d %s", code, body)
	}
}

// TestStateOfANewerProgramIsRefused, and one of a program that wrote no version is taken.
func TestStateOfANewerProgramIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	createKey(t, dir, "--name", "one")
	set := func(sql string) {
		t.Helper()
		c, err := sqlite.OpenConn(filepath.Join(dir, ".local/share/grense", datadir.StateFile), sqlite.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := sqlitex.ExecuteTransient(c, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	set("PRAGMA user_version = 99")
	if code, _, stderr := command(t, dir, "key", "list"); code == 0 ||
		!strings.Contains(stderr, "newer version of Grense") || !strings.Contains(stderr, "99") {
		t.Errorf("status %d: %s", code, stderr)
	}
	set("PRAGMA user_version = 0")
	if code, stdout, stderr := command(t, dir, "key", "list"); code != 0 || strings.Count(stdout, "active") != 1 {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
}
