// Package await waits in tests for conditions that no signal announces, and paces the load that tests generate.
// Prefer a channel, or the fake clock of testing/synctest; no other test code sleeps.
package await

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// patience is longer than a condition takes on any machine under load: a condition that is not met by then never is.
const patience = 5 * time.Minute

// steps are the pauses between two polls: they grow from the first to the last.
var steps = [2]time.Duration{time.Millisecond, 50 * time.Millisecond}

// True polls ok until it returns true. The test fails after five minutes and names what it waited for.
func True(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	Success(tb, what, func() error {
		if !ok() {
			return errors.New("not yet")
		}
		return nil
	})
}

// Success polls check until it returns nil. The test fails after five minutes with the last error of check.
func Success(tb testing.TB, what string, check func() error) {
	tb.Helper()
	Within(tb, patience, what, check)
}

// Within is Success for a test of how long something takes: the test fails after limit.
func Within(tb testing.TB, limit time.Duration, what string, check func() error) {
	tb.Helper()
	if err := poll(limit, check); err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// poll calls check at least once, and until it returns nil or limit has passed.
func poll(limit time.Duration, check func() error) error {
	begin, pause := time.Now(), steps[0]
	for {
		err := check()
		if err == nil {
			return nil
		}
		if passed := time.Since(begin); passed > limit {
			return fmt.Errorf("after %v: %w", passed.Round(time.Millisecond), err)
		}
		time.Sleep(pause)
		pause = min(pause*3/2, steps[1])
	}
}

// Pace waits for d between two requests of a load, or two reads of a slow client. It is part of what a test does to a
// server, and never a wait for something that the server does: use True for that.
func Pace(d time.Duration) { time.Sleep(d) }

// Receive returns the next value of a channel. The test fails after five minutes without one.
func Receive[T any](tb testing.TB, from <-chan T) (x T) {
	tb.Helper()
	select {
	case x = <-from:
	case <-time.After(patience):
		tb.Fatalf("no %T in %v", x, patience)
	}
	return x
}

// Age waits until a file was last written at least d ago.
func Age(tb testing.TB, path string, d time.Duration) {
	tb.Helper()
	True(tb, "an old file", func() bool {
		info, err := os.Stat(path)
		if err != nil {
			tb.Fatal(err)
		}
		return time.Since(info.ModTime()) > d
	})
}
