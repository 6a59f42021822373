package history

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"grense/internal/problem"
)

// decimal is an exact decimal number, n / 10^scale. It keeps the number of decimals with which it was written. The zero
// value is 0. Operations return new values and never change their operands.
type decimal struct {
	n     big.Int
	scale int
}

// maxDigits is the largest number of digits accepted.
const maxDigits = 60

// parseDecimal parses digits with an optional sign and decimal point.
func parseDecimal(s string) (d decimal, err error) {
	digits, ok := strings.CutPrefix(s, "-")
	whole, part, point := strings.Cut(digits, ".")
	if len(s) > maxDigits || whole == "" || point && part == "" || strings.Trim(whole+part, "0123456789") != "" {
		return d, problem.Sayf("%q is no number; write digits, with a point before decimals", s)
	}
	if n, err := strconv.ParseInt(whole+part, 10, 64); err == nil {
		d.n.SetInt64(n) // takes less memory than parsing with SetString
	} else {
		d.n.SetString(whole+part, 10)
	}
	if ok {
		d.n.Neg(&d.n)
	}
	d.scale = len(part)
	return d, nil
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// at returns n scaled to the given number of decimals, which is at least d.scale.
func (d decimal) at(scale int) *big.Int { return new(big.Int).Mul(&d.n, pow10(scale-d.scale)) }

func (d decimal) add(e decimal) (sum decimal) {
	sum.scale = max(d.scale, e.scale)
	sum.n.Add(d.at(sum.scale), e.at(sum.scale))
	return sum
}

func (d decimal) sub(e decimal) decimal {
	var minus decimal
	minus.scale = e.scale
	minus.n.Neg(&e.n)
	return d.add(minus)
}

func (d decimal) rat() *big.Rat { return new(big.Rat).SetFrac(&d.n, pow10(d.scale)) }

func (d decimal) String() string {
	if d.scale == 0 {
		return d.n.String()
	}
	s := new(big.Int).Abs(&d.n).String()
	if len(s) <= d.scale {
		s = strings.Repeat("0", d.scale+1-len(s)) + s
	}
	s = s[:len(s)-d.scale] + "." + s[len(s)-d.scale:]
	if d.n.Sign() < 0 {
		s = "-" + s
	}
	return s
}

// rounded converts a ratio to the given number of decimals. Halves are rounded away from 0.
func rounded(r *big.Rat, scale int) (d decimal) {
	d.scale = scale
	num := new(big.Int).Mul(r.Num(), pow10(scale))
	num.Mul(num, big.NewInt(2))
	den := new(big.Int).Mul(r.Denom(), big.NewInt(2))
	if num.Sign() < 0 {
		num.Sub(num, r.Denom())
	} else {
		num.Add(num, r.Denom())
	}
	d.n.Quo(num, den)
	return d
}

// parted divides a number by weights that sum to 1, keeping its number of decimals. The remainder left by rounding goes
// to the parts with the largest remainders, and among equal ones to the first, so that the parts sum to the number.
func parted(v decimal, to []int32, weights []*big.Rat) map[int32]decimal {
	type part struct {
		i         int
		remainder *big.Rat
	}
	sign := int64(v.n.Sign())
	whole := new(big.Int).Abs(&v.n)
	left := new(big.Int).Set(whole)
	parts, out := make([]part, len(to)), make([]big.Int, len(to))
	for i, w := range weights {
		share := new(big.Rat).Mul(new(big.Rat).SetInt(whole), w)
		out[i].Quo(share.Num(), share.Denom())
		left.Sub(left, &out[i])
		parts[i] = part{i, share.Sub(share, new(big.Rat).SetInt(&out[i]))}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Or(b.remainder.Cmp(a.remainder), a.i-b.i) })
	for i := range int(left.Int64()) {
		out[parts[i].i].Add(&out[parts[i].i], big.NewInt(1))
	}
	m := make(map[int32]decimal, len(to))
	for i, n := range to {
		d := decimal{scale: v.scale}
		d.n.Mul(&out[i], big.NewInt(sign))
		m[n] = d
	}
	return m
}
