package server

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"grense/internal/feature"
	"grense/internal/store"
)

// Once questions have found some features of a collection that were not encoded, all of its features are, where they fit.
const (
	encodeFrom  = 10                    // features that questions had to encode: a page
	encodeMost  = 100_000               // features of a collection
	encodeBatch = 50                    // at once
	encodeRest  = 1                     // times as long as these took nothing is encoded
	encodeBusy  = 20 * time.Millisecond // nothing is while questions wait for their turns
)

// fragmentsWanted tells what is worth being encoded before somebody asks for it. It is safe for concurrent use.
type fragmentsWanted struct {
	next chan WantedFragments // of room for one

	mu      sync.Mutex
	version string              // of the catalog that missed is of
	missed  map[feature.Key]int // features that were not there, by what they have in common; below 0: they are being made, or were
}

// wantedFragments are all features of a collection, encoded.
type WantedFragments struct {
	Catalog    *store.Catalog
	Collection *store.Collection
	Key        feature.Key // what they have in common
}

func newFragmentsWanted() *fragmentsWanted {
	return &fragmentsWanted{next: make(chan WantedFragments, 1), missed: map[feature.Key]int{}}
}

// add notes that n features were not there.
func (x *fragmentsWanted) Add(w WantedFragments, n int) {
	if w.Key.Kind != feature.KindMembers || w.Key.Properties != 0 || !IsPlain(w.Collection) || w.Collection.Count > encodeMost {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.version != w.Catalog.Version {
		x.version = w.Catalog.Version
		clear(x.missed)
	}
	now := x.missed[w.Key]
	if now < 0 {
		return
	}
	if x.missed[w.Key] = now + n; now+n < encodeFrom {
		return
	}
	select {
	case x.next <- w:
		x.missed[w.Key] = -1
	default: // others are being made
	}
}

// RunFragments encodes features of collections that are asked for, until ctx ends: a few at a time, with rests, and while there is room for them. Of a database there are
// none to make: its features may be others each time.
func (s *Kit) RunFragments(ctx context.Context) {
	if s.Store.Catalog().Live {
		return
	}
	for {
		select {
		case w := <-s.Wanted.next:
			s.fragmentsAhead(ctx, w)
		case <-ctx.Done():
			return
		}
	}
}

// fragmentsAhead encodes all features of a collection that fit together into what is free, until the catalog is another.
func (s *Kit) fragmentsAhead(ctx context.Context, w WantedFragments) {
	defer s.Fragments.Make()()
	defer func() {
		if p := recover(); p != nil { // no request is there to fail
			s.Log.ErrorContext(ctx, "panic", "collection", w.Collection.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	enc, err := feature.NewEncoder(w.Collection, feature.Options{CRS: w.Key.CRS})
	if err != nil {
		return // who asks is told
	}
	q := store.Query{Collection: w.Collection.ID, Limit: encodeBatch, Count: store.CountNone}
	for first := true; first || q.Cursor != ""; first = false {
		for s.Turns.Queued() {
			if !pauses(ctx, encodeBusy) {
				return
			}
		}
		if s.Store.Catalog().Version != w.Catalog.Version {
			return
		}
		start, room := time.Now(), s.Fragments.Room()
		next, n, err := s.encodeAhead(ctx, w, enc, q)
		if err != nil || n > room || first && 2*n/encodeBatch*int64(w.Collection.Count) > room { // twice: with their compressed forms
			return
		}
		q.Cursor = next
		if !pauses(ctx, encodeRest*time.Since(start)) {
			return
		}
	}
}

// encodeAhead encodes a page of features, which have n bytes.
func (s *Kit) encodeAhead(ctx context.Context, w WantedFragments, enc *feature.Encoder, q store.Query) (next store.Cursor, n int64, err error) {
	ctx = s.Turns.NewTicket("", true).With(ctx)
	p, err := s.Store.Page(ctx, q)
	if err != nil {
		return "", 0, err
	}
	key, buf := w.Key, []byte(nil)
	err = s.Store.Fetch(ctx, w.Collection.ID, p.Rows, enc.Want(), func(f *store.Feature) (err error) {
		if buf, err = enc.AppendMembers(buf[:0], f); err != nil {
			return err
		}
		key.ID, key.Rev = f.ID, f.Rev
		n += int64(len(buf))
		s.Fragments.Offer(key, append(make([]byte, 0, len(buf)), buf...))
		return nil
	})
	return p.Next, n, err
}

// pauses waits; false when ctx ends first.
func pauses(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
