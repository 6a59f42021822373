// Package fold folds texts for comparisons: the functions CASEI and ACCENTI of CQL2 (OGC 21-065r2), and the folds of
// searches for names.
package fold

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// CaseI is the function CASEI: full Unicode case folding (OGC 21-065r2, 7.4), composed (NFC).
// A search that respects diacritics uses it.
func CaseI(s string) string {
	if IsASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(foldCase(norm.NFC.String(s)))
}

// foldTable caches the case folding of the characters up to Cyrillic, which makes folding three times as fast.
var foldTable = sync.OnceValue(func() []string {
	t := make([]string, 0x600)
	for i := range t {
		t[i] = cases.Fold().String(string(rune(i)))
	}
	return t
})

// foldCase is full case folding, character by character.
func foldCase(s string) string {
	t := foldTable()
	var b strings.Builder
	b.Grow(len(s) + 2)
	for i, r := range s {
		if r == anyRun || r == anyChar { // wildcards stay
			b.WriteRune(r)
			continue
		}
		if int(r) >= len(t) { // also for invalid bytes
			b.WriteString(cases.Fold().String(s[i:]))
			break
		}
		b.WriteString(t[r])
	}
	return b.String()
}

// AccentI is the function ACCENTI: it removes the marks that canonical decomposition splits off, and keeps letters such
// as ø and æ (OGC 21-065r2, 7.5).
func AccentI(s string) string {
	if IsASCII(s) {
		return s
	}
	return norm.NFC.String(dropMarks(norm.NFD.String(s)))
}

// NormVersion is the version of the rules of Norm. Increase it whenever Norm returns another text for any name:
// stored folds are valid for one version.
const NormVersion = "2"

// letters are replaced before the decomposition, which would turn ö into o and ä into a.
var letters = strings.NewReplacer("đ", "d", "ŧ", "t", "ǥ", "g", "ŋ", "n", "ð", "d", "þ", "th", "ß", "ss", "ø", "o", "ö",
	"o", "æ", "ae", "ä", "ae", "å", "a")

// Norm is the fold of all other name searches: Aasen equals Åsen, Porsáŋgu equals Porsangu, and Nord-Fron equals nord
// fron. It trims blanks, and reduces runs of blanks, hyphens and dashes to one blank.
// "aa", the old spelling of å, becomes å, and å becomes a, so that Vegåa ("vegaa") is not Vega.
// Never fold a folded text again.
func Norm(s string) string {
	if IsASCII(s) {
		s = strings.ReplaceAll(strings.ToLower(s), "aa", "a")
	} else {
		s = norm.NFC.String(foldCase(norm.NFKC.String(strings.ToValidUTF8(s, "\uFFFD"))))
		s = letters.Replace(strings.ReplaceAll(s, "aa", "å"))
		s = dropMarks(norm.NFKD.String(s))
		s = norm.NFC.String(letters.Replace(s)) // again, for ǽ and ǿ, which have lost a mark now
	}
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range strings.ToLower(s) {
		switch {
		case isSilent(r):
		case unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) || r == '\u2212':
			blank = b.Len() > 0
		default:
			if blank {
				b.WriteByte(' ')
				blank = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isSilent reports whether r is an apostrophe, a prime, a modifier letter that looks like one, or a soft hyphen.
func isSilent(r rune) bool {
	switch r {
	case '\'', '’', '‘', '‛', '`', '´', '′', '″', 'ʹ', 'ʺ', 'ʻ', 'ʼ', 'ʽ', 'ˈ', 'ˊ', 'ˋ', '＇', '\u00AD':
		return true
	}
	return false
}

// dropMarks removes combining marks from decomposed text.
func dropMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
}

// IsASCII reports whether a text has ASCII characters only.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Apply applies a folding function to s. name is casei, accenti, norm or exact.
// ok is false if there is no such function.
func Apply(name, s string) (string, bool) {
	switch name {
	case "casei", "exact":
		return CaseI(s), true
	case "accenti":
		return AccentI(s), true
	case "norm":
		return Norm(s), true
	}
	return "", false
}

// Private-use characters that stand for wildcards while a pattern is folded, so that folding can
// neither create nor lose one.
const (
	anyRun  = '\uE000'
	anyChar = '\uE001'
)

// Pattern applies the folding function name (casei, accenti, norm, exact) to a pattern of LIKE.
// It folds the letters and leaves wildcards and escapes. ok is false if there is no such function.
func Pattern(name, pattern string) (string, bool) {
	var b strings.Builder
	escaped := false
	for _, r := range pattern {
		switch {
		case !escaped && r == '\\':
			escaped = true
			continue
		case !escaped && r == '%':
			r = anyRun
		case !escaped && r == '_':
			r = anyChar
		case r == anyRun || r == anyChar:
			r = utf8.RuneError
		}
		b.WriteRune(r)
		escaped = false
	}
	if escaped { // nothing to escape: it stands for itself
		b.WriteByte('\\')
	}
	folded, ok := Apply(name, b.String())
	if !ok {
		return "", false
	}
	b.Reset()
	for _, r := range folded {
		switch r {
		case anyRun:
			r = '%'
		case anyChar:
			r = '_'
		case '%', '_', '\\':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String(), true
}
