package gpkg

import (
	"context"
	"errors"

	"grense/internal/store"
)

// columns makes the tables of values of a revision.
type columns struct {
	tables *columnCache
	asked  map[string]int            // under typeAhead.mu: requests for missing tables
	never  map[string]bool           // the same: what does not fit, or cannot be made
	wanted map[string]*recordsWanted // the same, for layers without records
	limits columnLimits
}

func idsName(l *layer) string { return l.ID }

// mostIDs is of how many features at most the ids are read for their order alone.
const mostIDs = 100_000

// ids returns the ids of a layer in order, or nil if they are not loaded.
// Then they are loaded in the background if that is worthwhile.
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

// hasIDs reports whether the ids of a layer are in memory.
func (r *revision) hasIDs(l *layer) bool {
	_, ok := r.columns.tables.Get(tableKey{r.rev, idsName(l)})
	return ok
}

// makeTable has a table made in the background, one at a time, unless it cannot be kept;
// it reports whether it is begun, and with limits.wait whether it has ended.
func (r *revision) makeTable(name string, work func() error) bool {
	if r.catalog.Survey != nil { // it would be made once more soon
		return false
	}
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

// makeIDs reads the ids of a layer, and keeps them; an error where they cannot be kept.
func (r *revision) makeIDs(l *layer) error {
	ids := &rowIDs{}
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same || c.encoding != utf8Texts {
			return errors.Join(err, errNoRoom)
		}
		table, id := l.source.Table, l.idExpr(alias)
		return c.query("SELECT "+id+" FROM "+table+" AS "+alias+" ORDER BY "+id, nil, func(row row) error {
			return ids.add(row, l.text)
		})
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
