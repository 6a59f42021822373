package store

import (
	"context"
	"time"
)

// Changes is a State that keeps what has changed in the data: a log to which is only added, and for each collection what it held when it was
// last looked at. It is safe for concurrent use, also by several processes.
type Changes interface {
	// PrepareChanges makes what is missing to keep changes; an error says that none can be kept.
	PrepareChanges(ctx context.Context) error
	// Tracked tells what is recorded of each collection, by id.
	Tracked(ctx context.Context) (map[string]Tracked, error)
	// Digests calls fn for each feature that is recorded of a collection, in no order.
	Digests(ctx context.Context, collection string, fn func(id string, digest [16]byte) error) error
	// Record adds changes to the log, with the numbers that follow the last one, and takes what the collection holds now: all or nothing. ErrChanged
	// when the collection was recorded meanwhile.
	Record(ctx context.Context, r Recording) error
	// ChangesAfter returns changes with larger numbers than after, at most limit of them, in order. Numbers begin with 1 and have no gaps.
	ChangesAfter(ctx context.Context, after int64, limit int) ([]Change, error)
	// LastChanges returns the last changes, at most limit of them, the last first.
	LastChanges(ctx context.Context, limit int) ([]Change, error)
}

// Tracked is what is recorded of a collection.
type Tracked struct {
	Schema string // names the public properties and how digests are made
	State  string // of the data, where they have one; "" else
	Pass   int64  // how often it was recorded; 0: never
}

// What happened, as Change.Op has it.
const (
	ChangeLoad   = "load"   // the collection is to be taken whole: it is new, or its schema is another
	ChangeDrop   = "drop"   // the collection is gone
	ChangeAdd    = "add"    // a feature is there that was not
	ChangeUpdate = "update" // a feature is another
	ChangeRemove = "remove" // a feature is gone
)

// Change is an entry of the log.
type Change struct {
	Seq        int64
	At         time.Time // when it was recorded; never before an earlier change
	Op         string
	Collection string
	ID         string // of the feature; "" for a whole collection
	Title      string // of the feature as it was recorded last; "" where it has none
	Count      int64  // features of the collection; of ChangeLoad
}

// Recording is what was found in a collection.
type Recording struct {
	Collection string
	Was        Tracked // as Tracked gave it
	Now        Tracked // Pass is not read
	At         time.Time
	Changes    []Change // Seq, At and Collection are not read, nor the title of what is removed
	Digests    []Digest // of the features that are new or other; after a load, all there are
	Afresh     bool     // what was recorded of other features is removed
}

// Digest names the state of a feature.
type Digest struct {
	ID, Title string
	Digest    [16]byte
}
