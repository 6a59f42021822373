//go:build linux

package main_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"grense/internal/await"
)

// TestAcceptOpsBackupUnderLoad: while 8 clients and 20 jobs keep a server busy it is backed up, and killed. What is
// restored has all keys, all jobs that had finished, with the same bytes, and continues the log of changes.
func TestAcceptOpsBackupUnderLoad(t *testing.T) {
	released(t)
	home, next := t.TempDir(), t.TempDir()
	src := filepath.Join(t.TempDir(), "kommuner.gpkg")
	grense := func(dir string, args ...string) string {
		t.Helper()
		out, err := program(t, t.Context(), dir, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	points := filepath.Join(t.TempDir(), "kommuner.geojson")
	importPoints := func(text string) {
		t.Helper()
		if err := os.WriteFile(points, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		grense(t.TempDir(), "import", points, "--into", src+".new", "--collection", "kommuner")
		if err := os.Rename(src+".new", src); err != nil {
			t.Fatal(err)
		}
	}
	importPoints(areas(3))
	var keys []string
	for range 5 {
		keys = append(keys, createKey(t, home))
	}
	w := startWorker(t, home, src)
	last := func(w *worker) (n int64) {
		t.Helper()
		m := regexp.MustCompile(`"last":\s*(\d+)`).FindStringSubmatch(w.get(t, "/changes/latest?f=json"))
		if m == nil {
			t.Fatalf("no number of a change in %s", w.get(t, "/changes/latest?f=json"))
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet,
					fmt.Sprintf("%s/collections/kommuner/items?limit=%d", w.base, 1+i), nil)
				if err != nil {
					return
				}
				if res, err := http.DefaultClient.Do(req); err == nil {
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}
		})
	}
	var jobs []string
	for i := range 20 {
		jobs = append(jobs, w.submit(t, strconv.Itoa(i/8)))
	}
	importPoints(strings.ReplaceAll(areas(3), "Vest", "West"))
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.await(t, jobs[0], "successful")
	results := map[string]string{}
	for _, job := range jobs {
		if strings.Contains(w.get(t, "/jobs/"+job+"?f=json"), `"successful"`) {
			results[job] = w.get(t, "/jobs/"+job+"/results")
		}
	}
	file := filepath.Join(t.TempDir(), "backup.zip")
	t.Log(grense(home, "backup", file))
	given := last(w)
	stop()
	clients.Wait()
	w.kill()

	t.Log(grense(next, "restore", file))
	if got := strings.Count(grense(next, "key", "list"), "a real client"); got != len(keys) {
		t.Errorf("%d keys are restored, want %d", got, len(keys))
	}
	w = startWorker(t, next, src)
	for job, want := range results {
		if got := w.get(t, "/jobs/"+job+"/results"); got != want {
			t.Errorf("job %s: %q, want %q", job, got, want)
		}
	}
	t.Logf("%d of 20 jobs had finished", len(results))
	importPoints(strings.ReplaceAll(areas(3), "Aust", "East"))
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await.Success(t, "a change after the restore", func() error {
		if n := last(w); n <= given {
			return fmt.Errorf("the last change has the number %d, before the restore there was %d", n, given)
		}
		return nil
	})
}
