package logging_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grense/internal/logging"
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

// TestOneFaultIsLoggedOnceAndCounted: the first comes at once, the number of the others when the window has passed;
// others and what is no fault come as they are.
func TestOneFaultIsLoggedOnceAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b lines
		log := logging.New(&b, "text", slog.LevelInfo)
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
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if got := b.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "repeated=14659") ||
			!strings.Contains(got, "disk on fire") {
			t.Errorf("%s", got)
		}
		b.Reset()
		log.Error("request failed", "err", "disk on fire")
		if strings.Count(b.String(), "\n") != 1 {
			t.Error("a fault of a new window was not logged")
		}
		time.Sleep(11 * time.Second)
	})
}

// TestLinesGatherAndNoneIsLost: lines go out in their order, within a tenth of a second, or at once when there are many
// or one is a warning; what is left goes out by Flush.
func TestLinesGatherAndNoneIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b lines
		out := logging.NewBuffer(&b)
		log := logging.New(out, "text", slog.LevelInfo)
		wants := func(when string, msgs ...string) {
			t.Helper()
			var got []string
			for l := range strings.Lines(b.String()) {
				_, msg, _ := strings.Cut(l, "msg=")
				got = append(got, strings.TrimSpace(msg))
			}
			if !slices.Equal(got, msgs) {
				t.Errorf("%s: %q, want %q", when, got, msgs)
			}
			b.Reset()
		}
		log.Info("a")
		log.Info("b")
		wants("before a tenth of a second")
		time.Sleep(logging.BufferTime)
		synctest.Wait()
		wants("after it", "a", "b")
		log.Info("c")
		log.Warn("d")
		wants("after a warning", "c", "d")
		log.Info("e")
		time.Sleep(logging.BufferTime)
		synctest.Wait()
		wants("after another tenth", "e")
		long := strings.Repeat("x", 16<<10)
		for range 4 {
			log.Info(long)
		}
		wants("when many have gathered", long, long, long, long)
		log.Info("f")
		out.Flush()
		wants("at the end", "f")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		wants("later")
	})
}
