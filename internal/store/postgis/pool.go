package postgis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

// purpose is what a pool's connections are for. It matters if the address names a primary server and replicas.
type purpose uint8

const (
	toAsk   purpose = iota // read-only queries, on the servers that the address prefers
	toRead                 // reading, on any server
	toWrite                // writing, on the primary
	toProve                // for Ready: a single connection like toAsk
	toKeep                 // keys and jobs, on the primary
)

// newPool returns a pool that connects on first use.
func newPool(ctx context.Context, url string, p purpose) (*pgxpool.Pool, error) {
	cfg, _, err := poolConfig(url, p)
	if err != nil {
		return nil, err
	}
	return connect(ctx, url, cfg)
}

// connect creates a pool with a configuration.
func connect(ctx context.Context, url string, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("postgis: %s", scrub(url, err.Error()))
	}
	return pool, nil
}

// poolConfig returns the configuration of a pool, and whether a further connection can listen for notifications.
func poolConfig(url string, p purpose) (cfg *pgxpool.Config, listens bool, err error) {
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
	case p == toProve:
		cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns = 0, 0, 1
	case p != toAsk:
		// short-lived, to use the preferred server again soon
		cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns, cfg.MaxConnLifetime = 0, 0, 4, time.Minute
		if whole && p != toWrite {
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
	if isSeveral(cfg.ConnConfig) {
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

func configure(c *pgx.ConnConfig, use purpose) {
	p := c.RuntimeParams
	p["timezone"], p["datestyle"], p["client_encoding"] = "UTC", "ISO", "UTF8"
	p["jit"] = "off"                                 // compiling takes longer than most queries
	p["plan_cache_mode"] = "force_custom_plan"       // boxes and limits differ too much for a single plan
	p["extra_float_digits"] = "1"                    // shortest text that represents the number exactly
	p["standard_conforming_strings"] = "on"          // our quoting relies on it
	p["client_min_messages"] = "warning"             //
	p["search_path"] = "public, postgis, extensions" // where PostGIS may be; tables are always qualified
	if use == toAsk && p["lock_timeout"] == "" {     // a locked table is reported as such
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
	case toAsk, toProve:
		p["default_transaction_read_only"] = "on"
	case toRead:
		c.ValidateConnect = nil
	case toWrite, toKeep:
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		if !isSeveral(c) {
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

// isSeveral reports whether an address names several servers. Trying one server with and without TLS, as by default,
// does not count.
func isSeveral(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != c.Host || f.Port != c.Port
	})
}

// target returns the database's address without the password.
func target(c *pgx.ConnConfig) string {
	s := "postgres://" + c.User + "@" + net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	for _, f := range c.Fallbacks {
		if next := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !strings.HasSuffix(s, next) {
			s += "," + next
		}
	}
	return s + "/" + c.Database
}

var passwords = regexp.MustCompile(`://[^/?#]*?:([^/?#]*)@|(?i:password)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)`)

// scrub removes the address and its passwords from a text.
func scrub(url, text string) string {
	hidden := Redact(url)
	text = strings.ReplaceAll(text, url, hidden)
	for _, m := range passwords.FindAllStringSubmatch(url, -1) {
		for _, secret := range m[1:] {
			if secret = strings.Trim(secret, "'"); secret != "" {
				text = strings.ReplaceAll(text, secret, "xxxxx")
			}
		}
	}
	return text
}

// Redact returns a database address with passwords replaced by xxxxx.
func Redact(url string) string {
	for _, m := range passwords.FindAllStringSubmatchIndex(url, -1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 && m[i+1] > m[i] {
				return url[:m[i]] + "xxxxx" + Redact(url[m[i+1]:])
			}
		}
	}
	return url
}

// retry runs fn with a connection. If the connection was broken, as all are after a restart of the server, fn runs once
// more with a new one, so it must start from the beginning. The server stops by itself soon after the deadline of ctx,
// even if a cancellation does not reach it. Errors of the server and the network are converted to those of package
// store.
func (s *Store) retry(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	if s.pinned != nil {
		return explain(ctx, s.pool.Config().ConnConfig, bounded(ctx, fn)(s.pinned))
	}
	return retryIn(ctx, s.pool, fn)
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

func retryIn(ctx context.Context, pool *pgxpool.Pool, fn func(*pgxpool.Conn) error) error {
	fn = bounded(ctx, fn)
	err := use(ctx, pool, fn)
	if err != nil && ctx.Err() == nil && again(err) {
		if errors.Is(err, errBroken) {
			pool.Reset()
		}
		err = use(ctx, pool, fn)
	}
	if err == nil {
		return nil
	}
	return explain(ctx, pool.Config().ConnConfig, err)
}

// errBroken reports that the connection was closed because of an error.
var errBroken = errors.New("postgis: the connection broke")

// errNoConnection reports that a connection could not be established.
var errNoConnection = errors.New("no connection")

func use(ctx context.Context, pool *pgxpool.Pool, fn func(*pgxpool.Conn) error) error {
	c, err := acquire(ctx, pool)
	if errors.Is(err, store.ErrBusy) {
		return own(err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNoConnection, err)
	}
	defer c.Release()
	err = transacted(ctx, c, fn)
	if pe, ok := errors.AsType[*pgconn.PgError](err); err != nil &&
		(c.Conn().IsClosed() || ok && pe.SeverityUnlocalized == "FATAL") {
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return err
}

// How long a query waits if the server has no connections left, and how often it tries.
const (
	mostForFull  = 10 * time.Second
	leastForFull = 10 * time.Millisecond
	pauseForFull = 200 * time.Millisecond
)

// atOnce is a context key: do not wait if the server has no connections left.
type atOnce struct{}

// acquire returns a connection. If the server has none left, it waits and tries again.
func acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	end := time.Now().Add(mostForFull)
	for pause := leastForFull; ; pause = min(2*pause, pauseForFull) {
		c, err := acquireNow(ctx, pool)
		if err == nil || !isFull(err) || time.Now().After(end) || ctx.Value(atOnce{}) != nil {
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
	return errors.Is(err, errBroken) || ok && pe.Code == "0A000" && strings.Contains(pe.Message, "cached plan")
}

// explain converts errors of the server and the network. Errors not caused by the caller become store.ErrUnavailable.
// That includes a server that does not respond by the deadline, but not one that works until then and confirms the
// cancellation.
func explain(ctx context.Context, c *pgx.ConnConfig, err error) error {
	if err == nil {
		return nil
	}
	own, ours := errors.AsType[*ownError](err)
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if ours && errors.Is(own.err, store.ErrBusy) {
		return own.err
	}
	if ended := ctx.Err(); ended != nil {
		if ended == context.DeadlineExceeded && err != ended && !ok && !ours {
			return fmt.Errorf("postgis: %s does not answer: %w: %v", target(c), store.ErrUnavailable, ended)
		}
		return ended
	}
	if ours {
		return own.err
	}
	switch {
	case !ok:
		return fmt.Errorf("postgis: %s: %w: %w", target(c), store.ErrUnavailable, err)
	case pe.Code == "57014": // query_canceled: statement_timeout
		return fmt.Errorf("postgis: %w: %w", context.DeadlineExceeded, err)
	case pe.Code == "53100":
		return fmt.Errorf("postgis: %s: %w: %w: %w", target(c), store.ErrUnavailable, store.ErrFull, err)
	case pe.Code == "55P03": // lock_not_available: lock_timeout
		return fmt.Errorf("postgis: %w: %w: %w", store.ErrUnavailable, store.ErrLocked, err)
	case unavailable(pe.Code):
		return fmt.Errorf("postgis: %s: %w: %w", target(c), store.ErrUnavailable, err)
	}
	return fmt.Errorf("postgis: %w", err)
}

// unavailable reports whether an error code (PostgreSQL, appendix A) is temporary: connection, authorization, missing
// database, resources, operator intervention, system errors, and conflicts with recovery; also dropped or revoked
// tables and columns, which the catalog will notice soon.
func unavailable(code string) bool {
	switch code {
	case "42P01", "42703", "42501", "42704", "42804", "42846", "42809", "42P21", "42P22", "0A000", "3D000", "3F000",
		"40001", "40P01", "25006", "42883":
		return true
	}
	switch code[:min(2, len(code))] {
	case "08", "28", "53", "55", "57", "58", "HV", "XX":
		return true
	}
	return false
}

// ErrRefused reports that the server rejects the user or does not have the database. Waiting does not help.
var ErrRefused = errors.New("postgis: the server refuses the connection")

// refused returns ErrRefused with the cure instead of store.ErrUnavailable if the server rejects the user (class 28 of
// PostgreSQL, appendix A) or has no such database (3D000). It is for startup only: a server that has worked before may
// do so again.
func refused(c *pgx.ConnConfig, err error) error {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, ErrPooler):
		return fmt.Errorf("postgis: %s: %w: %s", target(c), ErrPooler, poolerCure)
	case ok && strings.Contains(pe.Message, "unsupported startup parameter"):
		return fmt.Errorf("postgis: %s: %w: %s (%s)", target(c), ErrPooler, poolerCure, pe.Message)
	case ok && pe.Code == "3D000":
		return fmt.Errorf("postgis: %s: %w: %s (SQLSTATE 3D000); correct the name of the database in the address, "+
			"or create it", target(c), ErrRefused, pe.Message)
	case !ok || !strings.HasPrefix(pe.Code, "28"):
		return err
	}
	return fmt.Errorf("postgis: %s: %w: %s (SQLSTATE %s); look at the user and the password in the address, "+
		"or in PGPASSWORD and ~/.pgpass, and at pg_hba.conf of the server",
		target(c), ErrRefused, pe.Message, pe.Code)
}

// ownError carries an error of our own, or of a caller's function, unchanged through retry.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }

func own(err error) error {
	if err == nil {
		return nil
	}
	return &ownError{err}
}
