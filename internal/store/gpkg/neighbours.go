package gpkg

import (
	"context"
	"fmt"

	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// Neighbours finds a feature and the ids before and after it, in memory or with one statement.
func (s *Store) Neighbours(ctx context.Context, collection, id string) (at store.Row, prev, next string, err error) {
	r, err := s.acquire()
	if err != nil {
		return at, "", "", err
	}
	defer r.release()
	qu, err := newQuery(r, store.Query{Collection: collection})
	if err != nil {
		return at, "", "", err
	}
	if at, prev, next, ok := r.neighboursInMemory(qu.l, id); ok {
		return at, prev, next, meet(ctx, at.Rev)
	}
	none := fmt.Errorf("gpkg: feature %q of collection %q: %w", id, collection, store.ErrNotFound)
	key, ok := qu.l.IDValues(id)
	if !ok {
		return at, "", "", none
	}
	err = r.use(ctx, func(c *sqlite.Conn) error {
		at, prev, next = store.Row{}, "", ""
		rev, err := r.revOf(ctx, c)
		if err != nil {
			return err
		}
		qu.table = qu.l.SQL.Table
		sql, args := qu.beside(key)
		return c.Query(sql, args, func(row sqlite.Row) error {
			if row.Null(0) || qu.idText(row, 0) != id {
				return nil
			}
			at = store.Row{ID: id, Rev: rev}
			if !row.Null(1) {
				prev = qu.idText(row, 1)
			}
			if !row.Null(2) {
				next = qu.idText(row, 2)
			}
			return nil
		})
	})
	if err == nil && at.ID == "" {
		err = none
	}
	return at, prev, next, err
}

// neighboursInMemory is Neighbours with the ids in memory. It returns false if the ids are not loaded, which it then
// starts, or if the file may have changed.
func (r *revision) neighboursInMemory(l *layer.Layer, id string) (at store.Row, prev, next string, ok bool) {
	key, ok := l.IDValue(id)
	if rev, known := r.stamped(); !ok || !known || rev != r.rev {
		return at, "", "", false
	}
	ids := r.ids(l)
	if ids == nil {
		return at, "", "", false
	}
	place, ok := ids.Place(key)
	if !ok {
		return at, "", "", false
	}
	if place > 0 {
		prev = ids.Text(uint32(place - 1))
	}
	if place+1 < ids.Len() {
		next = ids.Text(uint32(place + 1))
	}
	return store.Row{ID: id, Rev: r.rev}, prev, next, true
}

// beside returns a statement for an id and those before and after it; null if there is none.
func (qu *query) beside(key []any) (string, []any) {
	from := " FROM " + qu.table + " AS " + layer.Alias + " WHERE "
	id := sqlq.Ident(qu.l.IDExpr(layer.Alias))
	b := sqlq.New(sqlq.SQLite{}).Text("SELECT (SELECT ").Add(id).Text(from)
	for i, k := range qu.keys {
		if i > 0 {
			b.Text(" AND ")
		}
		b.Add(k.Expr).Text(" = ").Arg(key[i])
	}
	b.Text(")")
	for _, back := range [...]bool{true, false} {
		b.Text(", (SELECT ").Add(id).Text(from).Add(sqlq.After(sqlq.SQLite{}, qu.keys, key, back)).Text(" ORDER BY ").
			Add(sqlq.Order(qu.keys, back)).Text(" LIMIT 1)")
	}
	return b.SQL()
}
