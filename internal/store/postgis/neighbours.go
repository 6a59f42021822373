package postgis

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// Neighbours finds a feature and the ids before and after it with one statement.
func (s *Store) Neighbours(ctx context.Context, collection, id string) (at store.Row, prev, next string, err error) {
	if err := s.enter(); err != nil {
		return at, "", "", err
	}
	defer s.leave()
	l, err := s.current.Load().layer(collection)
	if err != nil {
		return at, "", "", err
	}
	none := fmt.Errorf("postgis: feature %q of collection %q: %w", id, collection, store.ErrNotFound)
	key, ok := l.id(id)
	if !ok {
		return at, "", "", none
	}
	err = s.ask(ctx, l, func(c *pgxpool.Conn) error {
		at, prev, next = store.Row{}, "", ""
		return l.one(ctx, c, expecting{statement{l.beside, l.lists([][]any{key})}, l.idExpects(), len(l.parts) == 1},
			func(r pgx.Rows) error {
				raw := r.RawValues()
				if l.printed(raw[0]) != id { // equal for the type, but not the same text
					return nil
				}
				if at.ID != "" {
					return l.changed("an id occurs twice")
				}
				rev, err := l.revision(raw[1])
				if err != nil {
					return err
				}
				at = store.Row{ID: id, Rev: rev}
				prev, next = l.printed(raw[2]), l.printed(raw[3])
				return nil
			})
	})
	if err == nil && at.ID == "" {
		err = none
	}
	return at, prev, next, err
}

// neighboursStatement returns a statement for the row whose id is in the arrays $1 ..., its revision, and the ids
// before and after it.
func (l *layer) neighboursStatement() string {
	b := sqlq.New(sqlq.PostgreSQL{}).Text("SELECT ", l.idText(alias), ", ", l.revisionSQL)
	for _, x := range [...][2]string{{" < ", " DESC"}, {" > ", ""}} {
		const other = "o"
		var theirs, ours, order []string
		for _, p := range l.parts {
			theirs, ours, order = append(theirs, p.expr(other)), append(ours, p.expr(alias)),
				append(order, p.expr(other)+x[1])
		}
		b.Text(", (SELECT ", l.idText(other), " FROM ", l.source.Table, " AS ", other, " WHERE (",
			strings.Join(theirs, ", "), ")", x[0], "(", strings.Join(ours, ", "),
			") ORDER BY ", strings.Join(order, ", "), " LIMIT 1)")
	}
	sql, _ := b.Text(" FROM ", l.source.Table, " AS ", alias, " WHERE ", l.oneOf()).SQL()
	return sql
}
