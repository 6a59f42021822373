// Package store defines the interface between protocols and data: queries, and the stores that answer them.
//
// Package gpkg serves a GeoPackage file, package postgis a PostGIS database; both pass the tests of package storetest.
// This package contains neither SQL nor HTTP. A protocol queries in two steps. Page returns the ids: they are few and
// known before the first byte is written. Fetch then returns those features that are not cached.
package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
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
	// ErrBusy reports that no connection became free in time (WithPatience).
	ErrBusy = errors.New("store: busy")
	// ErrUnavailable reports that the data cannot be reached now; a retry may succeed.
	ErrUnavailable = errors.New("store: unavailable")
)

// Version identifies a version of rows and definitions: two results with equal versions are equal. The zero Version
// means unknown; nothing derived from it may be cached.
type Version string

// A Reader reads one dataset.
type Reader interface {
	// Catalog returns the current catalog. It is immutable and replaced as a whole. The call never blocks, and never
	// returns nil.
	Catalog() *Catalog

	// Version returns the version of the rows and definitions of some collections, or of all without arguments. For a
	// file it equals Catalog.Version until another program writes to the file. In a database (Catalog.Live) any
	// transaction may change it.
	Version(ctx context.Context, collections ...string) (Version, error)

	// Page returns the ids that q selects, in the order of q. It reads geometries only if the filter needs them. It
	// returns ErrNotFound for a collection that is not in the catalog, and ErrCursor for a cursor of another query. The
	// caller owns the Page.
	Page(ctx context.Context, q Query) (*Page, error)

	// Fetch calls fn once for each row, in the order of rows. The Feature and all that it refers to are valid only
	// until fn returns. An error of fn ends Fetch and is returned unchanged. A row with a Rev, as Page returned it,
	// selects the feature in that revision; Fetch returns ErrChanged if the feature was changed or removed since. A row
	// whose Rev is 0 selects the current feature; Fetch returns ErrNotFound if the id does not exist. After either
	// error fn is not called again. Fetch reads in batches, so that a slow fn does not occupy a connection.
	Fetch(ctx context.Context, collection string, rows []Row, want Want, fn func(*Feature) error) error
}

// A Store answers queries about one dataset. It is safe for concurrent use.
type Store interface {
	Reader

	// Snapshot returns a reader of the current version. Like a query, it waits for a connection (WithPatience). The
	// caller must close it.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Hold returns a Snapshot that stays valid whatever is written: it occupies a connection, and may block writers.
	// The caller must close it soon.
	Hold(ctx context.Context) (Snapshot, error)

	// All returns all rows that q selects, in the order of q, or none if more than Limit match.
	All(ctx context.Context, q AllQuery) (*All, error)

	// Neighbours returns a feature and the ids before and after it in the order by id; prev or next is "" if there is
	// none. Its errors are those of Page and Fetch.
	Neighbours(ctx context.Context, collection, id string) (row Row, prev, next string, err error)

	// Life returns the versions of a feature in a collection with versions (Collection.Versions).
	Life(ctx context.Context, q LifeQuery) (*Life, error)

	// Room returns how many queries of each class the store runs at once. It is smaller for expensive classes, so that
	// cheap queries always find a processor and a connection.
	Room() [len(Costs)]int

	// Connections returns how many connections serve queries.
	Connections() Connections

	// Cost estimates the class of q before it runs, within microseconds and without reading data. If in doubt, it
	// returns the more expensive class. For a collection that is not in the catalog it returns CostPage, since Page
	// refuses it.
	Cost(q Query) Cost

	// Explain runs q and returns how it was answered. Its errors are those of Page.
	Explain(ctx context.Context, q Query) (*Plan, error)

	// Reload opens the data again, verifies it and replaces the catalog. Queries in flight finish on the old data.
	// After an error the old data stays in use.
	Reload(ctx context.Context) error

	// Ready returns why the store cannot answer now; nil if it can.
	Ready(ctx context.Context) error

	// Close waits for queries in flight, then closes files and connections.
	Close() error
}

// Connections are those of a Store for queries.
type Connections struct{ InUse, Idle, Limit int }

// Snapshot is a Reader of one version of the data. Its queries return ErrChanged once that version no longer exists.
// They must not use CountExact. It is not safe for concurrent use.
type Snapshot interface {
	Reader
	// Holds reports whether the snapshot occupies a connection or blocks writers. If so, close it before waiting for a
	// slow client.
	Holds() bool
	Close() error
}

type patienceKey struct{}

// WithPatience bounds how long a query waits for a connection before it returns ErrBusy.
// Without it, a query waits until ctx ends.
func WithPatience(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, time.Now().Add(d))
}

// Patience returns until when a query waits for a connection; bounded is false if it waits until ctx ends.
func Patience(ctx context.Context) (until time.Time, bounded bool) {
	until, bounded = ctx.Value(patienceKey{}).(time.Time)
	return until, bounded
}

// Query selects rows of a collection. With only Collection set it selects everything, ordered by id.
type Query struct {
	Collection string
	Filter     cql2.Expr // checked against the collection (cql2.Check); nil selects all
	SortBy     []Sort    // nil: by id; otherwise ties are broken by id, ascending
	// sort by the rank of the best matching text (cql2.RankWords), then by SortBy; Filter must imply Rank. nil: no rank
	Rank   *cql2.Search
	Limit  int    // number of ids, at least 1; 0: no ids, only Matched (with Count)
	Offset int    // number of ids to skip after Cursor
	Cursor Cursor // "" starts at the first id
	place  *Place // decoded Cursor
	Count  Count
	// AsOf selects, in a collection with versions, the version of each feature that is valid at this time. Versions in
	// whole days are compared with the day in the time zone of AsOf. The zero time selects all versions. Filter is
	// applied to the selected versions only. Collections without versions ignore AsOf.
	AsOf time.Time
}

// AllQuery is a Query for all matches, or none if they are too many. Cursor, Offset, Rank and Count are ignored.
type AllQuery struct {
	Query
	Texts string // property with a Search.Norm column: return its distinct folded texts instead of rows
}

// All is the result of an AllQuery.
type All struct {
	Rows  []Row    // in the order of the query
	Texts []string // folded and distinct, in any order
	More  bool     // more than Limit match; the other fields are empty
}

// AllOf returns the rows of a page as an All. It reads texts, if q requests them, from s.
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
		if text = fold.Norm(text); !seen[text] {
			text = strings.Clone(text)
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
	Norwegian bool // for texts: order by cql2.NorwegianKey instead of code points
}

// Count selects whether Page.Matched is computed.
type Count uint8

const (
	CountExact Count = iota // Matched is the number of all matches, whatever the page
	CountNone               // Matched is -1
	CountCheap              // as CountExact if counting is cheap compared with reading the page, else as CountNone
)

// CountCheap always counts the matches in collections of up to CheapRows features. In larger ones it stops counting
// after CountBudget.
const (
	CheapRows   = 100_000
	CountBudget = 100 * time.Millisecond
)

// Page is one page of a result.
type Page struct {
	Rows       []Row
	Next, Prev Cursor // "" if there is no such page
	Matched    int    // number of all matches; -1 if not computed
	Version    string // Catalog.Version of the data that this page was read from
}

// Row identifies a feature and its revision: rows with equal ID and Rev have equal bytes. Page never returns a zero
// Rev.
type Row struct {
	ID  string
	Rev uint64
}

// Current returns rows that select the current features with these ids, in any revision.
func Current(ids ...string) []Row {
	rows := make([]Row, len(ids))
	for i, id := range ids {
		rows[i].ID = id
	}
	return rows
}

// Want selects the parts of features that Fetch reads.
type Want struct {
	// names in the order of Feature.Values; nil: all that are not hidden, in schema order; empty and not nil: none
	Properties []string
	NoGeometry bool // leaves Feature.Geometry empty

	VersionIDs bool // Feature.Of is VersionID instead of the id of the feature

	SkipMissing bool // skip an id that does not exist instead of returning ErrNotFound; only for rows without Rev
}

// A Writer fills a dataset. Readers see nothing before Commit; Close without Commit leaves the target unchanged.
// It is not safe for concurrent use.
type Writer interface {
	// Define creates the missing tables of a collection and its relations, and stores the collection's metadata. With
	// replace it removes existing rows; without it, it returns ErrExists if the collection exists.
	Define(ctx context.Context, c *Collection, replace bool) error

	// Insert returns a function that appends a row to a table: of a defined collection, of a relation, or of the
	// migrations. The function takes a value for each column and does not retain it: nil, int64, float64, string, bool,
	// []byte, time.Time or Geometry. It fails once ctx has ended.
	Insert(ctx context.Context, table string, columns []string) (func(values ...any) error, error)

	// Commit builds indexes, statistics and extents, verifies the data, and makes all of it visible at once.
	Commit(ctx context.Context) error
	Close() error
}
