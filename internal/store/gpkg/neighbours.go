package gpkg

import (
	"context"
	"fmt"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

var _ store.Neighbourly = (*Store)(nil)

// Neighbours finds a feature and the ids beside it in one statement.
func (s *Store) Neighbours(ctx context.Context, collection, id string) (at store.Row, prev, next string, err error) {
	r, err := s.acquire()
	if err != nil {
		return at, "", "", err
	}
	defer r.release()
	qu, err := newQuestion(r, store.Query{Collection: collection})
	if err != nil {
		return at, "", "", err
	}
	none := fmt.Errorf("gpkg: feature %q of collection %q: %w", id, collection, store.ErrNotFound)
	key, ok := qu.l.id(id)
	if !ok {
		return at, "", "", none
	}
	err = r.use(ctx, func(c *conn) error {
		at, prev, next = store.Row{}, "", ""
		rev, err := r.revOf(c)
		if err != nil {
			return err
		}
		if qu.table, err = qu.l.table(c, nil); err != nil {
			return err
		}
		sql, args := qu.beside(key)
		return c.query(sql, args, func(row row) error {
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

// beside selects an id and those before and after it, null where there is none.
func (qu *question) beside(key any) (string, []any) {
	from := " FROM " + qu.table + " AS " + alias + " WHERE "
	id, values := qu.keys[0].Expr, []any{key}
	b := sqlq.New(sqlq.SQLite{}).Text("SELECT (SELECT ").Add(id).Text(from).Add(id).Text(" = ").Arg(key).Text(")")
	for _, back := range [...]bool{true, false} {
		b.Text(", (SELECT ").Add(id).Text(from).Add(sqlq.After(sqlq.SQLite{}, qu.keys, values, back)).Text(" ORDER BY ").Add(sqlq.Order(qu.keys, back)).Text(" LIMIT 1)")
	}
	return b.SQL()
}
