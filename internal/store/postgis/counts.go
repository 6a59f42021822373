package postgis

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"grense/internal/cache"
	"grense/internal/cql2"
)

// caches are shared by all revisions of a store.
type caches struct {
	slow      *cache.Cache[countKey, slowCount]
	totals    *cache.Cache[countKey, total]
	revisions atomic.Uint64
}

// countBytes is the size of the cache for slow counts: about a thousand long filters, or ten thousand short ones.
// totalBytes is enough for thousands of tables.
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

// countKey identifies a count of a revision by its statement, or the total of a collection by its id.
type countKey struct {
	revision uint64
	name     string
}

// counts are the cached counts of a revision. A slow count is valid for twenty times as long as it took; the total of a
// table as long as the state of the database is the same.
type counts struct {
	*caches
	revision uint64
	any      atomic.Bool // there is a slow count
}

// counts returns the counts of a new revision.
func (c *caches) counts() *counts { return &counts{caches: c, revision: c.revisions.Add(1)} }

// slowCount is a count that was slow. After until, it is counted in a statement of its own, to measure the time again.
type slowCount struct {
	n     int
	until time.Time
}

const (
	slowFrom  = 50 * time.Millisecond // faster counts are not cached, since rows are live
	countFor  = 20                    // factor: valid for this many times the duration
	countMost = 30 * time.Second
	maxName   = 4 << 10
)

// name returns the key of a count: the statement with its arguments, and the residue.
func (c *counting) name() string {
	var b strings.Builder
	if c.qu.filter.Residue != nil {
		b.WriteString(cql2.FormatText(c.qu.filter.Residue) + "\x00")
	}
	st := c.statement()
	b.WriteString(st.sql)
	for _, a := range st.args {
		fmt.Fprintf(&b, "\x00%v", a) // the statement contains the type
	}
	return b.String()
}

func (c *counts) key(x *counting) countKey { return countKey{c.revision, x.name()} }

// get returns a cached count. If there is none, apart means that it should be counted in a statement of its own.
func (c *counts) get(x *counting) (n int, known, apart bool) {
	if !c.any.Load() { // avoids computing the key
		return -1, false, false
	}
	k, slow := c.slow.Get(c.key(x))
	if slow && time.Now().Before(k.until) {
		return k.n, true, false
	}
	return -1, false, slow
}

// together records how long a page with its count took.
func (c *counts) together(x *counting, took time.Duration) {
	if took >= slowFrom {
		c.put(x, slowCount{})
	}
}

// alone records a count and how long it took in a statement of its own. A fast one will again be counted with its page.
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

// total returns the last count of a table's rows. If there is none, its state matches no real one.
func (c *counts) total(l *layer) total {
	if t, ok := c.totals.Get(countKey{c.revision, l.ID}); ok {
		return t
	}
	return total{state: "none"} // never a real state
}

func (c *counts) putTotal(l *layer, t total) {
	if t.state != "" {
		c.totals.Put(countKey{c.revision, l.ID}, t, int64(len(t.state)))
	}
}
