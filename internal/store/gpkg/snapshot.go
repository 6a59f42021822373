package gpkg

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"grense/internal/store"
)

// snapshot is a store that stays at one revision and one version of its file.
type snapshot struct {
	pinned  Store
	r       *revision
	release sync.Once
	met     uint64 // the revision of the features that all questions have to meet
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

// meeting is a context for questions that have to meet the version of the snapshot.
func (x *snapshot) meeting(ctx context.Context) context.Context {
	return context.WithValue(ctx, metKey{}, &x.met)
}

// Snapshot holds the current revision, which costs an open file and its caches until it is closed.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	x := &snapshot{r: r}
	s.pin(x)
	if x.met, err = r.present(ctx, s.settled); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// pin makes the store of a snapshot.
func (s *Store) pin(x *snapshot) {
	x.pinned.path, x.pinned.options, x.pinned.settled = s.path, s.options, s.settled
	x.pinned.current.Store(x.r)
}

func (x *snapshot) Catalog() *store.Catalog { return x.r.catalog }

// Version is that of the file when the snapshot began.
func (x *snapshot) Version(context.Context, ...string) (store.Version, error) {
	return x.r.version(x.met), nil
}

func (x *snapshot) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	return x.pinned.Page(x.meeting(ctx), q)
}

func (x *snapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return x.pinned.Fetch(x.meeting(ctx), collection, rows, want, fn)
}

func (x *snapshot) Holds() bool { return false }

func (x *snapshot) Close() error {
	x.release.Do(x.r.release)
	return nil
}

// held is a connection with a transaction for reading, whose questions are those of a context that has it
// as its value of heldKey.
type held struct {
	snapshot
	c    *conn
	lost bool // its transaction
	done bool
}

type heldKey struct{}

// Hold takes a connection and begins a transaction. While it lasts nobody can commit to a file that is not in WAL mode.
func (s *Store) Hold(ctx context.Context) (store.Snapshot, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	x := &held{snapshot: snapshot{r: r}}
	s.pin(&x.snapshot)
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
	x.met, err = x.r.revOf(ctx, x.c)
	x.c.pinned = &x.met
	return err
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

func (x *held) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
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
