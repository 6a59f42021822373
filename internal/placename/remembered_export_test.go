package placename

import (
	"strconv"

	api "grense/api/placename"
	"grense/internal/store"
)

// HitSize is what a hit of findSteder counts for.
var HitSize = sizeOf[api.StedTreff]()

// RememberedOf returns how many of n hits are kept in some bytes, at most at any time.
func RememberedOf(bytes, n int) (most int) {
	m := newRemembered(bytes)
	for i := range n {
		keep(m, hitTable{}, []store.Row{{ID: strconv.Itoa(i)}}, make([]api.StedTreff, 1), []int{0})
		take(m, hitTable{}, []store.Row{{ID: strconv.Itoa(i / 2)}}, make([]api.StedTreff, 1)) // what is asked for again is kept anew
		most = max(most, len(m.young[hitTable{}])+len(m.old[hitTable{}]))
	}
	return most
}
