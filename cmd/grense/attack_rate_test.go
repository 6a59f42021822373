//go:build unix

package main_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestAttackTenTimesTheRate: a key that sends ten times the requests that it may does not slow others down. Short
// rounds without and with it take turns, so that both meet the same machine.
func TestAttackTenTimesTheRate(t *testing.T) {
	attack(t)
	const rate, rounds = 20, 20
	s := serve(t, nil)
	greedy, other := s.asker(s.newKey(t, "--rate", fmt.Sprint(rate))), s.asker(s.newKey(t))
	const item = "/collections/kommuner/items/0301"
	if code, body, _, err := other.ask(t.Context(), item); err != nil || code != http.StatusOK {
		t.Fatalf("%d, %v, %s", code, err, body)
	}
	bare := quiet(t)
	var sent, refused atomic.Int64
	var items, noises [2][]time.Duration // without and with
	bad := 0
	for round := range 2 * rounds {
		with := round % 2
		ctx, cancel := context.WithTimeout(t.Context(), phase(t, 20*time.Second)/rounds)
		var all sync.WaitGroup
		if with == 1 {
			tick := time.NewTicker(time.Second / (10 * rate))
			for range 4 {
				all.Go(func() {
					for ctx.Err() == nil {
						select {
						case <-ctx.Done():
							return
						case <-tick.C:
						}
						if code, _, _, err := greedy.ask(context.WithoutCancel(ctx), item); err == nil {
							sent.Add(1)
							if code == http.StatusTooManyRequests {
								refused.Add(1)
							}
						}
					}
				})
			}
		}
		all.Go(func() { noises[with] = append(noises[with], bare(ctx)) })
		times, n := other.beside(ctx, item, 5*time.Millisecond)
		items[with], bad = append(items[with], times...), bad+n
		all.Wait()
		cancel()
	}
	t.Logf("%d requests sent, %d refused; %d items without, %d with", sent.Load(), refused.Load(), len(items[0]),
		len(items[1]))
	if refused.Load() < sent.Load()/2 {
		t.Errorf("of %d requests, %d were refused", sent.Load(), refused.Load())
	}
	alone, beside := p99(items[0]), p99(items[1])
	noise := middle(noises[1]) - middle(noises[0]) // what the clients of the greedy key cost the machine
	latency(t, fmt.Sprintf("a key sends 10 times its rate: p99 of another key's item, %s alone", text(alone)),
		beside, max(0, noise), alone+alone/5)
	figure(t, "  its answers other than 200", bad, 0)
}

// middle returns the median.
func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
