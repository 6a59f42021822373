package server

import (
	"time"

	"grense/internal/store"
)

// inFlight is a response in flight, for which identical requests wait. The mutex of answers guards it.
type inFlight struct {
	all   *answers
	hash  uint64
	key   answerKey
	state store.Version // version of all data at or before the start: the response is not older
	began time.Time     // in the time zone of the data

	done   chan struct{}   // closed at the end; nil without waiting requests
	answer *cachedResponse // nil if the response cannot be shared
	left   bool            // the client disconnected: another request has to build it
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

// seen returns the latest known version of all data; for a file the current version. It returns "" if none is known.
func (c caching) seen() store.Version {
	a := c.s.answers
	if l := a.last.Load(); l != nil && l.cat == c.Catalog {
		return l.state
	}
	if c.Catalog.Live {
		return ""
	}
	state, err := c.DataVersion()
	if err != nil {
		return ""
	}
	a.saw(c.Catalog, state)
	return state
}

// first registers a response in flight for a request that did not come recently. m is nil if no data version is known,
// by which others could check its age. busy: an identical response is in flight.
func (a *answers) first(c caching, k answerKey, hash uint64) (m *inFlight, busy bool) {
	state := c.seen()
	if state == "" {
		return nil, false
	}
	m = &inFlight{all: a, hash: hash, key: k, state: state, began: time.Now().In(c.Zone())}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inFlight[hash] != nil {
		return nil, true
	}
	a.inFlight[hash] = m
	return m, false
}

// begin registers a response in flight. If an identical one of the same data version and day exists, it returns that
// one.
func (a *answers) begin(m *inFlight) (other *inFlight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	other = a.inFlight[m.hash]
	if other == nil || other.key != m.key || other.state != m.state ||
		other.began.Format(time.DateOnly) != m.began.Format(time.DateOnly) {
		a.inFlight[m.hash] = m
		return nil
	}
	if other.done == nil {
		other.done = make(chan struct{})
	}
	return other
}

// waited reports whether requests wait for the response. Afterwards no request joins it.
func (m *inFlight) waited() bool {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.leave()
	return m.done != nil
}

// leave removes m from the responses in flight. The caller holds the mutex.
func (m *inFlight) leave() {
	if m.all.inFlight[m.hash] == m {
		delete(m.all.inFlight, m.hash)
	}
}

// end wakes the waiting requests. answer is nil if it cannot be shared; left means that the client disconnected. It is
// called once.
func (m *inFlight) end(answer *cachedResponse, left bool) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.leave()
	m.answer, m.left = answer, left
	if m.done != nil {
		close(m.done)
	}
}

// join registers n, or waits for an identical response, at most as long as a request may take. It returns the response
// of the other request, or n if that was registered. If both are nil, the caller builds a response for itself.
func (c caching) join(n *inFlight) (other *cachedResponse, m *inFlight, err error) {
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

// make calls made to write the response, which is shared with the requests that wait for m. m may be nil.
func (c caching) make(m *inFlight, made func() error) error {
	c.s.answers.Count(false)
	if m == nil {
		return made()
	}
	c.lead = m
	defer func() {
		if c.lead == m { // nothing was sent
			c.lead = nil
			m.end(nil, c.Request.Context().Err() != nil)
		}
	}()
	return made()
}

// hand passes the response to the requests that wait for it; nil if it cannot be shared.
func (c caching) hand(a *cachedResponse) {
	if m := c.lead; m != nil {
		c.lead = nil
		m.end(a, false)
	}
}

// wanted returns what to store of a response that will be cached or that others wait for; nil if it is neither. After
// the call, no request can join a response that will not be cached.
func (c caching) wanted() *entry {
	m := c.lead
	if c.keep != nil || m == nil {
		return c.keep
	}
	if !m.waited() {
		c.lead = nil
		return nil
	}
	return &entry{key: m.key, state: m.state, day: m.began.Format(time.DateOnly), once: true}
}
