package placename

import (
	"reflect"
	"sync"
)

// rememberedBytes is how much hits that are kept for further searches may take, together.
const rememberedBytes = 32 << 20

// hitKey names the hit that a record gives: the same key means the same hit.
type hitKey struct {
	id         string
	rev        uint64 // of the record
	collection string
	display    bool // with display names
}

// remembered keeps hits, *H by kind, that searches gave lately. It is safe for concurrent use; its hits are not to be changed.
type remembered struct {
	mu         sync.Mutex
	young, old map[hitKey]any // what is asked for moves to young; when that is half of all, old is given up for it
	bytes      int            // of young
	most       int            // of young
}

func newRemembered(bytes int) *remembered {
	return &remembered{young: map[hitKey]any{}, most: bytes / 2}
}

// get returns a hit; nil when it is not kept. size is as in put.
func (m *remembered) get(k hitKey, size int) any {
	if h, ok := m.young[k]; ok {
		return h
	}
	h, ok := m.old[k]
	if ok {
		m.put(k, h, size)
	}
	return h
}

// put keeps a hit of some size in bytes.
func (m *remembered) put(k hitKey, hit any, size int) {
	if m.bytes += size; m.bytes > m.most {
		m.old, m.young, m.bytes = m.young, map[hitKey]any{}, size
	}
	m.young[k] = hit
}

// sizeOf is about what a hit takes with its texts and its place in the tables.
func sizeOf[H any]() int { return int(reflect.TypeFor[H]().Size()) + 400 }

// take fills hits with those that are kept, and returns the positions of the others.
func take[H any](m *remembered, keys []hitKey, hits []H) (rest []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := sizeOf[H]()
	for i, k := range keys {
		if h, ok := m.get(k, size).(*H); ok {
			hits[i] = *h
		} else {
			rest = append(rest, i)
		}
	}
	return rest
}

// keep keeps copies of the hits at some positions.
func keep[H any](m *remembered, keys []hitKey, hits []H, at []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := sizeOf[H]()
	for _, n := range at {
		h := hits[n]
		m.put(keys[n], &h, size)
	}
}
