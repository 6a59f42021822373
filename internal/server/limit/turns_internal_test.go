package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"grense/internal/config"
	"grense/internal/problem"
	"grense/internal/store"
)

func turnsOf(places int) *Turns {
	return NewTurns(config.Limits{Concurrent: 32, Queue: 2 * time.Second, Query: 10 * time.Second},
		[...]int{store.CostPage: places, store.CostIndexed: places, store.CostScan: places, store.CostGeometry: places})
}

// ask runs a question of class c that lasts until the returned function is called; started is closed when it runs.
func (t *Turns) ask(owner string, c store.Cost, begun bool) (started chan struct{}, end func(), failed chan error) {
	started, over, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	ctx := t.NewTicket(owner, begun).With(context.Background())
	go func() {
		failed <- t.Run(ctx, c, func(context.Context) error { close(started); <-over; return nil })
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
		x := turnsOf(1)
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
		x := turnsOf(1)
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
		x := turnsOf(4)
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
		x := turnsOf(1)
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
		x := turnsOf(1)
		ctx := x.NewTicket("a", false).With(context.Background())
		for i, want := range []error{nil, nil, context.DeadlineExceeded} {
			err := x.Run(ctx, store.CostPage, func(ctx context.Context) error {
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
	x := turnsOf(1)
	ctx := x.NewTicket("a", false).With(context.Background())
	err := x.Run(ctx, store.CostPage, func(ctx context.Context) error {
		if _, bounded := store.Patience(ctx); !bounded {
			t.Error("the wait for a connection has no bound")
		}
		return store.ErrBusy
	})
	if problem.Of(err).Kind != problem.Busy {
		t.Error(err)
	}
}
