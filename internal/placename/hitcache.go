package placename

import (
	"reflect"
	"strings"

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

// cached fills hits with those of rows that are in the cache, and returns the positions of the others.
func cached[H any](c *hitCache, t hitTable, rows []store.Row, hits []H) (rest []int) {
	for i, r := range rows {
		v, _ := c.Get(hitKey{t, r.ID, r.Rev})
		if hit, ok := v.(*H); ok {
			hits[i] = *hit
		} else {
			rest = append(rest, i)
		}
	}
	return rest
}

// putHits caches copies of the hits at some positions.
func putHits[H any](c *hitCache, t hitTable, rows []store.Row, hits []H, at []int) {
	size := sizeOf[H]()
	for _, n := range at {
		h := hits[n]
		c.Put(hitKey{t, strings.Clone(rows[n].ID), rows[n].Rev}, &h, size) // an id may be part of a longer text
	}
}
