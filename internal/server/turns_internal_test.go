package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"grense/internal/config"
	"grense/internal/problem"
	"grense/internal/store"
)

func someTurns(places int) *turns {
	return newTurns(config.Limits{Concurrent: 32, Queue: 2 * time.Second, Query: 10 * time.Second},
		[...]int{store.CostPage: places, store.CostIndexed: places, store.CostScan: places, store.CostGeometry: places})
}

// ask runs a question of class c that lasts until the returned function is called; started is closed when it runs.
func (t *turns) ask(owner string, c store.Cost, begun bool) (started chan struct{}, end func(), failed chan error) {
	started, over, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	ctx := context.WithValue(context.Background(), ticketKey{}, t.newTicket(owner, begun))
	go func() {
		failed <- t.run(ctx, c, func(context.Context) error { close(started); <-over; return nil })
	}()
	return started, func() { close(over) }, failed
}

func runs(started chan struct{}) bool {
	synctest.Wait()
	select {
	case <-started:
		return true
	default:
		return false
	}
}

func TestDearQuestionsLeaveRoomForCheapOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := someTurns(1)
		dear, endDear, _ := x.ask("a", store.CostGeometry, false)
		if !runs(dear) {
			t.Fatal("the first does not run")
		}
		waiting, endWaiting, _ := x.ask("b", store.CostGeometry, false)
		for _, c := range []store.Cost{store.CostPage, store.CostIndexed, store.CostScan} {
			cheap, end, _ := x.ask("b", c, false)
			if !runs(cheap) {
				t.Errorf("%s waits for geometry", c)
			}
			end()
		}
		if runs(waiting) {
			t.Error("two of one place")
		}
		endDear()
		if !runs(waiting) {
			t.Error("the next did not get the place")
		}
		endWaiting()
	})
}

func TestOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := someTurns(1)
		first, end, _ := x.ask("greedy", store.CostScan, false)
		runs(first)
		var more []chan struct{}
		var ends []func()
		for range 10 {
			s, e, _ := x.ask("greedy", store.CostScan, false)
			more, ends = append(more, s), append(ends, e)
			synctest.Wait()
		}
		modest, endModest, _ := x.ask("modest", store.CostScan, false)
		synctest.Wait()
		end()
		if !runs(more[0]) {
			t.Fatal("nobody is served")
		}
		ends[0]()
		if !runs(modest) || runs(more[1]) {
			t.Error("the modest owner waits for all questions of the greedy one")
		}
		endModest()
		for i, e := range ends[1:] {
			if !runs(more[i+1]) {
				t.Error("lost")
			}
			e()
		}
	})
}

func TestOneOwnerHoldsItsPartOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := someTurns(4)
		running := 0
		for range 8 {
			s, end, _ := x.ask("greedy", store.CostScan, false)
			if runs(s) {
				running++
			}
			defer end()
		}
		if running != 2 {
			t.Errorf("%d of 4 places are one owner's", running)
		}
		s, end, _ := x.ask("modest", store.CostScan, false)
		if !runs(s) {
			t.Error("no place is left for others")
		}
		end()
		time.Sleep(3 * time.Second) // of the bubble: the waiting are refused
	})
}

func TestWaitIsBoundedAndSaysBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := someTurns(1)
		s, end, _ := x.ask("a", store.CostGeometry, false)
		runs(s)
		start := time.Now()
		_, _, failed := x.ask("b", store.CostGeometry, false)
		begun, endBegun, _ := x.ask("b", store.CostGeometry, true)
		err := <-failed
		if p := problem.Of(err); p.Kind != problem.Busy || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(time.Minute)
		if runs(begun) {
			t.Error("two of one place")
		}
		end()
		if !runs(begun) {
			t.Error("a page of a download was lost")
		}
		endBegun()
	})
}

func TestTimeOfWorkIsOneForARequestAndWaitsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := someTurns(1)
		ctx := context.WithValue(context.Background(), ticketKey{}, x.newTicket("a", false))
		for i, want := range []error{nil, nil, context.DeadlineExceeded} {
			err := x.run(ctx, store.CostPage, func(ctx context.Context) error {
				select {
				case <-time.After(4 * time.Second):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			if !errors.Is(err, want) {
				t.Errorf("question %d: %v", i, err)
			}
		}
	})
}

func TestStoreThatIsBusyIsToldSo(t *testing.T) {
	t.Parallel()
	x := someTurns(1)
	ctx := context.WithValue(context.Background(), ticketKey{}, x.newTicket("a", false))
	err := x.run(ctx, store.CostPage, func(ctx context.Context) error {
		if _, bounded := store.Patience(ctx); !bounded {
			t.Error("the wait for a connection has no bound")
		}
		return store.ErrBusy
	})
	if problem.Of(err).Kind != problem.Busy {
		t.Error(err)
	}
}

// writer is a request of a key that writes many features.
func (t *turns) writer(ctx context.Context, key string) *call {
	return &call{s: &Server{turns: t}, r: httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), keyID: key,
		rw: &response{ResponseWriter: httptest.NewRecorder(), deadline: time.Minute}}
}

// TestManyFeaturesAreWrittenInTurns: one owner writes as many answers at once as there are processors, and others are not kept waiting.
func TestManyFeaturesAreWrittenInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := someTurns(1)
		var own []*call
		for range runtime.GOMAXPROCS(0) {
			own = append(own, x.writer(t.Context(), "greedy"))
			if err := own[len(own)-1].writing(); err != nil {
				t.Fatal(err)
			}
		}
		if err := own[0].writing(); err != nil {
			t.Errorf("a place that is held is asked for again: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var left, next error
		done := make(chan struct{})
		go func() { left = x.writer(ctx, "greedy").writing() }()
		synctest.Wait()
		go func() { next = x.writer(t.Context(), "greedy").writing(); close(done) }()
		synctest.Wait()
		if err := x.writer(t.Context(), "modest").writing(); err != nil {
			t.Errorf("another owner: %v", err)
		}
		cancel() // the client breaks its request off
		synctest.Wait()
		if !errors.Is(left, context.Canceled) || runs(done) {
			t.Errorf("%v; the next has a place: %t", left, runs(done))
		}
		if _, err := own[0].rw.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if !runs(done) || next != nil {
			t.Errorf("nobody got the place of an answer that goes out: %v", next)
		}
		if err := x.writer(ctx, "third").writing(); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that was broken off before: %v", err)
		}
		start := time.Now()
		if err := x.writer(t.Context(), "greedy").writing(); problem.Of(err).Kind != problem.Busy || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
