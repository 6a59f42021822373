package limit

import (
	"context"
	"errors"

	"grense/internal/store"
)

// Store is a store whose questions wait for their turns.
type Store struct {
	store.Store
	turns *Turns
}

// NewStore returns a store whose queries wait for their turns.
func NewStore(st store.Store, t *Turns) Store { return Store{st, t} }

func (s Store) Page(ctx context.Context, q store.Query) (p *store.Page, err error) {
	k, ok := ticketOf(ctx)
	if !ok { // the server's own
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

// All is that of the store in turns.
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

// CostOfFetch is the class of reading features, and of what is written of them while they are read.
func CostOfFetch(rows []store.Row) store.Cost {
	if len(rows) >= ManyFeatures {
		return CostWriting
	}
	return store.CostPage
}

// Version is that of the store, in turns where it takes a connection.
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

// Neighbours is that of the store in turns.
func (s Store) Neighbours(ctx context.Context, collection, id string) (row store.Row, prev, next string, err error) {
	err = s.turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
		s.turns.Charge(ctx, store.CostPage)
		row, prev, next, err = s.Store.Neighbours(ctx, collection, id)
		return err
	})
	return row, prev, next, err
}

// Life is that of the store in turns.
func (s Store) Life(ctx context.Context, q store.LifeQuery) (life *store.Life, err error) {
	err = s.turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
		s.turns.Charge(ctx, store.CostPage)
		life, err = s.Store.Life(ctx, q)
		return err
	})
	return life, err
}

// PageHeld is Page with the state of the data that it is of, which the caller must close; nil where all places of such
// are taken, or none can be had.
func (s Store) PageHeld(ctx context.Context, q store.Query) (p *store.Page, held *Snapshot, err error) {
	k, asks := ticketOf(ctx)
	if !asks || !s.turns.Try(costHeld, k) {
		p, err = s.Page(ctx, q)
		return p, nil, err
	}
	var snap store.Snapshot
	defer func() {
		if held == nil { // there is none, or the store has panicked
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
