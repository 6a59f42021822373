package gpkg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNumberedRowsAreSorted compares with sorting by comparison, for any number of rows and any range of keys.
func TestNumberedRowsAreSorted(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 511, 512, 513, 5000} {
		for _, span := range []int64{1, 2, 1000, 1 << 11, 1 << 20, 1<<33 - 1, 1 << 33, 1 << 62, math.MaxInt64} {
			for _, low := range []int64{0, 1, -span / 2, math.MinInt64, math.MaxInt64 - span} {
				rows := make([]numbered, n)
				for i := range rows {
					rows[i] = numbered{low + r.Int64N(span), r.Int64N(5) - 2}
				}
				want := slices.Clone(rows)
				slices.SortFunc(want, compareNumbered)
				if got := sortNumbered(rows); !slices.Equal(got, want) {
					t.Fatalf("%d rows with keys of %d from %d", n, span, low)
				}
			}
		}
	}
}

func BenchmarkSortNumbered(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]numbered, 10_000)
	for i := range rows {
		rows[i] = numbered{r.Int64N(1_100_000), int64(i)}
	}
	for name, sort := range map[string]func([]numbered){
		"digits":      func(x []numbered) { sortNumbered(x) },
		"comparisons": func(x []numbered) { slices.SortFunc(x, compareNumbered) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sort(slices.Clone(rows))
			}
		})
	}
}
