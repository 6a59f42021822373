package placename

import (
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	api "grense/api/placename"
	"grense/internal/cache"
	"grense/internal/store"
)

// hitBytes is how much hits that are cached for further searches may take, together.
const hitBytes = 32 << 20

// hitTable names hits of one operation, with display names or without.
type hitTable uint16

// hitKey names a hit of a record in a revision.
type hitKey struct {
	hitTable
	id  string
	rev uint64
}

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

func (s hitSource) key(r store.Row) hitKey { return hitKey{s.hitTable, r.ID, r.Rev} }

// cached fills packed with the hits of rows that are in the cache, "" for the others. It returns the positions of these, and which of them are to be put into it.
func (s hitSource) cached(rows []store.Row, packed []string) (rest, put []int) {
	clear(packed)
	s.GetAll(len(rows), func(i int) hitKey { return s.key(rows[i]) }, func(i int, hit string) { packed[i] = hit })
	for i, hit := range packed {
		if hit != "" {
			continue
		}
		if s.late == nil || s.late.again(s.key(rows[i])) {
			put = append(put, len(rest))
		}
		rest = append(rest, i)
	}
	return rest, put
}

// askedLately knows hits that were asked for of late by their hashes: of records that are at hand anyway only these are cached, since caching costs more than reading them.
type askedLately struct {
	seed   maphash.Seed
	hashes [1 << 14][4]atomic.Uint64 // of hits that share a place; 0: none
}

func newAskedLately() *askedLately { return &askedLately{seed: maphash.MakeSeed()} }

// again reports whether a hit was asked for of late, and notes that it is now.
func (a *askedLately) again(k hitKey) bool {
	h := maphash.String(a.seed, k.id) ^ uint64(k.hitTable+1)*0x9E3779B97F4A7C15 ^ k.rev
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
		k := s.key(r)
		k.id = strings.Clone(k.id) // it may be part of a longer text
		s.Put(k, packed, int64(len(k.id)+len(packed)))
	}
}
