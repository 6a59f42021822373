package postgis

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
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

// wantedCount is the number of all matches, while it is being determined.
type wantedCount struct {
	open  *counting // nil: not requested, or known
	known int       // negative: unknown
	apart bool      // count in a statement of its own
}

// countApart counts in a statement of its own, within store.CountBudget if the count may be omitted.
func (qu *pageQuery) countApart(ctx context.Context, c *pgxpool.Conn, n *wantedCount) error {
	start, state := time.Now(), ""
	overBudget, err := qu.budgeted(ctx, c, n.open, func(short context.Context) error {
		return one(short, c, n.open.statement(), func(r pgx.Rows) error {
			raw := r.RawValues()
			n.known = int(binary.BigEndian.Uint64(raw[0]))
			if len(raw) > 1 {
				state = string(raw[1])
			}
			return nil
		})
	})
	switch {
	case overBudget:
		n.known = -1
	case err == nil:
		qu.counts.alone(n.open, n.known, time.Since(start))
		qu.counts.putTotal(qu.l, total{state: state, n: n.known})
	}
	return err
}

// counting is the count of all matches of a query. Its statement is built on first use.
type counting struct {
	qu   *pageQuery
	sql  string
	args []any
}

func (c *counting) statement() statement {
	if c.sql == "" {
		b := sqlq.New(sqlq.PostgreSQL{}).Text("SELECT count(*)")
		if c.qu.states() {
			b.Text(", ", c.qu.l.versionExpr())
		}
		c.qu.from(b)
		c.sql, c.args = b.SQL()
	}
	return statement{c.sql, c.args}
}

// budgeted runs a count that is cancelled if it is expensive, and reports whether it was. A surrounding transaction
// continues after the cancellation.
func (qu *pageQuery) budgeted(ctx context.Context, c *pgxpool.Conn, x *counting,
	count func(context.Context) error) (overBudget bool, err error) {
	if !qu.cheap {
		return false, count(ctx)
	}
	if err := conn.Settle(ctx, c); err != nil {
		return false, err
	}
	inside := c.Conn().PgConn().TxStatus() != 'I'
	if inside {
		if _, err := c.Exec(ctx, "SAVEPOINT grense_count", pgx.QueryExecModeSimpleProtocol); err != nil {
			return false, err
		}
	}
	short, done := context.WithTimeout(ctx, store.CountBudget)
	defer done()
	err = count(short)
	if !qu.isOverBudget(ctx, short, x, err) {
		return false, err
	}
	if inside {
		_, err = c.Exec(ctx, "ROLLBACK TO SAVEPOINT grense_count", pgx.QueryExecModeSimpleProtocol)
		return true, err
	}
	return true, nil
}

// isOverBudget reports whether a count was cancelled because of its budget, and records that.
func (qu *pageQuery) isOverBudget(ctx, short context.Context, x *counting, err error) bool {
	if err == nil || short.Err() == nil || ctx.Err() != nil {
		return false
	}
	qu.counts.alone(x, -1, countMost)
	return true
}

// matched sets the count. A page that is both the first and the last implies it.
func (qu *pageQuery) matched(p *store.Page, counted int) {
	switch {
	case qu.q.Count != store.CountExact:
	case qu.complete(p):
		p.Matched = max(qu.q.Offset, 0) + len(p.Rows)
	case counted < 0:
	default: // rows are live: there may be more than were counted
		p.Matched = counted
		if n := len(p.Rows); n > 0 {
			p.Matched = max(counted, max(qu.q.Offset, 0)+n)
		}
	}
}

// complete reports whether the page is both the first and the last, except for rows skipped by an offset.
func (qu *pageQuery) complete(p *store.Page) bool {
	return qu.q.Cursor == "" && p.Next == "" && len(p.Rows) > 0
}

// total is the number of rows in a table for a state of the database.
type total struct {
	state string // value of layer.versionExpr
	n     int
}

// states reports whether the query matches all rows of a table, so that the count is valid as long as the state of the
// database is the same.
func (qu *pageQuery) states() bool { return qu.q.Filter == nil && qu.q.AsOf.IsZero() && qu.l.plain }
