package limit

import (
	"sync/atomic"

	"grense/internal/problem"
)

// Memory counts the memory of responses in flight: built, and not yet read by their clients. While there is enough,
// a response up to limits.buffer is built whole. Beyond that, responses are sent in small pieces, so that slow clients
// cost little; far beyond, a response is refused before its first byte. It is safe for concurrent use.
type Memory struct {
	Most int64 // bytes
	Held atomic.Int64
}

// SmallPiece is how much of an answer gathers where memory is short, in bytes.
const SmallPiece = 64 << 10

// Piece is how much of an answer may gather before it is sent, at most full.
func (f *Memory) Piece(full int) int {
	if f.Short() {
		return min(full, SmallPiece)
	}
	return full
}

func (f *Memory) Short() bool { return f.Held.Load() > f.Most }

// Admit refuses an answer that would hold more than a small piece when there is no memory for it. Nothing of it may
// have been sent.
func (f *Memory) Admit(bytes int) error {
	if bytes > SmallPiece && f.Held.Load() > 2*f.Most {
		return problem.New(problem.Busy, nil,
			"The server is busy with large answers. Try again after the seconds in Retry-After, or ask for smaller "+
				"pages.")
	}
	return nil
}

// shares divides limits.memory. What is left is for the code, stacks, connections and what questions need.
type shares struct {
	Caches, Answers int64
}

// SharesOf keeps the parts that add up to less than the whole; the store's page caches have an eighth (see
// gpkg.Options.PageCache).
func SharesOf(memory int64) shares {
	return shares{Caches: memory / 4, Answers: memory / 5}
}

// Lent counts to how many readers the same bytes are being sent: together they hold them once.
type Lent struct{ n atomic.Int64 }

// Begin counts bytes among the responses in flight, once for all readers, until done is called.
func (l *Lent) Begin(f *Memory, bytes int) (done func(), err error) {
	if l.n.Add(1) == 1 {
		if err := f.Admit(bytes); err != nil {
			l.n.Add(-1)
			return nil, err
		}
		f.Held.Add(int64(bytes))
	}
	return func() {
		if l.n.Add(-1) == 0 {
			f.Held.Add(int64(-bytes))
		}
	}, nil
}
