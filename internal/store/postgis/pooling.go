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

// poolMode is the URL parameter that declares a pooler such as PgBouncer in front of the server, with PgBouncer's name
// and values. A pooler does not accept settings at connection startup, and shares server sessions between clients.
const poolMode = "pool_mode"

const (
	// the client has a server session as long as it is connected: settings are made after connecting
	poolSession = "session"
	// the client has a server session for one transaction: settings are made in each, and statements have no names
	poolTransaction = "transaction"
)

// atOnceSet is the beginning of pooling.set.
const atOnceSet = "SELECT set_config('transaction_read_only', 'on', TRUE), set_config('statement_timeout', " +
	"coalesce($1, current_setting('statement_timeout')), TRUE), "

// tracked are the settings that PgBouncer tracks for each client.
var tracked = []string{"timezone", "datestyle", "client_encoding", "standard_conforming_strings", "application_name"}

// pooling is the state of a connection through a pooler.
type pooling struct {
	begin string // begins a transaction with our settings
	set   string // applies our settings to a batch; its argument is the statement_timeout
	// pending begins a transaction that was deferred, since a statement with known columns does not need one; "" if it
	// has begun or none is to begin.
	pending string
	limit   *string         // statement_timeout in milliseconds; nil: the server's default
	known   map[string]bool // statements whose columns the connection knows
}

// mostKnown is less than pgx's cache of statement descriptions.
const mostKnown = 256

// lazily is a context key: begin a transaction only if a statement needs it. Code that runs statements must then use
// query or settle.
type lazily struct{}

func poolingOf(c *pgxpool.Conn) *pooling {
	p, _ := c.Conn().PgConn().CustomData()[poolingName].(*pooling)
	return p
}

// settle begins a pending transaction.
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

// query runs c.Query. If a transaction is pending and the columns of the statement are known, it sends our settings and
// the statement as one batch, which the server runs as a transaction. The caller must call end after reading the rows.
func query(ctx context.Context, c *pgxpool.Conn, sql string, args []any) (rows pgx.Rows, end func(), err error) {
	return queryPlanned(ctx, c, sql, args, false)
}

// queryPlanned is query. With once, and in our own session, the server plans the statement once for all arguments.
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

// poolingName is the key of pooling in the connection's custom data.
const poolingName = "grense.pooling"

// setPooling adapts a configuration to a pooler declared in the address.
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
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // the unnamed statement, in one round trip
	if p == toAsk || p == toProve {
		cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
			c.PgConn().CustomData()[poolingName] = &pooling{begin: "BEGIN READ ONLY; " + set,
				set: atOnceSet + strings.Join(sets, ", ")}
			return nil
		}
	}
	return nil
}

// arrived refuses connections on which our settings did not take effect, since an undeclared pooler dropped them. For
// queries, it also reads the run of the server.
func arrived(p purpose) func(context.Context, *pgx.Conn) error {
	if p != toAsk && p != toProve {
		return nil
	}
	return func(ctx context.Context, c *pgx.Conn) error {
		var version int
		fmt.Sscanf(c.PgConn().ParameterStatus("server_version"), "%d", &version) // 0 if it has another form
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

// transacted runs fn in a transaction if a pooler gives the client a session only for a transaction.
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

// isFull reports whether the server, the role or a pooler has no connections left for now (PostgreSQL, appendix A,
// 53300).
func isFull(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pe.Code == "53300" || strings.Contains(pe.Message, "no more connections allowed"))
}
