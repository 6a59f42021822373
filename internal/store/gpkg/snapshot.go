package gpkg

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// snapshot is a view of one version of the file.
type snapshot struct {
	Store
	r       *revision
	release sync.Once
	met     uint64 // revision that all queries must see
}

// metKey is the context key of snapshot.met.
type metKey struct{}

// meet returns store.ErrChanged if rev is not the revision that the context requires.
func meet(ctx context.Context, rev uint64) error {
	if met, ok := ctx.Value(metKey{}).(*uint64); ok && *met != rev {
		return fmt.Errorf("gpkg: rows were changed between two queries: %w", store.ErrChanged)
	}
	return nil
}

// Snapshot keeps the current revision open until it is closed: an open file and its caches.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	x := &snapshot{r: r}
	s.pin(x, metKey{}, &x.met)
	if x.met, err = r.present(ctx, s.settled); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// pin makes x a store of its revision, whose queries have a value in their contexts.
func (s *Store) pin(x *snapshot, key, value any) {
	x.path, x.options, x.settled = s.path, s.options, s.settled
	x.current.Store(x.r)
	x.within = func(ctx context.Context) context.Context { return context.WithValue(ctx, key, value) }
}

// Version returns the version of the file when the snapshot was opened.
func (x *snapshot) Version(context.Context, ...string) (store.Version, error) {
	return x.r.version(x.met), nil
}

func (x *snapshot) Holds() bool { return false }

func (x *snapshot) Close() error {
	x.release.Do(x.r.release)
	return nil
}

// held is a connection with a read transaction. Queries whose context has it as heldKey use it.
type held struct {
	snapshot
	c    *sqlite.Conn
	lost bool // the transaction has failed
	done bool
}

type heldKey struct{}

// Hold occupies a connection and begins a transaction. Unless the file is in WAL mode, nobody can commit until it is
// closed.
func (s *Store) Hold(ctx context.Context) (store.Snapshot, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	x := &held{snapshot: snapshot{r: r}}
	s.pin(&x.snapshot, heldKey{}, x)
	if x.c, err = r.pool.Get(ctx); err != nil {
		r.release()
		return nil, r.explain(err)
	}
	if err = x.begin(ctx); err != nil {
		return nil, errors.Join(r.explain(err), x.Close())
	}
	return x, nil
}

func (x *held) begin(ctx context.Context) error {
	stop := x.c.Watch(ctx)
	defer stop()
	err := x.c.Exec("BEGIN")
	if err != nil {
		return err
	}
	x.met, err = x.r.revOf(ctx, x.c)
	sessionOf(x.c).pinned = &x.met
	return err
}

// use runs fn within the transaction.
func (x *held) use(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := x.c.Watch(ctx)
	defer stop()
	if x.lost = x.lost || !x.c.IsImmutable() && !x.c.InTransaction(); x.lost {
		return fmt.Errorf("gpkg: what was held is lost: %w", store.ErrChanged)
	}
	err := fn(x.c)
	if err != nil && ctx.Err() != nil && sqlite.IsInterrupted(err) {
		return ctx.Err()
	}
	return err
}

func (x *held) Holds() bool { return true }

// Close ends the transaction and returns the connection to the pool.
func (x *held) Close() error {
	if x.done {
		return nil
	}
	x.done = true
	var err error
	sessionOf(x.c).pinned = nil
	if x.c.InTransaction() {
		if err = x.c.Exec("COMMIT"); err != nil {
			err = errors.Join(err, x.c.Exec("ROLLBACK"))
		}
	}
	x.r.pool.Put(x.c)
	return errors.Join(err, x.snapshot.Close())
}
