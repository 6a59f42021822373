package placename

import (
	"context"
	"slices"
	"strings"
	"unicode"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/store"
)

const (
	minSimilarity = 0.4
	maxCandidates = 50_000 // spellings that are looked at for one term
	maxSimilar    = 5_000  // folded texts that are similar to the terms of one search; each is an argument of the query
)

// similar resolves a term of similarity: it looks up the spellings that share trigrams with v, in the municipalities
// and of the types that are requested, and is equality with one of the folded texts that are similar enough. Too many
// of either are refused as too many hits.
func (c *criteria) similar(ctx context.Context, field, whole, v string) (textTest, error) {
	v = cql2.Norm(v)
	texts, err := c.s.vocabulary(ctx, v, c.scope, c.s.similar-c.alike)
	if err != nil {
		return nil, err
	}
	if texts == nil {
		return nil, &api.Refusal{
			Faults: []api.Fault{
				{Path: c.path + "/" + field, Value: whole, Reason: api.TooManyHits, N: int64(c.s.options.MaxHits)},
			},
		}
	}
	c.alike += len(texts)
	return func(property string) cql2.Expr {
		if len(texts) == 0 {
			return cql2.Bool(false)
		}
		return cql2.In{X: folded("norm", property), List: texts}
	}, nil
}

// vocabulary returns the folded texts of spellings in scope that are similar to v, which is folded; nil when there
// are more than most or too many to look at.
func (s *Service) vocabulary(ctx context.Context, v string, scope cql2.And, most int) ([]cql2.Expr, error) {
	own := trigrams(v)
	filter, err := s.check("skrivemaate", append(scope[:len(scope):len(scope)], candidates(own)))
	if err != nil {
		return nil, err
	}
	all, err := s.store.All(ctx, store.AllQuery{
		Query: store.Query{Collection: "skrivemaate", Filter: filter, Limit: s.candidates},
		Texts: "langnavn",
	})
	if err != nil {
		return nil, classify(err)
	}
	if all.More {
		return nil, nil
	}
	texts := []cql2.Expr{}
	var room []trigram
	for i, text := range all.Texts {
		if i%1024 == 0 && ctx.Err() != nil { // this takes longer than the reading
			return nil, classify(ctx.Err())
		}
		if room = appendTrigrams(room[:0], text); similarity(own, room) >= minSimilarity {
			texts = append(texts, cql2.Text(text))
		}
	}
	if len(texts) > most {
		return nil, nil
	}
	return texts, nil
}

// trigram is three characters, of 21 bits each.
type trigram uint64

// String returns the characters.
func (g trigram) String() string {
	const mask = 1<<21 - 1
	return string([]rune{rune(g >> 42), rune(g >> 21 & mask), rune(g & mask)})
}

// appendTrigrams appends the runs of three characters of each word, with two blanks before and one after the word,
// each once.
func appendTrigrams(list []trigram, s string) []trigram {
	const blanks, mask = ' '<<21 | ' ', 1<<42 - 1
	last, inside := trigram(blanks), false
	next := func(r rune) {
		if last = last&mask<<21 | trigram(r); !slices.Contains(list, last) {
			list = append(list, last)
		}
	}
	for _, r := range s {
		switch space := unicode.IsSpace(r); {
		case !space:
			next(r)
			inside = true
		case inside:
			next(' ')
			last, inside = blanks, false
		}
	}
	if inside {
		next(' ')
	}
	return list
}

func trigrams(s string) []trigram { return appendTrigrams(nil, s) }

// similarity is the number of common trigrams by the number of all.
func similarity(a, b []trigram) float64 {
	common := 0
	for _, g := range a {
		if slices.Contains(b, g) {
			common++
		}
	}
	return float64(common) / float64(max(len(a)+len(b)-common, 1))
}

// candidates holds for every text that is similar enough to one with these trigrams. Such a text has at least the
// share minSimilarity of them, so that of any n-k+1 of them it has one; those inside a word are taken first, because
// an index serves them.
func candidates(own []trigram) cql2.Expr {
	needed := 1
	for float64(needed) < minSimilarity*float64(len(own)) {
		needed++
	}
	var inner, edge []string
	for _, t := range own {
		if g := t.String(); strings.Contains(g, " ") {
			edge = append(edge, g)
		} else {
			inner = append(inner, g)
		}
	}
	var either cql2.Or
	for _, g := range append(inner, edge...)[:len(own)-needed+1] {
		for _, p := range trigramPatterns(g) {
			either = append(either, like("norm", p)("langnavn"))
		}
	}
	return either
}

// trigramPatterns returns the patterns of texts with a trigram: one inside a word may stand anywhere, one with blanks
// at an edge of the text or beside a blank.
func trigramPatterns(g string) []string {
	word := escape(strings.TrimSpace(g))
	starts, ends := strings.HasPrefix(g, " "), strings.HasSuffix(g, " ")
	switch {
	case starts && ends:
		return []string{word, word + " %", "% " + word, "% " + word + " %"}
	case starts:
		return []string{word + "%", "% " + word + "%"}
	case ends:
		return []string{"%" + word, "%" + word + " %"}
	}
	return []string{"%" + word + "%"}
}
