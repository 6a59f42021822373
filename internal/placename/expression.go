package placename

import (
	"strings"
	"unicode"

	"grense/internal/cql2"
)

// expression is what avansertSoek turns a name into: alternatives of terms that all hold.
//
//	expression = all *( "|" all )
//	all        = 1*( [ "-" ] term )            ; blanks between terms
//	term       = [ "=" / "~" ] ( word / DQUOTE words DQUOTE )
//
// A word runs to the next blank, bar or quotation mark. Signs have a meaning at the beginning of a term only:
// Nord-Fron is a word.
type expression [][]*term

// term is one test of a text.
type term struct {
	op   op
	not  bool
	text string // as sent, without signs and quotation marks; never blank
	test textTest
}

// op says how the text of a term is compared.
type op uint8

const (
	opWord    op = iota // contained, or with a wildcard equal as a whole
	opPhrase            // words beside each other
	opSame              // the whole text, case and diacritics minded
	opSimilar           // trigrams
)

// compile makes the condition on the property langnavn; test gives the test of a term without its NOT.
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

// parseExpression reads an expression. When it breaks the syntax, pos is the character at which it does, counted from
// 1; else 0.
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

// take steps over the sign r.
func (p *parser) take(r rune) bool {
	if p.end() || p.text[p.at] != r {
		return false
	}
	p.at++
	return true
}

// term reads a term; false leaves the parser where the syntax is broken.
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
	sign := t.op == opWord && strings.HasPrefix(t.text, "-") // one too many
	wild := t.op == opSimilar && strings.ContainsAny(t.text, wildcards)
	if t.text == "" || sign || wild || quoted && !p.take('"') {
		p.at = start
		return nil, false
	}
	return t, true
}
