// Package gpkg serves a GeoPackage file (OGC 12-128r18) through SQLite.
//
// Any GeoPackage is served as it is: its feature and attribute tables and views become collections. The file is opened
// read-only, and nothing is written next to it. Expensive results (envelopes if there is no R-tree, extents, types of
// values, the words of texts) are stored in a side file in the data directory. A side file belongs to one version of
// the file and can be deleted at any time, and so can an index file (package index). A register that our writer wrote
// contains all of this and needs no side file, unless another program has changed it.
//
// A file that is changed in place while it is served is read as it is now. Counts, extents, revisions and side indexes
// remain those of the last Reload. Geometry types that GeoJSON lacks are served as null geometries, with a note.
package gpkg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"grense/internal/cache"
	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/sqlite"
)

// sampledFrom is the default of Options.SampleFrom.
const sampledFrom = 100_000

// Options configure how a file is opened. DataDir is required; the rest may be zero.
type Options struct {
	DataDir  string                    // directory for side files; created if missing
	Settings map[string]store.Settings // by layer name, or by the collection id derived from it
	Logger   *slog.Logger              // nil: none
	// called with progress: rows of a layer, or layers if layer is ""; may be nil
	Progress func(layer string, done, total int)
	Caches   *cache.Group // group that counts the caches of the store; nil: none
	// Unchanging promises that no program writes to the file; to change the data, the file is replaced. The file is
	// then read without locks. It is refused if there is a -wal or -journal file next to it. If a program writes to it
	// nevertheless, responses may be wrong until the next Reload, and the log says so.
	Unchanging bool
	// Surveyed is called once after Open, when the rows of all layers have been read of which Open has read only a
	// sample. It should call Reload. nil: Open reads all rows of every layer that it does not know yet.
	Surveyed func(context.Context)
	// SampleFrom is the number of rows from which Open reads only a sample of a layer. Defaults to 100,000.
	SampleFrom int
	// MaxConns is the number of connections to the file, one for each concurrent query. Ready has one more of its own.
	// Defaults to four times the number of processors, at least 6.
	MaxConns int
	// ViewTimeout is the time limit for reading a view when the file is first opened. A slower view is refused, and the
	// other layers are served. Defaults to 30 s.
	ViewTimeout time.Duration
	// ViewRow is the largest size, in bytes, of a value or row that a view may compute. A view that exceeds it is
	// refused, and the other layers are served. Defaults to 128 MiB, which is also the limit of tables.
	ViewRow int
	// PageCache is the size of the SQLite page caches of all connections together, in bytes. Defaults to 16 MiB for
	// each connection, which a national register needs.
	PageCache int64
	// TypeAhead bounds the text indexes in memory, for the parameter q and for parts of texts, in bytes; negative:
	// none. Defaults to 96 MiB, enough for a million names.
	TypeAhead int
	// Columns bounds the memory for ids, envelopes and packed records of large layers, in bytes; negative: none.
	// Defaults to TypeAhead.
	Columns int
	// Index bounds the file of column indexes in DataDir, in bytes; negative: no such file. Defaults to 1 GiB.
	Index int64
	// AllowEmpty lets Open and Reload succeed if no layer can be served.
	AllowEmpty bool
	// Uncut opens layers that would be refused because they cross the antimeridian, for an import that cuts them. Their
	// boxes and extents are wrong.
	Uncut bool
}

// Store serves one GeoPackage file.
type Store struct {
	path    string
	options Options
	current atomic.Pointer[revision]
	reload  sync.Mutex
	open    sync.WaitGroup // revisions that are not closed yet
	closed  atomic.Bool
	shapes  *shapeCache
	counts  *countCache
	tables  *tableCache
	columns *tableCache

	limits  limits        // defaults to usualLimits
	settled time.Duration // defaults to file.SettledAfter

	stop context.CancelFunc // of watch and surveyAll
	work sync.WaitGroup     // surveyAll

	within func(context.Context) context.Context // the context of queries to a snapshot; nil: the caller's

	sampling bool          // Open reads samples of large layers
	survey   *store.Survey // progress of reading in the background; nil: none
}

var _ store.Store = (*Store)(nil)

// Open opens a GeoPackage. Problems of single layers are notes in the catalog; an error means that nothing can be
// served.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.DataDir == "" {
		return nil, errors.New("gpkg: no data folder for side files")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxConns == 0 {
		o.MaxConns = max(6, 4*runtime.GOMAXPROCS(0))
	}
	if o.ViewTimeout == 0 {
		o.ViewTimeout = 30 * time.Second
	}
	if o.ViewRow <= 0 || o.ViewRow > sqlite.MaxValue {
		o.ViewRow = sqlite.MaxValue
	}
	if o.TypeAhead == 0 {
		o.TypeAhead = 96 << 20
	}
	if o.SampleFrom == 0 {
		o.SampleFrom = sampledFrom
	}
	if o.Index == 0 {
		o.Index = 1 << 30
	}
	if o.Columns == 0 {
		o.Columns = o.TypeAhead
	}
	s := &Store{path: path, options: o, settled: file.SettledAfter, limits: usualLimits,
		shapes: cache.New[shapeKey, *shape](cache.Options{Name: "geometries", Bytes: shapeBytes, Shards: 4,
			Group: o.Caches}),
		counts: cache.New[countKey, int](cache.Options{Name: "counts", Bytes: countBytes, Group: o.Caches}),
		tables: cache.New[tableKey, any](cache.Options{Name: "type_ahead", Bytes: int64(o.TypeAhead), Group: o.Caches,
			Fixed: true}),
		columns: cache.New[tableKey, any](cache.Options{Name: "columns", Bytes: int64(o.Columns), Group: o.Caches})}
	s.sampling = o.Surveyed != nil
	r, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	s.logNotes(nil, r.catalog)
	s.install(r)
	s.sampling, s.survey = false, r.catalog.Survey
	background, stop := context.WithCancel(context.WithoutCancel(ctx)) // ends with Close
	if s.stop = stop; o.Unchanging {
		go s.watch(background)
	}
	if s.survey != nil {
		s.work.Go(func() {
			if err := s.surveyAll(background); err != nil && background.Err() == nil {
				s.options.Logger.Error("the source could not be read whole; reload to try again",
					"path", s.path, "err", err)
			}
		})
	}
	return s, nil
}

func (s *Store) install(r *revision) {
	s.open.Add(1)
	r.drained = func() {
		if err := r.close(); err != nil {
			s.options.Logger.Warn("gpkg: closing", "path", s.path, "error", err)
		}
		s.open.Done()
	}
	if old := s.current.Swap(r); old != nil {
		s.shapes.Clear() // they belong to layers of an old revision
		s.tables.Clear()
		s.columns.Clear()
		old.release()
	}
}

// Catalog returns the current catalog.
func (s *Store) Catalog() *store.Catalog { return s.current.Load().catalog }

// Reload opens the file again. Queries in flight finish on the old revision.
func (s *Store) Reload(ctx context.Context) error {
	s.reload.Lock()
	defer s.reload.Unlock()
	if s.closed.Load() {
		return fmt.Errorf("gpkg: the store is closed: %w", store.ErrUnavailable)
	}
	r, err := s.load(ctx)
	if err != nil {
		return err
	}
	s.current.Load().promise.broken() // only for its log message
	s.logNotes(s.current.Load().catalog.Notes, r.catalog)
	s.install(r)
	return nil
}

// logNotes logs the notes of a catalog that are not in known.
func (s *Store) logNotes(known []store.Note, cat *store.Catalog) {
	for _, n := range cat.Notes {
		if slices.Contains(known, n) {
			continue
		}
		text := "a layer is served with a warning"
		switch {
		case n.Refused:
			text = "a layer is not served"
		case n.Setting:
			text = "a setting of a layer is not used"
		}
		s.options.Logger.Warn(text, "layer", n.Layer, "reason", n.Reason)
	}
}

// Room reserves half of the connections for cheap queries.
func (s *Store) Room() [len(store.Costs)]int {
	n := s.options.MaxConns
	dear := max(1, n/8)
	return [...]int{store.CostPage: 32, store.CostIndexed: max(1, n/2), store.CostScan: dear, store.CostGeometry: dear}
}

// Connections returns those of the current file.
func (s *Store) Connections() store.Connections {
	c := store.Connections{Limit: s.options.MaxConns}
	if r, err := s.acquire(); err == nil {
		defer r.release()
		all, idle := r.pool.Size()
		c.Idle, c.InUse = idle, max(0, all-idle)
	}
	return c
}

// Ready reads one page of the file on a connection that queries do not use.
func (s *Store) Ready(ctx context.Context) error {
	r, err := s.acquire()
	if err != nil {
		return err
	}
	defer r.release()
	return r.explain(r.signs.Use(ctx, func(c *sqlite.Conn) error {
		_, err := c.One("PRAGMA main.schema_version")
		return err
	}))
}

// Close waits for queries in flight and closes the file.
func (s *Store) Close() error {
	s.stop()
	s.work.Wait()
	s.reload.Lock()
	defer s.reload.Unlock()
	if s.closed.Swap(true) {
		return nil
	}
	s.current.Load().release()
	s.open.Wait()
	return nil
}

// acquire returns the current revision. The caller must release it.
func (s *Store) acquire() (*revision, error) {
	for {
		r := s.current.Load()
		if r.take() {
			return r, nil
		}
		if s.closed.Load() {
			return nil, fmt.Errorf("gpkg: the store is closed: %w", store.ErrUnavailable)
		}
		runtime.Gosched() // replaced between Load and take
	}
}

// queries returns the context of queries.
func (s *Store) queries(ctx context.Context) context.Context {
	if s.within == nil {
		return ctx
	}
	return s.within(ctx)
}
