package gpkg

import (
	"context"
	"errors"

	"grense/internal/store"
	"grense/internal/store/gpkg/envelope"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
)

// isByIDs reports whether a query selects all rows in the order by id.
func (qu *query) isByIDs() bool {
	q := &qu.q
	return q.Filter == nil && qu.all == nil && len(qu.keys) == 1 && q.AsOf.IsZero() &&
		q.Limit > 0 &&
		!qu.l.View && qu.l.Count >= qu.rev.memory.limits.from && qu.rev.memory.columns.Limit() > 0
}

// mark returns the id of the last mark at or before the row that a statement skips to, and how many rows to skip after
// it; false if no mark helps.
func (qu *query) mark(back bool, skip int) (id int64, rest int, ok bool) {
	if skip < layer.MarkEvery || back || qu.place != nil || qu.sorted != "" || qu.now != qu.rev.rev || !qu.isByIDs() {
		return 0, 0, false
	}
	at := skip / layer.MarkEvery
	if at >= len(qu.l.Marks) {
		return 0, 0, false
	}
	return qu.l.Marks[at], skip % layer.MarkEvery, true
}

// idsCost is CostPage if a mark or the ids in memory give the first row at once.
func (qu *query) idsCost() store.Cost {
	if qu.q.Offset/layer.MarkEvery < len(qu.l.Marks) || qu.l.Count <= layer.MostIDs && qu.rev.hasIDs(qu.l) {
		return store.CostPage
	}
	return qu.l.Cost(qu.q)
}

// byIDs fills the page from the ids in memory.
func (qu *query) byIDs(_ context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	ids := qu.rev.ids(qu.l)
	if ids == nil {
		return false, nil
	}
	if same, err := c.Unchanged(); err != nil || !same {
		return false, err
	}
	qu.pageOf(ids, p)
	return true, nil
}

// pageOf fills the page from the ids of all rows.
func (qu *query) pageOf(ids *envelope.IDs, p *store.Page) {
	from, to, n := 0, 0, ids.Len()
	skip, back := max(qu.q.Offset, 0), qu.place != nil && qu.place.Back
	if qu.place != nil {
		at, on := ids.Place(qu.values[len(qu.values)-1])
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
		p.Rows = append(p.Rows, store.Row{ID: ids.Text(uint32(i)), Rev: qu.now})
	}
	if to < n {
		p.Next = qu.cursor(found{id: p.Rows[len(p.Rows)-1].ID}, false)
	}
	if from > 0 {
		p.Prev = qu.cursor(found{id: p.Rows[0].ID}, true)
	}
}

func idsName(l *layer.Layer) string { return l.ID + "\x00ids" }

// ids returns the ids of a layer in order; nil if they are not loaded. If that is worthwhile, it then starts loading
// them.
func (r *revision) ids(l *layer.Layer) *envelope.IDs {
	if l.View || l.Parts != nil || l.Count > layer.MostIDs {
		return nil
	}
	return tableOf[*envelope.IDs](r, r.memory.columns, idsName(l), func() error { return r.makeIDs(l) })
}

// hasIDs reports whether the ids of a layer are loaded.
func (r *revision) hasIDs(l *layer.Layer) bool {
	_, ok := r.memory.columns.Get(tableKey{r.rev, idsName(l)})
	return ok
}

// makeIDs reads the ids of a layer and caches them. It fails if they do not fit.
func (r *revision) makeIDs(l *layer.Layer) error {
	var ids *envelope.IDs
	err := r.use(context.Background(), func(c *sqlite.Conn) error {
		same, err := c.Unchanged()
		if err != nil || !same || c.Encoding != sqlite.UTF8 {
			return errors.Join(err, errNoRoom)
		}
		ids, err = envelope.ReadIDs(c, l)
		return err
	})
	if err != nil {
		return err
	}
	return r.put(r.memory.columns, idsName(l), ids, ids.Size())
}
