package wkb

import (
	"math"
	"math/big"

	"github.com/paulmach/orb"
)

// Turn returns the sign of the turn a, b, c: +1 to the left, -1 to the right, 0 when they lie on a line. It is exact:
// where rounding could change the sign (error bound of Shewchuk, Adaptive precision floating-point arithmetic, 1997),
// it counts with rationals.
func Turn(a, b, c orb.Point) int {
	l, r := (a[0]-c[0])*(b[1]-c[1]), (a[1]-c[1])*(b[0]-c[0])
	det := l - r
	const bound = (3 + 16*0x1p-53) * 0x1p-53
	if limit := bound * (math.Abs(l) + math.Abs(r)); det > limit || -det > limit {
		if det > 0 {
			return 1
		}
		return -1
	}
	return exactTurn(a, b, c)
}

func exactTurn(a, b, c orb.Point) int {
	if a == b || b == c || a == c || (a[0] == c[0] || b[1] == c[1]) && (a[1] == c[1] || b[0] == c[0]) {
		return 0
	}
	for _, v := range [...]float64{a[0], a[1], b[0], b[1], c[0], c[1]} {
		if !Finite(v) {
			return 0
		}
	}
	diff := func(u, v float64) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).SetFloat64(u), new(big.Rat).SetFloat64(v))
	}
	l := new(big.Rat).Mul(diff(a[0], c[0]), diff(b[1], c[1]))
	return l.Cmp(new(big.Rat).Mul(diff(a[1], c[1]), diff(b[0], c[0])))
}
