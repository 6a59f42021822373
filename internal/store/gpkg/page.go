package gpkg

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/lexicon"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// query is a store.Query prepared for a layer.
type query struct {
	rev      *revision
	now      uint64 // revision of the rows that are read
	l        *layer.Layer
	q        store.Query // Filter without boxes that contain the whole layer
	table    string      // table to read from
	filter   sqlq.Filter
	matcher  *cql2.Matcher // for the residue of the filter; created when needed
	keys     []sqlq.Key    // sort keys, the id last
	order    string        // store.Query.OrderName
	place    *store.Place
	values   []any    // values of keys at place
	after    any      // if not nil, only rows with a greater id are counted
	countKey countKey // in revision.counts; zero: not set yet
	total    *int     // if there is a residue: count while reading the page; nil: do not
	hints    *hints
	ahead    *lexicon.Answer // if not nil, rows come from the type-ahead table
	among    []sqlq.Fragment // if not nil, subqueries of row ids that include all matches
	exactly  bool            // with among: all these rows match
	cheap    bool            // do not count if that is expensive
	near     int             // if not 0, reading ends after about so many rows, with errFar
	until    any             // with near: id of the last row that is read; nil: there are not so many
	filled   bool            // the page has its rows already
	sorted   string          // if table is one of the index file in the requested order: condition on its rows; else ""

	reach  orb.Bound // with isByPlaces: the envelope of every match touches it
	passed []string  // strategies that apply but were not available

	all   *store.AllQuery // nil: a page is requested
	more  bool            // with all: more than Limit match
	texts []string        // with all.Texts; nil: the page has the rows
}

// Page returns the ids that q selects.
func (s *Store) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	q, err := q.Reached(ctx, s)
	if err != nil {
		return nil, err
	}
	_, p, err := s.ask(ctx, q, nil)
	return p, err
}

// All returns all rows that q selects.
func (s *Store) All(ctx context.Context, q store.AllQuery) (*store.All, error) {
	q.Count = store.CountNone
	qu, p, err := s.ask(ctx, q.Query, &q)
	switch {
	case err != nil:
		return nil, err
	case qu.more:
		return &store.All{More: true}, nil
	case qu.texts != nil:
		return &store.All{Texts: qu.texts}, nil
	}
	return store.AllOf(ctx, s, q, p)
}

// ask runs a query; all is nil, or makes it an AllQuery.
func (s *Store) ask(ctx context.Context, q store.Query, all *store.AllQuery) (*query, *store.Page, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, nil, err
	}
	defer r.release()
	qu, err := newQuery(r, q)
	if err != nil {
		return nil, nil, err
	}
	qu.all = all
	p := &store.Page{Matched: -1, Version: r.catalog.Version}
	look := r.look(s.settled)
	ctx = s.queries(ctx)
	err = r.use(ctx, func(c *sqlite.Conn) error {
		if _, err := qu.answer(ctx, c, p); err != nil {
			return err
		}
		return look.see(c, qu.now)
	})
	return qu, p, err
}

// bySQL runs a statement for the page, and one for the count unless the page implies it.
func (qu *query) bySQL(ctx context.Context, c *sqlite.Conn, p *store.Page) (done bool, err error) {
	q := qu.q
	qu.compile()
	if qu.sorted == "" {
		qu.table = qu.l.SQL.Table
	}
	reads := q.Limit > 0 && !qu.filled
	if reads && q.Count == store.CountExact && q.Cursor == "" && qu.filter.Residue != nil && qu.counted() < 0 &&
		!qu.cheap {
		qu.total = new(int)
	}
	if reads {
		if err = qu.fill(ctx, c, q, p); err != nil {
			return false, err
		}
	}
	switch {
	case q.Count != store.CountExact:
	case q.Cursor == "" && p.Next == "" && len(p.Rows) > 0: // the last page implies the count
		p.Matched = max(q.Offset, 0) + len(p.Rows)
	case qu.total != nil:
		p.Matched = *qu.total
		qu.cacheCount(p.Matched)
	default:
		p.Matched, err = qu.count(ctx, c, q, p)
	}
	return err == nil, err
}

// withoutConstants drops boxes that contain the whole extent of the layer, and comparisons of literals that are true.
// Such boxes also match features without geometry (OGC 17-069r4, 7.15.3). It returns nil if nothing is left.
func withoutConstants(l *layer.Layer, e cql2.Expr) cql2.Expr {
	switch e := e.(type) {
	case cql2.BBox:
		if l.Extent != nil && !l.Outside && e.Z == nil && e.CRS.Geographic() && e.Box.Contains(l.Extent.Min) &&
			e.Box.Contains(l.Extent.Max) {
			return nil
		}
	case cql2.Compare:
		if isLiteral(e.L) && isLiteral(e.R) {
			if is, err := cql2.NewMatcher(e).Eval(nil); err == nil && is == cql2.True {
				return nil
			}
		}
	case cql2.And:
		var rest cql2.And
		for _, x := range e {
			if x = withoutConstants(l, x); x != nil {
				rest = append(rest, x)
			}
		}
		if len(rest) == 0 {
			return nil
		}
		return rest
	}
	return e
}

func isLiteral(e cql2.Expr) bool {
	switch e.(type) {
	case cql2.Text, cql2.Number, cql2.Int, cql2.Bool, cql2.Date, cql2.Timestamp:
		return true
	}
	return false
}

func (qu *query) compile() {
	source := qu.l.SQL
	if qu.sorted != "" {
		qu.filter = sqlq.Filter{Where: sqlq.Ident(qu.sorted)}
		return
	}
	if (qu.among != nil || qu.near > 0) && source.Geometry != nil { // testing these few rows is faster than the R-tree
		few, place := *source, *source.Geometry
		place.Index = ""
		few.Geometry, source = &place, &few
	}
	if !qu.exactly {
		qu.filter = sqlq.Compile(sqlq.SQLite{}, source, layer.Alias, qu.q.Filter)
	}
	if qu.among != nil {
		ids := sqlq.Cat(sqlq.Ident(layer.Alias+"."+qu.l.Rowid+" IN ("), sqlq.Join(" UNION ALL ", qu.among...),
			sqlq.Ident(")"))
		if qu.exactly {
			qu.filter.Where = ids
		} else {
			qu.filter.Where = sqlq.Cat(ids, sqlq.Ident(" AND ("), qu.filter.Where, sqlq.Ident(")"))
		}
	}
	if !qu.q.AsOf.IsZero() {
		qu.filter = qu.filter.AsOf(sqlq.SQLite{}, qu.l.SQL, layer.Alias, qu.q.AsOf)
	}
}

// newQuery prepares a query. It does not translate the filter to SQL yet.
func newQuery(r *revision, q store.Query) (*query, error) {
	l, err := r.layer(q.Collection)
	if err != nil {
		return nil, err
	}
	q.Filter, q.AsOf = withoutConstants(l, q.Filter), l.Moment(q.AsOf)
	cheap := q.Count == store.CountCheap && q.Limit > 0 && l.Count > store.CheapRows
	if q.Count == store.CountCheap {
		q.Count = store.CountExact
	}
	qu := &query{rev: r, l: l, q: q, order: q.OrderName(), cheap: cheap}
	if q.Rank != nil {
		rank, ok := sqlq.SQLite{}.Rank(layer.Alias, l.SQL, *q.Rank)
		if !ok {
			return nil, fmt.Errorf("gpkg: collection %q cannot be ranked by %q", l.ID, q.Rank.Props)
		}
		qu.keys = append(qu.keys, sqlq.Key{Expr: rank, Name: "rank"})
	}
	for _, k := range q.SortBy {
		keys, err := l.OrderBy(k)
		if err != nil {
			return nil, err
		}
		qu.keys = append(qu.keys, keys...)
	}
	qu.keys = append(qu.keys, l.IDKeys(layer.Alias)...)
	if q.Cursor != "" {
		if err := qu.start(); err != nil {
			return nil, err
		}
	}
	return qu, nil
}

// start sets the position of the cursor.
func (qu *query) start() error {
	p, err := qu.q.Place()
	if err != nil {
		return err
	}
	id, ok := qu.l.IDValues(p.ID)
	if p.Order != qu.order || len(p.Keys) != len(qu.keys)-len(id) || !ok {
		return store.ErrCursor
	}
	qu.place, qu.values = &p, append(p.Keys[:len(p.Keys):len(p.Keys)], id...)
	return nil
}

// found is a row of a page.
type found struct {
	id   string
	keys []any
}

// fill reads the rows of the page and one more, which shows whether there is another page.
func (qu *query) fill(ctx context.Context, c *sqlite.Conn, q store.Query, p *store.Page) error {
	back := qu.place != nil && qu.place.Back
	limit, skip := q.Limit, max(q.Offset, 0)
	rows, skipped, err := qu.read(ctx, c, back, min(limit, math.MaxInt32)+1, skip)
	if err != nil {
		return err
	}
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	if back {
		for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
			rows[i], rows[j] = rows[j], rows[i]
		}
	}
	p.Rows = make([]store.Row, len(rows))
	for i, x := range rows {
		p.Rows[i] = store.Row{ID: x.id, Rev: qu.now}
	}
	if len(rows) == 0 {
		return nil
	}
	before, after := skipped, more
	if back {
		before, after = more, skipped
	}
	if qu.place != nil { // is there a row on the side that the client came from?
		exists, err := qu.exists(ctx, c, !back, rows)
		if err != nil {
			return err
		}
		if back {
			after = after || exists
		} else {
			before = before || exists
		}
	}
	if after {
		p.Next = qu.cursor(rows[len(rows)-1], false)
	}
	if before {
		p.Prev = qu.cursor(rows[0], true)
	}
	return nil
}

func (qu *query) cursor(x found, back bool) store.Cursor {
	return store.NewCursor(store.Place{Back: back, Order: qu.order, Keys: x.keys, ID: x.id})
}

// exists reports whether there is a match before the first row (back) or after the last one.
func (qu *query) exists(ctx context.Context, c *sqlite.Conn, back bool, rows []found) (bool, error) {
	edge := rows[len(rows)-1]
	if back {
		edge = rows[0]
	}
	id, _ := qu.l.IDValues(edge.id)
	other := *qu
	other.place, other.values = &store.Place{Back: back}, append(edge.keys[:len(edge.keys):len(edge.keys)], id...)
	next, _, err := other.read(ctx, c, back, 1, 0)
	return len(next) > 0, err
}

// read returns up to limit matches in order, from the cursor on, without the first skip of them. skipped reports
// whether it skipped any.
func (qu *query) read(ctx context.Context, c *sqlite.Conn, back bool, limit,
	skip int) (rows []found, skipped bool, err error) {
	if qu.ahead != nil {
		var from *lexicon.Ranked
		if qu.place != nil {
			from = &lexicon.Ranked{Rank: qu.values[0].(int64), ID: qu.values[1].(int64)}
		}
		for _, x := range qu.ahead.Read(from, back, limit, skip) {
			rows = append(rows, found{id: strconv.FormatInt(x.ID, 10), keys: []any{x.Rank}})
		}
		return rows, skip > 0 && len(rows) > 0, nil
	}
	if qu.near > 0 {
		if qu.until, err = qu.bound(c, back); err != nil {
			return nil, false, err
		}
	}
	sql, args := qu.statement(back, limit, skip)
	n := len(qu.keys)
	seen := 0
	err = c.Query(sql, args, func(r sqlite.Row) error {
		if qu.filter.Residue != nil {
			if ok, err := qu.holds(ctx, c, r, n); err != nil || !ok {
				return err
			}
			if seen++; seen <= skip || len(rows) == limit {
				return nil
			}
		}
		sorts := n - max(1, len(qu.l.Parts))
		x := found{id: qu.printedID(r, sorts)}
		for i := range sorts {
			x.keys = append(x.keys, qu.key(r.Any(i)))
		}
		rows = append(rows, x)
		if len(rows) == limit && qu.total == nil {
			return sqlite.ErrEnough
		}
		return nil
	})
	err = sqlite.Enough(err)
	if qu.until != nil && err == nil && len(rows) < limit {
		err = errFar
	}
	if qu.total != nil {
		*qu.total = seen
	}
	return rows, skip > 0 && len(rows) > 0, err
}

// statement selects the sort keys, the id and, if there is a residue, what its test needs.
func (qu *query) statement(back bool, limit, skip int) (string, []any) {
	b := sqlq.New(sqlq.SQLite{}).Text("SELECT ")
	for i, k := range qu.keys {
		if i > 0 {
			b.Text(", ")
		}
		b.Add(k.Expr)
		if k.Name != "" {
			b.Text(" AS ", k.Name)
		}
	}
	qu.residueColumns(b)
	b.Text(" FROM ", qu.table, " AS ", layer.Alias, " WHERE (").Add(qu.wanted(back, limit+skip)).Text(")")
	if id, rest, ok := qu.mark(back, skip); ok {
		b.Text(" AND ", qu.l.IDExpr(layer.Alias), " >= ").Arg(id)
		skip = rest
	}
	if qu.place != nil {
		b.Text(" AND (").Add(sqlq.After(sqlq.SQLite{}, qu.keys, qu.placeValues(), back)).Text(")")
	}
	if qu.until != nil {
		than := " <= "
		if back {
			than = " >= "
		}
		b.Text(" AND ", qu.l.IDExpr(layer.Alias), than).Arg(qu.until)
	}
	b.Text(" ORDER BY ").Add(sqlq.Order(qu.keys, back))
	if qu.filter.Residue == nil {
		// +0: SQLite would prepare the statement again for each value of a bare parameter.
		b.Text(" LIMIT ").Arg(int64(limit)).Text("+0 OFFSET ").Arg(int64(skip)).Text("+0")
	}
	return b.SQL()
}

// wanted is the condition on the rows of a page that ends with the n-th match: where the index file knows all matches,
// it selects the first ones only.
func (qu *query) wanted(back bool, n int) sqlq.Fragment {
	if !qu.exactly || len(qu.among) > 1 || len(qu.keys) > 1 || !qu.l.Keyed || !qu.q.AsOf.IsZero() {
		return qu.filter.Where
	}
	from, order := "", " ORDER BY 1"
	var args []any
	if qu.place != nil {
		from = " WHERE x.id > ?"
		args = append(args, qu.values[0])
	}
	if back {
		from, order = strings.Replace(from, ">", "<", 1), order+" DESC"
	}
	return sqlq.Cat(sqlq.Ident(layer.Alias+"."+qu.l.Rowid+" IN (SELECT x.id FROM ("), qu.among[0],
		sqlq.SQL(") AS x"+from+order+" LIMIT ?+0)", append(args, int64(n))...))
}

func (qu *query) residueColumns(b *sqlq.Builder) {
	if qu.filter.Residue != nil {
		row := "NULL"
		if qu.l.Boxes != "" {
			row = layer.Alias + "." + qu.l.SQL.Geometry.RowID
		}
		b.Text(", ", qu.l.IDExpr(layer.Alias), ", (").Add(qu.filter.Sure).Text(") IS TRUE, ", row)
	}
}

// holds reports whether a candidate matches; its id, sureness and row id are in columns n, n+1 and n+2.
func (qu *query) holds(ctx context.Context, c *sqlite.Conn, r sqlite.Row, n int) (bool, error) {
	if r.Bool(n + 1) {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if qu.matcher == nil {
		qu.matcher, qu.hints = cql2.NewMatcher(qu.filter.Residue), newHints(qu.rev, qu.l, qu.filter.Residue)
	}
	if t, err := qu.hints.of(c, r, n+2); err != nil || t != cql2.Null {
		return t == cql2.True, err
	}
	t, err := qu.matcher.Eval(layer.NewRecord(ctx, c, qu.l, r.Any(n)))
	return t == cql2.True, err
}

func (qu *query) idText(r sqlite.Row, i int) string {
	if qu.l.TextID {
		return r.Text(i)
	}
	return strconv.FormatInt(r.Int(i), 10)
}

// printedID returns the feature id whose parts begin in column i.
func (qu *query) printedID(r sqlite.Row, i int) string {
	if qu.l.Parts == nil {
		return qu.idText(r, i)
	}
	parts := make([]any, len(qu.l.Parts))
	for j, p := range qu.l.Parts {
		if parts[j] = any(r.Text(i + j)); p.Integer {
			parts[j] = r.Int(i + j)
		}
	}
	return store.JoinID(parts)
}
