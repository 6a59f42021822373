// Package cache is the cache of the service: generic, bounded in bytes, counted, safe for concurrent use. Nothing else
// holds values only because they may be asked for again.
//
// It evicts by SIEVE (Zhang et al., NSDI 2024): what was found since the hand last passed stays, the oldest of the rest
// goes. So values that are read once do not displace those that are read often. A Group adds caches up for metrics, and
// gives them their parts of one budget.
package cache

import (
	"hash/maphash"
	"reflect"
	"sync"
	"sync/atomic"
)

// Options says how a Cache is made.
type Options struct {
	Name  string // in metrics; caches of one name are added up
	Bytes int64  // most that it holds, with what holding costs; 0 or less: it holds nothing
	// Shards is in how many parts with a lock each it is divided; no value may take more than one part. Defaults to 1;
	// 16 suit a cache that each request writes into.
	Shards int
	Group  *Group // nil: none
	Fixed  bool   // Bytes are beside the budget of the group, which neither counts nor lowers them
}

// Cache holds values by key, in at most as many bytes as its limit. Make it by New; nil is a cache that holds nothing.
type Cache[K comparable, V any] struct {
	name     string
	asked    int64 // Options.Bytes
	fixed    bool
	overhead int64 // bytes of an entry besides the size given to Put
	seed     maphash.Seed
	shards   []shard[K, V]
	limit    atomic.Int64 // of all shards
	making   atomic.Int64

	hits, misses atomic.Uint64
}

// shard is a part of a cache with a lock of its own.
type shard[K comparable, V any] struct {
	mu    sync.Mutex
	by    map[K]*entry[K, V]
	ring  entry[K, V]  // sentinel: next is the newest entry, prev the oldest
	hand  *entry[K, V] // where the search for what to evict goes on, towards newer entries; never nil
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
	c.overhead = int64(reflect.TypeFor[entry[K, V]]().Size() + 2*inMap) // a map is half full
	for i := range c.shards {
		c.shards[i].clear()
	}
	c.SetLimit(c.asked)
	o.Group.add(c)
	return c
}

// shard returns the part of a key, locked.
func (c *Cache[K, V]) shard(k K) *shard[K, V] {
	s := &c.shards[0]
	if n := uint64(len(c.shards)); n > 1 {
		s = &c.shards[maphash.Comparable(c.seed, k)%n]
	}
	s.mu.Lock()
	return s
}

// Get returns the value of a key; false when it is not held. The caller must not change what it points to.
func (c *Cache[K, V]) Get(k K) (v V, ok bool) {
	v, ok = c.Peek(k)
	c.Count(ok)
	return v, ok
}

// Peek is Get of a value that may turn out to be of no use, and is not counted; the caller calls Count once it knows.
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

// Count counts a value as found or not found, which Peek did not.
func (c *Cache[K, V]) Count(found bool) {
	switch {
	case c == nil:
	case found:
		c.hits.Add(1)
	default:
		c.misses.Add(1)
	}
}

// Put holds a value, in place of one of the same key; size is the bytes that key and value take outside of themselves:
// texts, slices, what pointers lead to. It reports false, and holds nothing for the key, when that is more than a shard
// may hold.
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

// Offer holds a value, of a size as Put takes it, where there is none of its key and no other has to make room for it;
// it reports whether it does.
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

// Grow adds n bytes to the size of a value for which same holds, evicting others. It reports false, and changes
// nothing, when the value would be larger than a shard may be; true as well when the cache does not hold it any more,
// so that its size is nobody's concern.
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

// Delete drops the value of a key.
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

// Clear drops all values, which is no eviction.
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

// SetLimit sets the most bytes that the cache holds, and evicts what is beyond.
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

// Limit is the most bytes that the cache holds.
func (c *Cache[K, V]) Limit() int64 {
	if c == nil {
		return 0
	}
	return c.limit.Load()
}

// room evicts until no more than limit bytes are held; keep stays.
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

// Stats describes what the cache holds, and what it did since it was made.
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

// Make is called where a value begins to be made that no request waits for; ended is called once, when it is held or
// will not be.
func (c *Cache[K, V]) Make() (ended func()) {
	if c == nil {
		return func() {}
	}
	c.making.Add(1)
	return func() { c.making.Add(-1) }
}

// Room is how many bytes of one more value fit without evicting another; below 0 when none does. With several shards it
// is that of all.
func (c *Cache[K, V]) Room() int64 {
	x := c.Stats()
	return x.Limit - x.Bytes - c.overhead
}

func (c *Cache[K, V]) wanted() (bytes int64, fixed bool) { return c.asked, c.fixed }
