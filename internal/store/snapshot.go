package store

import "context"

// Snapshotter is a Store that can answer many questions from one state of the data, however the data change meanwhile.
type Snapshotter interface {
	// Snapshot holds the present state, and waits for a connection as a question does (WithPatience). The caller must close it.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Revised is a Snapshotter that names its present state as the Revision of a Snapshot does.
type Revised interface {
	RevisionOf(ctx context.Context, collections ...string) (string, error)
}

// Snapshot is one state of the data. Its questions must not count exactly (CountExact). It is not safe for concurrent use.
type Snapshot interface {
	Catalog() *Catalog
	Page(ctx context.Context, q Query) (*Page, error)
	Fetch(ctx context.Context, collection string, rows []Row, want Want, fn func(*Feature) error) error
	// Revision names the state of the rows of collections: the same name means the same rows and definitions. "": it cannot be told, so that nothing that is made of them may be kept. Questions from then on are
	// answered from that state, or ErrChanged where the rows are not held.
	Revision(ctx context.Context, collections ...string) (string, error)
	// Holds reports whether the snapshot keeps a connection or holds up others, so that nobody should wait for a slow reader with it.
	Holds() bool
	Close() error
}

// Holding is a Store that others may write into without a new catalog, of which a Snapshot holds the catalog only.
type Holding interface {
	// Moving reports whether somebody has written since the data were opened.
	Moving() bool
	// Hold is Snapshot of what is written, too. It keeps a connection and may keep others from writing, so that it must be closed soon.
	Hold(ctx context.Context) (Snapshot, error)
}
