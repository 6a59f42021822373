// Package postgis serves the tables of a PostGIS database through pgx, and writes into one.
//
// Any schema is served as it is: tables, views and materialised views with a geometry column become collections;
// a read-only role is enough. Rows are live: the next response has what another session commits.
// Every few seconds the definitions of tables are compared, and the catalog is swapped if they have changed.
//
// Counts, extents and the longest edge in the catalog are those of the last Reload, or of the time when all rows of a
// table were last rewritten. Matches of a query are counted each time, but an expensive count is cached for a while,
// and the total of a table until a transaction ends in the server. Queries in another reference system take an edge
// that is far longer than all others, or the first empty geometry of a table, into account only after the next Reload.
//
// Word search (cql2.Search) and patterns use folded columns if Grense created the table, with indexes of trigrams if
// the extension pg_trgm is installed. Otherwise rows that pass the other conditions are read and tested here.
// Sorting by rank or in Norwegian order reads all matches here.
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
)

// Options says how a database is opened. The zero value is usable.
type Options struct {
	Settings map[string]store.Settings // by schema.table, table, or the collection id that the table's name gives
	Logger   *slog.Logger              // nil: none
	// Wait makes Open try again, with growing pauses, for as long as its context lasts when the
	// database cannot be reached.
	Wait bool
	Poll time.Duration // between looks at the definitions. Defaults to 3 seconds.
	// AllowEmpty opens a database in which no table can be served. Else that is an error.
	AllowEmpty bool
	Caches     *cache.Group // takes the caches of the store; nil: none
	// Dir takes a file with what was read of the tables, from which the next Open begins;
	// it reads them again in the background. "": none.
	Dir string
	// Uncut opens tables that cross the antimeridian and would be refused, for an import that cuts them:
	// their boxes and extents are wrong.
	Uncut bool
}

// Store answers from one database.
type Store struct {
	pool    *pgxpool.Pool
	signs   *pgxpool.Pool // of one connection, for Ready
	options Options
	caches  *caches
	current atomic.Pointer[revision]
	reload  sync.Mutex
	away    atomic.Bool // the database could not be reached at the last look
	wake    chan struct{}
	doubted atomic.Bool // a result showed that a table has changed

	healNext  time.Time // the poller's: when tables that could not be read are tried again
	healPause time.Duration
	looked    time.Time // the poller's: when a doubt last made it look
	told      string    // the fingerprint that the poller reported last

	versions atomic.Pointer[versionQueries]
	run      *serverRun // of the pool; nil: of a snapshot

	pinned *pgxpool.Conn // of a snapshot: answers every question, in its transaction; else nil

	mu     sync.Mutex
	users  int  // queries in flight, and one for being open
	closed bool // no further questions
	idle   chan struct{}

	stop    context.CancelFunc // of the poller
	stopped chan struct{}
}

var _ store.Store = (*Store)(nil)

// Open connects to the database that url names, in any form that libpq takes. What is wrong with single tables stands
// in the catalog's notes; an error means that nothing can be served, and says why, without the password.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Poll == 0 {
		o.Poll = 3 * time.Second
	}
	cfg, listens, err := poolConfig(url, toAsk)
	if err != nil {
		return nil, err
	}
	run := &serverRun{}
	if !isSeveral(cfg.ConnConfig) {
		run.watch(cfg)
	}
	pool, err := connect(ctx, url, cfg)
	if err != nil {
		return nil, err
	}
	signs, err := newPool(ctx, url, toProve)
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
	background, stop := context.WithCancel(context.WithoutCancel(ctx)) // lives until Close
	s.stop = stop
	if !r.stored {
		s.keep(ctx, r)
	}
	go s.poll(background, looks{verify: r.stored, listen: listens})
	return s, nil
}

// first loads the catalog, again and again where Options.Wait says so.
func (s *Store) first(ctx context.Context) (*revision, error) {
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		r, err := s.load(ctx, s.stored(ctx))
		if err == nil {
			err = s.some(r)
		}
		err = refused(s.pool.Config().ConnConfig, err)
		if err == nil || !s.options.Wait || !errors.Is(err, store.ErrUnavailable) {
			return r, err
		}
		s.options.Logger.Warn("the database cannot be reached; trying again", "database",
			target(s.pool.Config().ConnConfig), "pause", pause, "err", err)
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, errors.Join(err, ctx.Err())
		case <-t.C:
		}
	}
}

// looks says what the poller does besides.
type looks struct{ verify, listen bool }

// poll checks for changed definitions, every few seconds and when a Writer announces a commit, until ctx ends.
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

// look reloads when a definition has changed.
func (s *Store) look(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var found string
	err := s.retry(short, func(c *pgxpool.Conn) (err error) {
		found, err = fingerprint(short, c)
		return err
	})
	if err != nil {
		return err
	}
	switch now := s.current.Load(); {
	case found != now.fingerprint:
		if found != s.told {
			s.options.Logger.Info("definitions in the database have changed")
		}
		s.told = found
		s.healPause = 0
	case s.doubted.Load() && time.Since(s.looked) >= s.options.Poll:
		s.looked = time.Now()
	case !s.heals(ctx, now):
		return nil
	}
	s.doubted.Store(false)
	long, cancel := context.WithTimeout(ctx, 5*time.Minute) // against a server that falls silent
	defer cancel()
	return s.swap(long, s.current.Load())
}

// doubt makes the poller look soon.
func (s *Store) doubt() {
	s.doubted.Store(true)
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// some is the error of a database that has nothing to serve, unless the options allow that.
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

// swap loads a revision that uses what the one before has measured; nil: nothing.
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

// become is exchange while reloads wait.
func (s *Store) become(r *revision) error {
	now := s.current.Load()
	if err := s.some(r); err != nil && len(now.layers) > 0 {
		return fmt.Errorf("%w; the catalog of before stays", err)
	}
	s.current.Store(r)
	s.logChanges(now, r)
	return nil
}

// Room leaves a quarter of the connections to what is cheap, whatever is asked.
func (s *Store) Room() [len(store.Costs)]int {
	n := int(s.pool.Config().MaxConns)
	part := max(1, n/4)
	return [...]int{store.CostPage: n, store.CostIndexed: part, store.CostScan: part, store.CostGeometry: part}
}

// Ready asks the database for a sign of life, over a connection that questions never have.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	sign := func(c *pgxpool.Conn) error {
		var one int
		return c.QueryRow(ctx, "SELECT 1").Scan(&one)
	}
	err := retryIn(context.WithValue(ctx, atOnce{}, true), s.signs, sign)
	if err != nil && isFull(err) && s.pool.Stat().TotalConns() > 0 {
		// the role has no further connection: questions share those that there are
		err = retryIn(ctx, s.pool, sign)
	}
	return err
}

// Close waits for queries in flight.
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

// enter begins a question, which ends with leave.
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
