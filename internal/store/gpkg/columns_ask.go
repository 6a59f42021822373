package gpkg

import (
	"context"
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// hits are the rows that tables of values give for a filter.
type hits struct {
	ids   *rowIDs
	rows  []uint32 // places, ascending; not to be changed, and meaningless when wide
	count int
	wide  bool // more than are listed
	exact bool // all of them match; else all that match are among them
}

// candidates are the rows, of which all match.
func (h *hits) candidates(l *layer) *candidates {
	s := &candidates{l: l, ids: h.ids, rows: make([]entry, len(h.rows))}
	for i, r := range h.rows {
		s.rows[i] = entry{int64(r), cql2.True}
	}
	return s
}

// columnSearch asks tables of values.
type columnSearch struct {
	rev   *revision
	l     *layer
	begin bool // what is not at hand is made
	few   int  // how many rows are listed at most; 0: as many as limits say
}

func (x *columnSearch) most() int {
	if x.few > 0 {
		return x.few
	}
	return max(x.rev.columns.limits.wide, x.l.Count/8)
}

// find returns the rows for a filter; false where tables tell nothing, or are not at hand.
func (x *columnSearch) find(e cql2.Expr) (hits, bool) {
	switch e := e.(type) {
	case cql2.And:
		return x.all(e)
	case cql2.Or:
		return x.some(e)
	}
	o, ok := x.serves(e)
	if !ok {
		return hits{}, false
	}
	t, ids := x.rev.values(x.l, o, x.begin)
	if t == nil {
		return hits{}, false
	}
	spans, exact := x.spans(t, o, e)
	h := hits{ids: ids, exact: exact}
	for _, s := range spans {
		h.count += int(t.from[s.to] - t.from[s.from])
	}
	if h.wide = h.count > x.most(); h.wide {
		return h, true
	}
	if len(spans) == 1 && spans[0].to-spans[0].from <= 1 {
		h.rows = t.rows[t.from[spans[0].from]:t.from[spans[0].to]]
		return h, true
	}
	h.rows = make([]uint32, 0, h.count)
	for _, s := range spans {
		h.rows = append(h.rows, t.rows[t.from[s.from]:t.from[s.to]]...)
	}
	slices.Sort(h.rows)
	return h, true
}

// all is AND: what parts tell is told of the whole.
func (x *columnSearch) all(list cql2.And) (sum hits, known bool) {
	exact := true
	for _, e := range list {
		h, ok := x.find(e)
		switch {
		case !ok:
			exact = false
		case !known:
			sum, known = h, true
			exact = exact && h.exact
		case sum.wide || h.wide:
			if exact = false; !h.wide {
				sum = h
			}
		default:
			exact = exact && h.exact
			sum.rows = common(sum.rows, h.rows)
			sum.count = len(sum.rows)
		}
	}
	sum.exact = exact
	return sum, known
}

// common returns what is in both lists.
func common(a, b []uint32) (c []uint32) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			c = append(c, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return c
}

// some is OR: each part has to be told.
func (x *columnSearch) some(list cql2.Or) (sum hits, known bool) {
	sum.exact = true
	for i, e := range list {
		h, ok := x.find(e)
		if !ok || i == maxParts {
			return hits{}, false
		}
		sum.ids, sum.wide, sum.exact, sum.count = h.ids, h.wide, sum.exact && h.exact, sum.count+h.count
		if i == 0 {
			sum.rows = h.rows
		} else if sum.count <= x.most() {
			sum.rows = append(slices.Clone(sum.rows), h.rows...)
		} else {
			return hits{}, false
		}
	}
	if len(list) > 1 {
		slices.Sort(sum.rows)
		sum.rows = slices.Compact(sum.rows)
		sum.count = len(sum.rows)
	}
	return sum, len(list) > 0
}

// maxParts is how many parts of an OR are asked for one by one.
const maxParts = 64

// serves returns the column by which a predicate is answered; false when no table serves it, or an index of the file does.
func (x *columnSearch) serves(e cql2.Expr) (o operand, ok bool) {
	literal := func(e cql2.Expr) bool { _, ok := o.literal(e); return ok }
	switch e := e.(type) {
	case cql2.Compare:
		l, r := e.L, e.R
		if o, ok = x.l.operandOf(l); !ok {
			o, ok = x.l.operandOf(r)
			r = l
		}
		ok = ok && e.Op != cql2.Ne && literal(r)
	case cql2.Between:
		o, ok = x.l.operandOf(e.X)
		ok = ok && literal(e.Lo) && literal(e.Hi)
	case cql2.In:
		o, ok = x.l.operandOf(e.X)
		ok = ok && len(e.List) > 0 && !slices.ContainsFunc(e.List, func(e cql2.Expr) bool { return !literal(e) })
	case cql2.Like:
		if o, ok = x.l.operandOf(e.X); ok {
			p, whole := likePattern(e)
			ok = whole && p.Prefix != "" && o.field.Type == cql2.TypeText
		}
	}
	return o, ok && sqlq.Cost(sqlq.SQLite{}, x.l.source, x.l.Key.Column, store.Query{Filter: e}) == store.CostScan
}

func likePattern(e cql2.Like) (sqlq.Pattern, bool) {
	text, ok := sqlq.PatternText(e.Pattern)
	if !ok {
		return sqlq.Pattern{}, false
	}
	return sqlq.SplitPattern(text)
}

// spans returns the values for which a predicate that serves took holds, apart from each other; exact tells that it holds for each of them.
func (x *columnSearch) spans(t *valueTable, o operand, e cql2.Expr) (spans []span, exact bool) {
	value := func(e cql2.Expr) any { v, _ := o.literal(e); return v }
	switch e := e.(type) {
	case cql2.Compare:
		op, r := e.Op, e.R
		if _, turned := x.l.operandOf(e.L); !turned {
			op, r = op.Turned(), e.L
		}
		return []span{t.compared(op, value(r))}, true
	case cql2.Between:
		s := span{t.above(value(e.Lo), true), t.above(value(e.Hi), false)}
		return []span{{s.from, max(s.from, s.to)}}, true
	case cql2.In:
		for _, item := range e.List {
			if s := t.compared(cql2.Eq, value(item)); s.from < s.to && !slices.Contains(spans, s) {
				spans = append(spans, s)
			}
		}
		return spans, true
	}
	p, _ := likePattern(e.(cql2.Like))
	if len(p.Tokens) == 1 {
		return []span{t.compared(cql2.Eq, p.Prefix)}, true
	}
	more := slices.ContainsFunc(p.Tokens[1:], func(x sqlq.Token) bool { return x.Wild != '%' })
	return []span{t.beginning(p.Prefix)}, !more
}

// isByColumns reports whether tables of values may tell something of the question.
func (qu *question) isByColumns() bool {
	q := &qu.q
	if q.Filter == nil || q.Rank != nil || q.First != nil || q.AllOrNothing || qu.l.Count < qu.rev.columns.limits.from || qu.l.view || qu.l.parts != nil || qu.rev.columns.tables.Limit() == 0 {
		return false
	}
	x := &columnSearch{rev: qu.rev, l: qu.l}
	return x.maybe(q.Filter)
}

// maybe reports whether find would tell something of a filter if all tables were at hand.
func (x *columnSearch) maybe(e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.And:
		return slices.ContainsFunc(e, x.maybe)
	case cql2.Or:
		return len(e) > 0 && len(e) <= maxParts && !slices.ContainsFunc(e, func(e cql2.Expr) bool { return !x.maybe(e) })
	}
	_, ok := x.serves(e)
	return ok
}

// columnsCost is that of an index once the values are in memory.
func (qu *question) columnsCost() store.Cost {
	cost := sqlq.Cost(sqlq.SQLite{}, qu.l.source, qu.l.Key.Column, qu.q)
	if cost != store.CostScan {
		return cost
	}
	x := &columnSearch{rev: qu.rev, l: qu.l}
	if h, ok := x.find(qu.q.Filter); ok && !h.wide && (qu.takesAll(h) || h.count <= qu.rev.columns.limits.listed) {
		return store.CostIndexed
	}
	return cost
}

// takesAll reports whether hits answer the question without a statement.
func (qu *question) takesAll(h hits) bool {
	return h.exact && len(qu.keys) == 1 && qu.q.AsOf.IsZero()
}

// byColumns answers from tables of values, or lets a statement look among their rows.
func (qu *question) byColumns(ctx context.Context, c *conn, p *store.Page) (bool, error) {
	x := &columnSearch{rev: qu.rev, l: qu.l, begin: true}
	h, ok := x.find(qu.q.Filter)
	if !ok {
		return false, nil
	}
	if same, err := c.unchanged(); err != nil || !same {
		return false, err
	}
	switch {
	case h.wide:
		if h.exact && qu.q.AsOf.IsZero() && qu.counted() < 0 {
			qu.cacheCount(h.count)
		}
		return false, nil
	case qu.takesAll(h):
		err := h.candidates(qu.l).page(ctx, qu, p)
		return err == nil, err
	case h.count > qu.rev.columns.limits.listed:
		return false, nil
	}
	among := h.ids.list(h.rows)
	qu.among = &among
	return qu.bySQL(ctx, c, p)
}
