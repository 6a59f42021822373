package cql2

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Numbers compare as decimal numbers, without rounding. A double equals three decimal numbers: its binary value,
// that value rounded to 17 or more digits, and the shortest decimal that parses to it.
// So 0.1 and 0.10000000000000001 find the double 0.1, and 9007199254740993 does not find 9007199254740992.

// maxExact is the largest integer up to which every integer is a double.
const maxExact = 1 << 53

// ParseNumber parses a number as JSON and people write it. It returns Int for an integer of 64 bits, Number if a double
// prints as s, else Decimal. ok is false for other texts and for numbers outside the range of doubles.
func ParseNumber(s string) (Expr, bool) {
	if strings.ContainsAny(s, "xXpP_nN") {
		return nil, false
	}
	return parseNumber(s)
}

func parseNumber(s string) (Expr, bool) {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return Int(n), true
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, false
	}
	if f == 0 {
		mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
		if strings.Trim(mantissa, "+-.0") != "" { // below the least double; its digits may be any number
			return nil, false
		}
		return Number(f), true
	}
	text := plainDigits(s)
	if text == printed(f) {
		return Number(f), true
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Int(n), true
	}
	return Decimal(text), true
}

// IsDouble reports whether a number survives conversion to a double and back without a change of digits.
func IsDouble(number string) bool {
	e, ok := ParseNumber(number)
	if !ok {
		return false
	}
	_, side := ExactNumberOf(e).Double()
	return side == 0
}

// printed returns the shortest decimal number that parses to f, in plain notation.
func printed(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// plainDigits converts a number in the range of doubles to the notation of Decimal.
func plainDigits(s string) string {
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, _ = strconv.Atoi(s[i+1:])
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	point := len(whole) + exp - (len(whole) + len(fraction) - len(digits))
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return "0"
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return sign + digits + strings.Repeat("0", point-len(digits))
	}
	return sign + digits[:point] + "." + digits[point:]
}

// ExactNumber is a number prepared for comparisons.
type ExactNumber struct {
	text  string  // as Decimal
	near  float64 // the nearest double
	side  int     // side of near on which the number lies: -1 below, 1 above, 0 if near is the number
	floor int64   // the greatest integer that is not above the number, if it fits
	fits  bool
	whole bool
}

// ExactNumberOf prepares a literal. It returns nil if e is not a finite number.
func ExactNumberOf(e Expr) *ExactNumber {
	switch e := e.(type) {
	case Int:
		return newExact(strconv.FormatInt(int64(e), 10))
	case Number:
		if f := float64(e); f-f == 0 {
			return newExact(printed(f + 0)) // without the sign of zero
		}
	case Decimal:
		return newExact(plainDigits(string(e)))
	}
	return nil
}

func newExact(text string) *ExactNumber {
	if text == "-0" {
		text = "0"
	}
	x := &ExactNumber{text: text}
	x.near, _ = strconv.ParseFloat(text, 64)
	if text != printed(x.near) {
		x.side = x.beside()
	}
	integer, fraction, _ := strings.Cut(text, ".")
	x.whole = fraction == ""
	n, err := strconv.ParseInt(integer, 10, 64)
	x.floor, x.fits = n, err == nil
	if x.fits && !x.whole && text[0] == '-' {
		x.floor, x.fits = n-1, n > math.MinInt64
	}
	return x
}

// beside returns the side of near on which the number lies. A number of 17 or more digits that rounds to near counts as
// near, because programs print doubles so.
func (x *ExactNumber) beside() int {
	digits := strings.TrimLeft(strings.ReplaceAll(strings.TrimPrefix(x.text, "-"), ".", ""), "0")
	n := len(strings.TrimRight(digits, "0"))
	if n >= 17 && plainDigits(strconv.FormatFloat(x.near, 'e', n-1, 64)) == x.text {
		return 0
	}
	exact, ok := new(big.Rat).SetString(x.text)
	if !ok {
		return 0
	}
	return exact.Cmp(new(big.Rat).SetFloat64(x.near))
}

// String returns the digits in the notation of Decimal.
func (x *ExactNumber) String() string { return x.text }

// Double returns the nearest double and the side of it on which the number lies:
// -1 below, 1 above, 0 if it is the number.
func (x *ExactNumber) Double() (near float64, side int) { return x.near, x.side }

// Floor returns the greatest integer that is not above the number. whole reports that it is the number;
// ok is false beyond 64 bits.
func (x *ExactNumber) Floor() (floor int64, whole, ok bool) {
	return x.floor, x.whole && x.fits, x.fits
}

// Compare compares the number with nil, int64, float64 or *ExactNumber. ok is false if v is not a number.
func (x *ExactNumber) Compare(v any) (c int, ok bool) {
	switch v := v.(type) {
	case int64:
		switch {
		case !x.fits:
			return cmp.Compare(x.near, 0), true
		case x.floor != v || x.whole:
			return cmp.Compare(x.floor, v), true
		}
		return 1, true
	case float64:
		if c = cmp.Compare(x.near, v); c == 0 {
			c = x.side
		}
		return c, !math.IsNaN(v)
	case *ExactNumber:
		if c = cmp.Compare(x.near, v.near); c == 0 {
			c = orderDigits(x.text, v.text)
		}
		return c, true
	}
	return 0, false
}

// orderDigits compares two numbers in the notation of Decimal.
func orderDigits(a, b string) int {
	x, minusA := strings.CutPrefix(a, "-")
	y, minusB := strings.CutPrefix(b, "-")
	switch {
	case minusA != minusB && minusA:
		return -1
	case minusA != minusB:
		return 1
	case minusA:
		x, y = y, x
	}
	wholeX, fractionX, _ := strings.Cut(x, ".")
	wholeY, fractionY, _ := strings.Cut(y, ".")
	return cmp.Or(cmp.Compare(len(wholeX), len(wholeY)), strings.Compare(wholeX, wholeY), strings.Compare(fractionX,
		fractionY))
}

// round applies abs, ceil or floor without rounding to a double.
func (x *ExactNumber) round(name string) any {
	if name == "abs" {
		return newExact(strings.TrimPrefix(x.text, "-"))
	}
	integer, fraction, _ := strings.Cut(x.text, ".")
	n, _ := new(big.Int).SetString(integer, 10)
	minus := x.text[0] == '-'
	switch {
	case fraction == "":
	case name == "floor" && minus:
		n.Sub(n, big.NewInt(1))
	case name == "ceil" && !minus:
		n.Add(n, big.NewInt(1))
	}
	return newExact(n.String())
}
