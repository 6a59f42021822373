package limit

import (
	"context"
	"errors"
	"time"

	"grense/internal/store"
)

// Snapshot returns a snapshot of the store. It occupies a slot until it is closed, since it may hold a connection. It
// must not wait for requests that are waiting for a connection themselves.
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

// Snapshot is a store.Snapshot that occupies a slot of a class.
type Snapshot struct {
	store.Snapshot
	s      Store
	k      *Ticket
	class  store.Cost // of its slot
	closed bool
}

// run calls fn with the time that the request has left for queries.
func (x *Snapshot) run(ctx context.Context, c store.Cost, fn func(context.Context) error) error {
	x.k.Begun.Store(true)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(x.k.Work.Load()))
	defer cancel()
	start := time.Now()
	err := fn(ctx)
	took := time.Since(start)
	x.k.Work.Add(-int64(took))
	x.k.Times.query(c, start, took, err)
	return err
}

func (x *Snapshot) Page(ctx context.Context, q store.Query) (p *store.Page, err error) {
	cost := x.s.Cost(q)
	x.s.turns.Charge(ctx, cost)
	err = x.run(ctx, cost, func(ctx context.Context) error {
		p, err = x.Snapshot.Page(ctx, q)
		return err
	})
	return p, err
}

func (x *Snapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	count, done := x.s.turns.Counted(ctx, fn)
	defer done()
	return x.run(ctx, CostOfFetch(rows), func(ctx context.Context) error {
		return x.Snapshot.Fetch(ctx, collection, rows, want, count)
	})
}

func (x *Snapshot) Close() error {
	if !x.closed {
		x.closed = true
		defer x.s.turns.Leave(x.class, x.k)
	}
	return x.Snapshot.Close()
}
