package sqlq

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
)

// value is an operand in SQL.
type value struct {
	Fragment
	typ  cql2.Type
	kind NumberKind
}

// column returns a field in the form that comparisons and sorting need.
func (c *compiler) column(f *Field) Fragment { return Ident(Column(c.d, c.alias, f)) }

// Column returns a field of the rows called alias in the form that comparisons and sorting need.
func Column(d Dialect, alias string, f *Field) string {
	if f.ID != nil {
		return f.ID.Text(alias)
	}
	return d.Normal(alias+"."+d.Quote(f.Column), f)
}

// values returns operands of one common type; ok is false if SQL cannot compare them as CQL2 does.
func (c *compiler) values(es ...cql2.Expr) ([]value, bool) {
	if vs, ok := c.stamps(es); ok {
		return vs, true
	}
	vs := make([]value, len(es))
	for i, e := range es {
		var ok bool
		if vs[i], ok = c.value(e); !ok || vs[i].typ == cql2.TypeTimestamp {
			return nil, false
		}
		if i > 0 && !comparableTypes(vs[0].typ, vs[i].typ) {
			return nil, false
		}
	}
	if vs[0].typ == cql2.TypeText {
		c.collate(es, vs)
	}
	return vs, true
}

// collate makes texts compare by code point, unless exactly one operand is a column, whose collation then decides.
func (c *compiler) collate(es []cql2.Expr, vs []value) {
	columns := 0
	for _, e := range es {
		if !isLiteral(e) {
			columns++
		}
	}
	if columns != 1 {
		vs[0].Fragment = c.d.ByCodePoint(vs[0].Fragment)
	}
}

func comparableTypes(a, b cql2.Type) bool {
	return a == b && a != cql2.TypeJSON && a != cql2.TypeGeometry || isNumber(a) && isNumber(b)
}

// value returns one operand; ok is false if SQL cannot express it. Timestamps depend on their context: see stamps.
func (c *compiler) value(e cql2.Expr) (value, bool) {
	switch e := e.(type) {
	case cql2.Prop:
		f := c.src.Fields[e.Name]
		if f == nil || f.Type == cql2.TypeJSON || f.Path != nil {
			return value{}, false
		}
		return value{c.column(f), f.Type, c.numbers(f)}, true
	case cql2.Text:
		return textValue(SQL("?", string(e))), true
	case cql2.Int:
		return value{SQL("?", int64(e)), cql2.TypeInteger, Whole}, true
	case cql2.Number, cql2.Decimal:
		n := cql2.ExactNumberOf(e)
		if n == nil {
			return value{}, false
		}
		near, _ := n.Double()
		return value{SQL("?", near), cql2.TypeNumber, Double}, true
	case cql2.Bool:
		return value{Fragment: c.constant(bool(e)), typ: cql2.TypeBool}, true
	case cql2.Date:
		return value{Fragment: SQL("?", c.d.Day(e.T)), typ: cql2.TypeDate}, true
	case cql2.Func:
		return c.call(e)
	case cql2.Arith:
		return c.arith(e)
	}
	return value{}, false
}

func textValue(f Fragment) value { return value{Fragment: f, typ: cql2.TypeText} }

// numbers returns the kind of numbers in a field.
func (c *compiler) numbers(f *Field) NumberKind {
	switch f.Type {
	case cql2.TypeInteger:
		return Whole
	case cql2.TypeNumber:
		return c.d.Numbers(f)
	}
	return NoNumber
}

// call compiles a fold of text: to a search column if there is one, else to a function of the database.
// The fold of a literal is its value.
func (c *compiler) call(e cql2.Func) (value, bool) {
	if len(e.Args) != 1 {
		return value{}, false
	}
	if p, ok := e.Args[0].(cql2.Prop); ok {
		if f := c.src.Fields[p.Name]; f != nil && f.Type == cql2.TypeText {
			switch {
			case e.Name == "norm" && f.Search.Norm != "":
				return textValue(Ident(c.quoted(f.Search.Norm))), true
			case e.Name == "exact" && f.Search.Exact != "":
				return textValue(Ident(c.quoted(f.Search.Exact))), true
			}
		}
	}
	if s, ok := LiteralText(e); ok {
		return textValue(SQL("?", s)), true
	}
	v, ok := c.value(e.Args[0])
	if !ok || v.typ != cql2.TypeText {
		return value{}, false
	}
	if name, ok := c.d.Call(e.Name); ok && isFold(e.Name) {
		return textValue(Cat(Ident(name+"("), v.Fragment, Ident(")"))), true
	}
	return c.callASCII(e, v)
}

// callASCII compiles a fold of text that the database does not know. It is valid for ASCII texts,
// and records that condition.
func (c *compiler) callASCII(e cql2.Func, x value) (value, bool) {
	ascii, lower, ok := c.d.FoldASCII(x.Fragment)
	if !ok || c.ascii == nil {
		return value{}, false
	}
	if _, isColumn := e.Args[0].(cql2.Prop); isColumn {
		*c.ascii = append(*c.ascii, ascii)
	}
	switch e.Name {
	case "accenti":
		return x, true
	case "casei", "exact":
		x.Fragment = lower
		return x, true
	}
	return value{}, false
}

// LiteralText returns the text of a literal, with its folding functions applied; ok is false if it is not text.
func LiteralText(e cql2.Expr) (string, bool) {
	switch e := e.(type) {
	case cql2.Text:
		return string(e), true
	case cql2.Func:
		if len(e.Args) != 1 {
			return "", false
		}
		s, ok := LiteralText(e.Args[0])
		if !ok {
			return "", false
		}
		switch e.Name {
		case "norm":
			return fold.Norm(s), true
		case "exact", "casei":
			return fold.CaseI(s), true
		case "accenti":
			return fold.AccentI(s), true
		}
	}
	return "", false
}

// PatternText returns the pattern of LIKE with its folding functions applied.
func PatternText(e cql2.Expr) (string, bool) {
	switch e := e.(type) {
	case cql2.Text:
		return string(e), true
	case cql2.Func:
		if len(e.Args) == 1 {
			if s, ok := PatternText(e.Args[0]); ok {
				return fold.Pattern(e.Name, s)
			}
		}
	}
	return "", false
}

// arith compiles arithmetic on numbers. Results that are not finite are null.
func (c *compiler) arith(e cql2.Arith) (value, bool) {
	l, okL := c.value(e.L)
	r, okR := c.value(e.R)
	if !okL || !okR || !isNumber(l.typ) || !isNumber(r.typ) {
		return value{}, false
	}
	v := value{typ: cql2.TypeNumber, kind: Mixed} // integers that overflow become doubles
	if l.typ == cql2.TypeInteger && r.typ == cql2.TypeInteger {
		v.typ = cql2.TypeInteger
	}
	switch e.Op {
	case cql2.Add, cql2.Sub, cql2.Mul:
		v.Fragment = Cat(paren(l.Fragment), Ident(" "+string(e.Op)+" "), paren(r.Fragment))
	case cql2.Div:
		v.typ = cql2.TypeNumber
		v.Fragment = Cat(Ident("CAST("), l.Fragment, Ident(" AS DOUBLE PRECISION) / NULLIF("), r.Fragment,
			Ident(", 0)"))
	default: // integer division, remainder, power: the databases differ
		return value{}, false
	}
	var ok bool
	v.Fragment, ok = c.d.Finite(v.Fragment)
	return v, ok
}

func isNumber(t cql2.Type) bool { return t == cql2.TypeInteger || t == cql2.TypeNumber }

// stamps returns operands that are timestamps, all in one stored form.
func (c *compiler) stamps(es []cql2.Expr) ([]value, bool) {
	layout, known := "", false
	var times []time.Time
	for _, e := range es {
		switch e := e.(type) {
		case cql2.Timestamp:
			times = append(times, e.T)
		case cql2.Prop:
			f := c.src.Fields[e.Name]
			if f == nil || f.Type != cql2.TypeTimestamp {
				return nil, false
			}
			if known && f.Layout != layout {
				layout = ""
			} else {
				layout, known = f.Layout, true
			}
		default:
			return nil, false
		}
	}
	layout = c.common(layout, times)
	vs := make([]value, len(es))
	for i, e := range es {
		switch e := e.(type) {
		case cql2.Timestamp:
			arg, ok := c.d.Stamp(e.T, layout)
			if !ok {
				return nil, false
			}
			vs[i] = value{Fragment: SQL("?", arg), typ: cql2.TypeTimestamp}
		case cql2.Prop:
			vs[i] = value{Fragment: c.stamp(c.src.Fields[e.Name], layout), typ: cql2.TypeTimestamp}
		}
	}
	return vs, true
}

// common returns layout if it can hold every moment, else "".
func (c *compiler) common(layout string, times []time.Time) string {
	for _, t := range times {
		if _, ok := c.d.Stamp(t, layout); !ok {
			return ""
		}
	}
	return layout
}

// stampColumn returns a timestamp column and the layout in which it can be compared with the moments.
func (c *compiler) stampColumn(f *Field, times []time.Time) (Fragment, string) {
	layout := c.common(f.Layout, times)
	return c.stamp(f, layout), layout
}

// stamp returns a timestamp column as stored if that is the layout, else in the normal form.
func (c *compiler) stamp(f *Field, layout string) Fragment {
	if layout != "" {
		return Ident(c.quoted(f.Column))
	}
	g := *f
	g.Layout = ""
	return c.column(&g)
}

// like compiles a pattern, bounded by search columns if there are any.
func (c *compiler) like(e cql2.Like) (Fragment, bool) {
	pattern, ok := PatternText(e.Pattern)
	if !ok || strings.ContainsRune(pattern, 0) {
		return Fragment{}, false
	}
	if f, ok := c.likeFolded(e.X, pattern); ok {
		return f, true
	}
	v, ok := c.value(e.X)
	if !ok || v.typ != cql2.TypeText {
		return Fragment{}, false
	}
	f, ok := c.d.Like(v.Fragment, pattern)
	if !ok {
		return Fragment{}, false
	}
	p, ok := SplitPattern(pattern)
	if !ok {
		return f, true
	}
	f = c.within(f, e.X, bound1("LIKE", cql2.Text(pattern), textValue(SQL("?", pattern))))
	s := c.search(e.X)
	switch {
	case c.plain:
	case p.Prefix != "":
		return c.d.Begins(v.Fragment, p.Prefix, f), true
	case p.Suffix != "" && s.Rev != "":
		rev := Ident(c.quoted(s.Rev))
		if f, ok = c.d.Like(rev, p.reversed()); !ok {
			return Fragment{}, false
		}
		return c.d.Begins(rev, reverse(p.Suffix), f), true
	case !c.neg:
		return c.byTexts(s, p, pattern, f), true
	}
	return f, true
}

// byTexts returns whole, a condition for a pattern, bounded by an index over the texts if there is one.
func (c *compiler) byTexts(s SearchColumns, p Pattern, pattern string, whole Fragment) Fragment {
	switch {
	case s.Texts != "":
		if f, ok := c.d.Texts(c.alias, s, pattern, p.Longest); ok {
			return f
		}
	case s.Gram != "" && utf8.RuneCountInString(p.Longest) >= 3:
		if f, ok := c.d.Gram(c.alias, s.Gram, p.Longest); ok {
			return Join(" AND ", paren(f), paren(whole))
		}
	}
	return whole
}

// isFold reports whether a function folds text.
func isFold(name string) bool {
	return name == "norm" || name == "exact" || name == "casei" || name == "accenti"
}

// likeFolded compiles a pattern on a folded text that no search column holds.
func (c *compiler) likeFolded(e cql2.Expr, pattern string) (Fragment, bool) {
	f, isFunc := e.(cql2.Func)
	if !isFunc || len(f.Args) != 1 || !isFold(f.Name) || c.search(e) != (SearchColumns{}) {
		return Fragment{}, false
	}
	if _, folds := c.d.Call(f.Name); !folds {
		return Fragment{}, false
	}
	x, ok := c.value(f.Args[0])
	if _, isLiteral := LiteralText(e); !ok || isLiteral || x.typ != cql2.TypeText {
		return Fragment{}, false
	}
	return c.d.LikeFolded(f.Name, x.Fragment, pattern)
}

// search returns the search columns that hold the operand's folded text.
func (c *compiler) search(e cql2.Expr) (s SearchColumns) {
	f, ok := e.(cql2.Func)
	if !ok || f.Name != "norm" || len(f.Args) != 1 {
		return s
	}
	p, ok := f.Args[0].(cql2.Prop)
	if !ok || c.src.Fields[p.Name] == nil {
		return s
	}
	return c.src.Fields[p.Name].Search
}

// prefixed bounds x to texts that start with prefix, so that a B-tree can serve.
func prefixed(x Fragment, prefix string) Fragment {
	low := Cat(x, SQL(" >= ?", prefix))
	if up, ok := successor(prefix); ok {
		return Join(" AND ", low, Cat(x, SQL(" < ?", up)))
	}
	return low
}

// successor returns the smallest text, by code point, that is greater than every text with that prefix.
func successor(prefix string) (string, bool) {
	rs := []rune(prefix)
	for i := len(rs) - 1; i >= 0; i-- {
		if r := rs[i] + 1; r <= utf8.MaxRune {
			if r == 0xD800 { // surrogates are not characters
				r = 0xE000
			}
			return string(append(rs[:i:i], r)), true
		}
	}
	return "", false
}

func reverse(s string) string {
	rs := []rune(s)
	for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
		rs[i], rs[j] = rs[j], rs[i]
	}
	return string(rs)
}

// Pattern is a LIKE pattern, split into its parts.
type Pattern struct {
	Prefix, Suffix string // literal text before the first and after the last wildcard
	Longest        string // the longest literal text between wildcards
	Tokens         []Token
}

// Token is a part of a pattern: literal text, or a wildcard (% or _) with empty Text.
type Token struct {
	Text string
	Wild byte
}

// reversed returns the pattern of LIKE that the reversed text matches.
func (p Pattern) reversed() string {
	var b strings.Builder
	for _, t := range slices.Backward(p.Tokens) {
		if t.Wild != 0 {
			b.WriteByte(t.Wild)
		}
		for _, r := range reverse(t.Text) {
			if strings.ContainsRune(`%_\`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// SplitPattern parses a LIKE pattern (OGC 21-065r2, 7.1): % any run, _ one character, \ escapes what follows;
// a lone \ at the end is literal. ok is false if the pattern is not valid UTF-8.
func SplitPattern(s string) (p Pattern, ok bool) {
	if !utf8.ValidString(s) {
		return p, false
	}
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			p.Tokens = append(p.Tokens, Token{Text: lit.String()})
			lit.Reset()
		}
	}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			lit.WriteByte(s[i])
		case s[i] == '%' || s[i] == '_':
			flush()
			p.Tokens = append(p.Tokens, Token{Wild: s[i]})
		default:
			lit.WriteByte(s[i])
		}
	}
	flush()
	for i, t := range p.Tokens {
		if i == 0 {
			p.Prefix = t.Text
		}
		if i == len(p.Tokens)-1 {
			p.Suffix = t.Text
		}
		if len(t.Text) > len(p.Longest) {
			p.Longest = t.Text
		}
	}
	return p, true
}
