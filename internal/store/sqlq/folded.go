package sqlq

import (
	"strings"

	"grense/internal/cql2"
)

// mostSources bounds the texts in which a folded literal may be written in a column, which grow by powers of two with
// the letters s and k.
const mostSources = 64

// lowered returns the property that casei is applied to with its ASCII letters in lower case; false for other
// operands, and where the database folds texts itself.
func (c *compiler) lowered(e cql2.Expr) (Fragment, bool) {
	f, isFunc := e.(cql2.Func)
	if !isFunc || f.Name != "casei" || len(f.Args) != 1 {
		return Fragment{}, false
	}
	p, isProp := f.Args[0].(cql2.Prop)
	if !isProp {
		return Fragment{}, false
	}
	v, ok := c.value(p)
	if !ok || v.typ != cql2.TypeText {
		return Fragment{}, false
	}
	_, lower, ok := c.d.FoldASCII(v.Fragment)
	return lower, ok
}

// oneOfFolded compiles "CASEI(property) IN (list)" for a database that folds ASCII only, by all texts that fold to
// those of the list.
func (c *compiler) oneOfFolded(e cql2.Expr, list []cql2.Expr) (Fragment, bool) {
	lower, ok := c.lowered(e)
	if !ok {
		return Fragment{}, false
	}
	var args []any
	for _, x := range list {
		text, ok := LiteralText(x)
		if !ok {
			return Fragment{}, false
		}
		sources, ok := cql2.CaseISources(text, false, mostSources)
		if !ok {
			return Fragment{}, false
		}
		for _, s := range sources {
			args = append(args, s)
		}
	}
	switch {
	case len(args) == 0:
		return Join(" <> ", lower, lower), true // false, and null where there is no text
	case len(args) == 1:
		return compared(lower.sql, "=", "?", args), true
	}
	return compared(lower.sql, "IN", "?", args), true
}

// compareFolded compiles "CASEI(property) = 'a'" and its opposite by oneOfFolded.
func (c *compiler) compareFolded(op cql2.CompareOp, l, r cql2.Expr) (Fragment, bool) {
	if isLiteral(l) {
		l, r = r, l
	}
	if op != cql2.Eq && op != cql2.Ne {
		return Fragment{}, false
	}
	f, ok := c.oneOfFolded(l, []cql2.Expr{r})
	if ok && op == cql2.Ne {
		f = not(f)
	}
	return f, ok
}

// beginsFolded bounds "CASEI(property) LIKE pattern" from above, by the beginnings of the texts that match.
func (c *compiler) beginsFolded(e cql2.Expr) (Fragment, bool) {
	l, isLike := e.(cql2.Like)
	if !isLike {
		return Fragment{}, false
	}
	lower, ok := c.lowered(l.X)
	pattern, isText := PatternText(l.Pattern)
	if !ok || !isText || strings.ContainsRune(pattern, 0) {
		return Fragment{}, false
	}
	p, ok := SplitPattern(pattern)
	if !ok || p.Prefix == "" {
		return Fragment{}, false
	}
	sources, ok := cql2.CaseISources(p.Prefix, true, mostSources)
	if !ok {
		return Fragment{}, false
	}
	fs := make([]Fragment, len(sources))
	for i, s := range sources {
		if fs[i], ok = c.d.Like(lower, escaped(s)+"%"); !ok {
			return Fragment{}, false
		}
	}
	return c.join(fs, false), true
}

// escaped returns a text as a pattern of LIKE that only the text matches.
func escaped(s string) string { return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) }
