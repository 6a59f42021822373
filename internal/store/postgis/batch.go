package postgis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// one runs a statement in one round trip, and calls fn for each row.
func one(ctx context.Context, c *pgxpool.Conn, st statement, fn func(pgx.Rows) error) error {
	return each(ctx, c, st.sql, fn, bind(st.args)...)
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
	if wrong := c.Conn().DeallocateAll(ctx); wrong != nil {
		return wrong
	}
	if p := poolingOf(c); p != nil {
		p.known = nil
	}
	return l.asked(ctx, c, st, fn)
}

// errStatement reports that the description of a statement, before any row, does not have the expected types.
var errStatement = errors.New("postgis: a statement is of another definition")

func (l *layer) asked(ctx context.Context, c *pgxpool.Conn, st expecting, fn func(pgx.Rows) error) error {
	rows, end, err := queryPlanned(ctx, c, st.sql, bind(append([]any(nil), st.args...)), st.once && l.plain)
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
	expects = append(expects, qu.l.expectState())
	once := qu.q.Filter == nil && qu.q.AsOf.IsZero() && len(qu.q.SortBy) == 0 && qu.q.Rank == nil
	return qu.l.one(ctx, c, expecting{st, expects, once}, fn)
}

// timeLimit is the key in the connection's custom data for the statement_timeout of its session, in seconds; 0: the
// server's default.
const timeLimit = "grense.statement_timeout"

// bound sets the session's statement_timeout to the time that ctx leaves, unless it is between once and twice that
// already.
func bound(ctx context.Context, c *pgxpool.Conn) error {
	if inTransactions(c) { // transactions set their own
		return nil
	}
	need := secondsLeft(ctx)
	data := c.Conn().PgConn().CustomData()
	set, _ := data[timeLimit].(int)
	if need == set || need > 0 && need <= set && set <= 2*need {
		return nil
	}
	value := "(SELECT reset_val FROM pg_settings WHERE name = 'statement_timeout')"
	if need > 0 {
		value = "'" + strconv.Itoa(1000*need) + "'"
	}
	if _, err := c.Exec(ctx, "SELECT set_config('statement_timeout', "+value+", FALSE)",
		pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	data[timeLimit] = need
	return nil
}

// secondsLeft returns a statement_timeout, in seconds, just after the deadline of ctx; 0 if there is none.
func secondsLeft(ctx context.Context) int {
	at, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return int(max(time.Until(at), 0)/time.Second) + 2
}
