package cql2_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/problem"
)

func TestNumbersAreParsedWithoutRounding(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]cql2.Expr{
		"9007199254740993":             cql2.Int(9007199254740993),
		"9007199254740993.0":           cql2.Int(9007199254740993),
		"900719925474099300e-2":        cql2.Int(9007199254740993),
		"9223372036854775807":          cql2.Int(math.MaxInt64),
		"9223372036854775808":          cql2.Decimal("9223372036854775808"),
		"-9223372036854775809":         cql2.Decimal("-9223372036854775809"),
		"12345678901234567891":         cql2.Decimal("12345678901234567891"),
		"+12345678901234567891.500":    cql2.Decimal("12345678901234567891.5"),
		"9223372036854776000":          cql2.Number(0x1p63),
		"0.1":                          cql2.Number(0.1),
		"00.10":                        cql2.Number(0.1),
		"0.1000000000000000055":        cql2.Decimal("0.1000000000000000055"),
		"1e300":                        cql2.Number(1e300),
		"-1.00000000000000000001e-5":   cql2.Decimal("-0.0000100000000000000000001"),
		"0e999999999999":               cql2.Number(0),
		"2.0":                          cql2.Number(2),
		"5e-324":                       cql2.Number(5e-324),
		"1e400":                        nil,
		"1e-400":                       nil,
		"1e-99999999999999999999":      nil,
		"-0.000E-99999999999999999999": cql2.Number(math.Copysign(0, -1)),
		"0x10":                         nil,
		"NaN":                          nil,
		"Infinity":                     nil,
		"1_000":                        nil,
		"":                             nil,
		"12345678901234567891234567e3": cql2.Decimal("12345678901234567891234567000"),
	} {
		if got, ok := cql2.ParseNumber(text); !reflect.DeepEqual(got, want) || ok != (want != nil) {
			t.Errorf("%s is %#v, %v; want %#v", text, got, ok, want)
		}
	}
}

// TestNumbersBelowDoublesAreRefused: their digits would fill the memory.
func TestNumbersBelowDoublesAreRefused(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"1e-400", "-12.5E-9223372036854775807", "1e-99999999999999999999",
		".00001e-9223372036854775807"} {
		_, err := cql2.ParseText("n = " + number)
		wantFault(t, err, problem.Invalid, "range of a double")
		if e, err := cql2.Check(cql2.Compare{Op: cql2.Eq, L: prop("n"), R: cql2.Text(number)},
			numberColumns); err == nil {
			t.Errorf("'%s' becomes %s", number, cql2.FormatText(e))
		}
		if strings.HasPrefix(number, ".") {
			continue // no number of JSON
		}
		_, err = cql2.ParseJSON([]byte(`{"op":"=","args":[{"property":"n"},` + number + `]}`))
		wantFault(t, err, problem.Invalid, "range of a double")
		row := record{values: map[string]any{"j": "[" + number + "]"}}
		if got, err := cql2.Eval(must(t, "A_CONTAINS(j, (0))", columns{"j": cql2.TypeJSON}), row); got != cql2.False ||
			err != nil {
			t.Errorf("[%s] holds 0: %d, %v", number, got, err)
		}
	}
}

var numberColumns = columns{"i": cql2.TypeInteger, "d": cql2.TypeNumber, "n": cql2.TypeNumber}

func TestNumbersCompareExactly(t *testing.T) {
	t.Parallel()
	row := record{values: map[string]any{"i": int64(9007199254740993), "d": 9007199254740992.0,
		"n": cql2.Decimal("12345678901234567891")}}
	for filter, want := range map[string]cql2.Truth{
		"i = 9007199254740993": cql2.True, "i = 9007199254740993.0": cql2.True, "i = 9007199254740992": cql2.False,
		"i < 9007199254740993.5": cql2.True,
		"i > 9007199254740992.5": cql2.True, "i < 9223372036854775808": cql2.True,
		"i >= -9223372036854775809": cql2.True,
		"d = 9007199254740992":      cql2.True, "d = 9007199254740993": cql2.False, "d < 9007199254740993": cql2.True,
		"d < i": cql2.True, "d < n": cql2.True,
		"n = 12345678901234567891": cql2.True, "n = 12345678901234567892": cql2.False,
		"n < 12345678901234567891.1":                              cql2.True,
		"n IN (1, 12345678901234567890)":                          cql2.False,
		"n BETWEEN 12345678901234567891 AND 12345678901234567891": cql2.True,
		"ceil(n) = n": cql2.True, "abs(-1 * d) = d": cql2.True,
		"12345678901234567891 < 12345678901234567892": cql2.True, "1 = 1.0": cql2.True,
	} {
		if got, err := cql2.Eval(must(t, filter, numberColumns), row); got != want || err != nil {
			t.Errorf("%s is %d, want %d; %v", filter, got, want, err)
		}
	}
	row.values["d"], row.values["n"] = 0x1p63, cql2.Decimal("0.1000000000000000055511151231257827")
	for filter, want := range map[string]cql2.Truth{
		"d = 9223372036854775808": cql2.True, "d = 9223372036854776000": cql2.True,
		"d = 9223372036854775809": cql2.False,
		"d < 9223372036854775809": cql2.True,
		"d > 9223372036854775807": cql2.True, "n = 0.1": cql2.False, "n > 0.1": cql2.True, "floor(n) = 0": cql2.True,
		"ceil(n) = 1": cql2.True,
	} {
		if got, err := cql2.Eval(must(t, filter, numberColumns), row); got != want || err != nil {
			t.Errorf("%s is %d, want %d; %v", filter, got, want, err)
		}
	}
}

// TestRandomNumbersCompareAsRationalNumbers holds comparisons against rational arithmetic.
func TestRandomNumbersCompareAsRationalNumbers(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 37))
	digits := func() string {
		base := []string{"9007199254740992", "9223372036854775807", "12345678901234567891", "0", "1",
			"100000000000000000000"}[r.IntN(6)]
		n, _ := new(big.Int).SetString(base, 10)
		n.Add(n, big.NewInt(int64(r.IntN(5)-2)))
		if r.IntN(3) == 0 {
			n.Neg(n)
		}
		return n.String() + []string{"", "", ".5", ".0", ".00000000000000000001"}[r.IntN(5)]
	}
	for range 20000 {
		a, b := digits(), digits()
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		row := record{values: map[string]any{"n": cql2.Decimal(a)}}
		want := x.Cmp(y)
		if x.IsInt() && x.Num().IsInt64() && r.IntN(2) == 0 {
			row.values["n"] = x.Num().Int64()
		} else if f, exact := x.Float64(); exact && r.IntN(2) == 0 {
			row.values["n"] = f
			if strings.TrimSuffix(b, ".0") == strconv.FormatFloat(f, 'f', -1, 64) {
				// the other number that the double is
				want = 0
			}
		}
		for op, holds := range map[cql2.CompareOp]bool{cql2.Eq: want == 0, cql2.Lt: want < 0, cql2.Ge: want >= 0} {
			lit, ok := cql2.ParseNumber(b)
			e := cql2.Compare{Op: op, L: cql2.Prop{Name: "n", Type: cql2.TypeNumber}, R: lit}
			if got, err := cql2.Eval(e, row); !ok || err != nil || (got == cql2.True) != holds {
				t.Fatalf("%v %s %s is %d, want %v; %v", row.values["n"], op, b, got, holds, err)
			}
		}
	}
}

func TestDoublesHoldWhatProgramsPrintOfThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"0.1": true, "0.10000000000000001": true, "0.1000000000000000055511151231257827": true,
		"123.45600000000000307": true, "1e300": true,
		"9223372036854775800": true, "9223372036854775808": true, "9007199254740993": false,
		"9007199254740993.0":   false,
		"12345678901234567891": false, "0.1234567890123456789": false, "1234567890123456789.0123456789": false,
		"1e400":                 false,
		"0.1000000000000000001": false, "-1.50": true,
	} {
		if got := cql2.IsDouble(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
