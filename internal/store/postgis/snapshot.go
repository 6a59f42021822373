package postgis

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/postgis/conn"
)

// snapshot is a view of the database in one transaction on one connection.
type snapshot struct {
	of     *Store
	pinned *Store
	whole  map[string]bool // collections whose tables are verified to be as when the transaction began
	failed bool
	closed bool
}

// Snapshot begins a repeatable-read transaction. It occupies a connection until it is closed.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	x, err := s.snapshot(ctx)
	if err != nil {
		s.leave()
		return nil, conn.Explain(ctx, s.pool, err)
	}
	return x, nil
}

// Hold is Snapshot.
func (s *Store) Hold(ctx context.Context) (store.Snapshot, error) { return s.Snapshot(ctx) }

func (s *Store) snapshot(ctx context.Context) (*snapshot, error) {
	c, err := conn.Acquire(ctx, s.pool)
	if err != nil {
		return nil, err
	}
	r := s.current.Load()
	x := &snapshot{of: s, pinned: &Store{pool: s.pool, options: s.options, caches: s.caches, users: 1,
		idle: make(chan struct{}), pinned: c}, whole: map[string]bool{}}
	x.pinned.current.Store(r)
	_, err = c.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		_, err = c.Exec(ctx, "SELECT 1", pgx.QueryExecModeSimpleProtocol) // the first statement takes the snapshot
	}
	if err != nil {
		discard(c)
		return nil, err
	}
	return x, nil
}

// discard closes a connection whose transaction may have failed.
func discard(c *pgxpool.Conn) {
	ctx, end := context.WithTimeout(context.Background(), time.Second) // even if the request has ended
	defer end()
	c.Conn().Close(ctx)
	c.Release()
}

func (x *snapshot) Catalog() *store.Catalog { return x.pinned.Catalog() }

func (x *snapshot) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	p, err := x.pinned.Page(ctx, q)
	if err == nil {
		err = x.hold(ctx, q.Collection)
	}
	if err != nil {
		x.failed = true
		return nil, err
	}
	return p, nil
}

// changedSQL returns whether a table may not be read as it was when the transaction began, since some changes act at
// once: TRUNCATE and what else gives a table a new file (PostgreSQL, 13.6, Caveats), new names of columns, row
// security and its policies. The last three are seen by the rows of the catalog that this transaction sees and a later
// one, xmax, has replaced. A policy that is created beside others is not seen.
const changedSQL = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\_%'
		AND n.nspname <> 'information_schema' AND c.relfilenode <> 0
		AND c.relfilenode IS DISTINCT FROM pg_relation_filenode(c.oid))
	OR EXISTS (SELECT FROM (SELECT xmax FROM pg_class WHERE oid = $1::oid OR relrowsecurity
			UNION ALL SELECT xmax FROM pg_attribute WHERE attrelid = $1::oid
			UNION ALL SELECT xmax FROM pg_policy) AS seen (by)
		CROSS JOIN txid_snapshot_xmax(txid_current_snapshot()) AS next
		WHERE by <> '0' AND txid_status(next - age(by) + age((next % 4294967296)::text::xid)) = 'committed')`

// hold verifies on first use that a collection is read as it was when the transaction began. The query before has
// locked its tables, so that they cannot be emptied any more.
func (x *snapshot) hold(ctx context.Context, collection string) error {
	if x.whole[collection] {
		return nil
	}
	l, err := x.pinned.current.Load().layer(collection)
	if err != nil {
		return err
	}
	changed := true
	err = x.pinned.pinned.QueryRow(ctx, changedSQL, pgx.QueryExecModeSimpleProtocol, l.table.OID).Scan(&changed)
	if err != nil {
		return err
	}
	if changed {
		return fmt.Errorf("postgis: a table was emptied, rewritten or altered when a snapshot began: %w",
			store.ErrChanged)
	}
	x.whole[collection] = true
	return nil
}

// Fetch calls fn after it has checked that the table is as it was when the transaction began, so that results of fn may
// be cached.
func (x *snapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	err := x.pinned.Fetch(ctx, collection, rows, want, func(f *store.Feature) error {
		if err := x.hold(ctx, collection); err != nil {
			return err
		}
		return fn(f)
	})
	if err == nil {
		err = x.hold(ctx, collection)
	}
	x.failed = x.failed || ctx.Err() != nil
	return err
}

// Version returns the version of collections within the transaction.
func (x *snapshot) Version(ctx context.Context, collections ...string) (store.Version, error) {
	return x.pinned.Version(ctx, collections...)
}

func (x *snapshot) Holds() bool { return true }

func (x *snapshot) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	defer x.of.leave()
	c := x.pinned.pinned
	ctx, end := context.WithTimeout(context.Background(), time.Second) // even if the request has ended
	defer end()
	if !x.failed && !c.Conn().IsClosed() {
		if _, err := c.Exec(ctx, "COMMIT", pgx.QueryExecModeSimpleProtocol); err == nil {
			c.Release()
			return nil
		}
	}
	discard(c)
	return nil
}
