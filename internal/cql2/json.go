package cql2

import (
	"slices"
	"strings"
	"time"

	"grense/internal/geo/crs"
)

// ParseJSON parses CQL2 JSON (OGC 21-065r2, Annex C) whose geometries are in CRS84.
// An error is a *problem.Error with line, column and the offending token. The tree is not checked yet.
func ParseJSON(b []byte) (Expr, error) { return ParseJSONIn(b, crs.CRS84) }

// ParseJSONIn is ParseJSON for geometries in another CRS (parameter filter-crs), in that CRS's own axis order.
func ParseJSONIn(b []byte, in crs.ID) (Expr, error) { return Reading{CRS: in}.JSON(b) }

// JSON parses CQL2 JSON.
func (r Reading) JSON(b []byte) (Expr, error) {
	v, err := readJSON(b)
	if err != nil {
		return nil, err
	}
	p := &jsonParser{src: b, in: r.crs(), zone: r.Zone}
	e := p.condition(v)
	if p.err == nil {
		if _, depth := measure(e); depth > MaxDepth {
			p.fail(v, "the filter is nested more than %d deep", MaxDepth)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

// jsonParser turns JSON values into nodes. It keeps the first error and returns nil nodes after it.
type jsonParser struct {
	src             []byte
	in              crs.ID
	zone            *time.Location
	nodes, vertices int
	err             error
}

// fail records the first error.
func (p *jsonParser) fail(v *jsonValue, cure string, a ...any) Expr {
	if p.err == nil {
		r := jsonReader{src: p.src}
		p.err = r.fail(v.pos, cure, a...)
	}
	return nil
}

func (p *jsonParser) condition(v *jsonValue) Expr {
	e := p.expr(v)
	if p.err == nil && isOperand(e) {
		p.fail(v, "a condition is expected, not a value")
	}
	return e
}

func (p *jsonParser) operand(v *jsonValue) Expr {
	e := p.any(v)
	if p.err == nil && isCondition(e) {
		p.fail(v, "a value is expected, not a condition")
	}
	return e
}

// any parses a value or a condition.
func (p *jsonParser) any(v *jsonValue) Expr {
	e := p.expr(v)
	if _, list := e.(List); list {
		p.fail(v, "an array stands in array functions only")
	}
	return e
}

// array parses an operand of an array predicate.
func (p *jsonParser) array(v *jsonValue) Expr {
	if v.kind == 'a' {
		return p.expr(v)
	}
	return p.operand(v)
}

// list parses each value with part.
func (p *jsonParser) list(values []*jsonValue, part func(*jsonValue) Expr) []Expr {
	var list []Expr
	for _, v := range values {
		if list = append(list, part(v)); p.err != nil {
			return nil
		}
	}
	return list
}

// expr parses a value of any kind.
func (p *jsonParser) expr(v *jsonValue) Expr {
	if p.err != nil {
		return nil
	}
	if p.nodes++; p.nodes > MaxNodes {
		return p.fail(v, "the filter has more than %d operators, names and values", MaxNodes)
	}
	switch v.kind {
	case 's':
		return Text(v.text)
	case 'b':
		return Bool(v.truth)
	case 'n':
		e, ok := parseNumber(v.text)
		if !ok {
			return p.fail(v, "the number is beyond the range of a double")
		}
		return e
	case 'a':
		return append(List{}, p.list(v.values, p.expr)...)
	case 'o':
		return p.object(v)
	}
	return p.fail(v, `null is no value; write {"op":"isNull","args":[...]}`)
}

// objectMembers lists the members that an object may have, by the member that defines its meaning.
var objectMembers = []struct {
	key     string
	members []string
}{
	{"op", []string{"op", "args"}},
	{"property", []string{"property"}},
	{"type", []string{"type", "coordinates", "geometries", "bbox"}},
	{"date", []string{"date"}},
	{"timestamp", []string{"timestamp"}},
	{"interval", []string{"interval"}},
	{"bbox", []string{"bbox"}},
}

func (p *jsonParser) object(v *jsonValue) Expr {
	for _, o := range objectMembers {
		x := v.member(o.key)
		if x == nil {
			continue
		}
		for _, k := range v.keys {
			if !slices.Contains(o.members, k) {
				return p.fail(v, "an object with %q has no member %q", o.key, clip(k))
			}
		}
		switch o.key {
		case "op":
			return p.call(v, x)
		case "type":
			return p.geometry(v)
		case "interval":
			return p.span(x)
		case "bbox":
			return p.box(x)
		}
		return p.word(o.key, x)
	}
	return p.fail(v,
		`expected an object with one of "op", "property", "type", "bbox", "date", "timestamp" and "interval"`)
}

// word parses an object whose value is one string.
func (p *jsonParser) word(key string, x *jsonValue) Expr {
	if x.kind != 's' {
		return p.fail(x, "the value of %q is a string", key)
	}
	if key == "property" {
		if x.text == "" {
			return p.fail(x, "the name of a property is not empty")
		}
		return Prop{Name: x.text, Pos: x.pos + 1}
	}
	if key == "date" {
		if at, ok := parseDate(x.text); ok {
			return Date{at}
		}
		return p.fail(x, `expected a date such as "2024-02-29"`)
	}
	if at, ok := parseTimestampIn(x.text, p.zone); ok {
		return Timestamp{at}
	}
	return p.fail(x, `expected a timestamp such as "2024-02-29T12:30:00Z"`)
}

// span parses the value of "interval".
func (p *jsonParser) span(x *jsonValue) Expr {
	if x.kind != 'a' || len(x.values) != 2 {
		return p.fail(x, "an interval is an array of its start and its end")
	}
	var ends [2]Expr
	for i, v := range x.values {
		switch {
		case v.kind == 's' && v.text == "..":
		case v.kind == 's':
			if ends[i] = instantLiteral(v.text, p.zone); ends[i] == nil {
				return p.fail(v, `expected a date, a timestamp, ".." or a property in an interval`)
			}
			p.nodes++
		default:
			ends[i] = p.operand(v)
		}
	}
	return Span{ends[0], ends[1]}
}

// call parses an object with "op" and "args".
func (p *jsonParser) call(v, op *jsonValue) Expr {
	args := v.member("args")
	switch {
	case op.kind != 's':
		return p.fail(op, `the value of "op" is a string`)
	case args == nil:
		return p.fail(v, `an object with "op" needs "args"`)
	case args.kind != 'a':
		return p.fail(args, `the value of "args" is an array`)
	}
	name := strings.ToLower(op.text)
	if n, ok := jsonArity[name]; ok && len(args.values) != n && n > 0 ||
		(name == "and" || name == "or") && len(args.values) < 2 {
		if n == 0 {
			return p.fail(args, "%q takes at least 2 arguments, not %d", op.text, len(args.values))
		}
		return p.fail(args, "%q takes %d arguments, not %d", op.text, n, len(args.values))
	}
	return p.apply(op, name, args.values)
}

// jsonArity is the number of arguments of the operators. Comparison functions have 2.
var jsonArity = func() map[string]int {
	m := map[string]int{"not": 1, "like": 2, "between": 3, "in": 2, "isnull": 1, "casei": 1, "accenti": 1}
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "div", "^"} {
		m[op] = 2
	}
	for op := range spatialOps {
		m[op] = 2
	}
	for op := range temporalOps {
		m[op] = 2
	}
	for op := range arrayOps {
		m[op] = 2
	}
	return m
}()

// apply builds the node of an operator whose number of arguments is right.
func (p *jsonParser) apply(op *jsonValue, name string, args []*jsonValue) Expr {
	switch name {
	case "and":
		return And(p.list(args, p.condition))
	case "or":
		return Or(p.list(args, p.condition))
	case "not":
		return Not{p.condition(args[0])}
	case "isnull":
		return IsNull{p.any(args[0])}
	case "in":
		if args[1].kind != 'a' || len(args[1].values) == 0 {
			return p.fail(args[1], `the second argument of "in" is an array of at least one value`)
		}
		return In{p.operand(args[0]), p.list(args[1].values, p.operand)}
	}
	if jsonArity[name] == 0 {
		return p.function(op, name, args)
	}
	part := p.operand
	if arrayOps[name] != "" {
		part = p.array
	}
	x := p.list(args, part)
	if p.err != nil {
		return nil
	}
	switch {
	case isCompareOp(name):
		return Compare{CompareOp(name), x[0], x[1]}
	case name == "like":
		return Like{x[0], x[1]}
	case name == "between":
		return Between{x[0], x[1], x[2]}
	case name == "casei", name == "accenti":
		return Func{name, x}
	case spatialOps[name] != "":
		return Spatial{spatialOps[name], x[0], x[1]}
	case temporalOps[name] != "":
		return Temporal{temporalOps[name], x[0], x[1]}
	case arrayOps[name] != "":
		return Array{arrayOps[name], x[0], x[1]}
	}
	return Arith{ArithOp(name), x[0], x[1]}
}

func (p *jsonParser) function(op *jsonValue, name string, args []*jsonValue) Expr {
	if !isName(op.text) || ownFunctions[name] || reserved[strings.ToUpper(name)] || literalFunctions[name] {
		return p.fail(op, "there is no function %q", clip(op.text))
	}
	return Func{name, p.list(args, p.expr)}
}

// literalFunctions look like functions in text, but are literals.
var literalFunctions = map[string]bool{
	"date": true, "timestamp": true, "interval": true, "bbox": true, "point": true, "linestring": true, "polygon": true,
	"multipoint":      true,
	"multilinestring": true, "multipolygon": true, "geometrycollection": true, "div": true,
}
