package server

import (
	"time"

	"grense/internal/server/limit"
	"grense/internal/store"
)

// Hold adds bytes to those that Flight counts for this response. The server subtracts the rest when the request ends.
func (c *Call) Hold(change int) {
	c.held += change
	c.s.Flight.Held.Add(int64(change))
}

// LargeAnswer is the number of features or hits from which a response is large.
const LargeAnswer = 500

// Large waits for a slot of a large response, before the first query. The slot is held until the response is built, or
// its client proves slow. It returns an error of kind Busy if that takes too long.
func (c *Call) Large() error { return c.makeLarge(limit.CostDirect, limit.CostMaking) }

// LargeFile is Large for a file that is built for one client.
func (c *Call) LargeFile() error { return c.makeLarge(limit.CostFileDirect, limit.CostFileMaking) }

func (c *Call) makeLarge(direct, making store.Cost) error {
	m, w := c.s.Makers, c.Response
	if w == nil || w.leave != nil || w.Status != 0 {
		return nil
	}
	k := c.LargeTicket()
	if !c.continues {
		if err := m.Turns.Admit(k.Owner, k.Caller); err != nil {
			return err
		}
	}
	if w.direct = m.Turns.Try(direct, k); w.direct {
		w.leave = func() { m.Turns.Leave(direct, k) }
		return nil
	}
	if err := m.Turns.Enter(c.Request.Context(), making, k); err != nil {
		return err
	}
	w.leave, w.spool = func() { m.Turns.Leave(making, k) }, limit.NewSpool(m)
	return nil
}

// Writing waits for a slot of CostWriting. It is held until the response is sent or the next query. Writing fails if
// the request is cancelled.
func (c *Call) Writing() error {
	w := c.Response
	// a holder of a connection must not wait for requests that wait for one
	if w == nil || w.rest != nil || w.Status != 0 || c.Early != nil {
		return nil
	}
	if err := c.Request.Context().Err(); err != nil {
		return err
	}
	t, k := c.s.Turns, c.Ticket(c.continues)
	if err := t.Enter(c.Request.Context(), limit.CostWriting, k); err != nil {
		return err
	}
	w.rest = func() { t.Leave(limit.CostWriting, k) }
	return nil
}

// Ticket returns a ticket of the call. begun: the request continues a response.
func (c *Call) Ticket(begun bool) *limit.Ticket {
	k := c.s.Turns.NewTicket(c.Owner(), begun)
	k.Caller, k.Times = c.caller(), c.times
	return k
}

// brokenOff counts a request that was cancelled, and charges it as a page if it has made no query.
func (c *Call) brokenOff() {
	t := c.s.Turns
	t.Resets.Charge(c.caller(), 1, time.Now())
	if c.Right == nil && !c.paid {
		t.ChargeOwner(c.Owner(), limit.Units[store.CostPage])
	}
}

// Pay charges the call as a page, for a response without a query. Unless begun, it returns an error of kind TooMany if
// the owner is over the rate.
func (c *Call) Pay(begun bool) error {
	t := c.s.Turns
	if !begun {
		if err := t.Admit(c.Owner(), c.caller()); err != nil {
			return err
		}
	}
	c.paid = true
	t.ChargeOwner(c.Owner(), limit.Units[store.CostPage])
	return nil
}

// PayOnce is Pay for a call that may have made queries; then it is not refused.
func (c *Call) PayOnce() error { return c.Pay(c.Right != nil || c.paid) }

// LargeTicket returns a ticket for a slot of a large response.
func (c *Call) LargeTicket() *limit.Ticket {
	k := c.s.Makers.Ticket(c.Owner(), c.caller(), c.continues)
	k.Times = c.times
	return k
}
