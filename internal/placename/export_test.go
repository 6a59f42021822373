package placename

import "grense/internal/cql2"

// ParseExpression gives the fuzz test the parser of expressions: the terms of each alternative, written out with
// their signs.
func ParseExpression(s string) (alternatives [][]string, pos int) {
	e, pos := parseExpression(s)
	for _, list := range e {
		var texts []string
		for _, t := range list {
			text := t.text
			if t.op == opPhrase {
				text = `"` + text + `"`
			} else {
				text = map[op]string{opWord: "", opSame: "=", opSimilar: "~"}[t.op] + text
			}
			if t.not {
				text = "-" + text
			}
			texts = append(texts, text)
		}
		alternatives = append(alternatives, texts)
	}
	return alternatives, pos
}

// LimitSimilar sets how many spellings are looked at for one term, and how many similar texts there may be in all.
func (s *Service) LimitSimilar(candidates, similar int) {
	s.candidates, s.similar = candidates, similar
}

// SimilarTo gives what candidates for similarity with a folded text must fulfil, and Similarity the measure itself.
func SimilarTo(v string) cql2.Expr { return candidates(trigrams(v)) }

func Similarity(a, b string) float64 { return similarity(trigrams(a), trigrams(b)) }
