package cql2

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/geo/relate"
)

// FormatText prints e as CQL2 text. ParseTextIn in the same CRS reads it back into an equal tree.
// BBox, Interval, Search, Related and the functions norm and exact are not part of CQL2: they are printed as function
// calls that no parser accepts.
func FormatText(e Expr) string {
	p := &textPrinter{}
	p.expr(e)
	return p.String()
}

type textPrinter struct{ strings.Builder }

func (p *textPrinter) f(format string, a ...any) { fmt.Fprintf(p, format, a...) }

// list prints parts with a separator.
func (p *textPrinter) list(list []Expr, sep string, part func(Expr)) {
	for i, e := range list {
		if i > 0 {
			p.WriteString(sep)
		}
		part(e)
	}
}

// call prints a function.
func (p *textPrinter) call(name string, args ...Expr) {
	p.WriteString(name + "(")
	p.list(args, ",", p.expr)
	p.WriteString(")")
}

func (p *textPrinter) expr(e Expr) {
	switch e := e.(type) {
	case And:
		p.junction(e, " AND ", true)
	case Or:
		p.junction(e, " OR ", false)
	case Not:
		p.negation(e.X)
	case Compare:
		p.test(e.L, " "+string(e.Op)+" ")
		p.term(e.R, 1)
	case Like, Between, In, IsNull:
		p.predicate(e, "")
	case Spatial:
		p.call(strings.ToUpper(string(e.Op)), e.L, e.R)
	case Temporal:
		p.call(strings.ToUpper(string(e.Op)), e.L, e.R)
	case Array:
		p.call(strings.ToUpper(string(e.Op)), e.L, e.R)
	case BBox:
		p.bbox(e)
	case Interval:
		p.f("interval(%s,%s,%s,%s", quoteName(e.Start), quoteName(e.End), quoteTime(e.From), quoteTime(e.To))
		for _, name := range e.Also {
			p.f(",%s", quoteName(name))
		}
		p.WriteString(")")
	case Search:
		p.call("search", e.operands()...)
	case Related:
		p.f("related(%s,", quoteText(e.Relation))
		p.expr(e.X)
		p.WriteString(")")
	case Prop:
		p.WriteString(quoteName(e.Name))
	case Text:
		p.WriteString(quoteText(string(e)))
	case Number:
		p.WriteString(formatNumber(float64(e)))
	case Int:
		p.WriteString(strconv.FormatInt(int64(e), 10))
	case Decimal:
		p.WriteString(string(e))
	case Bool:
		p.WriteString(strings.ToUpper(strconv.FormatBool(bool(e))))
	case Date:
		p.f("DATE('%s')", e.T.Format(dateLayout))
	case Timestamp:
		p.f("TIMESTAMP('%s')", e.T.UTC().Format(timestampLayout))
	case Span:
		p.WriteString("INTERVAL(")
		p.end(e.Start)
		p.WriteString(",")
		p.end(e.End)
		p.WriteString(")")
	case Geom:
		p.geometry(e)
	case List:
		alone := len(e) == 1 && bracketed(e[0])
		p.WriteString("(")
		p.list(e, ",", func(x Expr) { p.brackets(x, alone) })
		p.WriteString(")")
	case Func:
		p.call(e.Name, e.Args...)
	case Arith:
		p.arith(e)
	default:
		panic(fmt.Sprintf("cql2: text of %T", e))
	}
}

// junction prints AND or OR. With fewer than two members it prints the member, or the text empty.
func (p *textPrinter) junction(list []Expr, sep string, empty bool) {
	switch len(list) {
	case 0:
		p.expr(Bool(empty))
	case 1:
		p.expr(list[0])
	default:
		p.list(list, sep, p.member)
	}
}

// member prints a part of a junction or a negation, in brackets if needed.
func (p *textPrinter) member(e Expr) {
	switch x := e.(type) {
	case And:
		p.brackets(e, len(x) != 0)
	case Or:
		p.brackets(e, len(x) != 0)
	case Not:
		p.brackets(e, true)
	default:
		p.expr(e)
	}
}

func (p *textPrinter) brackets(e Expr, yes bool) {
	if yes {
		p.WriteString("(")
	}
	p.expr(e)
	if yes {
		p.WriteString(")")
	}
}

func (p *textPrinter) negation(x Expr) {
	switch x.(type) {
	case Like, Between, In, IsNull:
		p.predicate(x, "NOT ")
	default:
		p.WriteString("NOT ")
		p.brackets(x, isCondition(x))
	}
}

// predicate prints a predicate that has a negated form.
func (p *textPrinter) predicate(e Expr, not string) {
	switch e := e.(type) {
	case Like:
		p.test(e.X, " "+not+"LIKE ")
		p.term(e.Pattern, 1)
	case Between:
		p.test(e.X, " "+not+"BETWEEN ")
		p.term(e.Lo, 1)
		p.WriteString(" AND ")
		p.term(e.Hi, 1)
	case In:
		p.test(e.X, " "+not+"IN (")
		p.list(e.List, ",", p.expr)
		p.WriteString(")")
	case IsNull:
		p.test(e.X, " IS "+not+"NULL")
	}
}

// test prints the left side of a predicate and its operator.
func (p *textPrinter) test(x Expr, op string) {
	p.term(x, 1)
	p.WriteString(op)
}

// binding is the precedence of the arithmetic operators.
var binding = map[ArithOp]int{Add: 1, Sub: 1, Mul: 2, Div: 2, IntDiv: 2, Mod: 2, Pow: 3}

// term prints an operand, in brackets if its precedence is below least.
func (p *textPrinter) term(e Expr, least int) {
	a, ok := e.(Arith)
	p.brackets(e, ok && binding[a.Op] < least || isCondition(e))
}

func (p *textPrinter) arith(e Arith) {
	b := binding[e.Op]
	left := b
	if e.Op == Pow {
		left++
	}
	p.term(e.L, left)
	p.WriteString(" " + string(e.Op) + " ")
	p.term(e.R, b+1)
}

// end prints an end of an interval.
func (p *textPrinter) end(e Expr) {
	switch e := e.(type) {
	case nil:
		p.WriteString("'..'")
	case Date:
		p.f("'%s'", e.T.Format(dateLayout))
	case Timestamp:
		p.f("'%s'", e.T.UTC().Format(timestampLayout))
	default:
		p.expr(e)
	}
}

func (p *textPrinter) bbox(e BBox) {
	p.f("bbox(%s,%s", quoteName(e.Prop), quoteText(e.CRS.String()))
	for _, v := range []float64{e.Box.Min[0], e.Box.Min[1], e.Box.Max[0], e.Box.Max[1]} {
		p.WriteString("," + coordinate(v))
	}
	if e.Z != nil {
		p.f(",%s,%s", coordinate(e.Z[0]), coordinate(e.Z[1]))
	}
	p.WriteString(")")
}

// geometry prints well-known text in the axis order of the CRS.
func (p *textPrinter) geometry(e Geom) {
	vertex := func(v orb.Point) {
		q := point(v[0], v[1], e.CRS)
		p.f("%s %s", coordinate(q[0]), coordinate(q[1]))
	}
	line := func(l orb.LineString) { printList(p, l, vertex) }
	polygon := func(g orb.Polygon) { printList(p, g, func(r orb.Ring) { line(orb.LineString(r)) }) }
	var shape func(orb.Geometry)
	shape = func(g orb.Geometry) {
		switch g := g.(type) {
		case orb.Point:
			p.WriteString("POINT")
			printList(p, []orb.Point{g}, vertex)
		case orb.LineString:
			p.WriteString("LINESTRING")
			line(g)
		case orb.Polygon:
			p.WriteString("POLYGON")
			polygon(g)
		case orb.MultiPoint:
			p.WriteString("MULTIPOINT")
			printList(p, g, func(v orb.Point) { printList(p, []orb.Point{v}, vertex) })
		case orb.MultiLineString:
			p.WriteString("MULTILINESTRING")
			printList(p, g, line)
		case orb.MultiPolygon:
			p.WriteString("MULTIPOLYGON")
			printList(p, g, polygon)
		case orb.Collection:
			p.WriteString("GEOMETRYCOLLECTION")
			printList(p, g, shape)
		case orb.Ring:
			shape(orb.Polygon{g})
		case orb.Bound:
			shape(relate.BoxGeometry(g))
		default:
			panic(fmt.Sprintf("cql2: text of %T", g))
		}
	}
	shape(e.G)
}

// printList prints items in brackets.
func printList[T any](p *textPrinter, list []T, item func(T)) {
	p.WriteString("(")
	for i, x := range list {
		if i > 0 {
			p.WriteString(",")
		}
		item(x)
	}
	p.WriteString(")")
}

// quoteName prints the name of a property, in double quotes where it could be read as something else.
func quoteName(s string) string {
	upper := strings.ToUpper(s)
	if isName(s) && !reserved[upper] && upper != "DIV" && upper != "DATE" && upper != "Z" {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

var textQuoter = strings.NewReplacer("'", "''", `\`, `\\`)

// quoteText prints a string.
func quoteText(s string) string { return "'" + textQuoter.Replace(s) + "'" }

// quoteTime prints a bound of Interval.
func quoteTime(t *time.Time) string {
	if t == nil {
		return "'..'"
	}
	return "'" + t.UTC().Format(timestampLayout) + "'"
}

// formatNumber prints a double so that it is read back as Number, not Int.
func formatNumber(v float64) string {
	s := strconv.FormatFloat(v, 'G', -1, 64)
	if math.Trunc(v) == v && !strings.ContainsAny(s, ".E") {
		s += ".0"
	}
	return s
}
