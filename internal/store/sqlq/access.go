package sqlq

import (
	"strings"
	"unicode/utf8"

	"grense/internal/cql2"
)

// AccessPath is one way to read all rows that match a filter: a table that is read by an index, joined to the rows of
// the source. Rows may come repeatedly, in any order.
type AccessPath struct {
	Join  Fragment // FROM and WHERE of the join; the rows of the source have the requested alias
	Probe Fragment // FROM and WHERE of the first table alone: an upper bound of the rows that are read
	Few   bool     // an equality that few rows have, so a probe is not worthwhile

	All bool // all rows of Probe match
	// Steady is the SQLite dialect with arguments that the planner cannot see, so that it plans a statement only once.
	// Use it for an AccessPath, whose plan does not depend on values.
	Key   string
	Owner string // expression over a row of Probe for the value of Key
	Order string // the same for a value of Relation.Order; "" if there is none
	By    string // property of that order
}

// Steady is SQLite whose arguments are hidden from the planner, so that a statement is planned once.
// An AccessPath leaves nothing to decide by value.
type Steady struct{ SQLite }

func (Steady) Placeholder(int, any) string { return "+?" }

// AccessPaths returns the ways to read what e selects from s, for SQLite; none if SQL cannot express e exactly.
// If no index serves, the only path leaves the choice to the database. Conditions without a path are tested row by row.
func AccessPaths(s *Source, alias string, e cql2.Expr) []AccessPath {
	parts := conjuncts(simple(e), nil)
	var paths []AccessPath
	for _, x := range parts {
		if x == nil {
			return nil
		}
	}
	parts = bounded(parts)
	for i, x := range parts {
		d, ok := accessBy(s, alias, x, append(parts[:i:i], parts[i+1:]...))
		if ok && d.Few {
			return []AccessPath{d}
		}
		if ok {
			paths = append(paths, d)
		}
	}
	if len(paths) > 0 {
		return paths
	}
	f := Compile(SQLite{}, s, alias, e)
	if f.Residue != nil {
		return nil
	}
	return []AccessPath{{Join: Cat(Ident(" FROM "+s.Table+" AS "+alias+" WHERE ("), f.Where, Ident(")"))}}
}

// bounded merges comparisons that bound the same property, so that an index serves both ends.
func bounded(parts []cql2.Expr) (out []cql2.Expr) {
	at := map[cql2.Prop]int{} // index of the part that bounds a property
	for _, x := range parts {
		c, ok := x.(cql2.Compare)
		p, isProp := c.L.(cql2.Prop)
		if !ok || !isProp || c.Op == cql2.Eq || c.Op == cql2.Ne {
			out = append(out, x)
			continue
		}
		if i, ok := at[p]; ok {
			out[i] = cql2.And{out[i], x}
			continue
		}
		at[p] = len(out)
		out = append(out, x)
	}
	return out
}

// simple removes AND and OR with a single member.
func simple(e cql2.Expr) cql2.Expr {
	var list []cql2.Expr
	switch x := e.(type) {
	case cql2.And:
		list = x
	case cql2.Or:
		list = x
	case cql2.Related:
		x.X = simple(x.X)
		return x
	}
	if len(list) == 1 {
		return simple(list[0])
	}
	if a, ok := e.(cql2.And); ok {
		out := make(cql2.And, len(a))
		for i, x := range a {
			out[i] = simple(x)
		}
		return out
	}
	if e == nil {
		return cql2.And{}
	}
	return e
}

// accessBy returns the path by one part of a filter; ok is false if no index serves it.
func accessBy(s *Source, alias string, x cql2.Expr, others []cql2.Expr) (AccessPath, bool) {
	depth := 1
	d := AccessPath{All: len(others) == 0}
	c := &compiler{d: SQLite{}, src: s, alias: alias, depth: &depth}
	rel, isRelated := x.(cql2.Related)
	var r *Relation
	if isRelated {
		if r = s.Relations[rel.Relation]; r == nil {
			return d, false
		}
		x = rel.X
		c.src, c.alias = &r.Source, "r1"
	}
	from, where, few, ok := c.lead(x, !isRelated)
	if !ok {
		return d, false
	}
	test := &compiler{d: SQLite{}, src: s, alias: alias, depth: &depth, plain: true}
	rest, ok := test.exactAll(others, true)
	if !ok {
		return d, false
	}
	d.Few, d.Probe = few, Cat(Ident(" FROM "), from, Ident(" WHERE ("), where, Ident(")"))
	if !isRelated {
		d.Join = Cat(d.Probe, Ident(" AND ("), rest, Ident(")"))
		return d, true
	}
	by := ""
	if d.All && s.Leads[r.Key] != "" { // the index may hold all columns that are read
		by = " INDEXED BY " + SQLite{}.Quote(s.Leads[r.Key])
	}
	d.Key, d.Owner, d.By = r.Key, c.quoted(r.Owner), r.Order
	if r.Order != "" {
		d.Order = c.quoted(r.Order)
	}
	d.Join = Cat(Ident(" FROM "), from, Ident(" CROSS JOIN "+s.Table+" AS "+alias+by+" WHERE ("), where,
		Ident(") AND "+alias+"."+SQLite{}.Quote(r.Key)+" = "+d.Owner+" AND ("), rest, Ident(")"))
	return d, true
}

// lead returns the tables for reading the rows where e is true, and the condition.
// few reports that e is an equality that few rows have. With indexed, the table must have an index that begins
// with the compared column.
func (c *compiler) lead(e cql2.Expr, indexed bool) (from, where Fragment, few, ok bool) {
	parts := conjuncts(e, nil)
	for i, x := range parts {
		l, isLike := x.(cql2.Like)
		if !isLike {
			continue
		}
		from, where, ok = c.texts(l)
		if !ok {
			continue
		}
		c.plain = true
		rest, exact := c.exactAll(append(parts[:i:i], parts[i+1:]...), true)
		return from, Cat(where, Ident(" AND ("), rest, Ident(")")), false, exact
	}
	from = Ident(c.src.Table + " AS " + c.alias)
	index := ""
	for _, x := range parts {
		name, equal, ok := c.index(x)
		if ok && (index == "" || equal) {
			index = name
			few = equal
		}
	}
	if indexed {
		if index == "" {
			return from, where, false, false
		}
		from = Cat(from, Ident(" INDEXED BY "+c.d.Quote(index)))
	}
	where, ok = c.exactAll(parts, true)
	return from, where, few, ok
}

// index returns the index for a comparison of a column. equal reports equality with a text or
// number that few rows have.
func (c *compiler) index(x cql2.Expr) (name string, equal, ok bool) {
	var e cql2.Expr
	switch x := x.(type) {
	case cql2.Compare:
		if isProp(x.R) || x.Op == cql2.Ne {
			return "", false, false
		}
		e = x.L
		_, number := x.R.(cql2.Int)
		_, folded := x.L.(cql2.Func)
		equal = x.Op == cql2.Eq && (number || folded)
	case cql2.In:
		e = x.X
	case cql2.Between:
		e = x.X
	case cql2.Like:
		pattern, isText := PatternText(x.Pattern)
		p, valid := SplitPattern(pattern)
		switch s := c.search(x.X); {
		case !isText || !valid:
			return "", false, false
		case p.Prefix != "":
			e = x.X
		case p.Suffix != "" && s.Rev != "":
			name, ok = c.src.Leads[s.Rev]
			return name, false, ok
		default:
			return "", false, false
		}
	default:
		return "", false, false
	}
	col, found := c.ledColumn(e)
	if !found {
		return "", false, false
	}
	name, ok = c.src.Leads[col]
	return name, equal, ok
}

// ledColumn returns the column that holds an operand in the compared form.
func (c *compiler) ledColumn(e cql2.Expr) (string, bool) {
	if p, isProp := e.(cql2.Prop); isProp {
		f := c.src.Fields[p.Name]
		if f == nil || !f.IsColumn() || c.d.Normal("", f) != "" && f.Type != cql2.TypeTimestamp ||
			f.Type == cql2.TypeTimestamp && f.Layout == "" {
			return "", false
		}
		return f.Column, true
	}
	f, isFunc := e.(cql2.Func)
	if !isFunc || len(f.Args) != 1 {
		return "", false
	}
	p, isProp := f.Args[0].(cql2.Prop)
	if !isProp || c.src.Fields[p.Name] == nil {
		return "", false
	}
	switch s := c.src.Fields[p.Name].Search; f.Name {
	case "norm":
		return s.Norm, s.Norm != ""
	case "exact":
		return s.Exact, s.Exact != ""
	}
	return "", false
}

func isProp(e cql2.Expr) bool { _, ok := e.(cql2.Prop); return ok }

// texts reads the rows whose folded text matches a pattern that no ordered index serves, by the table of texts.
func (c *compiler) texts(e cql2.Like) (from, where Fragment, ok bool) {
	pattern, isText := PatternText(e.Pattern)
	p, valid := SplitPattern(pattern)
	s := c.search(e.X)
	if !isText || !valid || s.Texts == "" || p.Prefix != "" || p.Suffix != "" && s.Rev != "" ||
		strings.ContainsRune(pattern, 0) {
		return from, where, false
	}
	norm := "x." + c.d.Quote(s.Norm)
	like, ok := c.d.Like(Ident(norm), pattern)
	if !ok {
		return from, where, false
	}
	tables := c.d.Quote(s.Texts) + " AS x CROSS JOIN " + c.src.Table + " AS " + c.alias
	where = Cat(like, Ident(" AND "+c.quoted(s.Norm)+" = "+norm))
	if s.Gram != "" && utf8.RuneCountInString(p.Longest) >= 3 {
		tables = c.d.Quote(s.Gram) + " AS g CROSS JOIN " + tables
		where = Cat(SQL("g."+c.d.Quote(s.Gram)+" MATCH ? AND x.rowid = g.rowid AND ", Trigrams(p.Longest)), where)
	}
	return Ident(tables), where, true
}
