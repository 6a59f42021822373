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

// Wire stands between clients and the database at an address, and counts how often a client begins to ask while nothing
// that it asked before is under way: round trips. What is sent in one go is one, however many statements it has.
type Wire struct {
	Address string // of the database through the wire
	trips   atomic.Int64
	bytes   atomic.Int64
	asked   atomic.Int64
	talks   sync.RWMutex
}

// Trips is how many round trips there were.
func (w *Wire) Trips() int { return int(w.trips.Load()) }

// Bytes is how many bytes the database sent.
func (w *Wire) Bytes() int { return int(w.bytes.Load()) }

// Asked is how many bytes the database was sent.
func (w *Wire) Asked() int { return int(w.asked.Load()) }

// Silence holds back what the database says, until end is called.
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
	q.Set("sslmode", "disable") // else what goes over the wire says nothing
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

// carry hands on what a client and the server say, until one of them ends.
func (w *Wire) carry(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	var idle atomic.Bool // the server has said ReadyForQuery, and nothing was asked since
	go func() {
		defer server.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			w.asked.Add(int64(n))
			if n > 0 && idle.Swap(false) && buf[0] != 'X' { // Terminate has no answer
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
