package cql2_test

import (
	"math/rand/v2"
	"testing"

	"grense/internal/cql2"
	"grense/internal/sharedtest"
)

// TestLikeFoldedAgreesWithFoldAndLike takes the short cuts and the long way, with characters that fold to ASCII.
func TestLikeFoldedAgreesWithFoldAndLike(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 12))
	letters := []rune("sSkK\u212Aſßéæ%_IiİŉåÅ\u0301fﬁǰA中")
	text := func(n int) string {
		b := make([]rune, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		if r.IntN(20) == 0 {
			return string(b) + "\xff"
		}
		return string(b)
	}
	n, hits := sharedtest.Rounds(t, 20000), 0
	for range n {
		fold := []string{"casei", "casei", "accenti", "exact", "norm"}[r.IntN(5)]
		pattern := "%" + text(1+r.IntN(2)) + "%"
		s := text(r.IntN(8))
		folded, _ := cql2.FoldPattern(fold, pattern)
		plain, _ := cql2.Fold(fold, s)
		want, err := cql2.Eval(cql2.Like{X: cql2.Text(plain), Pattern: cql2.Text(folded)}, record{})
		if got := cql2.LikeFolded(fold, folded)(s); err != nil || got != (want == cql2.True) {
			t.Fatalf("%s of %q like %q is %v, want %d; %v", fold, s, folded, got, want, err)
		}
		if want == cql2.True {
			hits++
		}
	}
	if hits < n/20 {
		t.Errorf("only %d match: no test", hits)
	}
}
