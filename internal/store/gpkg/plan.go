package gpkg

import (
	"context"
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// strategy is one way to answer a query.
type strategy struct {
	name string // store.Plan.Way
	does string // store.Plan.Does
	// takes reports whether the strategy applies, from the query and the layer alone.
	takes func(*query) bool
	// cost returns the class of a query that the strategy answers; nil: that of sqlq.Cost.
	cost func(*query) store.Cost
	// answer fills the page. It returns false, and changes nothing, if the strategy is not available: a table in memory
	// is not built yet, the file has changed, or SQL cannot express a condition. Then the next strategy is tried.
	answer func(*query, context.Context, *sqlite.Conn, *store.Page) (bool, error)
}

// strategies are tried in order; the first that applies and is available answers. The last one always is.
var strategies = [...]strategy{
	{
		name: "spellings", does: "looks for patterns through the distinct folded texts of a property, in memory, " +
			"and tests the rows with them by what else is asked",
		takes: (*query).isSpelled, answer: (*query).bySpellings,
	},
	{
		name: "all or nothing", does: "reads all matches by the index that gives the fewest rows, no more than are " +
			"wanted, and sorts them in memory",
		takes: (*query).isAllOrNothing, answer: (*query).allOrNothing,
	},
	{
		name: "type-ahead", does: "reads along the table of all beginnings of words, in memory",
		takes: func(qu *query) bool {
			return qu.q.AsOf.IsZero() && qu.isTypeAhead()
		}, cost: func(*query) store.Cost { return store.CostIndexed }, answer: (*query).typeAhead,
	},
	{
		name: "places", does: "walks envelopes in memory, or until they are loaded the rows of a large box, and " +
			"tests the geometries that envelopes do not decide",
		takes: func(qu *query) bool { return qu.q.AsOf.IsZero() && qu.isByPlaces() }, answer: (*query).byPlaces,
	},
	{
		name: "column index",
		does: "finds rows by the values of properties in the index file, and lets SQLite look among them, or along " +
			"the ids where many match",
		takes: (*query).isByIndex, cost: (*query).indexCost, answer: (*query).byIndex,
	},
	{
		name: "column order", does: "reads along the values of a property in the index file",
		takes: (*query).isByOrder, cost: (*query).orderCost, answer: (*query).byOrder,
	},
	{
		name: "ids", does: "takes a page from the ids of all rows, in memory",
		takes: (*query).isByIDs, cost: (*query).idsCost, answer: (*query).byIDs,
	},
	{
		name: "SQL", does: "lets SQLite choose, and tests in Go what SQL cannot say",
		takes: func(*query) bool { return true }, answer: (*query).bySQL,
	},
}

// answer fills the page by the first strategy that is available.
func (qu *query) answer(ctx context.Context, c *sqlite.Conn, p *store.Page) (w *strategy, err error) {
	if qu.now, err = qu.rev.revOf(ctx, c); err != nil {
		return nil, err
	}
	for i := range strategies {
		if w = &strategies[i]; !w.takes(qu) {
			continue
		}
		if done, err := w.answer(qu, ctx, c, p); done || err != nil {
			return w, err
		}
		qu.passed = append(qu.passed, w.name)
	}
	panic("gpkg: no strategy answers a query") // the last strategy is always available
}

// Cost returns the class of a query.
func (s *Store) Cost(q store.Query) store.Cost {
	if q.Filter == nil && q.Rank == nil && len(q.SortBy) == 0 && q.Offset == 0 && q.AsOf.IsZero() {
		return store.CostPage // for neighbours; each item page runs two such queries
	}
	r, err := s.acquire()
	if err != nil {
		return store.CostPage
	}
	defer r.release()
	qu, err := newQuery(r, q)
	if err != nil {
		return store.CostPage // Page refuses it
	}
	return qu.cost()
}

func (qu *query) cost() store.Cost {
	for i := range strategies {
		if w := &strategies[i]; w.takes(qu) && w.cost != nil {
			return w.cost(qu)
		}
	}
	return qu.l.Cost(qu.q)
}

// Explain runs a query and returns its plan.
func (s *Store) Explain(ctx context.Context, q store.Query) (*store.Plan, error) {
	q, err := q.Reached(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.explain(ctx, q, nil)
}

// explain is Explain; all is nil, or makes the query an AllQuery.
func (s *Store) explain(ctx context.Context, q store.Query, all *store.AllQuery) (*store.Plan, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer r.release()
	qu, err := newQuery(r, q)
	if err != nil {
		return nil, err
	}
	qu.all = all
	plan := &store.Plan{Cost: qu.cost()}
	page := &store.Page{Matched: -1, Version: r.catalog.Version}
	err = r.use(ctx, func(c *sqlite.Conn) error {
		var statements []traced
		c.Trace = func(sql string, args []any) {
			if !slices.ContainsFunc(statements, func(t traced) bool { return t.sql == sql }) {
				statements = append(statements, traced{sql, slices.Clone(args)})
			}
		}
		w, err := qu.answer(ctx, c, page)
		c.Trace = nil
		if err != nil {
			return err
		}
		plan.Way, plan.Does, plan.Passed = w.name, w.does, qu.passed
		plan.Steps, err = queryPlans(c, statements)
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

// queryPlans returns SQLite's query plans of statements.
func queryPlans(c *sqlite.Conn, list []traced) (steps []string, err error) {
	for _, t := range list {
		err = c.Query("EXPLAIN QUERY PLAN "+t.sql, t.args, func(r sqlite.Row) error {
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

// only returns the single predicate of a filter; e itself if it has several.
func only(e cql2.Expr) cql2.Expr {
	if and, ok := e.(cql2.And); ok && len(and) == 1 {
		return and[0]
	}
	return e
}
