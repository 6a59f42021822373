package server

import (
	"container/list"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"grense/internal/config"
	"grense/internal/problem"
	"grense/internal/store"
)

// turns lets questions to the store run a few at a time. Each class of cost has places and a queue of its own, so that what is dear never delays
// what is cheap. In a queue the owners (keys, or addresses where none are asked for) take turns, whatever number of questions each has; and none
// holds all places of a class. It is safe for concurrent use.
type turns struct {
	wait    time.Duration // of one request, for places and connections, before it is refused
	work    time.Duration // of one request, for all its questions
	mu      sync.Mutex
	classes [len(store.Costs) + 2]turnClass // the last: costWriting and costExecuting
	rates   *buckets                        // of owners; nil: none
}

// turnClass is the places and the queue of a class.
type turnClass struct {
	free    int
	part    int            // of the places, for one owner
	held    map[string]int // places by owner
	ring    *list.List     // of *turnOwner that have questions waiting; the first is served next
	owners  map[string]*list.Element
	waiting int
}

// turnOwner is one owner's part of a queue.
type turnOwner struct {
	name         string
	begun, fresh list.List // of *turnWaiter; those of work that was begun go first
}

type turnWaiter struct {
	in    *list.List
	at    *list.Element
	ready chan struct{} // closed when a place is taken for it
}

// maxWaiting bounds the questions that wait in one class; each holds a request and its connection.
const maxWaiting = 4096

// newTurns gives each class its places.
func newTurns(l config.Limits, places [len(store.Costs)]int) *turns {
	t := &turns{wait: l.Queue, work: l.Query, rates: newRates(l.Rate)}
	for i := range places {
		n := max(1, min(places[i], l.Concurrent))
		part := max(1, n-1)
		if store.Cost(i) >= store.CostScan {
			part = (n + 1) / 2
		}
		t.classes[i] = turnClass{free: n, part: part, held: map[string]int{}, ring: list.New(), owners: map[string]*list.Element{}}
	}
	p := runtime.GOMAXPROCS(0)
	t.classes[costWriting] = turnClass{free: 2 * p, part: p, held: map[string]int{}, ring: list.New(), owners: map[string]*list.Element{}}
	n := max(4, 4*p)
	t.classes[costExecuting] = turnClass{free: n, part: n / 2, held: map[string]int{}, ring: list.New(), owners: map[string]*list.Element{}}
	return t
}

// costExecuting is the class of executions that clients wait for. Their questions wait for turns of their own besides.
const costExecuting = costWriting + 1

// costWriting is the class of the writing of many features into an answer, which asks the store nothing. One owner has as many places as there are
// processors, so that answers of others need not wait for more than that, however many of its own it asks for and breaks off.
const costWriting = store.Cost(len(store.Costs))

// manyFeatures is from how many features on their writing waits for its turn.
const manyFeatures = 50

// writing takes a place to write many features, until the answer goes out or the store is asked again. Of a request that is broken off meanwhile
// nothing is written.
func (c *call) writing() error {
	w := c.rw
	if w == nil || w.rest != nil || w.status != 0 {
		return nil
	}
	if err := c.r.Context().Err(); err != nil {
		return err
	}
	t, k := c.s.turns, &ticket{owner: c.owner()}
	k.begun.Store(c.continues)
	k.left.Store(int64(t.wait))
	if err := t.enter(c.r.Context(), costWriting, k); err != nil {
		return err
	}
	w.rest = func() { t.leave(costWriting, k) }
	return nil
}

// resting gives the place of writing back.
func (w *response) resting() {
	if w != nil && w.rest != nil {
		w.rest()
		w.rest = nil
	}
}

// placesOf is how many questions of each class a store takes at once: of the dear ones as many as leave processors and connections free.
func placesOf(st store.Store, concurrent int) [len(store.Costs)]int {
	if r, ok := st.(store.Roomy); ok {
		return r.Room()
	}
	p := runtime.GOMAXPROCS(0)
	return [...]int{store.CostPage: concurrent, store.CostIndexed: 2 * p, store.CostScan: p / 2, store.CostGeometry: p / 2}
}

// A ticket is a request's right to ask the store. It belongs to the request's context.
type ticket struct {
	owner string
	begun atomic.Bool  // it has been answered in part; further questions are not refused
	left  atomic.Int64 // nanoseconds that it may still wait for places and connections
	work  atomic.Int64 // nanoseconds that its questions may still take
}

type ticketKey struct{}

// newTicket returns a ticket of an owner. With begun, its work goes on with what was answered before.
func (t *turns) newTicket(owner string, begun bool) *ticket {
	k := &ticket{owner: owner}
	k.begun.Store(begun)
	k.left.Store(int64(t.wait))
	k.work.Store(int64(t.work))
	return k
}

// errBusy is what a question that gets no place is answered.
func errBusy(c store.Cost) error {
	switch c {
	case store.CostScan:
		return problem.New(problem.Busy, nil, "The server is busy with other searches through whole collections. Try again after the seconds in Retry-After, or ask by id, bbox or an indexed property.")
	case store.CostGeometry:
		return problem.New(problem.Busy, nil, "The server is busy with other filters that compare geometries. Try again after the seconds in Retry-After, or ask by bbox.")
	}
	return problem.New(problem.Busy, nil, "The server is busy. Try again after the seconds in Retry-After.")
}

// enter waits for a place of class c. Work that was begun is never refused: a download that breaks off costs its client all of it. The waits
// of one ticket together are bounded. Who gets a place calls leave.
func (t *turns) enter(ctx context.Context, c store.Cost, k *ticket) error {
	x := &t.classes[c]
	t.mu.Lock()
	if x.free > 0 && x.held[k.owner] < x.part {
		x.take(k.owner)
		t.mu.Unlock()
		return nil
	}
	begun := k.begun.Load()
	left := time.Duration(k.left.Load())
	if !begun && (left <= 0 || x.waiting >= maxWaiting) {
		t.mu.Unlock()
		return errBusy(c)
	}
	w := x.enqueue(k.owner, begun)
	t.mu.Unlock()
	start := time.Now()
	err := await(ctx, w.ready, left, begun)
	k.left.Add(-int64(time.Since(start)))
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.at == nil { // it got a place at the last moment
		if ctx.Err() == nil {
			return nil
		}
		x.release(k.owner)
		return err
	}
	x.remove(k.owner, w)
	if errors.Is(err, errWaited) {
		return errBusy(c)
	}
	return err
}

var errWaited = errors.New("server: waited for too long")

func await(ctx context.Context, ready <-chan struct{}, left time.Duration, begun bool) error {
	var late <-chan time.Time
	if !begun {
		timer := time.NewTimer(left)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return errWaited
	}
}

func (t *turns) leave(c store.Cost, k *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.classes[c].release(k.owner)
}

func (x *turnClass) take(owner string) {
	x.free--
	x.held[owner]++
}

// release gives a place back, and to the next owner whose turn it is.
func (x *turnClass) release(owner string) {
	x.free++
	if x.held[owner]--; x.held[owner] == 0 {
		delete(x.held, owner)
	}
	for e := x.ring.Front(); e != nil && x.free > 0; {
		next, o := e.Next(), e.Value.(*turnOwner)
		if x.held[o.name] < x.part {
			w := o.first()
			x.take(o.name)
			x.ring.MoveToBack(e)
			x.remove(o.name, w)
			close(w.ready)
		}
		e = next
	}
}

func (o *turnOwner) first() *turnWaiter {
	if e := o.begun.Front(); e != nil {
		return e.Value.(*turnWaiter)
	}
	return o.fresh.Front().Value.(*turnWaiter)
}

func (x *turnClass) enqueue(owner string, begun bool) *turnWaiter {
	e := x.owners[owner]
	if e == nil {
		e = x.ring.PushBack(&turnOwner{name: owner})
		x.owners[owner] = e
	}
	o := e.Value.(*turnOwner)
	w := &turnWaiter{in: &o.fresh, ready: make(chan struct{})}
	if begun {
		w.in = &o.begun
	}
	w.at = w.in.PushBack(w)
	x.waiting++
	return w
}

// remove takes a waiter out of the queue.
func (x *turnClass) remove(owner string, w *turnWaiter) {
	w.in.Remove(w.at)
	w.at = nil
	x.waiting--
	e := x.owners[owner]
	if o := e.Value.(*turnOwner); o.begun.Len()+o.fresh.Len() == 0 {
		x.ring.Remove(e)
		delete(x.owners, owner)
	}
}

// run asks the store for something of class c under the ticket in ctx.
func (t *turns) run(ctx context.Context, c store.Cost, fn func(context.Context) error) error {
	k, ok := ctx.Value(ticketKey{}).(*ticket)
	if !ok { // the server's own questions, such as those of a reload
		return fn(ctx)
	}
	if err := ctx.Err(); err != nil { // of a request that was broken off nothing is asked
		return err
	}
	if !k.begun.Load() {
		if err := t.rates.admit(k.owner); err != nil {
			return err
		}
	}
	if err := t.enter(ctx, c, k); err != nil {
		return err
	}
	defer t.leave(c, k)
	begun := k.begun.Swap(true)
	if !begun {
		ctx = store.WithPatience(ctx, time.Duration(k.left.Load()))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(k.work.Load()))
	defer cancel()
	start := time.Now()
	err := fn(ctx)
	k.work.Add(-int64(time.Since(start)))
	if errors.Is(err, store.ErrBusy) {
		k.begun.Store(begun)
		return errBusy(c)
	}
	return err
}

// charge counts a question against the rate of its owner.
func (t *turns) charge(ctx context.Context, c store.Cost) {
	if k, ok := ctx.Value(ticketKey{}).(*ticket); ok && t.rates != nil {
		t.rates.charge(k.owner, units[c], time.Now())
	}
}

// fairStore is a store whose questions wait for their turns.
type fairStore struct {
	store.Store
	turns *turns
}

func (s fairStore) Page(ctx context.Context, q store.Query) (p *store.Page, err error) {
	cost := s.Cost(q)
	err = s.turns.run(ctx, cost, func(ctx context.Context) error {
		s.turns.charge(ctx, cost)
		p, err = s.Store.Page(ctx, q)
		return err
	})
	return p, err
}

func (s fairStore) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	return s.turns.run(ctx, store.CostPage, func(ctx context.Context) error { return s.Store.Fetch(ctx, collection, rows, want, fn) })
}

// State is that of the store in turns; 0 always where the store cannot name it.
func (s fairStore) State(ctx context.Context) (n uint64, err error) {
	st, ok := s.Store.(store.Stated)
	if !ok {
		return 0, nil
	}
	err = s.turns.run(ctx, store.CostPage, func(ctx context.Context) error {
		n, err = st.State(ctx)
		return err
	})
	return n, err
}

// fairNeighbours is store.Neighbourly in turns.
type fairNeighbours struct {
	store.Neighbourly
	turns *turns
}

func (s fairNeighbours) Neighbours(ctx context.Context, collection, id string) (row store.Row, prev, next string, err error) {
	err = s.turns.run(ctx, store.CostPage, func(ctx context.Context) error {
		s.turns.charge(ctx, store.CostPage)
		row, prev, next, err = s.Neighbourly.Neighbours(ctx, collection, id)
		return err
	})
	return row, prev, next, err
}
