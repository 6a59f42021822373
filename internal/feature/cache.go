package feature

import (
	"sync/atomic"

	"grense/internal/cache"
	"grense/internal/geo/crs"
)

// Kind is the form of a fragment.
type Kind uint8

const (
	KindMembers    Kind = iota // the members of a GeoJSON Feature, as AppendMembers writes them
	KindJSONLD                 // a whole document
	KindJSONFG                 // members as JSONFG.AppendMembers writes them
	KindJSONFGPlus             // the same, with geometries in CRS84
)

// Key names a fragment: an encoded feature. The same key means the same bytes.
type Key struct {
	Collection string
	ID         string
	Rev        uint64
	CRS        crs.ID
	Properties uint64 // hash of the requested properties; 0: all
	Kind       Kind
}

// Stats counts what a Cache did since it was made, Deflated the forms that Deflate made; Bytes and Fragments are what
// it holds now.
type Stats struct {
	Hits, Misses, Evictions uint64
	Deflated                uint64
	Bytes                   int64
	Fragments               int64
}

// Cache holds fragments, up to a number of bytes. It is safe for concurrent use. Fragments are immutable and stay
// valid after they were evicted.
type Cache struct {
	fragments *cache.Cache[Key, *Fragment]
	deflated  atomic.Uint64
}

// shards is in how many parts the cache is divided; pages put many fragments at once.
const shards = 16

// NewCache returns a cache of at most limit bytes, with what holding them costs; one of 0 or less holds nothing. A
// fragment of more than a sixteenth of it is not held. The cache joins g, which may be nil, under the name
// "fragments".
func NewCache(limit int64, g *cache.Group) *Cache {
	return &Cache{
		fragments: cache.New[Key, *Fragment](cache.Options{Name: "fragments", Bytes: limit, Shards: shards, Group: g}),
	}
}

// Get returns a fragment; false when it is not held.
func (c *Cache) Get(k Key) (*Fragment, bool) { return c.fragments.Get(k) }

// Put holds an encoded feature, in place of one of the same key, and returns the fragment. The fragment owns json
// from now on.
func (c *Cache) Put(k Key, json []byte) *Fragment {
	f := &Fragment{JSON: json, key: k}
	c.fragments.Put(k, f, int64(len(json)+len(k.ID)+fragmentSize))
	return f
}

// Offer holds an encoded feature where there is none of its key and no other has to make room for it.
func (c *Cache) Offer(k Key, json []byte) {
	c.fragments.Offer(k, &Fragment{JSON: json, key: k}, int64(len(json)+len(k.ID)+fragmentSize))
}

// Room is how many bytes of fragments fit without evicting others.
func (c *Cache) Room() int64 { return c.fragments.Room() }

// Make is called where fragments begin to be made that no request waits for; ended is called once, when they are.
func (c *Cache) Make() (ended func()) { return c.fragments.Make() }

// fragmentSize is about how many bytes a Fragment takes without its text.
const fragmentSize = 128

// Deflate gives fragments of a page that Get returned, nil where it returned none, their deflated forms when they are
// large enough on average; where there is one, or another call is making it, nothing is done. Of a very large page it
// does a part. Only what is found again is worth that: it costs three to four times what compressing the text into
// one answer does, so that it has paid at the fifth use, and an answer that is requested once pays nothing.
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
