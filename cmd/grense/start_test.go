package main

import (
	"net/http"
	"os"
	"strconv"
	"testing"
)

// TestSeveralStartsOnOneFreshFolder: processes that share a data folder build the demo at the same
// time, and all of them serve.
func TestSeveralStartsOnOneFreshFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			r := serveAsIs(t, dir, "--auth", "open")
			if code, body := r.get(t, oneItem, ""); code != http.StatusOK {
				t.Errorf("status %d: %s", code, body)
			}
			if _, err := os.Stat(demoPath(dir)); err != nil {
				t.Error(err)
			}
		})
	}
}
