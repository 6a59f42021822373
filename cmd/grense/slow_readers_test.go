package main_test

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
)

// TestReadersWhoStandStillSeeTheEnd: a client that stands still within a long answer finds the connection reset soon
// after limits.write_timeout, and not only behind what the system had buffered for it.
func TestReadersWhoStandStillSeeTheEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, []string{"GRENSE_LIMITS_WRITE_TIMEOUT=500ms", "GRENSE_AUTH=open"}, layersFile(t, 1, 60_000, 1))
	for _, path := range []string{"/collections/lag_0/items?limit=10000", "/collections/lag_0/download?f=geojsonseq"} {
		took, read, err := s.endOf(t, path, 0, 2*time.Second)
		if !errors.Is(err, syscall.ECONNRESET) || read > 256<<10 {
			t.Errorf("%s: %d bytes after %v, %v", path, read, took, err)
		}
	}
}

// endOf reads the first byte of an answer, stands still, and reads on at so many bytes in a second, or as fast as they
// come where that is 0, until the connection ends. It returns how long after the first byte that was,
// and what was read until then.
func (s *serving) endOf(t *testing.T, path string, speed int,
	still time.Duration) (took time.Duration, read int, err error) {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Error(err)
		return 0, 0, err
	}
	defer c.Close()
	c.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	b := make([]byte, 1<<10)
	_, err = c.Read(b[:1])
	start := time.Now()
	await.Pace(still)
	c.SetReadDeadline(start.Add(patience))
	for err == nil {
		var n int
		n, err = c.Read(b)
		read += n
		if speed > 0 {
			await.Pace(time.Duration(n) * time.Second / time.Duration(speed))
		}
	}
	return time.Since(start), read, err
}
