package sqlq

import (
	"strings"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
)

// mostSources is the largest number of stored texts that fold to a literal. It doubles with each letter s or k, whose
// folded forms include non-ASCII letters.
const mostSources = 64

// lowered returns the argument of casei with ASCII letters in lower case; false if it is not a property, or if the
// database folds texts itself.
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

// oneOfFolded compiles "CASEI(property) IN (list)" for a database that can only fold ASCII. It lists all texts that
// fold to a text in the list.
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
		sources, ok := fold.CaseISources(text, false, mostSources)
		if !ok {
			return Fragment{}, false
		}
		for _, s := range sources {
			args = append(args, s)
		}
	}
	switch {
	case len(args) == 0:
		return Join(" <> ", lower, lower), true // false, or null if the text is null
	case len(args) == 1:
		return compared(lower.sql, "=", "?", args), true
	}
	return compared(lower.sql, "IN", "?", args), true
}

// compareFolded compiles "CASEI(property) = 'a'" and its negation with oneOfFolded.
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

// beginsFolded returns an upper bound for "CASEI(property) LIKE pattern": the possible beginnings of matching texts.
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
	sources, ok := fold.CaseISources(p.Prefix, true, mostSources)
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

// escaped returns a LIKE pattern that matches only s.
func escaped(s string) string { return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) }
