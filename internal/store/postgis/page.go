package postgis

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// alias is the alias of the collection's table in statements.
const alias = "t"

// key is a sort key, with how its values are read.
type key struct {
	sqlq.Key
	sel string // expression for decode
	typ cql2.Type
	// norwegian means that the value is cql2.NorwegianKey of the column, by which the database cannot sort.
	norwegian bool
	numeric   bool // decimal numbers of any length
	uuid      bool // arguments are sqlq.UUID
}

// pageQuery is a store.Query prepared for a layer.
type pageQuery struct {
	l      *layer
	q      store.Query
	filter sqlq.Filter
	keys   []key       // sort keys without rank, the id last
	order  []sqlq.Key  // of keys, up to the first unique one
	valued *valued     // nil: no index has the order
	rows   *candidates // what is read of each row
	where  bool        // the filter uses geometries
	cheap  bool        // do not count if that is expensive
	place  *store.Place
	all    bool    // an AllQuery
	values []any   // arguments for the keys at place
	seen   total   // last count of the table's rows
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

// page runs a query for a page or, with all, for an AllQuery.
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
	qu, err := newPageQuery(l, q)
	if err != nil {
		return nil, err
	}
	qu.all = all
	p, _, err := s.answer(ctx, r, qu)
	return p, err
}

// twice reports whether two rows of a page have the same id, which is impossible if an index guarantees uniqueness.
func (qu *pageQuery) twice(rows []found) bool {
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

func newPageQuery(l *layer, q store.Query) (*pageQuery, error) {
	q.AsOf = l.Moment(q.AsOf)
	qu := &pageQuery{l: l, q: q, keys: l.byID, order: l.idOrder, cheap: q.Count == store.CountCheap && q.Limit > 0 &&
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

// asksWhere reports whether an expression uses geometries.
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

// all is the compiled filter of a query without filter.
var all = sqlq.Compile(sqlq.PostgreSQL{}, &sqlq.Source{}, alias, nil)

// sort sets the sort keys if the order is not by id alone.
func (qu *pageQuery) sort() error {
	l, ordering := qu.l, 0 // ordering: number of keys up to the first unique one
	qu.keys, qu.order = nil, nil
	for _, k := range qu.q.SortBy {
		f := l.source.Fields[k.Property]
		if f == nil || f.Type == cql2.TypeJSON || f.Path != nil {
			return fmt.Errorf("postgis: collection %q cannot be sorted by %q", l.ID, k.Property)
		}
		if f.ID != nil { // the order by id
			for _, part := range l.byID {
				part.Desc = k.Desc
				qu.keys = append(qu.keys, part)
			}
			continue
		}
		expr := sqlq.Column(sqlq.PostgreSQL{}, alias, f)
		if f.Stored == sqlq.StoredUUID {
			expr = catalog.OrderExpr(alias+"."+quote(f.Column), f)
		}
		qu.keys = append(qu.keys, key{sqlq.Key{Expr: sqlq.Ident(expr), Desc: k.Desc, Nulls: f.Nulls},
			selectExpr(alias, f), f.Type,
			k.Norwegian && f.Type == cql2.TypeText, f.Normal == sqlq.PostgresNumeric, f.Stored == sqlq.StoredUUID})
		if ordering == 0 && l.unique[k.Property] { // unique: further keys would only cost a sort
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

// valued selects the rows in which the first sort key is not null, in the order of an index on its column. They come
// first in both directions, so that a full page of them is the page of all rows.
type valued struct {
	order []sqlq.Key
	only  sqlq.Fragment // condition that the key is not null
}

// setValued sets valued. It does not if the page starts at rows with null, or if it may not be full, since a second
// query would follow.
func (qu *pageQuery) setValued() {
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
	first.Nulls, first.Expr = false, sqlq.Ident(catalog.OrderExpr(column, f))
	qu.valued = &valued{append([]sqlq.Key{first}, qu.order[1:]...), only}
}

// maxArguments is the largest number of arguments in a statement; the protocol counts them with 16 bits.
const maxArguments = 60_000

// compile compiles a filter. If the database does not accept its values, the filter becomes a residue.
func compile(l *layer, e cql2.Expr) sqlq.Filter {
	f := sqlq.Compile(sqlq.PostgreSQL{}, l.source, alias, e)
	refused := func(a any) bool { s, ok := a.(string); return ok && !conn.Storable(s) }
	where, sure := f.Where.Args(), f.Sure.Args()
	if slices.ContainsFunc(where, refused) || slices.ContainsFunc(sure, refused) ||
		len(where)+len(sure) > maxArguments {
		return sqlq.Filter{Where: sqlq.Ident("TRUE"), Sure: sqlq.Ident("FALSE"), Residue: e}
	}
	return f
}

// start sets the position of the cursor.
func (qu *pageQuery) start() error {
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
		a, _ := qu.l.byID[i].argument(v) // cannot fail, since the layer accepts the id
		qu.values = append(qu.values, a)
	}
	qu.place = &p
	return nil
}

// found is a row of a page.
type found struct {
	store.Row
	keys []any // decoded, including the id
	rank int
}

// back reports whether the page is read backwards.
func (qu *pageQuery) back() bool { return qu.place != nil && qu.place.Back }

// exact answers a query that SQL expresses exactly, with one statement. The count, and whether there is a row on the
// other side of the cursor, are columns of its rows. A slow count is a statement of its own.
func (qu *pageQuery) exact(ctx context.Context, c *pgxpool.Conn, p *store.Page) error {
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

// exactPage fills the page, and counts in the same statement if the count is open and not apart.
func (qu *pageQuery) exactPage(ctx context.Context, c *pgxpool.Conn, n *wantedCount, p *store.Page) error {
	qu.seen = qu.counts.total(qu.l)
	rows := exactRows{qu: qu, x: extras{exists: qu.place != nil, count: n.open != nil && !n.apart,
		state: n.open != nil && qu.states()}}
	start, part := time.Now(), qu.pageAndOne()
	if err := qu.one(ctx, c, qu.statement(part, rows.x), rows.add); err != nil {
		return err
	}
	if part.valued && !part.back && len(rows.found) <= qu.q.Limit { // rows with null follow
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

// exactRows collects the rows of a page. Columns that are equal in all rows are read from the first.
type exactRows struct {
	qu      *pageQuery
	x       extras
	found   []found
	keys    []any // backing array for keys of further rows
	exists  bool  // there is a match on the other side of the cursor
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

// isAllOrNothing reports whether the query is an AllQuery that the server need not sort: it may stop at the first row
// too many.
func (qu *pageQuery) isAllOrNothing() bool {
	return qu.all && qu.q.Limit > 0 && qu.filter.Residue == nil
}

func (qu *pageQuery) allOrNothing(ctx context.Context, c *pgxpool.Conn, p *store.Page) error {
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

// fill builds the page from rows, of which one more than the limit means that there are more. exists reports rows
// before the cursor.
func (qu *pageQuery) fill(p *store.Page, rows []found, exists bool) {
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

func (qu *pageQuery) cursor(x found, back bool) store.Cursor {
	var keys []any // nil if there are none, as in the other store
	if qu.q.Rank != nil {
		keys = append(keys, int64(x.rank))
	}
	for i, v := range x.keys[:len(x.keys)-len(qu.l.parts)] {
		keys = append(keys, fileKey(v, qu.keys[i].typ))
	}
	return store.NewCursor(store.Place{Back: back, Order: qu.q.OrderName(), Keys: keys, ID: x.ID})
}

// found reads a row of a statement.
func (qu *pageQuery) found(r pgx.Rows) (found, error) {
	return qu.decoded(r, make([]any, len(qu.keys)))
}

// decoded is found with a slice for the keys. If keys is nil, they are not read.
func (qu *pageQuery) decoded(r pgx.Rows, keys []any) (found, error) {
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

// stillPlaced is inPlace for a result without rows.
func (qu *pageQuery) stillPlaced(ctx context.Context, c *pgxpool.Conn) error {
	if !qu.where {
		return nil
	}
	if err := conn.Settle(ctx, c); err != nil {
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

// inPlace returns an error if the geometries have another reference system than the query assumes.
func (qu *pageQuery) inPlace(raw [][]byte) error {
	if !qu.where {
		return nil
	}
	if string(raw[len(qu.keys)+1]) != qu.l.stored {
		return qu.l.changed("the reference system is another")
	}
	return nil
}

// arguments returns the arguments for the keys of a row.
func (qu *pageQuery) arguments(x found) []any {
	values := make([]any, len(x.keys))
	for i, v := range x.keys {
		values[i], _ = qu.keys[i].argument(v) // cannot fail for values from the database
	}
	return values
}
