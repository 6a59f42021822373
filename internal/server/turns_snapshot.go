package server

import (
	"context"
	"errors"
	"time"

	"grense/internal/store"
)

// Snapshot is one of the store, which has a turn until it is closed: it may hold a connection, and must not wait for those who wait for one. It is
// errors.ErrUnsupported where the store has none.
func (s fairStore) Snapshot(ctx context.Context) (store.Snapshot, error) {
	st, ok := s.Store.(store.Snapshotter)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	k, ok := ctx.Value(ticketKey{}).(*ticket)
	if !ok {
		return st.Snapshot(ctx)
	}
	if err := s.turns.enter(ctx, store.CostIndexed, k); err != nil {
		return nil, err
	}
	if !k.begun.Load() {
		ctx = store.WithPatience(ctx, time.Duration(k.left.Load()))
	}
	snap, err := st.Snapshot(ctx)
	if err == nil {
		return &turnSnapshot{Snapshot: snap, s: s, k: k, class: store.CostIndexed}, nil
	}
	s.turns.leave(store.CostIndexed, k)
	if errors.Is(err, store.ErrBusy) {
		err = errBusy(store.CostIndexed)
	}
	return nil, err
}

// turnSnapshot is a snapshot that has a turn.
type turnSnapshot struct {
	store.Snapshot
	s      fairStore
	k      *ticket
	class  store.Cost // of its turn
	closed bool
}

// run asks the snapshot for something, within what the request may still take.
func (x *turnSnapshot) run(ctx context.Context, fn func(context.Context) error) error {
	x.k.begun.Store(true)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(x.k.work.Load()))
	defer cancel()
	start := time.Now()
	err := fn(ctx)
	x.k.work.Add(-int64(time.Since(start)))
	return err
}

func (x *turnSnapshot) Page(ctx context.Context, q store.Query) (p *store.Page, err error) {
	x.s.turns.charge(ctx, x.s.Cost(q))
	err = x.run(ctx, func(ctx context.Context) error {
		p, err = x.Snapshot.Page(ctx, q)
		return err
	})
	return p, err
}

func (x *turnSnapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	count, done := x.s.turns.counted(ctx, fn)
	defer done()
	return x.run(ctx, func(ctx context.Context) error { return x.Snapshot.Fetch(ctx, collection, rows, want, count) })
}

func (x *turnSnapshot) Close() error {
	if !x.closed {
		x.closed = true
		defer x.s.turns.leave(x.class, x.k)
	}
	return x.Snapshot.Close()
}
