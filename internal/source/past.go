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

// pastDate is when the history that is built in was last changed.
var pastDate = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// withPast is a store whose catalog has the history that is built in besides, unless the data bring one. Its rows are in a file of their own in the data
// directory, which is never changed.
type withPast struct {
	store.Store // the data
	past        *gpkg.Store
	version     string // of the history

	mu       sync.Mutex
	of, with *store.Catalog // the last catalog of the data, and the same with the history
}

// addPast puts the history that is built in beside the data of st, which is closed with the result, and on an error.
func addPast(ctx context.Context, st store.Store, o Options) (store.Store, error) {
	p, err := openPast(ctx, st, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot add the history: %w", err), st.Close())
	}
	if _, file := st.(store.Stated); file {
		return pastOfFile{p}, nil
	}
	return pastOfDatabase{p}, nil
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
	past, err := gpkg.Open(ctx, path, gpkg.Options{DataDir: o.DataDir, Settings: Settings(o.Config), Logger: o.Logger, Unchanging: true})
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

// Catalog is that of the data with the collections of the history. Its version is of both.
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

// brings reports whether data have a history of their own, or a part of one.
func brings(c *store.Catalog) bool {
	return slices.ContainsFunc(history.Collections(), func(h *store.Collection) bool {
		_, ok := c.Collection(h.ID)
		return ok
	})
}

// named is the name of a state of the data with the history.
func (s *withPast) named(version string) string {
	sum := sha256.Sum256([]byte(version + " " + s.version))
	return fmt.Sprintf("%x", sum[:8])
}

// inPast reports whether a collection of a catalog of the data, or of none of them, is in the history.
func (s *withPast) inPast(c *store.Catalog, collection string) bool {
	if _, ok := c.Collection(collection); ok || brings(c) {
		return false
	}
	_, ok := s.past.Catalog().Collection(collection)
	return ok
}

// part is the store that has a collection now.
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

// versionOf is the version of the catalog of which a page of a part is.
func (s *withPast) versionOf(part store.Store, p *store.Page) string {
	if now := s.Store.Catalog(); part == s.past || now.Version == p.Version {
		return s.merged(now).Version
	}
	return s.named(p.Version)
}

func (s *withPast) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	return s.part(collection).Fetch(ctx, collection, rows, want, fn)
}

func (s *withPast) Cost(q store.Query) store.Cost { return s.part(q.Collection).Cost(q) }

func (s *withPast) Explain(ctx context.Context, q store.Query) (*store.Plan, error) {
	return s.part(q.Collection).Explain(ctx, q)
}

func (s *withPast) Close() error { return errors.Join(s.Store.Close(), s.past.Close()) }

// Snapshot is one of the data, with the history.
func (s *withPast) Snapshot(ctx context.Context) (store.Snapshot, error) {
	of, err := s.Store.(store.Snapshotter).Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &snapshotWithPast{of, s}, nil
}

// RevisionOf names the state of the data, and of the history.
func (s *withPast) RevisionOf(ctx context.Context, collections ...string) (string, error) {
	return s.revisionOf(collections, func(rest ...string) (string, error) { return s.Store.(store.Revised).RevisionOf(ctx, rest...) })
}

// revisionOf names the state of collections, where of names that of those that are not of the history; of no collection it is that of all.
func (s *withPast) revisionOf(collections []string, of func(...string) (string, error)) (string, error) {
	rest := s.present(collections)
	if len(rest) == 0 && len(collections) > 0 {
		return s.named(""), nil
	}
	name, err := of(rest...)
	if name == "" {
		return "", err
	}
	return s.named(name), err
}

type snapshotWithPast struct {
	store.Snapshot
	s *withPast
}

func (x *snapshotWithPast) Catalog() *store.Catalog { return x.s.merged(x.Snapshot.Catalog()) }

func (x *snapshotWithPast) Revision(ctx context.Context, collections ...string) (string, error) {
	return x.s.revisionOf(collections, func(rest ...string) (string, error) { return x.Snapshot.Revision(ctx, rest...) })
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

func (x *snapshotWithPast) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	if !x.s.inPast(x.Snapshot.Catalog(), collection) {
		return x.Snapshot.Fetch(ctx, collection, rows, want, fn)
	}
	return x.s.past.Fetch(ctx, collection, rows, want, fn)
}

// pastOfFile is withPast over a file, or over a copy in one.
type pastOfFile struct{ *withPast }

var (
	_ store.Stated  = pastOfFile{}
	_ store.Glanced = pastOfFile{}
	_ store.Holding = pastOfFile{}
)

// State is that of the data.
func (s pastOfFile) State(ctx context.Context) (uint64, error) {
	return s.Store.(store.Stated).State(ctx)
}

// Glance is that of the data.
func (s pastOfFile) Glance() (uint64, bool) { return s.Store.(store.Glanced).Glance() }

// Moving is that of the data.
func (s pastOfFile) Moving() bool {
	h, ok := s.Store.(store.Holding)
	return ok && h.Moving()
}

// Hold is Snapshot where the data are never written into.
func (s pastOfFile) Hold(ctx context.Context) (store.Snapshot, error) {
	h, ok := s.Store.(store.Holding)
	if !ok {
		return s.Snapshot(ctx)
	}
	of, err := h.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return &snapshotWithPast{of, s.withPast}, nil
}

// pastOfDatabase is withPast over a database.
type pastOfDatabase struct{ *withPast }

var (
	_ store.Marked      = pastOfDatabase{}
	_ store.MarkedAside = pastOfDatabase{}
	_ store.Dated       = (*withPast)(nil)
	_ store.DatedAtHand = (*withPast)(nil)
	_ store.Revised     = (*withPast)(nil)
)

// Mark is that of the data; rows of the history stay as they are.
func (s pastOfDatabase) Mark(ctx context.Context, collections ...string) (string, error) {
	rest := s.present(collections)
	if len(rest) == 0 {
		return s.version, nil
	}
	return s.Store.(store.Marked).Mark(ctx, rest...)
}

// MarkAside is Mark beside the questions.
func (s pastOfDatabase) MarkAside(ctx context.Context, collections ...string) (mark string, ok bool) {
	rest := s.present(collections)
	if len(rest) == 0 {
		return s.version, true
	}
	aside, ok := s.Store.(store.MarkedAside)
	if !ok {
		return "", false
	}
	return aside.MarkAside(ctx, rest...)
}

// present are those of collections that are not of the history.
func (s *withPast) present(collections []string) []string {
	rest := make([]string, 0, len(collections))
	for _, id := range collections {
		if s.part(id) != s.past {
			rest = append(rest, id)
		}
	}
	return rest
}

// Neighbours is that of the part that has the collection.
func (s *withPast) Neighbours(ctx context.Context, collection, id string) (row store.Row, prev, next string, err error) {
	return s.part(collection).Neighbours(ctx, collection, id)
}

// Life is that of the part that has the collection.
func (s *withPast) Life(ctx context.Context, q store.LifeQuery) (*store.Life, error) {
	if d, ok := s.part(q.Collection).(store.Dated); ok {
		return d.Life(ctx, q)
	}
	return nil, nil
}

// LifeAtHand is that of the part that has the collection.
func (s *withPast) LifeAtHand(q store.LifeQuery) (*store.Life, bool) {
	if d, ok := s.part(q.Collection).(store.DatedAtHand); ok {
		return d.LifeAtHand(q)
	}
	return nil, false
}
