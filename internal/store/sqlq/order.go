package sqlq

// Key is one key of an order.
type Key struct {
	Expr  Fragment
	Name  string // name of the column of the statement that holds Expr; "" if ORDER BY must repeat Expr
	Desc  bool
	Nulls bool // may be null; null comes last in both directions
}

// Order returns the keys of ORDER BY, reversed with back.
func Order(keys []Key, back bool) Fragment {
	var list []Fragment
	for _, k := range keys {
		x := k.Expr
		if k.Name != "" {
			x = Ident(k.Name)
		}
		if k.Nulls {
			list = append(list, Cat(Ident("("), x, Ident(" IS NULL)"+direction(back))))
		}
		list = append(list, Cat(x, Ident(direction(k.Desc != back))))
	}
	return Join(", ", list...)
}

// Ordered is Order for PostgreSQL: with NULLS LAST, so that an index on the key serves it.
func Ordered(keys []Key, back bool) Fragment {
	var list []Fragment
	for _, k := range keys {
		f := Cat(k.Expr, Ident(direction(k.Desc != back)))
		if k.Nulls && k.Desc {
			f = Cat(f, Ident(map[bool]string{false: " NULLS LAST", true: " NULLS FIRST"}[back]))
		}
		list = append(list, f) // otherwise null is last in ascending and first in descending order
	}
	return Join(", ", list...)
}

func direction(desc bool) string {
	if desc {
		return " DESC"
	}
	return ""
}

// After returns the condition for rows after the place with those key values, or before it with back.
// There is a value for each key; the last key is unique and never null.
func After(d Dialect, keys []Key, values []any, back bool) Fragment {
	k, v := keys[0], values[0]
	beyond := past(d, k, v, back)
	if len(keys) == 1 {
		return beyond
	}
	rest := paren(After(d, keys[1:], values[1:], back))
	if v == nil {
		return Cat(paren(beyond), Ident(" OR ("), k.Expr, Ident(" IS NULL AND "), rest, Ident(")"))
	}
	f := Cat(paren(beyond), Ident(" OR ("), k.Expr, SQL(" = ? AND ", v), rest, Ident(")"))
	if k.Nulls && !back {
		return f
	}
	op := " >= ?" // redundant, but an index can use it
	if k.Desc != back {
		op = " <= ?"
	}
	return Cat(k.Expr, SQL(op+" AND (", v), f, Ident(")"))
}

// past returns the condition for key values strictly after v.
func past(d Dialect, k Key, v any, back bool) Fragment {
	if v == nil {
		if back {
			return Cat(k.Expr, Ident(" IS NOT NULL"))
		}
		return Ident(d.Bool(false))
	}
	op := " > ?"
	if k.Desc != back {
		op = " < ?"
	}
	f := Cat(k.Expr, SQL(op, v))
	if k.Nulls && !back {
		return Cat(f, Ident(" OR "), k.Expr, Ident(" IS NULL"))
	}
	return f
}
