package conn

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// Query runs c.Query. If a transaction is pending and the columns of the statement are known, it sends our settings and
// the statement as one batch, which the server runs as a transaction. With once, and in our own session, the server
// plans the statement once for all arguments. The caller must call end after reading the rows.
func Query(ctx context.Context, c *pgxpool.Conn, sql string, args []any, once bool) (
	rows pgx.Rows, end func(), err error) {
	p := poolingOf(c)
	if p == nil {
		return queryInMode(ctx, c, sql, args, once)
	}
	if p.pending == "" || !p.known[sql] {
		if err := Settle(ctx, c); err != nil {
			return nil, nil, err
		}
		if rows, err = c.Query(ctx, sql, args...); err != nil {
			return nil, nil, err
		}
		p.learn(sql)
		return rows, rows.Close, nil
	}
	b := &pgx.Batch{}
	b.Queue(p.set, p.limit)
	b.Queue(sql, args...)
	results := c.SendBatch(ctx, b)
	if _, err = results.Exec(); err == nil {
		rows, err = results.Query()
	}
	if err != nil {
		p.known = nil
		return nil, nil, errors.Join(err, results.Close())
	}
	return rows, func() { rows.Close(); results.Close() }, nil
}

// planOnce is the key in the connection's custom data for whether its session plans statements once.
const planOnce = "grense.plan_once"

// queryInMode runs c.Query in our own session. It sets the planning mode in the same round trip.
func queryInMode(ctx context.Context, c *pgxpool.Conn, sql string, args []any, once bool) (
	rows pgx.Rows, end func(), err error) {
	data := c.Conn().PgConn().CustomData()
	if now, _ := data[planOnce].(bool); now == once {
		if rows, err = c.Query(ctx, sql, args...); err != nil {
			return nil, nil, err
		}
		return rows, rows.Close, nil
	}
	mode := "force_custom_plan"
	if once {
		mode = "force_generic_plan"
	}
	b := &pgx.Batch{}
	b.Queue("SET plan_cache_mode = " + mode)
	b.Queue(sql, args...)
	results := c.SendBatch(ctx, b)
	if _, err = results.Exec(); err == nil {
		rows, err = results.Query()
	}
	if err != nil {
		return nil, nil, errors.Join(err, results.Close())
	}
	data[planOnce] = once
	return rows, func() {
		rows.Close()
		if results.Close() != nil || rows.Err() != nil { // the server has rolled back the setting
			data[planOnce] = !once
		}
	}, nil
}

func (p *pooling) learn(sql string) {
	if p.known == nil || len(p.known) >= mostKnown {
		p.known = map[string]bool{}
	}
	p.known[sql] = true
}

// Forget deallocates the prepared statements of a connection.
func Forget(ctx context.Context, c *pgxpool.Conn) error {
	if err := c.Conn().DeallocateAll(ctx); err != nil {
		return err
	}
	if p := poolingOf(c); p != nil {
		p.known = nil
	}
	return nil
}

// Each calls fn for each row of a result.
func Each(ctx context.Context, c *pgxpool.Conn, sql string, fn func(pgx.Rows) error, args ...any) error {
	if err := Settle(ctx, c); err != nil {
		return err
	}
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// timeLimit is the key in the connection's custom data for the statement_timeout of its session, in seconds; 0: the
// server's default.
const timeLimit = "grense.statement_timeout"

// bound sets the session's statement_timeout to the time that ctx leaves, unless it is between once and twice that
// already.
func bound(ctx context.Context, c *pgxpool.Conn) error {
	if InTransactions(c) { // transactions set their own
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

// Bind converts arguments to types that pgx sends.
func Bind(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case sqlq.Date:
			args[i] = string(a)
		case sqlq.Moment:
			args[i] = string(a)
		case sqlq.UUID:
			args[i] = string(a)
		case cql2.Decimal:
			args[i] = string(a)
		}
	}
	return args
}

// Storable reports whether PostgreSQL accepts a text: valid UTF-8 without zero bytes.
func Storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// Literal returns a text as an SQL string literal.
func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
