package cache

import "sync/atomic"

// table finds entries by the hash of their keys, by open addressing. Readers take no lock: what is written while they look may be missed, never taken for another. Writers hold the lock of the shard.
type table[K comparable, V any] struct {
	slots []slot[K, V] // a power of two
	taken int          // slots that are not empty
	held  int          // of these, with an entry
}

// slot is a place of an entry. One that was removed leaves its hash.
type slot[K comparable, V any] struct {
	hash atomic.Uint64 // with the lowest bit; 0: empty, and so is nothing behind it
	e    atomic.Pointer[entry[K, V]]
}

// slotsOfOne is about how many slots there are for an entry: four thirds before a table is full, two to four after.
const slotsOfOne = 3

// newTable returns an empty table with room for twice as many as n before it is full.
func newTable[K comparable, V any](n int) *table[K, V] {
	size := 8
	for size < 2*(n+1) {
		size *= 2
	}
	return &table[K, V]{slots: make([]slot[K, V], size)}
}

// full reports whether one more makes looking slow.
func (t *table[K, V]) full() bool { return t.taken >= len(t.slots)/4*3 }

// home is where the search for a hash begins. Its lower bits choose the shard.
func (t *table[K, V]) home(hash uint64) uint64 { return hash >> 16 & uint64(len(t.slots)-1) }

func (t *table[K, V]) find(hash uint64, k K) *entry[K, V] {
	for i := t.home(hash); ; i = (i + 1) & uint64(len(t.slots)-1) {
		s := &t.slots[i]
		switch s.hash.Load() {
		case 0:
			return nil
		case hash | 1:
			if e := s.e.Load(); e != nil && e.key == k {
				return e
			}
		}
	}
}

// likely is the first entry of a hash, which is the one that is looked for unless two hashes are the same; nil: there is none. It does not look at the entry.
func (t *table[K, V]) likely(hash uint64) *entry[K, V] {
	for i := t.home(hash); ; i = (i + 1) & uint64(len(t.slots)-1) {
		s := &t.slots[i]
		switch s.hash.Load() {
		case 0:
			return nil
		case hash | 1:
			if e := s.e.Load(); e != nil {
				return e
			}
		}
	}
}

// put adds an entry whose key is not there. The table is not full.
func (t *table[K, V]) put(e *entry[K, V]) {
	for i := t.home(e.hash); ; i = (i + 1) & uint64(len(t.slots)-1) {
		s := &t.slots[i]
		if s.e.Load() != nil {
			continue
		}
		if s.hash.Load() == 0 {
			t.taken++
		}
		t.held++
		s.e.Store(e)
		s.hash.Store(e.hash | 1)
		return
	}
}

// remove takes out an entry that is there.
func (t *table[K, V]) remove(e *entry[K, V]) {
	for i := t.home(e.hash); ; i = (i + 1) & uint64(len(t.slots)-1) {
		if s := &t.slots[i]; s.e.Load() == e {
			s.e.Store(nil)
			t.held--
			return
		}
	}
}
