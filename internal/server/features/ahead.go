package features

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"grense/internal/feature"
	"grense/internal/server"
	"grense/internal/store"
)

// When requests had to encode some features of a collection, all of its features are encoded if they fit into the
// cache.
const (
	encodeFrom  = 10                    // features that requests had to encode: a page
	encodeMost  = 100_000               // limit of features of a collection
	encodeBatch = 50                    // features of a batch
	encodeRest  = 1                     // rest after a batch, as a multiple of its time
	encodeBusy  = 20 * time.Millisecond // pause while requests wait in the queue
)

// Ahead encodes features before requests need them. It is safe for concurrent use.
type Ahead struct {
	*server.Kit
	next chan fragmentsOf // buffered, one entry

	mu      sync.Mutex
	version string              // catalog of missed
	missed  map[feature.Key]int // number of features that were not cached; below 0 if they are or were encoded
}

// fragmentsOf identifies the fragments of all features of a collection.
type fragmentsOf struct {
	catalog *store.Catalog
	coll    *store.Collection
	key     feature.Key // common part of their keys
}

func NewAhead(k *server.Kit) *Ahead {
	return &Ahead{Kit: k, next: make(chan fragmentsOf, 1), missed: map[feature.Key]int{}}
}

// add records that n features were not cached.
func (x *Ahead) add(w fragmentsOf, n int) {
	if w.key.Kind != feature.KindMembers || w.key.Properties != 0 || !server.IsPlain(w.coll) ||
		w.coll.Count > encodeMost {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.version != w.catalog.Version {
		x.version = w.catalog.Version
		clear(x.missed)
	}
	now := x.missed[w.key]
	if now < 0 {
		return
	}
	if x.missed[w.key] = now + n; now+n < encodeFrom {
		return
	}
	select {
	case x.next <- w:
		x.missed[w.key] = -1
	default: // others are in flight
	}
}

// Run encodes features of requested collections until ctx ends: in batches with rests, and while the cache has room.
// For a database there is nothing to do, since its features may change at any time.
func (x *Ahead) Run(ctx context.Context) {
	if x.Store.Catalog().Live {
		return
	}
	for {
		select {
		case w := <-x.next:
			x.encodeAll(ctx, w)
		case <-ctx.Done():
			return
		}
	}
}

// encodeAll encodes all features of a collection if they fit into the free part of the cache, until the catalog
// changes.
func (x *Ahead) encodeAll(ctx context.Context, w fragmentsOf) {
	defer x.Fragments.Make()()
	defer func() {
		if p := recover(); p != nil { // there is no request to fail
			x.Log.ErrorContext(ctx, "panic", "collection", w.coll.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	enc, err := feature.NewEncoder(w.coll, feature.Options{CRS: w.key.CRS})
	if err != nil {
		return // a request reports the error
	}
	q := store.Query{Collection: w.coll.ID, Limit: encodeBatch, Count: store.CountNone}
	for first := true; first || q.Cursor != ""; first = false {
		for x.Turns.Queued() {
			if !pauses(ctx, encodeBusy) {
				return
			}
		}
		if x.Store.Catalog().Version != w.catalog.Version {
			return
		}
		start, room := time.Now(), x.Fragments.Room()
		next, n, err := x.encodePage(ctx, w, enc, q)
		// twice, for the compressed forms
		if err != nil || n > room || first && 2*n/encodeBatch*int64(w.coll.Count) > room {
			return
		}
		q.Cursor = next
		if !pauses(ctx, encodeRest*time.Since(start)) {
			return
		}
	}
}

// encodePage encodes a page of features and returns their size in bytes.
func (x *Ahead) encodePage(ctx context.Context, w fragmentsOf, enc *feature.Encoder,
	q store.Query) (next store.Cursor, n int64, err error) {
	ctx = x.Turns.NewTicket("", true).With(ctx)
	p, err := x.Store.Page(ctx, q)
	if err != nil {
		return "", 0, err
	}
	key, buf := w.key, []byte(nil)
	err = x.Store.Fetch(ctx, w.coll.ID, p.Rows, enc.Want(), func(f *store.Feature) (err error) {
		if buf, err = enc.AppendMembers(buf[:0], f); err != nil {
			return err
		}
		key.ID, key.Rev = f.ID, f.Rev
		n += int64(len(buf))
		x.Fragments.Offer(key, append(make([]byte, 0, len(buf)), buf...))
		return nil
	})
	return p.Next, n, err
}

// pauses waits and reports false if ctx ends first.
func pauses(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
