// Package conn connects to PostgreSQL, directly or through a pooler: it opens pools for each purpose, runs functions
// again whose connection broke, and converts errors of the server and the network to those of package store.
//
// A function that runs on a connection may run twice, so it starts from the beginning. Own carries its errors past the
// conversion.
package conn

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Purpose is what a pool's connections are for. It matters if the address names a primary server and replicas.
type Purpose uint8

const (
	ForQueries Purpose = iota // read-only queries, on the servers that the address prefers
	ForReading                // reading, on any server
	ForWriting                // writing, on the primary
	ForReady                  // finding out whether a server responds: a single connection like ForQueries
	ForState                  // keys and jobs, on the primary
)

// Open returns a pool that connects on first use.
func Open(ctx context.Context, url string, p Purpose) (*pgxpool.Pool, error) {
	cfg, _, err := Config(url, p)
	if err != nil {
		return nil, err
	}
	return Connect(ctx, url, cfg)
}

// Connect creates a pool with a configuration.
func Connect(ctx context.Context, url string, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("postgis: %s", scrub(url, err.Error()))
	}
	return pool, nil
}

// Config returns the configuration of a pool, and whether a further connection can listen for notifications.
func Config(url string, p Purpose) (cfg *pgxpool.Config, listens bool, err error) {
	cfg, err = pgxpool.ParseConfig(url)
	if err != nil {
		return nil, false,
			fmt.Errorf("postgis: the address of the database cannot be read; "+
				"write postgres://user@host:5432/database: %s", scrub(url, err.Error()))
	}
	listens = cfg.ConnConfig.RuntimeParams[poolMode] != poolTransaction // without a session, LISTEN does not work
	configure(cfg.ConnConfig, p)
	if err := setPooling(cfg, p); err != nil {
		return nil, false, err
	}
	whole := strings.Contains(url, "pool_max_conns")
	switch {
	case p == ForReady:
		cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns = 0, 0, 1
	case p != ForQueries:
		// short-lived, to use the preferred server again soon
		cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns, cfg.MaxConnLifetime = 0, 0, 4, time.Minute
		if whole && p != ForWriting {
			cfg.MaxConns = 1
		}
	case whole:
		others := othersWithin(cfg)
		if listens = listens && cfg.MaxConns > others+leastToListen; listens {
			others++
		}
		cfg.MaxConns = max(cfg.MaxConns-others, 1)
		cfg.MinConns, cfg.MinIdleConns = min(cfg.MinConns, cfg.MaxConns), min(cfg.MinIdleConns, cfg.MaxConns)
	default:
		cfg.MaxConns = max(cfg.MaxConns, 16)
	}
	cfg.PingTimeout = time.Second // check of an idle connection; without a response it is replaced
	return cfg, listens, nil
}

// othersWithin returns how many of the process's connections are not for queries: for Ready, and for keys.
func othersWithin(cfg *pgxpool.Config) int32 {
	if IsSeveral(cfg.ConnConfig) {
		return 3 // keys are read on one server and written on another
	}
	return 2
}

// leastToListen is the least number of connections for queries so that another one may listen.
const leastToListen = 2

// waitForLock is the lock_timeout of queries.
const waitForLock = 3 * time.Second

// connectTimeout limits an attempt to connect if the address sets no limit.
const connectTimeout = 3 * time.Second

func configure(c *pgx.ConnConfig, use Purpose) {
	p := c.RuntimeParams
	p["timezone"], p["datestyle"], p["client_encoding"] = "UTC", "ISO", "UTF8"
	p["jit"] = "off"                                  // compiling takes longer than most queries
	p["plan_cache_mode"] = "force_custom_plan"        // boxes and limits differ too much for a single plan
	p["extra_float_digits"] = "1"                     // shortest text that represents the number exactly
	p["standard_conforming_strings"] = "on"           // our quoting relies on it
	p["client_min_messages"] = "warning"              //
	p["search_path"] = "public, postgis, extensions"  // where PostGIS may be; tables are always qualified
	if use == ForQueries && p["lock_timeout"] == "" { // a locked table is reported as such
		p["lock_timeout"] = strconv.FormatInt(waitForLock.Milliseconds(), 10)
	}
	for name, value := range map[string]string{
		// for memory and flash; with the default for disks, indexes are not used
		"random_page_cost": "1.1",
		// queries run concurrently, and starting workers takes longer than most of them
		"max_parallel_workers_per_gather": "0",
	} {
		if p[name] == "" {
			p[name] = value
		}
	}
	if p["application_name"] == "" {
		p["application_name"] = "grense"
	}
	switch use {
	case ForQueries, ForReady:
		p["default_transaction_read_only"] = "on"
	case ForReading:
		c.ValidateConnect = nil
	case ForWriting, ForState:
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		if !IsSeveral(c) {
			c.ValidateConnect = nil // there is no choice, and the server's own error is the best
		}
	}
	if c.ConnectTimeout == 0 || c.ConnectTimeout > time.Minute {
		c.ConnectTimeout = connectTimeout
	}
	// If the client of a query is gone, the query is cancelled at the server. The connection is reused if the server
	// confirms that soon.
	c.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pc, DeadlineDelay: time.Second}
	}
}
