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

// State is that of the store in turns; 0 always where the store cannot name it.
func (s Store) State(ctx context.Context) (n uint64, err error) {
	st, ok := s.Store.(store.Stated)
	if !ok {
		return 0, nil
	}
	if g, ok := st.(store.Glanced); ok {
		if n, ok := g.Glance(); ok {
			return n, nil
		}
	}
	err = s.turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
		n, err = st.State(ctx)
		return err
	})
	return n, err
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

// Dated is store.Dated in turns.
type Dated struct {
	store.Dated
	turns *Turns
}

// NewDated returns a store.Dated whose queries wait for their turns.
func NewDated(st store.Dated, t *Turns) Dated { return Dated{st, t} }

func (s Dated) Life(ctx context.Context, q store.LifeQuery) (life *store.Life, err error) {
	err = s.turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
		s.turns.Charge(ctx, store.CostPage)
		life, err = s.Dated.Life(ctx, q)
		return err
	})
	return life, err
}

// Mark is that of the store in turns; "" always where the store has none.
func (s Store) Mark(ctx context.Context, collections ...string) (mark string, err error) {
	st, ok := s.Store.(store.Marked)
	if !ok {
		return "", nil
	}
	err = s.turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
		mark, err = st.Mark(ctx, collections...)
		return err
	})
	return mark, err
}

// Hold is Page with the state of the data that it is of, which the caller must close; nil where all places of such
// are taken, or none can be had.
func (s Store) Hold(ctx context.Context, q store.Query) (p *store.Page, held *Snapshot, err error) {
	take, ok := s.holder()
	k, asks := ticketOf(ctx)
	if !ok || !asks || !s.turns.Try(costHeld, k) {
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
		if snap, err = take(ctx); err == nil {
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

// holder is what holds one state of rows; false where nothing does.
func (s Store) holder() (func(context.Context) (store.Snapshot, error), bool) {
	if h, ok := s.Store.(store.Holding); ok {
		return h.Hold, true
	}
	if st, ok := s.Store.(store.Snapshotter); ok {
		return st.Snapshot, true
	}
	return nil, false
}
