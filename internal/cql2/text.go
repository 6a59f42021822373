package cql2

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"grense/internal/geo/crs"
	"grense/internal/problem"
)

// ParseText parses CQL2 text (OGC 21-065r2, Annex B) whose geometries are in CRS84.
// An error is a *problem.Error with line, column and the offending token. The tree is not checked yet.
func ParseText(s string) (Expr, error) { return ParseTextIn(s, crs.CRS84) }

// ParseTextIn is ParseText for geometries in another CRS (parameter filter-crs), in that CRS's own axis order.
func ParseTextIn(s string, in crs.ID) (Expr, error) { return Reading{CRS: in}.Text(s) }

// Reading holds the options of a parser.
type Reading struct {
	CRS  crs.ID         // CRS of geometries; zero: CRS84
	Zone *time.Location // time zone of date-times without one; nil: UTC
}

func (r Reading) crs() crs.ID {
	if r.CRS == 0 {
		return crs.CRS84
	}
	return r.CRS
}

// Text parses CQL2 text.
func (r Reading) Text(s string) (Expr, error) {
	if len(s) > MaxBytes {
		return nil, tooLong(len(s))
	}
	if !utf8.ValidString(s) {
		at := strings.IndexRune(strings.ToValidUTF8(s, "\uFFFD"), utf8.RuneError)
		return nil, syntaxError(s, at+1, "", problem.Sayf("the filter is not valid UTF-8"))
	}
	buf := tokens.Get().(*[]token)
	toks, err := lex((*buf)[:0], s)
	defer func() {
		if cap(toks) <= maxTokens {
			clear(toks[:cap(toks)])
			*buf = toks
			tokens.Put(buf)
		}
	}()
	if err != nil {
		return nil, err
	}
	p := &textParser{src: s, toks: toks, in: r.crs(), zone: r.Zone}
	e := p.condition()
	if t := p.peek(); t.kind != tokEnd {
		p.fail(t, "unexpected %s; a filter ends here, or goes on with AND or OR", p.show(t))
	}
	if p.err == nil {
		if _, depth := measure(e); depth > MaxDepth {
			p.fail(toks[0], "the filter is nested more than %d deep", MaxDepth)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

// tokens is a pool of lists of up to maxTokens tokens.
var tokens = sync.Pool{New: func() any { return new([]token) }}

const maxTokens = 1024

// textParser is a recursive descent parser. After the first error it skips to the end of the tokens,
// so that all functions return.
type textParser struct {
	src                    string
	toks                   []token
	i                      int
	in                     crs.ID
	zone                   *time.Location
	depth, nodes, vertices int
	// number of bracket pairs around the last expression that are not arrays by themselves
	around int
	err    error
}

func (p *textParser) peek() token { return p.toks[p.i] }

// ahead returns the n-th token from here.
func (p *textParser) ahead(n int) token { return p.toks[min(p.i+n, len(p.toks)-1)] }

func (p *textParser) next() token {
	t := p.toks[p.i]
	if t.kind != tokEnd {
		p.i++
	}
	return t
}

// fail records the first error and moves to the end.
func (p *textParser) fail(t token, cure string, a ...any) {
	if p.err == nil {
		p.err = syntaxError(p.src, t.pos+1, p.src[t.pos:t.end], problem.Sayf(cure, a...))
	}
	p.i = len(p.toks) - 1
}

// show returns a token for a message.
func (p *textParser) show(t token) any {
	switch {
	case t.kind == tokEnd:
		return problem.Sayf("end of the filter")
	case t.kind == tokString:
		return clip(p.src[t.pos:t.end])
	}
	return "'" + clip(p.src[t.pos:t.end]) + "'"
}

// accept consumes a sign if it is the next token.
func (p *textParser) accept(sign string) bool {
	if p.peek().sign(sign) {
		p.i++
		return true
	}
	return false
}

// keyword consumes a keyword if it is the next token.
func (p *textParser) keyword(k string) bool {
	if p.peek().is(k) {
		p.i++
		return true
	}
	return false
}

func (p *textParser) expect(sign string) {
	if !p.accept(sign) && p.err == nil {
		p.fail(p.peek(), "unexpected %s; expected '%s'", p.show(p.peek()), sign)
	}
}

func (p *textParser) expectKeyword(k string) {
	if !p.keyword(k) && p.err == nil {
		p.fail(p.peek(), "unexpected %s; expected %s", p.show(p.peek()), k)
	}
}

// node counts a new node.
func (p *textParser) node(e Expr) Expr {
	p.around = 0
	if p.nodes++; p.nodes > MaxNodes {
		p.fail(p.toks[max(p.i-1, 0)], "the filter has more than %d operators, names and values", MaxNodes)
	}
	return e
}

// enter adds a level of nesting and reports false if there are too many; leave ends it.
func (p *textParser) enter() bool {
	if p.depth++; p.depth > MaxDepth {
		p.fail(p.peek(), "the filter is nested more than %d deep", MaxDepth)
		return false
	}
	return p.err == nil
}

func (p *textParser) leave() { p.depth-- }

// condition parses a booleanExpression and reports a fault for a value that is no condition.
func (p *textParser) condition() Expr { return p.asCondition(p.peek(), p.or()) }

func (p *textParser) asCondition(t token, e Expr) Expr {
	if p.err == nil && isOperand(e) {
		p.fail(t, "a condition is expected, not the value that starts with %s", p.show(t))
	}
	return e
}

func (p *textParser) asOperand(t token, e Expr) Expr {
	if p.err == nil && isCondition(e) {
		p.fail(t, "a value is expected, not the condition that starts with %s", p.show(t))
	}
	if _, list := e.(List); list {
		p.fail(t, "an array stands in array functions only")
	}
	return e
}

// or parses a booleanExpression; for arguments and brackets it also accepts a value.
func (p *textParser) or() Expr {
	t := p.peek()
	e := p.and()
	if !p.peek().is("OR") {
		return e
	}
	list := Or{p.asCondition(t, e)}
	for p.keyword("OR") {
		list = append(list, p.asCondition(p.peek(), p.and()))
	}
	return p.node(list)
}

func (p *textParser) and() Expr {
	t := p.peek()
	e := p.not()
	if !p.peek().is("AND") {
		return e
	}
	list := And{p.asCondition(t, e)}
	for p.keyword("AND") {
		list = append(list, p.asCondition(p.peek(), p.not()))
	}
	return p.node(list)
}

func (p *textParser) not() Expr {
	if !p.keyword("NOT") {
		return p.predicate()
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	return p.node(Not{p.asCondition(p.peek(), p.not())})
}

// predicate parses a comparison, or an operand alone.
func (p *textParser) predicate() Expr {
	t := p.peek()
	x := p.sum()
	op := p.peek()
	switch {
	case op.kind == tokSign && isCompareOp(op.text):
		p.next()
		l := p.asOperand(t, x)
		r := p.operand()
		return p.node(Compare{CompareOp(op.text), l, r})
	case op.is("IS"):
		p.next()
		negated := p.keyword("NOT")
		p.expectKeyword("NULL")
		if !isCondition(x) {
			p.asOperand(t, x)
		}
		return p.negate(negated, IsNull{x})
	case op.is("NOT"):
		p.next()
		if startsTest(p.peek()) {
			return p.negate(true, p.test(p.asOperand(t, x)))
		}
		p.fail(p.peek(), "unexpected %s; after NOT comes LIKE, BETWEEN or IN here", p.show(p.peek()))
		return nil
	case startsTest(op):
		return p.node(p.test(p.asOperand(t, x)))
	}
	return x
}

func isCompareOp(s string) bool {
	switch CompareOp(s) {
	case Eq, Ne, Lt, Le, Gt, Ge:
		return true
	}
	return false
}

func (p *textParser) negate(negated bool, e Expr) Expr {
	if e = p.node(e); negated {
		return p.node(Not{e})
	}
	return e
}

// startsTest reports whether a token is LIKE, BETWEEN or IN, or the ILIKE that GDAL sends.
func startsTest(t token) bool { return t.is("LIKE") || t.is("ILIKE") || t.is("BETWEEN") || t.is("IN") }

// test parses LIKE, BETWEEN or IN after the operand x. ILIKE, which is not in the standard,
// is LIKE with CASEI on both sides.
func (p *textParser) test(x Expr) Expr {
	switch {
	case p.keyword("ILIKE"):
		pattern := p.operand()
		p.node(nil) // CASEI, twice
		p.node(nil)
		return Like{Func{"casei", []Expr{x}}, Func{"casei", []Expr{pattern}}}
	case p.keyword("LIKE"):
		return Like{x, p.operand()}
	case p.keyword("BETWEEN"):
		lo := p.operand()
		p.expectKeyword("AND")
		return Between{x, lo, p.operand()}
	}
	p.expectKeyword("IN")
	p.expect("(")
	list := []Expr{p.operand()}
	for p.accept(",") {
		list = append(list, p.operand())
	}
	p.expect(")")
	return In{x, list}
}

// operand parses a scalar expression.
func (p *textParser) operand() Expr { return p.asOperand(p.peek(), p.sum()) }

// arith joins two operands.
func (p *textParser) arith(op ArithOp, lt token, l Expr, right func() Expr) Expr {
	p.asOperand(lt, l)
	rt := p.peek()
	return p.node(Arith{op, l, p.asOperand(rt, right())})
}

func (p *textParser) sum() Expr {
	t := p.peek()
	e := p.product()
	for op := p.peek(); op.sign("+") || op.sign("-"); op = p.peek() {
		p.next()
		e = p.arith(ArithOp(op.text), t, e, p.product)
	}
	return e
}

func (p *textParser) product() Expr {
	t := p.peek()
	e := p.power()
	for op := p.peek(); op.sign("*") || op.sign("/") || op.sign("%") || op.is("div"); op = p.peek() {
		p.next()
		e = p.arith(ArithOp(strings.ToLower(op.text)), t, e, p.power)
	}
	return e
}

func (p *textParser) power() Expr {
	t := p.peek()
	e := p.factor()
	if p.accept("^") {
		e = p.arith(Pow, t, e, p.factor)
		if p.peek().sign("^") {
			p.fail(p.peek(), "powers of powers need brackets")
		}
	}
	return e
}

// factor parses an operand with an optional sign. The sign binds more tightly than '^', as in the grammar.
func (p *textParser) factor() Expr {
	sign := p.peek()
	if !sign.sign("-") && !sign.sign("+") {
		return p.primary()
	}
	p.next()
	t := p.peek()
	if t.kind == tokNumber {
		return p.number(strings.TrimPrefix(sign.text, "+"))
	}
	if sign.sign("+") || t.sign("-") || t.sign("+") {
		p.fail(t, "unexpected %s after '%s'; expected a number", p.show(t), sign.text)
		return nil
	}
	p.node(nil) // the factor -1
	return p.arith(Mul, sign, Int(-1), p.primary)
}

// number parses a numeric literal.
func (p *textParser) number(sign string) Expr {
	t := p.next()
	e, ok := parseNumber(sign + t.text)
	if !ok {
		p.fail(t, "the number is beyond the range of a double")
	}
	return p.node(e)
}

// reserved are the words that need quotes to be names.
var reserved = map[string]bool{"AND": true, "OR": true, "NOT": true, "LIKE": true, "BETWEEN": true, "IN": true,
	"IS": true, "NULL": true, "TRUE": true, "FALSE": true}

func (p *textParser) primary() Expr {
	t := p.peek()
	switch t.kind {
	case tokString:
		p.next()
		return p.node(Text(t.text))
	case tokNumber:
		return p.number("")
	case tokQuoted:
		p.next()
		return p.node(Prop{Name: t.text, Pos: t.pos + 1, Quoted: true})
	case tokName:
		return p.name(t)
	case tokSign:
		if t.sign("(") {
			return p.brackets()
		}
	}
	p.fail(t, "unexpected %s; expected a name, a value or '('", p.show(t))
	return nil
}

// name parses what starts with a word: a boolean, a function, a literal with a keyword, or a property.
func (p *textParser) name(t token) Expr {
	if upper := strings.ToUpper(t.text); reserved[upper] {
		switch upper {
		case "TRUE", "FALSE":
			p.next()
			return p.node(Bool(upper == "TRUE"))
		case "NULL":
			p.fail(t, "NULL is no value; write IS NULL or IS NOT NULL")
		default:
			p.fail(t, "unexpected %s; a property of that name is written in double quotes", strings.ToUpper(t.text))
		}
		return nil
	}
	after := p.ahead(1)
	if after.sign("(") || after.is("Z") && p.ahead(2).sign("(") && geometryTypes[strings.ToUpper(t.text)] != "" {
		return p.call()
	}
	p.next()
	return p.node(Prop{Name: t.text, Pos: t.pos + 1})
}

// brackets parses a bracketed expression, or an array of zero or of more than one element.
func (p *textParser) brackets() Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	p.expect("(")
	if p.accept(")") {
		return p.node(List{})
	}
	e := p.or()
	if !p.peek().sign(",") {
		p.expect(")")
		p.around++
		return e
	}
	list := List{p.nested(e)}
	for p.accept(",") {
		list = append(list, p.element())
	}
	p.expect(")")
	return p.node(list)
}

// array parses an operand of an array predicate: an array where there are brackets, else a property or a function.
func (p *textParser) array() Expr {
	if !p.peek().sign("(") {
		return p.operand()
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	p.next()
	list := List{}
	if !p.peek().sign(")") {
		list = append(list, p.element())
		for p.accept(",") {
			list = append(list, p.element())
		}
	}
	p.expect(")")
	return p.node(list)
}

// element parses an element of an array or an argument of a function.
func (p *textParser) element() Expr { return p.nested(p.or()) }

// nested wraps e, the last expression in an array or in arguments, in an array of one element for each pair of brackets
// around it. The innermost pair around arithmetic or a condition does not count.
func (p *textParser) nested(e Expr) Expr {
	n := p.around
	if n > 0 && bracketed(e) {
		n--
	}
	for ; n > 0 && p.err == nil; n-- {
		e = p.node(List{e})
	}
	return e
}

// bracketed reports whether e may have a pair of brackets of its own.
func bracketed(e Expr) bool {
	_, arith := e.(Arith)
	return arith || isCondition(e)
}
