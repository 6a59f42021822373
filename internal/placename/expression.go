package placename

import (
	"strings"
	"unicode"

	"grense/internal/cql2"
)

// expression is a parsed expression of avansertSoek: a list of alternatives, each a list of terms that must all match.
//
// //	expression = all *( "|" all )
// //	all        = 1*( [ "-" ] term )            ; spaces between terms
// //	term       = [ "=" / "~" ] ( word / DQUOTE words DQUOTE )
//
// A word ends at the next space, bar or quotation mark. The signs -, = and ~ are special only at the beginning of a
// term, so Nord-Fron is one word.
type expression [][]*term

// term is one condition on the text of a spelling.
type term struct {
	op   op
	not  bool
	text string // as sent, without signs and quotation marks; never blank
	test textTest
}

// op is the kind of comparison of a term.
type op uint8

const (
	opWord    op = iota // contained in the text; with a wildcard, a pattern of the whole text
	opPhrase            // consecutive words
	opSame              // equals the whole text, case-sensitive and accent-sensitive
	opSimilar           // trigram similarity
)

// compile returns the condition on the property langnavn. test returns the condition of a term, ignoring its "-".
func (e expression) compile(test func(*term) (textTest, error)) (cql2.Expr, error) {
	var either cql2.Or
	for _, list := range e {
		var all cql2.And
		for _, t := range list {
			f, err := test(t)
			if err != nil {
				return nil, err
			}
			x := f("langnavn")
			if t.not {
				x = cql2.Not{X: x}
			}
			all = append(all, x)
		}
		either = append(either, all)
	}
	return either, nil
}

// parseExpression parses an expression. On a syntax error, pos is the position of the character that is wrong, counted
// from 1; otherwise 0.
func parseExpression(s string) (e expression, pos int) {
	p := parser{text: []rune(s)}
	for {
		var list []*term
		for p.skip(); !p.end() && p.text[p.at] != '|'; p.skip() {
			t, ok := p.term()
			if !ok {
				return nil, p.at + 1
			}
			list = append(list, t)
		}
		if list == nil {
			return nil, p.at + 1
		}
		e = append(e, list)
		if p.end() {
			return e, 0
		}
		p.at++ // the bar
	}
}

type parser struct {
	text []rune
	at   int
}

func (p *parser) end() bool { return p.at >= len(p.text) }

func (p *parser) skip() {
	for !p.end() && unicode.IsSpace(p.text[p.at]) {
		p.at++
	}
}

// take skips the character r. It returns false if the next character is another.
func (p *parser) take(r rune) bool {
	if p.end() || p.text[p.at] != r {
		return false
	}
	p.at++
	return true
}

// term parses a term. It returns false on a syntax error and leaves the parser there.
func (p *parser) term() (*term, bool) {
	t := &term{not: p.take('-')}
	switch {
	case p.take('='):
		t.op = opSame
	case p.take('~'):
		t.op = opSimilar
	}
	start := p.at
	quoted := p.take('"')
	if quoted && t.op == opWord {
		t.op = opPhrase
	}
	begin := p.at
	for !p.end() && p.text[p.at] != '"' && (quoted || p.text[p.at] != '|' && !unicode.IsSpace(p.text[p.at])) {
		p.at++
	}
	t.text = strings.TrimSpace(string(p.text[begin:p.at]))
	sign := t.op == opWord && strings.HasPrefix(t.text, "-") // a second sign
	wild := t.op == opSimilar && strings.ContainsAny(t.text, wildcards)
	if t.text == "" || sign || wild || quoted && !p.take('"') {
		p.at = start
		return nil, false
	}
	return t, true
}
