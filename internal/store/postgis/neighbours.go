package postgis

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

var _ store.Neighbourly = (*Store)(nil)

// Neighbours finds a feature and the ids beside it in one statement.
func (s *Store) Neighbours(ctx context.Context, collection, id string) (row store.Row, prev, next string, err error) {
	if err := s.enter(); err != nil {
		return row, "", "", err
	}
	defer s.leave()
	l, err := s.current.Load().layer(collection)
	if err != nil {
		return row, "", "", err
	}
	none := fmt.Errorf("postgis: feature %q of collection %q: %w", id, collection, store.ErrNotFound)
	key, ok := l.id(id)
	if !ok {
		return row, "", "", none
	}
	var list any
	if n, is := key.(int64); is {
		list = []int64{n}
	} else {
		list = []string{id}
	}
	err = s.retry(ctx, func(c *pgxpool.Conn) error {
		row, prev, next = store.Row{}, "", ""
		return one(ctx, c, l.beside, []any{list}, func(r pgx.Rows) error {
			raw := r.RawValues()
			if l.printed(raw[0]) != id { // a type that compares as equal what it does not print the same
				return nil
			}
			row = store.Row{ID: id, Rev: l.rev}
			if l.xmin {
				row.Rev = l.revision(binary.BigEndian.Uint32(raw[1]))
			}
			prev, next = l.printed(raw[2]), l.printed(raw[3])
			return nil
		})
	})
	if err == nil && row.ID == "" {
		err = none
	}
	return row, prev, next, err
}

// printed is the feature id that a column in the form of idKey holds; "" for null.
func (l *layer) printed(raw []byte) string {
	if l.text || raw == nil {
		return string(raw)
	}
	return strconv.FormatInt(int64(binary.BigEndian.Uint64(raw)), 10)
}

// besideStatement selects the row whose id is in the list $1, its revision, and the ids before and after it.
func (l *layer) besideStatement() string {
	b := sqlq.New(sqlq.PostgreSQL{}).Text("SELECT ", l.idKey().sel)
	if l.xmin {
		b.Text(", ", alias, ".xmin")
	} else {
		b.Text(", 0")
	}
	for _, x := range [...][2]string{{" < ", " DESC"}, {" > ", ""}} {
		const other = "o"
		typ := "::bigint"
		if l.text {
			typ = "::text"
		}
		b.Text(", (SELECT ", other, ".", l.key, typ, " FROM ", l.source.Table, " AS ", other, " WHERE ", l.idExpr(other), x[0], l.idExpr(alias),
			" ORDER BY ", l.idExpr(other), x[1], " LIMIT 1)")
	}
	sql, _ := b.Text(" FROM ", l.source.Table, " AS ", alias, " WHERE ", l.oneOf()).SQL()
	return sql
}
