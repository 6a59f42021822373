package sqlq

import (
	"math"

	"grense/internal/cql2"
)

// NumberKind is the set of numbers that an operand can have; it decides how SQL compares it with others.
type NumberKind uint8

const (
	NoNumber NumberKind = iota
	Whole               // integers of 64 bits
	Double              // doubles; the database compares integers with them as doubles
	Mixed               // doubles and integers; the database compares them exactly
	Numeric             // decimal numbers of any length
)

// comparesWith reports whether the database compares two kinds as cql2.Eval does.
func (k NumberKind) comparesWith(other NumberKind) bool {
	if k > other {
		k, other = other, k
	}
	return k == other || k == Whole && (other == Mixed || other == Numeric)
}

// numberTest is an exact SQL comparison of a number with a literal or another operand.
type numberTest struct {
	op    cql2.CompareOp
	arg   value
	known bool // all numbers compare alike with the literal
	holds bool // the result for all numbers, if known
}

// number returns "x op y" as a test of x; ok is false if SQL cannot express it. y is an operand and v its value.
func (c *compiler) number(op cql2.CompareOp, x value, y cql2.Expr, v value) (numberTest, bool) {
	n := cql2.ExactNumberOf(y)
	if n == nil {
		return numberTest{op: op, arg: v}, x.kind.comparesWith(v.kind)
	}
	floor, whole, fits := n.Floor()
	near, side := n.Double()
	switch x.kind {
	case Numeric:
		return numberTest{op: op, arg: value{SQL("?", cql2.Decimal(n.String())), cql2.TypeNumber, Numeric}}, true
	case Whole:
		switch {
		case whole:
			return integerTest(op, floor), true
		case fits:
			return besides(op, 1, integerTest("", floor)), true
		}
		above := near > 0
		return numberTest{known: true, holds: op == cql2.Ne || (op == cql2.Lt || op == cql2.Le) == above &&
				op != cql2.Eq},
			true
	case Mixed:
		switch {
		// A double that prints as the literal equals it; an integer with the value of that double does not.
		case whole && side == 0 && math.Abs(near) > maxExact && !isInteger(near, floor):
			return numberTest{}, false
		case whole:
			return integerTest(op, floor), true
		case fits && math.Abs(near) >= maxExact:
			return numberTest{}, false
		}
	}
	test := numberTest{op: op, arg: value{SQL("?", near), cql2.TypeNumber, Double}}
	if side != 0 {
		return besides(op, side, test), true
	}
	return test, true
}

// maxExact is the largest integer up to which every integer is a double.
const maxExact = 1 << 53

// isInteger reports whether a double is that integer.
func isInteger(f float64, n int64) bool { return f < 0x1p63 && f >= -0x1p63 && int64(f) == n }

func integerTest(op cql2.CompareOp, n int64) numberTest {
	return numberTest{op: op, arg: value{SQL("?", n), cql2.TypeInteger, Whole}}
}

// besides compares with a number that no value can equal, through its nearest possible neighbour, which is the argument
// of test. The number is above the neighbour if side is 1, and below if it is -1.
func besides(op cql2.CompareOp, side int, test numberTest) numberTest {
	switch {
	case op == cql2.Eq || op == cql2.Ne:
		return numberTest{known: true, holds: op == cql2.Ne}
	case op == cql2.Lt || op == cql2.Le:
		if test.op = cql2.Le; side < 0 {
			test.op = cql2.Lt
		}
	default:
		if test.op = cql2.Gt; side < 0 {
			test.op = cql2.Ge
		}
	}
	return test
}

// sql returns the test of x, which is null if x is.
func (t numberTest) sql(x value) Fragment {
	switch {
	case t.known && t.holds:
		return Join(" = ", x.Fragment, x.Fragment)
	case t.known:
		return Join(" <> ", x.Fragment, x.Fragment)
	}
	return Join(" "+string(t.op)+" ", x.Fragment, t.arg.Fragment)
}

// compareNumbers compiles a comparison of numbers.
func (c *compiler) compareNumbers(op cql2.CompareOp, l, r cql2.Expr, x, y value) (Fragment, bool) {
	if a, b := cql2.ExactNumberOf(l), cql2.ExactNumberOf(r); a != nil && b != nil {
		order, _ := a.Compare(b)
		return c.constant(op.Holds(order)), true
	} else if a != nil {
		l, r, x, y, op = r, l, y, x, op.Turned()
	}
	t, ok := c.number(op, x, r, y)
	if !ok || t.known {
		return t.sql(x), ok
	}
	return c.within(t.sql(x), l, bound1(string(t.op), r, t.arg)), true
}

// betweenNumbers compiles BETWEEN of numbers.
func (c *compiler) betweenNumbers(e cql2.Between, x, lo, hi value) (Fragment, bool) {
	from, ok1 := c.number(cql2.Ge, x, e.Lo, lo)
	to, ok2 := c.number(cql2.Le, x, e.Hi, hi)
	if cql2.ExactNumberOf(e.X) != nil || !ok1 || !ok2 || from.known || to.known || from.op != cql2.Ge ||
		to.op != cql2.Le {
		return c.exactAll(cql2.And{cql2.Compare{Op: cql2.Ge, L: e.X, R: e.Lo},
			cql2.Compare{Op: cql2.Le, L: e.X, R: e.Hi}},
			true)
	}
	f := Cat(x.Fragment, Ident(" BETWEEN "), from.arg.Fragment, Ident(" AND "), to.arg.Fragment)
	return c.within(f, e.X, bound1(">=", e.Lo, from.arg), bound1("<=", e.Hi, to.arg)), true
}

// inNumbers compiles IN of numbers.
func (c *compiler) inNumbers(e cql2.In, x value, vs []value) (Fragment, bool) {
	if cql2.ExactNumberOf(e.X) != nil {
		var some cql2.Or
		for _, y := range e.List {
			some = append(some, cql2.Compare{Op: cql2.Eq, L: e.X, R: y})
		}
		return c.exactAll(some, false)
	}
	var list []Fragment
	all := bounding{op: "IN"}
	for i, y := range e.List {
		t, ok := c.number(cql2.Eq, x, y, vs[i])
		if !ok {
			return Fragment{}, false
		}
		if !t.known {
			list, all.es, all.args = append(list, t.arg.Fragment), append(all.es, y), append(all.args, t.arg)
		}
	}
	if list == nil {
		return numberTest{known: true}.sql(x), true
	}
	f := Cat(x.Fragment, Ident(" IN "), paren(Join(", ", list...)))
	if len(list) == 1 {
		all.op = "="
	}
	return c.within(f, e.X, all), true
}
