package server

import (
	"sync/atomic"

	"grense/internal/problem"
)

// flight is the memory of answers under way: made, and not yet taken by their readers. While there is enough, an answer up to limits.buffer is
// made whole; beyond, answers go out in small pieces, so that any number of slow readers costs little; far beyond, an answer whose first byte is
// not out is refused. It is safe for concurrent use.
type flight struct {
	most int64 // bytes
	held atomic.Int64
}

// smallPiece is how much of an answer gathers where memory is short, in bytes.
const smallPiece = 64 << 10

// piece is how much of an answer may gather before it is sent, at most full.
func (f *flight) piece(full int) int {
	if f.short() {
		return min(full, smallPiece)
	}
	return full
}

func (f *flight) short() bool { return f.held.Load() > f.most }

// admit refuses an answer that would hold more than a small piece when there is no memory for it. Nothing of it may have been sent.
func (f *flight) admit(bytes int) error {
	if bytes > smallPiece && f.held.Load() > 2*f.most {
		return problem.New(problem.Busy, nil, "The server is busy with large answers. Try again after the seconds in Retry-After, or ask for smaller pages.")
	}
	return nil
}

// hold tells flight that the answer to c holds so many bytes more; what is left when the request ends is given back.
func (c *call) hold(change int) {
	c.held += change
	c.s.flight.held.Add(int64(change))
}

// shares divides limits.memory. What is left is for the code, stacks, connections and what questions need.
type shares struct {
	caches, answers int64
}

// sharesOf keeps the parts that add up to less than the whole; the store's page caches have an eighth (see gpkg.Options.PageCache).
func sharesOf(memory int64) shares {
	return shares{caches: memory / 4, answers: memory / 5}
}

// lent counts to how many readers the same bytes are being sent: together they hold them once.
type lent struct{ n atomic.Int64 }

// begin counts bytes among the answers under way, once for all readers, until done is called.
func (l *lent) begin(f *flight, bytes int) (done func(), err error) {
	if l.n.Add(1) == 1 {
		if err := f.admit(bytes); err != nil {
			l.n.Add(-1)
			return nil, err
		}
		f.held.Add(int64(bytes))
	}
	return func() {
		if l.n.Add(-1) == 0 {
			f.held.Add(int64(-bytes))
		}
	}, nil
}
