package postgis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// alias is the name of the collection's table in statements.
const alias = "t"

// key is one key of an order, and how its values are read.
type key struct {
	sqlq.Key
	sel string // expression that decode reads
	typ cql2.Type
	// norwegian makes the value cql2.NorwegianKey of what is read, by which the database cannot order.
	norwegian bool
	numeric   bool // values are decimal numbers of any length
	uuid      bool // arguments are sqlq.UUID
}

// question is a Query prepared against a layer.
type question struct {
	l      *layer
	q      store.Query
	filter sqlq.Filter
	keys   []key       // of the order, without rank; the id last
	order  []sqlq.Key  // of keys, up to the first that is unique
	valued *valued     // nil: no index has that order
	rows   *candidates // what is read of each row
	where  bool        // the filter asks where features are
	cheap  bool        // the count is left out where it costs much
	place  *store.Place
	all    bool    // all matches are wanted, or none
	values []any   // arguments of the keys at place
	seen   total   // how many rows the table had when they were last counted
	counts *counts // of the revision
}

// Page returns the ids that q selects.
func (s *Store) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	q, err := q.Reached(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, q, false)
}

// All returns all rows that q selects.
func (s *Store) All(ctx context.Context, q store.AllQuery) (*store.All, error) {
	q.Count = store.CountNone
	p, err := s.page(ctx, q.Query, true)
	if err != nil {
		return nil, err
	}
	return store.AllOf(ctx, s, q, p)
}

// page answers a question for a page, or for all matches.
func (s *Store) page(ctx context.Context, q store.Query, all bool) (*store.Page, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	r := s.current.Load()
	l, err := r.layer(q.Collection)
	if err != nil {
		return nil, err
	}
	qu, err := newQuestion(l, q)
	if err != nil {
		return nil, err
	}
	qu.all = all
	p, _, err := s.answer(ctx, r, qu)
	return p, err
}

// twice reports whether two rows of a page have the same id, of which there can be none where an index holds it.
func (qu *question) twice(rows []found) bool {
	if len(qu.q.SortBy) == 0 && qu.q.Rank == nil {
		for i := 1; i < len(rows); i++ {
			if rows[i].ID == rows[i-1].ID {
				return true
			}
		}
		return false
	}
	if qu.l.sure {
		return false
	}
	seen := make(map[string]bool, len(rows))
	for _, x := range rows {
		if seen[x.ID] {
			return true
		}
		seen[x.ID] = true
	}
	return false
}

func newQuestion(l *layer, q store.Query) (*question, error) {
	q.AsOf = l.Moment(q.AsOf)
	qu := &question{l: l, q: q, keys: l.byID, order: l.idOrder, cheap: q.Count == store.CountCheap && q.Limit > 0 &&
		l.Count > store.CheapRows}
	if q.Count == store.CountCheap {
		qu.q.Count = store.CountExact
	}
	if len(q.SortBy) > 0 {
		if err := qu.sort(); err != nil {
			return nil, err
		}
	}
	if q.Cursor != "" {
		if err := qu.start(); err != nil {
			return nil, err
		}
	}
	qu.setValued()
	if q.Filter == nil && q.Rank == nil && q.AsOf.IsZero() {
		qu.filter, qu.rows = all, &candidates{l: l}
		return qu, nil
	}
	qu.filter, qu.where = compile(l, q.Filter), l.Geometry != nil && asksWhere(q.Filter)
	if !q.AsOf.IsZero() {
		qu.filter = qu.filter.AsOf(sqlq.PostgreSQL{}, l.source, alias, q.AsOf)
	}
	var err error
	if qu.rows, err = newCandidates(l, qu.filter, q.Rank); err == nil {
		qu.rows.where = qu.where
	}
	return qu, err
}

// asksWhere reports whether an expression looks at geometries.
func asksWhere(e cql2.Expr) (yes bool) {
	if e == nil {
		return false
	}
	cql2.Walk(e, func(x cql2.Expr) bool {
		switch x.(type) {
		case cql2.BBox, cql2.Spatial:
			yes = true
		}
		return !yes
	})
	return yes
}

// all is the condition of a question without a filter.
var all = sqlq.Compile(sqlq.PostgreSQL{}, &sqlq.Source{}, alias, nil)

// sort sets the keys of an order that is not by id alone.
func (qu *question) sort() error {
	l, ordering := qu.l, 0 // keys up to the first that is unique
	qu.keys, qu.order = nil, nil
	for _, k := range qu.q.SortBy {
		f := l.source.Fields[k.Property]
		if f == nil || f.Type == cql2.TypeJSON || f.Path != nil {
			return fmt.Errorf("postgis: collection %q cannot be sorted by %q", l.ID, k.Property)
		}
		if f.ID != nil { // in the order by id
			for _, part := range l.byID {
				part.Desc = k.Desc
				qu.keys = append(qu.keys, part)
			}
			continue
		}
		expr := sqlq.Column(sqlq.PostgreSQL{}, alias, f)
		if f.Stored == sqlq.StoredUUID {
			expr = orderExpr(alias+"."+quote(f.Column), f)
		}
		qu.keys = append(qu.keys, key{sqlq.Key{Expr: sqlq.Ident(expr), Desc: k.Desc, Nulls: f.Nulls},
			selectExpr(alias, f), f.Type,
			k.Norwegian && f.Type == cql2.TypeText, f.Normal == sqlq.PostgresNumeric, f.Stored == sqlq.StoredUUID})
		if ordering == 0 && l.unique[k.Property] { // no two rows have the same: what follows would only cost a sort
			ordering = len(qu.keys)
		}
	}
	qu.keys = append(qu.keys, l.byID...)
	if ordering == 0 {
		ordering = len(qu.keys)
	}
	for _, k := range qu.keys[:ordering] {
		qu.order = append(qu.order, k.Key)
	}
	return nil
}

// valued is the order of the rows that have a value of the first key, by its column as it is stored: that of an
// index. These rows come first in either direction, so that a full page of them is the page of all rows.
type valued struct {
	order []sqlq.Key
	only  sqlq.Fragment // selects them
}

// setValued sets valued. A page that begins among the rows without a value has none, nor has one that may not be
// full: it would be asked for twice.
func (qu *question) setValued() {
	few := store.CheapRows
	if qu.q.Filter == nil && qu.q.AsOf.IsZero() {
		few = qu.q.Limit
	}
	if len(qu.q.SortBy) == 0 || qu.l.Count <= few || qu.values != nil && qu.values[0] == nil {
		return
	}
	f := qu.l.source.Fields[qu.q.SortBy[0].Property]
	if !f.IsColumn() || !qu.l.source.Indexed[f.Column] && f.Indexes&sqlq.IndexCodePoint == 0 {
		return
	}
	column := alias + "." + quote(f.Column)
	only, ok := sqlq.PostgreSQL{}.Present(column, f)
	if !ok {
		return
	}
	first := qu.order[0]
	first.Nulls, first.Expr = false, sqlq.Ident(orderExpr(column, f))
	qu.valued = &valued{append([]sqlq.Key{first}, qu.order[1:]...), only}
}

// orderExpr is the expression by which an index over a column has the order of its values, where all rows have one.
func orderExpr(column string, f *sqlq.Field) string {
	if f.Type == cql2.TypeText && f.Stored != sqlq.StoredUUID {
		return sqlq.PostgreSQL{}.Normal(column, f)
	}
	return column
}

// maxArguments is how many arguments a statement has at most; the protocol counts them in 16 bits.
const maxArguments = 60_000

// compile compiles a filter. One whose values the database does not take is evaluated here.
func compile(l *layer, e cql2.Expr) sqlq.Filter {
	f := sqlq.Compile(sqlq.PostgreSQL{}, l.source, alias, e)
	refused := func(a any) bool { s, ok := a.(string); return ok && !storable(s) }
	where, sure := f.Where.Args(), f.Sure.Args()
	if slices.ContainsFunc(where, refused) || slices.ContainsFunc(sure, refused) ||
		len(where)+len(sure) > maxArguments {
		return sqlq.Filter{Where: sqlq.Ident("TRUE"), Sure: sqlq.Ident("FALSE"), Residue: e}
	}
	return f
}

// start takes the place of a cursor.
func (qu *question) start() error {
	p, err := qu.q.Place()
	if err != nil {
		return err
	}
	want, n := len(qu.keys)-len(qu.l.parts), 0
	if qu.q.Rank != nil {
		want, n = want+1, 1
	}
	id, ok := qu.l.id(p.ID)
	if p.Order != qu.q.OrderName() || len(p.Keys) != want || !ok {
		return store.ErrCursor
	}
	for i, v := range p.Keys[n:] {
		v = ownKey(v, qu.keys[i].typ)
		p.Keys[n+i] = v
		a, ok := qu.keys[i].argument(v)
		if !ok {
			return store.ErrCursor
		}
		qu.values = append(qu.values, a)
	}
	for i, v := range id {
		a, _ := qu.l.byID[i].argument(v) // of the type, since the layer takes the id
		qu.values = append(qu.values, a)
	}
	qu.place = &p
	return nil
}

// found is one row of a page.
type found struct {
	store.Row
	keys []any // decoded, with the id
	rank int
}

// back reports whether the page is read towards the first feature.
func (qu *question) back() bool { return qu.place != nil && qu.place.Back }

// exact answers a question that SQL says exactly, in one statement: the count, and whether there is something on the
// other side of the place, are columns of its rows. Where the count may take long, it is a statement of its own.
func (qu *question) exact(ctx context.Context, c *pgxpool.Conn, p *store.Page) error {
	n := &wantedCount{known: -1}
	if qu.q.Count == store.CountExact {
		n.open = &counting{qu: qu}
		known, apart := false, false
		if n.known, known, apart = qu.counts.get(n.open); known && (n.known >= 0 || qu.cheap) {
			n.open = nil
		}
		n.apart = apart || qu.cheap
	}
	if qu.q.Limit > 0 {
		if err := qu.exactPage(ctx, c, n, p); err != nil {
			return err
		}
	}
	if n.open != nil && !qu.complete(p) {
		if err := qu.countApart(ctx, c, n); err != nil {
			return err
		}
	}
	qu.matched(p, n.known)
	return nil
}

// wantedCount is the number of all matches on its way.
type wantedCount struct {
	open  *counting // nil: not wanted, or known
	known int       // below 0: not known
	apart bool      // to be asked apart from the page
}

// exactPage fills the page, and counts with it where the count is open and not apart.
func (qu *question) exactPage(ctx context.Context, c *pgxpool.Conn, n *wantedCount, p *store.Page) error {
	qu.seen = qu.counts.total(qu.l)
	rows := exactRows{qu: qu, x: extras{exists: qu.place != nil, count: n.open != nil && !n.apart,
		state: n.open != nil && qu.states()}}
	start, part := time.Now(), qu.pageAndOne()
	if err := qu.one(ctx, c, qu.statement(part, rows.x), rows.add); err != nil {
		return err
	}
	if part.valued && !part.back && len(rows.found) <= qu.q.Limit { // those without a value follow
		part.valued, rows = false, exactRows{qu: qu, x: rows.x}
		if err := qu.one(ctx, c, qu.statement(part, rows.x), rows.add); err != nil {
			return err
		}
	}
	if qu.twice(rows.found) {
		return qu.l.changed("an id occurs twice")
	}
	switch {
	case rows.state != "" && rows.state == qu.seen.state:
		n.known, n.open = qu.seen.n, nil
	case !rows.x.count:
	case len(rows.found) > 0:
		n.known = rows.matched
		qu.counts.together(n.open, time.Since(start))
		qu.counts.putTotal(qu.l, total{state: rows.state, n: n.known})
		n.open = nil
	case qu.place == nil && qu.q.Offset <= 0:
		n.known, n.open = 0, nil
	}
	qu.fill(p, rows.found, rows.exists)
	return nil
}

// exactRows reads the rows of a page; what is the same in all of them is read in the first.
type exactRows struct {
	qu      *question
	x       extras
	found   []found
	keys    []any // of rows to come
	exists  bool  // a match on the other side of the place
	matched int
	state   string
}

func (e *exactRows) add(r pgx.Rows) error {
	qu := e.qu
	if e.found == nil {
		e.found = make([]found, 0, min(qu.q.Limit+1, 1000))
		e.keys = make([]any, cap(e.found)*len(qu.keys))
		raw := r.RawValues()
		if e.x.state {
			e.state = string(raw[len(raw)-1])
			raw = raw[:len(raw)-1]
		}
		if e.x.count {
			if n := raw[len(raw)-1]; n == nil {
				e.matched = qu.seen.n
			} else {
				e.matched = int(binary.BigEndian.Uint64(n))
			}
			raw = raw[:len(raw)-1]
		}
		e.exists = e.x.exists && raw[len(raw)-1][0] != 0
	}
	n := min(len(qu.keys), len(e.keys))
	x, err := qu.decoded(r, e.keys[:n:n])
	e.found = append(e.found, x)
	e.keys = e.keys[n:]
	return err
}

// countApart counts by a statement of its own, within the budget of counts that may be left out.
func (qu *question) countApart(ctx context.Context, c *pgxpool.Conn, n *wantedCount) error {
	start, state := time.Now(), ""
	dear, err := qu.budgeted(ctx, c, n.open, func(short context.Context) error {
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
	case dear:
		n.known = -1
	case err == nil:
		qu.counts.alone(n.open, n.known, time.Since(start))
		qu.counts.putTotal(qu.l, total{state: state, n: n.known})
	}
	return err
}

// isAllOrNothing reports whether all matches are wanted or none, so that the server need not put them in order:
// it may stop when there are too many, whichever it has found.
func (qu *question) isAllOrNothing() bool {
	return qu.all && qu.q.Limit > 0 && qu.filter.Residue == nil
}

func (qu *question) allOrNothing(ctx context.Context, c *pgxpool.Conn, p *store.Page) error {
	var rows []found
	err := qu.one(ctx, c, qu.allStatement(), func(r pgx.Rows) error {
		f, err := qu.found(r)
		rows = append(rows, f)
		return err
	})
	if err != nil {
		return err
	}
	if !qu.l.sure && qu.twice(rows) {
		return qu.l.changed("an id occurs twice")
	}
	if len(rows) <= qu.q.Limit {
		slices.SortFunc(rows, qu.compare)
	}
	qu.fill(p, rows, false)
	return nil
}

// fill builds the page from the rows; one row more than the limit means that there are more.
// exists reports rows before the place.
func (qu *question) fill(p *store.Page, rows []found, exists bool) {
	back, limit := qu.back(), qu.q.Limit
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	if back {
		slices.Reverse(rows)
	}
	p.Rows = make([]store.Row, len(rows))
	for i, x := range rows {
		p.Rows[i] = x.Row
	}
	if len(rows) == 0 {
		return
	}
	before, after := exists || qu.q.Offset > 0, more
	if back {
		before, after = after, before
	}
	if after {
		p.Next = qu.cursor(rows[len(rows)-1], false)
	}
	if before {
		p.Prev = qu.cursor(rows[0], true)
	}
}

// matched sets the count; a page that is both the first and the last implies it.
func (qu *question) matched(p *store.Page, counted int) {
	switch {
	case qu.q.Count != store.CountExact:
	case qu.complete(p):
		p.Matched = max(qu.q.Offset, 0) + len(p.Rows)
	case counted < 0:
	default: // rows are live, so that there may be more than when they were counted
		p.Matched = counted
		if n := len(p.Rows); n > 0 {
			p.Matched = max(counted, max(qu.q.Offset, 0)+n)
		}
	}
}

// complete reports whether the page is the first and the last, but for what an offset skips.
func (qu *question) complete(p *store.Page) bool {
	return qu.q.Cursor == "" && p.Next == "" && len(p.Rows) > 0
}

func (qu *question) cursor(x found, back bool) store.Cursor {
	var keys []any // nil where there are none, as in every store
	if qu.q.Rank != nil {
		keys = append(keys, int64(x.rank))
	}
	for i, v := range x.keys[:len(x.keys)-len(qu.l.parts)] {
		keys = append(keys, fileKey(v, qu.keys[i].typ))
	}
	return store.NewCursor(store.Place{Back: back, Order: qu.q.OrderName(), Keys: keys, ID: x.ID})
}

// extras are columns that have the same value in all rows.
type extras struct {
	exists    bool // whether there is a match on the other side of the place, or at it
	count     bool // of all matches; null where the state is that of question.seen
	state     bool // of the database
	unordered bool // rows come in any order, and the limit is how many are read
}

// stretch is a part of the rows in the order: at most limit of them, of all when limit is 0, after those keys
// (arguments; nil: from the beginning), without the first skip of them.
type stretch struct {
	after       []any
	back        bool // towards the first feature
	limit, skip int
	valued      bool // of question.valued
}

// pageAndOne is the page and one row more.
func (qu *question) pageAndOne() stretch {
	return stretch{qu.values, qu.back(), min(max(qu.q.Limit, 0), math.MaxInt32) + 1, max(qu.q.Offset, 0),
		qu.valued != nil}
}

// statement is SQL with its arguments.
type statement struct {
	sql  string
	args []any
}

// statement selects the keys of the order, the revision, what candidates needs, and extras.
func (qu *question) statement(s stretch, x extras) statement {
	back, values, limit, skip := s.back, s.after, s.limit, s.skip
	rows := valued{order: qu.order}
	if s.valued {
		rows = *qu.valued
	}
	b := sqlq.New(sqlq.PostgreSQL{}).Grow(1 << 10).Text("SELECT ")
	for _, k := range qu.keys {
		b.Text(k.sel, ", ")
	}
	qu.rows.columns(b, qu.filter)
	if x.exists {
		b.Text(", EXISTS (")
		if back { // there are those without a value
			qu.otherSide(b, valued{order: qu.order}, back)
		} else {
			qu.otherSide(b, rows, back)
		}
		b.Text(")")
	}
	if x.count && x.state {
		b.Text(", CASE WHEN ", qu.l.state(), " = ").Arg(qu.seen.state).Text(" THEN NULL ELSE (SELECT count(*)")
		qu.from(b)
		b.Text(") END")
	} else if x.count {
		b.Text(", (SELECT count(*)")
		qu.from(b)
		b.Text(")")
	}
	if x.state {
		b.Text(", ", qu.l.state())
	}
	qu.from(b)
	rows.where(b)
	if values != nil {
		b.Text(" AND (").Add(sqlq.After(sqlq.PostgreSQL{}, rows.order, values, back)).Text(")")
	}
	if !x.unordered {
		b.Text(" ORDER BY ").Add(sqlq.Ordered(rows.order, back))
	}
	if limit > 0 {
		b.Text(" LIMIT ").Arg(int64(limit)).Text(" OFFSET ").Arg(int64(skip))
	}
	sql, args := b.SQL()
	return statement{sql, args}
}

// where adds the condition to those of a statement.
func (v valued) where(b *sqlq.Builder) {
	if !v.only.IsEmpty() {
		b.Text(" AND ").Add(v.only)
	}
}

func (qu *question) from(b *sqlq.Builder) {
	b.Text(" FROM ", qu.l.source.Table, " AS ", alias, " WHERE (").Add(qu.filter.Where).Text(")")
}

// otherSide selects the matches at the place or on the side from which the page leads away.
func (qu *question) otherSide(b *sqlq.Builder, rows valued, back bool) {
	b.Text("SELECT 1")
	qu.from(b)
	rows.where(b)
	// those of the id identify the row, or the last alone if it is unique and ends the order
	same := len(rows.order) - len(qu.l.parts)
	if len(rows.order) < len(qu.keys) {
		same = len(rows.order) - 1
	}
	b.Text(" AND ((").Add(sqlq.After(sqlq.PostgreSQL{}, rows.order, qu.values, !back)).Text(") OR (")
	for i, k := range rows.order[same:] {
		if i > 0 {
			b.Text(" AND ")
		}
		b.Add(k.Expr).Text(" = ").Arg(qu.values[same+i])
	}
	b.Text("))")
}

// counting is the count of all matches of a question; its statement is made when it is first needed.
type counting struct {
	qu   *question
	sql  string
	args []any
}

func (c *counting) statement() statement {
	if c.sql == "" {
		b := sqlq.New(sqlq.PostgreSQL{}).Text("SELECT count(*)")
		if c.qu.states() {
			b.Text(", ", c.qu.l.state())
		}
		c.qu.from(b)
		c.sql, c.args = b.SQL()
	}
	return statement{c.sql, c.args}
}

// found reads a row of statement.
func (qu *question) found(r pgx.Rows) (found, error) {
	return qu.decoded(r, make([]any, len(qu.keys)))
}

// decoded is found with a place for the keys; nil when there is none.
func (qu *question) decoded(r pgx.Rows, keys []any) (found, error) {
	if len(keys) == 0 {
		keys = make([]any, len(qu.keys))
	}
	raw := r.RawValues()
	x := found{keys: keys}
	for i, k := range qu.keys {
		x.keys[i] = k.decode(raw[i])
		if text, ok := x.keys[i].(string); ok && k.norwegian {
			x.keys[i] = cql2.NorwegianKey(text)
		}
	}
	id := x.keys[len(x.keys)-len(qu.l.parts):]
	if !qu.l.sure && slices.Contains(id, nil) {
		return x, qu.l.changed("an id is null")
	}
	rev, err := qu.l.revision(raw[len(qu.keys)])
	if err != nil {
		return x, err
	}
	x.ID, x.Rev = printed(id), rev
	return x, qu.inPlace(raw)
}

// stillPlaced is inPlace for an answer without rows.
func (qu *question) stillPlaced(ctx context.Context, c *pgxpool.Conn) error {
	if !qu.where {
		return nil
	}
	if err := settle(ctx, c); err != nil {
		return err
	}
	var stored *string
	if err := c.QueryRow(ctx, "SELECT "+qu.l.placeExpr(true)).Scan(&stored); err != nil {
		return err
	}
	if stored == nil || *stored != qu.l.stored {
		return qu.l.changed("the reference system is another")
	}
	return nil
}

// budgeted runs a count that is left out where it costs much, and reports whether it was.
// A transaction around it goes on after one that was broken off.
func (qu *question) budgeted(ctx context.Context, c *pgxpool.Conn, x *counting,
	count func(context.Context) error) (dear bool, err error) {
	if !qu.cheap {
		return false, count(ctx)
	}
	if err := settle(ctx, c); err != nil {
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
	if !qu.isDear(ctx, short, x, err) {
		return false, err
	}
	if inside {
		_, err = c.Exec(ctx, "ROLLBACK TO SAVEPOINT grense_count", pgx.QueryExecModeSimpleProtocol)
		return true, err
	}
	return true, nil
}

// isDear reports whether a count has ended for its budget, and notes that.
func (qu *question) isDear(ctx, short context.Context, x *counting, err error) bool {
	if err == nil || short.Err() == nil || ctx.Err() != nil {
		return false
	}
	qu.counts.alone(x, -1, countMost)
	return true
}

// inPlace reports an error when the geometries are in another reference system than the question supposes.
func (qu *question) inPlace(raw [][]byte) error {
	if !qu.where {
		return nil
	}
	if string(raw[len(qu.keys)+1]) != qu.l.stored {
		return qu.l.changed("the reference system is another")
	}
	return nil
}

// arguments returns the arguments for the keys of a row.
func (qu *question) arguments(x found) []any {
	values := make([]any, len(x.keys))
	for i, v := range x.keys {
		values[i], _ = qu.keys[i].argument(v) // read from the database, so of the type
	}
	return values
}
