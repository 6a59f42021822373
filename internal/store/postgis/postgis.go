// Package postgis serves the tables of a PostGIS database through pgx. Package writer, below it, imports into one.
//
// Any schema is served as it is: tables, views and materialised views with a geometry column become collections. A
// read-only role is enough. Rows are live: a response contains what other sessions have committed before. Every few
// seconds the definitions of tables are compared; if they have changed, the catalog is replaced.
//
// Counts, extents and the longest edge in the catalog are those of the last Reload, or of the time when a table was
// last rewritten. Matches of a query are counted each time; but an expensive count is cached for a while, and the total
// of a table until a transaction ends in the server. Queries in another reference system notice an edge much longer
// than all others, or the first empty geometry of a table, only after the next Reload.
//
// Word search (cql2.Search) and patterns use folded columns in tables that Grense created, with trigram indexes if the
// extension pg_trgm is installed. Otherwise rows that pass the other conditions are read and tested in this package.
// Sorting by rank or in Norwegian order also reads all matches.
package postgis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cache"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
)

// Options configure how a database is opened. The zero value is usable.
type Options struct {
	Settings map[string]store.Settings // by schema.table, table, or the collection id derived from the table
	Logger   *slog.Logger              // nil: none
	// Wait makes Open retry, with growing pauses, until its context ends if the database is unavailable.
	Wait bool
	Poll time.Duration // interval of checks for changed definitions. Defaults to 3 seconds.
	// AllowEmpty lets Open succeed if no table can be served.
	AllowEmpty bool
	Caches     *cache.Group // group that counts the caches of the store; nil: none
	// Dir is the directory for a file with surveys of tables. The next Open starts with them and reads the tables again
	// in the background. "": none.
	Dir string
	// Uncut opens tables that would be refused because they cross the antimeridian, for an import that cuts them. Their
	// boxes and extents are wrong.
	Uncut bool
}

// Store serves one database.
type Store struct {
	pool    *pgxpool.Pool
	signs   *pgxpool.Pool // one connection, for Ready
	options Options
	caches  *caches
	current atomic.Pointer[revision]
	reload  sync.Mutex
	away    atomic.Bool // the database was unavailable at the last check
	wake    chan struct{}
	doubted atomic.Bool // a result has shown that a table changed

	healNext  time.Time // used by the poller: next attempt at unreadable tables
	healPause time.Duration
	looked    time.Time // used by the poller: last check because of a doubt
	reported  string    // used by the poller: last reported fingerprint

	versions atomic.Pointer[versionQueries]
	run      *conn.ServerRun // of the pool; nil in a snapshot

	pinned *pgxpool.Conn // in a snapshot, its connection for all queries; else nil

	mu     sync.Mutex
	users  int  // number of queries in flight, plus one until Close
	closed bool // no further queries
	idle   chan struct{}

	stop    context.CancelFunc // stops the poller
	stopped chan struct{}
}

var _ store.Store = (*Store)(nil)

// Open connects to the database at url, in any form that libpq accepts. Problems of single tables are notes in the
// catalog. An error, which never contains the password, means that nothing can be served.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Poll == 0 {
		o.Poll = 3 * time.Second
	}
	cfg, listens, err := conn.Config(url, conn.ForQueries)
	if err != nil {
		return nil, err
	}
	run := &conn.ServerRun{}
	if !conn.IsSeveral(cfg.ConnConfig) {
		run.Watch(cfg)
	}
	pool, err := conn.Connect(ctx, url, cfg)
	if err != nil {
		return nil, err
	}
	signs, err := conn.Open(ctx, url, conn.ForReady)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s := &Store{pool: pool, signs: signs, options: o, caches: newCaches(o.Caches), users: 1, idle: make(chan struct{}),
		stopped: make(chan struct{}), wake: make(chan struct{}, 1), run: run}
	r, err := s.first(ctx)
	if err != nil {
		pool.Close()
		signs.Close()
		return nil, err
	}
	s.current.Store(r)
	s.logChanges(nil, r)
	background, stop := context.WithCancel(context.WithoutCancel(ctx)) // ends with Close
	s.stop = stop
	if !r.stored {
		s.keep(ctx, r)
	}
	go s.poll(background, looks{verify: r.stored, listen: listens})
	return s, nil
}

// first loads the catalog, and retries if Options.Wait is set.
func (s *Store) first(ctx context.Context) (*revision, error) {
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		r, err := s.load(ctx, s.stored(ctx))
		if err == nil {
			err = s.some(r)
		}
		err = conn.Refused(s.pool, err)
		if err == nil || !s.options.Wait || !errors.Is(err, store.ErrUnavailable) {
			return r, err
		}
		s.options.Logger.Warn("the database cannot be reached; trying again", "database",
			conn.Target(s.pool.Config().ConnConfig), "pause_seconds", pause.Seconds(), "err", err)
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, errors.Join(err, ctx.Err())
		case <-t.C:
		}
	}
}

// looks selects further tasks of the poller.
type looks struct{ verify, listen bool }

// poll checks for changed definitions every few seconds, and when an import announces a commit, until ctx ends.
func (s *Store) poll(ctx context.Context, also looks) {
	defer close(s.stopped)
	var beside sync.WaitGroup
	if also.listen {
		beside.Go(func() { s.listen(ctx, s.wake) })
	}
	if also.verify {
		beside.Go(func() { s.verify(ctx) })
	}
	defer beside.Wait()
	tick := time.NewTicker(s.options.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
		err := s.look(ctx)
		if away := err != nil; away != s.away.Swap(away) && ctx.Err() == nil {
			if away {
				s.options.Logger.Error("the definitions of the database cannot be read", "err", err)
			} else {
				s.options.Logger.Info("the database answers again")
			}
		}
	}
}

// look reloads if a definition has changed.
func (s *Store) look(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var found string
	err := s.retry(short, func(c *pgxpool.Conn) (err error) {
		found, err = catalog.Fingerprint(short, c)
		return err
	})
	if err != nil {
		return err
	}
	switch now := s.current.Load(); {
	case found != now.fingerprint:
		if found != s.reported {
			s.options.Logger.Info("definitions in the database have changed")
		}
		s.reported = found
		s.healPause = 0
	case s.doubted.Load() && time.Since(s.looked) >= s.options.Poll:
		s.looked = time.Now()
	case !s.heals(ctx, now):
		return nil
	}
	s.doubted.Store(false)
	long, cancel := context.WithTimeout(ctx, 5*time.Minute) // in case the server does not respond
	defer cancel()
	return s.swap(long, s.current.Load())
}

// doubt makes the poller check definitions soon.
func (s *Store) doubt() {
	s.doubted.Store(true)
	select {
	case s.wake <- struct{}{}:
	default: // already woken
	}
}

// some returns an error if nothing can be served, unless Options.AllowEmpty is set.
func (s *Store) some(r *revision) error {
	if len(r.layers) > 0 || s.options.AllowEmpty {
		return nil
	}
	err := fmt.Errorf("postgis: %w",
		r.catalog.RequireCollections("the role may read no table; grant it the right to select, or set allow_empty"))
	if len(r.ailing) > 0 {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// Catalog returns the current catalog.
func (s *Store) Catalog() *store.Catalog { return s.current.Load().catalog }

// Reload reads definitions, counts and extents again. Queries in flight finish on the old ones.
func (s *Store) Reload(ctx context.Context) error {
	err := s.swap(ctx, nil)
	if err == nil {
		s.keep(ctx, s.current.Load())
	}
	return err
}

// swap loads a revision that reuses the surveys of the revision before, which may be nil, and makes it current.
func (s *Store) swap(ctx context.Context, before *revision) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.reload.Lock()
	defer s.reload.Unlock()
	r, err := s.load(ctx, before)
	if err != nil {
		return err
	}
	return s.become(r)
}

// exchange makes a revision the current one.
func (s *Store) exchange(r *revision) error {
	s.reload.Lock()
	defer s.reload.Unlock()
	return s.become(r)
}

// become is exchange for callers that hold the lock of Reload.
func (s *Store) become(r *revision) error {
	now := s.current.Load()
	if err := s.some(r); err != nil && len(now.layers) > 0 {
		return fmt.Errorf("%w; the catalog of before stays", err)
	}
	s.current.Store(r)
	s.logChanges(now, r)
	return nil
}

// Room reserves a quarter of the connections for cheap queries.
func (s *Store) Room() [len(store.Costs)]int {
	n := int(s.pool.Config().MaxConns)
	part := max(1, n/4)
	return [...]int{store.CostPage: n, store.CostIndexed: part, store.CostScan: part, store.CostGeometry: part}
}

// Connections returns those of the pool for queries.
func (s *Store) Connections() store.Connections {
	st := s.pool.Stat()
	return store.Connections{InUse: int(st.AcquiredConns()), Idle: int(st.IdleConns()), Limit: int(st.MaxConns())}
}

// Ready runs a trivial statement on a connection that queries do not use.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	sign := func(c *pgxpool.Conn) error {
		var one int
		return c.QueryRow(ctx, "SELECT 1").Scan(&one)
	}
	err := conn.Retry(conn.AtOnce(ctx), s.signs, sign)
	if err != nil && conn.IsFull(err) && s.pool.Stat().TotalConns() > 0 {
		// the role has no further connection: share those of queries
		err = conn.Retry(ctx, s.pool, sign)
	}
	return err
}

// Close waits for queries in flight and closes all connections.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		s.stop()
		<-s.stopped
		s.leave()
	}
	<-s.idle
	if first {
		s.pool.Close()
		s.signs.Close()
	}
	return nil
}

// enter registers a query in flight. leave ends it.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("postgis: the store is closed: %w", store.ErrUnavailable)
	}
	s.users++
	return nil
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		close(s.idle)
	}
}
