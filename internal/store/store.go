// Package store is the seam between the protocols and the data: the question that may be asked, and the interfaces that answer it.
//
// Package gpkg answers from a GeoPackage file, package postgis from a PostGIS database; storetest holds the contract that both
// pass. No SQL and no HTTP here. A protocol asks in two steps: Page gives the ids (small, known before the first byte is
// written), Fetch gives the features of those ids that are not cached already.
package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"grense/internal/cql2"
)

var (
	// ErrNotFound reports that no collection or feature has the asked name or id.
	ErrNotFound = errors.New("store: not found")
	// ErrCursor reports a cursor that this store did not make, or that belongs to another order.
	ErrCursor = errors.New("store: not a cursor of this question")
	// ErrExists reports that there is already what should be made.
	ErrExists = errors.New("store: it exists already")
	// ErrLocked reports data that another program has locked; it is ErrUnavailable, too.
	ErrLocked = errors.New("another program has locked the data")
	// ErrNotWritable reports that the data directory was deleted or is read-only.
	ErrNotWritable = errors.New("the data directory cannot be written; it was deleted or is read-only")
	// ErrFull reports that the disk which is written to is full.
	ErrFull = errors.New("the disk is full")
	// ErrChanged reports that the data have changed since a page was read: what Fetch was asked for is not (any more) in the revision
	// that the page named. Reading the page again helps.
	ErrChanged = errors.New("store: changed meanwhile")
	// ErrBusy reports that no connection was free for as long as WithPatience says.
	ErrBusy = errors.New("store: busy")
	// ErrUnavailable reports that the data cannot be reached now; trying again may help.
	ErrUnavailable = errors.New("store: unavailable")
)

// Version names one state of rows and definitions: where it is the same, answers are the same. The zero Version is
// unknown: nothing built from it may be cached.
type Version string

// A Reader reads one dataset.
type Reader interface {
	// Catalog returns the current catalog: immutable, swapped whole on reload. It never blocks and is never nil.
	Catalog() *Catalog

	// Version returns the version of the rows and definitions of collections, or of all without any. Of a file it is
	// the Version of its Catalog until another program writes into the file. Of a database (Catalog.Live) any
	// transaction may make another one.
	Version(ctx context.Context, collections ...string) (Version, error)

	// Page returns the ids that q selects, in q's order. It never reads geometry that it need not test. A collection that is not in
	// the catalog gives ErrNotFound, a cursor of another question ErrCursor. The caller owns the Page.
	Page(ctx context.Context, q Query) (*Page, error)

	// Fetch calls fn once for each row, in the order asked. The Feature and all that it points to are valid only until fn returns.
	// An error of fn ends Fetch and comes back as it is. A row with a Rev wants the feature in that revision, as Page gave it: one that
	// has changed or gone gives ErrChanged. A row whose Rev is 0 takes the feature as it is; an id that does not exist gives ErrNotFound then.
	// Either comes before fn was called for a later row. No connection is held while fn runs for longer than it takes to read one batch.
	Fetch(ctx context.Context, collection string, rows []Row, want Want, fn func(*Feature) error) error
}

// A Store answers questions about one dataset. It is safe for concurrent use.
type Store interface {
	Reader

	// Snapshot returns a reader of the present version, and waits for a connection as a query does (WithPatience).
	// The caller must close it.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Hold returns a Snapshot that no writer can end: it keeps a connection, and may keep others from writing. The
	// caller must close it soon.
	Hold(ctx context.Context) (Snapshot, error)

	// Neighbours returns a feature and the ids beside it in the order by id; "" where there is none. ErrNotFound as Page and Fetch give it.
	Neighbours(ctx context.Context, collection, id string) (row Row, prev, next string, err error)

	// Life returns the versions of a feature of a collection that has them (Collection.Versions).
	Life(ctx context.Context, q LifeQuery) (*Life, error)

	// Room says how many questions of each class the store takes at once: of the dear ones as many as leave processors and
	// connections free.
	Room() [len(Costs)]int

	// Cost returns the class of q before it runs. It asks the data nothing and takes microseconds. It is an estimate that errs towards more
	// work; of a collection that is not in the catalog it is CostPage, since Page refuses it.
	Cost(q Query) Cost

	// Explain answers q and tells how. Errors are those of Page.
	Explain(ctx context.Context, q Query) (*Plan, error)

	// Reload opens the data anew, verifies it and swaps the catalog; questions under way finish on the old revision. On an error
	// the old revision stays.
	Reload(ctx context.Context) error

	// Ready reports why the store cannot answer now; nil when it can.
	Ready(ctx context.Context) error

	// Close waits for questions under way and releases everything.
	Close() error
}

// Snapshot is a Reader that stays at one version: questions are answered from that, or give ErrChanged once it is
// gone. They must not count exactly (CountExact). It is not safe for concurrent use.
type Snapshot interface {
	Reader
	// Holds reports whether the snapshot keeps a connection or holds up others, so that nobody should wait for a slow
	// reader with it.
	Holds() bool
	Close() error
}

type patienceKey struct{}

// WithPatience bounds how long a question waits for a connection before it is refused with ErrBusy. Without, it waits for as long as ctx lasts.
func WithPatience(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, time.Now().Add(d))
}

// Patience returns the moment until which a question waits for a connection; false: for as long as ctx lasts.
func Patience(ctx context.Context) (until time.Time, bounded bool) {
	until, bounded = ctx.Value(patienceKey{}).(time.Time)
	return until, bounded
}

// Query is a question. Its zero value with a Collection selects everything, ordered by id.
type Query struct {
	Collection string
	Filter     cql2.Expr    // checked against the collection (cql2.Check); nil selects all
	SortBy     []Sort       // nil: by id; otherwise ties are broken by id, ascending
	Rank       *cql2.Search // orders by cql2.RankWords of the best text, then by SortBy; Filter has to demand it. Nil: no rank
	Limit      int          // ids wanted, at least 1; 0: none, only Matched (with Count)
	Offset     int          // ids skipped, after Cursor
	Cursor     Cursor       // "" starts at the first id
	place      *Place       // what Cursor holds, whole
	Count      Count
	// AsOf selects, of a collection of versions, the one of each feature that is valid at the moment, and of days the one of its day in its own
	// time zone; zero selects all. Filter sees the selected ones only. Of other collections it says nothing.
	AsOf time.Time
	// AllOrNothing says that the caller uses no rows where more than Limit match: any Limit of them may come then; Next tells that there are more.
	AllOrNothing bool
	// First, which takes AllOrNothing, holds for matches that come before the others, whatever SortBy; checked as Filter. Nil: none do.
	First cql2.Expr
	// Texts, which takes AllOrNothing, names a property with a column for its folded text (Search.Norm), and says that the caller wants no more
	// of the matches than that: a store that can gives Page.Texts and no rows.
	Texts string
}

// InTurn answers a question with First by two without, for a store that has no better way.
func InTurn(ctx context.Context, q Query, page func(context.Context, Query) (*Page, error)) (*Page, error) {
	x := q.First
	q.First = nil
	all, err := page(ctx, q)
	if err != nil || len(all.Rows) < 2 || all.Next != "" {
		return all, err
	}
	if q.Filter != nil {
		x = cql2.And{q.Filter, x}
	}
	q.Filter = x
	first, err := page(ctx, q)
	if err != nil {
		return nil, err
	}
	if first.Version != all.Version || len(first.Rows) > 0 && !slices.Contains(all.Rows, first.Rows[0]) {
		return nil, fmt.Errorf("store: what comes first and what comes at all differ: %w", ErrChanged)
	}
	if len(first.Rows) == 0 {
		return all, nil
	}
	ahead := make(map[string]bool, len(first.Rows))
	for _, r := range first.Rows {
		ahead[r.ID] = true
	}
	rows := make([]Row, 0, len(all.Rows))
	for _, is := range [...]bool{true, false} {
		for _, r := range all.Rows {
			if ahead[r.ID] == is {
				rows = append(rows, r)
			}
		}
	}
	all.Rows = rows
	return all, nil
}

// Sort is one key of an order. Text is ordered by code point; null comes last in both directions.
type Sort struct {
	Property  string
	Desc      bool
	Norwegian bool // of a text: by cql2.NorwegianKey instead of by code point
}

// Count says whether Page.Matched is wanted.
type Count uint8

const (
	CountExact Count = iota // the number of all matches, whatever the paging
	CountNone               // Matched is -1
	CountCheap              // as CountExact where counting costs little beside the page; else Matched is -1
)

// Page is one page of an answer.
type Page struct {
	Rows       []Row
	Next, Prev Cursor // "" when there is no such page
	Matched    int    // all matches; -1 when not asked for
	Version    string // Catalog.Version that this page was read from
	// Texts is the folded texts of Query.Texts that matches have, each once, in any order; none where Next tells that there are more. Nil: the
	// page has rows.
	Texts []string
}

// Row names one feature and its revision: the same ID and Rev mean the same bytes. Page never gives the Rev 0.
type Row struct {
	ID  string
	Rev uint64
}

// Current names features in whichever revision they are.
func Current(ids ...string) []Row {
	rows := make([]Row, len(ids))
	for i, id := range ids {
		rows[i].ID = id
	}
	return rows
}

// Want says which parts of features Fetch shall give.
type Want struct {
	Properties []string // in this order; nil: all that are not hidden, in schema order. Never nil and empty at once: empty means none
	NoGeometry bool     // leaves Feature.Geometry empty

	VersionIDs bool // Feature.Of is VersionID and not the id of the feature

	SkipMissing bool // an id that does not exist is passed over instead of giving ErrNotFound; for rows with a Rev it says nothing
}

// A Writer fills a dataset. Nothing is seen by readers before Commit; Close without Commit leaves the target as it was.
// It is not safe for concurrent use.
type Writer interface {
	// Define makes the tables of a collection and its relations where they are missing, and records the collection's metadata.
	// With replace set, rows that the tables hold already are removed; else an existing collection gives ErrExists.
	Define(ctx context.Context, c *Collection, replace bool) error

	// Insert returns a function that appends rows to a table of a defined collection, of a relation or of the migrations, and fails once
	// ctx has ended.
	// Values are nil, int64, float64, string, bool, []byte, time.Time or Geometry, one for each column; they are not kept.
	Insert(ctx context.Context, table string, columns []string) (func(values ...any) error, error)

	// Commit makes indexes, statistics and extents, verifies, and swaps the new data in, whole.
	Commit(ctx context.Context) error
	Close() error
}
