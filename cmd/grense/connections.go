package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"grense/internal/config"
)

// limitedListener bounds the connections at once, in all and of one address, of which it lets in at most half;
// trusted proxies bring many clients. A connection too many is closed at once, plain HTTP with a word: it costs no
// goroutine.
type limitedListener struct {
	net.Listener
	most    int
	trusted []netip.Prefix
	plain   bool
	fresh   atomic.Int64 // connections whose first answer has not ended

	mu   sync.Mutex
	open int
	by   map[netip.Addr]int
}

// tooManyConnections is the answer to a connection too many.
const tooManyConnections = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Type: " +
	"text/plain; charset=utf-8\r\nContent-Length: 79\r\n\r\n" +
	"The server is busy: it has too many connections. Try again after some seconds.\n"

func limitConnections(l net.Listener, cfg config.Config) *limitedListener {
	return &limitedListener{
		Listener: l,
		most:     cfg.Limits.Connections,
		trusted:  cfg.TrustedProxies,
		plain:    !cfg.TLS.Enabled(),
		by:       map[netip.Addr]int{},
	}
}

// Accept waits for a connection within the limits.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := peerOf(c)
		if l.enter(peer) {
			l.fresh.Add(1)
			return &limitedConn{Conn: c, fresh: true, leave: sync.OnceFunc(func() { l.leave(peer) })}, nil
		}
		if l.plain {
			// it fits into the empty buffer of the kernel, so that a client that is gone delays nothing
			c.Write([]byte(tooManyConnections))
		}
		c.Close()
	}
}

// follow is http.Server.ConnState: it counts connections that wait for their first answer.
func (l *limitedListener) follow(c net.Conn, state http.ConnState) {
	if state != http.StateIdle && state != http.StateClosed {
		return
	}
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if x, ok := c.(*limitedConn); ok && x.fresh {
		x.fresh = false
		l.fresh.Add(-1)
	}
}

// awaitAnswers waits until no connection waits for its first answer, but not longer than http.Server.Shutdown waits
// for a request.
func (l *limitedListener) awaitAnswers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for tick := time.NewTicker(5 * time.Millisecond); ctx.Err() == nil && l.fresh.Load() > 0; {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func peerOf(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		peer := a.AddrPort().Addr().Unmap().WithZone("")
		if peer.Is6() { // what one subscriber has (RFC 6177)
			p, _ := peer.Prefix(64)
			peer = p.Addr()
		}
		return peer
	}
	return netip.Addr{}
}

func (l *limitedListener) enter(peer netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	part := max(1, l.most/2)
	if slices.ContainsFunc(l.trusted, func(p netip.Prefix) bool { return p.Contains(peer) }) {
		part = l.most
	}
	if l.open >= l.most || l.by[peer] >= part {
		return false
	}
	l.open++
	l.by[peer]++
	return true
}

func (l *limitedListener) leave(peer netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.by[peer]--; l.by[peer] == 0 {
		delete(l.by, peer)
	}
}

// limitedConn gives its place back when it is closed. It is a server.Gatherer; one goroutine at a time writes.
type limitedConn struct {
	net.Conn
	fresh bool // the first answer has not ended
	leave func()
	held  *[]byte // what is held back; nil: nothing is
}

var heldPool = sync.Pool{New: func() any { b := make([]byte, 0, 16<<10); return &b }}

// Write writes, or holds back.
func (c *limitedConn) Write(b []byte) (int, error) {
	if c.held == nil {
		n, err := c.Conn.Write(b)
		return n, c.written(err)
	}
	*c.held = append(*c.held, b...)
	return len(b), nil
}

// Hold holds back what is written from now on: an answer in one piece is one call of the system, and one packet less.
func (c *limitedConn) Hold() {
	if c.held == nil {
		c.held = heldPool.Get().(*[]byte)
	}
}

// Release writes what was held back.
func (c *limitedConn) Release() error {
	if c.held == nil {
		return nil
	}
	_, err := c.Conn.Write(*c.held)
	err = c.written(err)
	*c.held = (*c.held)[:0]
	heldPool.Put(c.held)
	c.held = nil
	return err
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// ReadFrom lets the connection take a file as the system copies it.
func (c *limitedConn) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(c.Conn, r)
	return n, c.written(err)
}

// written returns the error of a write. After a time-out, Close resets the connection: the system drops what it has
// buffered, so that a client that reads too slowly sees the end soon.
func (c *limitedConn) written(err error) error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok && errors.Is(err, os.ErrDeadlineExceeded) {
		tcp.SetLinger(0) // fails on a connection that has ended
	}
	return err
}

// NetConn is the connection itself.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }
