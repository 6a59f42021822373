package gpkg

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/internal/store/gpkg/index"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// probe is a subquery of the index file that selects row ids.
type probe struct {
	ids   []sqlq.Fragment // subqueries; their union is meant
	count int             // upper bound of the number of ids; counted only up to indexSearch.most
	exact bool            // all ids match; otherwise they only include all matches
}

// indexSearch finds probes for the parts of a filter. It requests missing tables.
type indexSearch struct {
	qu   *query
	c    *sqlite.Conn
	most int // number of ids up to which a probe is useful
}

// find returns the probe for a filter with the fewest ids; false if there is none.
func (x *indexSearch) find(e cql2.Expr) (best probe, ok bool, err error) {
	switch e := e.(type) {
	case cql2.And:
		for _, part := range e {
			p, found, err := x.find(part)
			if err != nil {
				return best, false, err
			}
			if found && (!ok || p.count < best.count) {
				best, ok = p, true
			}
		}
		best.exact = best.exact && len(e) == 1
		return best, ok, nil
	case cql2.Or:
		for i, part := range e {
			p, found, err := x.find(part)
			if err != nil || !found || i == maxParts {
				return best, false, err
			}
			best.ids, best.count = append(best.ids, p.ids...), best.count+p.count
		}
		best.exact = false
		return best, len(e) > 0, nil
	}
	return x.leaf(e)
}

// maxParts is the largest number of parts of an OR that are looked up separately.
const maxParts = 64

// leaf returns the probe for a single predicate.
func (x *indexSearch) leaf(e cql2.Expr) (p probe, ok bool, err error) {
	l := x.qu.l
	t, is := index.For(l, e)
	if !is {
		return p, false, nil
	}
	table := x.qu.rev.indexTable(x.c, t)
	if table == "" {
		return p, false, nil
	}
	where, id, ok := t.Where(table, e)
	if !ok {
		return p, false, nil
	}
	from := sqlq.Cat(sqlq.Ident(" FROM "+table+" AS x WHERE "), where)
	p.ids, p.exact = []sqlq.Fragment{sqlq.Cat(sqlq.Ident("SELECT "+id), from)}, t.Exact()
	if index.IsShortLike(e) {
		err := x.scan(&p)
		return p, err == nil, err
	}
	key := partKey(x.qu, e, x.most)
	if p.count, ok = x.qu.rev.counts.Get(key); ok {
		return p, true, nil
	}
	b := sqlq.New(sqlq.SQLite{}).Text("SELECT count(*) FROM (SELECT 1").Add(from)
	sql, args := b.Text(" LIMIT ").Arg(int64(x.most + 1)).Text(")").SQL()
	n, err := x.c.One(sql, args...)
	p.count = int(n)
	x.qu.rev.counts.Put(key, p.count, int64(len(key.where)))
	return p, err == nil, err
}

// scan counts what a probe selects that tests all values, and has it select the ids that it has found.
func (x *indexSearch) scan(p *probe) error {
	sql, args := sqlq.New(sqlq.SQLite{}).Add(p.ids[0]).Text(" LIMIT ").Arg(int64(x.most + 1)).SQL()
	list := []byte{'['}
	err := x.c.Query(sql, args, func(r sqlite.Row) error {
		if p.count++; p.count > 1 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, r.Int(0), 10)
		return nil
	})
	if p.count <= x.most {
		p.ids[0] = sqlq.SQL("SELECT value AS id FROM json_each(?)", string(append(list, ']')))
	}
	return err
}

// index.tableName returns a table that c can read. If it does not exist yet, it returns "" and requests it.
func (r *revision) indexTable(c *sqlite.Conn, t index.Table) string {
	table := sessionOf(c).index.Table(t)
	if table == "" {
		if ended := r.indexes.Want(t); r.memory.limits.wait && ended != nil {
			<-ended
		}
	}
	return table
}

// isByIndex reports whether the index file may serve a part of the filter.
func (qu *query) isByIndex() bool {
	q := &qu.q
	return qu.isIndexed() && q.Filter != nil && mayFind(qu.l, q.Filter)
}

// isIndexed reports whether the index file may have columns of the layer.
func (qu *query) isIndexed() bool {
	return qu.q.Rank == nil && qu.all == nil && qu.l.Count >= qu.rev.memory.limits.from &&
		!qu.l.View && qu.l.Rowid != "" && qu.rev.indexes.Enabled() && qu.rev.catalog.Survey == nil
}

// mayFind reports whether indexSearch.find would find a probe if all tables existed.
func mayFind(l *layer.Layer, e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.And:
		return slices.ContainsFunc(e, func(e cql2.Expr) bool { return mayFind(l, e) })
	case cql2.Or:
		return len(e) > 0 && len(e) <= maxParts && !slices.ContainsFunc(e, func(e cql2.Expr) bool {
			return !mayFind(l, e)
		})
	}
	_, ok := index.For(l, e)
	return ok
}

// most returns the number of ids up to which a probe is useful. If more rows match, a scan in the order of ids finds
// enough of them sooner.
func (qu *query) most() int {
	if wide := qu.rev.memory.limits.wide; !qu.l.Keyed || len(qu.keys) > 1 {
		return wide
	}
	return max(qu.rev.memory.limits.wide, qu.l.Count/8)
}

// byIndex runs a statement on the rows that the index file selects. It returns false if these are too many, or if the
// source has changed.
func (qu *query) byIndex(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	if same, err := c.Unchanged(); err != nil || !same {
		return false, err
	}
	x := &indexSearch{qu: qu, c: c, most: qu.most()}
	if qu.cheap {
		x.most = min(x.most, fewMatches)
	}
	found, ok, err := x.find(qu.q.Filter)
	if err != nil || !ok {
		return false, err
	}
	many := found.count > x.most
	near := found.count
	if many {
		near = nearRows
	}
	if n := qu.pageEnd(found.count); n < near/2 &&
		qu.l.Cost(store.Query{Filter: qu.q.Filter}) == store.CostScan {
		w := *qu
		w.near = min(nearTimes*n, near)
		if qu.filled, err = w.walk(ctx, c, p); err != nil {
			return false, err
		}
	}
	if many && qu.cheap && (found.exact || qu.filled) && qu.q.AsOf.IsZero() && qu.countable() {
		qu.cacheCount(expensive)
	}
	if many && qu.cheap && !qu.filled {
		if x.most = qu.most(); x.most > fewMatches {
			if found, _, err = x.find(qu.q.Filter); err != nil {
				return false, err
			}
		}
	}
	if found.count > x.most {
		if found.exact && qu.q.AsOf.IsZero() && qu.q.Count == store.CountExact && qu.countable() {
			sql, args := sqlq.New(sqlq.SQLite{}).Text("SELECT count(*) FROM (").Add(found.ids[0]).Text(")").SQL()
			n, err := qu.counting(ctx, c, func() (int, error) { n, err := c.One(sql, args...); return int(n), err })
			if err != nil {
				return false, err
			}
			if n >= 0 {
				qu.cacheCount(n)
			}
		}
		return false, nil
	}
	if qu.among, qu.exactly = found.ids, found.exact; found.exact && qu.q.AsOf.IsZero() && qu.counted() < 0 {
		qu.cacheCount(found.count)
	}
	return qu.bySQL(ctx, c, p)
}

const (
	// fewMatches is the number of matches up to which they are counted although the page can do without.
	fewMatches = 1 << 14
	// nearRows is the largest number of rows that are read in the order by id before matches of the index are sorted
	// instead. nearTimes limits it too, as a multiple of the rows that a page needs if matches are spread evenly.
	nearRows  = 1 << 16
	nearTimes = 16
)

// pageEnd returns how many rows a page takes in the order by id if at least count of all match, spread evenly;
// math.MaxInt32 if it is not in that order.
func (qu *query) pageEnd(count int) int {
	if qu.q.Limit <= 0 || !qu.l.Keyed || len(qu.keys) > 1 {
		return math.MaxInt32
	}
	n := float64(max(qu.q.Offset, 0)) + float64(qu.q.Limit) + 1
	return int(min(n*float64(qu.l.Count)/float64(max(count, 1)), math.MaxInt32))
}

// walk fills the page by testing rows in the order by id, about near of them, or those that are among few;
// false if the page does not end there.
func (qu *query) walk(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	qu.table = qu.l.SQL.Table
	qu.compile()
	err := qu.fill(ctx, c, qu.q, p)
	if err == errFar || err == nil && qu.near == 0 && p.Next == "" {
		*p = store.Page{Matched: p.Matched, Version: p.Version}
		return false, nil
	}
	return err == nil, err
}

// errFar reports that a page does not end within the rows that are to be read.
var errFar = errors.New("gpkg: the page ends further on")

// bound returns the id of a row about near rows from the place on, in the direction; nil if all others are nearer.
func (qu *query) bound(c *sqlite.Conn, back bool) (id any, err error) {
	l := qu.l
	var at int64
	if qu.place != nil {
		at, _ = qu.values[0].(int64)
	} else {
		at, err = c.One("SELECT min(" + l.IDExpr(layer.Alias) + ") FROM " + l.SQL.Table + " AS " + layer.Alias)
	}
	step := qu.near
	if back {
		step = -step
	}
	if end := at + int64(step); len(l.Marks) == 0 && (end < at) == back {
		return end, err
	}
	i, _ := slices.BinarySearch(l.Marks, at)
	if i += step / layer.MarkEvery; i < 0 || i >= len(l.Marks) {
		return nil, err
	}
	return l.Marks[i], err
}

// indexCost is the cost of a query if the index file has the tables that it needs.
func (qu *query) indexCost() store.Cost {
	cost := qu.l.Cost(qu.q)
	if cost == store.CostScan && qu.hasIndex(qu.q.Filter) {
		return store.CostIndexed
	}
	return cost
}

// hasIndex reports whether the index file has tables that, as far as known, select few rows for a filter.
func (qu *query) hasIndex(e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.And:
		return slices.ContainsFunc(e, qu.hasIndex)
	case cql2.Or:
		return len(e) > 0 && !slices.ContainsFunc(e, func(e cql2.Expr) bool { return !qu.hasIndex(e) })
	}
	t, ok := index.For(qu.l, e)
	if !ok || index.IsShortLike(e) || !qu.rev.indexes.Has(t) {
		return false
	}
	most := qu.most()
	n, known := qu.rev.counts.Get(partKey(qu, e, most))
	_, several := only(qu.q.Filter).(cql2.And)
	return !known || n <= most || !several && len(qu.keys) == 1
}

// partKey returns the key of the cached number of rows that a part of a filter selects, counted up to most.
func partKey(qu *query, e cql2.Expr, most int) countKey {
	return countKey{qu.rev.rev, qu.l.ID, "at most\x00" + canonical(e), int64(most)}
}

// orderOf returns the table for the order of the query; ok is false if there cannot be one.
func (qu *query) orderOf() (t index.Table, ok bool) {
	by := qu.q.SortBy
	if len(by) != 1 || by[0].Norwegian {
		return t, false
	}
	return index.ForOrder(qu.l, by[0])
}

// isByOrder reports whether a table of the index file may give all rows in the requested order.
func (qu *query) isByOrder() bool {
	q := &qu.q
	if !qu.isIndexed() || q.Filter != nil || !q.AsOf.IsZero() || q.Limit <= 0 {
		return false
	}
	_, ok := qu.orderOf()
	return ok && qu.l.Cost(store.Query{SortBy: q.SortBy}) == store.CostScan
}

func (qu *query) orderCost() store.Cost {
	cost := qu.l.Cost(qu.q)
	if t, _ := qu.orderOf(); qu.q.Offset == 0 && qu.rev.indexes.Has(t) {
		return store.CostIndexed
	}
	return cost
}

// byOrder reads rows in the order of a table in the index file. It returns false if there is none, or if the source has
// changed. While the table of a large collection is being built, it refuses the query.
func (qu *query) byOrder(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	if same, err := c.Unchanged(); err != nil || !same {
		return false, err
	}
	t, _ := qu.orderOf()
	table := qu.rev.indexTable(c, t)
	if table == "" && qu.l.Large && qu.rev.indexes.IsComing(t) {
		return false, problem.New(problem.Busy, nil, "The collection %s is being sorted by %s for the first time. "+
			"Try again after the seconds in Retry-After, or leave out sortby.", qu.l.ID, qu.q.SortBy[0].Property)
	}
	if table == "" {
		return false, nil
	}
	by := *qu
	by.sorted, by.table = "1", table
	by.keys = []sqlq.Key{{Expr: sqlq.Ident(layer.Alias + ".v"), Desc: qu.q.SortBy[0].Desc},
		{Expr: sqlq.Ident(layer.Alias + ".id")}}
	if !qu.l.Keyed {
		by.sorted, by.table = layer.Alias+"."+qu.l.Rowid+" = o.id", table+" AS o CROSS JOIN "+qu.l.SQL.Table
		by.keys = append([]sqlq.Key{{Expr: sqlq.Ident("o.v"), Desc: qu.q.SortBy[0].Desc}}, qu.keys[1:]...)
	}
	return by.bySQL(ctx, c, p)
}

// placeValues returns the values of the keys at the cursor, with null in the form of the index table.
func (qu *query) placeValues() []any {
	if qu.sorted == "" || qu.values[0] != nil {
		return qu.values
	}
	null := any([]byte{})
	if qu.keys[0].Desc {
		null = math.Inf(-1)
	}
	return append([]any{null}, qu.values[1:]...)
}

// key converts a value of an index table back to the value in the source.
func (qu *query) key(v any) any {
	if qu.sorted == "" {
		return v
	}
	if _, null := v.([]byte); null || v == any(math.Inf(-1)) {
		return nil
	}
	return v
}
