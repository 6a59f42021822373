package fold_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"grense/internal/cql2/fold"
)

func TestNormFoldsSpellingsOfNames(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"": "", " Oslo ": "oslo", "Åsen": "asen", "Aasen": "asen", "AASEN": "asen", "aaa": "aa", "aaaa": "aa",
		"Alta": "alta", "Altaåa": "altaaa", "Altaaa": "altaa", "Vega": "vega", "Vegåa": "vegaa", "Vegaaa": "vegaa",
		"Kåa": "kaa", "Kaaa": "kaa", "Åå": "aa", "Aå": "aa", "ＡＡ": "a", "A-Aas": "a as", "Ærøy": "aeroy", "Ǽǿ": "aeo",
		"Øye": "oye", "Köln": "koln", "Jäger": "jaeger", "Straße": "strasse",
		"Porsáŋgu": "porsangu", "Đorgŋi": "dorgni", "Ŧ": "t", "Þórshöfn": "thorshofn", "Guovdageaidnu": "guovdageaidnu",
		"Kárášjohka": "karasjohka", "ǩǥ": "kg", "Nord-Fron": "nord fron",
		"Nord – Fron": "nord fron", "a\u00a0\tb": "a b", "-x-": "x", "Unjárgga’": "unjargga", "O'Hara": "ohara",
		"ʼn": "n", "ﬁ": "fi", "１２": "12", "e\u0301": "e", "Chișinău": "chisinau", "ΟΔΟΣ": "οδοσ", "İ": "i",
	} {
		if got := fold.Norm(s); got != want {
			t.Errorf("Norm(%q) = %q, want %q", s, got, want)
		}
		if got := fold.Norm(norm.NFD.String(s)); got != want {
			t.Errorf("Norm of decomposed %q = %q, want %q", s, got, want)
		}
	}
}

func TestFoldsOfTheStandard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ casei, accenti, in string }{
		{"københavn", "KØBENHAVN", "KØBENHAVN"},
		{"strasse", "Straße", "Straße"},
		{"chișinău", "Chisinau", "Chișinău"},
		{"ærø å", "Ærø a", "Ærø å"},
		{"οδοσ", "Οδος", "Οδος"},
		{"é", "e", "e\u0301"},
		{"abc", "aBC", "aBC"},
	} {
		if got := fold.CaseI(c.in); got != c.casei {
			t.Errorf("CaseI(%q) = %q, want %q", c.in, got, c.casei)
		}
		if got := fold.AccentI(c.in); got != c.accenti {
			t.Errorf("AccentI(%q) = %q, want %q", c.in, got, c.accenti)
		}
	}
}

func TestFoldOfAPatternKeepsItsWildcards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"norm", "Å_en%", "a_en%"},
		{"norm", "100\\%", "100\\%"},
		{"norm", "100％", "100\\%"}, // a full-width sign is a letter of the text, not a wildcard
		{"norm", "% by", "% by"},
		{"norm", "a\\_b\\\\", "a\\_b\\\\"},
		{"norm", "a\ue000b", "a\ufffdb"},
		{"casei", "%STRAßE_", "%strasse_"},
		{"accenti", "Chiș%", "Chis%"},
		{"exact", "x\\", "x\\\\"},
	} {
		if got, ok := fold.Pattern(c.name, c.in); got != c.want || !ok {
			t.Errorf("%s(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
	if _, ok := fold.Pattern("upper", "x"); ok {
		t.Error("upper folds")
	}
}

// TestTheOldSpellingOfAFoldsOnceOnly: of texts of a and å, read from the left, aa is one letter and so is å,
// each becomes one a, and no run gets shorter after that.
func TestTheOldSpellingOfAFoldsOnceOnly(t *testing.T) {
	t.Parallel()
	alphabet := []string{"a", "A", "å", "Å", "a\u030a", "A\u030a", "v", " "}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var s string
		for range 1 + random.IntN(10) {
			s += alphabet[random.IntN(len(alphabet))]
		}
		want := ""
		for rest := strings.ToLower(norm.NFC.String(s)); rest != ""; {
			letter := rest[:1]
			switch {
			case strings.HasPrefix(rest, "aa"):
				rest = rest[2:]
			case strings.HasPrefix(rest, "å"):
				letter, rest = "a", rest[len("å"):]
			default:
				rest = rest[1:]
			}
			if letter != " " || want != "" && !strings.HasSuffix(want, " ") {
				want += letter
			}
		}
		if got := fold.Norm(s); got != strings.TrimSuffix(want, " ") {
			t.Fatalf("Norm(%q) = %q, want %q", s, got, want)
		}
	}
}

func FuzzNorm(f *testing.F) {
	for _, s := range []string{"Åsen", "Nord-Fron", "ﬁ’aa", "a\u0301\u0345", "\xff", "Ⅷ", "ẞ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := fold.Norm(s)
		if twice := fold.Norm(once); twice != strings.ReplaceAll(once, "aa", "a") { // nothing else is left to fold
			t.Errorf("Norm(%q) = %q, again %q", s, once, twice)
		}
	})
}

// TestCaseFoldingIsThatOfUnicode compares with the package it is made of, each character alone and beside others.
func TestCaseFoldingIsThatOfUnicode(t *testing.T) {
	t.Parallel()
	for r := range rune(0x3000) {
		for _, s := range []string{string(r), "Å" + string(r) + "ẞx", "\xff" + string(r) + "\xc3"} {
			if got, want := fold.CaseI(s), norm.NFC.String(cases.Fold().String(norm.NFC.String(s))); got != want {
				t.Fatalf("%q: %q, want %q", s, got, want)
			}
		}
	}
}
