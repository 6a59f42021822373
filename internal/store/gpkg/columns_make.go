package gpkg

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
)

// columns makes the tables of values of a revision.
type columns struct {
	tables *columnCache
	asked  map[string]int            // under typeAhead.mu: for what is not at hand
	never  map[string]bool           // the same: what does not fit, or cannot be made
	wanted map[string]*recordsWanted // the same: of layers whose records are not at hand
	names  map[string]int            // the same: how often tables of names or of an order were wanted that are not at hand
	limits columnLimits
}

func idsName(l *layer) string { return l.ID }

func (o operand) name(l *layer) string { return l.ID + "\x00" + o.field.Column + "\x00" + o.folds }

// values returns the values of a column with the ids of its layer; nil where they are not at hand, and then with begin they are made when it is worth it.
func (r *revision) values(l *layer, o operand, begin bool) (*valueTable, *rowIDs) {
	name := o.name(l)
	t, ok := r.columns.tables.Get(tableKey{r.rev, name})
	ids, have := r.columns.tables.Get(tableKey{r.rev, idsName(l)})
	if ok && have {
		return t.(*valueTable), ids.(*rowIDs)
	}
	if !begin || l.Count < r.columns.limits.from {
		return nil, nil
	}
	if r.makeTable(name, func() error { return r.makeColumn(l, o) }) && r.columns.limits.wait {
		return r.values(l, o, false)
	}
	return nil, nil
}

// mostIDs is of how many features at most the ids are read for their order alone.
const mostIDs = 100_000

// ids returns the ids of a layer in order; nil where they are not at hand, and then they are read when it is worth it.
func (r *revision) ids(l *layer) *rowIDs {
	name := idsName(l)
	if ids, ok := r.columns.tables.Get(tableKey{r.rev, name}); ok {
		return ids.(*rowIDs)
	}
	if l.view || l.parts != nil || l.Count > mostIDs || r.columns.tables.Limit() == 0 {
		return nil
	}
	if r.makeTable(name, func() error { return r.makeIDs(l) }) && r.columns.limits.wait {
		if ids, ok := r.columns.tables.Get(tableKey{r.rev, name}); ok {
			return ids.(*rowIDs)
		}
	}
	return nil
}

// makeTable has a table made in the background, one at a time, unless it cannot be kept; it reports whether it is begun, and with limits.wait whether it has ended.
func (r *revision) makeTable(name string, work func() error) bool {
	a, made := &r.typeAhead, make(chan struct{})
	a.mu.Lock()
	if r.columns.asked == nil {
		r.columns.asked, r.columns.never = map[string]int{}, map[string]bool{}
	}
	if r.columns.never[name] || a.making {
		a.mu.Unlock()
		return false
	}
	r.columns.asked[name]++
	if n := r.columns.asked[name]; n > 1 && (n < columnsAgain || n&(n-1) != 0) || !r.take() {
		a.mu.Unlock()
		return false
	}
	a.making = true
	a.mu.Unlock()
	go func() {
		defer r.columns.tables.Make()()
		defer close(made)
		defer r.release()
		err := work()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.making = false
		r.columns.never[name] = err != nil && !errors.Is(err, store.ErrUnavailable)
	}()
	if r.columns.limits.wait {
		<-made
	}
	return true
}

// makeColumn reads the values of a column and the ids, and keeps both; an error where they cannot be kept.
func (r *revision) makeColumn(l *layer, o operand) error {
	m := &columnMaker{o: o, ids: &rowIDs{}, room: int(r.columns.tables.Limit())}
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same || c.encoding != utf8Texts {
			return errors.Join(err, errNoRoom)
		}
		table := l.source.Table
		if l.narrow != "" {
			table = l.narrow
		}
		id := l.idExpr(alias)
		return c.query("SELECT "+id+", "+selectExpr(alias, o.field)+" FROM "+table+" AS "+alias+" ORDER BY "+id, nil, func(row row) error {
			if m.ids.len()&4095 == 4095 && r.refs.Load() <= 1 {
				return errNoRoom
			}
			return m.add(row, l.text)
		})
	})
	if err != nil {
		return err
	}
	t := m.table()
	if t.size()+m.ids.size() > m.room || r.refs.Load() <= 1 {
		return errNoRoom
	}
	r.columns.tables.Put(tableKey{r.rev, idsName(l)}, m.ids, int64(m.ids.size()))
	r.columns.tables.Put(tableKey{r.rev, o.name(l)}, t, int64(t.size()))
	return nil
}

// makeIDs reads the ids of a layer, and keeps them; an error where they cannot be kept.
func (r *revision) makeIDs(l *layer) error {
	ids := &rowIDs{}
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same || c.encoding != utf8Texts {
			return errors.Join(err, errNoRoom)
		}
		table, id := l.source.Table, l.idExpr(alias)
		if l.narrow != "" {
			table = l.narrow
		}
		return c.query("SELECT "+id+" FROM "+table+" AS "+alias+" ORDER BY "+id, nil, func(row row) error { return ids.add(row, l.text) })
	})
	if err != nil {
		return err
	}
	if ids.size() > int(r.columns.tables.Limit()) || r.refs.Load() <= 1 {
		return errNoRoom
	}
	r.columns.tables.Put(tableKey{r.rev, idsName(l)}, ids, int64(ids.size()))
	return nil
}

// add takes the id of the next row; an error where ids are no texts or numbers in order, each once.
func (x *rowIDs) add(r row, text bool) error {
	if r.Null(0) {
		return errNoRoom
	}
	if !text {
		id := r.Int(0)
		if n := len(x.numbers); n > 0 && x.numbers[n-1] >= id {
			return errNoRoom
		}
		x.numbers = append(x.numbers, id)
		return nil
	}
	id := r.Text(0)
	if n := len(x.texts); n > 0 && x.texts[n-1] >= id || !listable(id) {
		return errNoRoom
	}
	x.texts = append(x.texts, id)
	return nil
}

// columnMaker gathers the values of a column by row.
type columnMaker struct {
	o      operand
	room   int
	ids    *rowIDs
	t      valueTable // in the order of rows, each with its own value
	places []uint32   // of the rows that have a value
}

// exactInteger is beyond what doubles hold exactly.
const exactInteger = 1 << 53

func (m *columnMaker) add(r row, text bool) error {
	place := uint32(m.ids.len())
	if err := m.ids.add(r, text); err != nil {
		return err
	}
	if place&4095 == 4095 && m.t.size() > m.room || len(m.t.text) > 1<<31 {
		return errNoRoom
	}
	t := m.o.field.Type
	if t == cql2.TypeNumber && r.Kind(1) == kindInt && (r.Int(1) > exactInteger || r.Int(1) < -exactInteger) {
		return errNoRoom // in SQL it is more than the double that is served
	}
	switch v := m.o.value(readValue(r, 1, t)).(type) {
	case nil:
		return nil
	case string:
		m.t.text = append(m.t.text, v...)
		m.t.ends = append(m.t.ends, uint32(len(m.t.text)))
	case int64:
		m.t.ints = append(m.t.ints, v)
	case float64:
		m.t.floats = append(m.t.floats, v)
	}
	m.places = append(m.places, place)
	return nil
}

// table puts the values in order, each once.
func (m *columnMaker) table() *valueTable {
	raw := &m.t
	order := make([]uint32, len(m.places))
	for i := range order {
		order[i] = uint32(i)
	}
	compare := func(a, b uint32) int { return 0 }
	switch {
	case raw.ends != nil:
		compare = func(a, b uint32) int { return bytes.Compare(raw.textAt(int(a)), raw.textAt(int(b))) }
	case raw.ints != nil:
		compare = func(a, b uint32) int { return cmp.Compare(raw.ints[a], raw.ints[b]) }
	case raw.floats != nil:
		compare = func(a, b uint32) int { return cmp.Compare(raw.floats[a], raw.floats[b]) }
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(compare(a, b), cmp.Compare(a, b)) })
	t := &valueTable{rows: make([]uint32, len(order))}
	for i, x := range order {
		t.rows[i] = m.places[x]
		if i > 0 && compare(order[i-1], x) == 0 {
			continue
		}
		t.from = append(t.from, uint32(i))
		switch {
		case raw.ends != nil:
			t.text = append(t.text, raw.textAt(int(x))...)
			t.ends = append(t.ends, uint32(len(t.text)))
		case raw.ints != nil:
			t.ints = append(t.ints, raw.ints[x])
		case raw.floats != nil:
			t.floats = append(t.floats, raw.floats[x])
		}
	}
	t.from = append(t.from, uint32(len(order)))
	t.text, t.ends, t.from = slices.Clip(t.text), slices.Clip(t.ends), slices.Clip(t.from)
	t.ints, t.floats = slices.Clip(t.ints), slices.Clip(t.floats)
	return t
}
