package server

import (
	"errors"
	"net/http"
	"sync"
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

// release gives the places of an answer back.
func (w *response) release() {
	w.Resting()
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// takePlace leaves the place of a large answer to the caller, who gives it back by what is returned, once or more
// often.
func (w *response) TakePlace() (leave func()) {
	if w == nil || w.leave == nil {
		return func() {}
	}
	leave, w.leave = sync.OnceFunc(w.leave), nil
	return leave
}

// keep puts b behind what waits for its reader, and returns how much of it there is room for. Where there is none,
// the place of a large answer stays taken until the answer is out, so that memory has its bound.
func (w *response) keep(b []byte) int {
	n, err := w.spool.Write(b)
	if n > 0 && w.direct {
		w.release()
	}
	w.spooled = err != nil
	return n
}

// fromDisk says that what follows comes from a file, so that nothing of it needs to be kept in another one, and no
// place.
func (w *response) FromDisk() {
	if w == nil || w.spool != nil && w.spool.Size > 0 {
		return
	}
	w.spool, w.spooled = nil, true
	w.release()
}

// push sends on what the connection gathers, so that the beginning of a long answer does not wait for more of it. It
// does nothing where the answer goes by way of a file.
func (w *response) Push() error {
	if w == nil || w.spool != nil {
		return nil
	}
	_, err := w.timed(0, func() (int64, error) {
		err := http.NewResponseController(w.ResponseWriter).Flush()
		if errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
		return 0, err
	})
	return err
}

// drain sends what waits for its reader. Little of the answer is in memory then.
func (w *response) drain() error {
	s := w.spool
	if s == nil {
		return nil
	}
	w.spool, w.spooled = nil, true // from here on it is sent as it comes
	defer s.Close()
	plain := make([]byte, limit.SpoolBlock)
	for at := int64(0); at < s.Size; {
		b, next, err := s.Read(at, plain)
		if err == nil {
			_, err = w.send(b)
		}
		if err != nil {
			return err
		}
		at = next
	}
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

// resting gives the place of writing back.
func (w *response) Resting() {
	if w != nil && w.rest != nil {
		w.rest()
		w.rest = nil
	}
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

// largeTicket returns a ticket of the call for a place of a large answer.
func (c *Call) LargeTicket() *limit.Ticket {
	return c.s.Makers.Ticket(c.Owner(), c.caller(), c.continues)
}
