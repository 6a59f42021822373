package cql2

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"grense/internal/cql2/fold"
)

// pattern is a compiled pattern of LIKE. Negative runes are wildcards.
type pattern []rune

const (
	wildRun  rune = -1
	wildChar rune = -2
)

// newPattern compiles the pattern of a checked LIKE.
func newPattern(e Expr) pattern {
	var p pattern
	escaped := false
	for _, r := range PatternText(e) {
		switch {
		case escaped:
			p, escaped = append(p, r), false
		case r == '\\':
			escaped = true
		case r == '%':
			p = append(p, wildRun)
		case r == '_':
			p = append(p, wildChar)
		default:
			p = append(p, r)
		}
	}
	if escaped { // nothing to escape: it stands for itself
		p = append(p, '\\')
	}
	return p
}

// PatternText returns the pattern of a checked LIKE with its folding functions applied.
func PatternText(e Expr) string {
	switch e := e.(type) {
	case Text:
		return string(e)
	case Func:
		if len(e.Args) == 1 {
			if s, ok := fold.Pattern(e.Name, PatternText(e.Args[0])); ok {
				return s
			}
		}
	}
	panic(fmt.Sprintf("cql2: pattern of %T", e))
}

// like matches by character. Values other than texts give Null.
func like(x value, p pattern) predicate {
	return func(r Record) (Truth, error) {
		v, err := x(r)
		if s, ok := v.(string); ok && err == nil {
			return truth(p.match(s, false)), nil
		}
		return Null, err
	}
}

// LikeFolded returns a function that folds a text (with casei, for example) and matches it with a folded pattern.
// If function is "", the text is not folded.
func LikeFolded(function, pattern string) func(string) bool {
	p := newPattern(Text(pattern))
	if function == "" {
		return func(s string) bool { return p.match(s, false) }
	}
	lower := function == "casei" || function == "exact"
	part, quick := p.infix()
	quick = quick && function == "casei"
	return func(s string) bool {
		if quick {
			if hit, known := holdsFolded(s, part); known {
				return hit
			}
		}
		if (lower || function == "accenti") && fold.IsASCII(s) {
			return p.match(s, lower)
		}
		folded, _ := fold.Apply(function, s)
		return p.match(folded, false)
	}
}

// infix returns the text of a pattern of the form %text% in ASCII.
func (p pattern) infix() (string, bool) {
	if len(p) < 3 || p[0] != wildRun || p[len(p)-1] != wildRun {
		return "", false
	}
	for _, r := range p[1 : len(p)-1] {
		if r < 0 || r >= utf8.RuneSelf {
			return "", false
		}
	}
	return string(p[1 : len(p)-1]), true
}

// holdsFolded reports whether the case-folded text contains an ASCII part. known is false if a character before the
// match may fold to ASCII or is not in the table.
func holdsFolded(s, part string) (hit, known bool) {
	first := part[0]
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if n != 2 || !foldsApart()[r] {
				return false, false
			}
			i++
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c == first && len(s)-i >= len(part) && startsFolded(s[i:], part) {
			rest := s[i+len(part):] // a combining mark may follow and change the last letter
			return true, rest == "" || norm.NFC.PropertiesString(rest).BoundaryBefore()
		}
	}
	return false, true
}

// foldsApart lists the characters of two bytes that fold to text without ASCII.
var foldsApart = sync.OnceValue(func() []bool {
	t := make([]bool, 0x800)
	for r := range 0x600 { // up to Armenian
		t[r] = !strings.ContainsFunc(fold.CaseI(string(rune(r))), func(c rune) bool { return c < utf8.RuneSelf })
	}
	return t
})

func startsFolded(s, part string) bool {
	for i := 1; i < len(part); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != part[i] {
			return false
		}
	}
	return true
}

// match reports whether the pattern matches a text; with lower, ASCII letters of the text are lowered first.
// It backtracks only to the last %, which is enough.
func (p pattern) match(s string, lower bool) bool {
	i, run, mark := 0, -1, 0 // position in p; position after the last % in p, and where it was last tried in s
	for at := 0; at < len(s); {
		r, n := rune(s[at]), 1
		switch {
		case r >= utf8.RuneSelf:
			r, n = utf8.DecodeRuneInString(s[at:])
		case lower && 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		}
		switch {
		case i < len(p) && p[i] == wildRun:
			i++
			run, mark = i, at
		case i < len(p) && (p[i] == wildChar || p[i] == r):
			i++
			at += n
		case run >= 0:
			_, n := utf8.DecodeRuneInString(s[mark:])
			mark += n
			i, at = run, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == wildRun {
		i++
	}
	return i == len(p)
}
