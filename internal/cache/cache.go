// Package cache is the cache of the service: generic, bounded in bytes, counted, safe for concurrent use. Nothing else holds values only
// because they may be asked for again.
//
// It evicts by SIEVE (Zhang et al., NSDI 2024): what was found since the hand last passed stays, the oldest of the rest goes. So a hit takes no
// lock, and values that are requested once do not displace those that are requested often. A Group adds caches up for metrics, and
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
	// Shards is in how many parts with a lock each it is divided; no value may take more than one part. Defaults to 1; 16 suit a cache that
	// each request writes into.
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
}

// shard is a part of a cache with a lock of its own.
type shard[K comparable, V any] struct {
	mu    sync.Mutex
	by    atomic.Pointer[table[K, V]] // never nil; readers take no lock
	ring  entry[K, V]                 // sentinel: next is the newest entry, prev the oldest
	hand  *entry[K, V]                // where the search for what to evict goes on, towards newer entries; never nil
	bytes int64
	limit int64

	hits, misses, evictions atomic.Uint64
}

// entry is a value; all but used, size and the links are immutable.
type entry[K comparable, V any] struct {
	key        K
	value      V
	hash       uint64
	used       atomic.Bool
	size       int64
	prev, next *entry[K, V] // newer, older
}

// New returns an empty cache.
func New[K comparable, V any](o Options) *Cache[K, V] {
	c := &Cache[K, V]{name: o.Name, asked: max(o.Bytes, 0), fixed: o.Fixed, seed: maphash.MakeSeed(), shards: make([]shard[K, V], max(o.Shards, 1))}
	c.overhead = int64(reflect.TypeFor[entry[K, V]]().Size()) + slotsOfOne*int64(reflect.TypeFor[slot[K, V]]().Size())
	for i := range c.shards {
		s := &c.shards[i]
		s.by.Store(newTable[K, V](0))
		s.ring.prev, s.ring.next, s.hand = &s.ring, &s.ring, &s.ring
	}
	c.SetLimit(c.asked)
	o.Group.add(c)
	return c
}

func (c *Cache[K, V]) hash(k K) uint64 { return maphash.Comparable(c.seed, k) }

func (c *Cache[K, V]) shard(hash uint64) *shard[K, V] {
	return &c.shards[hash%uint64(len(c.shards))]
}

// Get returns the value of a key; false when it is not held. The caller must not change what it points to.
func (c *Cache[K, V]) Get(k K) (v V, ok bool) {
	if c == nil {
		return v, false
	}
	hash := c.hash(k)
	s := c.shard(hash)
	e := s.by.Load().find(hash, k)
	if e == nil {
		s.misses.Add(1)
		return v, false
	}
	s.hits.Add(1)
	return e.found(), true
}

// Peek is Get of a value that may turn out to be of no use, and is not counted; the caller calls Count once it knows.
func (c *Cache[K, V]) Peek(k K) (v V, ok bool) {
	if c == nil {
		return v, false
	}
	hash := c.hash(k)
	e := c.shard(hash).by.Load().find(hash, k)
	if e == nil {
		return v, false
	}
	return e.found(), true
}

// Count counts a value as found or not found, which Peek did not.
func (c *Cache[K, V]) Count(found bool) {
	switch {
	case c == nil:
	case found:
		c.shards[0].hits.Add(1) // Stats adds them up
	default:
		c.shards[0].misses.Add(1)
	}
}

// GetAll is Get of n keys: it calls found with the values that are held, in order. All are looked for before any is looked at, which is quicker than one after the other
// where they are no longer in the processor's caches.
func (c *Cache[K, V]) GetAll(n int, key func(i int) K, found func(i int, v V)) {
	const some = 32
	var hashes [some]uint64
	var at [some]*entry[K, V]
	if c == nil {
		return
	}
	hits := 0
	for from := 0; from < n; from += some {
		part := at[:min(n-from, some)]
		for i := range part {
			hashes[i] = c.hash(key(from + i))
		}
		for i := range part { // and nothing else, so that the processor fetches several at once
			part[i] = c.shard(hashes[i]).by.Load().likely(hashes[i])
		}
		for i, e := range part {
			if k := key(from + i); e != nil && e.key != k { // another of the same hash
				e = c.shard(e.hash).by.Load().find(e.hash, k)
			}
			if e != nil {
				found(from+i, e.found())
				hits++
			}
		}
	}
	s := &c.shards[0] // Stats adds them up
	s.hits.Add(uint64(hits))
	s.misses.Add(uint64(n - hits))
}

// found is the value of an entry that is requested.
func (e *entry[K, V]) found() V {
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.value
}

// Put holds a value, in place of one of the same key; size is the bytes that key and value take outside of themselves: texts, slices, what
// pointers lead to. It reports false, and holds nothing for the key, when that is more than a shard may hold.
func (c *Cache[K, V]) Put(k K, v V, size int64) bool {
	if c == nil {
		return false
	}
	size += c.overhead
	hash := c.hash(k)
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.by.Load().find(hash, k); old != nil {
		s.remove(old)
	}
	if size > s.limit {
		return false
	}
	s.room(s.limit-size, nil)
	s.insert(&entry[K, V]{key: k, value: v, hash: hash, size: size})
	return true
}

// Offer holds a value, of a size as Put takes it, where there is none of its key and no other has to make room for it; it reports whether it does.
func (c *Cache[K, V]) Offer(k K, v V, size int64) bool {
	if c == nil {
		return false
	}
	size += c.overhead
	hash := c.hash(k)
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by.Load().find(hash, k) != nil || s.bytes+size > s.limit {
		return false
	}
	s.insert(&entry[K, V]{key: k, value: v, hash: hash, size: size})
	return true
}

// insert adds the newest entry.
func (s *shard[K, V]) insert(e *entry[K, V]) {
	if t := s.by.Load(); t.full() {
		s.by.Store(s.copied(t.held))
	}
	e.prev, e.next = &s.ring, s.ring.next
	e.prev.next, e.next.prev = e, e
	s.by.Load().put(e)
	s.bytes += e.size
}

// copied is a table of what the shard holds, with room for as much.
func (s *shard[K, V]) copied(n int) *table[K, V] {
	t := newTable[K, V](n)
	for e := s.ring.prev; e != &s.ring; e = e.prev {
		t.put(e)
	}
	return t
}

// Grow adds n bytes to the size of a value for which same holds, evicting others. It reports false, and changes nothing, when the value would
// be larger than a shard may be; true as well when the cache does not hold it any more, so that its size is nobody's concern.
func (c *Cache[K, V]) Grow(k K, n int64, same func(V) bool) bool {
	if c == nil {
		return true
	}
	hash := c.hash(k)
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.by.Load().find(hash, k)
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
	hash := c.hash(k)
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.by.Load().find(hash, k); e != nil {
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
		s.by.Store(newTable[K, V](0))
		s.ring.prev, s.ring.next, s.hand, s.bytes = &s.ring, &s.ring, &s.ring, 0
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
		case e.used.Load():
			e.used.Store(false)
		default:
			s.remove(e)
			s.evictions.Add(1)
		}
	}
}

func (s *shard[K, V]) remove(e *entry[K, V]) {
	if s.hand == e {
		s.hand = e.prev
	}
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
	s.by.Load().remove(e)
	s.bytes -= e.size
}

// Stats describes what the cache holds, and what it did since it was made.
func (c *Cache[K, V]) Stats() Stats {
	if c == nil {
		return Stats{}
	}
	x := Stats{Name: c.name, Making: c.making.Load()}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		x.Entries, x.Bytes, x.Limit = x.Entries+int64(s.by.Load().held), x.Bytes+s.bytes, x.Limit+s.limit
		s.mu.Unlock()
		x.Hits, x.Misses, x.Evictions = x.Hits+s.hits.Load(), x.Misses+s.misses.Load(), x.Evictions+s.evictions.Load()
	}
	return x
}

// Make is called where a value begins to be made that no request waits for; ended is called once, when it is held or will not be.
func (c *Cache[K, V]) Make() (ended func()) {
	if c == nil {
		return func() {}
	}
	c.making.Add(1)
	return func() { c.making.Add(-1) }
}

// Room is how many bytes of one more value fit without evicting another; below 0 when none does. With several shards it is that of all.
func (c *Cache[K, V]) Room() int64 {
	x := c.Stats()
	return x.Limit - x.Bytes - c.overhead
}

func (c *Cache[K, V]) wanted() (bytes int64, fixed bool) { return c.asked, c.fixed }
