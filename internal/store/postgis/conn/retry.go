package conn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

// On is Retry with a connection of a pool that the caller has acquired. It runs fn once.
func On(ctx context.Context, pool *pgxpool.Pool, c *pgxpool.Conn, fn func(*pgxpool.Conn) error) error {
	return Explain(ctx, pool, bounded(ctx, fn)(c))
}

// bounded wraps fn to set the server's time limit first.
func bounded(ctx context.Context, fn func(*pgxpool.Conn) error) func(*pgxpool.Conn) error {
	return func(c *pgxpool.Conn) error {
		if err := bound(ctx, c); err != nil {
			return err
		}
		return fn(c)
	}
}

// Retry runs fn with a connection of a pool, and explains its error. If the connection was broken, as all are after a
// restart of the server, fn runs once more with a new one, so it must start from the beginning. The server stops by
// itself soon after the deadline of ctx, even if a cancellation does not reach it.
func Retry(ctx context.Context, pool *pgxpool.Pool, fn func(*pgxpool.Conn) error) error {
	fn = bounded(ctx, fn)
	err := Use(ctx, pool, fn)
	if err != nil && ctx.Err() == nil && again(err) {
		if errors.Is(err, ErrBroken) {
			pool.Reset()
		}
		err = Use(ctx, pool, fn)
	}
	return Explain(ctx, pool, err)
}

// ErrBroken reports that the connection was closed because of an error.
var ErrBroken = errors.New("postgis: the connection broke")

// ErrNoConnection reports that a connection could not be established.
var ErrNoConnection = errors.New("no connection")

// Use runs fn once with a connection of a pool. Its errors are for Explain.
func Use(ctx context.Context, pool *pgxpool.Pool, fn func(*pgxpool.Conn) error) error {
	c, err := Acquire(ctx, pool)
	if err != nil {
		return err
	}
	defer c.Release()
	err = transacted(ctx, c, fn)
	if pe, ok := errors.AsType[*pgconn.PgError](err); err != nil &&
		(c.Conn().IsClosed() || ok && pe.SeverityUnlocalized == "FATAL") {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return err
}

// How long a query waits if the server has no connections left, and how often it tries.
const (
	mostForFull  = 10 * time.Second
	leastForFull = 10 * time.Millisecond
	pauseForFull = 200 * time.Millisecond
)

// atOnceKey is a context key; see AtOnce.
type atOnceKey struct{}

// AtOnce returns a context in which Acquire does not wait if the server has no connections left.
func AtOnce(ctx context.Context) context.Context { return context.WithValue(ctx, atOnceKey{}, true) }

// Acquire returns a connection of the pool, which the caller must release. If the server has none left, it waits and
// tries again. Its errors are for Explain.
func Acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	c, err := await(ctx, pool)
	switch {
	case errors.Is(err, store.ErrBusy):
		return nil, Own(err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoConnection, err)
	}
	return c, nil
}

// await returns a connection. If the server has none left, it tries again.
func await(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	end := time.Now().Add(mostForFull)
	for pause := leastForFull; ; pause = min(2*pause, pauseForFull) {
		c, err := acquireNow(ctx, pool)
		if err == nil || !IsFull(err) || time.Now().After(end) || ctx.Value(atOnceKey{}) != nil {
			return c, err
		}
		if until, bounded := store.Patience(ctx); bounded && time.Now().After(until) {
			return nil, fmt.Errorf("postgis: %w", store.ErrBusy)
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the query has not begun
				return nil, fmt.Errorf("postgis: %w", store.ErrBusy)
			}
			return nil, err
		case <-t.C:
		}
	}
}

// acquireNow returns a connection of the pool. If all are in use, it waits as long as store.WithPatience allows. Time
// spent on connecting does not count as busy.
func acquireNow(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	until, bounded := store.Patience(ctx)
	if !bounded {
		return pool.Acquire(ctx)
	}
	short, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	c, err := pool.Acquire(short)
	if st := pool.Stat(); err != nil && short.Err() != nil && ctx.Err() == nil && st.AcquiredConns() == st.MaxConns() {
		return nil, fmt.Errorf("postgis: %w", store.ErrBusy)
	}
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return pool.Acquire(ctx)
	}
	return c, err
}

// again reports whether a failed query may succeed at once if repeated: its connection broke, or a table's definition
// has changed since the statement was prepared.
func again(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, ErrBroken) || ok && pe.Code == "0A000" && strings.Contains(pe.Message, "cached plan")
}
