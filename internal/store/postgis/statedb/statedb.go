// Package statedb opens the keys, jobs and changes in the schema grense of a PostgreSQL database, which all processes
// that serve it share.
package statedb

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/postgis/writer"
)

// ErrReadOnly reports that the role may not store keys in the database.
var ErrReadOnly = errors.New("postgis: the role may not write keys into the schema grense")

// ErrNoPrimary reports that keys cannot be stored now: the table of keys does not exist, the role may create it, but no
// server of the address is writable. It is also store.ErrUnavailable if a server does not respond.
var ErrNoPrimary = errors.New("postgis: no server of the address takes changes, and the table of keys is not there")

// driver is the driver of a state.DB in the schema grense, for all processes that use the database. If the address
// names several servers, keys are read from any of them; everything else uses the primary.
type driver struct{ reads, writes *pgxpool.Pool }

// Open opens the keys, jobs and changes in the database at url, and creates the table of keys if the role may. It
// returns ErrReadOnly if the role may not write, ErrNoPrimary if it may but no server is writable, store.ErrUnavailable
// if the database cannot be reached, and conn.ErrRefused if it rejects the user.
func Open(ctx context.Context, url string) (*state.DB, error) {
	s := &driver{}
	var err error
	if s.reads, err = conn.Open(ctx, url, conn.ForReading); err != nil {
		return nil, err
	}
	s.writes = s.reads
	if conn.IsSeveral(s.reads.Config().ConnConfig) {
		if s.writes, err = conn.Open(ctx, url, conn.ForState); err != nil {
			s.reads.Close()
			return nil, err
		}
	}
	there := false
	err = s.do(ctx, s.reads, shortTime, func(ctx context.Context, c *pgxpool.Conn) (err error) {
		there, err = hasKeys(ctx, c)
		return err
	})
	if err == nil && !there {
		err = s.prepare(ctx)
	}
	if err != nil {
		err = conn.Refused(s.reads, err)
		s.Close()
		return nil, err
	}
	return state.New(s), nil
}

// prepare creates the table of keys on the primary. If that cannot be reached, a replica shows whether the role may.
func (s *driver) prepare(ctx context.Context) error {
	err := s.do(ctx, s.writes, shortTime, createKeys)
	if s.writes == s.reads || !errors.Is(err, store.ErrUnavailable) || conn.IsFull(err) {
		return err
	}
	var may bool
	if s.do(ctx, s.reads, shortTime, func(ctx context.Context, c *pgxpool.Conn) (err error) {
		may, _, err = mayPrepare(ctx, c)
		return err
	}) != nil {
		return err
	}
	if !may {
		return ErrReadOnly
	}
	return fmt.Errorf("%w: %w", ErrNoPrimary, err)
}

// hasKeys reports whether the table of keys exists. It returns ErrReadOnly if the role may not write it.
func hasKeys(ctx context.Context, c *pgxpool.Conn) (bool, error) {
	var may bool
	err := c.QueryRow(ctx,
		`SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(x.oid, 'SELECT') AND has_table_privilege(x.oid, 'INSERT')
		AND has_table_privilege(x.oid, 'UPDATE') FROM pg_class x JOIN pg_namespace n ON n.oid = x.relnamespace WHERE n.nspname = 'grense' AND x.relname = 'api_key'`).Scan(&may)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err == nil && !may:
		return true, conn.Own(ErrReadOnly)
	}
	return true, err
}

// mayPrepare reports whether the role may create the table of keys, and whether the server is a replica.
func mayPrepare(ctx context.Context, c *pgxpool.Conn) (may, follows bool, err error) {
	err = c.QueryRow(ctx,
		`SELECT CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE') ELSE has_schema_privilege(n.oid, 'CREATE') END,
		pg_is_in_recovery() FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = 'grense'`).Scan(&may, &follows)
	return may, follows, err
}

// createKeys creates the table of keys.
func createKeys(ctx context.Context, c *pgxpool.Conn) error {
	if there, err := hasKeys(ctx, c); err != nil || there {
		return err
	}
	may, follows, err := mayPrepare(ctx, c)
	switch {
	case err != nil:
		return err
	case !may:
		return conn.Own(ErrReadOnly)
	case follows:
		return conn.Own(ErrNoPrimary)
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // no effect after Commit
	if _, err := writer.Prepare(ctx, tx); err != nil {
		if pe, ok := errors.AsType[*pgconn.PgError](err); ok && (pe.Code == "42501" || pe.Code == "25006") {
			return conn.Own(ErrReadOnly)
		}
		return err
	}
	return tx.Commit(ctx)
}

// Time limits of a transaction, in addition to the caller's.
const (
	shortTime = 5 * time.Second
	longTime  = 5 * time.Minute
)

// Do runs fn in a transaction, and once more if the connection broke or the server is no longer writable.
func (s *driver) Do(ctx context.Context, p state.Purpose, fn func(state.Tx) error) error {
	limit := shortTime
	if p == state.Long {
		limit = longTime
	}
	pool := s.writes
	if p == state.Read {
		pool = s.reads
	}
	return s.do(ctx, pool, limit, func(ctx context.Context, c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			x := &transaction{ctx: ctx, tx: tx}
			if err := fn(x); err != nil && x.err == nil {
				return conn.Own(err)
			}
			return x.err
		})
	})
}

func (s *driver) do(ctx context.Context, pool *pgxpool.Pool, limit time.Duration,
	do func(context.Context, *pgxpool.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	fn := func(c *pgxpool.Conn) error { return do(ctx, c) }
	err := conn.Use(ctx, pool, fn)
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if (errors.Is(err, conn.ErrBroken) || ok && pe.Code == "25006") && ctx.Err() == nil {
		pool.Reset() // the server has gone or become read-only
		err = conn.Use(ctx, pool, fn)
	}
	return conn.Explain(ctx, pool, err)
}

// transaction is a state.Tx. err is the first error that fn has not returned itself.
type transaction struct {
	ctx context.Context
	tx  pgx.Tx
	err error
}

func (x *transaction) note(err error) error {
	if x.err == nil {
		x.err = err
	}
	return err
}

// nullable replaces zero times in arguments by null.
func nullable(args []any) []any {
	for i, a := range args {
		if t, is := a.(time.Time); is && t.IsZero() {
			args[i] = nil
		}
	}
	return args
}

func (x *transaction) Exec(sql string, args ...any) (int64, error) {
	tag, err := x.tx.Exec(x.ctx, sql, nullable(args)...)
	return tag.RowsAffected(), x.note(err)
}

func (x *transaction) Batch(sql string, n int, args func(i int) []any) error {
	const most = 1000 // rows in a statement
	for from := 0; from < n; from += most {
		b := &pgx.Batch{}
		for i := from; i < min(from+most, n); i++ {
			b.Queue(sql, nullable(args(i))...)
		}
		if err := x.tx.SendBatch(x.ctx, b).Close(); err != nil {
			return x.note(err)
		}
	}
	return nil
}

func (x *transaction) Query(sql string, args []any, fn func(state.Scan) error) error {
	rows, err := x.tx.Query(x.ctx, sql, args...)
	if err != nil {
		return x.note(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return x.note(rows.Err())
}

func (x *transaction) Has(table, privilege string) (has bool, err error) {
	sql, args := "SELECT to_regclass($1) IS NOT NULL", []any{table}
	if privilege != "" {
		sql, args = "SELECT coalesce(has_table_privilege(to_regclass($1), $2), FALSE)", append(args, privilege)
	}
	return has, x.note(x.tx.QueryRow(x.ctx, sql, args...).Scan(&has))
}

// Lock blocks other writers of a table, or of the schema if the table does not exist.
func (x *transaction) Lock(table string) error {
	sql := "LOCK TABLE " + table + " IN SHARE ROW EXCLUSIVE MODE"
	if table == "" {
		sql = "SELECT pg_advisory_xact_lock(hashtext('grense'))"
	}
	_, err := x.Exec(sql)
	return err
}

// Close waits for transactions in flight and closes all connections.
func (s *driver) Close() error {
	s.reads.Close()
	if s.writes != s.reads {
		s.writes.Close()
	}
	return nil
}

// PasswordKey derives 32 bytes from the user, database and password of an address; nil if there is no password. The
// result is the same for all processes that connect in the same way.
func PasswordKey(url string) []byte {
	cfg, err := pgx.ParseConfig(url)
	if err != nil || cfg.Password == "" {
		return nil
	}
	m := hmac.New(sha256.New, []byte(cfg.Password))
	fmt.Fprintf(m, "grense cursors\x00%s\x00%s", cfg.User, cfg.Database)
	return m.Sum(nil)
}
