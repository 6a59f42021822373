package placename

import (
	"context"
	"slices"
	"strings"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/store"
)

const (
	minSimilarity = 0.4
	maxCandidates = 50_000 // spellings that are looked at for one term
	maxSimilar    = 5_000  // folded texts that are similar to the terms of one search; each is an argument of the question
)

// similar resolves a term of similarity: it looks up the spellings that share trigrams with v, in the municipalities and of the types
// that are asked for, and is equality with one of the folded texts that are similar enough. Too many of either are refused as too many hits.
func (c *criteria) similar(ctx context.Context, field, whole, v string) (textTest, error) {
	v = cql2.Norm(v)
	texts, err := c.s.vocabulary(ctx, v, c.scope, c.s.similar-c.alike)
	if err != nil {
		return nil, err
	}
	if texts == nil {
		return nil, &api.Refusal{Faults: []api.Fault{{Path: c.path + "/" + field, Value: whole, Reason: api.TooManyHits, N: int64(c.s.options.MaxHits)}}}
	}
	c.alike += len(texts)
	return func(property string) cql2.Expr {
		if len(texts) == 0 {
			return cql2.Bool(false)
		}
		return cql2.In{X: folded("norm", property), List: texts}
	}, nil
}

// vocabulary returns the folded texts of spellings in scope that are similar to v, which is folded; nil when there are more
// than most or too many to look at.
func (s *Service) vocabulary(ctx context.Context, v string, scope cql2.And, most int) ([]cql2.Expr, error) {
	own := trigrams(v)
	filter, err := s.check("skrivemaate", append(scope[:len(scope):len(scope)], candidates(own)))
	if err != nil {
		return nil, err
	}
	q := store.Query{Collection: "skrivemaate", Filter: filter, Limit: s.candidates, Count: store.CountNone, AllOrNothing: true}
	page, err := s.store.Page(ctx, q)
	if err != nil {
		return nil, classify(err)
	}
	if page.Next != "" {
		return nil, nil
	}
	texts, seen := []cql2.Expr{}, map[string]bool{}
	err = s.store.Fetch(ctx, q.Collection, page.Rows, store.Want{Properties: []string{"langnavn"}, NoGeometry: true}, func(f *store.Feature) error {
		if err := ctx.Err(); err != nil { // what follows takes longer than the reading
			return err
		}
		text, _ := f.Values[0].(string)
		if text = cql2.Norm(text); !seen[text] {
			seen[text] = true
			if similarity(own, trigrams(text)) >= minSimilarity {
				texts = append(texts, cql2.Text(text))
			}
		}
		return nil
	})
	if err != nil {
		return nil, classify(err)
	}
	if len(texts) > most {
		return nil, nil
	}
	return texts, nil
}

// trigrams returns the runs of three characters of each word, with two blanks before and one after the word, each once.
func trigrams(s string) (list []string) {
	for word := range strings.FieldsSeq(s) {
		runes := []rune("  " + word + " ")
		for i := range len(runes) - 2 {
			if g := string(runes[i : i+3]); !slices.Contains(list, g) {
				list = append(list, g)
			}
		}
	}
	return list
}

// similarity is the number of common trigrams by the number of all.
func similarity(a, b []string) float64 {
	common := 0
	for _, g := range a {
		if slices.Contains(b, g) {
			common++
		}
	}
	return float64(common) / float64(max(len(a)+len(b)-common, 1))
}

// candidates holds for every text that is similar enough to one with these trigrams. Such a text has at least the share minSimilarity
// of them, so that of any n-k+1 of them it has one; those inside a word are taken first, because an index serves them.
func candidates(own []string) cql2.Expr {
	needed := 1
	for float64(needed) < minSimilarity*float64(len(own)) {
		needed++
	}
	var inner, edge []string
	for _, g := range own {
		if strings.Contains(g, " ") {
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

// trigramPatterns returns the patterns of texts with a trigram: one inside a word may stand anywhere, one with blanks at an edge of
// the text or beside a blank.
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
