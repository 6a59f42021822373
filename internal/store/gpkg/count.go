package gpkg

import (
	"context"
	"strings"

	"grense/internal/cache"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// countKey identifies the cached count of a filter in a revision.
type countKey struct {
	rev          uint64
	layer, where string // where: result of canonical
	asOf         int64
}

// countCache caches numbers of matches. countBytes is its size: enough for about a thousand long filters or ten
// thousand short ones.
type countCache = cache.Cache[countKey, int]

const countBytes = 4 << 20

// counted returns the cached number of matches; -1 if unknown, or expensive.
func (qu *query) counted() int {
	if qu.now != qu.rev.rev { // the cache is for the file as it was opened
		return -1
	}
	if qu.q.Filter == nil && qu.q.AsOf.IsZero() {
		return qu.l.Count
	}
	if qu.countKey.where == "" {
		qu.countKey = countKey{qu.rev.rev, qu.l.ID, canonical(qu.q.Filter), qu.q.AsOf.UnixNano()}
	}
	if n, ok := qu.rev.counts.Get(qu.countKey); ok {
		return n
	}
	return -1
}

// countable reports whether the matches have not been counted and counting may be worthwhile.
func (qu *query) countable() bool {
	n := qu.counted()
	return n < 0 && !(n == expensive && qu.cheap)
}

// cacheCount caches the number of matches.
func (qu *query) cacheCount(n int) {
	if size := len(qu.countKey.where); size > 0 && size < 4<<10 && qu.now == qu.rev.rev {
		qu.rev.counts.Put(qu.countKey, n, int64(size))
	}
}

// count returns the number of matches; p is the page that was read.
func (qu *query) count(ctx context.Context, c *sqlite.Conn, q store.Query, p *store.Page) (int, error) {
	if !qu.countable() {
		return max(qu.counted(), -1), nil
	}
	rest, before := qu, 0
	if q.Cursor == "" && len(p.Rows) > 0 && len(qu.keys) == 1 && qu.filter.Residue == nil && qu.calls() {
		last, _ := qu.l.IDValue(p.Rows[len(p.Rows)-1].ID)
		x := *qu
		x.after, before, rest = last, max(q.Offset, 0)+len(p.Rows), &x
	}
	n, err := qu.counting(ctx, c, func() (int, error) { return rest.countRows(ctx, c) })
	if err != nil || n < 0 {
		return n, err
	}
	qu.cacheCount(before + n)
	return before + n, nil
}

// expensive is cached instead of a count that takes longer than store.CountBudget.
const expensive = -2

// counting returns the result of count. If the page can do without and counting takes too long, it returns -1 and
// caches expensive.
func (qu *query) counting(ctx context.Context, c *sqlite.Conn, count func() (int, error)) (int, error) {
	if !qu.cheap {
		return count()
	}
	short, done := context.WithTimeout(ctx, store.CountBudget)
	defer done()
	n := 0
	err := c.Within(short, func() (err error) { n, err = count(); return err })
	if err != nil && short.Err() != nil && ctx.Err() == nil && sqlite.IsInterrupted(err) {
		qu.cacheCount(expensive)
		return -1, nil
	}
	return n, err
}

// calls reports whether the filter is so expensive that the rows of the page should not be tested twice.
func (qu *query) calls() bool {
	sql, _ := sqlq.New(sqlq.SQLite{}).Add(qu.filter.Where).SQL()
	return strings.Contains(sql, "grense_")
}

func (qu *query) countStatement() (string, []any) {
	b := sqlq.New(sqlq.SQLite{}).Text("SELECT ")
	if qu.filter.Residue == nil {
		b.Text("count(*)")
	} else {
		b.Text("1")
		qu.residueColumns(b)
	}
	b.Text(" FROM ", qu.table, " AS ", layer.Alias, " WHERE ")
	if qu.after != nil { // the plus sign keeps SQLite from using the index
		b.Text("+", qu.l.IDExpr(layer.Alias), " > ").Arg(qu.after).Text(" AND ")
	}
	b.Text("(").Add(qu.filter.Where).Text(")")
	return b.SQL()
}

func (qu *query) countRows(ctx context.Context, c *sqlite.Conn) (int, error) {
	sql, args := qu.countStatement()
	n := 0
	err := c.Query(sql, args, func(r sqlite.Row) error {
		if qu.filter.Residue == nil {
			n = int(r.Int(0))
			return nil
		}
		ok, err := qu.holds(ctx, c, r, 1)
		if ok {
			n++
		}
		return err
	})
	return n, err
}
