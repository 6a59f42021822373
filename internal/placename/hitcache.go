package placename

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"

	api "grense/api/placename"
	"grense/internal/cache"
	"grense/internal/store"
)

// hitBytes is how much hits that are cached for further searches may take, together.
const hitBytes = 32 << 20

// hitTable names hits of one operation, with display names or without.
type hitTable uint16

// hitKey names a hit of a record in a revision. It has no pointers and no gaps, so that it is hashed and compared as bytes, which are at hand where the hit is.
type hitKey struct {
	rev    uint64
	id     [longestID]byte
	length uint8 // of the id; of one that is too long to be cached, more than longestID
	hitTable
}

// longestID is the most bytes of an id of which hits are cached: those of a register are numbers.
const longestID = 21

// hitCache holds hits that searches gave lately, packed.
type hitCache = cache.Cache[hitKey, string]

func newHitCache(bytes int64, g *cache.Group) *hitCache {
	return cache.New[hitKey, string](cache.Options{Name: "soap_hits", Bytes: bytes, Group: g})
}

// hitForm is how hits of an operation are cached.
type hitForm struct {
	packer *api.HitPacker
	number int // of the operation
}

func newHitForms() map[string]hitForm {
	m := map[string]hitForm{}
	for i, o := range api.TheContract().Operations {
		m[o.Name] = hitForm{api.NewHitPacker(o.Name), i}
	}
	return m
}

func (f hitForm) table(display bool) hitTable {
	if display {
		return hitTable(2*f.number + 1)
	}
	return hitTable(2 * f.number)
}

// hitSource is where hits of one kind are cached; with late, those that were asked for of late.
type hitSource struct {
	*hitCache
	hitTable
	late *askedLately
}

func (s hitSource) key(r store.Row) hitKey {
	k := hitKey{rev: r.Rev, length: uint8(min(len(r.ID), longestID+1)), hitTable: s.hitTable}
	copy(k.id[:], r.ID)
	return k
}

// lookUp tells of rows that were looked for which are not in the cache, and which of these are to be put into it.
type lookUp struct {
	rest []int // positions
	put  []int // in rest
}

// cached fills packed with the hits of rows that are in the cache, "" for the others.
func (s hitSource) cached(rows []store.Row, packed []string) (l lookUp) {
	clear(packed)
	s.GetAll(len(rows), func(i int) hitKey { return s.key(rows[i]) }, func(i int, hit string) { packed[i] = hit })
	for i, hit := range packed {
		if hit != "" {
			continue
		}
		if len(rows[i].ID) <= longestID && (s.late == nil || s.late.again(s.key(rows[i]))) {
			l.put = append(l.put, len(l.rest))
		}
		l.rest = append(l.rest, i)
	}
	return l
}

// askedLately knows hits that were asked for of late by their hashes: of records that are at hand anyway only these are cached, since caching costs more than reading them.
type askedLately struct {
	seed   maphash.Seed
	hashes [1 << 14][4]atomic.Uint64 // of hits that share a place; 0: none
}

func newAskedLately() *askedLately { return &askedLately{seed: maphash.MakeSeed()} }

// again reports whether a hit was asked for of late, and notes that it is now.
func (a *askedLately) again(k hitKey) bool {
	h := maphash.Comparable(a.seed, k)
	place := &a.hashes[h%uint64(len(a.hashes))]
	to := rand.IntN(len(place)) // were it the oldest that goes, five that are asked for in turn would never be known
	for i := range place {
		switch place[i].Load() {
		case h:
			return true
		case 0:
			to = i
		}
	}
	place[to].Store(h)
	return false
}

// put caches a hit, as XML.
func (s hitSource) put(p *api.HitPacker, r store.Row, hit []byte) {
	if packed := p.Pack(hit); packed != "" {
		s.Put(s.key(r), packed, int64(len(packed)))
	}
}
