package gpkg

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// isAllOrNothing reports whether all matches are wanted or none, of a layer whose indexes are known.
func (qu *question) isAllOrNothing() bool {
	q := &qu.q
	return q.AllOrNothing && q.Limit > 0 && q.Cursor == "" && q.Offset <= 0 && q.Rank == nil &&
		q.Count != store.CountExact && qu.l.source.Leads != nil
}

// allOrNothing reads no more matches than are wanted and some, by the access path that reads the least,
// and puts them in order afterwards. It reports false when SQL cannot say the filter.
func (qu *question) allOrNothing(ctx context.Context, c *conn, p *store.Page) (bool, error) {
	q := qu.q
	sql, args, err := qu.allStatement(c, q)
	if err != nil || sql == "" {
		return false, err
	}
	first, ok := qu.firsts(c, q)
	if !ok {
		return false, nil
	}
	read := func(fn func(row) error) error { return enough(c.query(sql, args, fn)) }
	var more bool
	if qu.counts(q) {
		numbers := func(fn func(numbered) error) error {
			return read(func(r row) error { return fn(numbered{r.Int(0), r.Int(1)}) })
		}
		more, err = qu.allNumbers(numbers, first, p)
	} else {
		more, err = qu.allValues(read, first, p)
	}
	if err != nil {
		return false, err
	}
	if more {
		p.Next = qu.beyond(p.Rows[0].ID)
	}
	return true, ctx.Err()
}

// beyond returns the cursor of a page that is incomplete because there are more rows than the limit; id is one of them.
func (qu *question) beyond(id string) store.Cursor {
	return qu.cursor(found{id: id, keys: make([]any, len(qu.keys)-1)}, false)
}

// allValues fills the page with the rows that read passes on, until its function returns errEnough.
// more reports that there are more rows than the limit.
func (qu *question) allValues(read func(func(row) error) error, first firstRows, p *store.Page) (more bool, err error) {
	last := len(qu.keys) - 1
	var values []any // of all rows, one after the other; the id is the last of each
	n := len(qu.keys)
	var came idSet
	err = read(func(r row) error {
		if !came.add(qu.l, r, last) {
			return nil
		}
		if more = len(values) == qu.q.Limit*n; more {
			return errEnough
		}
		for i := range n {
			values = append(values, r.Any(i))
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	rows := make([][]any, 0, len(values)/n)
	for v := range slices.Chunk(values, n) {
		rows = append(rows, v)
	}
	if !more {
		slices.SortFunc(rows, func(a, b []any) int { return compareKeys(qu.keys, a, b) })
		ids, err := first.of(len(rows))
		if err != nil {
			return false, err
		}
		rows = ahead(rows, func(v []any) bool { return ids.has(v[last]) })
	}
	p.Rows = make([]store.Row, len(rows))
	for i, v := range rows {
		p.Rows[i] = store.Row{ID: qu.idOf(v[last]), Rev: qu.now}
	}
	return more, nil
}

// enough is an error but for errEnough.
func enough(err error) error {
	if err == errEnough {
		return nil
	}
	return err
}

// numbered is a row that is ordered by one number, and its id.
type numbered struct{ key, id int64 }

// counts reports whether the order is that of numbered.
func (qu *question) counts(q store.Query) bool {
	if qu.l.text || len(q.SortBy) != 1 || q.SortBy[0].Desc {
		return false
	}
	f := qu.l.source.Fields[q.SortBy[0].Property]
	return f.Type == cql2.TypeInteger && !f.Nulls
}

func compareNumbered(a, b numbered) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return cmp.Compare(a.id, b.id)
}

// sortNumbered sorts by key, then by id, and may put the result in another slice. BenchmarkSortNumbered holds
// it against comparisons.
func sortNumbered(rows []numbered) []numbered {
	const digit = 11 // bits
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, x := range rows {
		low, high = min(low, x.key), max(high, x.key)
	}
	if len(rows) < 1<<digit/4 || uint64(high)-uint64(low) >= 1<<(3*digit) {
		slices.SortFunc(rows, compareNumbered)
		return rows
	}
	other := make([]numbered, len(rows))
	for shift := 0; (uint64(high)-uint64(low))>>shift > 0; shift += digit {
		var ends [1<<digit + 1]int32
		at := func(x numbered) uint64 { return (uint64(x.key) - uint64(low)) >> shift & (1<<digit - 1) }
		for _, x := range rows {
			ends[at(x)+1]++
		}
		for i := range 1 << digit {
			ends[i+1] += ends[i]
		}
		for _, x := range rows {
			n := &ends[at(x)]
			other[*n] = x
			*n++
		}
		rows, other = other, rows
	}
	for start, end := 0, 0; start < len(rows); start = end { // the same key
		for end = start + 1; end < len(rows) && rows[end].key == rows[start].key; end++ {
		}
		if end > start+1 {
			slices.SortFunc(rows[start:end], compareNumbered)
		}
	}
	return rows
}

// allNumbers is allValues for an order that is that of numbered. It allocates nothing for a row.
func (qu *question) allNumbers(read func(func(numbered) error) error, first firstRows,
	p *store.Page) (more bool, err error) {
	g := qu.gather(0)
	err = read(func(x numbered) error {
		if !g.add(x) {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	g.end()
	var is func(int64) bool
	if !g.more {
		ids, err := first.of(len(g.rows))
		if err != nil {
			return false, err
		}
		if len(ids.numbers) > 0 {
			is = func(id int64) bool { _, ok := ids.numbers[id]; return ok }
		}
	}
	qu.numberedPage(&g, is, p)
	return g.more, nil
}

// gathered are rows that come in any order, and perhaps more than once.
type gathered struct {
	rows []numbered
	most int // that are wanted
	full int // so many are put in order before more come
	more bool
}

// gather begins with none; about n will come.
func (qu *question) gather(n int) gathered {
	g := gathered{most: qu.q.Limit, full: qu.q.Limit + 1}
	if n > 0 {
		g.rows = make([]numbered, 0, min(n, g.full))
	}
	return g
}

// add adds a row; false when there are more than are wanted.
func (g *gathered) add(x numbered) bool {
	if len(g.rows) == g.full && !g.room() {
		return false
	}
	g.rows = append(g.rows, x)
	return true
}

func (g *gathered) room() bool {
	g.unique()
	g.full = max(g.most+1, len(g.rows)+g.most/2)
	return !g.more
}

// unique puts the rows in order, each once.
func (g *gathered) unique() {
	if len(g.rows) > 1 {
		g.rows = sortNumbered(g.rows)
		g.rows = slices.CompactFunc(g.rows, func(a, b numbered) bool { return a.id == b.id })
	}
	g.more = len(g.rows) > g.most
}

// end is called when no more rows come, or no more are wanted.
func (g *gathered) end() {
	if !g.more {
		g.unique()
	}
	g.rows = g.rows[:min(len(g.rows), g.most)]
}

// numberedPage fills the page with rows; those whose ids first holds for come before the others.
// A nil one holds for none.
func (qu *question) numberedPage(g *gathered, first func(id int64) bool, p *store.Page) {
	rows := g.rows
	if first != nil {
		rows = ahead(rows, func(x numbered) bool { return first(x.id) })
	}
	p.Rows = make([]store.Row, len(rows))
	var text strings.Builder // of all ids
	text.Grow(8 * len(rows))
	var id [20]byte
	for i, x := range rows {
		text.Write(strconv.AppendInt(id[:0], x.id, 10))
		p.Rows[i].Rev = uint64(text.Len())
	}
	all, start := text.String(), uint64(0)
	for i := range p.Rows {
		end := p.Rows[i].Rev
		p.Rows[i] = store.Row{ID: all[start:end], Rev: qu.now}
		start = end
	}
}

// ahead puts the rows for which is holds before the others. Both keep their order.
func ahead[R any](rows []R, is func(R) bool) []R {
	out, rest := make([]R, 0, len(rows)), make([]R, 0, len(rows))
	for _, x := range rows {
		if is(x) {
			out = append(out, x)
		} else {
			rest = append(rest, x)
		}
	}
	return append(out, rest...)
}

// idSet is a set of ids as the database gives them, numbers or texts.
type idSet struct {
	numbers map[int64]struct{}
	texts   map[string]struct{}
}

// add adds the id in column i; false when it is there already.
func (s *idSet) add(l *layer, r row, i int) (added bool) {
	if l.text {
		if s.texts == nil {
			s.texts = map[string]struct{}{}
		}
		n := len(s.texts)
		s.texts[r.Text(i)] = struct{}{}
		return len(s.texts) > n
	}
	if s.numbers == nil {
		s.numbers = map[int64]struct{}{}
	}
	n := len(s.numbers)
	s.numbers[r.Int(i)] = struct{}{}
	return len(s.numbers) > n
}

func (s *idSet) has(id any) (ok bool) {
	switch id := id.(type) {
	case int64:
		_, ok = s.numbers[id]
	case string:
		_, ok = s.texts[id]
	}
	return ok
}

// allStatement selects the sort keys and the id of all matches, in any order and perhaps more than once;
// "" when SQL cannot say the filter.
func (qu *question) allStatement(c *conn, q store.Query) (sql string, args []any, err error) {
	paths := sqlq.AccessPaths(qu.l.source, alias, q.Filter)
	if paths == nil {
		return "", nil, nil
	}
	d, err := cheapest(c, paths)
	if err != nil {
		return "", nil, err
	}
	b := sqlq.New(sqlq.Steady{}).Text("SELECT ")
	if d.All && d.Order != "" && quote(d.Key) == qu.l.key && len(q.SortBy) == 1 &&
		q.SortBy[0] == (store.Sort{Property: d.By}) {
		sql, args = b.Text(d.Order, ", ", d.Owner).Add(d.Probe).SQL()
		return sql, args, nil
	}
	for i, k := range qu.keys {
		if i > 0 {
			b.Text(", ")
		}
		b.Add(k.Expr)
	}
	sql, args = b.Add(d.Join).SQL()
	return sql, args, nil
}

// firstRows finds the ids of the rows for which Query.First holds, matches or not; nil: none do.
type firstRows func() (idSet, error)

// of is those ids where they change the order of n rows.
func (f firstRows) of(n int) (ids idSet, err error) {
	if f == nil || n < 2 {
		return ids, nil
	}
	return f()
}

// firsts returns how the rows that come first are found; false when SQL cannot say it.
func (qu *question) firsts(c *conn, q store.Query) (firstRows, bool) {
	if q.First == nil {
		return nil, true
	}
	paths := sqlq.AccessPaths(qu.l.source, alias, q.First)
	return func() (ids idSet, err error) {
		d, err := cheapest(c, paths)
		if err != nil {
			return ids, err
		}
		sql, args := qu.idsBy(d)
		err = c.query(sql, args, func(r row) error { ids.add(qu.l, r, 0); return nil })
		return ids, err
	}, paths != nil
}

// idsBy selects the ids of the rows of an access path.
func (qu *question) idsBy(d sqlq.AccessPath) (sql string, args []any) {
	b := sqlq.New(sqlq.Steady{}).Text("SELECT ")
	if d.All && d.Key != "" && quote(d.Key) == qu.l.key {
		b.Text(d.Owner).Add(d.Probe)
	} else {
		b.Text(qu.l.idExpr(alias)).Add(d.Join)
	}
	return b.SQL()
}

// cheapest returns the access path that reads the fewest rows. It counts in each until one ends.
func cheapest(c *conn, paths []sqlq.AccessPath) (sqlq.AccessPath, error) {
	if len(paths) == 1 || paths[0].Few {
		return paths[0], nil
	}
	for most := int64(500); most < 1<<20; most *= 8 {
		for _, d := range paths {
			sql, args := sqlq.New(sqlq.Steady{}).Text("SELECT count(*) FROM (SELECT 1").Add(d.Probe).Text(" LIMIT ").
				Arg(most).Text(")").SQL()
			n, err := c.one(sql, args...)
			if err != nil || n < most {
				return d, err
			}
		}
	}
	return paths[0], nil
}

// compareKeys orders rows as ORDER BY does, by keys as the driver gives them.
func compareKeys(keys []sqlq.Key, a, b []any) int {
	for i, k := range keys {
		n := 0
		switch {
		case a[i] == nil || b[i] == nil: // null is last in both directions
			n = cmp.Compare(boolInt(a[i] == nil), boolInt(b[i] == nil))
			if n != 0 {
				return n
			}
			continue
		default:
			n = compareValues(a[i], b[i])
		}
		if k.Desc {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return 0
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareValues compares two values of one column: numbers, or texts by code point.
func compareValues(a, b any) int {
	c, _ := cql2.CompareValues(a, b)
	return c
}

// idOf prints an id as idText does.
func (qu *question) idOf(v any) string {
	if n, ok := v.(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	s, _ := v.(string)
	return s
}
