package placename

import (
	"hash/maphash"
	"reflect"
	"strings"
	"sync/atomic"

	"grense/internal/cache"
	"grense/internal/store"
)

// hitBytes is how much hits that are cached for further searches may take, together.
const hitBytes = 32 << 20

// hitTable names hits of one kind.
type hitTable struct {
	collection string
	display    bool // with display names
}

// hitKey names a hit of a record in a revision.
type hitKey struct {
	hitTable
	id  string
	rev uint64
}

// hitCache holds hits that searches gave lately, *H by kind. They are not to be changed.
type hitCache = cache.Cache[hitKey, any]

func newHitCache(bytes int64, g *cache.Group) *hitCache {
	return cache.New[hitKey, any](cache.Options{Name: "soap_hits", Bytes: bytes, Group: g})
}

// sizeOf is about what a hit takes with its texts.
func sizeOf[H any]() int64 { return int64(reflect.TypeFor[H]().Size()) + 250 }

// hitSource is where hits of one kind are cached; with late, those that were asked for of late.
type hitSource struct {
	*hitCache
	hitTable
	late *askedLately
}

// cached fills hits with those of rows that are in the cache, and returns the positions of the others, and those of them that are to be put into it.
func cached[H any](s hitSource, rows []store.Row, hits []H) (rest, put []int) {
	for i, r := range rows {
		k := hitKey{s.hitTable, r.ID, r.Rev}
		v, _ := s.Get(k)
		if hit, ok := v.(*H); ok {
			hits[i] = *hit
			continue
		}
		rest = append(rest, i)
		if s.late == nil || s.late.again(k) {
			put = append(put, i)
		}
	}
	return rest, put
}

// askedLately knows hits that were asked for of late by their hashes: of records that are at hand anyway only these are cached, since caching costs more than reading them.
type askedLately struct {
	seed   maphash.Seed
	hashes [1 << 14][4]atomic.Uint64 // of hits that share a place, the newest first
}

func newAskedLately() *askedLately { return &askedLately{seed: maphash.MakeSeed()} }

// again reports whether a hit was asked for of late, and notes that it is now.
func (a *askedLately) again(k hitKey) bool {
	h := maphash.String(a.seed, k.id) ^ maphash.String(a.seed, k.collection)<<1 ^ k.rev
	if k.display {
		h = ^h
	}
	place := &a.hashes[h%uint64(len(a.hashes))]
	for i := range place {
		if place[i].Load() == h {
			return true
		}
	}
	for i := len(place) - 1; i > 0; i-- {
		place[i].Store(place[i-1].Load())
	}
	place[0].Store(h)
	return false
}

// putHits caches copies of the hits at some positions.
func putHits[H any](s hitSource, rows []store.Row, hits []H, at []int) {
	size := sizeOf[H]()
	for _, n := range at {
		h := hits[n]
		s.Put(hitKey{s.hitTable, strings.Clone(rows[n].ID), rows[n].Rev}, &h, size) // an id may be part of a longer text
	}
}
