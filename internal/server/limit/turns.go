// Package limit keeps one client from taking the server from the others: queues and places for queries to the store
// and for large answers, rates, the memory of answers that are in flight, and files for answers whose readers are
// slow.
//
// It knows neither routes nor formats. An owner (a key, or an address where no key is needed) is a text to it.
package limit

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

// Turns limits how many queries to the store run at a time. Each cost class has slots and a queue of its own,
// so that expensive queries never delay cheap ones. In a queue the owners (keys, or addresses without keys) take turns,
// however many queries each has, and none holds all slots of a class. It is safe for concurrent use.
type Turns struct {
	Wait    time.Duration // of one request, for places and connections, before it is refused
	Work    time.Duration // of one request, for all its questions
	mu      sync.Mutex
	classes [costs]turnClass
	Rates   *Buckets // of owners; nil: none
	Resets  *Buckets // of callers who break off what they asked for
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

// NewTurns gives each class its places.
func NewTurns(l config.Limits, places [len(store.Costs)]int) *Turns {
	t := &Turns{Wait: l.Queue, Work: l.Query, Rates: newRates(l.Rate), Resets: NewBuckets(resetsRate, resetsAtOnce)}
	for i := range places {
		n := max(1, min(places[i], l.Concurrent))
		part := max(1, n-1)
		if store.Cost(i) >= store.CostScan {
			part = (n + 1) / 2
		}
		t.classes[i] = newTurnClass(n, part)
	}
	p := runtime.GOMAXPROCS(0)
	t.classes[CostWriting] = newTurnClass(2*p, p)
	t.classes[CostDirect] = newTurnClass(2*p, 2*p-1)
	t.classes[CostMaking] = newTurnClass(p+1, p)
	t.classes[CostFileDirect] = newTurnClass(2*p, 2*p-1)
	t.classes[CostFileMaking] = newTurnClass(p+1, p)
	t.classes[costHeld] = heldClass(places[store.CostIndexed])
	n := max(4, 4*p)
	t.classes[CostExecuting] = newTurnClass(n, n/2)
	t.classes[CostTile] = newTurnClass(2*p, p)
	return t
}

// heldClass has half as many places as questions with an index have: none in a pool of so few connections that each
// is needed.
func heldClass(indexed int) turnClass {
	n := indexed / 2
	return newTurnClass(n, max(1, n-1))
}

func newTurnClass(places, part int) turnClass {
	return turnClass{free: places, part: part, held: map[string]int{}, ring: list.New(),
		owners: map[string]*list.Element{}}
}

// Classes of work besides questions.
const (
	// CostWriting is that of reading many features and of writing them into an answer. One owner has as many places
	// as there are processors, so that answers of others need not wait for more than that, however many of its own it
	// asks for and breaks off.
	CostWriting = store.Cost(len(store.Costs)) + iota
	// Large answers are made with a place of these: those that go straight to their readers, and those that go into a
	// file first. Files of downloads have their own, since they take longer.
	CostDirect
	CostMaking
	CostFileDirect
	CostFileMaking
	// costHeld is that of large pages that begin early where rows change at any moment. Nobody waits for a place of
	// it: without one a page is made whole.
	costHeld
	// CostExecuting is that of executions that clients wait for. Their questions wait for turns of their own besides.
	CostExecuting
	// CostTile is that of making tiles that are not there. What they ask the store waits for turns of its own besides.
	CostTile
	costs
)

// A Ticket is a request's right to ask the store. It belongs to the request's context.
type Ticket struct {
	Owner  string
	Caller string       // see call.caller
	Begun  atomic.Bool  // it has been answered in part; further questions are not refused
	left   atomic.Int64 // nanoseconds that it may still wait for places and connections
	Work   atomic.Int64 // nanoseconds that its questions may still take
}

type ticketKey struct{}

// With returns ctx with a ticket, under which the store is asked.
func (k *Ticket) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, ticketKey{}, k)
}

// ticketOf returns the ticket of ctx; false where it has none.
func ticketOf(ctx context.Context) (*Ticket, bool) {
	k, ok := ctx.Value(ticketKey{}).(*Ticket)
	return k, ok
}

func (t *Turns) NewTicket(owner string, begun bool) *Ticket {
	k := &Ticket{Owner: owner}
	k.Begun.Store(begun)
	k.left.Store(int64(t.Wait))
	k.Work.Store(int64(t.Work))
	return k
}

// errBusy is what a question that gets no place is answered.
func errBusy(c store.Cost) error {
	switch c {
	case store.CostScan:
		return problem.New(problem.Busy, nil,
			"The server is busy with other searches through whole collections. Try again after the seconds in "+
				"Retry-After, or ask by id, bbox or an indexed property.")
	case store.CostGeometry:
		return problem.New(problem.Busy, nil,
			"The server is busy with other filters that compare geometries. Try again after the seconds in "+
				"Retry-After, or ask by bbox.")
	case CostDirect, CostMaking:
		return problem.New(problem.Busy, nil,
			"The server is busy with large answers. Try again after the seconds in Retry-After, or ask for smaller "+
				"pages.")
	case CostFileDirect, CostFileMaking:
		return problem.New(problem.Busy, nil,
			"The server is busy with other downloads. Try again after the seconds in Retry-After, or select less.")
	}
	return problem.New(problem.Busy, nil, "The server is busy. Try again after the seconds in Retry-After.")
}

// Try takes a place of class c if there is one at once.
func (t *Turns) Try(c store.Cost, k *Ticket) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.classes[c].try(k.Owner)
}

// Enter waits for a place of class c. Work that was begun is never refused: a download that breaks off costs its
// client all of it. The waits of one ticket together are bounded. Who gets a place calls leave.
func (t *Turns) Enter(ctx context.Context, c store.Cost, k *Ticket) error {
	x := &t.classes[c]
	t.mu.Lock()
	if x.try(k.Owner) {
		t.mu.Unlock()
		return nil
	}
	begun := k.Begun.Load()
	left := time.Duration(k.left.Load())
	if !begun && (left <= 0 || x.waiting >= maxWaiting) {
		t.mu.Unlock()
		return errBusy(c)
	}
	w := x.enqueue(k.Owner, begun)
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
		x.release(k.Owner)
		return err
	}
	x.remove(k.Owner, w)
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

func (t *Turns) Leave(c store.Cost, k *Ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.classes[c].release(k.Owner)
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

// Run asks the store for something of class c under the ticket in ctx.
func (t *Turns) Run(ctx context.Context, c store.Cost, fn func(context.Context) error) error {
	k, ok := ticketOf(ctx)
	if !ok { // the server's own questions, such as those of a reload
		return fn(ctx)
	}
	if err := t.begin(ctx, k); err != nil {
		return err
	}
	return t.runIn(ctx, c, k, fn)
}

// begin refuses a question of a request that was broken off, and of one that is the first of too many.
func (t *Turns) begin(ctx context.Context, k *Ticket) error {
	if err := ctx.Err(); err != nil || k.Begun.Load() {
		return err
	}
	return t.Admit(k.Owner, k.Caller)
}

// runIn is run of what has begun.
func (t *Turns) runIn(ctx context.Context, c store.Cost, k *Ticket, fn func(context.Context) error) error {
	if err := t.Enter(ctx, c, k); err != nil {
		return err
	}
	defer t.Leave(c, k)
	begun := k.Begun.Swap(true)
	if !begun {
		ctx = store.WithPatience(ctx, time.Duration(k.left.Load()))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(k.Work.Load()))
	defer cancel()
	start := time.Now()
	err := fn(ctx)
	k.Work.Add(-int64(time.Since(start)))
	if errors.Is(err, store.ErrBusy) {
		k.Begun.Store(begun)
		return errBusy(c)
	}
	return err
}

// Admit refuses a request that is the first of too many.
func (t *Turns) Admit(owner, caller string) error {
	if n, wait := t.Resets.Left(caller, time.Now()); n < 1 {
		return TooMany(wait, "You have broken off more requests than the server begins for one caller. Wait for "+
			"the seconds in Retry-After, and let answers come to their end.")
	}
	return t.Rates.Admit(owner)
}

// Charge counts a question against the rate of its owner.
func (t *Turns) Charge(ctx context.Context, c store.Cost) {
	if k, ok := ticketOf(ctx); ok && t.Rates != nil {
		t.Rates.Charge(k.Owner, Units[c], time.Now())
	}
}

// chargeRead counts n features, read for one question, against the rate of their owner. The first is paid with the
// question that found it.
func (t *Turns) chargeRead(ctx context.Context, n int) {
	if k, ok := ticketOf(ctx); ok && t.Rates != nil && n > 1 {
		t.Rates.Charge(k.Owner, float64(n-1)*unitsRead, time.Now())
	}
}

// Counted counts the rows that a query reads; done must be called at its end.
func (t *Turns) Counted(ctx context.Context, fn func(*store.Feature) error) (count func(*store.Feature) error,
	done func()) {
	n := 0
	return func(f *store.Feature) error { n++; return fn(f) }, func() { t.chargeRead(ctx, n) }
}

// Queued reports whether a question waits for its turn.
func (t *Turns) Queued() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.classes {
		if t.classes[i].waiting > 0 {
			return true
		}
	}
	return false
}

// ManyFeatures is from how many features on their writing waits for its turn.
const ManyFeatures = 50
