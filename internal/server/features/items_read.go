package features

import (
	"context"
	"errors"

	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/store"
)

// Rows of a database may change at any moment. A large page can therefore be read from a snapshot, so that its
// response may begin before all features are read. A snapshot needs a connection until its features are read, so only
// a few pages at a time have one. Other pages are built whole before they are sent, as small ones are.

// mayBeginEarly reports whether the response may begin with its first features and does not wait for a slow client.
func (c *call) mayBeginEarly() bool {
	file := c.pageFormat()
	return c.Response != nil && c.Format.F != media.HTML.F && (file == nil || file.Streams) &&
		limit.NewSpool(c.s.Makers) != nil && c.Moves()
}

// page queries the page that q selects. It holds a snapshot if the response may begin early, or if an earlier attempt
// met two versions of a file.
func (c *call) page(ctx context.Context, q store.Query) (*store.Page, error) {
	again := c.Retries > 0 && !c.Catalog.Live && c.Response != nil && c.Format.F != media.HTML.F && q.Limit > 0 &&
		limit.NewSpool(c.s.Makers) != nil
	if !again && (q.Limit < limit.LargeAnswer || !c.mayBeginEarly()) {
		return c.s.Store.Page(ctx, q)
	}
	p, held, err := c.s.Fair.PageHeld(ctx, q)
	if held != nil {
		c.Early = held
		if len(p.Rows) < limit.LargeAnswer && !again {
			c.letGo()
		}
	}
	return p, err
}

// letGo releases the snapshot of page when nothing more is read from it.
func (c *call) letGo() {
	if c.Early != nil {
		c.Early.Close()
		c.Early = nil
	}
}

// fetchHeld reads features from the snapshot of page. If the snapshot is lost before the first byte, fetchHeld reads
// without it, since the store retries when a connection breaks.
func (c *call) fetchHeld(ctx context.Context, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	n := 0
	err := c.Early.Fetch(ctx, c.Collection.ID, rows, want, func(f *store.Feature) error {
		n++
		return fn(f)
	})
	if !errors.Is(err, store.ErrUnavailable) || c.Response.Status != 0 || want.SkipMissing {
		return err
	}
	c.letGo()
	return c.s.Store.Fetch(ctx, c.Collection.ID, rows[n:], want, fn)
}

// fetch reads features of the collection, with the geometries that the request needs.
func (c *call) fetch(ctx context.Context, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	if server.IsVersioned(c.Collection) {
		want.VersionIDs = c.Output().VersionIDs
	}
	if c.simple != nil && !want.NoGeometry {
		fn = c.simple.each(fn)
	}
	if c.Early != nil {
		return c.fetchHeld(ctx, rows, want, fn)
	}
	return c.s.Store.Fetch(ctx, c.Collection.ID, rows, want, fn)
}
