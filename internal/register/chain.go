package register

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// mix is the step of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// draws is the number of values that a record draws from its own chain. The first six make its name; each of the
// others starts a chain for one part of the record, so that a part that draws more does not move the next one.
const draws = 18

// The parts of a record, by the place of their value in the chain.
const (
	drawKommune = 6 + iota
	drawPosition
	drawShape
	drawNames
	drawSpellings
	drawCase
	drawSted
	drawTimes
	drawNotes
	drawRecords
	drawStatus
	drawNameTimes
)

// chain holds the values a0, a1, ... of one record.
type chain [draws]uint64

// newChain returns the values of record i; they depend on seed and i only.
func newChain(seed, i uint64) (c chain) {
	h := mix(seed*0x2545F4914F6CDD1D + i)
	for k := range c {
		h = mix(h)
		c[k] = h
	}
	return c
}

// part returns the source of one part of the record. It starts from the complement of the part's value: from the
// value itself it would give the values of the parts that follow.
func (c *chain) part(k int) source { return source{^c[k]} }

// source is a chain of pseudo-random numbers.
type source struct{ x uint64 }

// next returns the next number.
func (s *source) next() uint64 {
	s.x = mix(s.x)
	return s.x
}

// under returns a number from 0 to n-1; n is at least 1. The bias is that of a remainder, below 2^-40 for all n used
// here.
func (s *source) under(n int) int { return int(s.next() % uint64(n)) }

// between returns a number from lo to hi, both possible.
func (s *source) between(lo, hi int) int { return lo + s.under(hi-lo+1) }

// chance is true in permille of 1000 cases.
func (s *source) chance(permille int) bool { return s.under(1000) < permille }

// pick returns one of the list, all equally likely.
func pick[T any](s *source, list []T) T { return list[s.under(len(list))] }

// weighted is a value with its share.
type weighted struct {
	value  string
	weight int
}

// choose returns one of the list by weight.
func choose(s *source, list []weighted) string {
	total := 0
	for _, w := range list {
		total += w.weight
	}
	r := s.under(total)
	for _, w := range list {
		if r < w.weight {
			return w.value
		}
		r -= w.weight
	}
	panic("register: weights do not add up")
}

// numberBits is the width of a stedsnummer; both halves of the permutation have half as many bits, rounded up, and
// values outside are permuted again until they fall inside.
const numberBits = 21

// MaxPlaces is the largest register that can be generated: there is one stedsnummer for each number of 21 bits.
const MaxPlaces = 1 << numberBits

// permute maps 0 to MaxPlaces-1 onto itself: four rounds of a Feistel network on 22 bits, walked until the value is
// in range.
func permute(seed, i uint64) uint64 {
	const half, mask = (numberBits + 1) / 2, 1<<((numberBits+1)/2) - 1
	for {
		l, r := i>>half, i&mask
		for round := range uint64(4) {
			l, r = r, l^(mix(seed+round<<32+r)&mask)
		}
		i = l<<half | r
		if i < MaxPlaces {
			return i
		}
	}
}

// namespace is the name space of the local ids of generated places (RFC 9562, 5.5); made once, at random.
var namespace = [16]byte{0x7b, 0x0e, 0x4c, 0x52, 0x93, 0x1d, 0x4f, 0x6a, 0x8e, 0x27, 0x5a, 0xc1, 0x90, 0xd3, 0x66, 0x1f}

// localID returns the version 5 UUID of a stedsnummer in its decimal form (RFC 9562, 5.5).
func localID(stedsnummer int64) string {
	sum := sha1.Sum(strconv.AppendInt(namespace[:len(namespace):len(namespace)], stedsnummer, 10))
	u := sum[:16]
	binary.BigEndian.PutUint16(u[6:], binary.BigEndian.Uint16(u[6:])&0x0FFF|0x5000)
	u[8] = u[8]&0x3F | 0x80
	h := hex.EncodeToString(u)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
