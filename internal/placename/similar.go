package placename

import (
	"context"
	"slices"
	"strings"
	"unicode"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/store"
)

const (
	minSimilarity = 0.4
	maxCandidates = 50_000 // largest number of spellings compared for one term
	maxSimilar    = 5_000  // largest number of similar texts for all terms of a search; each is a query parameter
)

// similar compiles a term of similarity. It looks up the spellings in the requested municipalities and types that share
// trigrams with v, and returns the condition that the text equals one of the folded texts that are similar enough. If
// there are too many of either, the search is refused with TooManyHits.
func (c *criteria) similar(ctx context.Context, field, whole, v string) (textTest, error) {
	v = fold.Norm(v)
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

// vocabulary returns the folded texts of the spellings in scope that are similar to v, which is folded. It returns nil
// if there are more than most, or too many to compare.
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
		if i%1024 == 0 && ctx.Err() != nil { // comparing takes longer than reading
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

// trigram is three characters with 21 bits each.
type trigram uint64

// String returns the three characters.
func (g trigram) String() string {
	const mask = 1<<21 - 1
	return string([]rune{rune(g >> 42), rune(g >> 21 & mask), rune(g & mask)})
}

// appendTrigrams appends the distinct trigrams of the words of s. Two spaces are added before each word and one after.
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

// similarity returns the number of trigrams in both lists divided by the number in either list: 0 to 1.
func similarity(a, b []trigram) float64 {
	common := 0
	for _, g := range a {
		if slices.Contains(b, g) {
			common++
		}
	}
	return float64(common) / float64(max(len(a)+len(b)-common, 1))
}

// candidates returns a condition that every text similar enough to one with the trigrams own fulfils. Of n trigrams, a
// similar text has at least k, the share minSimilarity, so it has at least one of any n-k+1 of them. Trigrams inside a
// word are chosen first, because an index serves them.
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

// trigramPatterns returns the LIKE patterns of texts with a trigram. A trigram inside a word may be anywhere; one with
// spaces must be at an edge of the text or next to a space.
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
