package main

import "testing"

func TestTheHeapHasWhatTheRestOfTheProcessLeaves(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct{ memory, outside, want int64 }{
		{512 * mb, 0, 512*mb - 64*mb - 512*mb/10},
		{512 * mb, 200 * mb, 280 * mb},
		{512 * mb, 480 * mb, 128 * mb},
	} {
		if got := heapLimit(c.memory, c.outside); got != c.want {
			t.Errorf("%d of %d outside: %d; want %d", c.outside, c.memory, got, c.want)
		}
	}
	if n, ok := outsideOfHeap(); ok && (n < mb || n > 1<<40) {
		t.Errorf("%d bytes outside of the heap", n)
	}
}

// TestASmallHeapIsNotCollectedAllTheTime: it grows to the same size at least, where memory allows; a larger one doubles as usual.
func TestASmallHeapIsNotCollectedAllTheTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		live, memory int64
		want         int
	}{
		{8 << 20, 16 << 30, 300},
		{7 << 20, 16 << 30, 350},
		{16 << 20, 16 << 30, 100},
		{300 << 20, 16 << 30, 100},
		{8 << 20, 256 << 20, 100},
		{4 << 20, 256 << 20, 300},
		{0, 16 << 30, 3100},
	} {
		if got := heapPercent(c.live, c.memory); got != c.want {
			t.Errorf("%d MiB of %d: %d %%, want %d", c.live>>20, c.memory>>20, got, c.want)
		}
	}
}
