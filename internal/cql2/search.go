package cql2

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"grense/internal/cql2/fold"
	"grense/internal/problem"
)

// How well a text matches a Search; a lower rank is better.
const (
	RankWhole = iota // the text is a term
	RankStart        // the text starts with a term
	RankWord         // a later word of the text starts a term
)

// maxSearch is the largest length of the parameter q, in characters.
const maxSearch = 200

// ParseSearch parses the parameter q (OGC API - Features Part 9, draft): terms separated by commas, one of which must
// match. The order of the words in a term counts. An error is a *problem.Error.
func ParseSearch(s string) ([]string, error) {
	if utf8.RuneCountInString(s) > maxSearch {
		return nil, problem.Invalidf("q", clip(s), "write at most %d characters", maxSearch)
	}
	var terms []string
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		if t := Words(part); t != "" && !seen[t] {
			seen[t] = true
			terms = append(terms, t)
		}
	}
	if terms == nil {
		return nil,
			problem.Invalidf("q", clip(s),
				"write at least one letter or digit to search for; words in a row are found in that order, "+
					"a comma separates alternatives")
	}
	return terms, nil
}

// Words returns the words of a text folded by fold.Norm, separated by one blank.
// Words consist of letters, digits and marks.
func Words(s string) string {
	s = fold.Norm(s)
	if !strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !isWord(r) }) {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !isWord(r) }), " ")
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// RankWords returns the best rank of a text, as returned by Words, for the terms. ok is false if none matches.
func RankWords(text string, terms []string) (rank int, ok bool) {
	rank = RankWord + 1
	for _, t := range terms {
		switch {
		case rank == RankWhole:
		case text == t:
			rank = RankWhole
		case startsTerm(text, t):
			rank = RankStart
		case rank > RankWord && holdsTerm(text, t):
			rank = RankWord
		}
	}
	return rank, rank <= RankWord
}

// holdsTerm reports whether the words of the term start consecutive words of the text.
func holdsTerm(text, term string) bool {
	for {
		if startsTerm(text, term) {
			return true
		}
		i := strings.IndexByte(text, ' ')
		if i < 0 {
			return false
		}
		text = text[i+1:]
	}
}

// startsTerm reports whether the words of the term start the first words of the text.
func startsTerm(text, term string) bool {
	for {
		word, rest, more := strings.Cut(term, " ")
		if !strings.HasPrefix(text, word) {
			return false
		}
		if !more {
			return true
		}
		i := strings.IndexByte(text, ' ')
		if i < 0 {
			return false
		}
		text, term = text[i+1:], rest
	}
}

// Rank returns the best rank of a record's texts. ok is false if none matches.
func (s Search) Rank(r Record) (rank int, ok bool, err error) {
	rank = RankWord + 1
	for _, name := range s.Props {
		v, err := r.Value(name)
		if err != nil {
			return 0, false, err
		}
		if text, is := v.(string); is {
			if n, hit := RankWords(Words(text), s.Terms); hit {
				rank, ok = min(rank, n), true
			}
		}
	}
	return rank, ok, nil
}

// operands returns the properties and terms for a printer.
func (s Search) operands() []Expr {
	var list []Expr
	for _, name := range s.Props {
		list = append(list, Prop{Name: name})
	}
	for _, t := range s.Terms {
		list = append(list, Text(t))
	}
	return list
}
