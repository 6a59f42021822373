package limit

import (
	"context"
	"errors"

	"grense/internal/store"
)

// Store is a store whose queries wait for a slot of their cost class.
type Store struct {
	store.Store
	turns *Turns
}

// NewStore returns st with queries that wait for slots of t.
func NewStore(st store.Store, t *Turns) Store { return Store{st, t} }

func (s Store) Page(ctx context.Context, q store.Query) (p *store.Page, err error) {
	k, ok := ticketOf(ctx)
	if !ok { // a query of the server itself
		return s.Store.Page(ctx, q)
	}
	if err := s.turns.begin(ctx, k); err != nil {
		return nil, err
	}
	cost := s.Cost(q)
	err = s.turns.runIn(ctx, cost, k, func(ctx context.Context) error {
		s.turns.Charge(ctx, cost)
		p, err = s.Store.Page(ctx, q)
		return err
	})
	return p, err
}

// All calls All of the store in a slot of the query's class.
func (s Store) All(ctx context.Context, q store.AllQuery) (a *store.All, err error) {
	cost := s.Cost(q.Query)
	err = s.turns.Run(ctx, cost, func(ctx context.Context) error {
		s.turns.Charge(ctx, cost)
		a, err = s.Store.All(ctx, q)
		return err
	})
	return a, err
}

func (s Store) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return s.turns.Run(ctx, CostOfFetch(rows), func(ctx context.Context) error {
		count, done := s.turns.Counted(ctx, fn)
		defer done()
		return s.Store.Fetch(ctx, collection, rows, want, count)
	})
}

// CostOfFetch returns the class of fetching rows, which includes encoding them.
func CostOfFetch(rows []store.Row) store.Cost {
	if len(rows) >= ManyFeatures {
		return CostWriting
	}
	return store.CostPage
}

// Version calls Version of the store; in a slot if the catalog is live, since it needs a connection then.
func (s Store) Version(ctx context.Context, collections ...string) (v store.Version, err error) {
	if !s.Store.Catalog().Live {
		return s.Store.Version(ctx, collections...)
	}
	err = s.turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
		v, err = s.Store.Version(ctx, collections...)
		return err
	})
	return v, err
}

// Neighbours calls Neighbours of the store in a slot of CostPage.
func (s Store) Neighbours(ctx context.Context, collection, id string) (row store.Row, prev, next string, err error) {
	err = s.turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
		s.turns.Charge(ctx, store.CostPage)
		row, prev, next, err = s.Store.Neighbours(ctx, collection, id)
		return err
	})
	return row, prev, next, err
}

// Life calls Life of the store in a slot of CostPage.
func (s Store) Life(ctx context.Context, q store.LifeQuery) (life *store.Life, err error) {
	err = s.turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
		s.turns.Charge(ctx, store.CostPage)
		life, err = s.Store.Life(ctx, q)
		return err
	})
	return life, err
}

// PageHeld returns a page and the snapshot that it was read from, which the caller must close. The snapshot is nil if
// no slot is free for it or the store cannot hold one.
func (s Store) PageHeld(ctx context.Context, q store.Query) (p *store.Page, held *Snapshot, err error) {
	k, asks := ticketOf(ctx)
	if !asks || !s.turns.Try(costHeld, k) {
		p, err = s.Page(ctx, q)
		return p, nil, err
	}
	var snap store.Snapshot
	defer func() {
		if held == nil { // there is no snapshot, or the store panicked
			defer s.turns.Leave(costHeld, k)
			if snap != nil {
				snap.Close()
			}
		}
	}()
	cost := s.Cost(q)
	err = s.turns.Run(ctx, cost, func(ctx context.Context) error {
		s.turns.Charge(ctx, cost)
		var err error
		if snap, err = s.Store.Hold(ctx); err == nil {
			if p, err = snap.Page(ctx, q); err == nil {
				return nil
			}
			snap.Close()
			snap = nil
		}
		if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrBusy) ||
			errors.Is(err, store.ErrCursor) {
			return err
		}
		p, err = s.Store.Page(ctx, q)
		return err
	})
	if snap == nil {
		return p, nil, err
	}
	return p, &Snapshot{Snapshot: snap, s: s, k: k, class: costHeld}, err
}
