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
	classes [costs]turnClass
	rates   *buckets // of owners; nil: none
	resets  *buckets // of callers who break off what they asked for
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
	t := &turns{wait: l.Queue, work: l.Query, rates: newRates(l.Rate), resets: newBuckets(resetsRate, resetsAtOnce)}
	for i := range places {
		n := max(1, min(places[i], l.Concurrent))
		part := max(1, n-1)
		if store.Cost(i) >= store.CostScan {
			part = (n + 1) / 2
		}
		t.classes[i] = newTurnClass(n, part)
	}
	p := runtime.GOMAXPROCS(0)
	t.classes[costWriting] = newTurnClass(2*p, p)
	t.classes[costDirect] = newTurnClass(2*p, 2*p-1)
	t.classes[costMaking] = newTurnClass(p+1, p)
	t.classes[costFileDirect] = newTurnClass(2*p, 2*p-1)
	t.classes[costFileMaking] = newTurnClass(p+1, p)
	t.classes[costHeld] = heldClass(places[store.CostIndexed])
	n := max(4, 4*p)
	t.classes[costExecuting] = newTurnClass(n, n/2)
	t.classes[costTile] = newTurnClass(2*p, p)
	return t
}

// heldClass has half as many places as questions with an index have: none in a pool of so few connections that each is needed.
func heldClass(indexed int) turnClass {
	n := indexed / 2
	return newTurnClass(n, max(1, n-1))
}

func newTurnClass(places, part int) turnClass {
	return turnClass{free: places, part: part, held: map[string]int{}, ring: list.New(), owners: map[string]*list.Element{}}
}

// Classes of work besides questions.
const (
	// costWriting is that of reading many features and of writing them into an answer. One owner has as many places as there are
	// processors, so that answers of others need not wait for more than that, however many of its own it asks for and breaks off.
	costWriting = store.Cost(len(store.Costs)) + iota
	// Large answers are made with a place of these: those that go straight to their readers, and those that go into a file first. Files of
	// downloads have their own, since they take longer.
	costDirect
	costMaking
	costFileDirect
	costFileMaking
	// costHeld is that of large pages that begin early where rows change at any moment. Nobody waits for a place of it: without one a page is made whole.
	costHeld
	// costExecuting is that of executions that clients wait for. Their questions wait for turns of their own besides.
	costExecuting
	// costTile is that of making tiles that are not there. What they ask the store waits for turns of its own besides.
	costTile
	costs
)

// manyFeatures is from how many features on their writing waits for its turn.
const manyFeatures = 50

// writing takes a place to write many features, until the answer goes out or the store is asked again. Of a request that is broken off meanwhile
// nothing is written.
func (c *call) writing() error {
	w := c.rw
	if w == nil || w.rest != nil || w.status != 0 || c.early != nil { // who holds a connection must not wait for those who wait for one
		return nil
	}
	if err := c.r.Context().Err(); err != nil {
		return err
	}
	t, k := c.s.turns, c.ticket(c.continues)
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

// A ticket is a request's right to ask the store. It belongs to the request's context.
type ticket struct {
	owner  string
	caller string       // see call.caller
	begun  atomic.Bool  // it has been answered in part; further questions are not refused
	left   atomic.Int64 // nanoseconds that it may still wait for places and connections
	work   atomic.Int64 // nanoseconds that its questions may still take
}

type ticketKey struct{}

// ticket returns one of the call. With begun, its work goes on with what was answered before.
func (c *call) ticket(begun bool) *ticket {
	k := c.s.turns.newTicket(c.owner(), begun)
	k.caller = c.caller()
	return k
}

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
	case costDirect, costMaking:
		return problem.New(problem.Busy, nil, "The server is busy with large answers. Try again after the seconds in Retry-After, or ask for smaller pages.")
	case costFileDirect, costFileMaking:
		return problem.New(problem.Busy, nil, "The server is busy with other downloads. Try again after the seconds in Retry-After, or select less.")
	}
	return problem.New(problem.Busy, nil, "The server is busy. Try again after the seconds in Retry-After.")
}

// try takes a place of class c if there is one at once.
func (t *turns) try(c store.Cost, k *ticket) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.classes[c].try(k.owner)
}

// enter waits for a place of class c. Work that was begun is never refused: a download that breaks off costs its client all of it. The waits
// of one ticket together are bounded. Who gets a place calls leave.
func (t *turns) enter(ctx context.Context, c store.Cost, k *ticket) error {
	x := &t.classes[c]
	t.mu.Lock()
	if x.try(k.owner) {
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

// try takes a place if there is one for the owner.
func (x *turnClass) try(owner string) bool {
	if x.free == 0 || x.held[owner] >= x.part {
		return false
	}
	x.take(owner)
	return true
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
	if err := t.begin(ctx, k); err != nil {
		return err
	}
	return t.runIn(ctx, c, k, fn)
}

// begin refuses a question of a request that was broken off, and of one that is the first of too many.
func (t *turns) begin(ctx context.Context, k *ticket) error {
	if err := ctx.Err(); err != nil || k.begun.Load() {
		return err
	}
	return t.admit(k.owner, k.caller)
}

// runIn is run of what has begun.
func (t *turns) runIn(ctx context.Context, c store.Cost, k *ticket, fn func(context.Context) error) error {
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

// admit refuses a request that is the first of too many.
func (t *turns) admit(owner, caller string) error {
	if n, wait := t.resets.left(caller, time.Now()); n == 0 {
		return tooMany(wait, "You have broken off more requests than the server begins for one caller. Wait for the seconds in Retry-After, and let answers come to their end.")
	}
	return t.rates.admit(owner)
}

// brokenOff counts a request whose client did not wait for its answer, and as a page what it would have asked.
func (c *call) brokenOff() {
	t, now := c.s.turns, time.Now()
	t.resets.charge(c.caller(), 1, now)
	if c.right == nil && !c.paid && t.rates != nil {
		t.rates.charge(c.owner(), units[store.CostPage], now)
	}
}

// charge counts a question against the rate of its owner.
func (t *turns) charge(ctx context.Context, c store.Cost) {
	if k, ok := ctx.Value(ticketKey{}).(*ticket); ok && t.rates != nil {
		t.rates.charge(k.owner, units[c], time.Now())
	}
}

// chargeRead counts n features, read for one question, against the rate of their owner. The first is paid with the question that found it.
func (t *turns) chargeRead(ctx context.Context, n int) {
	if k, ok := ctx.Value(ticketKey{}).(*ticket); ok && t.rates != nil && n > 1 {
		t.rates.charge(k.owner, float64(n-1)*unitsRead, time.Now())
	}
}

// counted counts what a question reads, of which done is told at its end.
func (t *turns) counted(ctx context.Context, fn func(*store.Feature) error) (count func(*store.Feature) error, done func()) {
	n := 0
	return func(f *store.Feature) error { n++; return fn(f) }, func() { t.chargeRead(ctx, n) }
}

// pay refuses a call whose owner has used up the rate, unless it goes on with what was begun, and charges it as a page: for what is answered without a question
// to the store.
func (c *call) pay(begun bool) error {
	t := c.s.turns
	if !begun {
		if err := t.admit(c.owner(), c.caller()); err != nil {
			return err
		}
	}
	if c.paid = true; t.rates != nil {
		t.rates.charge(c.owner(), units[store.CostPage], time.Now())
	}
	return nil
}

// fairStore is a store whose questions wait for their turns.
type fairStore struct {
	store.Store
	turns *turns
}

func (s fairStore) Page(ctx context.Context, q store.Query) (p *store.Page, err error) {
	k, ok := ctx.Value(ticketKey{}).(*ticket)
	if !ok { // the server's own
		return s.Store.Page(ctx, q)
	}
	if err := s.turns.begin(ctx, k); err != nil {
		return nil, err
	}
	cost := s.Cost(q)
	err = s.turns.runIn(ctx, cost, k, func(ctx context.Context) error {
		s.turns.charge(ctx, cost)
		p, err = s.Store.Page(ctx, q)
		return err
	})
	return p, err
}

func (s fairStore) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	return s.turns.run(ctx, costOfFetch(rows), func(ctx context.Context) error {
		count, done := s.turns.counted(ctx, fn)
		defer done()
		return s.Store.Fetch(ctx, collection, rows, want, count)
	})
}

// costOfFetch is the class of reading features, and of what is written of them while they are read.
func costOfFetch(rows []store.Row) store.Cost {
	if len(rows) >= manyFeatures {
		return costWriting
	}
	return store.CostPage
}

// State is that of the store in turns; 0 always where the store cannot name it.
func (s fairStore) State(ctx context.Context) (n uint64, err error) {
	st, ok := s.Store.(store.Stated)
	if !ok {
		return 0, nil
	}
	if g, ok := st.(store.Glanced); ok {
		if n, ok := g.Glance(); ok {
			return n, nil
		}
	}
	err = s.turns.run(ctx, store.CostPage, func(ctx context.Context) error {
		n, err = st.State(ctx)
		return err
	})
	return n, err
}

// Neighbours is that of the store in turns.
func (s fairStore) Neighbours(ctx context.Context, collection, id string) (row store.Row, prev, next string, err error) {
	err = s.turns.run(ctx, store.CostPage, func(ctx context.Context) error {
		s.turns.charge(ctx, store.CostPage)
		row, prev, next, err = s.Store.Neighbours(ctx, collection, id)
		return err
	})
	return row, prev, next, err
}

// fairDated is store.Dated in turns.
type fairDated struct {
	store.Dated
	turns *turns
}

func (s fairDated) Life(ctx context.Context, q store.LifeQuery) (life *store.Life, err error) {
	err = s.turns.run(ctx, store.CostPage, func(ctx context.Context) error {
		s.turns.charge(ctx, store.CostPage)
		life, err = s.Dated.Life(ctx, q)
		return err
	})
	return life, err
}

// askBeside sets what the store can say at once of a feature, of its versions and of what is beside it.
func (s *Server) askBeside(st store.Store) {
	if at, ok := st.(store.Dated); ok {
		s.dated = fairDated{at, s.turns}
	}
	s.atHand, _ = st.(store.DatedAtHand)
}

// Mark is that of the store in turns; "" always where the store has none.
func (s fairStore) Mark(ctx context.Context, collections ...string) (mark string, err error) {
	st, ok := s.Store.(store.Marked)
	if !ok {
		return "", nil
	}
	err = s.turns.run(ctx, store.CostPage, func(ctx context.Context) error {
		mark, err = st.Mark(ctx, collections...)
		return err
	})
	return mark, err
}
