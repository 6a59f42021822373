package main_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/state"
	"grense/internal/store/postgis/statedb"
	"grense/internal/store/storetest"
)

// publicAddress is one that callbacks may go to, of a network of our own.
const publicAddress = "9.9.9.9"

// inOwnNetwork runs a test once more, as a process of its own in a network of its own where publicAddress is
// this machine; true there.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	const mark = "GRENSE_TEST_NETWORK"
	if os.Getenv(mark) != "" {
		for _, args := range []string{"link set lo up", "addr add " + publicAddress + "/32 dev lo"} {
			if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
				t.Fatalf("ip %s: %v %s", args, err, out)
			}
		}
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		t.Skip("NOT TESTED: a network of its own needs root and the program ip")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "5m")
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && strings.Contains(err.Error(), "operation not permitted"):
		t.Skipf("NOT TESTED: no network of its own: %v", err)
	case err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()):
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// subscribed is a subscriber that refuses notifications until it is willing.
type subscribed struct {
	address string
	refused chan string // what it received
	taken   chan string
	willing chan struct{} // closed when it is
}

func subscribe(t *testing.T) *subscribed {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", publicAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := &subscribed{address: "http://" + l.Addr().String() + "/", refused: make(chan string, 100),
		taken: make(chan string, 100), willing: make(chan struct{})}
	srv := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			select {
			case <-s.willing:
				if err == nil {
					s.taken <- string(b)
				}
			default:
				w.WriteHeader(http.StatusInternalServerError)
				s.refused <- string(b)
			}
		})}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return s
}

// noCallsLeft waits until the state of the servers has no callback that is still to be sent.
func noCallsLeft(t *testing.T, home, source string) {
	t.Helper()
	open, path := state.Open, filepath.Join(home, ".local/share/grense", "state.db")
	if source != "" {
		open, path = statedb.Open, source
	}
	db, err := open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	await.True(t, "no callback is left", func() bool {
		jobs, err := db.JobList(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(jobs, func(j state.Job) bool { return j.Call != nil })
	})
}

// TestAcceptSubscribersAreToldWhenTheServerIsKilledBetweenTries: what a killed server had not sent is sent once,
// after its restart or by another server of the database.
func TestAcceptSubscribersAreToldWhenTheServerIsKilledBetweenTries(t *testing.T) {
	wantsClients(t)
	if !inOwnNetwork(t) {
		return
	}
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	for name, source := range map[string]string{"restarted": "", "another": cluster.Database(t)} {
		s := subscribe(t)
		home := t.TempDir()
		config := filepath.Join(home, "grense.yaml")
		if err := os.WriteFile(config, fmt.Appendf(nil, "processes: {callbacks: true, allow: ['%s']}\n", s.address),
			0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"--config", config}
		if source != "" {
			args = append(args, source)
		}
		w := startWorker(t, home, args...)
		if source != "" {
			startWorker(t, t.TempDir(), args...)
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.base+"/processes/echo/execution",
			strings.NewReader(`{"inputs":{"string":"`+name+`"},"outputs":{"string":{}},"subscriber":{"successUri":"`+
				s.address+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Prefer", "respond-async")
		if res, body := exchange(t, http.DefaultClient, req); res.StatusCode != http.StatusCreated {
			t.Fatalf("%d %s", res.StatusCode, body)
		}
		await.Receive(t, s.refused)
		await.Receive(t, s.refused)
		w.kill() // the third try is four seconds later
		close(s.willing)
		if source == "" {
			startWorker(t, home, args...)
		}
		if got := await.Receive(t, s.taken); got != `{"string":"`+name+`"}` {
			t.Errorf("%s: %s", name, got)
		}
		noCallsLeft(t, home, source)
		if n := len(s.taken) + len(s.refused); n > 0 {
			t.Errorf("%s: told %d times more", name, n)
		}
	}
}
