package gpkg

import (
	"context"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// ExplainAll is Explain of a question that wants all matches or none.
func (s *Store) ExplainAll(ctx context.Context, q store.AllQuery) (*store.Plan, error) {
	return s.explain(ctx, q.Query, &q)
}

// AllOrNothingPlan returns how SQLite reads the answer to a question that wants all matches or none.
func (s *Store) AllOrNothingPlan(q store.Query) (plan []string, err error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer r.release()
	qu, err := newQuery(r, q)
	if err != nil {
		return nil, err
	}
	err = r.use(context.Background(), func(c *sqlite.Conn) error {
		sql, args, err := qu.allStatement(c)
		if err != nil || sql == "" {
			return err
		}
		return c.Query("EXPLAIN QUERY PLAN "+sql, args, func(r sqlite.Row) error {
			plan = append(plan, r.Text(3))
			return nil
		})
	})
	return plan, err
}
