package placename

import (
	"reflect"
	"strings"
	"sync"

	"grense/internal/store"
)

// rememberedBytes is how much hits that are kept for further searches may take, together.
const rememberedBytes = 32 << 20

// hitTable names hits of one kind.
type hitTable struct {
	collection string
	display    bool // with display names
}

// rememberedHit is a hit, *H by kind, of a record in a revision.
type rememberedHit struct {
	id  string
	rev uint64
	hit any
}

// hitTables holds hits by the id of their record.
type hitTables map[hitTable]map[string]rememberedHit

// remembered keeps hits that searches gave lately. It is safe for concurrent use; its hits are not to be changed.
type remembered struct {
	mu         sync.Mutex
	young, old hitTables // what is asked for moves to young; when that is half of all, old is given up for it
	bytes      int       // of young
	most       int       // of young
}

func newRemembered(bytes int) *remembered {
	return &remembered{young: hitTables{}, most: bytes / 2}
}

// put keeps a hit of some size in bytes.
func (m *remembered) put(t hitTable, h rememberedHit, size int) {
	if m.bytes += size; m.bytes > m.most {
		m.old, m.young, m.bytes = m.young, hitTables{}, size
	}
	if m.young[t] == nil {
		m.young[t] = map[string]rememberedHit{}
	}
	m.young[t][h.id] = h
}

// sizeOf is about what a hit takes with its texts and its place in the tables.
func sizeOf[H any]() int { return int(reflect.TypeFor[H]().Size()) + 400 }

// take fills hits with those of rows that are kept, and returns the positions of the others.
func take[H any](m *remembered, t hitTable, rows []store.Row, hits []H) (rest []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range rows {
		h, young := m.young[t][r.ID]
		if !young || h.rev != r.Rev {
			h = m.old[t][r.ID]
		}
		hit, ok := h.hit.(*H)
		if !ok || h.rev != r.Rev {
			rest = append(rest, i)
			continue
		}
		hits[i] = *hit
		if !young {
			m.put(t, h, sizeOf[H]())
		}
	}
	return rest
}

// keep keeps copies of the hits at some positions.
func keep[H any](m *remembered, t hitTable, rows []store.Row, hits []H, at []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range at {
		h := hits[n]
		m.put(t, rememberedHit{strings.Clone(rows[n].ID), rows[n].Rev, &h}, sizeOf[H]()) // an id may be part of a longer text
	}
}
