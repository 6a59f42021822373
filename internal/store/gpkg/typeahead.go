package gpkg

import (
	"context"
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/lexicon"
	"grense/internal/store/gpkg/sqlite"
)

// Type-ahead asks for the few best of very many rows, such as all names that begin with a letter. The index of words
// must rank all of them, which is slow. A table in memory with the beginnings of all words yields rows by rank as it is
// read, with the same results (see BenchmarkTypeAhead).
//
// The table is built in the background from the side file's texts after the first use of the parameter q in a
// collection. Until then, and if the table does not fit into Options.TypeAhead, the index answers.

// typeAheadFrom is the least number of features for which a table is built; the index is fast enough for fewer.
const typeAheadFrom = 2_000

// ahead returns the table of a layer. If it is not built, it returns nil and starts building it.
func (r *revision) ahead(l *layer.Layer) *lexicon.Beginnings {
	if l.SQL.Words == nil || !l.Keyed || l.Count < typeAheadFrom {
		return nil
	}
	return tableOf[*lexicon.Beginnings](r, r.memory.typeAhead, l.ID, func() error { return r.makeAhead(l) })
}

// makeAhead builds the table of a layer.
func (r *revision) makeAhead(l *layer.Layer) error {
	room := int(r.memory.typeAhead.Room())
	wanted := r.isWanted
	t := &lexicon.Beginnings{}
	err := r.use(context.Background(), func(c *sqlite.Conn) error {
		return t.Read(c, l.SQL.Words, room, wanted)
	})
	if err == nil {
		err = t.Complete(room, wanted)
	}
	if err != nil {
		return err
	}
	return r.put(r.memory.typeAhead, l.ID, t, t.Size())
}

// isTypeAhead reports whether a query is only a ranked search of the texts in the index of words.
func (qu *query) isTypeAhead() bool {
	q := &qu.q
	s, ok := only(q.Filter).(cql2.Search)
	w := qu.l.SQL.Words
	if !ok || q.Rank == nil || len(q.SortBy) > 0 || !slices.Equal(s.Terms, q.Rank.Terms) ||
		!slices.Equal(s.Props, q.Rank.Props) ||
		w == nil || !slices.Equal(s.Props, w.Props) {
		return false
	}
	if qu.place != nil { // cursors may be forged
		rank, is := qu.values[0].(int64)
		_, number := qu.values[1].(int64)
		return is && number && rank >= cql2.RankWhole && rank <= cql2.RankWord
	}
	return true
}

// typeAhead answers the query from the table in memory; false if there is no table.
func (qu *query) typeAhead(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	t := qu.rev.ahead(qu.l)
	if t == nil {
		return false, nil
	}
	if same, err := c.Unchanged(); err != nil || !same { // rows may have been deleted
		return false, err
	}
	qu.ahead = t.Find(only(qu.q.Filter).(cql2.Search).Terms)
	defer qu.ahead.Release()
	if qu.q.Limit > 0 {
		if err := qu.fill(ctx, c, qu.q, p); err != nil {
			return false, err
		}
	}
	if qu.q.Count == store.CountExact {
		p.Matched = qu.ahead.Count
	}
	return true, nil
}
