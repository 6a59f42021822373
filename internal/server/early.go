package server

import (
	"context"
	"errors"

	"grense/internal/server/limit"
	"grense/internal/store"
)

// Where rows change at any moment a large page is read from one state of the data, so that it may begin before it is made: nothing that is written meanwhile breaks it off. That takes a
// connection until its features are read, so only a few pages at a time are; the others are made whole, as small ones are.

// mayBeginEarly reports whether the answer is of a kind that begins with its first features, and does not wait for its reader with them.
func (c *Call) mayBeginEarly() bool {
	file := c.pageFormat()
	return c.Response != nil && c.Format.F != AsHTML.F && (file == nil || file.Streams) && limit.NewSpool(c.s.makers) != nil && c.moves()
}

// page asks for the page that q selects, and holds the state of the data where the answer may begin early, or has met two states of a file before.
func (c *Call) page(ctx context.Context, q store.Query) (*store.Page, error) {
	again := c.retries > 0 && !c.Catalog.Live && c.Response != nil && c.Format.F != AsHTML.F && q.Limit > 0 && limit.NewSpool(c.s.makers) != nil
	if !again && (q.Limit < LargeAnswer || !c.mayBeginEarly()) {
		return c.s.Store.Page(ctx, q)
	}
	p, held, err := c.s.fair.PageHeld(ctx, q)
	if held != nil {
		c.early = held
		if len(p.Rows) < LargeAnswer && !again {
			c.letGo()
		}
	}
	return p, err
}

// letGo ends what page holds, once nothing more is read from it.
func (c *Call) letGo() {
	if c.early != nil {
		c.early.Close()
		c.early = nil
	}
}

// fetchHeld reads features from the state that page holds. One that is lost before the first byte is done without: the store asks again where a connection breaks.
func (c *Call) fetchHeld(ctx context.Context, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	n := 0
	err := c.early.Fetch(ctx, c.Collection.ID, rows, want, func(f *store.Feature) error {
		n++
		return fn(f)
	})
	if !errors.Is(err, store.ErrUnavailable) || c.Response.status != 0 || want.SkipMissing {
		return err
	}
	c.letGo()
	return c.s.Store.Fetch(ctx, c.Collection.ID, rows[n:], want, fn)
}

// fetch reads features of the call's collection, with the geometries that it asks for.
func (c *Call) fetch(ctx context.Context, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	if IsVersioned(c.Collection) {
		want.VersionIDs = c.output().versionIDs
	}
	if c.simple != nil && !want.NoGeometry {
		fn = c.simple.each(fn)
	}
	if c.early != nil {
		return c.fetchHeld(ctx, rows, want, fn)
	}
	return c.s.Store.Fetch(ctx, c.Collection.ID, rows, want, fn)
}
