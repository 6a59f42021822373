package gpkg

import (
	"errors"
	"sync"

	"grense/internal/cache"
	"grense/internal/store"
)

// limits control when indexes and tables in memory are built and used. Tests change them.
type limits struct {
	from    int  // least number of features of a collection; for fewer, SQL is fast enough
	wide    int  // number of rows up to which matches are sorted; see query.most
	records int  // least number of features of a register's layer whose records are packed
	wait    bool // for tests: queries wait until the tables that they need are built
}

var usualLimits = limits{from: 100, wide: 4096, records: typeAheadFrom}

// tableCache caches tables of all revisions.
type tableCache = cache.Cache[tableKey, any]

// tableKey identifies a table of a revision by its name.
type tableKey struct {
	rev  uint64
	name string
}

// memory builds the in-memory tables of a revision, one at a time: each build occupies a connection and may use all
// memory that is left.
type memory struct {
	typeAhead *tableCache // *lexicon.Beginnings and *lexicon.Spellings; they do not evict each other
	columns   *tableCache // *envelope.Table, *envelope.IDs and *layer.Records
	limits    limits

	mu       sync.Mutex
	building bool
	asked    map[string]int            // by table name: number of queries that missed it
	never    map[string]bool           // by table name: does not fit, or cannot be built
	wanted   map[string]*recordsWanted // by layer name: requests for missing records
}

func newMemory(s *Store) *memory {
	return &memory{typeAhead: s.tables, columns: s.columns, limits: s.limits,
		asked: map[string]int{}, never: map[string]bool{}, wanted: map[string]*recordsWanted{}}
}

// errNoRoom reports that a table does not fit, or that the revision is no longer in use.
var errNoRoom = errors.New("gpkg: no room")

// askAgain is the number of misses after which an evicted table is built again, a power of two. The number doubles each
// time, so that tables that do not fit together do not evict each other all the time.
const askAgain = 16

// tableOf returns a table, or the zero T if it does not exist. In that case it starts to build it with work, which puts
// it into the cache.
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

// build runs work in the background, unless a table is being built or this one cannot be built. The returned channel is
// closed when work has ended; nil if it was not started.
func (r *revision) build(in *tableCache, name string, work func() error) <-chan struct{} {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.never[name] || m.building || in.Limit() == 0 || r.catalog.Survey != nil { // the survey will replace it
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
		if away := errors.Is(err, store.ErrUnavailable); away { // temporary: the next query tries again
			delete(m.asked, name)
		} else {
			m.never[name] = err != nil
		}
	}()
	return built
}

// put caches a table. It returns errNoRoom if the table does not fit, or if the revision is no longer in use.
func (r *revision) put(in *tableCache, name string, t any, size int) error {
	hold := in.Put
	if in == r.memory.typeAhead {
		hold = in.Offer
	}
	if r.refs.Load() <= 1 || !hold(tableKey{r.rev, name}, t, int64(size)) { // 1 is the reference of build
		return errNoRoom
	}
	return nil
}
