package limit

import (
	"context"
	"errors"
	"time"

	"grense/internal/store"
)

// Snapshot is one of the store, which has a turn until it is closed: it may hold a connection, and must not wait for
// those who wait for one.
func (s Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	k, ok := ticketOf(ctx)
	if !ok {
		return s.Store.Snapshot(ctx)
	}
	if err := s.turns.Enter(ctx, store.CostIndexed, k); err != nil {
		return nil, err
	}
	if !k.Begun.Load() {
		ctx = store.WithPatience(ctx, time.Duration(k.left.Load()))
	}
	snap, err := s.Store.Snapshot(ctx)
	if err == nil {
		return &Snapshot{Snapshot: snap, s: s, k: k, class: store.CostIndexed}, nil
	}
	s.turns.Leave(store.CostIndexed, k)
	if errors.Is(err, store.ErrBusy) {
		err = errBusy(store.CostIndexed)
	}
	return nil, err
}

// Snapshot is a snapshot that has a turn.
type Snapshot struct {
	store.Snapshot
	s      Store
	k      *Ticket
	class  store.Cost // of its turn
	closed bool
}

// run asks the snapshot for something, within what the request may still take.
func (x *Snapshot) run(ctx context.Context, fn func(context.Context) error) error {
	x.k.Begun.Store(true)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(x.k.Work.Load()))
	defer cancel()
	start := time.Now()
	err := fn(ctx)
	x.k.Work.Add(-int64(time.Since(start)))
	return err
}

func (x *Snapshot) Page(ctx context.Context, q store.Query) (p *store.Page, err error) {
	x.s.turns.Charge(ctx, x.s.Cost(q))
	err = x.run(ctx, func(ctx context.Context) error {
		p, err = x.Snapshot.Page(ctx, q)
		return err
	})
	return p, err
}

func (x *Snapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	count, done := x.s.turns.Counted(ctx, fn)
	defer done()
	return x.run(ctx, func(ctx context.Context) error { return x.Snapshot.Fetch(ctx, collection, rows, want, count) })
}

func (x *Snapshot) Close() error {
	if !x.closed {
		x.closed = true
		defer x.s.turns.Leave(x.class, x.k)
	}
	return x.Snapshot.Close()
}
