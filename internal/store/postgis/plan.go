package postgis

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// strategy is one way to answer a query.
type strategy struct {
	name   string // store.Plan.Way
	does   string // store.Plan.Does
	takes  func(*pageQuery) bool
	answer func(*pageQuery, context.Context, *pgxpool.Conn, *store.Page) error // fills the page
	// statement returns the first statement of the strategy, for EXPLAIN.
	statement func(*pageQuery) statement
}

// strategies are tried in order; the first that applies answers. The last one always applies.
var strategies = [...]strategy{
	{
		name:  "all or nothing",
		does:  "reads all matches in any order, no more than are wanted, and sorts them in memory",
		takes: (*pageQuery).isAllOrNothing, answer: (*pageQuery).allOrNothing, statement: (*pageQuery).allStatement,
	},
	{
		name:  "sorted here",
		does:  "reads all matches and sorts them in memory, since the database does not know the order",
		takes: (*pageQuery).isSortedHere, answer: (*pageQuery).sorted, statement: (*pageQuery).candidateStatement,
	},
	{
		name: "SQL and recheck", does: "reads the rows that SQL leaves, and tests in Go what SQL cannot say",
		takes: func(qu *pageQuery) bool {
			return qu.filter.Residue != nil
		}, answer: (*pageQuery).recheck, statement: (*pageQuery).candidateStatement,
	},
	{
		name: "SQL", does: "lets PostgreSQL answer in one statement",
		takes: func(*pageQuery) bool { return true }, answer: (*pageQuery).exact, statement: (*pageQuery).pageStatement,
	},
}

// strategy returns the strategy that answers the query.
func (qu *pageQuery) strategy() *strategy {
	for i := range strategies {
		if strategies[i].takes(qu) {
			return &strategies[i]
		}
	}
	panic("postgis: no strategy answers a query") // the last strategy always applies
}

// answer fills a page by the first strategy that applies.
func (s *Store) answer(ctx context.Context, r *revision, qu *pageQuery) (p *store.Page, w *strategy, err error) {
	w = qu.strategy()
	qu.counts = r.counts
	err = s.ask(ctx, qu.l, func(c *pgxpool.Conn) error {
		p = &store.Page{Matched: -1, Version: r.catalog.Version}
		if err := w.answer(qu, ctx, c, p); err != nil || len(p.Rows) > 0 {
			return err
		}
		return qu.stillPlaced(ctx, c) // without rows, nothing else has checked that
	})
	if err != nil {
		return nil, w, err
	}
	return p, w, nil
}

// allStatement, candidateStatement and pageStatement return the statements of the strategies, without columns for
// counts.
func (qu *pageQuery) allStatement() statement {
	return qu.statement(stretch{limit: min(qu.q.Limit, math.MaxInt32) + 1}, extras{unordered: true})
}

func (qu *pageQuery) candidateStatement() statement {
	return qu.statement(stretch{after: qu.values, back: qu.back()}, extras{})
}

func (qu *pageQuery) pageStatement() statement {
	return qu.statement(qu.pageAndOne(), extras{})
}

// Cost returns the class of a query.
func (s *Store) Cost(q store.Query) store.Cost {
	l := s.current.Load().layers[q.Collection]
	if l == nil {
		return store.CostPage // Page refuses it
	}
	return sqlq.Cost(sqlq.PostgreSQL{}, l.source, l.Key.Column, q)
}

// Explain runs a query and returns its plan.
func (s *Store) Explain(ctx context.Context, q store.Query) (*store.Plan, error) {
	q, err := q.Reached(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.explain(ctx, q, false)
}

// explain is Explain; with all, the query is an AllQuery.
func (s *Store) explain(ctx context.Context, q store.Query, all bool) (*store.Plan, error) {
	page, err := s.page(ctx, q, all)
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	l, err := s.current.Load().layer(q.Collection)
	if err != nil {
		return nil, err
	}
	qu, err := newPageQuery(l, q)
	if err != nil {
		return nil, err
	}
	qu.all = all
	w := qu.strategy()
	plan := &store.Plan{Cost: s.Cost(q), Way: w.name, Does: w.does, Rows: len(page.Rows), Matched: page.Matched}
	st := w.statement(qu)
	err = s.retry(ctx, func(c *pgxpool.Conn) error {
		plan.Steps = nil
		return conn.Each(ctx, c, "EXPLAIN (COSTS OFF) "+st.sql, func(rows pgx.Rows) error {
			var step string
			err := rows.Scan(&step)
			plan.Steps = append(plan.Steps, step)
			return err
		}, conn.Bind(st.args)...)
	})
	if err != nil {
		return nil, err
	}
	return plan, nil
}
