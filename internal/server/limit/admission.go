package limit

import (
	"context"
	"time"

	"grense/internal/store"
)

// Admission is what a request holds and owes: its owner in queues and rates, its ticket for queries, its slots, and its
// bytes in memory.
type Admission struct {
	KeyID    string         // API key; "" if none was needed or given
	Address  string         // of the client: the nearest address that is not a trusted proxy
	Right    *Ticket        // ticket for queries; nil before the first
	Resumes  bool           // the request continues a download
	Paid     bool           // charged as a page, for a response without a query
	Early    store.Snapshot // snapshot of a large page that is sent early; nil if there is none
	Times    *Times         // nil: nothing measures the request
	Response *Response      // the writer below compression; nil without a client

	limits *Limits
	held   int // bytes of the response that limits.Flight counts
}

// Limits are the bounds that all requests share.
type Limits struct {
	Turns  *Turns
	Flight Memory
	Makers *Makers // of large responses
}

// Admission returns the admission of a request. response is nil for a request without a client.
func (l *Limits) Admission(response *Response) Admission {
	return Admission{limits: l, Response: response}
}

// Owner returns the owner in queues and rates: the key, or the client's network address without a key.
func (a *Admission) Owner() string {
	if a.KeyID != "" {
		return a.KeyID
	}
	return ShareOf(a.Address)
}

// caller identifies a client in the limit of cancelled requests: one address of an owner, since programs at many
// addresses may use one key.
func (a *Admission) caller() string { return a.Owner() + " " + ShareOf(a.Address) }

// Asking returns ctx with the ticket of the request.
func (a *Admission) Asking(ctx context.Context) context.Context {
	if a.Right == nil {
		a.Right = a.Ticket(a.Resumes)
	}
	return a.Right.With(ctx)
}

// Allow gives the further queries of the request so much time instead of limits.query.
func (a *Admission) Allow(work time.Duration) {
	a.Asking(context.Background())
	a.Right.Work.Store(int64(work))
}

// Ticket returns a ticket of the request. begun: it continues a response.
func (a *Admission) Ticket(begun bool) *Ticket {
	k := a.limits.Turns.NewTicket(a.Owner(), begun)
	k.Caller, k.Times = a.caller(), a.Times
	return k
}

// LargeTicket returns a ticket for a slot of a large response.
func (a *Admission) LargeTicket() *Ticket {
	k := a.limits.Makers.Ticket(a.Owner(), a.caller(), a.Resumes)
	k.Times = a.Times
	return k
}

// Begun reports whether the header of the response has been written.
func (a *Admission) Begun() bool { return a.Response != nil && a.Response.Status != 0 }

// Hold adds bytes to those that Flight counts for this response. Free subtracts them.
func (a *Admission) Hold(change int) {
	a.held += change
	a.limits.Flight.Held.Add(int64(change))
}

// Free subtracts the bytes that Flight counts, and releases the slots of the response.
func (a *Admission) Free() {
	a.Hold(-a.held)
	a.Response.Release()
}

// LargeAnswer is the number of features or hits from which a response is large.
const LargeAnswer = 500

// Large waits for a slot of a large response, before the first query. The slot is held until the response is built, or
// its client proves slow. It returns an error of kind Busy if that takes too long.
func (a *Admission) Large(ctx context.Context) error { return a.large(ctx, CostDirect, CostMaking) }

// LargeFile is Large for a file that is built for one client.
func (a *Admission) LargeFile(ctx context.Context) error {
	return a.large(ctx, CostFileDirect, CostFileMaking)
}

func (a *Admission) large(ctx context.Context, direct, making store.Cost) error {
	m, w := a.limits.Makers, a.Response
	if w == nil || w.leave != nil || w.Status != 0 {
		return nil
	}
	k := a.LargeTicket()
	if !a.Resumes {
		if err := m.Turns.Admit(k.Owner, k.Caller); err != nil {
			return err
		}
	}
	if w.direct = m.Turns.Try(direct, k); w.direct {
		w.leave = func() { m.Turns.Leave(direct, k) }
		return nil
	}
	if err := m.Turns.Enter(ctx, making, k); err != nil {
		return err
	}
	w.leave, w.spool = func() { m.Turns.Leave(making, k) }, NewSpool(m)
	return nil
}

// Writing waits for a slot of CostWriting. It is held until the response is sent or the next query. Writing fails if
// the request is cancelled.
func (a *Admission) Writing(ctx context.Context) error {
	w := a.Response
	// a holder of a connection must not wait for requests that wait for one
	if w == nil || w.rest != nil || w.Status != 0 || a.Early != nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t, k := a.limits.Turns, a.Ticket(a.Resumes)
	if err := t.Enter(ctx, CostWriting, k); err != nil {
		return err
	}
	w.rest = func() { t.Leave(CostWriting, k) }
	return nil
}

// Pay charges the request as a page, for a response without a query. Unless begun, it returns an error of kind TooMany
// if the owner is over the rate.
func (a *Admission) Pay(begun bool) error {
	if !begun {
		if err := a.limits.Turns.Admit(a.Owner(), a.caller()); err != nil {
			return err
		}
	}
	a.charge()
	return nil
}

// PayOnce is Pay for a request that may have made queries; then it is not refused.
func (a *Admission) PayOnce() error { return a.Pay(a.Right != nil || a.Paid) }

// PayForged charges a request with a forged cursor, once.
func (a *Admission) PayForged() {
	if !a.Paid {
		a.charge()
	}
}

func (a *Admission) charge() {
	a.Paid = true
	a.limits.Turns.ChargeOwner(a.Owner(), Units[store.CostPage])
}

// BrokenOff counts a request that was cancelled, and charges it as a page if it has made no query.
func (a *Admission) BrokenOff() {
	a.limits.Turns.Resets.Charge(a.caller(), 1, time.Now())
	if a.Right == nil && !a.Paid {
		a.charge()
	}
}
