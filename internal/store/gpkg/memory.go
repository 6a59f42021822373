package gpkg

import (
	"errors"
	"sync"

	"grense/internal/cache"
	"grense/internal/store"
)

// limits say when indexes and tables are built and used.
type limits struct {
	from    int  // how many features a collection has at least; a statement is fast enough for fewer
	wide    int  // how many rows are sorted at most, in collections of less than eight times as many; see question.most
	records int  // how many features a layer of a register has at least to have its records packed
	wait    bool // for tests: a query waits until the indexes and tables that it needs are built
}

var usualLimits = limits{from: 100, wide: 4096, records: typeAheadFrom}

// tableCache holds tables of all revisions, by what they hold.
type tableCache = cache.Cache[tableKey, any]

// tableKey names a table of a revision.
type tableKey struct {
	rev  uint64
	name string
}

// memory builds the tables in memory of a revision, one at a time: each takes a connection, and may need all the room
// that is left.
type memory struct {
	typeAhead *tableCache // *aheadTable and *spellings; none makes room for another
	columns   *tableCache // *placeTable and *records
	limits    limits

	mu       sync.Mutex
	building bool
	asked    map[string]int            // by the name of a table, how many queries missed it
	never    map[string]bool           // what does not fit, or cannot be built
	wanted   map[string]*recordsWanted // of layers whose records are not there
}

func newMemory(s *Store) *memory {
	return &memory{typeAhead: s.tables, columns: s.columns, limits: s.limits,
		asked: map[string]int{}, never: map[string]bool{}, wanted: map[string]*recordsWanted{}}
}

// errNoRoom reports that a table does not fit, or is no longer wanted.
var errNoRoom = errors.New("gpkg: no room")

// askAgain, a power of two, is how many queries miss an evicted table before it is built again. The number doubles each
// time, so that tables that do not fit together do not evict each other for ever.
const askAgain = 16

// tableOf returns a table; the zero T where there is none yet, and then it is built in the background and put into the
// cache by work.
func tableOf[T any](r *revision, in *tableCache, name string, work func() error) (t T) {
	key := tableKey{r.rev, name}
	if v, ok := in.Get(key); ok {
		return v.(T)
	}
	if built := r.build(in, name, work); built != nil && r.memory.limits.wait {
		<-built
		if v, ok := in.Get(key); ok {
			return v.(T)
		}
	}
	return t
}

// build runs work in the background, unless another table is being built, or this one cannot be; the channel is closed
// when it has ended, and nil if it does not begin.
func (r *revision) build(in *tableCache, name string, work func() error) <-chan struct{} {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.never[name] || m.building || in.Limit() == 0 || r.catalog.Survey != nil { // built once more soon
		return nil
	}
	m.asked[name]++
	if n := m.asked[name]; n > 1 && (n < askAgain || n&(n-1) != 0) || !r.take() {
		return nil
	}
	m.building = true
	built := make(chan struct{})
	go func() {
		defer in.Make()()
		defer close(built)
		defer r.release()
		err := work()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.building = false
		if away := errors.Is(err, store.ErrUnavailable); away { // for now: the next query tries again
			delete(m.asked, name)
		} else {
			m.never[name] = err != nil
		}
	}()
	return built
}

// put holds a table; errNoRoom where it does not fit, or nobody wants the revision any more.
func (r *revision) put(in *tableCache, name string, t any, size int) error {
	hold := in.Put
	if in == r.memory.typeAhead {
		hold = in.Offer
	}
	if r.refs.Load() <= 1 || !hold(tableKey{r.rev, name}, t, int64(size)) { // our own use is one
		return errNoRoom
	}
	return nil
}
