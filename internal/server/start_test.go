package server_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/server/surface"
	"grense/internal/source"
)

// mostToStart limits the memory, in bytes, that a server over the demo allocates until it is ready. The server builds
// what pages need (Swagger UI, compressed static files, templates, the API definition) when it is first requested.
const mostToStart = 3 << 20

// TestAServerIsReadyBeforeItsPagesAre starts a server in its own process, in which nothing was built before.
func TestAServerIsReadyBeforeItsPagesAre(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector asks for memory of its own: the run without it has it")
	}
	const child = "GRENSE_TEST_START"
	if os.Getenv(child) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.short=false")
		cmd.Env = append(os.Environ(), child+"=1", "GRENSE_TEST_STORE=")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	path, err := demoFile()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.BaseURL, cfg.Auth = "http://localhost", "open"
	st, err := source.Open(t.Context(), path, source.Options{DataDir: t.TempDir(), Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	srv, err := surface.New(server.Options{Config: cfg, Store: st})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > mostToStart {
		t.Errorf("%d bytes to make a server, at most %d", n, mostToStart)
	}
}
