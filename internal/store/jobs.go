package store

import (
	"context"
	"encoding/json"
	"time"
)

// Jobs is a State that keeps executions which nobody waits for. It is safe for concurrent use, also by several processes: each job is worked on by
// one at a time. Moments are those of the callers' clocks, which should agree to a second.
type Jobs interface {
	// PrepareJobs makes what is missing to keep jobs; an error says that none can be kept.
	PrepareJobs(ctx context.Context) error
	PutJob(ctx context.Context, j Job) error
	// Job returns a job without its request; ErrNotFound when there is none.
	Job(ctx context.Context, id string) (Job, error)
	// JobList returns all jobs without their requests, the newest first.
	JobList(ctx context.Context) ([]Job, error)
	// ClaimJob gives the caller the oldest job that waits, or whose worker has not been heard of since stale; false when there is none.
	ClaimJob(ctx context.Context, worker string, now, stale time.Time) (Job, bool, error)
	// KeepJob writes what a worker tells of its job: progress, and at the end its status. ErrChanged when the job is another's or was dismissed.
	KeepJob(ctx context.Context, j Job) error
	// SwapCall writes next (nil: none) in the place of what was still to be told of a job, and returns the job with its request. ErrChanged when that is not was any more, so that of
	// many callers one goes on; ErrNotFound when there is no such job.
	SwapCall(ctx context.Context, id string, was Call, next *Call) (Job, error)
	// DismissJob ends a job that has not finished; ErrChanged when it has.
	DismissJob(ctx context.Context, id string, at time.Time) error
	// DropJob removes a job and what it gave; nil when there is none.
	DropJob(ctx context.Context, id string) error

	// PutPiece adds a piece of an output of a job; pieces have PieceSize bytes, but for the last.
	PutPiece(ctx context.Context, p Piece) error
	// Piece reads one into Data; ErrNotFound when there is none.
	Piece(ctx context.Context, p Piece) ([]byte, error)
}

// PieceSize is the length of the pieces that outputs are kept in, in bytes.
const PieceSize = 512 << 10

// Piece is a piece of an output, counted from 0.
type Piece struct {
	Job     string
	Attempt int
	Output  string
	N       int
	Data    []byte
}

// States of a job (OGC 18-062r2, 7.12).
const (
	JobAccepted   = "accepted"
	JobRunning    = "running"
	JobSuccessful = "successful"
	JobFailed     = "failed"
	JobDismissed  = "dismissed"
)

// Job is an execution that nobody waits for.
type Job struct {
	ID      string `json:"-"`
	Process string `json:"-"`
	Owner   string `json:"-"` // id of the key that made it; "" where none is asked for
	Status  string `json:"-"`

	Created  time.Time `json:"-"`
	Started  time.Time `json:"-"` // zero: not begun
	Finished time.Time `json:"-"` // zero: not finished
	Updated  time.Time `json:"-"` // when its worker was last heard of

	Worker  string `json:"-"`
	Attempt int    `json:"-"` // how often it was begun

	Call     *Call           `json:"call,omitempty"`     // what its subscriber is still to be told; nil: nothing
	Progress int             `json:"progress,omitempty"` // percent
	Message  string          `json:"message,omitempty"`
	Bytes    int64           `json:"bytes,omitempty"`   // of all outputs
	How      json.RawMessage `json:"how,omitempty"`     // in which form the outputs were asked for
	Results  json.RawMessage `json:"results,omitempty"` // what the outputs are
	Failure  json.RawMessage `json:"failure,omitempty"` // the problem of a failed job

	Request []byte `json:"-"` // what was asked; immutable
}

// Call is that the subscriber of a job that has ended is still to be told so.
type Call struct {
	After int64 `json:"after"` // not before this moment, in nanoseconds since 1970; until then who changed it last may be telling
	Tries int   `json:"tries"` // how often it was begun
}

// Done reports whether a job will not change any more.
func (j *Job) Done() bool { return j.Status != JobAccepted && j.Status != JobRunning }

// Nanos is the stored form of a moment of a job: nanoseconds since 1970; 0 for the zero time.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// FromNanos is the moment, in UTC, that Nanos gave.
func FromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
