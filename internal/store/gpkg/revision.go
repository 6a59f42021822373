package gpkg

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/index"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/gpkg/survey"
)

// revision is an opened version of the file. It is immutable, except for the counts that it caches.
type revision struct {
	catalog *store.Catalog
	layers  map[string]*layer.Layer // by collection id
	served  map[string]string       // ids of public collections, by the ids that the source gives them
	rev     uint64                  // revision of every feature while the file is unchanged; see revOf
	pool    *sqlite.Pool
	signs   *sqlite.Pool // one connection, for Ready and revBeside
	signed  uint64       // random; distinguishes the version numbers of this connection in signs
	refs    atomic.Int64 // number of users, plus one while the revision is current
	drained func()       // called once, after the last user has released it

	source  file.File  // when it was opened
	path    string     // of the file that is read: the source or a copy
	still   bool       // nobody writes to the file
	opened  file.Stamp // stamp of the file when it was opened; zero if stamps cannot be trusted
	known   atomic.Pointer[fileVersion]
	foreign foreignWrites

	promise *promise // nil: Unchanging is not set

	counts *countCache // shared by all revisions of the store
	shapes *shapeCache // shared by all revisions of the store

	memory  *memory
	records recordsHome
	indexes *index.Files
}

func (r *revision) take() bool {
	for {
		n := r.refs.Load()
		if n == 0 {
			return false
		}
		if r.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (r *revision) release() {
	if r.refs.Add(-1) == 0 {
		r.drained()
	}
}

// keep keeps the revision open while a file is built from it; false if it is closed.
func (r *revision) keep() (done func(), ok bool) {
	if !r.take() {
		return nil, false
	}
	made := r.memory.columns.Make()
	return func() { r.release(); made() }, true
}

// isWanted reports whether others use the revision besides the caller, who keeps it.
func (r *revision) isWanted() bool { return r.refs.Load() > 1 }

// attachIndex attaches the current index file to a connection.
func (r *revision) attachIndex(c *sqlite.Conn) (err error) {
	s := sessionOf(c)
	s.index, err = r.indexes.Attach(c, s.index)
	return err
}

// use runs fn with a connection of the pool or, within Hold, with the held one.
func (r *revision) use(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if x, ok := ctx.Value(heldKey{}).(*held); ok && x.r == r {
		return r.explain(x.use(ctx, fn))
	}
	return r.explain(r.pool.Use(ctx, func(c *sqlite.Conn) error {
		defer sessionOf(c).shrink()
		return fn(c)
	}))
}

func (r *revision) explain(err error) error {
	switch sqlite.TroubleOf(err) {
	case sqlite.Locked, sqlite.Unreachable:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case sqlite.Replaced:
		return fmt.Errorf("%w: %w", store.ErrChanged, err)
	case sqlite.Damaged:
		if r.promise.broken() {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
	}
	return err
}

// revOf returns the revision of the features that a transaction on c reads. The transaction must not have read anything
// yet. After the file was changed in place, each version has another revision. It returns store.ErrChanged if the
// revision differs from the one in the context, or if commits in WAL mode are too frequent to distinguish versions.
func (r *revision) revOf(ctx context.Context, c *sqlite.Conn) (uint64, error) {
	rev, err := r.revNow(ctx, c)
	if err == nil {
		err = meet(ctx, rev)
	}
	return rev, err
}

// revNow is revOf without comparing with the context.
func (r *revision) revNow(ctx context.Context, c *sqlite.Conn) (uint64, error) {
	if pinned := sessionOf(c).pinned; pinned != nil {
		return *pinned, nil
	}
	same, err := c.Unchanged()
	if err != nil || c.IsImmutable() {
		return r.rev, err
	}
	foreign, err := r.foreign.refresh(c)
	if err != nil || same && foreign == 0 {
		return r.rev, err
	}
	n, wal, err := c.Header()
	if err == nil && wal {
		return r.revBeside(ctx, c)
	}
	return r.revNamed(uint64(foreign), uint64(n)), err
}

// revNamed derives a revision from a version number; kind distinguishes independent sequences of numbers.
func (r *revision) revNamed(kind, n uint64) uint64 {
	var b [24]byte
	for i, x := range [...]uint64{r.rev, kind, n} {
		binary.BigEndian.PutUint64(b[8*i:], x)
	}
	sum := sha256.Sum256(b[:])
	return binary.BigEndian.Uint64(sum[:])
}

const (
	// number of times that a transaction is restarted until no commit interferes, at 50 µs each
	besideTries  = 200
	signPatience = 5 * time.Second // as long as SQLite waits for a lock, whatever the query has waited for before
)

// revBeside is revOf in WAL mode, where commits do not change the counter in the header. SQLite only gives each
// connection a number of its own that changes with commits. So one connection provides the numbers for all: its number
// is read before and after a transaction on c begins. If both are equal, nobody has committed in between.
func (r *revision) revBeside(ctx context.Context, c *sqlite.Conn) (uint64, error) {
	w, err := r.signs.Get(store.WithPatience(ctx, signPatience))
	if err != nil {
		return 0, err
	}
	defer r.signs.Put(w)
	for range besideTries {
		before, err := w.Version()
		if err == nil {
			err = c.Renew()
		}
		if err != nil {
			return 0, err
		}
		n, wal, err := c.Header() // the first read of the transaction
		if err != nil || !wal {
			return r.revNamed(0, uint64(n)), err
		}
		after, err := w.Version()
		if err != nil {
			return 0, err
		}
		if before == after {
			return r.revNamed(r.signed, uint64(after)), nil
		}
	}
	return 0, fmt.Errorf("gpkg: others commit all the time: %w", store.ErrChanged)
}

// publish creates the catalog from the drafts.
func (r *revision) publish(c *sqlite.Conn, drafts []*survey.Draft) error {
	for _, d := range drafts {
		if !d.Refused() {
			l, err := d.Open(c)
			if err != nil {
				return fmt.Errorf("gpkg: layer %s: %w", d.Contents.Table, err)
			}
			if l != nil && !d.Refused() {
				r.add(d, l)
			}
		}
		r.catalog.Notes = append(r.catalog.Notes, d.Notes...)
	}
	r.resolveReferences()
	return nil
}

// resolveReferences sets the collection ids in references between collections, and removes references to collections
// that are not served.
func (r *revision) resolveReferences() {
	for _, c := range r.catalog.Collections {
		for i := range c.Properties {
			if p := &c.Properties[i]; p.Ref != "" {
				p.Ref = r.served[p.Ref]
			}
		}
	}
}

func (r *revision) add(d *survey.Draft, l *layer.Layer) {
	id, own := d.IDs(l)
	l.ID = store.Unique(id, func(s string) bool { return r.layers[s] != nil })
	r.layers[l.ID] = l
	if l.Public {
		r.served[own] = l.ID
	}
	l.Collection.IndexNames()
	r.catalog.Collections = append(r.catalog.Collections, l.Collection)
}

// layer returns the layer of a collection.
func (r *revision) layer(id string) (*layer.Layer, error) {
	if l := r.layers[id]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("gpkg: collection %q: %w", id, store.ErrNotFound)
}
