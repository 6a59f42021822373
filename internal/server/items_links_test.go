package server_test

import (
	"testing"
)

// TestWholeCrawl reads every collection of every source by next links, with each limit from 1 to 40, and by offset.
// Every id, property and geometry arrives once.
func TestWholeCrawl(t *testing.T) {
	t.Parallel()
	limits := []int{17, 40}
	if !testing.Short() {
		for limits = nil; len(limits) < 40; {
			limits = append(limits, len(limits)+1)
		}
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if source != "" {
				source = shared(t, source)
			}
			a := serve(t, source, nil)
			for _, coll := range a.collectionIDs() {
				a.crawl(t, coll, limits)
			}
		})
	}
}
