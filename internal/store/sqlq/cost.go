package sqlq

import (
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/store"
)

const (
	// farOffset is the number of skipped rows from which skipping counts as work of its own.
	farOffset = 10_000
	// smallShape is the largest number of positions of a literal that is as cheap to compare with as a box.
	smallShape = 16
)

// Cost returns the class of a query over the rows of s, whose feature id is in the column key, not quoted.
func Cost(d Dialect, s *Source, key string, q store.Query) store.Cost {
	c := &coster{d: d, src: s, key: key}
	cost := store.CostPage
	if q.Filter != nil {
		if cost = store.CostScan; c.served(q.Filter) {
			cost = store.CostIndexed
		}
	}
	if q.Filter == nil && len(q.SortBy) > 0 {
		if cost = store.CostScan; c.ordered(q.SortBy) {
			cost = store.CostIndexed
		}
	}
	if q.Offset > farOffset {
		cost = max(cost, store.CostScan)
	}
	if shapes(q.Filter) {
		cost = store.CostGeometry
	}
	return cost
}

// shapes reports whether e compares geometries with each other: with a literal of more than a few positions,
// or by a predicate that needs the intersections of all their edges.
func shapes(e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.And:
		return slices.ContainsFunc(e, shapes)
	case cql2.Or:
		return slices.ContainsFunc(e, shapes)
	case cql2.Not:
		return shapes(e.X)
	case cql2.Spatial:
		return !isPoint(e.L) && !isPoint(e.R) && !(e.Op == cql2.SIntersects && (isSmall(e.L) || isSmall(e.R)))
	}
	return false
}

func isPoint(e cql2.Expr) bool {
	g, ok := e.(cql2.Geom)
	if !ok {
		return false
	}
	_, ok = g.G.(orb.Point)
	return ok
}

// isSmall reports whether e is a literal with a few positions.
func isSmall(e cql2.Expr) bool {
	g, ok := e.(cql2.Geom)
	if !ok {
		return false
	}
	switch g := g.G.(type) {
	case orb.LineString:
		return len(g) <= smallShape
	case orb.Polygon:
		return len(g) == 1 && len(g[0]) <= smallShape
	}
	return false
}

// coster decides which conditions an index serves.
type coster struct {
	d   Dialect
	src *Source
	key string // column of the feature id
}

// indexed reports whether an index begins with the values of a property in the compared form.
func (c *coster) indexed(name string) bool {
	f := c.src.Fields[name]
	if f == nil || !f.IsColumn() || f.Column != c.key && !c.src.Indexed[f.Column] && f.Indexes&IndexCodePoint == 0 {
		return false
	}
	return c.d.Normal("", f) == "" || f.Type == cql2.TypeTimestamp && f.Layout != "" || f.Indexes&IndexCodePoint != 0
}

// ranged reports whether an index serves a comparison of a property with a literal in terms of the stored column. A
// timestamp is also a bound for dates.
func (c *coster) ranged(x cql2.Expr, op string, literal cql2.Expr) bool {
	p, isProp := x.(cql2.Prop)
	if !isProp || !isLiteral(literal) {
		return false
	}
	f := c.src.Fields[p.Name]
	if f == nil || !f.IsColumn() || f.Column != c.key && !c.src.Indexed[f.Column] && f.Indexes == 0 {
		return false
	}
	if t, ok := literal.(cql2.Timestamp); ok && f.Type == cql2.TypeDate {
		literal = cql2.Date(t)
	}
	vs, ok := (&compiler{d: c.d, src: c.src, alias: "t", depth: new(int)}).values(x, literal)
	if !ok || len(vs[1].args) != 1 {
		return false
	}
	_, _, ok = c.d.Range("", f, op, vs[1].args[0])
	return ok
}

// ordered reports whether an index returns rows in that order.
func (c *coster) ordered(keys []store.Sort) bool {
	f := c.src.Fields[keys[0].Property]
	return len(keys) == 1 && !keys[0].Norwegian && f != nil && !f.Nulls && c.indexed(keys[0].Property)
}

// served reports whether an index returns the rows that may match e.
func (c *coster) served(e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.And:
		return slices.ContainsFunc(e, c.served)
	case cql2.Or:
		return !slices.ContainsFunc(e, func(x cql2.Expr) bool { return !c.served(x) })
	case cql2.Bool:
		return !bool(e)
	case cql2.Compare:
		return e.Op != cql2.Ne && (c.operand(e.L) && isLiteral(e.R) || c.operand(e.R) && isLiteral(e.L) ||
			c.ranged(e.L, string(e.Op), e.R) || c.ranged(e.R, string(e.Op.Turned()), e.L)) ||
			e.Op == cql2.Eq && (c.findsID(e.L, e.R) || c.findsID(e.R, e.L))
	case cql2.Between:
		return c.operand(e.X) && isLiteral(e.Lo) && isLiteral(e.Hi) || c.ranged(e.X, ">=", e.Lo) && c.ranged(e.X,
			"<=", e.Hi)
	case cql2.In:
		return c.operand(e.X) && !slices.ContainsFunc(e.List, func(x cql2.Expr) bool { return !isLiteral(x) }) ||
			!slices.ContainsFunc(e.List, func(x cql2.Expr) bool { return !c.ranged(e.X, "=", x) }) ||
			!slices.ContainsFunc(e.List, func(x cql2.Expr) bool { return !c.findsID(e.X, x) })
	case cql2.Interval:
		return e.From != nil && e.To != nil && e.Start == e.End && len(e.Also) == 0 &&
			c.ranged(cql2.Prop{Name: e.Start}, ">=", cql2.Timestamp{T: *e.From}) &&
			c.ranged(cql2.Prop{Name: e.Start}, "<=", cql2.Timestamp{T: *e.To})
	case cql2.Like:
		return c.like(e)
	case cql2.BBox, cql2.Spatial:
		g := c.src.Geometry
		if g == nil || !g.Indexed {
			return false
		}
		_, ok := cql2.Extent(e, g.Name, g.CRS)
		return ok
	case cql2.Search:
		return c.search(e)
	case cql2.Related:
		r := c.src.Relations[e.Relation]
		return r != nil && (&coster{d: c.d, src: &r.Source}).served(e.X)
	}
	return false
}

// operand reports whether an index holds the operand of a comparison: a property, or its search columns.
func (c *coster) operand(e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.Prop:
		return c.indexed(e.Name)
	case cql2.Func:
		s := c.folded(e)
		return e.Name == "norm" && s.Norm != "" || e.Name == "exact" && s.Exact != ""
	}
	return false
}

// folded returns the search columns of a folded property if all of them have an index.
func (c *coster) folded(e cql2.Expr) (s SearchColumns) {
	f, ok := e.(cql2.Func)
	if !ok || len(f.Args) != 1 {
		return s
	}
	p, ok := f.Args[0].(cql2.Prop)
	if !ok || c.src.Fields[p.Name] == nil {
		return s
	}
	return c.src.Fields[p.Name].Search
}

func (c *coster) like(e cql2.Like) bool {
	pattern, ok := PatternText(e.Pattern)
	if !ok {
		return false
	}
	p, ok := SplitPattern(pattern)
	if !ok {
		return false
	}
	if f, is := e.X.(cql2.Func); is {
		s := c.folded(f)
		return f.Name == "norm" && s.Norm != "" && (p.Prefix != "" || p.Suffix != "" && s.Rev != "" ||
			len(p.Longest) >= 3)
	}
	if c.ranged(e.X, "LIKE", cql2.Text(pattern)) {
		return true
	}
	if x, is := e.X.(cql2.Prop); is && p.Prefix != "" && c.src.Fields[x.Name] != nil &&
		c.src.Fields[x.Name].Indexes&IndexPattern != 0 {
		return true
	}
	return p.Prefix != "" && c.operand(e.X)
}

// search reports whether an index of words, or of folded texts, serves the parameter q.
func (c *coster) search(s cql2.Search) bool {
	if w := c.src.Words; w != nil && slices.Equal(w.Props, s.Props) {
		return true
	}
	return len(s.Props) > 0 && !slices.ContainsFunc(s.Props, func(p string) bool {
		f := c.src.Fields[p]
		return f == nil || f.Search.Norm == ""
	})
}

// isLiteral reports whether e is the same for every row.
func isLiteral(e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.Text, cql2.Int, cql2.Number, cql2.Decimal, cql2.Bool, cql2.Date, cql2.Timestamp:
		return true
	case cql2.Func:
		_, ok := LiteralText(e)
		return ok
	}
	return false
}
