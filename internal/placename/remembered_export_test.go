package placename

import (
	"strconv"

	api "grense/api/placename"
)

// HitSize is what a hit of findSteder counts for.
var HitSize = sizeOf[api.StedTreff]()

// RememberedOf returns how many of n hits are kept in some bytes, at most at any time.
func RememberedOf(bytes, n int) (most int) {
	m := newRemembered(bytes)
	for i := range n {
		keep(m, []hitKey{{id: strconv.Itoa(i)}}, make([]api.StedTreff, 1), []int{0})
		take(m, []hitKey{{id: strconv.Itoa(i / 2)}}, make([]api.StedTreff, 1)) // what is asked for again is kept anew
		most = max(most, len(m.young)+len(m.old))
	}
	return most
}
