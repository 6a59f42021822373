package server

import (
	"testing"

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
