// Package store is the seam between the protocols and the data: the queries, and the interfaces of the
// stores that answer them.
//
// Package gpkg serves a GeoPackage file, package postgis a PostGIS database; storetest holds the contract that both
// pass. There is no SQL and no HTTP here. A protocol queries in two steps: Page returns the ids (small,
// known before the first byte is written), and Fetch the features of those ids that are not cached.
package store

import (
	"context"
	"errors"
	"time"

	"grense/internal/cql2"
)

var (
	// ErrNotFound reports that no collection or feature has the requested name or id.
	ErrNotFound = errors.New("store: not found")
	// ErrCursor reports a cursor that this store did not return, or that belongs to another order.
	ErrCursor = errors.New("store: not a cursor of this question")
	// ErrExists reports that what should be created exists already.
	ErrExists = errors.New("store: it exists already")
	// ErrLocked reports that another program has locked the data; it is also ErrUnavailable.
	ErrLocked = errors.New("another program has locked the data")
	// ErrNotWritable reports that the data directory was deleted or is read-only.
	ErrNotWritable = errors.New("the data directory cannot be written; it was deleted or is read-only")
	// ErrFull reports that the disk is full.
	ErrFull = errors.New("the disk is full")
	// ErrChanged reports that the data changed after a page was read: the rows for Fetch are no longer in the revision
	// of the page. Read the page again.
	ErrChanged = errors.New("store: changed meanwhile")
	// ErrBusy reports that no connection became free within the time of WithPatience.
	ErrBusy = errors.New("store: busy")
	// ErrUnavailable reports that the data cannot be reached now; a retry may succeed.
	ErrUnavailable = errors.New("store: unavailable")
)

// Version identifies a version of rows and definitions: results of equal versions are equal.
// The zero Version is unknown: nothing built from it may be cached.
type Version string

// A Reader reads one dataset.
type Reader interface {
	// Catalog returns the current catalog: immutable, swapped whole on reload. It never blocks and is never nil.
	Catalog() *Catalog

	// Version returns the version of the rows and definitions of collections; without arguments, of all.
	// For a file it is the Version of its Catalog until another program writes to the file.
	// For a database (Catalog.Live) any transaction may change it.
	Version(ctx context.Context, collections ...string) (Version, error)

	// Page returns the ids that q selects, in q's order. It reads only geometries that it must test.
	// It returns ErrNotFound for a collection that is not in the catalog, and ErrCursor for a cursor of another query.
	// The caller owns the Page.
	Page(ctx context.Context, q Query) (*Page, error)

	// Fetch calls fn once for each row, in their order. The Feature and all that it points to are valid only until fn
	// returns. An error of fn ends Fetch and is returned unchanged.
	// A row with a Rev, as Page returned it, selects the feature in that revision; if it has changed or gone,
	// Fetch returns ErrChanged. A row whose Rev is 0 selects the current feature; if the id does not exist,
	// Fetch returns ErrNotFound. In both cases fn is not called for a later row. Fetch holds no connection while fn
	// runs for longer than reading one batch takes.
	Fetch(ctx context.Context, collection string, rows []Row, want Want, fn func(*Feature) error) error
}

// A Store answers queries about one dataset. It is safe for concurrent use.
type Store interface {
	Reader

	// Snapshot returns a reader of the current version. It waits for a connection as a query does (WithPatience).
	// The caller must close it.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Hold returns a Snapshot that no writer can end: it occupies a connection, and may block writers.
	// The caller must close it soon.
	Hold(ctx context.Context) (Snapshot, error)

	// All returns all rows that q selects, or none where more than Limit match: it reads them in any order, and sorts
	// them afterwards.
	All(ctx context.Context, q AllQuery) (*All, error)

	// Neighbours returns a feature and the ids before and after it in the order by id; "" if there is none.
	// It returns ErrNotFound as Page and Fetch do.
	Neighbours(ctx context.Context, collection, id string) (row Row, prev, next string, err error)

	// Life returns the versions of a feature in a collection with versions (Collection.Versions).
	Life(ctx context.Context, q LifeQuery) (*Life, error)

	// Room returns how many queries of each class the store runs at once.
	// Expensive classes leave processors and connections free.
	Room() [len(Costs)]int

	// Cost estimates the class of q before it runs, in microseconds and without reading data.
	// It errs towards more work. For a collection that is not in the catalog it is CostPage, since Page refuses it.
	Cost(q Query) Cost

	// Explain runs q and describes how. Its errors are those of Page.
	Explain(ctx context.Context, q Query) (*Plan, error)

	// Reload opens the data again, verifies it and swaps the catalog. Queries in flight finish on the old revision.
	// After an error the old revision stays.
	Reload(ctx context.Context) error

	// Ready returns why the store cannot answer now; nil if it can.
	Ready(ctx context.Context) error

	// Close waits for queries in flight and releases everything.
	Close() error
}

// Snapshot is a Reader of one version. Its queries see that version, or return ErrChanged once it is gone.
// They must not use CountExact. It is not safe for concurrent use.
type Snapshot interface {
	Reader
	// Holds reports whether the snapshot occupies a connection or blocks others.
	// Then nobody should hold it while waiting for a slow client.
	Holds() bool
	Close() error
}

type patienceKey struct{}

// WithPatience bounds how long a query waits for a connection before it returns ErrBusy.
// Without it, a query waits until ctx ends.
func WithPatience(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, time.Now().Add(d))
}

// Patience returns the time until which a query waits for a connection; bounded is false if it waits until ctx ends.
func Patience(ctx context.Context) (until time.Time, bounded bool) {
	until, bounded = ctx.Value(patienceKey{}).(time.Time)
	return until, bounded
}

// Query selects rows of a collection. With only Collection set it selects everything, ordered by id.
type Query struct {
	Collection string
	Filter     cql2.Expr // checked against the collection (cql2.Check); nil selects all
	SortBy     []Sort    // nil: by id; otherwise ties are broken by id, ascending
	// sort by cql2.RankWords of the best text, then by SortBy; Filter must imply it. Nil: no rank
	Rank   *cql2.Search
	Limit  int    // number of ids, at least 1; 0: none, only Matched (with Count)
	Offset int    // number of ids to skip after Cursor
	Cursor Cursor // "" starts at the first id
	place  *Place // decoded Cursor
	Count  Count
	// AsOf selects, in a collection of versions, the version of each feature that is valid at the moment;
	// versions in days are compared with its day in its own time zone. Zero selects all.
	// Filter sees only the selected ones. Other collections ignore it.
	AsOf time.Time
}

// AllQuery is a Query whose caller wants all matches or none. Its Cursor, Offset, Rank and Count mean nothing.
type AllQuery struct {
	Query
	Texts string // a property with a column for its folded text (Search.Norm): these texts are wanted, and no rows
}

// All is the answer to an AllQuery.
type All struct {
	Rows  []Row    // in the order of the query
	Texts []string // folded, each once, in any order
	More  bool     // more than Limit match; nothing else is set
}

// AllOf returns an answer whose rows are those of a page. Texts are read from s.
func AllOf(ctx context.Context, s Reader, q AllQuery, p *Page) (*All, error) {
	if p.Next != "" {
		return &All{More: true}, nil
	}
	if q.Texts == "" {
		return &All{Rows: p.Rows}, nil
	}
	a, seen := &All{}, map[string]bool{}
	want := Want{Properties: []string{q.Texts}, NoGeometry: true}
	err := s.Fetch(ctx, q.Collection, p.Rows, want, func(f *Feature) error {
		text, _ := f.Values[0].(string)
		if text = cql2.Norm(text); !seen[text] {
			seen[text] = true
			a.Texts = append(a.Texts, text)
		}
		return ctx.Err()
	})
	return a, err
}

// Sort is one key of an order. Text is ordered by code point; null comes last in both directions.
type Sort struct {
	Property  string
	Desc      bool
	Norwegian bool // of a text: by cql2.NorwegianKey instead of by code point
}

// Count selects whether Page.Matched is computed.
type Count uint8

const (
	CountExact Count = iota // the number of all matches, whatever the paging
	CountNone               // Matched is -1
	CountCheap              // as CountExact if counting is cheap compared with the page; else Matched is -1
)

// CheapRows is how many features a collection has at most whose matches CountCheap always counts,
// and CountBudget how long it counts those of a larger one.
const (
	CheapRows   = 100_000
	CountBudget = 100 * time.Millisecond
)

// Page is one page of a result.
type Page struct {
	Rows       []Row
	Next, Prev Cursor // "" if there is no such page
	Matched    int    // number of all matches; -1 if not computed
	Version    string // Catalog.Version from which this page was read
}

// Row identifies a feature and its revision: equal ID and Rev mean equal bytes. Page never returns the Rev 0.
type Row struct {
	ID  string
	Rev uint64
}

// Current returns rows that select features in any revision.
func Current(ids ...string) []Row {
	rows := make([]Row, len(ids))
	for i, id := range ids {
		rows[i].ID = id
	}
	return rows
}

// Want selects the parts of features that Fetch returns.
type Want struct {
	// in this order; nil: all that are not hidden, in schema order. Never nil and empty at once: empty means none
	Properties []string
	NoGeometry bool // leaves Feature.Geometry empty

	VersionIDs bool // Feature.Of is VersionID instead of the id of the feature

	SkipMissing bool // skip an id that does not exist instead of returning ErrNotFound; only for rows without Rev
}

// A Writer fills a dataset. Readers see nothing before Commit; Close without Commit leaves the target unchanged.
// It is not safe for concurrent use.
type Writer interface {
	// Define creates missing tables of a collection and its relations, and stores the collection's metadata.
	// With replace it removes existing rows; otherwise an existing collection returns ErrExists.
	Define(ctx context.Context, c *Collection, replace bool) error

	// Insert returns a function that appends rows to a table of a defined collection, of a relation or of the
	// migrations. It fails once ctx has ended. Values are nil, int64, float64, string, bool, []byte,
	// time.Time or Geometry, one for each column; they are not retained.
	Insert(ctx context.Context, table string, columns []string) (func(values ...any) error, error)

	// Commit builds indexes, statistics and extents, verifies the data, and swaps it in as a whole.
	Commit(ctx context.Context) error
	Close() error
}
