package postgis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolMode is the parameter of the address that tells of a pooler, such as PgBouncer, between us and the server, by the name and the values that
// PgBouncer has for it. A pooler refuses the settings that we send when we connect, and hands server sessions from client to client.
const poolMode = "pool_mode"

const (
	poolSession     = "session"     // a session of the server is ours while we are connected: settings are made after connecting
	poolTransaction = "transaction" // it is ours for one transaction: settings are made in each, and statements are not prepared by name
)

// tracked are the settings that PgBouncer knows and keeps apart for each client.
var tracked = []string{"timezone", "datestyle", "client_encoding", "standard_conforming_strings", "application_name"}

// pooling is what is known of a connection through a pooler.
type pooling struct{ begin string } // begins a transaction with our settings

// poolingName is the name of pooling in the data of a connection.
const poolingName = "grense.pooling"

// setPooling makes a configuration fit for the pooler that its address tells of.
func setPooling(cfg *pgxpool.Config, p purpose) error {
	params := cfg.ConnConfig.RuntimeParams
	mode := params[poolMode]
	delete(params, poolMode)
	switch mode {
	case "":
		cfg.AfterConnect = settingsCame(p)
		return nil
	case poolSession, poolTransaction:
	default:
		return fmt.Errorf("postgis: %s is %q; write %s or %s, as pool_mode of the pooler is", poolMode, mode, poolSession, poolTransaction)
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
			c.PgConn().CustomData()[poolingName] = &pooling{"BEGIN READ ONLY; " + set}
			return nil
		}
	}
	return nil
}

// settingsCame refuses a connection to a server that our settings have not come to: a pooler has swallowed them.
func settingsCame(p purpose) func(context.Context, *pgx.Conn) error {
	if p != toAsk && p != toProve {
		return nil
	}
	return func(_ context.Context, c *pgx.Conn) error {
		var version int
		fmt.Sscanf(c.PgConn().ParameterStatus("server_version"), "%d", &version) // 0 when it is told otherwise
		if version >= 14 && c.PgConn().ParameterStatus("default_transaction_read_only") != "on" {
			return own(fmt.Errorf("%w: %s", ErrPooler, poolerCure))
		}
		return nil
	}
}

// ErrPooler reports a pooler that the address does not tell of.
var ErrPooler = errors.New("postgis: there is a pooler between")

const poolerCure = "it does not pass settings on when a connection is made; add pool_mode=session or pool_mode=transaction to the address, as the pooler has it"

// transacted runs fn in a transaction where the connection goes through a pooler that gives a session for that long only.
func transacted(ctx context.Context, c *pgxpool.Conn, fn func(*pgxpool.Conn) error) error {
	p, ok := c.Conn().PgConn().CustomData()[poolingName].(*pooling)
	if !ok {
		return fn(c)
	}
	begin := p.begin
	if need := secondsLeft(ctx); need > 0 {
		begin += fmt.Sprintf("; SET LOCAL statement_timeout = %d", 1000*need)
	}
	if _, err := c.Exec(ctx, begin, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	err := fn(c)
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	if !c.Conn().IsClosed() {
		if _, wrong := c.Exec(context.WithoutCancel(ctx), end, pgx.QueryExecModeSimpleProtocol); wrong != nil && err == nil {
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

// isFull reports a server, or a role, that has no connection left for now (PostgreSQL, appendix A, 53300), or a pooler that says so.
func isFull(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pe.Code == "53300" || strings.Contains(pe.Message, "no more connections allowed"))
}
