package main

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestDataDirectoryThatIsDeleted while the server runs: jobs are 503 with the reason, keys are not made where the
// server does not see them, and the log says it once. Data are served as before.
func TestDataDirectoryThatIsDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := collectionsOf(t, t.TempDir(), "a", "", "a")
	r := serveAsIs(t, dir, src, "--auth", "open")
	submit := func() (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.base+"/processes/echo/execution",
			strings.NewReader(`{"inputs":{"string":"a"},"outputs":{"string":{}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Prefer", "respond-async")
		return exchange(t, req)
	}
	if code, body := submit(); code != http.StatusCreated {
		t.Fatalf("a job before: %d %s", code, body)
	}
	data := filepath.Join(dir, ".local/share/grense")
	for end := time.Now().Add(patience); ; { // the server may write a file while its folder is deleted
		err := os.RemoveAll(data)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	for range 3 {
		if code, body := submit(); code != http.StatusServiceUnavailable || !strings.Contains(body, "data directory") {
			t.Errorf("a job after: %d %s", code, body)
		}
	}
	if runtime.GOOS == "linux" {
		code, stdout, stderr := command(t, dir, "key", "create", "--name", "x")
		if code == 0 || stdout != "" || !strings.Contains(stderr, "restart that server") {
			t.Errorf("key create: status %d, %q, %s", code, stdout, stderr)
		}
	}
	log := r.stderr.await(t, "was deleted or replaced")
	if code, _ := r.get(t, "/collections/a/items?limit=1", ""); code != http.StatusOK {
		t.Errorf("items: %d", code)
	}
	if n := strings.Count(log, "was deleted or replaced"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, log)
	}
	if n := strings.Count(log, "jobs cannot be read"); n > 1 {
		t.Errorf("%d lines on jobs:\n%s", n, log)
	}
}

// exchange sends a request and returns the status and the body.
func exchange(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b strings.Builder
	if err := res.Write(&b); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, b.String()
}
