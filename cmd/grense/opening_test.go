package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHealthAtOnce: a process whose data are still being opened lives and is not ready, and says why.
func TestHealthAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var logs, out output
	logs.changed, out.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx,
			&process{Args: []string{"serve", "postgres://u:s3cret@127.0.0.1:1/d", "--addr", addr, "--auth", "open"},
				Environ: append(environ(dir), "GRENSE_LIMITS_DRAIN_WAIT=0s"), Stdout: &out, Stderr: &logs})
	}()
	logs.await(t, "trying again")
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/healthz":     {http.StatusOK, "ok"},
		"/readyz":      {http.StatusServiceUnavailable, "starting: the database cannot be reached; trying again"},
		"/collections": {http.StatusServiceUnavailable, `"status":503`},
	} {
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want.status || !strings.Contains(string(body), want.body) ||
			strings.Contains(string(body), "s3cret") {
			t.Errorf("%s: status %d, %s, %v", path, resp.StatusCode, body, err)
		}
		if want.status != http.StatusOK && resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	stop()
	<-code
}

// TestWrongSourceEndsTheStart, unlike one that is away.
func TestWrongSourceEndsTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wrong := filepath.Join(dir, "x.gpkg")
	if err := os.WriteFile(wrong, []byte("no GeoPackage"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := cluster.Database(t)
	sql(t, db, "CREATE TABLE uten (id INT)")
	for _, source := range []string{wrong, filepath.Join(dir, "none.gpkg"), db} {
		if code, stdout, stderr := command(t, dir, "serve", source, "--addr", "127.0.0.1:0"); code != exitFailed ||
			stderr == "" {
			t.Errorf("%s: status %d, %s%s", source, code, stdout, stderr)
		}
	}
}

// TestOpeningPromisesTLS: RFC 6797, 7.1, also before the data are open.
func TestOpeningPromisesTLS(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/healthz", "/readyz"} {
		for _, secure := range []bool{false, true} {
			r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
			if secure {
				r.TLS = &tls.ConnectionState{}
			}
			newFront().ServeHTTP(w, r)
			if got := w.Header().Get("Strict-Transport-Security") != ""; got != secure {
				t.Errorf("%s: promised %v, over TLS %v", path, got, secure)
			}
		}
	}
}
