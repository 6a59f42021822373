package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/datadir"
)

// TestFirstKeyIsInAFileWithoutATerminal until it was used, and nowhere else.
func TestFirstKeyIsInAFileWithoutATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	haveDemo(t, dir)
	r := serveWith(t, dir, func(p *process) { p.Terminal = false })
	path := filepath.Join(dir, ".local/share/grense", datadir.FirstKeyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(b))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for name, out := range map[string]string{"output": r.stdout.String(), "log": r.stderr.await(t, path)} {
		if strings.Contains(out, key) || strings.Contains(out, "/key?code=") {
			t.Errorf("the %s holds the key or a link with it:\n%s", name, out)
		}
		if !strings.Contains(out, path) {
			t.Errorf("the %s does not say where the key is:\n%s", name, out)
		}
	}
	if code, body := r.get(t, oneItem, key); code != http.StatusOK {
		t.Errorf("with the key: %d %s", code, body)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there after the key was used: %v", err)
	}
}

// TestFirstKeyOfAFileIsStored where there is no key yet.
func TestFirstKeyOfAFileIsStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	haveDemo(t, dir)
	code, key, stderr := command(t, dir, "key", "generate")
	if code != 0 {
		t.Fatal(stderr)
	}
	key = strings.TrimSpace(key)
	file := writeFile(t, filepath.Join(dir, "secret"), key+"\n")
	r := serveWith(t, dir, func(p *process) { p.Environ = append(p.Environ, "GRENSE_FIRST_KEY_FILE="+file) })
	if code, body := r.get(t, oneItem, key); code != http.StatusOK {
		t.Errorf("with the key: %d %s", code, body)
	}
	if out := r.stdout.String(); strings.Contains(out, key) {
		t.Errorf("the key is printed:\n%s", out)
	}
	none := t.TempDir()
	haveDemo(t, none)
	writeFile(t, file, "secret")
	p := &process{Args: []string{"serve", "--addr", "127.0.0.1:0"},
		Environ: append(environ(none), "GRENSE_FIRST_KEY_FILE="+file), Stdout: newOutput(), Stderr: newOutput()}
	if code := run(t.Context(), p); code == 0 || !strings.Contains(p.Stderr.(*output).String(), "grense key generate") {
		t.Errorf("status %d with a file that holds no key: %s", code, p.Stderr)
	}
}

// TestASignalDuringTheStartEndsWithZero as one during the service does.
func TestASignalDuringTheStartEndsWithZero(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	end()
	p := &process{Args: []string{"serve", "--addr", "127.0.0.1:0"}, Environ: environ(t.TempDir()), Stdout: newOutput(),
		Stderr: newOutput()}
	if code := run(ctx, p); code != 0 {
		t.Errorf("status %d: %s", code, p.Stderr)
	}
}
