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
	store.Store // of the data
	past        *gpkg.Store
	version     string // of the history

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
	return &withPast{Store: st, past: past, version: version}, nil
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

// Catalog returns the catalog of the data with the collections of the history. Its version covers both.
func (s *withPast) Catalog() *store.Catalog { return s.merged(s.Store.Catalog()) }

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
	if s.inPast(s.Store.Catalog(), collection) {
		return s.past
	}
	return s.Store
}

func (s *withPast) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	part := s.part(q.Collection)
	p, err := part.Page(ctx, q)
	if err != nil {
		return nil, err
	}
	p.Version = s.versionOf(part, p)
	return p, nil
}

// versionOf returns the version of the merged catalog for a page of a part.
func (s *withPast) versionOf(part store.Store, p *store.Page) string {
	if now := s.Store.Catalog(); part == s.past || now.Version == p.Version {
		return s.merged(now).Version
	}
	return s.named(p.Version)
}

func (s *withPast) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return s.part(collection).Fetch(ctx, collection, rows, want, fn)
}

func (s *withPast) Cost(q store.Query) store.Cost { return s.part(q.Collection).Cost(q) }

func (s *withPast) Explain(ctx context.Context, q store.Query) (*store.Plan, error) {
	return s.part(q.Collection).Explain(ctx, q)
}

func (s *withPast) Close() error { return errors.Join(s.Store.Close(), s.past.Close()) }

// Snapshot returns a snapshot of the data with the history.
func (s *withPast) Snapshot(ctx context.Context) (store.Snapshot, error) {
	return s.pinned(s.Store.Snapshot(ctx))
}

// Hold returns a snapshot that writers cannot end. The history never changes.
func (s *withPast) Hold(ctx context.Context) (store.Snapshot, error) {
	return s.pinned(s.Store.Hold(ctx))
}

func (s *withPast) pinned(of store.Snapshot, err error) (store.Snapshot, error) {
	if err != nil {
		return nil, err
	}
	return &snapshotWithPast{of, s}, nil
}

// Version returns the version of the data and the history.
func (s *withPast) Version(ctx context.Context, collections ...string) (store.Version, error) {
	return s.versionIn(ctx, s.Store, collections)
}

// versionIn returns the version of collections. Those of the history never change.
func (s *withPast) versionIn(ctx context.Context, of store.Reader, collections []string) (store.Version, error) {
	rest := make([]string, 0, len(collections))
	for _, id := range collections {
		if s.part(id) != s.past {
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 && len(collections) > 0 {
		return store.Version(s.named("")), nil
	}
	v, err := of.Version(ctx, rest...)
	if v == "" {
		return "", err
	}
	return store.Version(s.named(string(v))), err
}

type snapshotWithPast struct {
	store.Snapshot
	s *withPast
}

func (x *snapshotWithPast) Catalog() *store.Catalog { return x.s.merged(x.Snapshot.Catalog()) }

func (x *snapshotWithPast) Version(ctx context.Context, collections ...string) (store.Version, error) {
	return x.s.versionIn(ctx, x.Snapshot, collections)
}

func (x *snapshotWithPast) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if !x.s.inPast(x.Snapshot.Catalog(), q.Collection) {
		p, err := x.Snapshot.Page(ctx, q)
		if err == nil {
			p.Version = x.s.named(p.Version)
		}
		return p, err
	}
	p, err := x.s.past.Page(ctx, q)
	if err == nil {
		p.Version = x.Catalog().Version
	}
	return p, err
}

func (x *snapshotWithPast) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	if !x.s.inPast(x.Snapshot.Catalog(), collection) {
		return x.Snapshot.Fetch(ctx, collection, rows, want, fn)
	}
	return x.s.past.Fetch(ctx, collection, rows, want, fn)
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
