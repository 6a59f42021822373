package gpkg

import (
	"cmp"
	"context"
	"math"

	"grense/internal/store/sqlq"
)

// Rows of a relation may name what they belong to by its place in the order, as those of the municipalities of a place do. The index of the relation then gives places in the order alone, and the id of each is kept in memory, 4 bytes a row, instead of being
// looked up. The table is made in the background once it was wanted some times.

// orderedFrom is how often a table is wanted before it is made.
const orderedFrom = 8

// orderedIDs is the ids of the rows of a layer by their places in an order that no two share. It is immutable.
type orderedIDs struct {
	from int64 // the first place
	ids  []uint32
}

const noOrderedID = math.MaxUint32

func (t *orderedIDs) size() int { return 4 * cap(t.ids) }

// id is that of the row at a place; false where there is none.
func (t *orderedIDs) id(place int64) (int64, bool) {
	i := place - t.from
	if i < 0 || i >= int64(len(t.ids)) || t.ids[i] == noOrderedID {
		return 0, false
	}
	return int64(t.ids[i]), true
}

// number calls fn with the match whose place a row is, unless there is none.
func (t *orderedIDs) number(r row, fn func(numbered) error) error {
	if r.Kind(0) != kindInt {
		return nil
	}
	place := r.Int(0)
	id, ok := t.id(place)
	if !ok {
		return nil
	}
	return fn(numbered{place, id})
}

// ordered returns the table for an access path that gives all matches by their places in the order that is asked for; nil where it does not, or there is none yet.
func (qu *question) ordered(d sqlq.AccessPath) *orderedIDs {
	if !d.All || d.Owner == "" || qu.l.text || qu.l.Count < typeAheadFrom || qu.now != qu.rev.rev || !qu.counts(qu.q) {
		return nil
	}
	column := qu.l.source.Fields[qu.q.SortBy[0].Property].Column
	if d.Key != column || qu.l.source.Leads[column] == "" {
		return nil
	}
	return qu.rev.orderedBy(qu.l, column)
}

func (r *revision) orderedBy(l *layer, column string) *orderedIDs {
	name := "ordered\x00" + l.ID + "\x00" + column
	key := tableKey{r.rev, name}
	if t, ok := r.columns.tables.Get(key); ok {
		return t.(*orderedIDs)
	}
	if r.columns.tables.Limit() == 0 || !r.often(name, orderedFrom) {
		return nil
	}
	if !r.makeTable(name, func() error { return r.makeOrdered(l, column, key) }) || !r.columns.limits.wait {
		return nil
	}
	v, _ := r.columns.tables.Get(key)
	t, _ := v.(*orderedIDs)
	return t
}

// often counts how often a table was wanted, and reports whether that is n times.
func (r *revision) often(name string, n int) bool {
	r.typeAhead.mu.Lock()
	defer r.typeAhead.mu.Unlock()
	if r.columns.names == nil {
		r.columns.names = map[string]int{}
	}
	r.columns.names[name]++
	return r.columns.names[name] >= n || r.columns.limits.wait
}

// makeOrdered reads the ids in an order, and keeps them; an error where they cannot be kept, two rows share a place, or places have gaps.
func (r *revision) makeOrdered(l *layer, column string, key tableKey) error {
	t := &orderedIDs{}
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same || int64(4*l.Count) > r.columns.tables.Limit() {
			return cmp.Or(err, errNoRoom)
		}
		t.ids = make([]uint32, 0, l.Count)
		n := 0
		return c.query("SELECT "+quote(column)+", "+l.idExpr(alias)+" FROM "+l.source.Table+" AS "+alias+" ORDER BY "+quote(column), nil, func(row row) error {
			place, id := row.Int(0), row.Int(1)
			if n++; n&4095 == 0 && r.refs.Load() <= 1 || row.Kind(0) != kindInt || row.Kind(1) != kindInt || id < 0 || id >= noOrderedID {
				return errNoRoom
			}
			if n == 1 {
				t.from = place
			}
			if place < t.from+int64(len(t.ids)) || place > t.from+int64(l.Count)*9/8 {
				return errNoRoom
			}
			for int64(len(t.ids)) < place-t.from {
				t.ids = append(t.ids, noOrderedID)
			}
			t.ids = append(t.ids, uint32(id))
			return nil
		})
	})
	if err == nil && (r.refs.Load() <= 1 || !r.columns.tables.Put(key, t, int64(t.size()))) {
		err = errNoRoom
	}
	return err
}
