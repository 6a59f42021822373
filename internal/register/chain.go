package register

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// mix is the mixing function of splitmix64, a pseudo-random number generator.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// draws is the number of values in the chain of a record. The first six determine its name. Each of the others is the
// seed of a separate chain for one part of the record, so that a part that draws more values does not change the parts
// after it.
const draws = 18

// Parts of a record; each constant is the index of the part's value in the chain.
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

// part returns the source of random numbers for one part of the record. It is seeded with the complement of the value;
// the value itself would produce the values of the parts that follow.
func (c *chain) part(k int) source { return source{^c[k]} }

// source is a sequence of pseudo-random numbers.
type source struct{ x uint64 }

// next returns the next number.
func (s *source) next() uint64 {
	s.x = mix(s.x)
	return s.x
}

// under returns a random number from 0 to n-1; n is at least 1. The bias of the remainder is below 2^-40 for every n
// used here.
func (s *source) under(n int) int { return int(s.next() % uint64(n)) }

// between returns a random number from lo to hi, inclusive.
func (s *source) between(lo, hi int) int { return lo + s.under(hi-lo+1) }

// chance returns true with a probability of permille/1000.
func (s *source) chance(permille int) bool { return s.under(1000) < permille }

// pick returns a random element of list, all with the same probability.
func pick[T any](s *source, list []T) T { return list[s.under(len(list))] }

// weighted is a value and its weight.
type weighted struct {
	value  string
	weight int
}

// choose returns a random value of list, with probabilities proportional to the weights.
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

// numberBits is the number of bits of a stedsnummer. The permutation works on two halves of this width divided by two,
// rounded up; results that are too large are permuted again.
const numberBits = 21

// MaxPlaces is the largest number of places that can be generated: one for each stedsnummer.
const MaxPlaces = 1 << numberBits

// permute returns number i of a permutation of 0 to MaxPlaces-1 that depends on seed: four rounds of a Feistel network
// on 22 bits, repeated until the value is in range.
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

// namespace is the UUID namespace of the local ids of generated places (RFC 9562, 5.5). It is a random constant.
var namespace = [16]byte{0x7b, 0x0e, 0x4c, 0x52, 0x93, 0x1d, 0x4f, 0x6a, 0x8e, 0x27, 0x5a, 0xc1, 0x90, 0xd3, 0x66, 0x1f}

// localID returns the version 5 UUID (RFC 9562, 5.5) for the decimal form of a stedsnummer.
func localID(stedsnummer int64) string {
	sum := sha1.Sum(strconv.AppendInt(namespace[:len(namespace):len(namespace)], stedsnummer, 10))
	u := sum[:16]
	binary.BigEndian.PutUint16(u[6:], binary.BigEndian.Uint16(u[6:])&0x0FFF|0x5000)
	u[8] = u[8]&0x3F | 0x80
	h := hex.EncodeToString(u)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
