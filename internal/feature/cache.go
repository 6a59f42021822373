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
	KindGeoJSON Kind = iota // a whole Feature
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

// Stats counts what a Cache did since it was made; Bytes and Fragments are what it holds now.
type Stats struct {
	Hits, Misses, Evictions uint64
	Bytes                   int64
	Fragments               int64
}

// Cache keeps the fragments used last, up to a number of bytes. It is safe for concurrent use. Fragments are immutable: nobody
// changes a slice after Put, nor one that Get returned; they stay valid after they were evicted.
type Cache struct {
	seed   maphash.Seed
	shards [shards]shard

	hits, misses, evictions atomic.Uint64
	bytes, fragments        atomic.Int64
}

const (
	shards   = 16
	overhead = 200 // bytes that a fragment costs besides its own: key, entry and map
)

// shard is a part of the cache with its own lock: a ring of entries, used last first.
type shard struct {
	mu    sync.Mutex
	limit int64
	bytes int64
	by    map[Key]*entry
	ring  entry // sentinel
}

type entry struct {
	key        Key
	value      []byte
	prev, next *entry
}

func (e *entry) cost() int64 { return int64(len(e.value)+len(e.key.ID)) + overhead }

// NewCache returns a cache of at most limit bytes, with what keeping them costs; one of 0 or less keeps nothing. A fragment of more
// than a sixteenth of it is not kept.
func NewCache(limit int64) *Cache {
	c := &Cache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		s := &c.shards[i]
		s.limit, s.by = limit/shards, map[Key]*entry{}
		s.ring.prev, s.ring.next = &s.ring, &s.ring
	}
	return c
}

func (c *Cache) shard(k Key) *shard { return &c.shards[maphash.String(c.seed, k.ID)%shards] }

// Get returns a fragment; false when it is not kept.
func (c *Cache) Get(k Key) ([]byte, bool) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.by[k]
	if !ok {
		c.misses.Add(1)
		return nil, false
	}
	c.hits.Add(1)
	s.unlink(e)
	s.push(e)
	return e.value, true
}

// Put keeps a fragment, in place of one of the same key, and evicts the ones that were not used for longest. The cache owns value
// from now on.
func (c *Cache) Put(k Key, value []byte) {
	e := &entry{key: k, value: value}
	s := c.shard(k)
	if e.cost() > s.limit {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.by[k]; ok {
		c.remove(s, old)
	}
	for s.bytes+e.cost() > s.limit {
		c.remove(s, s.ring.prev)
		c.evictions.Add(1)
	}
	s.by[k] = e
	s.push(e)
	s.bytes += e.cost()
	c.bytes.Add(e.cost())
	c.fragments.Add(1)
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Evictions: c.evictions.Load(), Bytes: c.bytes.Load(), Fragments: c.fragments.Load()}
}

func (c *Cache) remove(s *shard, e *entry) {
	s.unlink(e)
	delete(s.by, e.key)
	s.bytes -= e.cost()
	c.bytes.Add(-e.cost())
	c.fragments.Add(-1)
}

func (s *shard) unlink(e *entry) { e.prev.next, e.next.prev = e.next, e.prev }

func (s *shard) push(e *entry) {
	e.prev, e.next = &s.ring, s.ring.next
	e.prev.next, e.next.prev = e, e
}
