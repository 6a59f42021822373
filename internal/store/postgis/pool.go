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

// purpose is what connections are for. It matters where the address names several servers, of which one takes
// changes and the others follow.
type purpose uint8

const (
	toAsk   purpose = iota // read only, on the servers that the address prefers
	toRead                 // on any server
	toWrite                // on the one that takes changes
	toProve                // that the server answers: one connection, as toAsk
	toKeep                 // keys, on the server that takes changes
)

// newPool makes a pool that connects when it is first used.
func newPool(ctx context.Context, url string, p purpose) (*pgxpool.Pool, error) {
	cfg, _, err := poolConfig(url, p)
	if err != nil {
		return nil, err
	}
	return connect(ctx, url, cfg)
}

// connect makes the pool of a configuration.
func connect(ctx context.Context, url string, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("postgis: %s", scrub(url, err.Error()))
	}
	return pool, nil
}

// poolConfig is the configuration of a pool, and whether another connection listens beside one that is toAsk.
func poolConfig(url string, p purpose) (cfg *pgxpool.Config, listens bool, err error) {
	cfg, err = pgxpool.ParseConfig(url)
	if err != nil {
		return nil, false,
			fmt.Errorf("postgis: the address of the database cannot be read; "+
				"write postgres://user@host:5432/database: %s", scrub(url, err.Error()))
	}
	listens = cfg.ConnConfig.RuntimeParams[poolMode] != poolTransaction // which gives no session to listen in
	configure(cfg.ConnConfig, p)
	if err := setPooling(cfg, p); err != nil {
		return nil, false, err
	}
	whole := strings.Contains(url, "pool_max_conns")
	switch {
	case p == toProve:
		cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns = 0, 0, 1
	case p != toAsk:
		// soon with the first server again that is there
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
	cfg.PingTimeout = time.Second // of a connection that was idle; one that is silent gives way to a new one
	return cfg, listens, nil
}

// othersWithin is how many of the connections that a process may have are not for questions: of the sign of life, and
// of keys.
func othersWithin(cfg *pgxpool.Config) int32 {
	if isSeveral(cfg.ConnConfig) {
		return 3 // keys are read from one server, and written to another
	}
	return 2
}

// leastToListen is how many connections there have to be for questions before one listens.
const leastToListen = 2

// waitForLock is how long a query waits for a table that another session has locked.
const waitForLock = 3 * time.Second

// connectTimeout bounds one attempt to connect where the address does not.
const connectTimeout = 3 * time.Second

func configure(c *pgx.ConnConfig, use purpose) {
	p := c.RuntimeParams
	p["timezone"], p["datestyle"], p["client_encoding"] = "UTC", "ISO", "UTF8"
	p["jit"] = "off"                                 // takes longer than most questions
	p["plan_cache_mode"] = "force_custom_plan"       // boxes and limits differ too much for one plan
	p["extra_float_digits"] = "1"                    // shortest text that gives the number back
	p["standard_conforming_strings"] = "on"          // identifiers and constants are written so
	p["client_min_messages"] = "warning"             //
	p["search_path"] = "public, postgis, extensions" // where PostGIS is found; tables are named with their schema
	if use == toAsk && p["lock_timeout"] == "" {     // a table that another program has locked is reported as such
		p["lock_timeout"] = strconv.FormatInt(waitForLock.Milliseconds(), 10)
	}
	for name, value := range map[string]string{
		// of memory and flash; with the default, that of disks, indexes are left unused
		"random_page_cost": "1.1",
		// questions come beside each other; helpers cost more than most of them
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
			c.ValidateConnect = nil // there is no choice, and the server says best what is wrong
		}
	}
	if c.ConnectTimeout == 0 || c.ConnectTimeout > time.Minute {
		c.ConnectTimeout = connectTimeout
	}
	// A question whose client is gone is cancelled at the server, and the connection is kept where the
	// server confirms that soon.
	c.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pc, DeadlineDelay: time.Second}
	}
}

// isSeveral reports whether an address names several servers. One that is tried with TLS and then without it,
// as it is by default, is one.
func isSeveral(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != c.Host || f.Port != c.Port
	})
}

// target names a database without the password.
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

// scrub removes the address and the passwords in it from a text.
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

// Redact returns an address of a database with xxxxx for each password.
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

// retry runs fn with a connection. If the connection turns out to be broken, as all are after a restart of the server,
// fn runs once more with a new one; so fn must start over. The server stops by itself soon after the deadline of ctx,
// even if a cancellation does not reach it. Errors of the server and the network become those of package store.
func (s *Store) retry(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	if s.pinned != nil {
		return explain(ctx, s.pool.Config().ConnConfig, bounded(ctx, fn)(s.pinned))
	}
	return retryIn(ctx, s.pool, fn)
}

// bounded sets the server's time limit before fn.
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

// errBroken marks an error after which the connection was closed.
var errBroken = errors.New("postgis: the connection broke")

// errNoConnection marks an error of a connection that did not come about.
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

// How long a question waits for a connection at a server that has none left, and between two looks.
const (
	mostForFull  = 10 * time.Second
	leastForFull = 10 * time.Millisecond
	pauseForFull = 200 * time.Millisecond
)

// atOnce in a context says that nobody waits for a connection at a server that has none left.
type atOnce struct{}

// acquire takes a connection. It queues where the server has none left for us.
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
			if errors.Is(ctx.Err(), context.DeadlineExceeded) { // it never began
				return nil, fmt.Errorf("postgis: %w", store.ErrBusy)
			}
			return nil, err
		case <-t.C:
		}
	}
}

// acquireNow takes a connection. It waits for as long as store.WithPatience says where all are in use;
// a server that is slow to connect is not busy.
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

// again reports whether a question that failed may succeed at once when it is asked again: its connection broke,
// or the definition of a table has changed since the statement was prepared.
func again(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, errBroken) || ok && pe.Code == "0A000" && strings.Contains(pe.Message, "cached plan")
}

// explain gives errors of the server and of the network their meaning. What is not of the caller's making is
// store.ErrUnavailable: so is a server that is silent until the deadline, unlike one that works until then and
// confirms that it has stopped.
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
	case pe.Code == "57014": // statement_timeout
		return fmt.Errorf("postgis: %w: %w", context.DeadlineExceeded, err)
	case pe.Code == "53100":
		return fmt.Errorf("postgis: %s: %w: %w: %w", target(c), store.ErrUnavailable, store.ErrFull, err)
	case pe.Code == "55P03": // lock_timeout
		return fmt.Errorf("postgis: %w: %w: %w", store.ErrUnavailable, store.ErrLocked, err)
	case unavailable(pe.Code):
		return fmt.Errorf("postgis: %s: %w: %w", target(c), store.ErrUnavailable, err)
	}
	return fmt.Errorf("postgis: %w", err)
}

// unavailable reports whether an error of the server (PostgreSQL, appendix A) is temporary:
// of connections and authorization, a missing database, resources, the operator, the system, conflicts with recovery;
// and of tables and columns that were dropped or revoked, which the catalog will notice in a moment.
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

// ErrRefused reports a server that does not let the user in, or does not have the database:
// it answers, so that waiting does not help.
var ErrRefused = errors.New("postgis: the server refuses the connection")

// refused gives an error ErrRefused and the cure, instead of store.ErrUnavailable, where the server does not let the
// user in (class 28 of PostgreSQL, appendix A) or has no such database (3D000). It is for start-up:
// what has answered before may do so again.
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

// ownError carries an error of ours, or of a caller's function, through retry.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }

func own(err error) error {
	if err == nil {
		return nil
	}
	return &ownError{err}
}
