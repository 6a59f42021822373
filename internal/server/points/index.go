package points

import (
	"context"
	"errors"
	"sync"
	"time"

	"grense/internal/cache"
	"grense/internal/geo/crs"
	"grense/internal/geo/locate"
	"grense/internal/server"
	"grense/internal/store"
)

// Indexes holds the indexes of collections for positions (package locate). An index is built in the background when it
// is first needed, for one data version, and is used for that version only. Indexes is safe for concurrent use.
type Indexes struct {
	kit   *server.Kit
	cache *cache.Cache[string, *Index] // by collection
	ctx   context.Context
	stop  context.CancelFunc

	mu     sync.Mutex
	builds map[string]*build
	turn   chan struct{} // one index is built at a time
	group  sync.WaitGroup
}

// Index is the index of a collection, with its features by number.
type Index struct {
	*locate.Index
	Rows  []store.Row // in the order of ids
	state store.Version
	size  int64 // bytes
}

// build is the state of building an index. The mutex of Indexes guards it.
type build struct {
	busy  chan struct{} // closed when the build has ended; nil if there is none in flight
	state store.Version // data version of the last attempt
	again time.Time     // earliest time of an attempt for another version
	err   error         // of the last attempt
}

const (
	// indexBytes bounds the indexes of all collections. 357 municipalities with 84,349 positions take 7 MB,
	// 35,357 communes 80 MB.
	indexBytes = 128 << 20
	// pause is how many times as long as a build took the next one of a changing collection waits.
	pause = 10
)

// New returns the indexes of the collections that a kit serves. The caller must close it.
func New(k *server.Kit) *Indexes {
	x := &Indexes{kit: k, builds: map[string]*build{}, turn: make(chan struct{}, 1),
		cache: cache.New[string, *Index](cache.Options{Name: "points", Bytes: indexBytes, Group: k.Caches})}
	x.ctx, x.stop = context.WithCancel(context.Background()) // an index serves later requests as well
	return x
}

// Close stops the builds in flight and waits for them.
func (x *Indexes) Close() {
	x.stop()
	x.group.Wait()
}

// of returns the index of a collection in a data version. If there is none, it returns nil and begins a build.
func (x *Indexes) of(collection string, state store.Version) *Index {
	if state == "" {
		return nil
	}
	if i, ok := x.cache.Get(collection); ok && i.state == state {
		return i
	}
	x.begin(collection, state)
	return nil
}

// begin starts a build, unless one is in flight or has failed for this version. Builds of a changing collection have a
// pause between them.
func (x *Indexes) begin(collection string, state store.Version) {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.builds[collection]
	if b == nil {
		b = &build{}
		x.builds[collection] = b
	}
	if b.busy != nil {
		return
	}
	if b.err != nil && b.state == state || time.Now().Before(b.again) || x.ctx.Err() != nil {
		return
	}
	b.busy, b.state = make(chan struct{}), state
	x.group.Go(func() { x.run(collection, b) })
}

// begun returns the channel that is closed when the build in flight has ended; nil if there is none.
func (x *Indexes) begun(collection string) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if b := x.builds[collection]; b != nil && b.busy != nil {
		return b.busy
	}
	return nil
}

// run builds an index in the background.
func (x *Indexes) run(collection string, b *build) {
	defer x.cache.Make()()
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-x.ctx.Done():
	}
	start := time.Now()
	i, err := x.read(x.ctx, collection)
	took := time.Since(start)
	if err == nil {
		x.cache.Put(collection, i, i.size)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if b.err = err; errors.Is(err, store.ErrChanged) {
		b.err = nil // the next request tries again
	}
	if x.kit.Direct.Catalog().Live {
		b.again = time.Now().Add(pause * took)
	}
	close(b.busy)
	b.busy = nil
	switch {
	case x.ctx.Err() != nil:
	case err != nil:
		x.kit.Log.Info("points are looked up in the store", "collection", collection, "why", err)
	default:
		x.kit.Log.Info("points are looked up in memory", "collection", collection, "features", len(i.Rows),
			"bytes", i.size, "took_ms", took.Milliseconds())
	}
}

// read builds an index from the current features of a collection.
func (x *Indexes) read(ctx context.Context, collection string) (*Index, error) {
	snap, err := x.kit.Direct.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	i := &Index{}
	if i.state, err = snap.Version(ctx, collection); err != nil {
		return nil, err
	}
	room := x.cache.Stats()
	coll, ok := snap.Catalog().Collection(collection)
	if !ok {
		return nil, store.ErrNotFound
	}
	back, err := crs.Between(coll.Geometry.CRS, crs.CRS84)
	if err != nil {
		return nil, err
	}
	b := locate.NewBuilder(room.Limit-room.Bytes+x.bytes(collection), back)
	if err := i.add(ctx, snap, collection, b); err != nil {
		return nil, err
	}
	if i.Index, err = b.Index(ctx); err != nil {
		return nil, err
	}
	i.size += i.Bytes()
	return i, nil
}

// bytes returns the size of the cached index of a collection, which a new one replaces.
func (x *Indexes) bytes(collection string) int64 {
	if i, ok := x.cache.Get(collection); ok {
		return i.size
	}
	return 0
}

// add adds all features of a collection to an index.
func (i *Index) add(ctx context.Context, snap store.Snapshot, collection string, b *locate.Builder) error {
	const batch = 1000
	q := store.Query{Collection: collection, Limit: batch, Count: store.CountNone}
	for {
		page, err := snap.Page(ctx, q)
		if err != nil {
			return err
		}
		err = snap.Fetch(ctx, collection, page.Rows, store.Want{Properties: []string{}},
			func(f *store.Feature) error { return b.Add(f.Geometry.WKB) })
		if err != nil {
			return err
		}
		for _, r := range page.Rows {
			i.size += int64(len(r.ID)) + 32
		}
		if i.Rows = append(i.Rows, page.Rows...); page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}

// At returns the features that have a position inside them or on their border.
func (i *Index) At(coll *store.Collection, system crs.ID, x, y float64) (rows []store.Row, err error) {
	move, err := crs.Between(system, coll.Geometry.CRS)
	if err != nil {
		return nil, err
	}
	var room [8]int32
	x, y = move(x, y)
	for _, n := range i.Append(room[:0], x, y) {
		rows = append(rows, i.Rows[n])
	}
	return rows, nil
}
