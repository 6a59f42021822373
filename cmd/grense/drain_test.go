package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
)

// TestEveryOpenedConnectionIsAnsweredWhileTheServerEnds: clients open connections all the time while SIGTERM comes.
// Each that is opened is answered; once the listener is closed they are refused, and none is reset.
func TestEveryOpenedConnectionIsAnsweredWhileTheServerEnds(t *testing.T) {
	t.Parallel()
	cut := int64(0)
	for range 4 {
		cut += cutAtTheEnd(t, t.TempDir())
	}
	if cut > 0 {
		t.Errorf("%d connections were opened and not answered", cut)
	}
}

// TestAttackEndWithNewConnections is TestEveryOpenedConnectionIsAnsweredWhileTheServerEnds fifty times.
func TestAttackEndWithNewConnections(t *testing.T) {
	attack(t)
	cut := int64(0)
	times, home := repeats(t, 50), t.TempDir()
	for range times {
		cut += cutAtTheEnd(t, home)
	}
	figure(t, fmt.Sprintf("%d times SIGTERM while 8 clients open connections: connections that were cut", times), cut,
		0)
}

// cutAtTheEnd ends a server under clients with a connection for each request, and returns how many connections were
// opened and not answered. Servers of one home write the files of the demo once.
func cutAtTheEnd(t *testing.T, home string) int64 {
	t.Helper()
	s := serve(t, []string{"GRENSE_LIMITS_DRAIN_WAIT=0s", "HOME=" + home})
	var all sync.WaitGroup
	var cut, answered atomic.Int64
	warm := make(chan struct{})
	for range 8 {
		all.Go(func() {
			for {
				c, err := net.Dial("tcp", s.addr)
				if errors.Is(err, syscall.ECONNREFUSED) {
					return
				}
				if err == nil {
					err = onceOver(c)
				}
				if err != nil {
					cut.Add(1)
					t.Logf("after %d answers: %v", answered.Load(), err)
				} else if answered.Add(1) == 200 {
					close(warm)
				}
			}
		})
	}
	<-warm
	await.Pace(time.Duration(rand.IntN(50)) * time.Millisecond)
	s.signal(t, syscall.SIGTERM)
	if code := s.exit(t); code != 0 {
		t.Errorf("status %d", code)
	}
	all.Wait()
	return cut.Load()
}

// onceOver asks for /healthz over a connection and closes it.
func onceOver(c net.Conn) error {
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err !=
		nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}
