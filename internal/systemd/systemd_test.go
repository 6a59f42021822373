//go:build unix

package systemd_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"grense/internal/systemd"
)

// listen opens the socket of a service manager, and returns a function that waits for its next message.
func listen(t *testing.T) (m systemd.Manager, next func() string) {
	t.Helper()
	addr := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return systemd.Manager{Environ: []string{"NOTIFY_SOCKET=" + addr.Name, "WATCHDOG_USEC=2000"}}, func() string {
		t.Helper()
		socket.SetReadDeadline(time.Now().Add(time.Minute))
		b := make([]byte, 1<<10)
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

func TestStatesAreLines(t *testing.T) {
	t.Parallel()
	m, next := listen(t)
	m.Notify("READY=1", "STATUS=serving")
	if got := next(); got != "READY=1\nSTATUS=serving" {
		t.Errorf("%q", got)
	}
	systemd.Manager{}.Notify("READY=1") // there is none
}

// TestTheWatchdogHearsOfAHealthyProcess, and nothing of one that is not.
func TestTheWatchdogHearsOfAHealthyProcess(t *testing.T) {
	t.Parallel()
	m, next := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	go m.KeepAlive(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < 4 || r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	if got := next(); got != "WATCHDOG=1" || asked.Load() < 4 {
		t.Errorf("%q after %d health checks", got, asked.Load())
	}
	m.Environ = append([]string{"WATCHDOG_PID=1"}, m.Environ...)
	m.KeepAlive(t.Context(), nil) // the watchdog of another process: returns at once
}

func TestSocketsOfTheServiceManager(t *testing.T) {
	t.Parallel()
	mine := "LISTEN_PID=" + strconv.Itoa(os.Getpid())
	for _, x := range []struct {
		environ []string
		want    string // in the error; "": no socket and no error
	}{
		{nil, ""},
		{[]string{"LISTEN_PID=1", "LISTEN_FDS=1"}, ""},
		{[]string{mine, "LISTEN_FDS=2"}, "give the socket unit one ListenStream"},
	} {
		l, err := systemd.Manager{Environ: x.environ}.Socket()
		if l != nil || (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: %v, %v", x.environ, l, err)
		}
	}
}
