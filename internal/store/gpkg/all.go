package gpkg

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// isAllOrNothing reports whether the query is an AllQuery for a layer whose indexes are known.
func (qu *query) isAllOrNothing() bool {
	return qu.all != nil && qu.q.Limit > 0 && qu.q.AsOf.IsZero() && qu.l.SQL.Leads != nil
}

// allOrNothing reads matches by the access path with the fewest rows, up to one more than the limit, and sorts them
// afterwards. It returns false if SQL cannot express the filter.
func (qu *query) allOrNothing(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	sql, args, err := qu.allStatement(c)
	if err != nil || sql == "" {
		return false, err
	}
	read := func(fn func(sqlite.Row) error) error { return sqlite.Enough(c.Query(sql, args, fn)) }
	if qu.counts() {
		numbers := func(fn func(numbered) error) error {
			return read(func(r sqlite.Row) error { return fn(numbered{r.Int(0), r.Int(1)}) })
		}
		err = qu.allNumbers(numbers, p)
	} else {
		err = qu.allValues(read, p)
	}
	if err != nil {
		return false, err
	}
	return true, ctx.Err()
}

// allValues fills the page with the distinct rows of read, or sets more if they exceed the limit. read stops when its
// function returns sqlite.ErrEnough.
func (qu *query) allValues(read func(func(sqlite.Row) error) error, p *store.Page) error {
	last := len(qu.keys) - 1
	var values []any // of all rows, concatenated; the last value of each row is its id
	n := len(qu.keys)
	var came idSet
	err := read(func(r sqlite.Row) error {
		if !came.add(qu.l, r, last) {
			return nil
		}
		if qu.more = len(values) == qu.q.Limit*n; qu.more {
			return sqlite.ErrEnough
		}
		for i := range n {
			values = append(values, r.Any(i))
		}
		return nil
	})
	if err != nil || qu.more {
		return err
	}
	rows := make([][]any, 0, len(values)/n)
	for v := range slices.Chunk(values, n) {
		rows = append(rows, v)
	}
	slices.SortFunc(rows, func(a, b []any) int { return compareKeys(qu.keys, a, b) })
	p.Rows = make([]store.Row, len(rows))
	for i, v := range rows {
		p.Rows[i] = store.Row{ID: qu.idOf(v[last]), Rev: qu.now}
	}
	return nil
}

// numbered is a row with an integer id and an integer sort key.
type numbered struct{ key, id int64 }

// counts reports whether the query sorts by a single integer, so that rows are numbered.
func (qu *query) counts() bool {
	q := &qu.q
	if qu.l.TextID || len(q.SortBy) != 1 || q.SortBy[0].Desc {
		return false
	}
	f := qu.l.SQL.Fields[q.SortBy[0].Property]
	return f.Type == cql2.TypeInteger && !f.Nulls
}

func compareNumbered(a, b numbered) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return cmp.Compare(a.id, b.id)
}

// allNumbers is allValues for rows that are numbered. It does not allocate for each row.
func (qu *query) allNumbers(read func(func(numbered) error) error, p *store.Page) error {
	g := gathered{most: qu.q.Limit, full: qu.q.Limit + 1}
	err := read(func(x numbered) error {
		if !g.add(x) {
			return sqlite.ErrEnough
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !g.more {
		g.unique()
	}
	if qu.more = g.more; !qu.more {
		qu.numberedPage(g.rows, p)
	}
	return nil
}

// gathered collects rows that come in any order, possibly repeatedly.
type gathered struct {
	rows []numbered
	most int // largest number of distinct rows
	full int // number of rows at which duplicates are removed
	more bool
}

// add adds a row. It returns false if there are more than most distinct rows.
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

// unique sorts the rows and removes duplicates.
func (g *gathered) unique() {
	if len(g.rows) > 1 {
		slices.SortFunc(g.rows, compareNumbered)
		g.rows = slices.CompactFunc(g.rows, func(a, b numbered) bool { return a.id == b.id })
	}
	g.more = len(g.rows) > g.most
}

// numberedPage fills the page with rows.
func (qu *query) numberedPage(rows []numbered, p *store.Page) {
	p.Rows = make([]store.Row, len(rows))
	var text strings.Builder // all ids, concatenated
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

// idSet is a set of ids as stored: integers or texts.
type idSet struct {
	numbers map[int64]struct{}
	texts   map[string]struct{}
}

// add adds the id in column i. It returns false if the set has it already.
func (s *idSet) add(l *layer.Layer, r sqlite.Row, i int) (added bool) {
	if l.TextID {
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

// allStatement returns a statement that selects the sort keys and the ids of all matches, in any order and possibly
// repeatedly; "" if SQL cannot express the filter.
func (qu *query) allStatement(c *sqlite.Conn) (sql string, args []any, err error) {
	q := &qu.q
	paths := sqlq.AccessPaths(qu.l.SQL, layer.Alias, q.Filter)
	if paths == nil {
		return "", nil, nil
	}
	d, err := cheapest(c, paths)
	if err != nil {
		return "", nil, err
	}
	b := sqlq.New(sqlq.Steady{}).Text("SELECT ")
	if d.All && d.Order != "" && sqlite.Quote(d.Key) == qu.l.IDColumn && len(q.SortBy) == 1 &&
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

// idsBy returns a statement that selects the ids of the rows of an access path.
func (qu *query) idsBy(d sqlq.AccessPath) (sql string, args []any) {
	b := sqlq.New(sqlq.Steady{}).Text("SELECT ")
	if d.All && d.Key != "" && sqlite.Quote(d.Key) == qu.l.IDColumn {
		b.Text(d.Owner).Add(d.Probe)
	} else {
		b.Text(qu.l.IDExpr(layer.Alias)).Add(d.Join)
	}
	return b.SQL()
}

// cheapest returns the access path with the fewest rows. It counts the rows of each path up to a limit, and raises the
// limit until a path has fewer.
func cheapest(c *sqlite.Conn, paths []sqlq.AccessPath) (sqlq.AccessPath, error) {
	if len(paths) == 1 || paths[0].Few {
		return paths[0], nil
	}
	for most := int64(500); most < 1<<20; most *= 8 {
		for _, d := range paths {
			sql, args := sqlq.New(sqlq.Steady{}).Text("SELECT count(*) FROM (SELECT 1").Add(d.Probe).Text(" LIMIT ").
				Arg(most).Text(")").SQL()
			n, err := c.One(sql, args...)
			if err != nil || n < most {
				return d, err
			}
		}
	}
	return paths[0], nil
}

// compareKeys compares the sort keys of two rows in the order of ORDER BY.
func compareKeys(keys []sqlq.Key, a, b []any) int {
	for i, k := range keys {
		n := 0
		switch {
		case a[i] == nil || b[i] == nil: // null comes last in both directions
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

// compareValues compares two values of a column: numbers, or texts by code point.
func compareValues(a, b any) int {
	c, _ := cql2.CompareValues(a, b)
	return c
}

// idOf returns an id as text.
func (qu *query) idOf(v any) string {
	if n, ok := v.(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	s, _ := v.(string)
	return s
}
