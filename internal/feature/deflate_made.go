package feature

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// tally counts the symbols of a text, for codes that are made for texts like it.
type tally struct {
	symbols   [256 + 30]int // literals, the end, lengths of matches
	distances [30]int
}

func (t *tally) literals(text []byte) {
	for _, b := range text {
		t.symbols[b]++
	}
}

func (t *tally) match(n, distance int) {
	t.symbols[257+lengthSymbol(n)]++
	t.distances[distanceSymbol(distance)]++
}

// lengthSymbol returns the number of the code of a length from 3 to 258, from 0 on (RFC 1951, 3.2.5).
func lengthSymbol(n int) int {
	switch n -= 3; {
	case n == mostMatch-3:
		return 28
	case n < 8:
		return n
	}
	extra := bits.Len(uint(n)) - 3
	return 4*extra + n>>extra
}

// codes makes codes for what was counted. Every symbol has one, since other texts have others.
func (t *tally) codes() *codes {
	const much = 32 // beside what was not seen
	for _, counts := range [][]int{t.symbols[:], t.distances[:]} {
		for i, n := range counts {
			counts[i] = n*much + 1
		}
	}
	literals, distances := codeLengths(t.symbols[:], 15), codeLengths(t.distances[:], 15)
	var lengths [19]int
	eachLength(literals+distances, func(s, _ int) { lengths[s]++ })
	return newCodes(literals, distances, codeLengths(lengths[:], 7))
}

// codeLengths returns the lengths of Huffman codes for symbols that come so often, as letters, none of more than most bits. What does not come has
// none; two symbols at least must come.
func codeLengths(counts []int, most int) string {
	type node struct{ n, symbol, left, right int }
	for {
		nodes := make([]node, 0, 2*len(counts))
		for s, n := range counts {
			if n > 0 {
				nodes = append(nodes, node{n: n, symbol: s, left: -1})
			}
		}
		slices.SortStableFunc(nodes, func(a, b node) int { return a.n - b.n })
		leaves, joined := len(nodes), len(nodes)
		next := 0
		least := func() int { // the next leaf or joined node, whichever comes less often
			if next < leaves && (joined == len(nodes) || nodes[next].n <= nodes[joined].n) {
				next++
				return next - 1
			}
			joined++
			return joined - 1
		}
		for range leaves - 1 {
			a, b := least(), least()
			nodes = append(nodes, node{n: nodes[a].n + nodes[b].n, left: a, right: b})
		}
		out, depth, deepest := bytes.Repeat([]byte{'a'}, len(counts)), make([]int, len(nodes)), 0
		for i := len(nodes) - 1; i >= 0; i-- {
			if n := nodes[i]; n.left >= 0 {
				depth[n.left], depth[n.right] = depth[i]+1, depth[i]+1
			} else {
				out[n.symbol] += byte(depth[i])
				deepest = max(deepest, depth[i])
			}
		}
		if deepest <= most {
			return string(out)
		}
		for i, n := range counts { // which makes the seldom ones less seldom
			counts[i] = (n + 1) / 2
		}
	}
}

const (
	chainBits   = 15
	chainLength = 48 // places that are tried for the longest match
	leastChain  = 4  // bytes of a match
	fewFar      = 4 << 10
)

// chains find where a text has been before, within the reach of deflate.
type chains struct {
	head [1 << chainBits]int32 // the last place with a hash, plus 1
	prev [farthest]int32       // the place before it, plus 1
	ends func(int) int         // how far what begins at a place may be repeated; nil: up to where it is
}

func chainHash(text []byte) uint32 {
	return binary.LittleEndian.Uint32(text) * 0x9e3779b1 >> (32 - chainBits)
}

// note remembers what begins at the places from one to another.
func (c *chains) note(text []byte, from, to int) {
	for i := from; i < min(to, len(text)-leastChain+1); i++ {
		h := chainHash(text[i:])
		c.prev[i%farthest], c.head[h] = c.head[h], int32(i+1)
	}
}

// longest finds the longest match for what stands at i and ends at to; 0: none is worth it.
func (c *chains) longest(text []byte, i, to int) (at, n int) {
	if i+leastChain > to {
		return 0, 0
	}
	n = leastChain - 1
	for tried, p := 0, int(c.head[chainHash(text[i:])])-1; tried < chainLength && p >= 0 && i-p <= farthest; tried++ {
		most := min(to-i, mostMatch)
		if c.ends != nil {
			most = min(most, c.ends(p)-p)
		}
		if most > n && text[p+n] == text[i+n] {
			k := 0
			for k < most && text[p+k] == text[i+k] {
				k++
			}
			if k > n && (k > leastChain || i-p <= fewFar) {
				at, n = p, k
			}
		}
		before := int(c.prev[p%farthest]) - 1
		if before >= p { // of a place that is beyond reach
			break
		}
		p = before
	}
	if n < leastChain {
		return 0, 0
	}
	return at, n
}

// written is how a text is written: literals, then a match, unless n is 0.
type written struct {
	literals   []byte
	at, source int // places of the match and of what it repeats
	n          int
}

// parse finds how what stands from one place to another is written, and notes what begins there.
func (c *chains) parse(text []byte, from, to int, put func(written)) {
	next := from // first byte that is not written
	at, n := c.longest(text, from, to)
	for i := from; i < to; {
		c.noteWithin(text, i, i+1, to)
		later, m := 0, 0
		if n < mostMatch {
			later, m = c.longest(text, i+1, to)
		}
		if n == 0 || m > n {
			at, n = later, m
			i++
			continue
		}
		put(written{text[next:i], i, at, n})
		c.noteWithin(text, i+1, i+n, to)
		i += n
		next = i
		at, n = c.longest(text, i, to)
	}
	put(written{literals: text[next:to]})
}

// noteWithin is note for what ends where the parsed text does.
func (c *chains) noteWithin(text []byte, from, to, end int) { c.note(text[:end], from, to) }
