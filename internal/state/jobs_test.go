package state_test

import (
	"bytes"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"grense/internal/state"
	"grense/internal/store"
)

func TestJobs(t *testing.T) {
	onBoth(t, checkJobs)
}

func checkJobs(t *testing.T, open func() *state.DB) {
	s := &jobSuite{t: t, open: open, jobs: open(), now: time.Now().UTC()}
	s.stale = s.now.Add(-time.Minute)
	for range 2 {
		s.ok(s.jobs.PrepareJobs(t.Context()))
	}
	if _, ok, err := s.jobs.ClaimJob(t.Context(), "w", s.now, s.stale); ok || err != nil {
		t.Fatalf("a job where there is none: %v", err)
	}
	s.claimedOnce()
	s.takenOver()
	s.toldOnce()
	s.dismissed()
}

type jobSuite struct {
	t          *testing.T
	open       func() *state.DB
	jobs       *state.DB
	now, stale time.Time
}

func (s *jobSuite) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *jobSuite) changed(what string, err error) {
	s.t.Helper()
	if !errors.Is(err, store.ErrChanged) {
		s.t.Errorf("%s: %v", what, err)
	}
}

func (s *jobSuite) put(id string, age time.Duration) {
	s.t.Helper()
	s.ok(s.jobs.PutJob(s.t.Context(), state.Job{ID: id, Process: "echo", Owner: "k", Status: state.JobAccepted,
		Created: s.now.Add(-age), Updated: s.now, Request: []byte("request " + id)}))
}

// claimedOnce: of many workers each job goes to one.
func (s *jobSuite) claimedOnce() {
	t, ctx := s.t, s.t.Context()
	const n = 20
	for i := range n {
		s.put("j"+strconv.Itoa(i), time.Hour-time.Duration(i)*time.Second)
	}
	var mu sync.Mutex
	taken := map[string]int{}
	var all sync.WaitGroup
	for w := range 4 {
		mine := s.open()
		all.Go(func() {
			for {
				j, ok, err := mine.ClaimJob(ctx, "w"+strconv.Itoa(w), s.now, s.stale)
				if err != nil {
					t.Error(err)
				}
				if !ok {
					return
				}
				if string(j.Request) != "request "+j.ID || j.Status != state.JobRunning || j.Attempt != 1 ||
					!j.Started.Equal(s.now) {
					t.Errorf("claimed %+v", j)
				}
				mu.Lock()
				taken[j.ID]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id, times := range taken {
		if times != 1 {
			t.Errorf("%s was taken %d times", id, times)
		}
	}
	list, err := s.jobs.JobList(ctx)
	if err != nil || len(taken) != n || len(list) != n || list[0].ID != "j19" || list[n-1].ID != "j0" ||
		list[0].Request != nil {
		t.Fatalf("%d jobs, %d taken, %v", len(list), len(taken), err)
	}
	for _, j := range list {
		s.ok(s.jobs.DropJob(ctx, j.ID))
	}
}

// takenOver: a job whose worker was not heard of goes to another, and the first has lost it, with what it wrote.
func (s *jobSuite) takenOver() {
	t, ctx := s.t, s.t.Context()
	s.put("a", 0)
	first, _, err := s.jobs.ClaimJob(ctx, "w1", s.now.Add(-2*time.Minute), s.stale)
	s.ok(err)
	s.ok(s.jobs.PutPiece(ctx, state.Piece{Job: "a", Attempt: 1, Output: "o", Data: []byte("old")}))
	second, ok, err := s.jobs.ClaimJob(ctx, "w2", s.now, s.stale)
	if err != nil || !ok || second.Attempt != 2 || second.Worker != "w2" {
		t.Fatalf("%+v, %v", second, err)
	}
	first.Status = state.JobSuccessful
	s.changed("who lost a job keeps it", s.jobs.KeepJob(ctx, first))
	if _, err := s.jobs.Piece(ctx, state.Piece{Job: "a", Attempt: 1, Output: "o"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a piece of before: %v", err)
	}
	data := bytes.Repeat([]byte{0, 255}, state.PieceSize/2)
	for i := range 2 {
		s.ok(s.jobs.PutPiece(ctx, state.Piece{Job: "a", Attempt: 2, Output: "o", N: i, Data: data[i:]}))
	}
	second.Progress, second.Message, second.Status, second.Finished, second.Results, second.Bytes = 100, "ø",
		state.JobSuccessful, s.now, []byte(`[1]`), 7
	s.ok(s.jobs.KeepJob(ctx, second))
	other := s.open()
	got, err := other.Job(ctx, "a")
	if err != nil || got.Status != state.JobSuccessful || got.Message != "ø" || string(got.Results) != "[1]" ||
		got.Bytes != 7 || !got.Finished.Equal(s.now) || !got.Done() {
		t.Errorf("%+v, %v", got, err)
	}
	if b, err := other.Piece(ctx, state.Piece{Job: "a", Attempt: 2, Output: "o", N: 1}); err != nil ||
		!bytes.Equal(b, data[1:]) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	s.changed("a finished job is dismissed", s.jobs.DismissJob(ctx, "a", s.now))
}

// toldOnce: of many processes one may notify the subscriber of a job, and again when it has given up.
func (s *jobSuite) toldOnce() {
	t, ctx := s.t, s.t.Context()
	s.put("c", -time.Second) // the newest
	j, _, err := s.jobs.ClaimJob(ctx, "w1", s.now, s.stale)
	s.ok(err)
	first, second := state.Call{After: state.Nanos(s.now)},
		state.Call{After: state.Nanos(s.now.Add(time.Minute)), Tries: 1}
	_, err = s.jobs.SwapCall(ctx, "c", first, nil)
	s.changed("a job with nothing to tell", err)
	j.Status, j.Finished, j.Call, j.Message = state.JobSuccessful, s.now, &first, "ø"
	s.ok(s.jobs.KeepJob(ctx, j))
	var mu sync.Mutex
	may := 0
	var all sync.WaitGroup
	for range 4 {
		mine := s.open()
		all.Go(func() {
			got, err := mine.SwapCall(ctx, "c", first, &second)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				if may++; string(got.Request) != "request c" || got.Status != state.JobSuccessful ||
					got.Message != "ø" || got.Call == nil || *got.Call != second {
					t.Errorf("%+v", got)
				}
			case !errors.Is(err, store.ErrChanged):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := s.jobs.JobList(ctx); err != nil || may != 1 || list[0].ID != "c" || *list[0].Call != second {
		t.Errorf("%d may tell; %+v, %v", may, list, err)
	}
	_, err = s.jobs.SwapCall(ctx, "c", second, nil)
	s.ok(err)
	if got, err := s.jobs.Job(ctx, "c"); err != nil || got.Call != nil || got.Message != "ø" || got.Attempt != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	s.ok(s.jobs.DropJob(ctx, "c"))
	if _, err := s.jobs.SwapCall(ctx, "c", second, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a job that is gone: %v", err)
	}
}

// dismissed: such a job is not claimed, its worker has lost it, and it can be dropped twice.
func (s *jobSuite) dismissed() {
	t, ctx := s.t, s.t.Context()
	s.put("b", 0)
	running, _, err := s.jobs.ClaimJob(ctx, "w1", s.now, s.stale)
	s.ok(err)
	s.ok(s.jobs.DismissJob(ctx, "b", s.now))
	s.changed("a dismissed job is kept", s.jobs.KeepJob(ctx, running))
	if _, ok, err := s.jobs.ClaimJob(ctx, "w1", s.now.Add(time.Hour), s.now.Add(time.Hour)); ok || err != nil {
		t.Errorf("a job that is done is claimed: %v", err)
	}
	for _, id := range []string{"a", "b", "b"} {
		s.ok(s.jobs.DropJob(ctx, id))
	}
	if _, err := s.jobs.Job(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a job that is gone: %v", err)
	}
}
