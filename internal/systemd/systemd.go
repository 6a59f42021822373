// Package systemd talks to the service manager that has started the process: state, watchdog and sockets.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Manager is the service manager, as the environment of the process describes it. There need not be one.
type Manager struct {
	Environ []string // as os.Environ returns it
}

// getenv returns an environment variable of the process.
func (m Manager) getenv(name string) string {
	for _, kv := range m.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// Notify sends states to the service manager (sd_notify(3)). Without a service manager it does nothing.
func (m Manager) Notify(states ...string) {
	path := m.getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	// package net treats a leading @ as the abstract namespace
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write([]byte(strings.Join(states, "\n"))) // ignored: the service manager will notice by its own timeout
}

// KeepAlive notifies the service manager's watchdog twice in each of its periods while h is healthy, until ctx ends.
func (m Manager) KeepAlive(ctx context.Context, h http.Handler) {
	usec, err := strconv.ParseInt(m.getenv("WATCHDOG_USEC"), 10, 64)
	if pid := m.getenv("WATCHDOG_PID"); err != nil || usec <= 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return
	}
	tick := time.NewTicker(time.Duration(usec) * time.Microsecond / 2)
	defer tick.Stop()
	for {
		if healthy(ctx, h) {
			m.Notify("WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// healthy reports whether /healthz of h succeeds.
func healthy(ctx context.Context, h http.Handler) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/healthz", nil)
	w := &statusWriter{header: http.Header{}, status: http.StatusOK}
	if err == nil {
		h.ServeHTTP(w, r)
	}
	return err == nil && w.status == http.StatusOK
}

// statusWriter is a ResponseWriter that keeps only the status.
type statusWriter struct {
	header http.Header
	status int
}

func (w *statusWriter) Header() http.Header         { return w.header }
func (w *statusWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *statusWriter) WriteHeader(status int)      { w.status = status }

// firstInherited is the file descriptor of the first socket from a service manager (sd_listen_fds(3)).
const firstInherited = 3

// Socket returns the socket that the service manager has opened for this process; nil if there is none.
func (m Manager) Socket() (net.Listener, error) {
	if m.getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if n := m.getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("the service manager hands over %s sockets; give the socket unit one ListenStream", n)
	}
	f := os.NewFile(firstInherited, "socket of the service manager")
	defer f.Close() // FileListener duplicates it
	l, err := net.FileListener(f)
	if err == nil && l.Addr().Network() != "tcp" && l.Addr().Network() != "unix" {
		l.Close()
		err = errors.New("it is not a socket for connections")
	}
	if err != nil {
		return nil,
			fmt.Errorf("cannot use the socket of the service manager: %w; give the socket unit a ListenStream", err)
	}
	return l, nil
}
