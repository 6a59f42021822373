package postgis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolMode is the parameter of the address that declares a pooler, such as PgBouncer, in front of the server,
// with PgBouncer's name and values. A pooler refuses the settings of a connection at startup, and passes server
// sessions from client to client.
const poolMode = "pool_mode"

const (
	// a session of the server is ours while we are connected: settings are made after connecting
	poolSession = "session"
	// it is ours for one transaction: settings are made in each, and statements are not prepared by name
	poolTransaction = "transaction"
)

// atOnceSet begins pooling.set.
const atOnceSet = "SELECT set_config('transaction_read_only', 'on', TRUE), set_config('statement_timeout', " +
	"coalesce($1, current_setting('statement_timeout')), TRUE), "

// tracked are the settings that PgBouncer knows and keeps apart for each client.
var tracked = []string{"timezone", "datestyle", "client_encoding", "standard_conforming_strings", "application_name"}

// pooling is what is known of a connection through a pooler.
type pooling struct {
	begin string // begins a transaction with our settings
	set   string // makes them for what is sent together; its argument is the limit for statements
	// pending begins the transaction that has not begun, since a statement that knows its columns needs none; "":
	// it has begun, or none is to.
	pending string
	limit   *string         // the limit for statements, in milliseconds; nil: the server's own
	known   map[string]bool // statements whose columns the connection knows
}

// mostKnown is below what pgx keeps.
const mostKnown = 256

// lazily in a context says that a transaction begins only where a statement needs it:
// who runs statements in it uses query or settle.
type lazily struct{}

func poolingOf(c *pgxpool.Conn) *pooling {
	p, _ := c.Conn().PgConn().CustomData()[poolingName].(*pooling)
	return p
}

// settle begins a transaction that is pending.
func settle(ctx context.Context, c *pgxpool.Conn) error {
	p := poolingOf(c)
	if p == nil || p.pending == "" {
		return nil
	}
	begin := p.pending
	p.pending = ""
	_, err := c.Exec(ctx, begin, pgx.QueryExecModeSimpleProtocol)
	return err
}

// query is Query of c. Where a transaction is pending, our settings go with a statement whose columns are known,
// in one round trip; the server takes what is sent together for a transaction of its own.
// The caller calls end when it has read the rows.
func query(ctx context.Context, c *pgxpool.Conn, sql string, args []any) (rows pgx.Rows, end func(), err error) {
	return queryPlanned(ctx, c, sql, args, false)
}

// queryPlanned is query. With once, a session of ours plans the statement once for all arguments.
func queryPlanned(ctx context.Context, c *pgxpool.Conn, sql string, args []any, once bool) (
	rows pgx.Rows, end func(), err error) {
	p := poolingOf(c)
	if p == nil {
		return queryInMode(ctx, c, sql, args, once)
	}
	if p.pending == "" || !p.known[sql] {
		if err := settle(ctx, c); err != nil {
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

// planOnce is the name of a fact about a connection: whether its session plans statements once for all arguments.
const planOnce = "grense.plan_once"

// queryInMode is Query of c in a session of ours. It sets the mode of planning in the same round trip.
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
		if results.Close() != nil || rows.Err() != nil { // the server has undone the setting
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

// poolingName is the name of pooling in the data of a connection.
const poolingName = "grense.pooling"

// setPooling adapts a configuration to the pooler that its address declares.
func setPooling(cfg *pgxpool.Config, p purpose) error {
	params := cfg.ConnConfig.RuntimeParams
	mode := params[poolMode]
	delete(params, poolMode)
	switch mode {
	case "":
		cfg.AfterConnect = arrived(p)
		return nil
	case poolSession, poolTransaction:
	default:
		return fmt.Errorf("postgis: %s is %q; write %s or %s, as pool_mode of the pooler is", poolMode, mode,
			poolSession, poolTransaction)
	}
	local := "TRUE"
	if mode == poolSession {
		local = "FALSE"
	}
	var sets []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(tracked, name) {
			sets = append(sets, "set_config('"+escapeQuotes(name)+"', '"+escapeQuotes(params[name])+"', "+local+")")
			delete(params, name)
		}
	}
	if mode == poolSession && p == toAsk {
		sets = append(sets, setRun)
	}
	set := "SELECT " + strings.Join(sets, ", ")
	if mode == poolSession {
		cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, set, pgx.QueryExecModeSimpleProtocol)
			return err
		}
		return nil
	}
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // by the statement without a name, in one go
	if p == toAsk || p == toProve {
		cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
			c.PgConn().CustomData()[poolingName] = &pooling{begin: "BEGIN READ ONLY; " + set,
				set: atOnceSet + strings.Join(sets, ", ")}
			return nil
		}
	}
	return nil
}

// arrived refuses a connection to a server that our settings have not come to: a pooler has swallowed them.
// One that is to ask learns the run of the server.
func arrived(p purpose) func(context.Context, *pgx.Conn) error {
	if p != toAsk && p != toProve {
		return nil
	}
	return func(ctx context.Context, c *pgx.Conn) error {
		var version int
		fmt.Sscanf(c.PgConn().ParameterStatus("server_version"), "%d", &version) // 0 if the server says something else
		if version >= 14 && c.PgConn().ParameterStatus("default_transaction_read_only") != "on" {
			return own(fmt.Errorf("%w: %s", ErrPooler, poolerCure))
		}
		if p != toAsk {
			return nil
		}
		var run string
		if err := c.QueryRow(ctx, "SELECT "+setRun, pgx.QueryExecModeSimpleProtocol).Scan(&run); err != nil {
			return err
		}
		c.PgConn().CustomData()[runName] = run
		return nil
	}
}

// ErrPooler reports a pooler that the address does not declare.
var ErrPooler = errors.New("postgis: there is a pooler between")

const poolerCure = "it does not pass settings on when a connection is made; add pool_mode=session or " +
	"pool_mode=transaction to the address, as the pooler has it"

// transacted runs fn in a transaction where the connection goes through a pooler that gives a
// session for that long only.
func transacted(ctx context.Context, c *pgxpool.Conn, fn func(*pgxpool.Conn) error) error {
	p := poolingOf(c)
	if p == nil {
		return fn(c)
	}
	p.pending, p.limit = p.begin, nil
	if need := secondsLeft(ctx); need > 0 {
		limit := strconv.Itoa(1000 * need)
		p.pending, p.limit = p.begin+"; SET LOCAL statement_timeout = "+limit, &limit
	}
	if ctx.Value(lazily{}) == nil {
		if err := settle(ctx, c); err != nil {
			return err
		}
	}
	err := fn(c)
	if p.pending != "" { // no statement needed it
		p.pending = ""
		return err
	}
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	if !c.Conn().IsClosed() {
		if _, wrong := c.Exec(context.WithoutCancel(ctx), end, pgx.QueryExecModeSimpleProtocol); wrong != nil &&
			err == nil {
			err = wrong
		}
	}
	return err
}

// inTransactions reports whether the connection is in a transaction of transacted.
func inTransactions(c *pgxpool.Conn) bool {
	_, ok := c.Conn().PgConn().CustomData()[poolingName]
	return ok
}

// isFull reports a server, or a role, that has no connection left for now (PostgreSQL, appendix A, 53300),
// or a pooler that says so.
func isFull(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pe.Code == "53300" || strings.Contains(pe.Message, "no more connections allowed"))
}
