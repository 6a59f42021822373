package server

import (
	"hash/maphash"
	"testing"

	"grense/internal/feature"
)

// TestLargeFeaturesAreNotReadAheadAgain, whatever is missing later; one of them alone is.
func TestLargeFeaturesAreNotReadAheadAgain(t *testing.T) {
	t.Parallel()
	f := foresight{seed: maphash.MakeSeed(), reads: true}
	k := feature.Key{Collection: "kommuner"}
	for range 5 {
		f.saw(k, 10, 10)
	}
	f.tooLarge(k)
	for range 20 {
		f.saw(k, 10, 10)
		f.saw(k, 1, 1)
	}
	if pages := f.of(k, false).Load(); pages >= 0 {
		t.Errorf("pages are read ahead: %d", pages)
	}
	if one := f.of(k, true).Load(); one <= 0 {
		t.Errorf("one feature is not read ahead: %d", one)
	}
}
