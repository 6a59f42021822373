package main_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	benchRounds  = 7                      // of each server for each request, interleaved
	benchConns   = 4                      // keep-alive connections that ask at once
	benchRoundIs = 300 * time.Millisecond // CPU that a round is to take
	benchSample  = 200                    // answers of a changing request that the bare handler repeats
)

// question is a request that is measured. Paths are rebuilt for each request where next is not nil.
type question struct {
	name string
	kind string // of its bars; "": it has none
	path string
	next func(*rand.Rand) string
}

// asked reports whether GRENSE_BENCH_ONLY, a part of names, leaves the question in.
func (q question) asked() bool { return strings.Contains(q.name, os.Getenv("GRENSE_BENCH_ONLY")) }

func (q question) paths(rng *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		if out[i] = q.path; q.next != nil {
			out[i] = q.next(rng)
		}
	}
	return out
}

// rounds runs those of two programs in turn, each first in every other one, and returns what they give.
func rounds(one, other func() float64) (a, b []float64) {
	both := roundsOf(one, other)
	return both[0], both[1]
}

// roundsOf is rounds of several programs, each of which begins in its turn.
func roundsOf(programs ...func() float64) [][]float64 {
	out := make([][]float64, len(programs))
	for i := range benchRounds {
		for j := range programs {
			k := (i + j) % len(programs)
			out[k] = append(out[k], programs[k]())
		}
	}
	return out
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

func spread(v []float64) string {
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits(median(v)), median(v), digits(median(v)), slices.Min(v),
		digits(median(v)), slices.Max(v))
}

func digits(v float64) int {
	if v < 100 {
		return 1
	}
	return 0
}

// cpuTime is what all threads of a process have spent on a CPU, in user and in system mode, to the nanosecond.
// /proc/PID/stat has ticks of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("process %d has no schedstat", pid)
	}
	var sum time.Duration
	for _, name := range threads {
		b, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(b), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// measured is a server whose CPU is counted.
type measured struct {
	addr  string
	pid   int
	key   string
	n     int // requests of a round
	conns []*rawConn
	stop  func()
}

// calibrate warms the server up and chooses n, by a round that takes about as long as it shall: what is done once,
// for the first requests, says nothing of those to come.
func (m *measured) calibrate(t *testing.T, q question, rng *rand.Rand) {
	t.Helper()
	m.n = 10 * benchConns
	for m.n < 1<<20 {
		spent := time.Duration(m.round(t, q, rng) * float64(m.n) * 1000)
		asked := m.n
		m.n = max(benchConns, int(float64(asked)*min(4, float64(benchRoundIs)/float64(spent)))/benchConns*benchConns)
		if spent > benchRoundIs/2 && (spent < 2*benchRoundIs || m.n == asked) {
			return
		}
	}
	t.Fatal("requests cost no CPU")
}

// round asks n times and returns CPU per request in microseconds.
func (m *measured) round(t *testing.T, q question, rng *rand.Rand) float64 {
	t.Helper()
	for len(m.conns) < benchConns {
		conn, err := net.Dial("tcp", m.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		m.conns = append(m.conns, &rawConn{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), key: m.key})
	}
	paths := q.paths(rng, m.n) // made before, so that the client is quick
	before, err := cpuTime(m.pid)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	errs := make([]error, benchConns)
	for i, c := range m.conns {
		all.Go(func() { errs[i] = c.ask(paths[i*m.n/benchConns : (i+1)*m.n/benchConns]) })
	}
	all.Wait()
	after, err := cpuTime(m.pid)
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	return float64(after-before) / float64(m.n) / 1000
}

// rawConn is a client that costs little beside the servers: it reads HTTP/1.1 as far as it must.
type rawConn struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
	key  string
}

// ask sends one request after the other and throws the answers away.
func (c *rawConn) ask(paths []string) error {
	c.conn.SetDeadline(time.Now().Add(5 * time.Minute))
	for _, p := range paths {
		c.out = append(append(append(c.out[:0], "GET "...), p...),
			" HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nX-API-Key: "...)
		c.out = append(append(c.out, c.key...), "\r\n\r\n"...)
		if _, err := c.conn.Write(c.out); err != nil {
			return err
		}
		if err := c.discard(); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

func (c *rawConn) discard() error {
	length := -1 // chunked
	for first := true; ; first = false {
		l, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(l, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("answer %q", l)
		}
		if v, ok := bytes.CutPrefix(l, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return err
			}
		}
		if len(l) <= 2 {
			break
		}
	}
	if length >= 0 {
		_, err := c.in.Discard(length)
		return err
	}
	for {
		l, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(bytes.TrimSpace(l)), 16, 31)
		if err != nil {
			return err
		}
		if _, err := c.in.Discard(int(size) + 2); err != nil || size == 0 {
			return err
		}
	}
}

// recorded is an answer of the program as it went over the wire.
type recorded struct {
	Path   string
	Header http.Header
	Body   []byte
	plain  int // bytes before compression
}

func record(t *testing.T, s *serving, path string) recorded {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", s.key)
	req.Header.Set("Accept-Encoding", "gzip") // set here, so that the transport does not unpack
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
	a := recorded{Path: path, Header: resp.Header, Body: body, plain: len(body)}
	a.Header.Del("Date") // net/http writes its own
	if resp.Header.Get("Content-Encoding") == "gzip" {
		zr, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, zr)
		if err != nil {
			t.Fatal(err)
		}
		a.plain = int(n)
	}
	return a
}

// startBare runs TestBareHandler as a process; with the address of a database each answer costs a round trip to it.
func startBare(t *testing.T, answers []recorded, database string) *measured {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestBareHandler$")
	cmd.Env = append(os.Environ(), "GRENSE_BENCH_BARE=1", "GRENSE_BENCH_DATABASE="+database)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() { cancel(); cmd.Wait() })
	t.Cleanup(stop)
	if err := gob.NewEncoder(stdin).Encode(answers); err != nil {
		t.Fatal(err)
	}
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal("the bare handler does not start:", err)
	}
	return &measured{addr: strings.TrimSpace(addr), pid: cmd.Process.Pid, key: strings.Repeat("k", 54), stop: stop}
}

// TestBareHandler is no test but the process that Grense is measured against: it reads answers from standard input,
// and serves them until that ends.
func TestBareHandler(t *testing.T) {
	if os.Getenv("GRENSE_BENCH_BARE") == "" {
		t.Skip("a process of make bench")
	}
	var answers []recorded
	if err := gob.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		t.Fatal(err)
	}
	byPath := make(map[string]recorded, len(answers))
	for _, a := range answers {
		byPath[a.Path] = a
	}
	trip := func(context.Context) error { return nil }
	if address := os.Getenv("GRENSE_BENCH_DATABASE"); address != "" {
		trip = roundTrips(t, address)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := byPath[r.RequestURI]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if err := trip(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		for k, v := range a.Header {
			h[k] = v
		}
		w.Write(a.Body)
	}))
	fmt.Println(l.Addr())
	io.Copy(io.Discard, os.Stdin)
}
