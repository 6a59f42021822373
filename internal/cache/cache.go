// Package cache is the cache of the service: generic, bounded in bytes, with counters, and safe for concurrent use. All
// cached values in the program use it.
//
// It evicts by SIEVE (Zhang et al., NSDI 2024): the oldest entry that was not used since the hand last passed. So
// values that are read only once do not displace those that are read often. A Group adds up the counters of caches for
// metrics, and divides a budget among them.
package cache

import (
	"hash/maphash"
	"reflect"
	"sync"
	"sync/atomic"
)

// Options configure a Cache.
type Options struct {
	Name  string // in metrics, where caches with the same name are added up
	Bytes int64  // largest size, including overhead; 0 or less: the cache holds nothing
	// Shards is the number of parts with a lock of their own. No value may be larger than a shard. Defaults to 1; 16
	// suit a cache to which every request writes.
	Shards int
	Group  *Group // may be nil
	Fixed  bool   // Bytes are not part of the group's budget, and are not reduced by it
}

// Cache holds values by key, up to a number of bytes. Use New to create one; nil is a cache that holds nothing.
type Cache[K comparable, V any] struct {
	name     string
	asked    int64 // Options.Bytes
	fixed    bool
	overhead int64 // bytes of an entry in addition to the size given to Put
	seed     maphash.Seed
	shards   []shard[K, V]
	limit    atomic.Int64 // of all shards
	making   atomic.Int64

	hits, misses atomic.Uint64
}

// shard is a part of a cache with its own lock.
type shard[K comparable, V any] struct {
	mu    sync.Mutex
	by    map[K]*entry[K, V]
	ring  entry[K, V]  // sentinel: next is the newest entry, prev the oldest
	hand  *entry[K, V] // where the next search for an entry to evict begins, towards newer entries; never nil
	bytes int64
	limit int64

	evictions uint64
}

type entry[K comparable, V any] struct {
	key        K
	value      V
	used       bool
	size       int64
	prev, next *entry[K, V] // newer, older
}

// New returns an empty cache.
func New[K comparable, V any](o Options) *Cache[K, V] {
	c := &Cache[K, V]{name: o.Name, asked: max(o.Bytes, 0), fixed: o.Fixed, seed: maphash.MakeSeed(),
		shards: make([]shard[K, V], max(o.Shards, 1))}
	inMap := reflect.TypeFor[K]().Size() + reflect.TypeFor[*V]().Size()
	c.overhead = int64(reflect.TypeFor[entry[K, V]]().Size() + 2*inMap) // a map is about half full
	for i := range c.shards {
		c.shards[i].clear()
	}
	c.SetLimit(c.asked)
	o.Group.add(c)
	return c
}

// shard returns the shard for a key, locked.
func (c *Cache[K, V]) shard(k K) *shard[K, V] {
	s := &c.shards[0]
	if n := uint64(len(c.shards)); n > 1 {
		s = &c.shards[maphash.Comparable(c.seed, k)%n]
	}
	s.mu.Lock()
	return s
}

// Get returns the value of a key; false if it is not cached. The caller must not change what it points to.
func (c *Cache[K, V]) Get(k K) (v V, ok bool) {
	v, ok = c.Peek(k)
	c.Count(ok)
	return v, ok
}

// Peek is Get without counting a hit or miss. Callers that cannot know yet whether the value is useful call Count
// later.
func (c *Cache[K, V]) Peek(k K) (v V, ok bool) {
	if c == nil {
		return v, false
	}
	s := c.shard(k)
	defer s.mu.Unlock()
	e := s.by[k]
	if e == nil {
		return v, false
	}
	e.used = true
	return e.value, true
}

// Count counts a hit or a miss after Peek.
func (c *Cache[K, V]) Count(found bool) {
	switch {
	case c == nil:
	case found:
		c.hits.Add(1)
	default:
		c.misses.Add(1)
	}
}

// Put caches a value, and replaces one with the same key. size is the memory that key and value refer to, such as
// strings and slices, in bytes. It returns false, and removes the key, if the value is larger than a shard.
func (c *Cache[K, V]) Put(k K, v V, size int64) bool {
	if c == nil {
		return false
	}
	size += c.overhead
	s := c.shard(k)
	defer s.mu.Unlock()
	if old := s.by[k]; old != nil {
		s.remove(old)
	}
	if size > s.limit {
		return false
	}
	s.room(s.limit-size, nil)
	s.insert(&entry[K, V]{key: k, value: v, size: size})
	return true
}

// Offer caches a value only if the key is not cached yet and nothing must be evicted for it. It reports whether it did.
// size is as in Put.
func (c *Cache[K, V]) Offer(k K, v V, size int64) bool {
	if c == nil {
		return false
	}
	size += c.overhead
	s := c.shard(k)
	defer s.mu.Unlock()
	if s.by[k] != nil || s.bytes+size > s.limit {
		return false
	}
	s.insert(&entry[K, V]{key: k, value: v, size: size})
	return true
}

// insert adds the newest entry.
func (s *shard[K, V]) insert(e *entry[K, V]) {
	e.prev, e.next = &s.ring, s.ring.next
	e.prev.next, e.next.prev = e, e
	s.by[e.key] = e
	s.bytes += e.size
}

func (s *shard[K, V]) clear() {
	s.by = map[K]*entry[K, V]{}
	s.ring.prev, s.ring.next, s.hand, s.bytes = &s.ring, &s.ring, &s.ring, 0
}

// Grow adds n bytes to the size of a value for which same is true, and evicts others if necessary. It returns false,
// and changes nothing, if the value would be larger than a shard. It also returns true if the value is not cached any
// more.
func (c *Cache[K, V]) Grow(k K, n int64, same func(V) bool) bool {
	if c == nil {
		return true
	}
	s := c.shard(k)
	defer s.mu.Unlock()
	e := s.by[k]
	if e == nil || !same(e.value) {
		return true
	}
	if e.size+n > s.limit {
		return false
	}
	e.size += n
	s.bytes += n
	s.room(s.limit, e)
	return true
}

// Delete removes a key.
func (c *Cache[K, V]) Delete(k K) {
	if c == nil {
		return
	}
	s := c.shard(k)
	defer s.mu.Unlock()
	if e := s.by[k]; e != nil {
		s.remove(e)
	}
}

// Clear removes all values without counting evictions.
func (c *Cache[K, V]) Clear() {
	if c == nil {
		return
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.clear()
		s.mu.Unlock()
	}
}

// SetLimit sets the limit in bytes, and evicts what exceeds it.
func (c *Cache[K, V]) SetLimit(bytes int64) {
	if c == nil {
		return
	}
	c.limit.Store(max(bytes, 0))
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.limit = max(bytes, 0) / int64(len(c.shards))
		s.room(s.limit, nil)
		s.mu.Unlock()
	}
}

// Limit returns the limit in bytes.
func (c *Cache[K, V]) Limit() int64 {
	if c == nil {
		return 0
	}
	return c.limit.Load()
}

// room evicts entries other than keep until the size is at most limit.
func (s *shard[K, V]) room(limit int64, keep *entry[K, V]) {
	for s.bytes > limit {
		if s.hand == &s.ring {
			s.hand = s.ring.prev
		}
		e := s.hand
		s.hand = e.prev
		switch {
		case e == keep:
		case e.used:
			e.used = false
		default:
			s.remove(e)
			s.evictions++
		}
	}
}

func (s *shard[K, V]) remove(e *entry[K, V]) {
	if s.hand == e {
		s.hand = e.prev
	}
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
	delete(s.by, e.key)
	s.bytes -= e.size
}

// Stats returns what the cache holds, and its counters since New.
func (c *Cache[K, V]) Stats() Stats {
	if c == nil {
		return Stats{}
	}
	x := Stats{Name: c.name, Hits: c.hits.Load(), Misses: c.misses.Load(), Making: c.making.Load()}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		x.Entries, x.Bytes, x.Limit = x.Entries+int64(len(s.by)), x.Bytes+s.bytes, x.Limit+s.limit
		x.Evictions += s.evictions
		s.mu.Unlock()
	}
	return x
}

// Make records that a value is being built in the background. The caller must call ended once when the value is cached
// or has failed.
func (c *Cache[K, V]) Make() (ended func()) {
	if c == nil {
		return func() {}
	}
	c.making.Add(1)
	return func() { c.making.Add(-1) }
}

// Room returns how many bytes of another value fit without eviction; negative if none do. It is the sum of all shards.
func (c *Cache[K, V]) Room() int64 {
	x := c.Stats()
	return x.Limit - x.Bytes - c.overhead
}

func (c *Cache[K, V]) wanted() (bytes int64, fixed bool) { return c.asked, c.fixed }
