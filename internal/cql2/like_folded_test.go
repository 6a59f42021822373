package cql2_test

import (
	"math/rand/v2"
	"testing"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
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
		function := []string{"casei", "casei", "accenti", "exact", "norm"}[r.IntN(5)]
		pattern := "%" + text(1+r.IntN(2)) + "%"
		s := text(r.IntN(8))
		folded, _ := fold.Pattern(function, pattern)
		plain, _ := fold.Apply(function, s)
		want, err := cql2.Eval(cql2.Like{X: cql2.Text(plain), Pattern: cql2.Text(folded)}, record{})
		if got := cql2.LikeFolded(function, folded)(s); err != nil || got != (want == cql2.True) {
			t.Fatalf("%s of %q like %q is %v, want %d; %v", function, s, folded, got, want, err)
		}
		if want == cql2.True {
			hits++
		}
	}
	if hits < n/20 {
		t.Errorf("only %d match: no test", hits)
	}
}

// TestLikeFolded compares with the folding of the text and LIKE.
func TestLikeFolded(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "Oslo", "OSLO ny", "Åsen", "aabaab", "Straße", "a%b_c", `c\d`, "Bø"}
	patterns := []string{"", "%", "_", "%a%", "o%", "%o", "o_lo%", "%ab", "%b%b", "as%", "%\\%%", "%\\_c", "å%",
		"strasse", "%ss%", "b_"}
	for _, fold := range []string{"casei", "accenti", "norm", "exact"} {
		for _, p := range patterns {
			match := cql2.LikeFolded(fold, p)
			for _, s := range texts {
				want, err := cql2.Eval(cql2.Like{X: cql2.Func{Name: fold, Args: []cql2.Expr{cql2.Text(s)}},
					Pattern: cql2.Text(p)}, record{})
				if err != nil || match(s) != (want == cql2.True) {
					t.Errorf("%s(%q) LIKE %q: %v, want %v; %v", fold, s, p, match(s), want, err)
				}
			}
		}
	}
}
