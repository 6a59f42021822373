package limit

import (
	"sync/atomic"

	"grense/internal/problem"
)

// Memory counts the bytes of responses in flight: built, but not yet read by their clients. Up to Most, a response is
// built whole in memory, if it fits limits.buffer. Above Most, responses are sent in pieces of SmallPiece; above
// 2*Most, Admit refuses large ones. It is safe for concurrent use.
type Memory struct {
	Most int64 // bytes
	Held atomic.Int64
}

// SmallPiece is the number of bytes after which a response is sent on when memory is short.
const SmallPiece = 64 << 10

// Piece returns the number of bytes to buffer before sending: full, or SmallPiece if memory is short.
func (f *Memory) Piece(full int) int {
	if f.Short() {
		return min(full, SmallPiece)
	}
	return full
}

func (f *Memory) Short() bool { return f.Held.Load() > f.Most }

// Admit returns an error of kind problem.Busy if a response of so many bytes does not fit. Small pieces always fit.
// Callers must ask before they send the first byte.
func (f *Memory) Admit(bytes int) error {
	if bytes > SmallPiece && f.Held.Load() > 2*f.Most {
		return problem.New(problem.Busy, nil,
			"The server is busy with large answers. Try again after the seconds in Retry-After, or ask for smaller "+
				"pages.")
	}
	return nil
}

// shares divides limits.memory, in bytes. The rest is for code, stacks, connections and queries.
type shares struct {
	Caches, Answers int64
}

// SharesOf divides limits.memory. The store's page caches use another eighth (gpkg.Options.PageCache).
func SharesOf(memory int64) shares {
	return shares{Caches: memory / 4, Answers: memory / 5}
}

// Lent counts the clients to which one buffer is being sent, so that Memory counts the buffer once.
type Lent struct{ n atomic.Int64 }

// Begin adds a client. The first one adds the bytes to f, and fails if they do not fit. The last call of done subtracts
// them.
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
