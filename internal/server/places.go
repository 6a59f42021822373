package server

import (
	"time"

	"grense/internal/server/limit"
	"grense/internal/store"
)

// Hold tells flight that the answer to c holds so many bytes more; what is left when the request ends is given back.
func (c *Call) Hold(change int) {
	c.held += change
	c.s.Flight.Held.Add(int64(change))
}

// LargeAnswer is the number of features or hits from which on an answer is a large one.
const LargeAnswer = 500

// Large takes a place for an answer that may be large, before its features are asked for. The place is held until the
// answer is made, or its reader proves slow. Memory is given out in turns: where that takes too long, the answer is
// refused.
func (c *Call) Large() error { return c.makeLarge(limit.CostDirect, limit.CostMaking) }

// largeFile is large for a file that is made for one reader.
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

// writing takes a place to write many features, until the answer goes out or the store is asked again. Of a request
// that is broken off meanwhile nothing is written.
func (c *Call) Writing() error {
	w := c.Response
	// who holds a connection must not wait for those who wait for one
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

// Ticket returns one of the call. With begun, its work goes on with what was answered before.
func (c *Call) Ticket(begun bool) *limit.Ticket {
	k := c.s.Turns.NewTicket(c.Owner(), begun)
	k.Caller = c.caller()
	return k
}

// brokenOff counts a request whose client did not wait for its answer, and as a page what it would have asked.
func (c *Call) brokenOff() {
	t := c.s.Turns
	t.Resets.Charge(c.caller(), 1, time.Now())
	if c.Right == nil && !c.paid {
		t.ChargeOwner(c.Owner(), limit.Units[store.CostPage])
	}
}

// Pay refuses a call whose owner has used up the rate, unless it goes on with what was begun, and charges it as a
// page: for what is answered without a question to the store.
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

// PayOnce is Pay for a call that may have asked the store before; then it goes on.
func (c *Call) PayOnce() error { return c.Pay(c.Right != nil || c.paid) }

// largeTicket returns a ticket of the call for a place of a large answer.
func (c *Call) LargeTicket() *limit.Ticket {
	return c.s.Makers.Ticket(c.Owner(), c.caller(), c.continues)
}
