package gpkg

import (
	"context"
	"errors"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

var _ store.Recalling = (*Store)(nil)

// What is recalled takes tens of microseconds, of geometries whose edges are ready, so that nobody need wait for it.
const (
	mostRecalled = 512 // rows that are looked at, or given
	mostTested   = 96  // rows whose geometries are tested
	mostAsked    = 8   // predicates of a filter
)

// errNotHeld says that a geometry is not in memory.
var errNotHeld = errors.New("gpkg: a geometry is not in memory")

// Recall answers from tables in memory, where the file is known to be as it was when they were made.
func (s *Store) Recall(q store.Query) (*store.Page, store.Cost) {
	if q.Rank != nil || !q.AsOf.IsZero() || !q.AllOrNothing && (len(q.SortBy) > 0 || q.First != nil || q.Limit > mostRecalled) {
		return nil, s.Cost(q)
	}
	r, err := s.acquire()
	if err != nil {
		return nil, store.CostPage
	}
	defer r.release()
	at, err := q.Reached(context.Background(), s) // which has no texts to read where nothing is sorted by them
	if err != nil {
		return nil, s.Cost(q)
	}
	if at.Count == store.CountCheap {
		at.Count = store.CountExact
	}
	qu, err := newQuestion(r, at)
	if err != nil {
		return nil, store.CostPage // Page refuses it
	}
	if rev, known := r.glance(); known && rev == r.rev && (!q.AllOrNothing || qu.isNamed() || qu.isTimed()) {
		if p, cost := qu.recall(); p != nil && q.AllOrNothing {
			return p, qu.cost()
		} else if p != nil {
			return p, cost
		}
	}
	return nil, qu.cost()
}

// recall answers by the way that takes the question; nil where that needs more than memory.
func (qu *question) recall() (*store.Page, store.Cost) {
	cost := sqlq.Cost(sqlq.SQLite{}, qu.l.source, qu.l.Key.Column, qu.q)
	qu.now = qu.rev.rev
	for i := range ways {
		w := &ways[i]
		if !w.takes(qu) {
			continue
		}
		p := &store.Page{Matched: -1, Version: qu.rev.catalog.Version}
		if w.recall == nil || !w.recall(qu, cost, p) {
			return nil, cost
		}
		if w.cost != nil { // it told that of an index
			cost = min(cost, store.CostIndexed)
		}
		return p, cost
	}
	return nil, cost
}

func (qu *question) recallPlaces(cost store.Cost, p *store.Page) bool {
	if cost > store.CostIndexed || asked(qu.q.Filter) > mostAsked {
		return false
	}
	t, ok := qu.rev.columns.tables.Get(tableKey{qu.rev.rev, placesName(qu.l)})
	if !ok {
		return false
	}
	s, err := qu.placed(t.(*placeTable), mostRecalled)
	if s == nil || err != nil {
		return false
	}
	tests := 0
	for i := range s.rows {
		if s.rows[i].t == cql2.Null {
			tests++
		}
	}
	ctx := context.Background()
	s.rec = newPlaceRecord(ctx, nil, qu.l)
	return tests <= mostTested && s.page(ctx, qu, p) == nil
}

func (qu *question) recallColumns(_ store.Cost, p *store.Page) bool {
	if asked(qu.q.Filter) > mostAsked {
		return false
	}
	x := &columnSearch{rev: qu.rev, l: qu.l, few: mostRecalled}
	h, ok := x.find(qu.q.Filter)
	return ok && !h.wide && qu.takesAll(h) && h.candidates(qu.l).page(context.Background(), qu, p) == nil
}

func (qu *question) recallIDs(_ store.Cost, p *store.Page) bool {
	ids, ok := qu.rev.columns.tables.Get(tableKey{qu.rev.rev, idsName(qu.l)})
	if ok {
		qu.pageOf(ids.(*rowIDs), p)
	}
	return ok
}

// asked is how many predicates a filter has, of which each takes about a microsecond for a row at most; more than mostAsked where one may take longer.
func asked(e cql2.Expr) (n int) {
	switch e := e.(type) {
	case cql2.And:
		for _, x := range e {
			n += asked(x)
		}
	case cql2.Or:
		for _, x := range e {
			n += asked(x)
		}
	case cql2.Not:
		n = asked(e.X)
	case cql2.In:
		n = len(e.List)
	case cql2.Spatial:
		if n = 1; e.Op != cql2.SIntersects || !isPointLiteral(e.L) && !isPointLiteral(e.R) {
			n = mostAsked + 1
		}
	default:
		n = 1
	}
	return n
}

func isPointLiteral(e cql2.Expr) bool {
	g, ok := e.(cql2.Geom)
	if ok {
		_, ok = g.G.(orb.Point)
	}
	return ok
}
