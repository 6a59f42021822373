package conn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
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

// lazilyKey is a context key; see lazily.
type lazilyKey struct{}

// Lazily returns a context in which a transaction begins only if a statement needs it. Code that runs statements must
// then use Query, Each or Settle.
func Lazily(ctx context.Context) context.Context { return context.WithValue(ctx, lazilyKey{}, true) }

func poolingOf(c *pgxpool.Conn) *pooling {
	p, _ := c.Conn().PgConn().CustomData()[poolingName].(*pooling)
	return p
}

// Settle begins a pending transaction.
func Settle(ctx context.Context, c *pgxpool.Conn) error {
	p := poolingOf(c)
	if p == nil || p.pending == "" {
		return nil
	}
	begin := p.pending
	p.pending = ""
	_, err := c.Exec(ctx, begin, pgx.QueryExecModeSimpleProtocol)
	return err
}

// poolingName is the key of pooling in the connection's custom data.
const poolingName = "grense.pooling"

// setPooling adapts a configuration to a pooler declared in the address.
func setPooling(cfg *pgxpool.Config, p Purpose) error {
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
			sets = append(sets, "set_config("+Literal(name)+", "+Literal(params[name])+", "+local+")")
			delete(params, name)
		}
	}
	if mode == poolSession && p == ForQueries {
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
	if p == ForQueries || p == ForReady {
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
func arrived(p Purpose) func(context.Context, *pgx.Conn) error {
	if p != ForQueries && p != ForReady {
		return nil
	}
	return func(ctx context.Context, c *pgx.Conn) error {
		var version int
		fmt.Sscanf(c.PgConn().ParameterStatus("server_version"), "%d", &version) // 0 if it has another form
		if version >= 14 && c.PgConn().ParameterStatus("default_transaction_read_only") != "on" {
			return Own(fmt.Errorf("%w: %s", ErrPooler, poolerCure))
		}
		if p != ForQueries {
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
	if ctx.Value(lazilyKey{}) == nil {
		if err := Settle(ctx, c); err != nil {
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

// InTransactions reports whether the connection is in a transaction of transacted.
func InTransactions(c *pgxpool.Conn) bool {
	_, ok := c.Conn().PgConn().CustomData()[poolingName]
	return ok
}
