package cql2_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"grense/internal/cql2"
)

func TestNorwegianKeysAreInAlphabeticalOrder(t *testing.T) {
	t.Parallel()
	want := []string{"", "Alta", "alta", "Asker", "Bø", "Oslo", "Zion", "Ærfugl", "Ørland", "Østre Toten", "Ål",
		"Ålesund", "Åsnes"}
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, func(a, b string) int { return strings.Compare(cql2.NorwegianKey(a), cql2.NorwegianKey(b)) })
	for i := range want {
		if !strings.EqualFold(got[i], want[i]) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if n := len(cql2.NorwegianKey(strings.Repeat("å", 100_000))); n > 4000 {
		t.Errorf("the key of a long text has %d bytes", n)
	}
}
