package postgis

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

// ExplainOf is Explain of a question for a page, or for all matches.
func (s *Store) ExplainOf(ctx context.Context, q store.Query, all bool) (*store.Plan, error) {
	return s.explain(ctx, q, all)
}

// PageOf answers a question for a page, or for all matches.
func (s *Store) PageOf(ctx context.Context, q store.Query, all bool) (*store.Page, error) {
	return s.page(ctx, q, all)
}

// Plan returns how the server would answer the statement of a page, or of all matches.
func (s *Store) Plan(ctx context.Context, q store.Query, all bool) (plan string, err error) {
	l, err := s.current.Load().layer(q.Collection)
	if err != nil {
		return "", err
	}
	qu, err := newPageQuery(l, q)
	if err != nil {
		return "", err
	}
	var lines []string
	err = s.retry(ctx, func(c *pgxpool.Conn) error {
		st := qu.statement(qu.pageAndOne(), extras{unordered: all && qu.filter.Residue == nil})
		return one(ctx, c, statement{"EXPLAIN (COSTS OFF) " + st.sql, st.args}, func(r pgx.Rows) error {
			lines = append(lines, string(r.RawValues()[0]))
			return nil
		})
	})
	return strings.Join(lines, "\n"), err
}

// Ways are the names of the ways of answering, in their order.
func Ways() (names []string) {
	for _, w := range strategies {
		names = append(names, w.name)
	}
	return names
}
