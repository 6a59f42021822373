package gpkg

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Rows are found by id, whatever the range of the ids.
func TestSpelledRowsAreFoundByID(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, span := range []uint64{1, 3, 1000, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 40, math.MaxUint64} {
		for _, base := range []int64{math.MinInt64, -7, 0, 1 << 40} {
			span := min(span, uint64(math.MaxInt64-base))
			tab := &spellings{base: base}
			ids := make([]int64, 300)
			for i := range ids {
				beyond := r.Uint64N(span) / uint64(1+r.IntN(3))
				if i > 0 && i%3 == 0 {
					beyond = uint64(ids[i-1] - base)
				}
				ids[i] = base + int64(beyond)
				tab.rows = append(tab.rows, spelled{id: uint32(beyond)})
				if span > 1<<32 {
					tab.high = append(tab.high, uint32(beyond>>32))
				}
			}
			tab.sort()
			if !slices.IsSortedFunc(tab.byID, func(a, b uint32) int { return cmp.Or(cmp.Compare(ids[a], ids[b]), cmp.Compare(a, b)) }) {
				t.Fatalf("span %d from %d: %v", span, base, tab.byID)
			}
			var asked []int64
			var want []uint32
			for _, row := range tab.byID {
				id := ids[row]
				if n := len(asked); id%2 == 0 && (n == 0 || asked[n-1] != id) {
					asked = append(asked, id)
				}
				if id%2 == 0 {
					want = append(want, row)
				}
			}
			if got := tab.of(asked); !slices.Equal(got, want) {
				t.Fatalf("span %d from %d: %v, want %v", span, base, got, want)
			}
			if got := tab.of([]int64{math.MinInt64, math.MaxInt64}); len(got) > 0 && tab.id(got[0]) != math.MinInt64 && tab.id(got[0]) != math.MaxInt64 {
				t.Fatalf("%v for ids that are not there", got)
			}
		}
	}
}
