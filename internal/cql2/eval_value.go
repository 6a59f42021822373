package cql2

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"grense/internal/cql2/fold"
	"grense/internal/geo/wkb"
)

// operandValue prepares an operand.
func operandValue(e Expr) value {
	switch e := e.(type) {
	case Prop:
		return propValue(e)
	case Text:
		return constant(string(e))
	case Number:
		return constant(float64(e))
	case Int:
		return constant(int64(e))
	case Decimal:
		return constant(ExactNumberOf(e))
	case Bool:
		return constant(bool(e))
	case Date:
		return constant(e.T)
	case Timestamp:
		return constant(e.T)
	case Span:
		return spanValue(e)
	case Geom:
		return constant(FormatText(e)) // only IS NULL and arrays get here
	case List:
		return listValue(e)
	case Func:
		return funcValue(e)
	case Arith:
		l, r := operandValue(e.L), operandValue(e.R)
		return func(rec Record) (any, error) {
			a, err := l(rec)
			if err != nil {
				return nil, err
			}
			b, err := r(rec)
			return calculate(e.Op, a, b), err
		}
	}
	panic(fmt.Sprintf("cql2: value of %T", e))
}

// comparand prepares an operand of a comparison. A literal keeps its decimal digits.
func comparand(e Expr) value {
	if n, ok := e.(Int); ok && n >= -maxExact && n <= maxExact {
		return operandValue(e)
	}
	if x := ExactNumberOf(e); x != nil {
		return constant(x)
	}
	return operandValue(e)
}

func constant(v any) value { return func(Record) (any, error) { return v, nil } }

// propValue reads a property by its type. A geometry has no value outside spatial predicates.
func propValue(p Prop) value {
	if p.Type == TypeGeometry {
		return constant(nil)
	}
	return func(r Record) (any, error) {
		v, err := r.Value(p.Name)
		if err != nil || v == nil {
			return nil, err
		}
		if d, ok := v.(Decimal); ok {
			return ExactNumberOf(d), nil
		}
		switch p.Type {
		case TypeDate, TypeTimestamp:
			if t, ok := toTime(v); ok {
				return t, nil
			}
			return nil, nil
		case TypeBool:
			if b, ok := toBool(v); ok {
				return b, nil
			}
			return nil, nil
		case TypeJSON:
			if s, ok := v.(string); ok {
				return fromJSON(s), nil
			}
		}
		return v, nil
	}
}

// fromJSON parses JSON text. It returns nil if the text is invalid.
func fromJSON(s string) any {
	return plain(decoded(s))
}

// decoded parses JSON text with encoding/json and keeps the digits of numbers. It returns nil if the text is invalid.
func decoded(s string) any {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// plain converts decoded JSON to values. An object becomes its canonical text.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		n := recorded(v)
		if d, ok := n.(Decimal); ok {
			return ExactNumberOf(d)
		}
		return n
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
		return v
	case map[string]any:
		var b bytes.Buffer
		if json.NewEncoder(&b).Encode(v) != nil {
			return nil
		}
		return b.String()
	}
	return v
}

func listValue(e List) value {
	items := make([]value, len(e))
	for i, x := range e {
		if isCondition(x) {
			t := compile(x)
			items[i] = func(r Record) (any, error) {
				b, err := t(r)
				if b == Null {
					return nil, err
				}
				return b == True, err
			}
			continue
		}
		items[i] = operandValue(x)
	}
	return func(r Record) (any, error) {
		list := make([]any, len(items))
		for i, x := range items {
			var err error
			if list[i], err = x(r); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
}

// funcValue prepares a function. Null in any argument gives null.
func funcValue(e Func) value {
	args := listValue(e.Args)
	return func(r Record) (any, error) {
		v, err := args(r)
		if err != nil {
			return nil, err
		}
		list := v.([]any)
		for _, a := range list {
			if a == nil {
				return nil, nil
			}
		}
		return call(e.Name, list), nil
	}
}

// call applies a function to arguments that are not null. It returns nil if the function does not accept them.
func call(name string, args []any) any {
	if len(args) == 0 {
		return nil
	}
	switch name {
	case "abs", "ceil", "floor":
		return round(name, args[0])
	case "day", "month", "year":
		t, ok := toTime(args[0])
		if !ok {
			return nil
		}
		return map[string]int64{"day": int64(t.Day()), "month": int64(t.Month()), "year": int64(t.Year())}[name]
	}
	s, ok := args[0].(string)
	if !ok {
		return nil
	}
	switch name {
	case "length":
		return int64(utf8.RuneCountInString(s))
	case "left":
		if n, ok := args[1].(int64); ok && n >= 0 {
			return left(s, n)
		}
		return nil
	}
	if folded, ok := fold.Apply(name, s); ok {
		return folded
	}
	panic(fmt.Sprintf("cql2: function %q", name))
}

// left returns the first n characters.
func left(s string, n int64) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func round(name string, v any) any {
	switch x := v.(type) {
	case int64:
		if name != "abs" || x >= 0 {
			return x
		}
		if x == math.MinInt64 {
			return -float64(x)
		}
		return -x
	case *ExactNumber:
		return x.round(name)
	case float64:
		return map[string]func(float64) float64{"abs": math.Abs, "ceil": math.Ceil, "floor": math.Floor}[name](x)
	}
	return nil
}

// calculate applies an arithmetic operator. Integers stay integers if the result fits, but '/' and '^' return doubles.
// 'div' drops the fraction, '%' has the sign of the left operand.
// Null operands and results that are not finite return nil.
func calculate(op ArithOp, a, b any) any {
	x, xInt := a.(int64)
	y, yInt := b.(int64)
	if xInt && yInt {
		if v, ok := integers(op, x, y); ok {
			return v
		}
	}
	f, ok1 := toFloat(a)
	g, ok2 := toFloat(b)
	if !ok1 || !ok2 {
		return nil
	}
	v := doubles(op, f, g)
	if !wkb.Finite(v) {
		return nil
	}
	return v
}

// integers computes with integers. ok is false if the result is not an integer that fits.
func integers(op ArithOp, x, y int64) (int64, bool) {
	switch op {
	case Add:
		s := x + y
		return s, (s > x) == (y > 0)
	case Sub:
		s := x - y
		return s, (s < x) == (y > 0)
	case Mul:
		if x == 0 || y == 0 {
			return 0, true
		}
		p := x * y
		return p, p/y == x && !(x == -1 && y == math.MinInt64) && !(y == -1 && x == math.MinInt64)
	case IntDiv:
		if y == 0 || x == math.MinInt64 && y == -1 {
			return 0, false
		}
		return x / y, true
	case Mod:
		if y == 0 || y == -1 {
			return 0, y == -1
		}
		return x % y, true
	}
	return 0, false
}

func doubles(op ArithOp, x, y float64) float64 {
	switch op {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case Div:
		return x / y
	case IntDiv:
		return math.Trunc(x / y)
	case Mod:
		return math.Mod(x, y)
	case Pow:
		return math.Pow(x, y)
	}
	panic(fmt.Sprintf("cql2: arithmetic with %q", op))
}

func toFloat(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case *ExactNumber:
		return x.near, true
	}
	return 0, false
}

// toBool reads a boolean, which some stores store as a number.
func toBool(v any) (b, ok bool) {
	switch x := v.(type) {
	case bool:
		return x, true
	case int64:
		return x != 0, true
	}
	return false, false
}

func toTime(v any) (time.Time, bool) {
	switch x := v.(type) {
	case time.Time:
		return x, true
	case string:
		return ParseStored(x)
	}
	return time.Time{}, false
}

// CompareValues compares two values of a Record. ok is false if one is null or if they cannot be compared.
func CompareValues(a, b any) (c int, ok bool) { return order(a, b) }

// order compares two values: texts by code point, numbers exactly, false before true.
// ok is false if one is null or if they cannot be compared.
func order(a, b any) (c int, ok bool) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), true
		}
	case int64:
		switch y := b.(type) {
		case int64:
			return cmp.Compare(x, y), true
		case float64:
			return orderNumbers(x, y)
		case *ExactNumber:
			c, ok := y.Compare(x)
			return -c, ok
		}
	case *ExactNumber:
		return x.Compare(b)
	case float64:
		switch y := b.(type) {
		case int64:
			c, ok := orderNumbers(y, x)
			return -c, ok
		case *ExactNumber:
			c, ok := y.Compare(x)
			return -c, ok
		case float64:
			return cmp.Compare(x, y), !math.IsNaN(x) && !math.IsNaN(y)
		}
	}
	return orderMixed(a, b)
}

// orderMixed compares moments and booleans with values of other types in which stores may hold them.
func orderMixed(a, b any) (c int, ok bool) {
	_, t1 := a.(time.Time)
	_, t2 := b.(time.Time)
	if t1 || t2 {
		x, ok1 := toTime(a)
		y, ok2 := toTime(b)
		return x.Compare(y), ok1 && ok2
	}
	_, b1 := a.(bool)
	_, b2 := b.(bool)
	if x, ok1 := toBool(a); b1 || b2 {
		y, ok2 := toBool(b)
		switch {
		case x == y:
			c = 0
		case y:
			c = -1
		default:
			c = 1
		}
		return c, ok1 && ok2
	}
	return 0, false
}

// orderNumbers compares an integer with the binary value of a double without rounding. ok is false for NaN.
func orderNumbers(x int64, y float64) (c int, ok bool) {
	switch {
	case math.IsNaN(y):
		return 0, false
	case y >= 0x1p63:
		return -1, true
	case y < -0x1p63:
		return 1, true
	}
	whole := math.Trunc(y)
	if c := cmp.Compare(x, int64(whole)); c != 0 {
		return c, true
	}
	return cmp.Compare(whole, y), true
}
