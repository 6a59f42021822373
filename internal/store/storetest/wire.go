package storetest

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Wire is a proxy between clients and the database at an address. It counts round trips: how often a client begins to
// send while no request is in flight. Several statements in one message are one trip.
type Wire struct {
	Address string // of the database through the proxy
	trips   atomic.Int64
	bytes   atomic.Int64
	asked   atomic.Int64
	talks   sync.RWMutex
}

// Trips returns the number of round trips.
func (w *Wire) Trips() int { return int(w.trips.Load()) }

// Bytes returns the number of bytes that the database sent.
func (w *Wire) Bytes() int { return int(w.bytes.Load()) }

// Asked returns the number of bytes sent to the database.
func (w *Wire) Asked() int { return int(w.asked.Load()) }

// Silence holds back the responses of the database until end is called.
func (w *Wire) Silence() (end func()) {
	w.talks.Lock()
	return w.talks.Unlock
}

// NewWire listens until the test ends.
func NewWire(t testing.TB, address string) *Wire {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	u.Host = l.Addr().String()
	q := u.Query()
	q.Set("sslmode", "disable") // otherwise the traffic is unreadable
	u.RawQuery = q.Encode()
	w := &Wire{Address: u.String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c, server)
		}
	}()
	return w
}

// carry forwards the traffic between a client and the server until one of them ends.
func (w *Wire) carry(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	var idle atomic.Bool // the server sent ReadyForQuery, and nothing was sent since
	go func() {
		defer server.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			w.asked.Add(int64(n))
			if n > 0 && idle.Swap(false) && buf[0] != 'X' { // Terminate has no response
				w.trips.Add(1)
			}
			if _, wrong := server.Write(buf[:n]); err != nil || wrong != nil {
				return
			}
		}
	}()
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(server, head); err != nil {
			return
		}
		if head[0] == 'Z' {
			idle.Store(true)
		}
		w.talks.RLock()
		_, err := client.Write(head)
		w.talks.RUnlock()
		if err != nil {
			return
		}
		rest := int64(binary.BigEndian.Uint32(head[1:])) - 4
		w.bytes.Add(int64(len(head)) + rest)
		if _, err := io.CopyN(client, server, rest); err != nil {
			return
		}
	}
}
