package cql2

import (
	"fmt"
	"strings"
	"time"

	"grense/internal/cql2/fold"
	"grense/internal/problem"
)

// RelationSchema is a Schema with relations. Without it, Check leaves Related unchecked.
type RelationSchema interface {
	Schema
	// Relation returns the columns of a relation. ok is false if there is none of that name.
	Relation(name string) (Schema, bool)
}

// Check resolves a tree against a schema and returns the tree to be compiled; e itself is not changed. It
//   - refuses wrong arguments, unknown properties and functions, and coordinates outside their CRS;
//   - sets the type of each Prop;
//   - casts literals to the type they are compared with: '2024-02-29' becomes Date for a date; for timestamps it
//     becomes the first moment of the day, or the whole day in temporal functions;
//   - reads "a" in an array as a string if it is quoted and no property has that name;
//   - lets a text literal with =, <>, IN or LIKE match its composed and its decomposed form (NFC, NFD).
//
// An error is a *problem.Error with all faults; Locate adds line and column.
func Check(e Expr, s Schema) (Expr, error) {
	c := &checker{s: s}
	e = c.condition(e)
	if len(c.faults) > 0 {
		return nil, &problem.Error{Kind: problem.Invalid, Faults: c.faults}
	}
	return e, nil
}

// kind is what Check knows of a value.
type kind uint8

const (
	kindAny kind = iota // unknown, after a fault
	kindText
	kindNumber
	kindBool
	kindDate
	kindTimestamp
	kindSpan
	kindGeometry
	kindArray
)

var kindNames = [...]string{"anything", "text", "a number", "a boolean", "a date", "a timestamp", "an interval",
	"a geometry", "an array"}

func (k kind) said() problem.Saying { return problem.Sayf(kindNames[k]) }

func (k kind) temporal() bool { return k == kindDate || k == kindTimestamp || k == kindSpan }

func kindOf(t Type) kind {
	switch t {
	case TypeText:
		return kindText
	case TypeInteger, TypeNumber:
		return kindNumber
	case TypeBool:
		return kindBool
	case TypeDate:
		return kindDate
	case TypeTimestamp:
		return kindTimestamp
	case TypeGeometry:
		return kindGeometry
	case TypeJSON:
		return kindArray
	}
	panic(fmt.Sprintf("cql2: kind of type %d", t))
}

type checker struct {
	s      Schema
	names  []string // names in s; see nameList
	faults []problem.Fault
}

// fault records an error in e. Its position is the first property in e that was parsed.
func (c *checker) fault(e Expr, token, cure string, a ...any) {
	c.say(e, token, problem.Sayf(cure, a...))
}

// say is fault for a message that is already formatted.
func (c *checker) say(e Expr, token string, said problem.Saying) {
	f := problem.Fault{In: "query", Param: "filter", Value: clip(token), Cure: said.String(), Said: said}
	Walk(e, func(x Expr) bool {
		if p, ok := x.(Prop); ok && f.Pos == 0 {
			f.Pos = p.Pos
		}
		return f.Pos == 0
	})
	c.faults = append(c.faults, f)
}

// condition checks a predicate.
func (c *checker) condition(e Expr) Expr {
	switch e := e.(type) {
	case And:
		return And(c.each(e, c.condition))
	case Or:
		return Or(c.each(e, c.condition))
	case Not:
		return Not{c.condition(e.X)}
	case Compare:
		x := c.alike(e, e.L, e.R)
		return compareForms(Compare{e.Op, x[0], x[1]})
	case Like:
		return likeForms(Like{c.want(e.X, kindText), c.pattern(e.Pattern)})
	case Between:
		x := c.alike(e, e.X, e.Lo, e.Hi)
		return Between{x[0], x[1], x[2]}
	case In:
		x := c.alike(e, append([]Expr{e.X}, e.List...)...)
		return inForms(In{x[0], x[1:]})
	case IsNull:
		if isCondition(e.X) {
			return IsNull{c.condition(e.X)}
		}
		x, _ := c.operand(e.X)
		return IsNull{x}
	case Spatial:
		return Spatial{e.Op, c.want(e.L, kindGeometry), c.want(e.R, kindGeometry)}
	case Temporal:
		return c.temporal(e)
	case Array:
		return Array{e.Op, c.array(e.L), c.array(e.R)}
	case BBox:
		if p, k := c.prop(Prop{Name: e.Prop}); k != kindGeometry && k != kindAny {
			c.fault(p, e.Prop, "'%s' is %s, not a geometry", e.Prop, k.said())
		}
		return e
	case Interval:
		for _, name := range e.Props() {
			c.moment(name)
		}
		return e
	case Search:
		for _, name := range e.Props {
			c.want(Prop{Name: name}, kindText)
		}
		return e
	case Related:
		return c.related(e)
	}
	return c.want(e, kindBool)
}

func (c *checker) each(list []Expr, part func(Expr) Expr) []Expr {
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = part(e)
	}
	return out
}

// moment checks a property of Interval.
func (c *checker) moment(name string) {
	if p, k := c.prop(Prop{Name: name}); !k.temporal() && k != kindAny {
		c.fault(p, name, "'%s' is %s, not a date or a timestamp", name, k.said())
	}
}

func (c *checker) related(e Related) Expr {
	s, ok := c.s.(RelationSchema)
	if !ok {
		return e
	}
	columns, ok := s.Relation(e.Relation)
	if !ok {
		c.fault(e, e.Relation, "there is no relation '%s'", e.Relation)
		return e
	}
	inner := &checker{s: columns}
	x := inner.condition(e.X)
	c.faults = append(c.faults, inner.faults...)
	return Related{e.Relation, x}
}

// operand checks a value and returns its kind.
func (c *checker) operand(e Expr) (Expr, kind) {
	switch e := e.(type) {
	case Prop:
		return c.prop(e)
	case Text:
		return e, kindText
	case Number, Int, Decimal:
		return e, kindNumber
	case Bool:
		return e, kindBool
	case Date:
		return e, kindDate
	case Timestamp:
		return e, kindTimestamp
	case Span:
		return c.span(e), kindSpan
	case Geom:
		c.vertices(e)
		return e, kindGeometry
	case List:
		return List(c.each(e, c.element)), kindArray
	case Func:
		return c.function(e)
	case Arith:
		return Arith{e.Op, c.want(e.L, kindNumber), c.want(e.R, kindNumber)}, kindNumber
	}
	c.fault(e, "", "a value is expected, not a condition")
	return e, kindAny
}

// prop looks up a property. Only our own code, which gives no position, can name a hidden one.
func (c *checker) prop(p Prop) (Expr, kind) {
	if s, ok := c.s.(AliasedSchema); ok {
		p.Name = s.Canonical(p.Name)
	}
	t, ok := c.s.Property(p.Name)
	if ok && p.Pos > 0 && !contains(c.nameList(), p.Name) {
		ok = false
	}
	if !ok {
		c.fault(p, p.Name, "no property '%s'%s", clip(p.Name), suggest(p.Name, c.s.Names(), "; properties are %s"))
		return p, kindAny
	}
	p.Type = t
	return p, kindOf(t)
}

// nameList returns the names in the schema and caches them.
func (c *checker) nameList() []string {
	if c.names == nil {
		c.names = c.s.Names()
	}
	return c.names
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// want checks a value that must have the kind want.
func (c *checker) want(e Expr, want kind) Expr {
	x, k := c.operand(e)
	if k == want || k == kindAny {
		return x
	}
	if y, ok := c.cast(x, k, want); ok {
		return y
	}
	c.fault(e, show(e), "%s is %s; expected %s", clip(show(e)), k.said(), want.said())
	return x
}

// show returns the text of a value for a message.
func show(e Expr) string {
	if p, ok := e.(Prop); ok {
		return "'" + p.Name + "'"
	}
	return FormatText(e)
}

// alike checks values that are compared with each other. The first value that is not a literal decides the kind;
// without one, the first value does.
func (c *checker) alike(whole Expr, list ...Expr) []Expr {
	out, kinds := make([]Expr, len(list)), make([]kind, len(list))
	rule := -1
	for i, e := range list {
		if out[i], kinds[i] = c.operand(e); kinds[i] == kindAny {
			return c.rest(out, list, i+1)
		}
		if rule < 0 && !isLiteral(e) {
			rule = i
		}
	}
	if rule < 0 {
		rule = strongest(kinds)
	}
	k := kinds[rule]
	if k == kindGeometry || k == kindArray || k == kindSpan {
		c.fault(whole, show(list[rule]), "%s is %s, which this operator does not compare%s", clip(show(list[rule])),
			k.said(), problem.Sayf(otherWay(k)))
		return out
	}
	for i, e := range list {
		if kinds[i] == k || kinds[i].temporal() && k.temporal() && kinds[i] != kindSpan && !isLiteral(e) {
			continue
		}
		x, ok := c.cast(out[i], kinds[i], k)
		if !ok {
			c.say(whole, show(e), mismatch(e, kinds[i], list[rule], k))
			return c.rest(out, list, len(list))
		}
		out[i] = x
	}
	return out
}

// rest checks the values after a wrong one for faults of their own.
func (c *checker) rest(out, list []Expr, from int) []Expr {
	for i := from; i < len(list); i++ {
		out[i], _ = c.operand(list[i])
	}
	return out
}

// strongest returns the index of the first kind other than text. Text can be cast to it.
func strongest(kinds []kind) int {
	for i, k := range kinds {
		if k != kindText {
			return i
		}
	}
	return 0
}

func otherWay(k kind) string {
	switch k {
	case kindGeometry:
		return "; use a spatial function such as S_EQUALS"
	case kindArray:
		return "; use an array function such as A_CONTAINS"
	}
	return "; use a temporal function such as T_DURING"
}

// quoteCure is the cure for a number that is compared with a text.
// Locate inserts the number as it is written in the source.
const quoteCure = "%s is text; write '%s' in single quotes"

// mismatch returns the message for two values of different kinds, with the cure.
func mismatch(e Expr, k kind, ruler Expr, want kind) problem.Saying {
	if want == kindText && k == kindNumber && isLiteral(e) {
		return problem.Sayf(quoteCure, clip(show(ruler)), FormatText(e))
	}
	if day := unquotedDay(e); want.temporal() && day != "" {
		return problem.Sayf("%s is %s; write DATE('%s')", clip(show(ruler)), want.said(), day)
	}
	if day := unquotedDay(ruler); k.temporal() && day != "" {
		return problem.Sayf("%s is %s; write DATE('%s')", clip(show(e)), k.said(), day)
	}
	return problem.Sayf("%s is %s and cannot be compared with %s, which is %s", clip(show(ruler)), want.said(),
		clip(show(e)), k.said())
}

// unquotedDay returns a date that was written without quotes, which parses as two subtractions, or "".
func unquotedDay(e Expr) string {
	outer, _ := e.(Arith)
	inner, _ := outer.L.(Arith)
	year, ok1 := inner.L.(Int)
	month, ok2 := inner.R.(Int)
	day, ok3 := outer.R.(Int)
	text := fmt.Sprintf("%04d-%02d-%02d", year, month, day)
	if _, ok := parseDate(text); !ok || !ok1 || !ok2 || !ok3 || outer.Op != Sub || inner.Op != Sub {
		return ""
	}
	return text
}

func isLiteral(e Expr) bool {
	switch e.(type) {
	case Text, Number, Int, Decimal, Bool, Date, Timestamp, Geom:
		return true
	}
	return false
}

// cast turns a literal of one kind into one of another.
func (c *checker) cast(e Expr, from, to kind) (Expr, bool) {
	if from == to {
		return e, true
	}
	switch x := e.(type) {
	case Text:
		return c.castText(string(x), to)
	case Int: // GDAL writes booleans as numbers
		if to == kindBool && (x == 0 || x == 1) {
			return Bool(x == 1), true
		}
	case Date:
		if to == kindTimestamp {
			return Timestamp(x), true
		}
	case Timestamp:
		if to == kindDate { // no date equals it, but dates come before and after it
			return x, true
		}
	}
	return nil, false
}

func (c *checker) castText(s string, to kind) (Expr, bool) {
	switch to {
	case kindDate, kindTimestamp:
		x := instantLiteral(clientMoment(s), c.zone())
		if d, ok := x.(Date); ok && to == kindTimestamp {
			return Timestamp(d), true
		}
		return x, x != nil
	case kindNumber:
		return ParseNumber(s)
	case kindBool:
		if t := strings.ToLower(s); t == "true" || t == "false" {
			return Bool(t == "true"), true
		}
	}
	return nil, false
}

// zone returns the time zone of date-times without one. nil means UTC.
func (c *checker) zone() *time.Location {
	if s, ok := c.s.(ZonedSchema); ok {
		return s.Zone()
	}
	return nil
}

// clientMoment converts moments as clients write them (GDAL: "2023-12-18T", "2023/12/18 10:13:19") to RFC 3339,
// with or without a zone. It returns any other text unchanged.
func clientMoment(s string) string {
	if len(s) < len(dateLayout) {
		return s
	}
	d, rest := s[:len(dateLayout)], s[len(dateLayout):]
	if d[4] == '/' && d[7] == '/' {
		d = d[:4] + "-" + d[5:7] + "-" + d[8:]
	}
	if _, ok := parseDate(d); !ok || len(rest) > 0 && rest[0] != 'T' && rest[0] != 't' && rest[0] != ' ' {
		return s
	}
	if len(rest) <= 1 {
		return d
	}
	return d + "T" + rest[1:]
}

// pattern checks the pattern of LIKE: a string, or a folding function of one.
func (c *checker) pattern(e Expr) Expr {
	switch x := e.(type) {
	case Text:
		return x
	case Func:
		if _, folds := fold.Apply(x.Name, ""); folds && len(x.Args) == 1 {
			return Func{x.Name, []Expr{c.pattern(x.Args[0])}}
		}
	}
	c.fault(e, show(e), "the pattern of LIKE is a string, or CASEI or ACCENTI of one")
	return e
}

// function checks a call.
func (c *checker) function(e Func) (Expr, kind) {
	f := findFunction(e.Name)
	if f == nil {
		c.fault(e, e.Name, "no function '%s'%s", clip(e.Name), suggest(e.Name, functionNames(), "; functions are %s"))
		return e, kindAny
	}
	if len(f.Args) != len(e.Args) {
		c.fault(e, e.Name, "the function '%s' takes %d arguments, not %d", f.Name, len(f.Args), len(e.Args))
		return e, kindAny
	}
	args := make([]Expr, len(e.Args))
	for i, a := range e.Args {
		args[i] = c.argument(f, i, a)
	}
	return Func{e.Name, args}, kindOf(f.Returns)
}

func (c *checker) argument(f *Function, i int, e Expr) Expr {
	want := kindOf(f.Args[i])
	if want != kindTimestamp {
		return c.want(e, want)
	}
	x, k := c.operand(e)
	if k == kindDate || k == kindTimestamp || k == kindAny {
		return x
	}
	if y, ok := c.cast(x, k, kindTimestamp); ok {
		return y
	}
	c.fault(e, show(e), "%s is %s; '%s' takes a date or a timestamp", clip(show(e)), k.said(), f.Name)
	return x
}

func functionNames() []string {
	names := []string{"casei", "accenti"}
	for _, f := range Functions {
		names = append(names, f.Name)
	}
	for op := range jsonArity {
		if strings.Contains(op, "_") {
			names = append(names, op)
		}
	}
	return names
}
