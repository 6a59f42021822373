package placename

import (
	"strconv"

	api "grense/api/placename"
	"grense/internal/store"
)

// HitSize is what a hit of findSteder counts for, at least.
var HitSize = int(sizeOf[api.StedTreff]())

// CachedOf returns how many of n hits are cached in some bytes, at most at any time.
func CachedOf(bytes, n int) (most int) {
	c := hitSource{hitCache: newHitCache(int64(bytes), nil)}
	for i := range n {
		putHits(c, []store.Row{{ID: strconv.Itoa(i)}}, make([]api.StedTreff, 1), []int{0})
		cached(c, []store.Row{{ID: strconv.Itoa(i / 2)}}, make([]api.StedTreff, 1)) // what is asked for again stays
		most = max(most, int(c.Stats().Entries))
	}
	return most
}
