package fold_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"grense/internal/cql2/fold"
)

// lowerASCII is lower of PostgreSQL in the collation "C".
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func TestSourcesOfAFoldedText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		folded string
		prefix bool
		want   string // separated by blanks; "": not known
	}{
		{"oslo", false, "oslo oſlo"},
		{"bodø", false, "bodø bodØ"},
		{"k\u00e5l", false,
			"k\u00e5l k\u00c5l k\u212bl ka\u030al \u212a\u00e5l \u212a\u00c5l \u212a\u212bl \u212aa\u030al"},
		{"Oslo", false, "none"},
		{"ss", false, "ss ſs sſ ſſ ß ẞ"},
		{"ff", false, "ff ﬀ"},
		{"sś", false,
			"sś sŚ ss\u0301 ss\u0341 sſ\u0301 sſ\u0341 " +
				"ſś ſŚ ſs\u0301 ſs\u0341 ſſ\u0301 ſſ\u0341 ß\u0301 ß\u0341 ẞ\u0301 ẞ\u0341"},
		{"blå", true, "bl"},
		{"i", true, "i İ"},
		{"s", true, "s ſ ß ẞ ﬅ ﬆ"},
		{"å", true, ""},
		{"ρ", false, ""},
		{"a\u030a", false, ""},
		{strings.Repeat("s", 12), false, ""},
	} {
		got, ok := fold.CaseISources(tt.folded, tt.prefix, 64)
		want := strings.Fields(tt.want)
		if tt.want == "none" {
			want = nil
		}
		slices.Sort(got)
		if slices.Sort(want); ok != (tt.want != "") || ok && !slices.Equal(got, want) {
			t.Errorf("%+q: %+q, %v, want %+q", tt.folded, got, ok, want)
		}
	}
}

// TestSourcesAreComplete: of every character, and of random texts, the text in lower case is among the sources of
// what CaseI makes of it, as a whole and by its beginning.
func TestSourcesAreComplete(t *testing.T) {
	t.Parallel()
	check := func(s string) {
		t.Helper()
		folded, lower := fold.CaseI(s), lowerASCII(s)
		if first, _ := utf8.DecodeRuneInString(folded); first > '\u017f' {
			return
		}
		if all, ok := fold.CaseISources(folded, false, 256); ok && !slices.Contains(all, lower) {
			t.Errorf("%+q is not among the sources of %+q: %+q", lower, folded, all)
		} else if ok {
			for _, x := range all {
				if fold.CaseI(x) != folded {
					t.Errorf("%+q is made of %+q, not %+q", fold.CaseI(x), x, folded)
				}
			}
		}
		for n := range folded {
			all, ok := fold.CaseISources(folded[:n], true, 256)
			if ok && !slices.ContainsFunc(all, func(x string) bool { return strings.HasPrefix(lower, x) }) {
				t.Errorf("%+q begins with no source of %+q: %+q", lower, folded[:n], all)
			}
		}
	}
	for r := rune(1); r < 0x30000; r++ {
		if utf8.ValidRune(r) && (r < 0xe000 || r > 0xf8ff) {
			check(string(r) + "x")
		}
	}
	rng := rand.New(rand.NewPCG(1, 47))
	chars := []rune("abisfklnkABISFKå\u00c5\u212bøØéÉ\u0301\u0341\u030a\u0327\u0323\u0307ßẞſ\u212aﬀﬁﬂﬃﬄﬅﬆİıŉǰśŚẛ-%'")
	for range 10_000 {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteRune(chars[rng.IntN(len(chars))])
		}
		check(b.String())
	}
}
