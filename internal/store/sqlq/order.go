package sqlq

// Key is one key of an order.
type Key struct {
	Expr  string // SQL, without values
	Desc  bool
	Nulls bool // may be null; null comes last in both directions
}

// Order returns the keys of ORDER BY; with back in the opposite order.
func Order(keys []Key, back bool) string {
	var s string
	for i, k := range keys {
		if i > 0 {
			s += ", "
		}
		if k.Nulls {
			s += "(" + k.Expr + " IS NULL)" + direction(back) + ", "
		}
		s += k.Expr + direction(k.Desc != back)
	}
	return s
}

func direction(desc bool) string {
	if desc {
		return " DESC"
	}
	return ""
}

// After returns the condition for rows that come after the place with those key values, or with back before it. There is a value for
// each key; the last key is unique and never null.
func After(d Dialect, keys []Key, values []any, back bool) Fragment {
	k, v := keys[0], values[0]
	beyond := past(d, k, v, back)
	if len(keys) == 1 {
		return beyond
	}
	rest := paren(After(d, keys[1:], values[1:], back))
	if v == nil {
		return Cat(paren(beyond), Ident(" OR ("+k.Expr+" IS NULL AND "), rest, Ident(")"))
	}
	f := Cat(paren(beyond), Ident(" OR ("+k.Expr), SQL(" = ? AND ", v), rest, Ident(")"))
	if k.Nulls && !back {
		return f
	}
	op := " >= ?" // redundant, but an index can use it
	if k.Desc != back {
		op = " <= ?"
	}
	return Cat(Ident(k.Expr), SQL(op+" AND (", v), f, Ident(")"))
}

// past returns the condition for key values strictly after v.
func past(d Dialect, k Key, v any, back bool) Fragment {
	if v == nil {
		if back {
			return Ident(k.Expr + " IS NOT NULL")
		}
		return Ident(d.Bool(false))
	}
	op := " > ?"
	if k.Desc != back {
		op = " < ?"
	}
	f := Cat(Ident(k.Expr), SQL(op, v))
	if k.Nulls && !back {
		return Cat(f, Ident(" OR "+k.Expr+" IS NULL"))
	}
	return f
}
