package limit

import (
	"context"
	"sync"
	"time"

	"grense/internal/store"
)

// Times records what a request or a job waited for and asked the store. A nil Times records nothing. It is safe for
// concurrent use.
type Times struct {
	mu      sync.Mutex
	waited  time.Duration
	asked   time.Duration
	queries []Timed
	more    int       // queries beyond maxTimed
	ended   time.Time // the last query
	read    time.Time // the first feature; zero: none was read
}

// Timed is a query to the store.
type Timed struct {
	Class      string // of its cost
	Start, End time.Time
	Err        error
}

// maxTimed bounds the queries that Times records one by one.
const maxTimed = 64

type timesKey struct{}

// WithTimes returns ctx with t, for TimesOf.
func WithTimes(ctx context.Context, t *Times) context.Context {
	return context.WithValue(ctx, timesKey{}, t)
}

// TimesOf returns the Times of ctx; nil if it has none.
func TimesOf(ctx context.Context) *Times {
	t, _ := ctx.Value(timesKey{}).(*Times)
	return t
}

// wait records a wait for a slot.
func (t *Times) wait(d time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited += d
}

// query records a query of class c that took some time from start.
func (t *Times) query(c store.Cost, start time.Time, took time.Duration, err error) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked += took
	t.ended = start.Add(took)
	if len(t.queries) >= maxTimed {
		t.more++
		return
	}
	t.queries = append(t.queries, Timed{classNames[c], start, t.ended, err})
}

// reading returns fn, which records when it gets the first feature.
func (t *Times) reading(fn func(*store.Feature) error) func(*store.Feature) error {
	if t == nil {
		return fn
	}
	return func(f *store.Feature) error {
		t.mu.Lock()
		if t.read.IsZero() {
			t.read = time.Now()
		}
		t.mu.Unlock()
		return fn(f)
	}
}

// Sums returns the time of all waits for slots, and that of all queries that have ended.
func (t *Times) Sums() (waited, asked time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waited, t.asked
}

// Queries returns the queries that have ended, and how many there were beyond those.
func (t *Times) Queries() (list []Timed, more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queries, t.more
}

// Encoding returns when encoding began: with the first feature, else after the last query; ok is false if there was
// no query.
func (t *Times) Encoding() (since time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.read.IsZero() {
		return t.read, true
	}
	return t.ended, !t.ended.IsZero()
}
