package main

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lines collects a log that timers write to as well.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

// TestOneFaultIsLoggedOnceAndCounted: the first comes at once, the number of the others when the window has passed; others and what is no fault come
// as they are.
func TestOneFaultIsLoggedOnceAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b lines
		log := slog.New(newCounting(slog.NewTextHandler(&b, nil)))
		for i := range 14_660 {
			log.Error("request failed", "request", i, "err", "disk on fire")
		}
		log.Error("request failed", "err", "another")
		log.Info("request")
		log.Info("request")
		if got := strings.Count(b.String(), "\n"); got != 4 {
			t.Fatalf("%d lines: %.1000s", got, b.String())
		}
		b.Reset()
		time.Sleep(repeatWindow + time.Second)
		synctest.Wait()
		if got := b.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "repeated=14659") || !strings.Contains(got, "disk on fire") {
			t.Errorf("%s", got)
		}
		b.Reset()
		log.Error("request failed", "err", "disk on fire")
		if strings.Count(b.String(), "\n") != 1 {
			t.Error("a fault of a new window was not logged")
		}
		time.Sleep(repeatWindow + time.Second)
	})
}
