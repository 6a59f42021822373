package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestABackupOfARunningServerIsRestored: keys are valid and finished jobs have their results in another data directory.
func TestABackupOfARunningServerIsRestored(t *testing.T) {
	t.Parallel()
	dir, next, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "backup.zip")
	src := collectionsOf(t, t.TempDir(), "a", "", "a")
	key, _ := createKey(t, dir, "--name", "kart")
	r := serveAsIs(t, dir, src)
	job := r.finishedJob(t, key)
	_, want := r.get(t, job+"/results", key)
	if code, stdout, stderr := command(t, dir, "backup", file); code != 0 ||
		!strings.Contains(stdout, "1 key, 1 finished job") {
		t.Fatalf("status %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr := command(t, dir, "backup", file); code != exitFailed ||
		!strings.Contains(stderr, "exists already") {
		t.Errorf("status %d: %s", code, stderr)
	}
	if code, _, stderr := command(t, dir, "restore", file); code != exitFailed ||
		!strings.Contains(stderr, "holds keys already") {
		t.Errorf("status %d: %s", code, stderr)
	}
	r.stop()
	if code, stdout, stderr := command(t, next, "restore", file); code != 0 {
		t.Fatalf("status %d: %s%s", code, stdout, stderr)
	}
	r = serveAsIs(t, next, src)
	if code, got := r.get(t, job+"/results", key); code != http.StatusOK || got != want {
		t.Errorf("status %d: %s, want %s", code, got, want)
	}
}

func TestADamagedBackupIsRefused(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "backup.zip")
	createKey(t, dir, "--name", "kart")
	if code, _, stderr := command(t, dir, "backup", file); code != 0 {
		t.Fatal(stderr)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"empty": nil, "cut": whole[:len(whole)/2], "other": []byte("no archive"),
		"turned": turned(whole)} {
		to := t.TempDir()
		code, _, stderr := command(t, to, "restore", writeFile(t, filepath.Join(t.TempDir(), name), string(b)))
		if code != exitFailed || !strings.Contains(stderr, "cannot restore") {
			t.Errorf("%s: status %d: %s", name, code, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(to, ".local/share/grense/*")); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// turned returns b with a changed byte in its middle.
func turned(b []byte) []byte {
	b = append([]byte(nil), b...)
	b[len(b)/2] ^= 0xff
	return b
}
