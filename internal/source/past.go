package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"grense/internal/history"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// pastDate is the date of the last change in the built-in history.
var pastDate = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// withPast is a store with the collections of the built-in history in addition, unless the data have a history. The
// rows of the history are in a file of their own in the data directory, which never changes.
type withPast struct {
	readerWithPast
	data    store.Store
	past    *gpkg.Store
	version string // of the history

	mu       sync.Mutex
	of, with *store.Catalog // last catalog of the data, and the same with the history
}

// addPast adds the built-in history to st. Closing the result closes st, and so does an error.
func addPast(ctx context.Context, st store.Store, o Options) (store.Store, error) {
	p, err := openPast(ctx, st, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot add the history: %w", err), st.Close())
	}
	return p, nil
}

func openPast(ctx context.Context, st store.Store, o Options) (*withPast, error) {
	version, err := history.NorwayVersion()
	if err != nil {
		return nil, err
	}
	path, err := builtIn{"history-", version, writePast}.path(ctx, o.DataDir)
	if err != nil {
		return nil, err
	}
	past, err := gpkg.Open(ctx, path, gpkg.Options{DataDir: o.DataDir, Settings: Settings(o.Config), Logger: o.Logger,
		Unchanging: true})
	if err != nil {
		return nil, err
	}
	s := &withPast{data: st, past: past, version: version}
	s.readerWithPast = readerWithPast{st, s}
	return s, nil
}

func writePast(ctx context.Context, path string) error {
	w, err := gpkg.CreateDated(ctx, path, pastDate)
	if err != nil {
		return err
	}
	defer w.Close()
	times, err := history.Norway()
	if err != nil {
		return err
	}
	if err := history.Write(ctx, w, times); err != nil {
		return err
	}
	return w.Commit(ctx)
}

func (s *withPast) merged(c *store.Catalog) *store.Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == s.of {
		return s.with
	}
	with, past := *c, s.past.Catalog()
	with.Version = s.named(c.Version)
	if !brings(c) {
		with.Collections = append(slices.Clip(c.Collections), past.Collections...)
		with.Notes = append(slices.Clip(c.Notes), past.Notes...)
		with.Hidden = append(slices.Clip(c.Hidden), past.Hidden...)
	}
	s.of, s.with = c, &with
	return s.with
}

// brings reports whether the data have a history, or a part of one.
func brings(c *store.Catalog) bool {
	return slices.ContainsFunc(history.Collections(), func(h *store.Collection) bool {
		_, ok := c.Collection(h.ID)
		return ok
	})
}

// named combines a version of the data with that of the history.
func (s *withPast) named(version string) string {
	sum := sha256.Sum256([]byte(version + " " + s.version))
	return fmt.Sprintf("%x", sum[:8])
}

// inPast reports whether a collection belongs to the history; c is the catalog of the data.
func (s *withPast) inPast(c *store.Catalog, collection string) bool {
	if _, ok := c.Collection(collection); ok || brings(c) {
		return false
	}
	_, ok := s.past.Catalog().Collection(collection)
	return ok
}

// part returns the store that has a collection.
func (s *withPast) part(collection string) store.Store {
	if s.inPast(s.data.Catalog(), collection) {
		return s.past
	}
	return s.data
}

func (s *withPast) Cost(q store.Query) store.Cost { return s.part(q.Collection).Cost(q) }

func (s *withPast) Explain(ctx context.Context, q store.Query) (*store.Plan, error) {
	return s.part(q.Collection).Explain(ctx, q)
}

// All runs the query on the store that has the collection.
func (s *withPast) All(ctx context.Context, q store.AllQuery) (*store.All, error) {
	return s.part(q.Collection).All(ctx, q)
}

// Neighbours runs the query on the store that has the collection.
func (s *withPast) Neighbours(ctx context.Context, collection,
	id string) (row store.Row, prev, next string, err error) {
	return s.part(collection).Neighbours(ctx, collection, id)
}

// Life runs the query on the store that has the collection.
func (s *withPast) Life(ctx context.Context, q store.LifeQuery) (*store.Life, error) {
	return s.part(q.Collection).Life(ctx, q)
}

func (s *withPast) Room() [len(store.Costs)]int { return s.data.Room() }

func (s *withPast) Connections() store.Connections { return s.data.Connections() }

func (s *withPast) Reload(ctx context.Context) error { return s.data.Reload(ctx) }

func (s *withPast) Ready(ctx context.Context) error { return s.data.Ready(ctx) }

func (s *withPast) Close() error { return errors.Join(s.data.Close(), s.past.Close()) }

// Snapshot returns a snapshot of the data with the history.
func (s *withPast) Snapshot(ctx context.Context) (store.Snapshot, error) {
	return s.pinned(s.data.Snapshot(ctx))
}

// Hold returns a snapshot that writers cannot end. The history never changes.
func (s *withPast) Hold(ctx context.Context) (store.Snapshot, error) {
	return s.pinned(s.data.Hold(ctx))
}

func (s *withPast) pinned(of store.Snapshot, err error) (store.Snapshot, error) {
	if err != nil {
		return nil, err
	}
	return &snapshotWithPast{readerWithPast{of, s}, of}, nil
}

type snapshotWithPast struct {
	readerWithPast
	of store.Snapshot
}

func (x *snapshotWithPast) Holds() bool { return x.of.Holds() }

func (x *snapshotWithPast) Close() error { return x.of.Close() }

// readerWithPast reads data, or a snapshot of them, with the history.
type readerWithPast struct {
	of store.Reader
	s  *withPast
}

// Catalog returns the catalog of the data with the collections of the history. Its version covers both.
func (r readerWithPast) Catalog() *store.Catalog { return r.s.merged(r.of.Catalog()) }

// Version returns the version of the data and the history, whose collections never change.
func (r readerWithPast) Version(ctx context.Context, collections ...string) (store.Version, error) {
	rest := make([]string, 0, len(collections))
	for _, id := range collections {
		if !r.s.inPast(r.of.Catalog(), id) {
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 && len(collections) > 0 {
		return store.Version(r.s.named("")), nil
	}
	v, err := r.of.Version(ctx, rest...)
	if v == "" {
		return "", err
	}
	return store.Version(r.s.named(string(v))), err
}

func (r readerWithPast) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if !r.s.inPast(r.of.Catalog(), q.Collection) {
		p, err := r.of.Page(ctx, q)
		if err == nil {
			p.Version = r.s.named(p.Version)
		}
		return p, err
	}
	p, err := r.s.past.Page(ctx, q)
	if err == nil {
		p.Version = r.Catalog().Version
	}
	return p, err
}

func (r readerWithPast) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	if !r.s.inPast(r.of.Catalog(), collection) {
		return r.of.Fetch(ctx, collection, rows, want, fn)
	}
	return r.s.past.Fetch(ctx, collection, rows, want, fn)
}
