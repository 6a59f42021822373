// Package codes answers what codes of divisions stood for through time, and what became of them.
package codes

import (
	"context"
	"sync/atomic"

	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/store"
)

// Codes holds the history of divisions, which is read once for each catalog. It is safe for concurrent use.
type Codes struct {
	*server.Kit
	read atomic.Pointer[readTimes]
	turn chan struct{} // one request reads at a time; waiting for it can be cancelled
}

// New returns the history of the data that a kit serves.
func New(k *server.Kit) *Codes { return &Codes{Kit: k, turn: make(chan struct{}, 1)} }

// Reader reads the history for one request.
type Reader struct {
	*server.Call
	codes *Codes
}

// Reader returns a reader for a call.
func (x *Codes) Reader(c *server.Call) Reader { return Reader{c, x} }

// readTimes is the history of a catalog.
type readTimes struct {
	of *store.Catalog
	h  *history.History
}

// History returns the history of divisions in the data, or the configured one; nil if there is none.
func (c Reader) History() (*history.History, error) {
	if !history.Has(c.Catalog) {
		return c.codes.Past, nil
	}
	t := c.codes
	if r := t.read.Load(); r != nil && r.of == c.Catalog {
		return r.h, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-c.Request.Context().Done():
		return nil, c.Request.Context().Err()
	}
	if r := t.read.Load(); r != nil && r.of == c.Catalog { // another request has read it
		return r.h, nil
	}
	r := &readTimes{of: c.Catalog}
	err := c.Ask(func(ctx context.Context) (err error) {
		r.h, err = history.Load(ctx, c.codes.Store)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.read.Store(r)
	return r.h, nil
}

// Scheme returns the scheme whose codes are the ids of the collection; nil if they are no codes.
func (c Reader) Scheme() (*history.Scheme, error) {
	if !c.codes.ShowsTime(c.Catalog, c.Collection) {
		return nil, nil
	}
	h, err := c.History()
	if err != nil || h == nil {
		return nil, err
	}
	return h.Scheme(server.SchemeID(c.Collection)), nil
}

// CollectionOf returns the public collection whose ids are codes of a scheme; nil if there is none.
func (c Reader) CollectionOf(scheme string) *store.Collection {
	for _, coll := range c.Catalog.Collections {
		if coll.Public && c.codes.ShowsTime(c.Catalog, coll) && server.SchemeID(coll) == scheme {
			return coll
		}
	}
	return nil
}

// ErrNoHistory returns the error for data without a history of divisions.
func ErrNoHistory() error {
	return problem.NotFoundf("the data served here have no history of divisions; the operator adds one with " +
		"--history norway, or with grense lineage import")
}

func SchemeIDs(h *history.History) (ids []string) {
	for _, x := range h.Schemes() {
		ids = append(ids, x.ID)
	}
	return ids
}

// Meant returns what a code stood for on a day, or, without a day, what it stands for today or last stood for; and a
// day of that time.
func (c Reader) Meant(s *history.Scheme, code string, at history.Date) (*history.Version, history.Date, error) {
	all := s.Meanings(s.Whole(code))
	if len(all) == 0 {
		return nil, 0, problem.NotFoundf("%s has no code %q and never had", s.ID, problem.Clip(code))
	}
	code = all[0].Code
	asked := at != 0
	if !asked {
		at = c.Today()
	}
	v, err := s.At(code, at)
	switch {
	case err == nil:
		return v, at, nil
	case asked:
		return nil, 0, c.NotInUse(s, code, at)
	}
	v = all[len(all)-1]
	return v, v.SomeDay(), nil
}

// Beginning is a day before everything that is known.
const Beginning = history.Date(10101)
