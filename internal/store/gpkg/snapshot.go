package gpkg

import (
	"context"
	"sync"

	"grense/internal/store"
)

var _ store.Snapshotter = (*Store)(nil)

// snapshot is a store that stays at one revision.
type snapshot struct {
	pinned  Store
	r       *revision
	release sync.Once
}

// Snapshot holds the current revision, which costs an open file and its caches until it is closed.
func (s *Store) Snapshot(context.Context) (store.Snapshot, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	x := &snapshot{r: r}
	x.pinned.path, x.pinned.options = s.path, s.options
	x.pinned.current.Store(r)
	return x, nil
}

func (x *snapshot) Catalog() *store.Catalog { return x.r.catalog }

func (x *snapshot) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	return x.pinned.Page(ctx, q)
}

func (x *snapshot) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	return x.pinned.Fetch(ctx, collection, rows, want, fn)
}

// Revision names the current revision.
func (s *Store) Revision() string { return s.Catalog().Version }

func (x *snapshot) Revision() string { return x.r.catalog.Version }

func (x *snapshot) Holds() bool { return false }

func (x *snapshot) Close() error {
	x.release.Do(x.r.release)
	return nil
}
