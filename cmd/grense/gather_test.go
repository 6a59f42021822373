package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/server"
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

// TestWhatIsHeldBackLeavesInOnePiece writes an answer that net/http would send in three pieces.
func TestWhatIsHeldBackLeavesInOnePiece(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 9000)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	writes := make(chan int, 100)
	srv := &httptest.Server{Listener: limitConnections(counted{l, writes}, config.Default()),
		Config: &http.Server{ConnContext: connected,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g := server.GathererOf(r.Context())
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
