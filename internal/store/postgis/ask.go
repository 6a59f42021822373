package postgis

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/postgis/conn"
)

// retry runs fn with the connection of a snapshot, else with one of the pool, and then perhaps twice; see conn.Retry.
func (s *Store) retry(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	if s.pinned != nil {
		return conn.On(ctx, s.pool, s.pinned, fn)
	}
	return conn.Retry(ctx, s.pool, fn)
}

// ask is retry for a query about a layer. If the result shows that the table has changed, it makes the poller read the
// definitions again.
func (s *Store) ask(ctx context.Context, l *layer, fn func(*pgxpool.Conn) error) error {
	err := s.retry(conn.Lazily(ctx), fn)
	if err == nil {
		return nil
	}
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if errors.Is(err, errChanged) || ok && (pe.Code[:2] == "42" || pe.Code == "3F000") {
		s.doubt()
	}
	if ok && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) &&
		(!l.plain && l.table.Kind != 'p' || pe.Code[:2] == "22") && fails(pe.Code) {
		s.doubt()
		return fmt.Errorf("postgis: table %s cannot be read: %w: %w", l.table.Layer(), store.ErrUnavailable, err)
	}
	return err
}

// fails reports whether an error code (PostgreSQL, appendix A) means that computing a view, or a foreign server, has
// failed, rather than our statement.
func fails(code string) bool {
	switch code[:2] {
	case "21", "22", "2F", "38", "39", "HV", "P0", "XX":
		return true
	}
	return false
}

// one runs a statement in one round trip, and calls fn for each row.
func one(ctx context.Context, c *pgxpool.Conn, st statement, fn func(pgx.Rows) error) error {
	return conn.Each(ctx, c, st.sql, fn, conn.Bind(st.args)...)
}

// expecting is a statement with the expected types of its columns.
type expecting struct {
	statement
	expects []expect
	once    bool // plan once for all arguments
}

// one runs a statement about the table of a layer and calls fn for each row. If the columns have other types than
// expected, it returns an error before it calls fn.
//
// Prepared statements refer to the table for which they were prepared, even if another table with the same name and
// columns has replaced it. If that may be the reason, one deallocates the statements and repeats the query.
func (l *layer) one(ctx context.Context, c *pgxpool.Conn, st expecting, fn func(pgx.Rows) error) error {
	err := l.asked(ctx, c, st, fn)
	if !errors.Is(err, errStatement) {
		return err
	}
	if wrong := conn.Forget(ctx, c); wrong != nil {
		return wrong
	}
	return l.asked(ctx, c, st, fn)
}

// errStatement reports that the description of a statement, before any row, does not have the expected types.
var errStatement = errors.New("postgis: a statement is of another definition")

func (l *layer) asked(ctx context.Context, c *pgxpool.Conn, st expecting, fn func(pgx.Rows) error) error {
	rows, end, err := conn.Query(ctx, c, st.sql, conn.Bind(append([]any(nil), st.args...)), st.once && l.plain)
	if err != nil {
		return err
	}
	defer end()
	if fields := rows.FieldDescriptions(); len(fields) > 0 {
		if err := l.check(fields, st.expects); err != nil {
			return fmt.Errorf("%w: %w", err, errStatement)
		}
	}
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (qu *pageQuery) one(ctx context.Context, c *pgxpool.Conn, st statement, fn func(pgx.Rows) error) error {
	expects := make([]expect, 0, len(qu.keys)+1)
	for _, k := range qu.keys {
		expects = append(expects, k.expect())
	}
	expects = append(expects, qu.l.expectRevision())
	once := qu.q.Filter == nil && qu.q.AsOf.IsZero() && len(qu.q.SortBy) == 0 && qu.q.Rank == nil
	return qu.l.one(ctx, c, expecting{st, expects, once}, fn)
}
