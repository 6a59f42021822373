package postgis

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"grense/internal/cache"
	"grense/internal/cql2"
)

// caches are those of a store, for all its revisions.
type caches struct {
	slow      *cache.Cache[countKey, slowCount]
	totals    *cache.Cache[countKey, total]
	revisions atomic.Uint64
}

// countBytes is for counts that took long: about a thousand long filters, or ten thousand short ones.
// totalBytes is for thousands of tables.
const (
	countBytes = 4 << 20
	totalBytes = 1 << 20
)

func newCaches(g *cache.Group) *caches {
	return &caches{
		slow:   cache.New[countKey, slowCount](cache.Options{Name: "counts", Bytes: countBytes, Group: g}),
		totals: cache.New[countKey, total](cache.Options{Name: "totals", Bytes: totalBytes, Group: g}),
	}
}

// countKey names a count of a revision by its statement, or the total of a collection by the collection's id.
type countKey struct {
	revision uint64
	name     string
}

// counts are the counts of one revision: those that took long, for twenty times as long as they took, and the totals of
// tables, for as long as the database is in the state in which they were counted.
type counts struct {
	*caches
	revision uint64
	any      atomic.Bool // a count was slow
}

// counts begins those of a new revision.
func (c *caches) counts() *counts { return &counts{caches: c, revision: c.revisions.Add(1)} }

// slowCount is a count that took long, alone or together with its page: once until is past, it is asked alone,
// to see how long it takes.
type slowCount struct {
	n     int
	until time.Time
}

const (
	slowFrom  = 50 * time.Millisecond // a faster one is not cached: rows are live
	countFor  = 20                    // times as long as it took
	countMost = 30 * time.Second
	maxName   = 4 << 10
)

// name is the statement with its values, and what is tested outside of it.
func (c *counting) name() string {
	var b strings.Builder
	if c.qu.filter.Residue != nil {
		b.WriteString(cql2.FormatText(c.qu.filter.Residue) + "\x00")
	}
	st := c.statement()
	b.WriteString(st.sql)
	for _, a := range st.args {
		fmt.Fprintf(&b, "\x00%v", a) // the statement states its type
	}
	return b.String()
}

func (c *counts) key(x *counting) countKey { return countKey{c.revision, x.name()} }

// get returns a count that is known, and else whether it shall be asked apart from its page.
func (c *counts) get(x *counting) (n int, known, apart bool) {
	if !c.any.Load() { // so that nobody makes a name in vain
		return -1, false, false
	}
	k, slow := c.slow.Get(c.key(x))
	if slow && time.Now().Before(k.until) {
		return k.n, true, false
	}
	return -1, false, slow
}

// together notes how long a count took together with its page.
func (c *counts) together(x *counting, took time.Duration) {
	if took >= slowFrom {
		c.put(x, slowCount{})
	}
}

// alone notes a count, and how long it took by itself; one that did not take long is asked
// together with its page again.
func (c *counts) alone(x *counting, n int, took time.Duration) {
	if took >= slowFrom {
		c.put(x, slowCount{n, time.Now().Add(min(countFor*took, countMost))})
	} else if c.any.Load() {
		c.slow.Delete(c.key(x))
	}
}

func (c *counts) put(x *counting, n slowCount) {
	if k := c.key(x); len(k.name) <= maxName {
		c.slow.Put(k, n, int64(len(k.name)))
		c.any.Store(true)
	}
}

// total returns how many rows the table of a layer had when they were last counted; nobody's state when they were not.
func (c *counts) total(l *layer) total {
	if t, ok := c.totals.Get(countKey{c.revision, l.ID}); ok {
		return t
	}
	return total{state: "none"} // which no state is called
}

func (c *counts) putTotal(l *layer, t total) {
	if t.state != "" {
		c.totals.Put(countKey{c.revision, l.ID}, t, int64(len(t.state)))
	}
}
