package server

import (
	"context"
	"sync"

	"grense/internal/server/limit"
	"grense/internal/store"
)

// Snapshot returns a snapshot of the current data. Snapshots that hold a connection need a slot.
func (c *Call) Snapshot() (store.Snapshot, error) {
	snap, err := c.s.SnapshotFor(c.Request.Context(), c.Owner(), false)
	if err == nil && snap.Catalog().Version != c.Catalog.Version {
		snap.Close()
		err = errReopened()
	}
	return snap, err
}

// SnapshotFor returns a snapshot of the current data whose queries use slots of an owner. With begun they are not
// refused.
func (s *Kit) SnapshotFor(ctx context.Context, owner string, begun bool) (store.Snapshot, error) {
	leave, err := s.Files.Enter(ctx, s.Config.Limits.Queue)
	if err != nil {
		return nil, err
	}
	snap, err := s.Fair.Store.Snapshot(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	if !snap.Holds() { // it blocks nobody
		leave()
		leave = func() {}
	}
	return &fairSnapshot{Snapshot: snap, s: s, ctx: ctx, owner: owner, begun: begun, leave: sync.OnceFunc(leave)}, nil
}

// fairSnapshot is a snapshot whose queries wait for slots. Each query has the time of a request, since a download makes
// many.
type fairSnapshot struct {
	store.Snapshot
	s     *Kit
	ctx   context.Context // of its request or job
	owner string
	begun bool
	leave func()
}

func (s *fairSnapshot) turn(cost store.Cost, fn func(context.Context) error) error {
	ticket := s.s.Turns.NewTicket(s.owner, s.begun)
	ticket.Times = limit.TimesOf(s.ctx)
	s.begun = true
	return s.s.Turns.Run(ticket.With(s.ctx), cost, fn)
}

func (s *fairSnapshot) Page(_ context.Context, q store.Query) (p *store.Page, err error) {
	cost := s.s.Store.Cost(q)
	err = s.turn(cost, func(ctx context.Context) error {
		s.s.Turns.Charge(ctx, cost)
		p, err = s.Snapshot.Page(ctx, q)
		return err
	})
	return p, err
}

func (s *fairSnapshot) Fetch(_ context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return s.turn(limit.CostOfFetch(rows), func(ctx context.Context) error {
		count, done := s.s.Turns.Counted(ctx, fn)
		defer done()
		return s.Snapshot.Fetch(ctx, collection, rows, want, count)
	})
}

func (s *fairSnapshot) Close() error {
	defer s.leave()
	return s.Snapshot.Close()
}
