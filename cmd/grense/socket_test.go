//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// overSocket returns a client whose connections are to the Unix socket at path.
func overSocket(path string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

// socketPath returns a path that is short enough for a socket.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "grense-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "grense.sock")
}

// TestAUnixSocketIsServed: with its permissions, in place of a socket that another program has left, to health checks
// and to a proxy, which counts as 127.0.0.1.
func TestAUnixSocketIsServed(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	dir := t.TempDir()
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"), "addr: unix:"+path+"\nsocket_mode: 0600\nauth: open\n"+
		"trusted_proxies: [127.0.0.1]\nlimits: {drain_wait: 0s}\n")
	src := collectionsOf(t, t.TempDir(), "a", "", "a")
	r := serveWith(t, dir, func(p *process) { p.Args = []string{"serve", src, "--config", conf} })
	if out := r.stdout.String(); r.base != "http://localhost" || !strings.Contains(out, "unix:"+path) {
		t.Errorf("links begin with %s:\n%s", r.base, out)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/collections?f=json", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-Host", "example.org")
	req.Header.Set("X-Forwarded-For", "192.0.2.7")
	res, err := overSocket(path).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), `"http://example.org/collections`) {
		t.Errorf("status %d: %s, %v", res.StatusCode, body, err)
	}
	r.stderr.await(t, "192.0.2.7")
	for _, args := range [][]string{{"health", "--config", conf}, {"health", "--ready", "unix:" + path}} {
		if code, stdout, stderr := command(t, dir, args...); code != 0 || stdout != "ok\n" {
			t.Errorf("%v: status %d, %q %s", args, code, stdout, stderr)
		}
	}
	if code, _, stderr := command(t, t.TempDir(), "serve", "--addr", "unix:"+path); code != exitFailed ||
		!strings.Contains(stderr, path+" is in use by another program") {
		t.Errorf("status %d: %s", code, stderr)
	}
	r.stop()
	if code := r.exit(t); code != 0 {
		t.Errorf("status %d\n%s", code, r.stderr)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if code, _, stderr := command(t, dir, "health", "unix:"+path); code != exitFailed ||
		!strings.Contains(stderr, "no answer") {
		t.Errorf("status %d: %s", code, stderr)
	}
}

func TestAUnixSocketThatCannotBeIsRefusedWithTheCure(t *testing.T) {
	t.Parallel()
	file := writeFile(t, filepath.Join(t.TempDir(), "file"), "x")
	for addr, want := range map[string]string{
		"unix:" + file:                      file + " is not a socket; remove it",
		"unix:/missing/grense.sock":         "its folder does not exist",
		"unix:grense.sock":                  "addr",
		"unix:/" + strings.Repeat("a", 200): "addr",
	} {
		code, _, stderr := command(t, t.TempDir(), "serve", "--addr", addr)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d: %s", addr, code, stderr)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "x" {
		t.Errorf("the file has %q, %v", b, err)
	}
}
