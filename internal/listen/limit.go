package listen

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

// Limited is a listener that limits the number of open connections, in all and for each client address. One address may
// have half of them, a trusted proxy all. A connection beyond the limit is closed at once, without a goroutine for it;
// without TLS, tooManyConnections is sent first.
type Limited struct {
	net.Listener
	plain   bool
	fresh   atomic.Int64 // connections whose first response is not complete
	refused atomic.Uint64

	mu      sync.Mutex
	most    int
	trusted []netip.Prefix
	open    int
	by      map[netip.Addr]int
}

// tooManyConnections is the response on a connection beyond the limit.
const tooManyConnections = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Type: " +
	"text/plain; charset=utf-8\r\nContent-Length: 79\r\n\r\n" +
	"The server is busy: it has too many connections. Try again after some seconds.\n"

// Limit returns a listener that accepts connections of l within the limits of a configuration.
func Limit(l net.Listener, cfg config.Config) *Limited {
	x := &Limited{Listener: l, plain: !cfg.TLS.Enabled(), by: map[netip.Addr]int{}}
	x.SetLimits(cfg)
	return x
}

// SetLimits sets the limits for connections to come.
func (l *Limited) SetLimits(cfg config.Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most, l.trusted = cfg.Limits.Connections, cfg.TrustedProxies
}

// Accept waits for a connection that is within the limits.
func (l *Limited) Accept() (net.Conn, error) {
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
		l.refused.Add(1)
		if l.plain {
			// the response fits into the send buffer of the kernel, so this never blocks
			c.Write([]byte(tooManyConnections))
		}
		c.Close()
	}
}

// Count returns how many connections are open, and how many were closed at once.
func (l *Limited) Count() (open int, refused uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.refused.Load()
}

// Follow is a http.Server.ConnState that counts connections whose first response is not complete.
func (l *Limited) Follow(c net.Conn, state http.ConnState) {
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

// AwaitResponses waits until every connection has had its first response, at most 5 seconds. That is how long
// http.Server.Shutdown waits for the first request on a connection.
func (l *Limited) AwaitResponses(ctx context.Context) {
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
	if a, ok := remoteOf(c).(*net.TCPAddr); ok {
		peer := a.AddrPort().Addr().Unmap().WithZone("")
		if peer.Is6() { // one subscriber has a /64 (RFC 6177)
			p, _ := peer.Prefix(64)
			peer = p.Addr()
		}
		return peer
	}
	return netip.Addr{}
}

func (l *Limited) enter(peer netip.Addr) bool {
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

func (l *Limited) leave(peer netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.by[peer]--; l.by[peer] == 0 {
		delete(l.by, peer)
	}
}

// limitedConn is a connection that the listener counts until it is closed. It is a limit.Gatherer. Only one goroutine
// at a time may write.
type limitedConn struct {
	net.Conn
	fresh bool // the first response is not complete
	leave func()
	held  *[]byte // buffered bytes; nil: not buffering
}

var heldPool = sync.Pool{New: func() any { b := make([]byte, 0, 16<<10); return &b }}

// Write writes b, or buffers it after Hold.
func (c *limitedConn) Write(b []byte) (int, error) {
	if c.held == nil {
		n, err := c.Conn.Write(b)
		return n, c.written(err)
	}
	*c.held = append(*c.held, b...)
	return len(b), nil
}

// Hold buffers everything written until Release, so that a response is one system call and fewer packets.
func (c *limitedConn) Hold() {
	if c.held == nil {
		c.held = heldPool.Get().(*[]byte)
	}
}

// Release writes the buffered bytes and ends buffering.
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

// RemoteAddr returns the address of the client.
func (c *limitedConn) RemoteAddr() net.Addr { return remoteOf(c.Conn) }

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// ReadFrom copies from r, which lets the kernel copy files directly (sendfile).
func (c *limitedConn) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(c.Conn, r)
	return n, c.written(err)
}

// written handles the error of a write and returns it. After a timeout, Close resets the connection, so that the kernel
// drops its send buffer and a slow client notices at once.
func (c *limitedConn) written(err error) error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok && errors.Is(err, os.ErrDeadlineExceeded) {
		tcp.SetLinger(0) // fails if the connection has ended
	}
	return err
}

// NetConn returns the underlying connection.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }
