package fold

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// CaseISources returns the texts that CaseI makes a folded text of, with their ASCII letters in lower case: for "ås"
// also "Ås", "åſ" and "å" in two characters. With prefix a text that CaseI makes one with that beginning of begins
// with one of them. It reports false beyond most texts, and for texts with other characters than those of Latin-1 and
// Latin Extended-A.
func CaseISources(folded string, prefix bool, most int) ([]string, bool) {
	var tokens []foldToken
	for _, r := range folded {
		t, ok := tokenOf(r)
		if !ok {
			return nil, false
		}
		tokens = append(tokens, t)
	}
	if n := len(tokens); prefix && n > 0 && tokens[n-1].mark != "" { // other marks may stand before its own
		tokens = tokens[:n-1]
	}
	// list[i] has the sources of the first i tokens.
	list := make([][]string, len(tokens)+1)
	list[0] = []string{""}
	for i := range tokens {
		for n, sources := range sourcesAt(tokens[i:], prefix) {
			for _, head := range list[i] {
				for _, s := range sources {
					if x := head + s; !slices.Contains(list[i+n], x) {
						list[i+n] = append(list[i+n], x)
					}
				}
			}
		}
		if len(list[i+1]) > most {
			return nil, false
		}
	}
	all := list[len(tokens)]
	return all, len(all) <= most && (!prefix || len(tokens) > 0)
}

// foldToken is a character of a folded text: a letter with a mark or without.
type foldToken struct {
	char       rune
	base, mark string
}

// lastFolded is the last character of Latin Extended-A.
const lastFolded = '\u017f'

// tokenOf reports false for a character whose sources are not known.
func tokenOf(r rune) (foldToken, bool) {
	if r > lastFolded || r == utf8.RuneError {
		return foldToken{}, false
	}
	rs := []rune(norm.NFD.String(string(r)))
	t := foldToken{char: r, base: string(rs[0])}
	if len(rs) == 2 {
		t.mark = string(rs[1])
	}
	return t, len(rs) <= 2
}

// sourcesAt returns the sources of the first tokens, by how many those are.
func sourcesAt(tokens []foldToken, prefix bool) map[int][]string {
	table, first := foldSources(), tokens[0]
	single := slices.Clone(table[string(first.char)])
	if first.mark != "" {
		single = append(single, marked(table[first.base], first.mark)...)
	}
	found := map[int][]string{1: single}
	for _, folded := range longFolded() {
		n := utf8.RuneCountInString(folded)
		whole := tokens[:min(n, len(tokens))]
		var text strings.Builder
		for i, t := range whole {
			if t.mark != "" && i < len(whole)-1 {
				break
			}
			text.WriteString(t.base)
		}
		switch {
		case len(whole) == n && text.String() == folded:
			found[n] = append(found[n], marked(table[folded], whole[n-1].mark)...)
		case prefix && len(whole) < n && text.Len() > 0 && whole[len(whole)-1].mark == "" &&
			strings.HasPrefix(folded, text.String()) &&
			utf8.RuneCountInString(text.String()) == len(whole):
			found[len(whole)] = append(found[len(whole)], table[folded]...)
		}
	}
	return found
}

// marked returns texts with a mark in each of its forms.
func marked(list []string, mark string) (out []string) {
	forms := []string{mark}
	switch mark {
	case "":
		return list
	case "\u0300":
		forms = append(forms, "\u0340")
	case "\u0301":
		forms = append(forms, "\u0341")
	}
	for _, s := range list {
		for _, m := range forms {
			out = append(out, s+m)
		}
	}
	return out
}

// foldRanges hold every character of which CaseI makes a text that begins with one up to lastFolded.
var foldRanges = [...][2]rune{{0, lastFolded}, {0x0180, 0x024f}, {0x037e, 0x037e}, {0x0387, 0x0387}, {0x1e00,
	0x1eff}, {0x1fef, 0x1fef}, {0x1ffd, 0x1ffd}, {0x2126, 0x212b}, {0xfb00, 0xfb06}}

// foldSources has these characters, in lower case where they are ASCII, by what CaseI makes of them.
var foldSources = sync.OnceValue(func() map[string][]string {
	t := map[string][]string{}
	for _, span := range foldRanges {
		for r := span[0]; r <= span[1]; r++ {
			folded := CaseI(string(r))
			first, _ := utf8.DecodeRuneInString(folded)
			source := string(r)
			if r < utf8.RuneSelf {
				source = strings.ToLower(source)
			}
			if first <= lastFolded && !slices.Contains(t[folded], source) {
				t[folded] = append(t[folded], source)
			}
		}
	}
	return t
})

// longFolded lists what CaseI makes of them that has several characters.
var longFolded = sync.OnceValue(func() (list []string) {
	for folded := range foldSources() {
		if utf8.RuneCountInString(folded) > 1 {
			list = append(list, folded)
		}
	}
	slices.Sort(list)
	return list
})
