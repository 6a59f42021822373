// Package gpkg serves a GeoPackage file (OGC 12-128r18) through SQLite, and writes one.
//
// Any GeoPackage is served as it is: its feature and attribute tables and views become collections.
// The file is opened read-only and nothing is written beside it; what is expensive to learn (envelopes where there is
// no R-tree, extents, the types that values really have, the words of texts) is kept in a side file in the data folder,
// which belongs to one state of the file and can be deleted at any time. So can the index file (index.go).
// A register that our Writer made has all of this in itself, and no side file as long as no
// other program has changed it.
//
// A file that is changed in place while it is served is read as it is now, but counts, extents, revisions and side
// indexes stay those of the last Reload. Curves and other types that GeoJSON lacks are served as features
// without geometry, with a note.
package gpkg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"grense/internal/cache"
	"grense/internal/store"
)

// Options says how a file is opened. DataDir is needed; the rest may be zero.
type Options struct {
	DataDir  string                    // folder for side files; made where missing
	Settings map[string]store.Settings // by layer name, or by the collection id that the name gives
	Logger   *slog.Logger              // nil: none
	// reports rows of a layer, or layers if layer is empty; nil: no reports
	Progress func(layer string, done, total int)
	Caches   *cache.Group // takes the caches of the store; nil: none
	// Unchanging promises that no program writes into the file; whoever changes it replaces it.
	// The file is then read without locks, and refused if there is a -wal or -journal next to it.
	// If a program writes into it after all, responses may be wrong until the next Reload, and the log says so.
	Unchanging bool
	// Surveyed is called once after Open, when all rows of layers have been read that Open served by a sample of
	// their rows; it should call Reload. Nil: Open reads all rows of every layer that it does not know yet.
	Surveyed func(context.Context)
	// SampleFrom is how many rows a layer has at least that Open samples. Defaults to 100,000.
	SampleFrom int
	// MaxConns is the number of connections to the file, one for each concurrent question; one more is kept for Ready.
	// Defaults to four times the processors, at least 6.
	MaxConns int
	// ViewTimeout is how long a view may take to be read through at the first opening;
	// one that takes longer is refused, and the other layers are served. Defaults to 30 s.
	ViewTimeout time.Duration
	// ViewRow is the most bytes of a value, or of a row, that a view may read or compute; one with more is refused,
	// and the other layers are served.
	// Defaults to 128 MiB, which is the most of a table, too.
	ViewRow int
	// PageCache is how many bytes of pages all connections keep together. Defaults to 16 MiB for each,
	// which a national register needs.
	PageCache int64
	// bytes that tables in memory for the parameter q and for parts of texts may take, together; negative: none.
	// Defaults to 96 MiB, which a million names need.
	TypeAhead int
	// Columns is how many bytes ids, envelopes and records of large layers may take in memory; negative: none.
	// Defaults to TypeAhead.
	Columns int
	// Index is how many bytes the file of column indexes in DataDir may take; negative: there is none.
	// Defaults to 1 GiB.
	Index int64
	// AllowEmpty opens a file of which no layer can be served. Else that is an error, at Open and at Reload.
	AllowEmpty bool
	// Uncut opens layers that cross the antimeridian and would be refused, for an import that cuts them:
	// their boxes and extents are wrong.
	Uncut bool
}

// Store answers from one GeoPackage file.
type Store struct {
	path    string
	options Options
	current atomic.Pointer[revision]
	reload  sync.Mutex
	open    sync.WaitGroup // revisions that are not closed
	closed  atomic.Bool
	shapes  *shapeCache
	counts  *countCache
	tables  *tableCache
	columns *tableCache

	limits  limits        // usualLimits
	settled time.Duration // settledAfter

	stop context.CancelFunc // of what looks after the promise, and of surveyAll
	work sync.WaitGroup     // surveyAll

	sampling bool          // Open reads samples of large layers
	survey   *store.Survey // of what is read in the background; nil: nothing is
}

var _ store.Store = (*Store)(nil)

// Open opens a GeoPackage. What is wrong with single layers stands in the catalog's notes;
// an error means that nothing can be served, and says why.
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
	if o.ViewRow <= 0 || o.ViewRow > maxValue {
		o.ViewRow = maxValue
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
	s := &Store{path: path, options: o, settled: settledAfter, limits: usualLimits,
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
	background, stop := context.WithCancel(context.WithoutCancel(ctx)) // lives until Close
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
		s.shapes.Clear() // they are of layers that are going
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
	s.current.Load().promise.broken() // logs it, unless that is done
	s.logNotes(s.current.Load().catalog.Notes, r.catalog)
	s.install(r)
	return nil
}

// logNotes logs the notes of a catalog that are not known.
func (s *Store) logNotes(known []store.Note, cat *store.Catalog) {
	for _, n := range cat.Notes {
		if slices.Contains(known, n) {
			continue
		}
		text := "a layer is served with a warning"
		if n.Refused {
			text = "a layer is not served"
		}
		s.options.Logger.Warn(text, "layer", n.Layer, "reason", n.Reason)
	}
}

// Room leaves half of the connections to what is cheap.
func (s *Store) Room() [len(store.Costs)]int {
	n := s.options.MaxConns
	dear := max(1, n/8)
	return [...]int{store.CostPage: 32, store.CostIndexed: max(1, n/2), store.CostScan: dear, store.CostGeometry: dear}
}

// Ready reads one page of the file, through a connection that questions never have.
func (s *Store) Ready(ctx context.Context) error {
	r, err := s.acquire()
	if err != nil {
		return err
	}
	defer r.release()
	return r.explain(r.signs.use(ctx, func(c *conn) error {
		_, err := c.one("PRAGMA main.schema_version")
		return err
	}))
}

// Close waits for queries in flight.
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

// acquire takes the current revision; the caller must release it.
func (s *Store) acquire() (*revision, error) {
	for {
		r := s.current.Load()
		if r.take() {
			return r, nil
		}
		if s.closed.Load() {
			return nil, fmt.Errorf("gpkg: the store is closed: %w", store.ErrUnavailable)
		}
		runtime.Gosched() // it was swapped between the two lines
	}
}

// settingsKey names the settings on which surveys depend.
func settingsKey(m map[string]store.Settings) string {
	keys := map[string][10]string{}
	for name, s := range m {
		keys[name] = [10]string{strings.Join(s.IDColumns, "\x00"), s.Instant, s.IntervalStart, s.IntervalEnd,
			strings.Join(s.HiddenColumns, "\x00"), s.ValidFrom, s.ValidTo, strconv.FormatBool(s.Inclusive),
			s.GeometryColumn, strconv.Itoa(s.StorageCRS)}
	}
	b, _ := json.Marshal(keys) // text and maps of text always have JSON
	return string(b)
}
