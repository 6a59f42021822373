package server

import (
	"time"

	"grense/internal/store"
)

// making is a response in flight, for which identical requests wait. The mutex of answers guards it.
type making struct {
	all   *answers
	hash  uint64
	key   answerKey
	state store.Version // version of all data at or before the start: the response is not older
	began time.Time     // in the time zone of the data

	done   chan struct{} // closed at the end; nil without waiting requests
	answer *keptAnswer   // nil if the response cannot be shared
	left   bool          // the client disconnected: another request has to build it
}

// stateSeen is the latest known version of all data of a catalog.
type stateSeen struct {
	cat   *store.Catalog
	state store.Version
}

// saw records a version of all data.
func (a *answers) saw(cat *store.Catalog, state store.Version) {
	if a == nil {
		return
	}
	if l := a.last.Load(); l == nil || l.cat != cat || l.state != state {
		a.last.Store(&stateSeen{cat, state})
	}
}

// seen is the version of all data that was last seen, of a file the present one; "" where none was.
func (c caching) seen() store.Version {
	a := c.s.answers
	if l := a.last.Load(); l != nil && l.cat == c.Catalog {
		return l.state
	}
	if c.Catalog.Live {
		return ""
	}
	state, err := c.dataVersion()
	if err != nil {
		return ""
	}
	a.saw(c.Catalog, state)
	return state
}

// first begins an answer that was not asked for of late; nil where no state of the data was seen, by which others could tell whether it is new enough. It is busy when the same is under way.
func (a *answers) first(c caching, k answerKey, hash uint64) (m *making, busy bool) {
	state := c.seen()
	if state == "" {
		return nil, false
	}
	m = &making{all: a, hash: hash, key: k, state: state, began: time.Now().In(c.Zone())}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.making[hash] != nil {
		return nil, true
	}
	a.making[hash] = m
	return m, false
}

// begin registers a response in flight. If an identical one of the same data version and day exists, it returns that
// one.
func (a *answers) begin(m *making) (other *making) {
	a.mu.Lock()
	defer a.mu.Unlock()
	other = a.making[m.hash]
	if other == nil || other.key != m.key || other.state != m.state || other.began.Format(time.DateOnly) != m.began.Format(time.DateOnly) {
		a.making[m.hash] = m
		return nil
	}
	if other.done == nil {
		other.done = make(chan struct{})
	}
	return other
}

// waited reports whether requests wait for the response. Afterwards no request joins it.
func (m *making) waited() bool {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.leave()
	return m.done != nil
}

// leave removes m from the responses in flight. The caller holds the mutex.
func (m *making) leave() {
	if m.all.making[m.hash] == m {
		delete(m.all.making, m.hash)
	}
}

// end wakes the waiting requests. answer is nil if it cannot be shared; left means that the client disconnected. It is
// called once.
func (m *making) end(answer *keptAnswer, left bool) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.leave()
	m.answer, m.left = answer, left
	if m.done != nil {
		close(m.done)
	}
}

// join begins an answer, or waits for that of another request, for as long as questions of one may take: other is what that made, m what was begun. Neither: the call is to make its own, for itself.
func (c caching) join(n *making) (other *keptAnswer, m *making, err error) {
	var late *time.Timer
	for {
		m := n.all.begin(n)
		if m == nil {
			return nil, n, nil
		}
		if late == nil {
			late = time.NewTimer(c.s.Turns.Wait + c.s.Turns.Work)
			defer late.Stop()
		}
		select {
		case <-m.done:
		case <-late.C:
			return nil, nil, nil
		case <-c.Request.Context().Done():
			return nil, nil, c.Request.Context().Err()
		}
		if m.answer != nil || !m.left {
			return m.answer, nil, nil
		}
	}
}

// make makes an answer, for those too who wait for m; nil: nobody can.
func (c caching) make(m *making, made func() error) error {
	c.s.answers.Count(false)
	if m == nil {
		return made()
	}
	c.Response.lead = m
	defer func() {
		if c.Response.lead == m { // nothing was sent
			c.Response.lead = nil
			m.end(nil, c.Request.Context().Err() != nil)
		}
	}()
	return made()
}

// leads is the answer that others may wait for; nil: there is none.
func (c caching) leads() *making {
	if c.Response == nil {
		return nil
	}
	return c.Response.lead
}

// hand gives an answer to those who wait for it; nil: there is none for them.
func (c caching) hand(a *keptAnswer) {
	if m := c.leads(); m != nil {
		c.Response.lead = nil
		m.end(a, false)
	}
}

// wanted is what is known of an answer that is to be kept, or that others wait for; nil: it is neither. Nobody begins to wait for one that is not to be kept from then on.
func (c caching) wanted() *keeping {
	m := c.leads()
	if c.keep != nil || m == nil {
		return c.keep
	}
	if !m.waited() {
		c.Response.lead = nil
		return nil
	}
	return &keeping{key: m.key, state: m.state, day: m.began.Format(time.DateOnly), once: true}
}
