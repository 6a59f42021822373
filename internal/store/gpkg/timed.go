package gpkg

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// What was changed since a moment is what followers of a register ask. So the rows of a register are kept in memory by their moments, within the memory of columns: 12 bytes a row, 16 where moments are no whole seconds.
// They are made in the background once some such questions were asked.

// timedFrom is how many are asked before the table is made.
const timedFrom = 16

// timedTable is the rows of a layer by a moment. It is immutable.
type timedTable struct {
	first   int64      // millisecond since 1970 of the first
	seconds []uint32   // since first, ascending
	millis  []int64    // the same in milliseconds, where some are no whole seconds, or too many; else nil
	rows    []namedRow // of each
}

func (t *timedTable) size() int { return 4*cap(t.seconds) + 8*cap(t.millis) + 8*cap(t.rows) }

// before is how many rows have a moment before a millisecond since 1970.
func (t *timedTable) before(milli int64) int {
	since := milli - t.first
	if t.millis != nil {
		n, _ := slices.BinarySearch(t.millis, since)
		return n
	}
	if since = (max(since, 0) + 999) / 1000; since > math.MaxUint32 {
		return len(t.seconds)
	}
	n, _ := slices.BinarySearch(t.seconds, uint32(since))
	return n
}

// timedPart is a property, and the bounds of it that are all a question asks for.
type timedPart struct {
	field, order *sqlq.Field
	bounds       []cql2.Compare
}

// timedPart returns it; false where the question asks for anything else.
func (qu *question) timedPart() (p timedPart, ok bool) {
	if qu.l.text || qu.q.Texts != "" || qu.q.First != nil || !qu.counts(qu.q) {
		return p, false
	}
	list, several := qu.q.Filter.(cql2.And)
	if !several {
		list = cql2.And{qu.q.Filter}
	}
	for _, x := range list {
		e, ok := x.(cql2.Compare)
		of, isProp := e.L.(cql2.Prop)
		_, isMoment := e.R.(cql2.Timestamp)
		f := qu.l.source.Fields[of.Name]
		if !ok || !isProp || !isMoment || e.Op == cql2.Ne || p.field != nil && f != p.field {
			return p, false
		}
		p.field = f
		p.bounds = append(p.bounds, e)
	}
	if p.field == nil || p.field.Type != cql2.TypeTimestamp || p.field.Layout == "" || p.field.Nulls || qu.l.source.Leads[p.field.Column] == "" {
		return p, false
	}
	p.order = qu.l.source.Fields[qu.q.SortBy[0].Property]
	return p, qu.l.source.Leads[p.order.Column] != ""
}

// isTimed reports whether a question asks for all or nothing by a moment alone.
func (qu *question) isTimed() bool {
	if !qu.q.AsOf.IsZero() || qu.l.Count < typeAheadFrom || !qu.isAllOrNothing() {
		return false
	}
	_, ok := qu.timedPart()
	return ok
}

// span is the rows within the bounds.
func (t *timedTable) span(bounds []cql2.Compare) span {
	s := span{0, len(t.rows)}
	for _, e := range bounds {
		at := e.R.(cql2.Timestamp).T
		milli := at.UnixMilli()
		from, to := t.before(milli), t.before(milli+1)
		if !at.Equal(time.UnixMilli(milli)) { // no row has it
			from = to
		}
		switch e.Op {
		case cql2.Eq:
			s.from, s.to = max(s.from, from), min(s.to, to)
		case cql2.Gt:
			s.from = max(s.from, to)
		case cql2.Ge:
			s.from = max(s.from, from)
		case cql2.Lt:
			s.to = min(s.to, from)
		case cql2.Le:
			s.to = min(s.to, to)
		}
	}
	return span{s.from, max(s.from, s.to)}
}

func (qu *question) timedName(p timedPart) string {
	return "timed\x00" + qu.l.ID + "\x00" + p.field.Column + "\x00" + p.order.Column
}

// byTimes answers from the table; false where there is none.
func (qu *question) byTimes(ctx context.Context, c *conn, p *store.Page) (bool, error) {
	part, _ := qu.timedPart()
	if qu.now != qu.rev.rev {
		return false, nil
	}
	t := qu.rev.timed(qu.l, part, qu.timedName(part))
	if t == nil {
		return false, nil
	}
	if same, err := c.unchanged(); err != nil || !same {
		return false, err
	}
	s := t.span(part.bounds)
	qu.timedPage(t.rows[s.from:s.to], p)
	return true, ctx.Err()
}

// timedPage fills the page with rows, each of which is there once.
func (qu *question) timedPage(rows []namedRow, p *store.Page) {
	g := qu.gather(0)
	g.more = len(rows) > g.most
	g.rows = make([]numbered, min(len(rows), g.most))
	for i, r := range rows[:len(g.rows)] {
		g.rows[i] = numbered{int64(r.order), int64(r.id)}
	}
	if !g.more {
		g.rows = sortNumbered(g.rows)
	}
	qu.numberedPage(&g, nil, p)
	if g.more {
		p.Next = qu.beyond(p.Rows[0].ID)
	}
}

// timed returns the table of a name; nil where there is none yet.
func (r *revision) timed(l *layer, part timedPart, name string) *timedTable {
	key := tableKey{r.rev, name}
	if t, ok := r.columns.tables.Get(key); ok {
		return t.(*timedTable)
	}
	if r.columns.tables.Limit() == 0 || !r.often(name, timedFrom) || !r.makeTable(name, func() error { return r.makeTimed(l, part, key) }) || !r.columns.limits.wait {
		return nil
	}
	v, _ := r.columns.tables.Get(key)
	t, _ := v.(*timedTable)
	return t
}

// makeTimed reads the moments in order, and keeps them; an error where they cannot be kept.
func (r *revision) makeTimed(l *layer, part timedPart, key tableKey) error {
	t := &timedTable{}
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same || int64(12*l.Count) > r.columns.tables.Limit() {
			return cmp.Or(err, errNoRoom)
		}
		t.seconds, t.rows = make([]uint32, 0, l.Count), make([]namedRow, 0, l.Count)
		var text []byte
		by := quote(part.field.Column)
		return c.query("SELECT "+by+", "+l.idExpr(alias)+", "+quote(part.order.Column)+" FROM "+l.source.Table+" AS "+alias+" ORDER BY "+by, nil, func(row row) error {
			id, order := row.Int(1), row.Int(2)
			if len(t.rows)&4095 == 4095 && r.refs.Load() <= 1 || row.Kind(0) != kindText || row.Kind(1) != kindInt || row.Kind(2) != kindInt || id != int64(uint32(id)) || order != int64(uint32(order)) {
				return errNoRoom
			}
			text = row.Bytes(0, text)
			return t.add(text, part.field.Layout, namedRow{uint32(id), uint32(order)})
		})
	})
	if err == nil && (r.refs.Load() <= 1 || !r.columns.tables.Put(key, t, int64(t.size()))) {
		err = errNoRoom
	}
	return err
}

// add adds a row, whose moment is written in a layout; an error where it is not, or comes before the last one.
func (t *timedTable) add(text []byte, layout string, row namedRow) error {
	at, as, ok := plainMoment(text)
	if !ok || as != layout {
		return errNoRoom
	}
	n := len(t.rows)
	if n == 0 {
		t.first = at.UnixMilli()
	}
	since := at.UnixMilli() - t.first
	if t.millis == nil && (since%1000 != 0 || since/1000 > math.MaxUint32) {
		t.millis = make([]int64, n, cap(t.rows))
		for i, s := range t.seconds {
			t.millis[i] = int64(s) * 1000
		}
		t.seconds = nil
	}
	switch {
	case t.millis != nil:
		if n > 0 && since < t.millis[n-1] {
			return errNoRoom
		}
		t.millis = append(t.millis, since)
	case since < 0 || n > 0 && uint32(since/1000) < t.seconds[n-1]:
		return errNoRoom
	default:
		t.seconds = append(t.seconds, uint32(since/1000))
	}
	t.rows = append(t.rows, row)
	return nil
}
