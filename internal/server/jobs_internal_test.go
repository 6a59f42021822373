package server

import (
	"context"
	"slices"
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/store"
)

// TestRoomForJobsIsMadeByWhoHasMost: the oldest finished job of the owner with most of them goes; none that is waited for.
func TestRoomForJobsIsMadeByWhoHasMost(t *testing.T) {
	t.Parallel()
	job := func(owner, status string) store.Job { return store.Job{Owner: owner, Status: status} }
	greedy, modest := job("greedy", store.JobSuccessful), job("modest", store.JobFailed)
	for name, tt := range map[string]struct {
		list []store.Job // the newest first
		want int
	}{
		"nobody":                       {nil, -1},
		"none has finished":            {[]store.Job{job("greedy", store.JobRunning), job("greedy", store.JobAccepted)}, -1},
		"the oldest of who has most":   {[]store.Job{greedy, greedy, modest, greedy, modest}, 3},
		"running ones do not count":    {[]store.Job{job("greedy", store.JobRunning), job("greedy", store.JobRunning), modest, modest, greedy}, 3},
		"the oldest of all where even": {[]store.Job{greedy, modest}, 1},
	} {
		if got := spare(tt.list); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// jobList is a store of jobs that lists and drops.
type jobList struct {
	store.Jobs
	list    []store.Job
	dropped []string
}

func (l *jobList) JobList(context.Context) ([]store.Job, error) { return l.list, nil }

func (l *jobList) DropJob(_ context.Context, id string) error {
	l.dropped = append(l.dropped, id)
	return nil
}

// TestFinishedJobsAreRemovedAfterProcessesKeep: what finished longer ago goes, then of too many bytes the oldest of the owner who has most.
func TestFinishedJobsAreRemovedAfterProcessesKeep(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	l := &jobList{list: []store.Job{ // the newest first
		{ID: "running", Owner: "a", Status: store.JobRunning},
		{ID: "new", Owner: "a", Status: store.JobSuccessful, Finished: ago(30 * time.Minute), Bytes: 5},
		{ID: "largest", Owner: "a", Status: store.JobSuccessful, Finished: ago(50 * time.Minute), Bytes: 7},
		{ID: "modest", Owner: "b", Status: store.JobSuccessful, Finished: ago(55 * time.Minute), Bytes: 4},
		{ID: "expired", Owner: "b", Status: store.JobFailed, Finished: ago(61 * time.Minute), Bytes: 1},
	}}
	s := &Server{jobs: newJobs(l)}
	s.cfg.Processes = config.Processes{Keep: time.Hour, JobsBytes: 10}
	if err := s.tidy(t.Context()); err != nil || !slices.Equal(l.dropped, []string{"expired", "largest"}) {
		t.Errorf("dropped %q, %v", l.dropped, err)
	}
}
