// Package limit shares the server fairly among clients. It has queues and slots for queries and for large responses,
// rates, a memory budget of responses in flight, and files for responses to slow clients.
//
// It knows neither routes nor formats. An owner is an opaque text: a key, or an address where no key is needed.
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
	Wait    time.Duration // that one request may wait for slots and connections before it is refused
	Work    time.Duration // that all queries of one request may take
	mu      sync.Mutex
	classes [costs]turnClass
	Rates   *Buckets // of owners
	Resets  *Buckets // of callers who cancel requests

	accounts Accounts          // nil: none
	failed   map[string]uint64 // errors of the store by class; guarded by mu
}

// turnClass holds the slots and the queue of a class.
type turnClass struct {
	places  int
	free    int
	waits   Waits
	part    int            // slots that one owner may hold
	held    map[string]int // slots by owner
	ring    *list.List     // of *turnOwner with waiting queries; the first is served next
	owners  map[string]*list.Element
	waiting int
}

// turnOwner is the part of a queue that belongs to one owner.
type turnOwner struct {
	name         string
	begun, fresh list.List // of *turnWaiter; queries of requests that are answered in part go first
}

type turnWaiter struct {
	in    *list.List
	at    *list.Element
	ready chan struct{} // closed when it gets a slot
}

// maxWaiting bounds the queue of one class. Each waiter holds a request and its connection.
const maxWaiting = 4096

// NewTurns returns turns with the slots of each class, at most limits.concurrent.
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

// heldClass returns a class with half as many slots as indexed queries have. A pool with one connection gets none.
func heldClass(indexed int) turnClass {
	n := indexed / 2
	return newTurnClass(n, max(1, n-1))
}

func newTurnClass(places, part int) turnClass {
	return turnClass{places: places, free: places, part: part, held: map[string]int{}, ring: list.New(),
		owners: map[string]*list.Element{}}
}

// Classes of work other than queries.
const (
	// CostWriting is for reading many features and encoding them. One owner may hold half of the slots, as many as
	// processors, so that its cancelled requests do not delay others.
	CostWriting = store.Cost(len(store.Costs)) + iota
	// Classes of building large responses: direct ones are sent while they are built, the others go to a file first.
	// Downloads have classes of their own, since they take longer.
	CostDirect
	CostMaking
	CostFileDirect
	CostFileMaking
	// costHeld is for large pages that are sent from a snapshot while rows may change. Nobody queues for it: without a
	// slot the page is built whole.
	costHeld
	// CostExecuting is for synchronous executions of processes. Their queries also wait for slots.
	CostExecuting
	// CostTile is for building tiles that are not cached. Their queries also wait for slots.
	CostTile
	costs
)

// Ticket is the right of one request to query the store. The context of the request carries it.
type Ticket struct {
	Owner  string
	Caller string       // see call.caller
	Begun  atomic.Bool  // the request is answered in part: its further queries are not refused
	left   atomic.Int64 // nanoseconds that it may still wait for slots and connections
	Work   atomic.Int64 // nanoseconds that its queries may still take
	Times  *Times       // records waits and queries; nil: nothing does
}

type ticketKey struct{}

// With returns ctx with the ticket.
func (k *Ticket) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, ticketKey{}, k)
}

// ticketOf returns the ticket of ctx; ok is false if it has none.
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

// errBusy returns the error for a client whose query gets no slot of class c.
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

// Try takes a slot of class c if one is free.
func (t *Turns) Try(c store.Cost, k *Ticket) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.classes[c].try(k.Owner)
}

// Enter waits for a slot of class c; the caller must call Leave. All waits of one ticket share its time. A request that
// is answered in part waits without a limit, since a refusal would cost its client the whole download.
func (t *Turns) Enter(ctx context.Context, c store.Cost, k *Ticket) error {
	x := &t.classes[c]
	t.mu.Lock()
	if x.try(k.Owner) {
		x.waits.add(0)
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
	waited := time.Since(start)
	k.left.Add(-int64(waited))
	k.Times.wait(waited)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		x.waits.add(waited)
		return nil
	}
	if w.at == nil { // it got a slot after await returned
		if ctx.Err() == nil {
			x.waits.add(waited)
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

// try takes a slot if one is free and the owner may have it.
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

// release returns a slot and gives it to the next owner in the queue.
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

// remove deletes a waiter from the queue.
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

// Run calls fn, which queries the store, in a slot of class c under the ticket in ctx.
func (t *Turns) Run(ctx context.Context, c store.Cost, fn func(context.Context) error) error {
	k, ok := ticketOf(ctx)
	if !ok { // queries of the server itself, such as those of a reload
		return fn(ctx)
	}
	if err := t.begin(ctx, k); err != nil {
		return err
	}
	return t.runIn(ctx, c, k, fn)
}

// begin returns an error if the request is cancelled, or if its owner or caller is over the rate. Requests that are
// answered in part are not checked against the rate.
func (t *Turns) begin(ctx context.Context, k *Ticket) error {
	if err := ctx.Err(); err != nil || k.Begun.Load() {
		return err
	}
	return t.Admit(k.Owner, k.Caller)
}

// runIn is Run after begin.
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
	took := time.Since(start)
	k.Work.Add(-int64(took))
	k.Times.query(c, start, took, err)
	t.fail(err)
	if errors.Is(err, store.ErrBusy) {
		k.Begun.Store(begun)
		return errBusy(c)
	}
	return err
}

// Admit returns an error of kind problem.TooMany if the caller cancels too many requests or the owner is over the rate.
func (t *Turns) Admit(owner, caller string) error {
	if n, wait := t.Resets.Left(caller, time.Now()); n < 1 {
		return TooMany("resets", wait, "You have broken off more requests than the server begins for one caller. Wait "+
			"for the seconds in Retry-After, and let answers come to their end.")
	}
	return t.AdmitOwner(owner)
}

// Charge charges the owner of ctx for a query of class c.
func (t *Turns) Charge(ctx context.Context, c store.Cost) {
	if k, ok := ticketOf(ctx); ok {
		t.ChargeOwner(k.Owner, Units[c])
	}
}

// chargeRead charges the owner of ctx for n features. The first one is part of the charge for its query.
func (t *Turns) chargeRead(ctx context.Context, n int) {
	if k, ok := ticketOf(ctx); ok && n > 1 {
		t.ChargeOwner(k.Owner, float64(n-1)*unitsRead)
	}
}

// Counted wraps fn to count the features it gets. done charges for them and must be called.
func (t *Turns) Counted(ctx context.Context, fn func(*store.Feature) error) (count func(*store.Feature) error,
	done func()) {
	n := 0
	if k, ok := ticketOf(ctx); ok {
		fn = k.Times.reading(fn)
	}
	return func(f *store.Feature) error { n++; return fn(f) }, func() { t.chargeRead(ctx, n) }
}

// Queued reports whether any query waits for a slot.
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

// ManyFeatures is the number of features from which a fetch has class CostWriting.
const ManyFeatures = 50
