package processes

import (
	"context"
	"slices"
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/state"
)

// TestRoomForJobsIsMadeByWhoHasMost: the oldest finished job of the owner with most of them goes; none that is waited
// for.
func TestRoomForJobsIsMadeByWhoHasMost(t *testing.T) {
	t.Parallel()
	job := func(owner, status string) state.Job { return state.Job{Owner: owner, Status: status} }
	greedy, modest := job("greedy", state.JobSuccessful), job("modest", state.JobFailed)
	for name, tt := range map[string]struct {
		list []state.Job // the newest first
		want int
	}{
		"nobody": {nil, -1},
		"none has finished": {[]state.Job{job("greedy", state.JobRunning),
			job("greedy", state.JobAccepted)}, -1},
		"the oldest of who has most": {[]state.Job{greedy, greedy, modest, greedy, modest}, 3},
		"running ones do not count": {[]state.Job{job("greedy", state.JobRunning), job("greedy", state.JobRunning),
			modest, modest, greedy}, 3},
		"the oldest of all where even": {[]state.Job{greedy, modest}, 1},
	} {
		if got := spare(tt.list); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// jobList is a store of jobs that lists and drops.
type jobList struct {
	state.Jobs
	list    []state.Job
	dropped []string
}

func (l *jobList) JobList(context.Context) ([]state.Job, error) { return l.list, nil }

func (l *jobList) DropJob(_ context.Context, id string) error {
	l.dropped = append(l.dropped, id)
	return nil
}

// TestFinishedJobsAreRemovedAfterProcessesKeep: what finished longer ago goes, then of too many bytes the oldest of
// the owner who has most.
func TestFinishedJobsAreRemovedAfterProcessesKeep(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	l := &jobList{list: []state.Job{ // the newest first
		{ID: "running", Owner: "a", Status: state.JobRunning},
		{ID: "new", Owner: "a", Status: state.JobSuccessful, Finished: ago(30 * time.Minute), Bytes: 5},
		{ID: "largest", Owner: "a", Status: state.JobSuccessful, Finished: ago(50 * time.Minute), Bytes: 7},
		{ID: "modest", Owner: "b", Status: state.JobSuccessful, Finished: ago(55 * time.Minute), Bytes: 4},
		{ID: "expired", Owner: "b", Status: state.JobFailed, Finished: ago(61 * time.Minute), Bytes: 1},
	}}
	s := &Surface{Kit: &server.Kit{}, jobs: newJobs(l)}
	s.Config.Processes = config.Processes{Keep: time.Hour, JobsBytes: 10}
	if err := s.tidy(t.Context()); err != nil || !slices.Equal(l.dropped, []string{"expired", "largest"}) {
		t.Errorf("dropped %q, %v", l.dropped, err)
	}
}
