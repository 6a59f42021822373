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
