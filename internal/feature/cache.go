package feature

import (
	"sync/atomic"

	"grense/internal/cache"
	"grense/internal/geo/crs"
)

// Kind is the form of a fragment.
type Kind uint8

const (
	KindMembers    Kind = iota // GeoJSON members, as written by AppendMembers
	KindJSONLD                 // a whole JSON-LD document
	KindJSONFG                 // members written by JSONFG.AppendMembers
	KindJSONFGPlus             // the same, also with geometries in CRS84
)

// Key identifies a fragment (an encoded feature). Equal keys mean equal bytes.
type Key struct {
	Collection string
	ID         string
	Rev        uint64
	CRS        crs.ID
	Properties uint64 // hash of the requested properties; 0: all
	Kind       Kind
}

// Stats are the counters of a Cache; Deflated counts fragments compressed by Deflate. Bytes and Fragments are the
// current content.
type Stats struct {
	Hits, Misses, Evictions uint64
	Deflated                uint64
	Bytes                   int64
	Fragments               int64
}

// Cache caches fragments, up to a number of bytes. It is safe for concurrent use. Fragments are immutable and remain
// valid after eviction.
type Cache struct {
	fragments *cache.Cache[Key, *Fragment]
	deflated  atomic.Uint64
}

// shards is the number of parts of the cache, since pages put many fragments at a time.
const shards = 16

// NewCache returns a cache of at most limit bytes, including overhead; with 0 or less it holds nothing. A fragment
// larger than a sixteenth of the limit is not cached. The cache joins the group g, which may be nil, as "fragments".
func NewCache(limit int64, g *cache.Group) *Cache {
	return &Cache{
		fragments: cache.New[Key, *Fragment](cache.Options{Name: "fragments", Bytes: limit, Shards: shards, Group: g}),
	}
}

// Get returns a fragment; false if it is not cached.
func (c *Cache) Get(k Key) (*Fragment, bool) { return c.fragments.Get(k) }

// Put caches an encoded feature, replacing one with the same key, and returns the fragment. The fragment owns json.
func (c *Cache) Put(k Key, json []byte) *Fragment {
	f := &Fragment{JSON: json, key: k}
	c.fragments.Put(k, f, int64(len(json)+len(k.ID)+fragmentSize))
	return f
}

// Offer caches an encoded feature only if its key is not cached yet and nothing must be evicted for it.
func (c *Cache) Offer(k Key, json []byte) {
	c.fragments.Offer(k, &Fragment{JSON: json, key: k}, int64(len(json)+len(k.ID)+fragmentSize))
}

// Room returns how many bytes of fragments fit without eviction.
func (c *Cache) Room() int64 { return c.fragments.Room() }

// Make records that fragments are being built in the background. The caller must call ended once when that is done.
func (c *Cache) Make() (ended func()) { return c.fragments.Make() }

// fragmentSize is the approximate size of a Fragment without its text, in bytes.
const fragmentSize = 128

// Deflate compresses fragments of a page that Get returned (nil where it returned none), if they are large enough on
// average. It skips fragments that are compressed already, or being compressed by another call, and of a very large
// page it does only a part. Only repeated fragments are worth it: it costs three to four times as much as compressing
// the text for one response, so that it pays from the fifth use on.
func (c *Cache) Deflate(page []*Fragment) {
	n, size := 0, 0
	for _, f := range page {
		if f != nil {
			n++
			size += len(f.JSON)
		}
	}
	if size < n*leastDeflated {
		return
	}
	for done := 0; len(page) > 0 && done < mostAtOnce; page = page[1:] {
		if f := page[0]; f != nil && !f.claimed.Load() && f.claimed.CompareAndSwap(false, true) {
			c.deflate(f)
			done += len(f.JSON)
		}
	}
}

func (c *Cache) deflate(f *Fragment) {
	z := newDeflated(f.JSON)
	c.deflated.Add(1)
	if c.fragments.Grow(f.key, int64(len(z.blocks)), func(held *Fragment) bool { return held == f }) {
		f.deflated.Store(z)
	}
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	s := c.fragments.Stats()
	return Stats{
		Hits:      s.Hits,
		Misses:    s.Misses,
		Evictions: s.Evictions,
		Deflated:  c.deflated.Load(),
		Bytes:     s.Bytes,
		Fragments: s.Entries,
	}
}
