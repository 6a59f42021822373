package main

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

// getenv returns a variable of the environment that the program was started with.
func (p *process) getenv(name string) string {
	for _, kv := range p.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// notify sends states to the service manager, as sd_notify(3) does. It does nothing without a service manager.
func (p *process) notify(states ...string) {
	path := p.getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	// net reads @ as the abstract namespace
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write([]byte(strings.Join(states, "\n"))) // a manager that does not read ends the service by its own time-out
}

// keepAlive returns the service manager that h answers, twice in each period of its watchdog, until ctx ends.
func (p *process) keepAlive(ctx context.Context, h http.Handler) {
	usec, err := strconv.ParseInt(p.getenv("WATCHDOG_USEC"), 10, 64)
	if pid := p.getenv("WATCHDOG_PID"); err != nil || usec <= 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return
	}
	tick := time.NewTicker(time.Duration(usec) * time.Microsecond / 2)
	defer tick.Stop()
	for {
		if healthy(ctx, h) {
			p.notify("WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// healthy reports whether h answers that the process lives.
func healthy(ctx context.Context, h http.Handler) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/healthz", nil)
	w := &statusWriter{header: http.Header{}, status: http.StatusOK}
	if err == nil {
		h.ServeHTTP(w, r)
	}
	return err == nil && w.status == http.StatusOK
}

// statusWriter keeps the status of an answer and drops the rest.
type statusWriter struct {
	header http.Header
	status int
}

func (w *statusWriter) Header() http.Header         { return w.header }
func (w *statusWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *statusWriter) WriteHeader(status int)      { w.status = status }

// firstInherited is the number of the first socket that a service manager hands over, as sd_listen_fds(3) defines it.
const firstInherited = 3

// inherited returns the socket that the service manager listens on for this process; nil: there is none.
func (p *process) inherited() (net.Listener, error) {
	if p.getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if n := p.getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("the service manager hands over %s sockets; give the socket unit one ListenStream", n)
	}
	f := os.NewFile(firstInherited, "socket of the service manager")
	defer f.Close() // FileListener has its own copy
	l, err := net.FileListener(f)
	if _, tcp := l.(*net.TCPListener); err == nil && !tcp {
		l.Close()
		err = errors.New("it is not a TCP socket")
	}
	if err != nil {
		return nil,
			fmt.Errorf("cannot use the socket of the service manager: %w; give the socket unit a ListenStream", err)
	}
	return l, nil
}
