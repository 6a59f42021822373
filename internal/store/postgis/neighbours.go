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

var (
	_ store.Neighbourly = (*Store)(nil)
	_ store.Foreseeing  = (*Store)(nil)
)

// Neighbours finds a feature and the ids beside it in one statement.
func (s *Store) Neighbours(ctx context.Context, collection, id string) (row store.Row, prev, next string, err error) {
	f, prev, next, err := s.beside(ctx, collection, id, nil)
	if err != nil {
		return row, "", "", err
	}
	return store.Row{ID: f.ID, Rev: f.Rev}, prev, next, nil
}

// NeighboursAhead is Neighbours with the feature itself, in the same statement.
func (s *Store) NeighboursAhead(ctx context.Context, collection, id string, want store.Want) (f *store.Feature, prev, next string, err error) {
	return s.beside(ctx, collection, id, &want)
}

// beside finds a feature and the ids beside it; without want only its id and revision.
func (s *Store) beside(ctx context.Context, collection, id string, want *store.Want) (f *store.Feature, prev, next string, err error) {
	if err := s.enter(); err != nil {
		return nil, "", "", err
	}
	defer s.leave()
	l, err := s.current.Load().layer(collection)
	if err != nil {
		return nil, "", "", err
	}
	none := fmt.Errorf("postgis: feature %q of collection %q: %w", id, collection, store.ErrNotFound)
	key, ok := l.id(id)
	if !ok {
		return nil, "", "", none
	}
	sql, expects := l.beside, l.idExpects()
	var of *fetcher
	if want != nil {
		if of, err = newFetcher(l, *want); err != nil {
			return nil, "", "", err
		}
		sql, expects = l.besideStatement(of.columns), append(append(expects, expect{}, expect{}), of.expects...)
	}
	err = s.ask(ctx, l, func(c *pgxpool.Conn) error {
		f, prev, next = nil, "", ""
		return l.one(ctx, c, expecting{statement{sql, l.lists([][]any{key})}, expects}, func(r pgx.Rows) error {
			raw := r.RawValues()
			if l.printed(raw[0]) != id { // a type that compares as equal what it does not print the same
				return nil
			}
			if f != nil {
				return l.changed("an id occurs twice")
			}
			rev, err := l.revision(raw[1])
			if err != nil {
				return err
			}
			f = &store.Feature{ID: id, Rev: rev}
			prev, next = l.printed(raw[2]), l.printed(raw[3])
			if of == nil {
				return nil
			}
			return of.members(f, raw[4:])
		})
	})
	if err == nil && f == nil {
		err = none
	}
	return f, prev, next, err
}

// besideStatement selects the row whose id is in the lists $1 ..., its revision, the ids before and after it, and columns of it, each after a comma.
func (l *layer) besideStatement(columns string) string {
	b := sqlq.New(sqlq.PostgreSQL{}).Text("SELECT ", l.idText(alias), ", ", l.stateExpr)
	for _, x := range [...][2]string{{" < ", " DESC"}, {" > ", ""}} {
		const other = "o"
		var theirs, ours, order []string
		for _, p := range l.parts {
			theirs, ours, order = append(theirs, p.expr(other)), append(ours, p.expr(alias)), append(order, p.expr(other)+x[1])
		}
		b.Text(", (SELECT ", l.idText(other), " FROM ", l.source.Table, " AS ", other, " WHERE (", strings.Join(theirs, ", "), ")", x[0], "(", strings.Join(ours, ", "),
			") ORDER BY ", strings.Join(order, ", "), " LIMIT 1)")
	}
	sql, _ := b.Text(columns, " FROM ", l.source.Table, " AS ", alias, " WHERE ", l.oneOf()).SQL()
	return sql
}
