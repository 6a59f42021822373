package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/locate"
	"grense/internal/problem"
	"grense/internal/store"
)

// pointIndexes are the indexes of collections for look-ups by position (package locate). Each is made in the background when it is first wanted, of one state of
// the data, and answers for that state alone; whatever has no index is the store's to answer. It is safe for concurrent use.
type pointIndexes struct {
	store store.Store
	log   *slog.Logger
	held  *cache.Cache[string, *PointIndex] // by collection
	ctx   context.Context
	stop  context.CancelFunc

	mu    sync.Mutex
	works map[string]*pointWork
	turn  chan struct{} // one is made at a time
	group sync.WaitGroup
}

// PointIndex is the index of a collection, with its features by number.
type PointIndex struct {
	*locate.Index
	Rows  []store.Row // in the order by id
	state store.Version
	size  int64 // bytes
}

// pointWork is the making of an index. The mutex of pointIndexes guards it.
type pointWork struct {
	busy  chan struct{} // closed when the making under way has ended; nil: none is
	state store.Version // that it was last tried for
	again time.Time     // not before then for another state
	err   error         // of that try
}

const (
	// pointBytes bounds the indexes of all collections. 357 municipalities with 84,349 positions take 7 MB, 35,357 communes 80 MB.
	pointBytes = 128 << 20
	// pointPause is how many times as long as an index took to be made nothing is made of a collection whose rows change.
	pointPause = 10
)

func newPointIndexes(st store.Store, log *slog.Logger, g *cache.Group) *pointIndexes {
	x := &pointIndexes{store: st, log: log, held: cache.New[string, *PointIndex](cache.Options{Name: "points", Bytes: pointBytes, Group: g}),
		works: map[string]*pointWork{}, turn: make(chan struct{}, 1)}
	x.ctx, x.stop = context.WithCancel(context.Background()) // what is made serves later requests as well
	return x
}

// close ends what is being made, and waits for it.
func (x *pointIndexes) close() {
	x.stop()
	x.group.Wait()
}

// of is the index of a collection in a state of the data; nil while there is none, which is begun then.
func (x *pointIndexes) of(collection string, state store.Version) *PointIndex {
	if state == "" {
		return nil
	}
	if i, ok := x.held.Get(collection); ok && i.state == state {
		return i
	}
	x.begin(collection, state)
	return nil
}

// begin has an index made, unless that is under way or has failed for this state; of rows that change all the time not without a pause.
func (x *pointIndexes) begin(collection string, state store.Version) {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.works[collection]
	if w == nil {
		w = &pointWork{}
		x.works[collection] = w
	}
	if w.busy != nil {
		return
	}
	if w.err != nil && w.state == state || time.Now().Before(w.again) || x.ctx.Err() != nil {
		return
	}
	w.busy, w.state = make(chan struct{}), state
	x.group.Go(func() { x.work(collection, w) })
}

// work makes an index in the background.
func (x *pointIndexes) work(collection string, w *pointWork) {
	defer x.held.Make()()
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-x.ctx.Done():
	}
	start := time.Now()
	i, err := x.make(x.ctx, collection)
	took := time.Since(start)
	if err == nil {
		x.held.Put(collection, i, i.size)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if w.err = err; errors.Is(err, store.ErrChanged) {
		w.err = nil // the next question tries again
	}
	if x.store.Catalog().Live {
		w.again = time.Now().Add(pointPause * took)
	}
	close(w.busy)
	w.busy = nil
	switch {
	case x.ctx.Err() != nil:
	case err != nil:
		x.log.Info("points are looked up in the store", "collection", collection, "why", err)
	default:
		x.log.Info("points are looked up in memory", "collection", collection, "features", len(i.Rows), "bytes", i.size, "took_ms", took.Milliseconds())
	}
}

// make reads a collection as it is now.
func (x *pointIndexes) make(ctx context.Context, collection string) (*PointIndex, error) {
	snap, err := x.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	i := &PointIndex{}
	if i.state, err = snap.Version(ctx, collection); err != nil {
		return nil, err
	}
	room := x.held.Stats()
	coll, ok := snap.Catalog().Collection(collection)
	if !ok {
		return nil, store.ErrNotFound
	}
	back, err := crs.Between(coll.Geometry.CRS, crs.CRS84)
	if err != nil {
		return nil, err
	}
	b := locate.NewBuilder(room.Limit-room.Bytes+x.bytes(collection), back)
	if err := i.read(ctx, snap, collection, b); err != nil {
		return nil, err
	}
	if i.Index, err = b.Index(ctx); err != nil {
		return nil, err
	}
	i.size += i.Bytes()
	return i, nil
}

// bytes is what the index of a collection holds, which a new one replaces.
func (x *pointIndexes) bytes(collection string) int64 {
	if i, ok := x.held.Get(collection); ok {
		return i.size
	}
	return 0
}

// read adds all features to an index.
func (i *PointIndex) read(ctx context.Context, snap store.Snapshot, collection string, b *locate.Builder) error {
	const atOnce = 1000
	q := store.Query{Collection: collection, Limit: atOnce, Count: store.CountNone}
	for {
		page, err := snap.Page(ctx, q)
		if err != nil {
			return err
		}
		err = snap.Fetch(ctx, collection, page.Rows, store.Want{Properties: []string{}}, func(f *store.Feature) error { return b.Add(f.Geometry.WKB) })
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

// PointIndex is the index of a collection as the data are now; nil: the store has to answer.
func (c *Call) PointIndex(coll *store.Collection) (*PointIndex, error) {
	if IsVersioned(coll) { // an index is of all rows
		return nil, nil
	}
	state, err := c.dataVersion(coll.ID)
	if err == nil {
		err = c.Pay(c.Right != nil || c.paid) // once it has asked anything it goes on
	}
	if err != nil {
		return nil, err
	}
	return c.s.points.of(coll.ID, state), nil
}

// At returns the features that a position lies in or on the border of.
func (i *PointIndex) At(coll *store.Collection, system crs.ID, x, y float64) (rows []store.Row, err error) {
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

// Holding is the condition that a feature has a position inside or on its border.
func Holding(coll *store.Collection, system crs.ID, x, y float64) cql2.Expr {
	return cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: coll.Geometry.Name},
		R: cql2.Geom{G: orb.Point{x, y}, CRS: system}}
}

// AllOf returns all features that a query for those at a position selects.
func (c *Call) AllOf(q store.Query) ([]store.Row, error) {
	var page *store.Page
	q.Limit, q.Count = c.s.Config.Limits.PageMax, store.CountNone
	err := c.Ask(func(ctx context.Context) (err error) {
		page, err = c.s.Store.Page(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	if page.Next != "" {
		return nil, problem.New(problem.TooLarge, nil,
			"more than %d features of %s cover the point; leave that collection out with the parameter collections",
			len(page.Rows), q.Collection)
	}
	return page.Rows, nil
}

// At returns the features of a collection of areas that a position lies in or on the border of, of versions those of a
// moment; the zero time is now.
func (c *Call) At(coll *store.Collection, system crs.ID, x, y float64, at time.Time) ([]store.Row, error) {
	i, err := c.PointIndex(coll)
	if err != nil {
		return nil, err
	}
	if i != nil {
		return i.At(coll, system, x, y)
	}
	e, err := cql2.Check(Holding(coll, system, x, y), coll)
	if err != nil {
		return nil, err
	}
	return c.AllOf(c.AsOf(coll, store.Query{Filter: e}, at))
}

// AsOf makes q a query of a collection that selects, of versions, those of a moment; the zero time is now.
func (c *Call) AsOf(coll *store.Collection, q store.Query, at time.Time) store.Query {
	q = c.Current(coll, q)
	if !q.AsOf.IsZero() && !at.IsZero() {
		q.AsOf = store.Asked(at)
	}
	return q
}

// begun is closed when the making of an index that is under way has ended; nil: none is.
func (x *pointIndexes) begun(collection string) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w := x.works[collection]; w != nil && w.busy != nil {
		return w.busy
	}
	return nil
}

// AwaitIndex is the index of a collection; nil when there can be none.
func (c *Call) AwaitIndex(coll *store.Collection) (*PointIndex, error) {
	for range tries {
		i, err := c.PointIndex(coll)
		if i != nil || err != nil {
			return i, err
		}
		made := c.s.points.begun(coll.ID)
		if made == nil { // it has ended since, or there can be none
			return c.PointIndex(coll)
		}
		select {
		case <-made:
		case <-c.Request.Context().Done():
			return nil, c.Request.Context().Err()
		}
	}
	return nil, nil
}
