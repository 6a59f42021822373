package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestConnectionsHaveANumber: one address has at most half of them; one too many is refused,
// and when one ends there is room.
func TestConnectionsHaveANumber(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := serve(t, dir, "--auth", "open", "--config",
		writeFile(t, dir+"/c.yaml", "limits: {connections: 6, drain_wait: 0s}"))
	addr := strings.Replace(strings.TrimPrefix(r.base, "http://"), "localhost", "127.0.0.1", 1)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	ask := func(c net.Conn) string {
		io.WriteString(c, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
		b := make([]byte, 2000)
		n, _ := io.ReadAtLeast(c, b, 20)
		return string(b[:n])
	}
	http.DefaultClient.CloseIdleConnections()
	open := []net.Conn{dial(), dial(), dial()}
	for _, c := range open {
		if got := ask(c); !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Fatalf("%q", got)
		}
	}
	b, _ := io.ReadAll(dial())
	if got := string(b); !strings.HasPrefix(got, "HTTP/1.1 503") || !strings.Contains(got, "Retry-After") ||
		!strings.HasSuffix(got, "seconds.\n") {
		t.Errorf("%q", got)
	}
	open[0].Close()
	for {
		c := dial()
		if got := ask(c); strings.HasPrefix(got, "HTTP/1.1 200") {
			break
		}
	}
}
