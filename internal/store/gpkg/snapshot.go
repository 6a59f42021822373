package gpkg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"grense/internal/store"
)

var (
	_ store.Snapshotter = (*Store)(nil)
	_ store.Holding     = (*Store)(nil)
	_ store.Revised     = (*Store)(nil)
)

// snapshot is a store that stays at one revision.
type snapshot struct {
	pinned  Store
	r       *revision
	release sync.Once
	met     *uint64 // the state that Revision named, which all further questions have to meet; nil: they need not
}

// metKey is the key of snapshot.met among the values of a context.
type metKey struct{}

// meet is store.ErrChanged where a question meets another state than it has to.
func meet(ctx context.Context, rev uint64) error {
	if met, ok := ctx.Value(metKey{}).(*uint64); ok && *met != rev {
		return fmt.Errorf("gpkg: rows were changed between two questions: %w", store.ErrChanged)
	}
	return nil
}

// meeting is a context for questions that have to meet the state that Revision named.
func (x *snapshot) meeting(ctx context.Context) context.Context {
	if x.met == nil {
		return ctx
	}
	return context.WithValue(ctx, metKey{}, x.met)
}

// Snapshot holds the current revision, which costs an open file and its caches until it is closed.
func (s *Store) Snapshot(context.Context) (store.Snapshot, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	x := &snapshot{r: r}
	x.pinned.path, x.pinned.options, x.pinned.settled = s.path, s.options, s.settled
	x.pinned.current.Store(r)
	return x, nil
}

func (x *snapshot) Catalog() *store.Catalog { return x.r.catalog }

func (x *snapshot) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	return x.pinned.Page(x.meeting(ctx), q)
}

func (x *snapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	return x.pinned.Fetch(x.meeting(ctx), collection, rows, want, fn)
}

// RevisionOf names the state of the file.
func (s *Store) RevisionOf(ctx context.Context, _ ...string) (string, error) {
	r, err := s.acquire()
	if err != nil {
		return "", err
	}
	defer r.release()
	now, err := r.present(ctx, s.settled)
	if err != nil {
		return "", err
	}
	return r.nameOf(now), nil
}

// Revision names the state that the file has when it is first called. Questions that meet another one from then on are store.ErrChanged.
func (x *snapshot) Revision(ctx context.Context, _ ...string) (string, error) {
	if x.met == nil {
		now, err := x.r.present(ctx, x.pinned.settled)
		if err != nil {
			return "", err
		}
		x.met = &now
	}
	return x.r.nameOf(*x.met), nil
}

// present is the revision of the features that the file has now, at a glance where that tells it.
func (r *revision) present(ctx context.Context, settled time.Duration) (rev uint64, err error) {
	if rev, ok := r.glance(); ok {
		return rev, nil
	}
	return r.state(ctx, settled)
}

// nameOf is the name of a state: the version of the catalog, unless somebody has written into the file since it was opened.
func (r *revision) nameOf(rev uint64) string {
	if rev == r.rev {
		return r.catalog.Version
	}
	return r.catalog.Version + "/" + strconv.FormatUint(rev, 36)
}

func (x *snapshot) Holds() bool { return false }

func (x *snapshot) Close() error {
	x.release.Do(x.r.release)
	return nil
}

// held is a connection with a transaction for reading, whose questions are those of a context that has it as its value of heldKey.
type held struct {
	snapshot
	c    *conn
	lost bool // its transaction
	done bool
}

type heldKey struct{}

// Moving reports whether a question has met another state of the file than the one that was opened.
func (s *Store) Moving() bool {
	r, err := s.acquire()
	if err != nil {
		return false
	}
	defer r.release()
	return r.moved.Load()
}

// Hold takes a connection and begins a transaction. While it lasts nobody can commit to a file that is not in WAL mode.
func (s *Store) Hold(ctx context.Context) (store.Snapshot, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	x := &held{snapshot: snapshot{r: r}}
	x.pinned.path, x.pinned.options, x.pinned.settled = s.path, s.options, s.settled
	x.pinned.current.Store(r)
	if x.c, err = r.pool.get(ctx); err != nil {
		r.release()
		return nil, r.explain(err)
	}
	if err = x.begin(ctx); err != nil {
		return nil, errors.Join(r.explain(err), x.Close())
	}
	return x, nil
}

func (x *held) begin(ctx context.Context) error {
	stop := x.c.watch(ctx)
	defer stop()
	err := x.c.exec("BEGIN")
	if err != nil {
		return err
	}
	rev, err := x.r.revOf(ctx, x.c)
	x.c.pinned = &rev
	return err
}

// Revision names the state of the transaction.
func (x *held) Revision(context.Context, ...string) (string, error) {
	return x.r.nameOf(*x.c.pinned), nil
}

// use runs fn within the transaction.
func (x *held) use(ctx context.Context, fn func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := x.c.watch(ctx)
	defer stop()
	if x.lost = x.lost || !x.c.still && x.c.c.AutocommitEnabled(); x.lost {
		return fmt.Errorf("gpkg: what was held is lost: %w", store.ErrChanged)
	}
	err := fn(x.c)
	if err != nil && ctx.Err() != nil && interrupted(err) {
		return ctx.Err()
	}
	return err
}

func (x *held) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	return x.pinned.Page(context.WithValue(ctx, heldKey{}, x), q)
}

func (x *held) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	return x.pinned.Fetch(context.WithValue(ctx, heldKey{}, x), collection, rows, want, fn)
}

func (x *held) Holds() bool { return true }

// Close ends the transaction and gives the connection back.
func (x *held) Close() error {
	if x.done {
		return nil
	}
	x.done = true
	var err error
	x.c.pinned = nil
	if !x.c.c.AutocommitEnabled() {
		if err = x.c.exec("COMMIT"); err != nil {
			err = errors.Join(err, x.c.exec("ROLLBACK"))
		}
	}
	x.r.pool.put(x.c)
	return errors.Join(err, x.snapshot.Close())
}
