package cql2_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/cql2/cql2test"
	"grense/internal/geo/crs"
)

// grower makes random trees of what CQL2 can express.
type grower struct{ *rand.Rand }

func pick[T any](g grower, list ...T) T { return list[g.IntN(len(list))] }

// name is a property name, many of which need quotes.
func (g grower) name() cql2.Expr {
	return prop(pick(g, "a", "Å", "a.b", "eo:x", "_", "and", "Not", "date", "div", "Z", "in", "null", "true", "a b",
		`a"b`, "1a",
		"æøå", "a-b", "'", "東京", "e\u0301", "\u0301e", " ", "İ", "ſ", "li\u212Ae", "casei", "point", "interval"))
}

func (g grower) text() cql2.Expr {
	return cql2.Text(pick(g, "", "a", "it's", `\`, `\\`, `\'`, "''", `\n`, "\n", "\t\a\b\v\f\r", "%", `\%`, "_", "ÆØÅ",
		"ß", "e\u0301",
		"😀", "\x00", `"`, "2024-02-29", "TRUE", "\u2028", "\ufeff", `ends with \`))
}

func (g grower) number() cql2.Expr {
	return pick[cql2.Expr](g, cql2.Int(0), cql2.Int(-1), cql2.Int(7), cql2.Int(-9223372036854775808), cql2.Number(0.5),
		cql2.Number(-1e-300), cql2.Number(1e300), cql2.Number(100), cql2.Decimal("9223372036854775808"),
		cql2.Decimal("-0.12345678901234567891"))
}

func (g grower) instant() cql2.Expr {
	at := time.Date(g.IntN(10000), time.Month(1+g.IntN(12)), 1+g.IntN(28), g.IntN(24), g.IntN(60), g.IntN(60), 0,
		time.UTC)
	if g.IntN(2) == 0 {
		return cql2.Date{T: at.Truncate(24 * time.Hour)}
	}
	return cql2.Timestamp{T: at.Add(time.Duration(g.IntN(3)) * time.Duration(g.IntN(1e9)))}
}

func (g grower) shape() cql2.Expr {
	point := func() orb.Point { return orb.Point{float64(g.IntN(721)-360) / 2, float64(g.IntN(361)-180) / 2} }
	ring := func() orb.Ring {
		p := point()
		return orb.Ring{p, {p[0] + 0.125, p[1]}, {p[0], p[1] + 1e-7}, p}
	}
	simple := func() orb.Geometry {
		switch g.IntN(6) {
		case 0:
			return point()
		case 1:
			return orb.LineString{point(), point()}
		case 2:
			return orb.Polygon{ring(), ring()}
		case 3:
			return orb.MultiPoint{point(), point(), point()}
		case 4:
			return orb.MultiLineString{{point(), point()}, {point(), point(), point()}}
		}
		return orb.MultiPolygon{{ring()}, {ring(), ring()}}
	}
	if g.IntN(5) == 0 {
		return cql2.Geom{G: orb.Collection{simple(), simple()}, CRS: crs.CRS84}
	}
	return cql2.Geom{G: simple(), CRS: crs.CRS84}
}

// operand is a value that a comparison or a function takes.
func (g grower) operand(depth int) cql2.Expr {
	if depth > 0 {
		switch g.IntN(6) {
		case 0:
			return cql2.Arith{Op: pick(g, cql2.Add, cql2.Sub, cql2.Mul, cql2.Div, cql2.IntDiv, cql2.Mod, cql2.Pow),
				L: g.operand(depth - 1), R: g.operand(depth - 1)}
		case 1:
			return cql2.Func{Name: pick(g, "casei", "accenti"), Args: []cql2.Expr{g.operand(depth - 1)}}
		case 2:
			return cql2.Func{Name: pick(g, "foo", "left", "a.b"), Args: []cql2.Expr{g.operand(depth - 1),
				g.item(depth - 1)}}
		}
	}
	switch g.IntN(5) {
	case 0:
		return g.text()
	case 1:
		return g.number()
	case 2:
		return g.instant()
	}
	return g.name()
}

// item is an element of an array or an argument of a function.
func (g grower) item(depth int) cql2.Expr {
	switch g.IntN(4) {
	case 0:
		if depth > 0 {
			return g.list(depth - 1)
		}
	case 1:
		if depth > 0 {
			return g.condition(depth - 1)
		}
	case 2:
		return cql2.Bool(g.IntN(2) == 0)
	}
	return g.operand(depth)
}

func (g grower) list(depth int) cql2.Expr {
	l := cql2.List{}
	for range g.IntN(4) {
		l = append(l, g.item(depth))
	}
	return l
}

func (g grower) end() cql2.Expr {
	if g.IntN(4) == 0 {
		return nil
	}
	return pick(g, g.name(), g.instant())
}

func (g grower) condition(depth int) cql2.Expr {
	if depth > 0 {
		switch g.IntN(4) {
		case 0:
			return cql2.And{g.condition(depth - 1), g.condition(depth - 1), g.condition(depth - 1)}[:2+g.IntN(2)]
		case 1:
			return cql2.Or{g.condition(depth - 1), g.condition(depth - 1)}
		case 2:
			return cql2.Not{X: g.condition(depth - 1)}
		}
	}
	depth = max(depth-1, 0)
	switch g.IntN(9) {
	case 0:
		return cql2.Compare{Op: pick(g, cql2.Eq, cql2.Ne, cql2.Lt, cql2.Le, cql2.Gt, cql2.Ge), L: g.operand(depth),
			R: g.operand(depth)}
	case 1:
		return cql2.Like{X: g.operand(depth), Pattern: pick(g, g.text(), cql2.Expr(cql2.Func{Name: "casei",
			Args: []cql2.Expr{g.text()}}))}
	case 2:
		return cql2.Between{X: g.operand(depth), Lo: g.operand(depth), Hi: g.operand(depth)}
	case 3:
		return cql2.In{X: g.operand(depth), List: []cql2.Expr{g.operand(depth), g.operand(depth)}[:1+g.IntN(2)]}
	case 4:
		if g.IntN(2) == 0 {
			return cql2.IsNull{X: g.condition(depth)}
		}
		return cql2.IsNull{X: g.operand(depth)}
	case 5:
		return cql2.Spatial{Op: pick(g, cql2.SIntersects, cql2.STouches, cql2.SEquals), L: g.name(), R: g.shape()}
	case 6:
		return cql2.Temporal{Op: pick(g, cql2.TAfter, cql2.TFinishedBy, cql2.TMetBy),
			L: pick(g, g.name(), g.instant()), R: cql2.Span{Start: g.end(), End: g.end()}}
	case 7:
		return cql2.Array{Op: pick(g, cql2.AContains, cql2.AEquals), L: g.name(), R: g.list(depth)}
	}
	return pick(g, cql2.Expr(cql2.Bool(true)), g.name())
}

// TestRandomTreesAreReadAsTheyArePrinted, as text and as JSON.
func TestRandomTreesAreReadAsTheyArePrinted(t *testing.T) {
	t.Parallel()
	g := grower{rand.New(rand.NewPCG(8, 1))}
	for range 3000 {
		e := g.condition(3)
		text, doc := cql2.FormatText(e), cql2test.FormatJSON(e)
		if len(text) > cql2.MaxBytes || len(doc) > cql2.MaxBytes {
			continue
		}
		got, err := cql2.ParseText(text)
		if err != nil || !reflect.DeepEqual(bare(got), e) {
			t.Fatalf("%s\n is %#v\nwant %#v; %v", text, got, e, err)
		}
		if got, err = cql2.ParseJSON(doc); err != nil || !reflect.DeepEqual(bare(got), e) {
			t.Fatalf("%s\n is %#v\nwant %#v; %v", doc, got, e, err)
		}
	}
}

// naive evaluates a tree of numbers, texts and booleans with rational numbers and nil for null. It follows the
// definitions of OGC 21-065r2 one by one and shares nothing with the evaluator.
type naive map[string]any

func (n naive) value(e cql2.Expr) any {
	switch e := e.(type) {
	case cql2.Prop:
		return n[e.Name]
	case cql2.Text:
		return string(e)
	case cql2.Bool:
		return bool(e)
	case cql2.Int:
		return new(big.Rat).SetInt64(int64(e))
	case cql2.Number:
		return new(big.Rat).SetFloat64(float64(e))
	case cql2.Arith:
		a, _ := n.value(e.L).(*big.Rat)
		b, _ := n.value(e.R).(*big.Rat)
		if a == nil || b == nil {
			return nil
		}
		switch e.Op {
		case cql2.Add:
			return new(big.Rat).Add(a, b)
		case cql2.Sub:
			return new(big.Rat).Sub(a, b)
		case cql2.Mul:
			return new(big.Rat).Mul(a, b)
		}
		if b.Sign() == 0 {
			return nil
		}
		q := new(big.Rat).Quo(a, b)
		whole := new(big.Rat).SetInt(new(big.Int).Quo(q.Num(), q.Denom())) // towards zero
		switch e.Op {
		case cql2.Div:
			return q
		case cql2.IntDiv:
			return whole
		}
		return new(big.Rat).Sub(a, whole.Mul(whole, b)) // the remainder has the sign of a
	}
	panic(fmt.Sprintf("value of %T", e))
}

// truth is -1 for false, 0 for null and 1 for true.
func (n naive) truth(e cql2.Expr) int {
	of := func(b bool) int {
		if b {
			return 1
		}
		return -1
	}
	order := func(l, r cql2.Expr) (c int, known bool) {
		switch a := n.value(l).(type) {
		case *big.Rat:
			if b, ok := n.value(r).(*big.Rat); ok {
				return a.Cmp(b), true
			}
		case string:
			if b, ok := n.value(r).(string); ok {
				return strings.Compare(a, b), true
			}
		case bool:
			if b, ok := n.value(r).(bool); ok {
				return of(a)/2 - of(b)/2 + (of(a)-of(b))/2, true
			}
		}
		return 0, false
	}
	switch e := e.(type) {
	case cql2.And:
		least := 1
		for _, x := range e {
			least = min(least, n.truth(x))
		}
		return least
	case cql2.Or:
		most := -1
		for _, x := range e {
			most = max(most, n.truth(x))
		}
		return most
	case cql2.Not:
		return -n.truth(e.X)
	case cql2.IsNull:
		switch e.X.(type) {
		case cql2.Prop, cql2.Arith, cql2.Text, cql2.Int, cql2.Number:
			return of(n.value(e.X) == nil)
		}
		return of(n.truth(e.X) == 0)
	case cql2.Compare:
		c, known := order(e.L, e.R)
		if !known {
			return 0
		}
		return of(map[cql2.CompareOp]bool{cql2.Eq: c == 0, cql2.Ne: c != 0, cql2.Lt: c < 0, cql2.Le: c <= 0,
			cql2.Gt: c > 0, cql2.Ge: c >= 0}[e.Op])
	case cql2.Between: // x >= lo AND x <= hi
		return min(n.truth(cql2.Compare{Op: cql2.Ge, L: e.X, R: e.Lo}),
			n.truth(cql2.Compare{Op: cql2.Le, L: e.X, R: e.Hi}))
	case cql2.In: // x = a OR x = b ...
		most := -1
		for _, y := range e.List {
			most = max(most, n.truth(cql2.Compare{Op: cql2.Eq, L: e.X, R: y}))
		}
		return most
	case cql2.Prop, cql2.Bool:
		b, known := n.value(e).(bool)
		if !known {
			return 0
		}
		return of(b)
	}
	panic(fmt.Sprintf("truth of %T", e))
}

// number is an operand that doubles compute without rounding: small numbers, quarters and halves.
func (g grower) exact(depth int) cql2.Expr {
	if depth > 0 && g.IntN(2) == 0 {
		op := pick(g, cql2.Add, cql2.Sub, cql2.Mul, cql2.Div, cql2.IntDiv, cql2.Mod)
		if op == cql2.Div || op == cql2.IntDiv || op == cql2.Mod {
			return cql2.Arith{Op: op, L: g.exact(depth - 1), R: pick[cql2.Expr](g, cql2.Int(2), cql2.Int(-4),
				cql2.Int(0),
				cql2.Number(0.5), prop("null"), prop("two"))}
		}
		return cql2.Arith{Op: op, L: g.exact(depth - 1), R: g.exact(depth - 1)}
	}
	return pick[cql2.Expr](g, prop("i"), prop("f"), prop("two"), prop("null"), cql2.Int(g.IntN(7)-3),
		cql2.Number(float64(g.IntN(9)-4)/4))
}

func (g grower) predicate(depth int) cql2.Expr {
	if depth > 0 {
		switch g.IntN(5) {
		case 0:
			return cql2.And{g.predicate(depth - 1), g.predicate(depth - 1)}
		case 1:
			return cql2.Or{g.predicate(depth - 1), g.predicate(depth - 1), g.predicate(depth - 1)}
		case 2:
			return cql2.Not{X: g.predicate(depth - 1)}
		case 3:
			return cql2.IsNull{X: pick[cql2.Expr](g, g.predicate(depth-1), g.exact(1), prop("none"))}
		}
	}
	op := pick(g, cql2.Eq, cql2.Ne, cql2.Lt, cql2.Le, cql2.Gt, cql2.Ge)
	text := func() cql2.Expr {
		return pick[cql2.Expr](g, prop("t"), prop("none"), cql2.Text(""), cql2.Text("b"), cql2.Text("Å"))
	}
	switch g.IntN(6) {
	case 0:
		return cql2.Between{X: g.exact(2), Lo: g.exact(1), Hi: g.exact(1)}
	case 1:
		return cql2.In{X: g.exact(2), List: []cql2.Expr{g.exact(1), g.exact(0), g.exact(0)}}
	case 2:
		return cql2.Compare{Op: op, L: text(), R: text()}
	case 3:
		return cql2.Compare{Op: op, L: prop("b"), R: pick[cql2.Expr](g, cql2.Bool(true), cql2.Bool(false), prop("b"))}
	case 4:
		return pick[cql2.Expr](g, prop("b"), cql2.Bool(false))
	}
	return cql2.Compare{Op: op, L: g.exact(2), R: g.exact(2)}
}

// TestRandomFiltersAgreeWithANaiveEvaluator over numbers, texts, booleans and null.
func TestRandomFiltersAgreeWithANaiveEvaluator(t *testing.T) {
	t.Parallel()
	g := grower{rand.New(rand.NewPCG(9, 1))}
	schema := columns{"i": cql2.TypeInteger, "two": cql2.TypeInteger, "f": cql2.TypeNumber, "null": cql2.TypeNumber,
		"t": cql2.TypeText, "none": cql2.TypeText, "b": cql2.TypeBool}
	seen := map[int]int{}
	for range 20000 {
		e := g.predicate(3)
		i, f := int64(g.IntN(9)-4), float64(g.IntN(33)-16)/8
		text, b := pick[any](g, "", "a", "b", "Å", nil), pick[any](g, true, false, nil)
		n := naive{"i": new(big.Rat).SetInt64(i), "two": big.NewRat(2, 1), "f": new(big.Rat).SetFloat64(f), "t": text,
			"b": b}
		x, err := cql2.Check(e, schema)
		if err != nil {
			t.Fatalf("%s: %v", cql2.FormatText(e), err)
		}
		want := n.truth(e)
		got, err := cql2.Eval(x, record{values: map[string]any{"i": i, "two": int64(2), "f": f, "null": nil, "t": text,
			"none": nil, "b": b}})
		if err != nil || int(got) != want {
			t.Fatalf("%s with i %d, f %v, t %v, b %v is %d, want %d; %v", cql2.FormatText(e), i, f, text, b, got, want,
				err)
		}
		seen[want]++
	}
	for want := -1; want <= 1; want++ {
		if seen[want] < 1000 {
			t.Errorf("%v: no test", seen)
		}
	}
}
