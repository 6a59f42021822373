package limit

import (
	"context"
	"errors"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"grense/internal/config"
	"grense/internal/problem"
	"grense/internal/store"
)

// someTurns has one place for each class of queries.
func someTurns() *Turns {
	return NewTurns(config.Limits{Concurrent: 32, Queue: 2 * time.Second, Query: 10 * time.Second},
		[...]int{store.CostPage: 1, store.CostIndexed: 1, store.CostScan: 1, store.CostGeometry: 1})
}

// writer is a request of a key that writes many features.
func writer(t *Turns, key string) *Admission {
	return &Admission{limits: &Limits{Turns: t}, KeyID: key,
		Response: &Response{ResponseWriter: httptest.NewRecorder(), Deadline: time.Minute}}
}

func isClosed(done chan struct{}) bool {
	synctest.Wait()
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// TestManyFeaturesAreWrittenInTurns: one owner writes as many responses at once as there are processors, and other
// owners need not wait for it.
func TestManyFeaturesAreWrittenInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := someTurns()
		var own []*Admission
		for range runtime.GOMAXPROCS(0) {
			own = append(own, writer(x, "greedy"))
			if err := own[len(own)-1].Writing(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := own[0].Writing(t.Context()); err != nil {
			t.Errorf("a place that is held is asked for again: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var left, next error
		done := make(chan struct{})
		go func() { left = writer(x, "greedy").Writing(ctx) }()
		synctest.Wait()
		go func() { next = writer(x, "greedy").Writing(t.Context()); close(done) }()
		synctest.Wait()
		if err := writer(x, "modest").Writing(t.Context()); err != nil {
			t.Errorf("another owner: %v", err)
		}
		cancel() // the client breaks its request off
		synctest.Wait()
		if !errors.Is(left, context.Canceled) || isClosed(done) {
			t.Errorf("%v; the next has a place: %t", left, isClosed(done))
		}
		if _, err := own[0].Response.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if !isClosed(done) || next != nil {
			t.Errorf("nobody got the place of an answer that goes out: %v", next)
		}
		if err := writer(x, "third").Writing(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that was broken off before: %v", err)
		}
		start := time.Now()
		if err := writer(x, "greedy").Writing(t.Context()); problem.Of(err).Kind != problem.Busy ||
			time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
