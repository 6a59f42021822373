package sqlq

import "grense/internal/cql2"

// idOf returns the field of an operand that is a feature id of several columns; nil for others.
func idOf(s *Source, e cql2.Expr) *ID {
	p, ok := e.(cql2.Prop)
	if !ok || s.Fields[p.Name] == nil {
		return nil
	}
	return s.Fields[p.Name].ID
}

// compareID compiles "id = 'a'" and "id <> 'a'" by the columns of the id; ok is false for other comparisons.
func (c *compiler) compareID(op cql2.CompareOp, l, r cql2.Expr) (Fragment, bool) {
	if idOf(c.src, l) == nil {
		l, r = r, l
	}
	if op != cql2.Eq && op != cql2.Ne {
		return Fragment{}, false
	}
	f, ok := c.oneOfIDs(l, []cql2.Expr{r})
	if ok && op == cql2.Ne {
		f = not(f)
	}
	return f, ok
}

// oneOfIDs compiles "id IN (list)" by the columns of the id; ok is false if e is not such an id, or the list contains
// anything but literals.
func (c *compiler) oneOfIDs(e cql2.Expr, list []cql2.Expr) (Fragment, bool) {
	id := idOf(c.src, e)
	if id == nil {
		return Fragment{}, false
	}
	var some []Fragment
	for _, x := range list {
		text, ok := LiteralText(x)
		if !ok {
			return Fragment{}, false
		}
		if f, ok := id.Is(c.alias, text); ok {
			some = append(some, f)
		}
	}
	return c.join(some, false), true
}

// findsID reports whether an index over the columns of a feature id serves equality with a literal.
func (c *coster) findsID(x, literal cql2.Expr) bool {
	id := idOf(c.src, x)
	_, ok := LiteralText(literal)
	return id != nil && id.Indexed && ok
}
