package sqlq

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
)

// compiler compiles conditions over the rows of one table with an alias.
type compiler struct {
	d     Dialect
	src   *Source
	alias string
	depth *int        // number of aliases given to relations so far
	neg   bool        // the condition is needed for false, so false and null must differ
	ascii *[]Fragment // texts that must be ASCII for the condition to be exact; nil: none allowed
	plain bool        // conditions are tested row by row, so no lists are built
	three bool        // false and null must differ on both sides of a NOT
}

// bound returns a condition for "e has the truth value want". With upper it holds whenever e has it;
// otherwise it holds only if e has it. If SQL can express e, both are the same.
func (c *compiler) bound(e cql2.Expr, want, upper bool) Fragment {
	c.neg = !want
	if f, ok := c.exact(e); ok {
		if want {
			return f
		}
		return not(f)
	}
	return c.inexact(e, want, upper)
}

// inexact is bound for an e that SQL cannot express.
func (c *compiler) inexact(e cql2.Expr, want, upper bool) Fragment {
	switch e := e.(type) {
	case cql2.And:
		return c.all(e, want, upper, want)
	case cql2.Or:
		return c.all(e, want, upper, !want)
	case cql2.Not:
		return c.bound(e.X, !want, upper)
	case cql2.BBox:
		if f, ok := c.box(e, want == upper); ok {
			if want {
				return f
			}
			return not(f)
		}
	case cql2.Search:
		if f, ok := c.searchBound(e, want == upper); ok {
			if want {
				return paren(f)
			}
			return not(f)
		}
	case cql2.Compare, cql2.Between, cql2.In, cql2.Like:
		if f, ok := c.plainly(e, want, upper); ok {
			return f
		}
	case cql2.Spatial:
		if want && upper {
			if f, ok := c.spatial(e); ok {
				return f
			}
		}
	case cql2.Related:
		f := c.related(e, func(c *compiler, x cql2.Expr) Fragment { return c.bound(x, true, want == upper) })
		if want {
			return f
		}
		return not(f)
	}
	return c.constant(upper)
}

// plainly returns bounds of a comparison of folded texts. They are exact for ASCII texts, and decide nothing about
// others.
func (c *compiler) plainly(e cql2.Expr, want, upper bool) (Fragment, bool) {
	sub := *c
	sub.ascii = new([]Fragment)
	f, ok := sub.exact(e)
	if !ok || len(*sub.ascii) == 0 {
		return Fragment{}, false
	}
	if !want {
		f = not(f)
	}
	plain := c.join(*sub.ascii, true)
	if upper {
		f = Cat(not(plain), Ident(" OR ("), f, Ident(")"))
		if begins, ok := c.beginsFolded(e); ok && want {
			f = Join(" AND ", paren(begins), paren(f))
		}
		return f, true
	}
	return Cat(paren(plain), Ident(" AND ("), f, Ident(")")), true
}

func (c *compiler) constant(v bool) Fragment { return Ident(c.d.Bool(v)) }

// all joins the bounds of xs by AND or OR.
func (c *compiler) all(xs []cql2.Expr, want, upper, and bool) Fragment {
	fs := make([]Fragment, len(xs))
	for i, x := range xs {
		fs[i] = c.bound(x, want, upper)
	}
	return c.join(fs, and)
}

// maxJoin is the largest number of conditions in a chain; SQLite parses a chain of n as an expression of depth n.
const maxJoin = 64

func (c *compiler) join(fs []Fragment, and bool) Fragment {
	if len(fs) == 0 {
		return c.constant(and)
	}
	if len(fs) == 1 {
		return fs[0]
	}
	if len(fs) > maxJoin { // databases limit the depth of an expression
		half := len(fs) / 2
		fs = []Fragment{c.join(fs[:half], and), c.join(fs[half:], and)}
	}
	for i := range fs {
		fs[i] = paren(fs[i])
	}
	if and {
		return Join(" AND ", fs...)
	}
	return Join(" OR ", fs...)
}

// exact returns a condition with the same truth value as e in three-valued logic; ok is false if SQL has none.
func (c *compiler) exact(e cql2.Expr) (Fragment, bool) {
	switch e := e.(type) {
	case cql2.And:
		return c.exactAll(e, true)
	case cql2.Or:
		return c.exactAll(e, false)
	case cql2.Not:
		c.neg = !c.neg
		f, ok := c.exact(e.X)
		c.neg = !c.neg
		return not(f), ok
	case cql2.Bool:
		return c.constant(bool(e)), true
	case cql2.Prop:
		v, ok := c.value(e)
		if !ok || v.typ != cql2.TypeBool {
			return Fragment{}, false
		}
		return Cat(v.Fragment, SQL(" = "), c.constant(true)), true
	case cql2.Compare:
		return c.compare(e.Op, e.L, e.R)
	case cql2.Between:
		return c.between(e)
	case cql2.In:
		return c.in(e)
	case cql2.IsNull:
		return c.isNull(e)
	case cql2.Like:
		return c.like(e)
	case cql2.Interval:
		return c.interval(e)
	case cql2.Search:
		return c.words(e)
	case cql2.Related:
		return c.exactRelated(e)
	case cql2.BBox, cql2.Spatial, cql2.Temporal, cql2.Array, cql2.Func:
		return Fragment{}, false
	}
	panic(fmt.Sprintf("sqlq: %T is no predicate", e))
}

func (c *compiler) exactAll(xs []cql2.Expr, and bool) (Fragment, bool) {
	fs := make([]Fragment, len(xs))
	for i, x := range xs {
		var ok bool
		if fs[i], ok = c.exact(x); !ok {
			return Fragment{}, false
		}
	}
	return c.join(fs, and), true
}

func (c *compiler) compare(op cql2.CompareOp, l, r cql2.Expr) (Fragment, bool) {
	if f, ok := c.compareID(op, l, r); ok {
		return f, true
	}
	if f, ok := c.compareFolded(op, l, r); ok {
		return f, true
	}
	vs, ok := c.values(l, r)
	if !ok || vs[0].typ == cql2.TypeBool && op != cql2.Eq && op != cql2.Ne {
		return Fragment{}, false
	}
	if isNumber(vs[0].typ) {
		return c.compareNumbers(op, l, r, vs[0], vs[1])
	}
	f := Join(" "+string(op)+" ", vs[0].Fragment, vs[1].Fragment)
	if isLiteral(l) {
		l, r, vs[1], op = r, l, vs[0], op.Turned()
	}
	return c.within(f, l, bound1(string(op), r, vs[1])), true
}

func (c *compiler) between(e cql2.Between) (Fragment, bool) {
	vs, ok := c.values(e.X, e.Lo, e.Hi)
	if !ok {
		return Fragment{}, false
	}
	if isNumber(vs[0].typ) {
		return c.betweenNumbers(e, vs[0], vs[1], vs[2])
	}
	f := Cat(vs[0].Fragment, Ident(" BETWEEN "), vs[1].Fragment, Ident(" AND "), vs[2].Fragment)
	return c.within(f, e.X, bound1(">=", e.Lo, vs[1]), bound1("<=", e.Hi, vs[2])), true
}

func (c *compiler) in(e cql2.In) (Fragment, bool) {
	if len(e.List) == 0 {
		return Fragment{}, false
	}
	if f, ok := c.oneOfIDs(e.X, e.List); ok {
		return f, true
	}
	if f, ok := c.oneOfFolded(e.X, e.List); ok {
		return f, true
	}
	vs, ok := c.values(append([]cql2.Expr{e.X}, e.List...)...)
	if !ok {
		return Fragment{}, false
	}
	if isNumber(vs[0].typ) {
		return c.inNumbers(e, vs[0], vs[1:])
	}
	list := make([]Fragment, len(e.List))
	for i, v := range vs[1:] {
		list[i] = v.Fragment
	}
	f := Cat(vs[0].Fragment, Ident(" IN "), paren(Join(", ", list...)))
	if len(vs) == 2 {
		return c.within(f, e.X, bound1("=", e.List[0], vs[1])), true
	}
	return c.within(f, e.X, bounding{"IN", e.List, vs[1:]}), true
}

func (c *compiler) isNull(e cql2.IsNull) (Fragment, bool) {
	if p, ok := e.X.(cql2.Prop); ok {
		if g := c.src.Geometry; g != nil && p.Name == g.Name {
			return c.d.Missing(c.alias, g), true
		}
		if f := c.src.Fields[p.Name]; f != nil && f.Path == nil {
			return Cat(c.column(f), Ident(" IS NULL")), true
		}
	}
	if isPredicate(e.X) {
		neg, three := c.neg, c.three
		c.neg, c.three = true, true // false and null must differ
		f, ok := c.exact(e.X)
		c.neg, c.three = neg, three
		return Cat(paren(f), Ident(" IS NULL")), ok
	}
	v, ok := c.value(e.X)
	if !ok {
		return Fragment{}, false
	}
	return Cat(paren(v.Fragment), Ident(" IS NULL")), true
}

// isPredicate reports whether e can only be a truth value.
func isPredicate(e cql2.Expr) bool {
	switch e.(type) {
	case cql2.And, cql2.Or, cql2.Not, cql2.Compare, cql2.Like, cql2.Between, cql2.In, cql2.IsNull, cql2.Spatial,
		cql2.Temporal, cql2.Array,
		cql2.BBox, cql2.Interval, cql2.Search, cql2.Related:
		return true
	}
	return false
}

// interval compiles the parameter datetime. Features without a time match (OGC 17-069r4, 7.15.4); a null start or end
// is open.
func (c *compiler) interval(e cql2.Interval) (Fragment, bool) {
	for _, n := range e.Props() {
		if c.src.Fields[n] == nil {
			return Fragment{}, false
		}
	}
	if f, ok := c.during(e); ok {
		return f, true
	}
	var fs []Fragment
	for _, x := range []struct {
		name, op string
		t        *time.Time
	}{{e.End, " >= ", e.From}, {e.Start, " <= ", e.To}} {
		if x.t == nil {
			continue
		}
		f, ok := c.reach(e, x.name, x.op, *x.t)
		if !ok {
			return Fragment{}, false
		}
		fs = append(fs, f)
	}
	return c.join(fs, true), true
}

// reach tests one bound of an interval: name is the property whose null is open, or "".
// It is true or false, never null.
func (c *compiler) reach(e cql2.Interval, name, op string, t time.Time) (Fragment, bool) {
	names := e.Also
	if name != "" && !slices.Contains(names, name) {
		names = append(slices.Clip(names), name)
	}
	var some, none []Fragment
	for _, n := range names {
		f := c.src.Fields[n]
		v, ok := c.moment(f, t)
		if !ok {
			return Fragment{}, false
		}
		x, null := Cat(v[0], Ident(op), v[1]), Cat(c.column(f), Ident(" IS NULL"))
		if len(names) > 1 {
			x = Cat(x, Ident(" AND "), c.column(f), Ident(" IS NOT NULL"))
		}
		some = append(some, x)
		if name == "" || n == name {
			none = append(none, null)
		}
	}
	return c.join(append(some, c.join(none, true)), false), true
}

// moment returns a field and a moment in comparable forms: dates with the date of the moment in its own time zone.
func (c *compiler) moment(f *Field, t time.Time) (v [2]Fragment, ok bool) {
	switch f.Type {
	case cql2.TypeDate:
		return [2]Fragment{c.column(f),
			SQL("?", c.d.Day(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)))}, true
	case cql2.TypeTimestamp:
		col, layout := c.stampColumn(f, []time.Time{t})
		arg, ok := c.d.Stamp(t, layout)
		return [2]Fragment{col, SQL("?", arg)}, ok
	}
	return v, false
}

// box returns a bound of a BBox, which is never null: an upper one by envelopes that touch it, a lower one by envelopes
// inside it.
func (c *compiler) box(e cql2.BBox, upper bool) (Fragment, bool) {
	g := c.src.Geometry
	if g == nil || g.Name != e.Prop {
		return Fragment{}, false
	}
	if upper {
		boxes, ok := c.boxes(e, g)
		if !ok {
			return Fragment{}, false
		}
		return c.d.Touch(c.alias, g, boxes, true)
	}
	if !crs.Same(e.CRS, g.CRS) || e.Z != nil || e.Box.Min[0] > e.Box.Max[0] {
		return Fragment{}, false
	}
	return c.d.Inside(c.alias, g, e.Box)
}

// boxes returns boxes in the storage CRS. Every geometry that matches e touches one of them.
func (c *compiler) boxes(e cql2.BBox, g *Geometry) ([]orb.Bound, bool) {
	boxes, ok := cql2.Extent(e, g.Name, g.CRS)
	if !ok || crs.Same(e.CRS, g.CRS) {
		return boxes, ok
	}
	for i := range boxes {
		boxes[i] = boxes[i].Pad(g.Pad)
	}
	return boxes, !math.IsInf(g.Pad, 0)
}

// spatial returns an upper bound of a spatial predicate of the geometry and a literal, in the storage CRS. The vertices
// of the literal are transformed.
func (c *compiler) spatial(e cql2.Spatial) (Fragment, bool) {
	g := c.src.Geometry
	if g == nil {
		return Fragment{}, false
	}
	boxes, ok := cql2.Extent(e, g.Name, g.CRS)
	if !ok {
		return Fragment{}, false
	}
	return c.d.Touch(c.alias, g, boxes, false)
}

func (c *compiler) exactRelated(e cql2.Related) (Fragment, bool) {
	ok := false
	f := c.related(e, func(c *compiler, x cql2.Expr) (f Fragment) {
		f, ok = c.exact(x)
		return f
	})
	return f, ok
}

// related tests whether some row of the relation matches; it is never null. The list of owners is built once,
// from the relation's own indexes, so that a selective condition there drives the query.
func (c *compiler) related(e cql2.Related, where func(*compiler, cql2.Expr) Fragment) Fragment {
	r := c.src.Relations[e.Relation]
	if r == nil {
		panic("sqlq: no relation " + e.Relation) // built by our own code, not by a client
	}
	*c.depth++
	sub := &compiler{d: c.d, src: &r.Source, alias: "r" + strconv.Itoa(*c.depth), depth: c.depth, plain: c.plain}
	owner := sub.quoted(r.Owner)
	cond := where(sub, e.X)
	*c.depth--
	if c.plain {
		return Cat(Ident("EXISTS (SELECT 1 FROM "+r.Table+" AS "+sub.alias+" WHERE "+owner+" = "+c.quoted(r.Key)+
			" AND ("), cond, Ident("))"))
	}
	return Cat(Ident(c.quoted(r.Key)+" IS NOT NULL AND "+c.quoted(r.Key)+" IN (SELECT "+owner+" FROM "+r.Table+
		" AS "+sub.alias+
		" WHERE "+owner+" IS NOT NULL AND ("), cond, Ident("))"))
}

func (c *compiler) quoted(column string) string { return c.alias + "." + c.d.Quote(column) }

func (c *compiler) words(e cql2.Search) (Fragment, bool) { return c.d.Search(c.alias, c.src, e) }

func (c *compiler) searchBound(e cql2.Search, upper bool) (Fragment, bool) {
	return c.d.SearchBound(c.alias, c.src, e, upper)
}
