package gpkg

import (
	"context"

	"grense/internal/store"
)

// isByIDs reports whether a question is for all rows in the order by id.
func (qu *question) isByIDs() bool {
	q := &qu.q
	return q.Filter == nil && q.First == nil && !q.AllOrNothing && len(qu.keys) == 1 && q.AsOf.IsZero() &&
		q.Limit > 0 &&
		!qu.l.view && qu.l.Count >= qu.rev.columns.limits.from && qu.rev.columns.tables.Limit() > 0
}

// markEvery is how many rows lie between two marks of a layer.
const markEvery = 1024

// mark returns the id of a row that is fewer than markEvery rows before one that a statement skips to,
// and how many rows are skipped from there; false if no mark helps.
func (qu *question) mark(back bool, skip int) (id int64, rest int, ok bool) {
	if skip < markEvery || back || qu.place != nil || qu.sorted != "" || qu.now != qu.rev.rev || !qu.isByIDs() {
		return 0, 0, false
	}
	at := skip / markEvery
	if at >= len(qu.l.marks) {
		return 0, 0, false
	}
	return qu.l.marks[at], skip % markEvery, true
}

// idsCost is that of a page whose first row is found at once.
func (qu *question) idsCost() store.Cost {
	if qu.q.Offset/markEvery < len(qu.l.marks) || qu.l.Count <= mostIDs && qu.rev.hasIDs(qu.l) {
		return store.CostPage
	}
	return qu.l.plainCost(qu.q)
}

// byIDs takes the page from the ids of all rows.
func (qu *question) byIDs(_ context.Context, c *conn, p *store.Page) (bool, error) {
	ids := qu.rev.ids(qu.l)
	if ids == nil {
		return false, nil
	}
	if same, err := c.unchanged(); err != nil || !same {
		return false, err
	}
	qu.pageOf(ids, p)
	return true, nil
}

// pageOf fills the page from the ids of all rows.
func (qu *question) pageOf(ids *rowIDs, p *store.Page) {
	from, to, n := 0, 0, ids.len()
	skip, back := max(qu.q.Offset, 0), qu.place != nil && qu.place.Back
	if qu.place != nil {
		at, on := ids.place(qu.values[len(qu.values)-1])
		if from = at; on && !back {
			from++
		}
	}
	if back {
		to = max(from-min(skip, from), 0)
		from = max(to-qu.q.Limit, 0)
	} else {
		from += min(skip, n-from)
		to = from + min(qu.q.Limit, n-from)
	}
	if qu.q.Count == store.CountExact {
		p.Matched = n
	}
	if from == to {
		return
	}
	p.Rows = make([]store.Row, 0, to-from)
	for i := from; i < to; i++ {
		p.Rows = append(p.Rows, store.Row{ID: ids.text(uint32(i)), Rev: qu.now})
	}
	if to < n {
		p.Next = qu.cursor(found{id: p.Rows[len(p.Rows)-1].ID}, false)
	}
	if from > 0 {
		p.Prev = qu.cursor(found{id: p.Rows[0].ID}, true)
	}
}
