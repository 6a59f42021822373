package listen_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/listen"
	"grense/internal/server/limit"
)

// counted counts the calls of Write of the connections that it accepts.
type counted struct {
	net.Listener
	writes chan int
}

type countedConn struct {
	net.Conn
	writes chan int
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &countedConn{c, l.writes}, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.writes <- len(b)
	return c.Conn.Write(b)
}

// connKey is a context key for the connection of a request.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// TestWhatIsHeldBackLeavesInOnePiece writes an answer that net/http would send in three pieces.
func TestWhatIsHeldBackLeavesInOnePiece(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 9000)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	writes := make(chan int, 100)
	srv := &httptest.Server{Listener: listen.Limit(counted{l, writes}, config.Default()),
		Config: &http.Server{ConnContext: withConn,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g := r.Context().Value(connKey{}).(limit.Gatherer)
				g.Hold()
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				io.WriteString(w, body[:5000])
				io.WriteString(w, body[5000:])
				w.(http.Flusher).Flush()
				if len(writes) > 0 {
					t.Error("written before it was released")
				}
				if err := g.Release(); err != nil {
					t.Error(err)
				}
			})}}
	srv.Start()
	t.Cleanup(srv.Close)
	for range 3 {
		resp, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(got) != body {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if n := len(writes); n != 1 {
			t.Errorf("written in %d pieces", n)
		}
		for len(writes) > 0 {
			<-writes
		}
	}
}

func TestABusyPortIsNamedWithTheCure(t *testing.T) {
	t.Parallel()
	l, err := listen.TCP(t.Context(), "127.0.0.1:0", "--addr")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	if _, err := listen.TCP(t.Context(), addr, "--addr"); err == nil ||
		!strings.HasPrefix(err.Error(), addr+" is in use by another program") {
		t.Errorf("%v", err)
	}
}

// TestOneAddressHasHalfOfTheConnections, until it is trusted; connections that end make room.
func TestOneAddressHasHalfOfTheConnections(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Limits.Connections = 4
	l, err := listen.TCP(t.Context(), "127.0.0.1:0", "--addr")
	if err != nil {
		t.Fatal(err)
	}
	limited := listen.Limit(l, cfg)
	defer limited.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := limited.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	refused := func() {
		t.Helper()
		b, err := io.ReadAll(dial())
		if got := string(b); err != nil || !strings.HasPrefix(got, "HTTP/1.1 503") ||
			!strings.Contains(got, "Retry-After") {
			t.Errorf("%q, %v", got, err)
		}
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	refused()
	first.Close()
	dial()
	third := <-accepted
	refused()
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	limited.SetLimits(cfg)
	dial()
	dial()
	for _, c := range []net.Conn{second, third, <-accepted, <-accepted} {
		defer c.Close()
	}
	refused()
	if open, refused := limited.Count(); open != 4 || refused != 3 {
		t.Errorf("%d open, %d refused", open, refused)
	}
}
