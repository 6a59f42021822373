package postgis

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// way is one way of answering a question.
type way struct {
	name   string // in store.Plan
	does   string // what the way does, for people
	takes  func(*question) bool
	answer func(*question, context.Context, *pgxpool.Conn, *store.Page) error // fills the page
	// statement is the one that the way asks first, to be explained.
	statement func(*question) statement
}

// ways are the ways of answering, in order: the first that takes a question answers it. The last takes each.
var ways = [...]way{
	{
		name:  "all or nothing",
		does:  "reads all matches in any order, no more than are wanted, and sorts them in memory",
		takes: (*question).isAllOrNothing, answer: (*question).allOrNothing, statement: (*question).allStatement,
	},
	{
		name:  "sorted here",
		does:  "reads all matches and sorts them in memory, since the database does not know the order",
		takes: (*question).isSortedHere, answer: (*question).sorted, statement: (*question).candidateStatement,
	},
	{
		name: "SQL and recheck", does: "reads the rows that SQL leaves, and tests in Go what SQL cannot say",
		takes: func(qu *question) bool {
			return qu.filter.Residue != nil
		}, answer: (*question).recheck, statement: (*question).candidateStatement,
	},
	{
		name: "SQL", does: "lets PostgreSQL answer in one statement",
		takes: func(*question) bool { return true }, answer: (*question).exact, statement: (*question).pageStatement,
	},
}

// way returns the way that answers the question.
func (qu *question) way() *way {
	for i := range ways {
		if ways[i].takes(qu) {
			return &ways[i]
		}
	}
	panic("postgis: no way answers a question") // the last takes each
}

// answer fills a page by the first way that takes the question.
func (s *Store) answer(ctx context.Context, r *revision, qu *question) (p *store.Page, w *way, err error) {
	w = qu.way()
	qu.counts = r.counts
	err = s.ask(ctx, qu.l, func(c *pgxpool.Conn) error {
		p = &store.Page{Matched: -1, Version: r.catalog.Version}
		if err := w.answer(qu, ctx, c, p); err != nil || len(p.Rows) > 0 {
			return err
		}
		return qu.stillPlaced(ctx, c) // no row has shown it
	})
	if err != nil {
		return nil, w, err
	}
	return p, w, nil
}

// allStatement, candidateStatement and pageStatement are the statements of the ways, without columns for counts.
func (qu *question) allStatement() statement {
	return qu.statement(stretch{limit: min(qu.q.Limit, math.MaxInt32) + 1}, extras{unordered: true})
}

func (qu *question) candidateStatement() statement {
	return qu.statement(stretch{after: qu.values, back: qu.back()}, extras{})
}

func (qu *question) pageStatement() statement {
	return qu.statement(qu.pageAndOne(), extras{})
}

// Cost returns the class of a question.
func (s *Store) Cost(q store.Query) store.Cost {
	l := s.current.Load().layers[q.Collection]
	if l == nil {
		return store.CostPage // Page refuses it
	}
	return sqlq.Cost(sqlq.PostgreSQL{}, l.source, l.Key.Column, q)
}

// Explain runs a query and describes how.
func (s *Store) Explain(ctx context.Context, q store.Query) (*store.Plan, error) {
	q, err := q.Reached(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.explain(ctx, q, false)
}

// explain is Explain of a question for a page, or for all matches.
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
	qu, err := newQuestion(l, q)
	if err != nil {
		return nil, err
	}
	qu.all = all
	w := qu.way()
	plan := &store.Plan{Cost: s.Cost(q), Way: w.name, Does: w.does, Rows: len(page.Rows), Matched: page.Matched}
	st := w.statement(qu)
	err = s.retry(ctx, func(c *pgxpool.Conn) error {
		plan.Steps = nil
		return each(ctx, c, "EXPLAIN (COSTS OFF) "+st.sql, func(rows pgx.Rows) error {
			var step string
			err := rows.Scan(&step)
			plan.Steps = append(plan.Steps, step)
			return err
		}, bind(st.args)...)
	})
	if err != nil {
		return nil, err
	}
	return plan, nil
}
