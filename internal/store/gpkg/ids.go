package gpkg

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"grense/internal/store"
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
func (qu *query) pageOf(ids *rowIDs, p *store.Page) {
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

// rowIDs are the ids of all rows of a layer, ascending. The index of an id is called its place. It is immutable.
type rowIDs struct {
	first   int64 // first of consecutive ids
	run     int   // number of consecutive ids, instead of numbers
	numbers []int64
	texts   []string // if ids are texts
}

func (x *rowIDs) len() int { return x.run + len(x.numbers) + len(x.texts) }

// number returns the id at a place, if ids are numbers.
func (x *rowIDs) number(place int64) int64 {
	if x.run > 0 {
		return x.first + place
	}
	return x.numbers[place]
}

func (x *rowIDs) size() int {
	n := 8*cap(x.numbers) + 16*cap(x.texts)
	for _, s := range x.texts {
		n += len(s)
	}
	return n
}

func (x *rowIDs) text(place uint32) string {
	if x.texts != nil {
		return x.texts[place]
	}
	return strconv.FormatInt(x.number(int64(place)), 10)
}

// place returns the place of an id, or where it would be inserted.
func (x *rowIDs) place(id any) (int, bool) {
	if s, ok := id.(string); ok {
		return slices.BinarySearch(x.texts, s)
	}
	n, _ := id.(int64)
	switch {
	case x.run == 0:
		return slices.BinarySearch(x.numbers, n)
	case n < x.first:
		return 0, false
	case n > x.first+int64(x.run-1):
		return x.run, false
	}
	return int(n - x.first), true
}

// add appends the id of the next row. It fails if the ids are not ascending texts or integers.
func (x *rowIDs) add(r sqlite.Row, text bool) error {
	if r.Null(0) {
		return errNoRoom
	}
	if !text {
		id := r.Int(0)
		n := x.len()
		switch {
		case n == 0:
			x.first = id
		case x.number(int64(n-1)) >= id:
			return errNoRoom
		case x.run > 0 && x.first+int64(n) != id:
			for i := range n {
				x.numbers = append(x.numbers, x.first+int64(i))
			}
			x.run = 0
		}
		if x.numbers == nil {
			x.run++
		} else {
			x.numbers = append(x.numbers, id)
		}
		return nil
	}
	id := r.Text(0)
	if n := len(x.texts); n > 0 && x.texts[n-1] >= id {
		return errNoRoom
	}
	x.texts = append(x.texts, id)
	return nil
}

func idsName(l *layer.Layer) string { return l.ID + "\x00ids" }

// ids returns the ids of a layer in order; nil if they are not loaded. If that is worthwhile, it then starts loading
// them.
func (r *revision) ids(l *layer.Layer) *rowIDs {
	if l.View || l.Parts != nil || l.Count > layer.MostIDs {
		return nil
	}
	return tableOf[*rowIDs](r, r.memory.columns, idsName(l), func() error { return r.makeIDs(l) })
}

// hasIDs reports whether the ids of a layer are loaded.
func (r *revision) hasIDs(l *layer.Layer) bool {
	_, ok := r.memory.columns.Get(tableKey{r.rev, idsName(l)})
	return ok
}

// makeIDs reads the ids of a layer and caches them. It fails if they do not fit.
func (r *revision) makeIDs(l *layer.Layer) error {
	ids := &rowIDs{}
	err := r.use(context.Background(), func(c *sqlite.Conn) error {
		if same, err := c.Unchanged(); err != nil || !same || c.Encoding != sqlite.UTF8 {
			return errors.Join(err, errNoRoom)
		}
		table, id := l.SQL.Table, l.IDExpr(layer.Alias)
		return c.Query("SELECT "+id+" FROM "+table+" AS "+layer.Alias+" ORDER BY "+id, nil, func(row sqlite.Row) error {
			return ids.add(row, l.TextID)
		})
	})
	if err != nil {
		return err
	}
	return r.put(r.memory.columns, idsName(l), ids, ids.size())
}
