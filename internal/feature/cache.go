package feature

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"grense/internal/crs"
)

// Kind is the form of a fragment.
type Kind uint8

const (
	KindMembers Kind = iota // the members of a GeoJSON Feature, as AppendMembers writes them
	KindJSONLD              // a whole document
)

// Key names a fragment: an encoded feature. The same key means the same bytes.
type Key struct {
	Collection string
	ID         string
	Rev        uint64
	CRS        crs.ID
	Properties uint64 // hash of the asked properties; 0: all
	Kind       Kind
}

// Stats counts what a Cache did since it was made, Deflated the forms that Deflate made; Bytes and Fragments are what it holds now.
type Stats struct {
	Hits, Misses, Evictions uint64
	Deflated                uint64
	Bytes                   int64
	Fragments               int64
}

// Cache keeps the fragments used last, up to a number of bytes. It is safe for concurrent use. Fragments are immutable and stay
// valid after they were evicted.
type Cache struct {
	seed   maphash.Seed
	shards [shards]shard

	hits, misses, evictions, deflated atomic.Uint64
	bytes, fragments                  atomic.Int64
}

const (
	shards   = 16
	overhead = 250 // bytes that a fragment costs besides its own: key, entry and map
)

// shard is a part of the cache with its own lock: a ring of fragments, used last first.
type shard struct {
	mu    sync.Mutex
	limit int64
	bytes int64
	by    map[Key]*Fragment
	ring  Fragment // sentinel
}

// NewCache returns a cache of at most limit bytes, with what keeping them costs; one of 0 or less keeps nothing. A fragment of more
// than a sixteenth of it is not kept.
func NewCache(limit int64) *Cache {
	c := &Cache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		s := &c.shards[i]
		s.limit, s.by = limit/shards, map[Key]*Fragment{}
		s.ring.prev, s.ring.next = &s.ring, &s.ring
	}
	return c
}

func (c *Cache) shard(k Key) *shard { return &c.shards[maphash.String(c.seed, k.ID)%shards] }

// Get returns a fragment; false when it is not kept.
func (c *Cache) Get(k Key) (*Fragment, bool) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.by[k]
	if !ok {
		c.misses.Add(1)
		return nil, false
	}
	c.hits.Add(1)
	s.unlink(f)
	s.push(f)
	return f, true
}

// Put keeps an encoded feature, in place of one of the same key, evicts the fragments that were not used for longest, and returns
// the fragment. The fragment owns json from now on.
func (c *Cache) Put(k Key, json []byte) *Fragment {
	f := &Fragment{JSON: json, key: k, cost: int64(len(json)+len(k.ID)) + overhead}
	s := c.shard(k)
	if f.cost > s.limit {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.by[k]; ok {
		c.remove(s, old)
	}
	s.by[k] = f
	s.push(f)
	c.grow(s, f.cost)
	c.fragments.Add(1)
	return f
}

// Deflate gives fragments of a page that Get returned, nil where it returned none, their deflated forms when they are large enough on
// average; where there is one, or another call is making it, nothing is done. Of a very large page it does a part. Only what is found again is worth that: it costs three
// to four times what compressing the text into one answer does, so that it has paid at the fifth use, and an answer that is asked
// once pays nothing.
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
	s := c.shard(f.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[f.key] == f {
		n := int64(len(z.blocks))
		if f.cost+n > s.limit {
			return
		}
		f.cost += n
		s.unlink(f)
		s.push(f)
		c.grow(s, n)
	}
	f.deflated.Store(z)
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Evictions: c.evictions.Load(), Deflated: c.deflated.Load(), Bytes: c.bytes.Load(), Fragments: c.fragments.Load()}
}

// grow counts n more bytes and evicts until they fit. The fragment used last stays, since none costs more than the limit.
func (c *Cache) grow(s *shard, n int64) {
	s.bytes += n
	c.bytes.Add(n)
	for s.bytes > s.limit {
		c.remove(s, s.ring.prev)
		c.evictions.Add(1)
	}
}

func (c *Cache) remove(s *shard, f *Fragment) {
	s.unlink(f)
	f.prev, f.next = nil, nil
	delete(s.by, f.key)
	s.bytes -= f.cost
	c.bytes.Add(-f.cost)
	c.fragments.Add(-1)
}

func (s *shard) unlink(f *Fragment) { f.prev.next, f.next.prev = f.next, f.prev }

func (s *shard) push(f *Fragment) {
	f.prev, f.next = &s.ring, s.ring.next
	f.prev.next, f.next.prev = f, f
}
