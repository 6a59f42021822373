package feature

import (
	"bytes"
	"math"
	"strconv"
)

var powers = [...]float64{1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// MaxPrecision is the largest number of decimals of coordinates.
const MaxPrecision = 15

// maxDecimals is the largest number of decimals that appendFixed computes in integers.
const maxDecimals = 7

// appendFixed writes v with at most d decimals, rounded half away from zero, without exponent, trailing zeros or "-0".
// The caller has checked wkb.Valid(v) and 0 <= d <= MaxPrecision.
func appendFixed(dst []byte, v float64, d int) []byte {
	if d > maxDecimals {
		return appendDecimals(dst, v, d)
	}
	scaled := v * powers[d]
	n := int64(scaled)
	if rest := scaled - float64(n); rest >= 0.5 {
		n++
	} else if rest <= -0.5 {
		n--
	}
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	var whole, frac uint64
	switch d { // constant divisors avoid divisions
	case 7:
		whole, frac = uint64(n)/1e7, uint64(n)%1e7
	case 2:
		whole, frac = uint64(n)/1e2, uint64(n)%1e2
	default:
		p := uint64(powers[d])
		whole, frac = uint64(n)/p, uint64(n)%p
	}
	dst = strconv.AppendUint(dst, whole, 10)
	if frac == 0 {
		return dst
	}
	for frac%10 == 0 {
		frac /= 10
		d--
	}
	var digits [maxDecimals]byte
	for i := d - 1; i >= 0; i-- {
		digits[i] = byte('0' + frac%10)
		frac /= 10
	}
	dst = append(dst, '.')
	return append(dst, digits[:d]...)
}

// appendDecimals is appendFixed for more than maxDecimals. It writes no more digits than are needed to read v back.
func appendDecimals(dst []byte, v float64, d int) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', -1, 64)
	if point := bytes.IndexByte(dst[start:], '.'); point >= 0 && len(dst)-start-point-1 > d {
		dst = strconv.AppendFloat(dst[:start], v, 'f', d, 64)
		dst = bytes.TrimRight(dst, "0")
		dst = bytes.TrimSuffix(dst, []byte("."))
	}
	if string(dst[start:]) == "-0" {
		return append(dst[:start], '0')
	}
	return dst
}

// appendFloat writes the shortest number that reads back as v, in the form of encoding/json; null for NaN and
// infinities.
func appendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	abs := math.Abs(v)
	if abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-9 instead of e-09
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
