package gpkg

import (
	"context"
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// way is one way of answering a question.
type way struct {
	name string // in store.Plan
	does string // what the way does, for people
	// takes decides whether the strategy applies, from the query and the layer alone.
	takes func(*question) bool
	// cost returns the class of a question that the way takes; nil: that of sqlq.Cost.
	cost func(*question) store.Cost
	// answer fills the page. It reports false, and has changed nothing, where what the way needs is not there:
	// a table in memory that is not made yet, a file that nobody has changed, a condition that SQL can say.
	// The next way is tried then.
	answer func(*question, context.Context, *conn, *store.Page) (bool, error)
}

// ways are the ways of answering, in order: the first that takes a question and can answer it does.
// The last takes each.
var ways = [...]way{
	{
		name: "spellings", does: "looks for patterns through the distinct folded texts of a property, in memory, " +
			"and tests the rows with them by what else is asked",
		takes: (*question).isSpelled, answer: (*question).bySpellings,
	},
	{
		name: "all or nothing", does: "reads all matches by the index that gives the fewest rows, no more than are " +
			"wanted, and sorts them in memory",
		takes: (*question).isAllOrNothing, answer: (*question).allOrNothing,
	},
	{
		name: "type-ahead", does: "reads along the table of all beginnings of words, in memory",
		takes: func(qu *question) bool {
			return qu.q.AsOf.IsZero() && qu.isTypeAhead()
		}, cost: func(*question) store.Cost { return store.CostIndexed }, answer: (*question).typeAhead,
	},
	{
		name: "places", does: "walks envelopes in memory, and tests the geometries that envelopes do not decide",
		takes: func(qu *question) bool { return qu.q.AsOf.IsZero() && qu.isByPlaces() }, answer: (*question).byPlaces,
	},
	{
		name:  "column index",
		does:  "finds rows by the values of properties in the index file, and lets SQLite look among them",
		takes: (*question).isByIndex, cost: (*question).indexCost, answer: (*question).byIndex,
	},
	{
		name: "column order", does: "reads along the values of a property in the index file",
		takes: (*question).isByOrder, cost: (*question).orderCost, answer: (*question).byOrder,
	},
	{
		name: "ids", does: "takes a page from the ids of all rows, in memory",
		takes: (*question).isByIDs, cost: (*question).idsCost, answer: (*question).byIDs,
	},
	{
		name: "SQL", does: "lets SQLite choose, and tests in Go what SQL cannot say",
		takes: func(*question) bool { return true }, answer: (*question).bySQL,
	},
}

// answer fills the page by the first way that can.
func (qu *question) answer(ctx context.Context, c *conn, p *store.Page) (w *way, err error) {
	if qu.now, err = qu.rev.revOf(ctx, c); err != nil {
		return nil, err
	}
	for i := range ways {
		if w = &ways[i]; !w.takes(qu) {
			continue
		}
		if done, err := w.answer(qu, ctx, c, p); done || err != nil {
			return w, err
		}
		qu.passed = append(qu.passed, w.name)
	}
	panic("gpkg: no way answers a question") // the last takes and answers each
}

// Cost returns the class of a question.
func (s *Store) Cost(q store.Query) store.Cost {
	if q.Filter == nil && q.Rank == nil && len(q.SortBy) == 0 && q.Offset == 0 && q.AsOf.IsZero() {
		return store.CostPage // each item asks this twice, for its neighbours
	}
	r, err := s.acquire()
	if err != nil {
		return store.CostPage
	}
	defer r.release()
	qu, err := newQuestion(r, q)
	if err != nil {
		return store.CostPage // Page refuses it
	}
	return qu.cost()
}

func (qu *question) cost() store.Cost {
	for i := range ways {
		if w := &ways[i]; w.takes(qu) && w.cost != nil {
			return w.cost(qu)
		}
	}
	return sqlq.Cost(sqlq.SQLite{}, qu.l.source, qu.l.Key.Column, qu.q)
}

// Explain runs a query and describes how.
func (s *Store) Explain(ctx context.Context, q store.Query) (*store.Plan, error) {
	q, err := q.Reached(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.explain(ctx, q, nil)
}

// explain is Explain of a question, which all makes one for all matches.
func (s *Store) explain(ctx context.Context, q store.Query, all *store.AllQuery) (*store.Plan, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer r.release()
	qu, err := newQuestion(r, q)
	if err != nil {
		return nil, err
	}
	qu.all = all
	plan := &store.Plan{Cost: qu.cost()}
	page := &store.Page{Matched: -1, Version: r.catalog.Version}
	err = r.use(ctx, func(c *conn) error {
		var statements []traced
		c.trace = func(sql string, args []any) {
			if !slices.ContainsFunc(statements, func(t traced) bool { return t.sql == sql }) {
				statements = append(statements, traced{sql, slices.Clone(args)})
			}
		}
		w, err := qu.answer(ctx, c, page)
		c.trace = nil
		if err != nil {
			return err
		}
		plan.Way, plan.Does, plan.Passed = w.name, w.does, qu.passed
		plan.Steps, err = c.explain(statements)
		return err
	})
	if err != nil {
		return nil, err
	}
	plan.Rows, plan.Matched = len(page.Rows), page.Matched
	return plan, nil
}

// traced is a statement that was run.
type traced struct {
	sql  string
	args []any
}

// explain returns what SQLite says of statements.
func (c *conn) explain(list []traced) (steps []string, err error) {
	for _, t := range list {
		err = c.query("EXPLAIN QUERY PLAN "+t.sql, t.args, func(r row) error {
			if step := r.Text(3); !slices.Contains(steps, step) {
				steps = append(steps, step)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// only returns the one predicate that a filter is; e where it is several.
func only(e cql2.Expr) cql2.Expr {
	if and, ok := e.(cql2.And); ok && len(and) == 1 {
		return and[0]
	}
	return e
}
