//go:build unix

package main_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/sharedtest"
)

// attackTime is the duration of make attack that the phases of its steps are written for.
const attackTime = 20 * time.Minute

// attack skips a test that is part of make attack.
func attack(t *testing.T) {
	t.Helper()
	if os.Getenv("GRENSE_ATTACK") == "" {
		t.Skip("part of make attack")
	}
}

// scale is how many times longer than attackTime make attack may take, by GRENSE_ATTACK.
func scale(t *testing.T) float64 {
	t.Helper()
	d, err := time.ParseDuration(os.Getenv("GRENSE_ATTACK"))
	if err != nil || d <= 0 {
		t.Fatalf("GRENSE_ATTACK=%q: set a duration, as 20m", os.Getenv("GRENSE_ATTACK"))
	}
	return d.Seconds() / attackTime.Seconds()
}

// phase is d where make attack takes attackTime, and longer or shorter with it.
func phase(t *testing.T, d time.Duration) time.Duration {
	t.Helper()
	return time.Duration(float64(d) * scale(t))
}

// repeats is phase of a number of times.
func repeats(t *testing.T, n int) int {
	t.Helper()
	return max(1, int(float64(n)*scale(t)))
}

// fixture returns a file that several steps read, in the folder that GRENSE_ATTACK_FILES names.
// The first step writes it.
func fixture(t *testing.T, name string, write func(path string)) string {
	t.Helper()
	dir := os.Getenv("GRENSE_ATTACK_FILES")
	if dir == "" {
		dir = t.TempDir()
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		unfinished := filepath.Join(dir, "unfinished-"+name)
		os.Remove(unfinished)
		write(unfinished)
		if err := os.Rename(unfinished, path); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// size is a number of bytes.
type size int64

func (n size) String() string { return fmt.Sprintf("%d MiB", (n+1<<19)>>20) }

// text prints a measured value with three digits.
func text(v any) string {
	d, ok := v.(time.Duration)
	if !ok {
		return fmt.Sprint(v)
	}
	unit := time.Duration(1)
	for d.Abs() >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}

// figure reports what was measured and its bound; more than the bound is a failure.
func figure[N int | int64 | float64 | time.Duration | size](t *testing.T, what string, got, bound N) {
	t.Helper()
	sharedtest.Figure{What: what, Got: text(got), Bound: text(bound), Failed: got > bound}.Record(t)
}

// latency reports a time that clients measured. Clients and other programs share the processors with the server, so a
// bare handler was asked at the same time. What its answers took is the noise of the machine.
// The bare handler waits for a processor once, a request at most four times (connection, turn, store, answer):
// so often noise may be added.
func latency(t *testing.T, what string, got, noise, bound time.Duration) {
	t.Helper()
	failed := got > bound+4*noise
	sharedtest.Figure{What: what, Got: text(got), Bound: text(bound), Noise: text(noise), Failed: failed}.Record(t)
}

// p99 is the value that one in a hundred exceeds.
func p99(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return time.Hour
	}
	slices.Sort(times)
	return times[len(times)*99/100]
}

// quiet starts a bare handler, which answers with 1 KB, and returns a function that asks it until ctx ends and
// returns the 99th percentile.
func quiet(t *testing.T) func(ctx context.Context) time.Duration {
	t.Helper()
	bare := startBare(t,
		[]recorded{{Path: "/", Header: http.Header{"Content-Type": {"text/plain"}}, Body: make([]byte, 1<<10)}}, "")
	client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	return func(ctx context.Context) time.Duration {
		var times []time.Duration
		for ctx.Err() == nil {
			start := time.Now()
			if resp, err := client.Get("http://" + bare.addr + "/"); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			times = append(times, time.Since(start))
			await.Pace(20 * time.Millisecond)
		}
		return p99(times)
	}
}

// seen is what others see of an attack: of an item, with a key of their own, of /readyz, and of a bare handler.
type seen struct {
	item, ready       []time.Duration
	badItem, badReady int
	noise             time.Duration
}

// watch looks until ctx ends, which all waits for.
func (a *asker) watch(t *testing.T, ctx context.Context, all *sync.WaitGroup, item string) *seen {
	t.Helper()
	var w seen
	noise := quiet(t)
	all.Go(func() { w.item, w.badItem = a.beside(ctx, item, 20*time.Millisecond) })
	all.Go(func() { w.ready, w.badReady = a.s.asker("").beside(ctx, "/readyz", 100*time.Millisecond) })
	all.Go(func() { w.noise = noise(ctx) })
	return &w
}

// report reports it of an attack.
func (w *seen) report(t *testing.T) {
	t.Helper()
	latency(t, "  p99 of another key's item", p99(w.item), w.noise, 100*time.Millisecond)
	figure(t, "  its answers other than 200", w.badItem, 0)
	latency(t, "  p99 of /readyz", p99(w.ready), w.noise, 100*time.Millisecond)
	figure(t, "  its answers other than 200", w.badReady, 0)
}
