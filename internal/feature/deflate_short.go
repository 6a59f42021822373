package feature

import (
	"encoding/binary"
	"math/bits"
)

// mostQuick is the length in bytes up to which a text is compressed with codes that are ready. It is below 64 KB, so that places in it have 16 bits.
const mostQuick = 16 << 10

// Huffman codes of deflate (RFC 1951, 3.2.7) for pages of features, by their lengths in bits: a is 0, b is 1 and so on. They come from the pages of 1 to
// 100 divisions, places and names, whose common parts are references (deflate_coded.go); every symbol has a code. Codes that are made for each text take 1.6 times the
// time (BenchmarkShortText), for 4 to 10 % fewer bytes.
const (
	literalLengths = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnningnnnmnkmnlfhgkffeeeeeeeehmnknmnllkllkklkllkjjkkmkjjnlmlnkhnhnknhjiigiijhkighghikhhgiiljilininn" +
		"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnmnnnnnnnnnnnnnnnnnnlnnnnnnnnnnknnnnnnnnnnnnnnnnnnnnnnnnnnnnnnmnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
	matchLengths    = "mnmhffghiiijijkkmikijknnnnnnnn" // the first is the end of the block
	distanceLengths = "kllllkijdhfgeedecedgghijijijjj"
	lengthLengths   = "aaggfeeedddeedaadaa"
)

const (
	leastMatch = 6 // bytes: shorter ones take more time than they are worth, and no fewer bits than the digits that they are made of
	mostMatch  = 258
	hashBits   = 12
	mostHead   = 512 // bytes of the head of a block, and 8 more
)

// A code has its first bit lowest.
type code struct {
	bits uint32
	n    uint8
}

// quick are the codes above.
var quick = newCodes(literalLengths+matchLengths, distanceLengths, lengthLengths)

// codes are all codes of a block, those of matches with their extra bits. They are immutable.
type codes struct {
	head      []byte // of a block that is not final, and 8 more
	headBits  int
	literals  [256]code
	end       code
	matches   [mostMatch + 1]code // by length
	distances [30]struct {
		code
		extra uint8
		base  uint16
	}
}

// newCodes makes codes by their lengths, as letters: of literals and matches, of distances, and of these lengths.
func newCodes(literals, distances, lengths string) *codes {
	q := new(codes)
	symbols := huffman(literals)
	copy(q.literals[:], symbols)
	q.end = symbols[256]
	length := 3 // RFC 1951, 3.2.5
	for s := 257; s < 285; s++ {
		extra := max(0, (s-261)/4)
		for i := range 1 << extra {
			q.matches[length] = code{symbols[s].bits | uint32(i)<<symbols[s].n, symbols[s].n + uint8(extra)}
			length++
		}
	}
	q.matches[mostMatch] = symbols[285]
	distance := 1
	for s, c := range huffman(distances) {
		d := &q.distances[s]
		d.code, d.extra, d.base = c, uint8(max(0, s/2-1)), uint16(distance)
		distance += 1 << d.extra
	}
	w := bitWriter{dst: make([]byte, mostHead)}
	for _, c := range headOfBlock(literals, distances, lengths) {
		w.put(c)
		w.flush()
	}
	q.head, q.headBits = w.dst, w.at*8+int(w.n)
	return q
}

// huffman gives each symbol its code (RFC 1951, 3.2.2).
func huffman(lengths string) []code {
	out := make([]code, len(lengths))
	next := uint16(0)
	for n := uint8(1); n < 16; n++ {
		for s := range lengths {
			if lengths[s]-'a' == n {
				out[s] = code{uint32(bits.Reverse16(next) >> (16 - n)), n}
				next++
			}
		}
		next <<= 1
	}
	return out
}

// headOfBlock writes the lengths of codes (RFC 1951, 3.2.7), by codes of these lengths.
func headOfBlock(literals, distances, lengths string) []code {
	head := []code{{0b100, 3}, {uint32(len(literals) - 257), 5}, {uint32(len(distances) - 1), 5}, {19 - 4, 4}}
	for _, s := range [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		head = append(head, code{uint32(lengths[s] - 'a'), 3})
	}
	symbols := huffman(lengths)
	eachLength(literals+distances, func(s, repeated int) {
		if head = append(head, symbols[s]); s == repeatLength {
			head = append(head, code{uint32(repeated - 3), 2})
		}
	})
	return head
}

// repeatLength is the symbol that the last length comes 3 to 6 times more.
const repeatLength = 16

// eachLength calls fn with the symbols by which lengths are written, and how often a repeated one comes.
func eachLength(all string, fn func(s, repeated int)) {
	for i := 0; i < len(all); {
		s := int(all[i] - 'a')
		fn(s, 0)
		run := 0 // of the same after it
		for i++; i+run < len(all) && all[i+run] == all[i-1]; {
			run++
		}
		i += run
		for ; run >= 3; run -= min(run, 6) {
			fn(repeatLength, min(run, 6))
		}
		for ; run > 0; run-- {
			fn(s, 0)
		}
	}
}

// distanceSymbol returns the number of the code of a distance from 1 to 32768.
func distanceSymbol(d int) int {
	if d--; d < 4 {
		return d
	}
	n := bits.Len(uint(d)) - 1
	return 2*n + d>>(n-1)&1
}

// places are where the beginnings of a text were seen of late, plus 1, by hashOf.
type places [1 << hashBits]uint16

// begin begins a block, which is not final.
func (w *bitWriter) begin() { w.copy(w.codes.head, w.codes.headBits) }

// end ends the block, with an empty stored one, so that what follows begins with a byte.
func (w *bitWriter) end() {
	w.put(w.codes.end)
	w.put(code{0, 3})
	w.flush()
	if w.n > 0 {
		w.at++
	}
	w.at += copy(w.dst[w.at:], "\x00\x00\xff\xff")
	w.held, w.n = 0, 0
}

// text writes what stands in text, of at most mostQuick bytes, from one place to another, with references to what stands before it there.
func (w *bitWriter) text(text []byte, from, to int, seen *places) {
	next := from // first byte that is not written
	for i := from; i+8 <= len(text) && i+leastMatch <= to; {
		eight := binary.LittleEndian.Uint64(text[i:])
		h := hashOf(eight)
		at := int(seen[h]) - 1
		seen[h] = uint16(i + 1)
		if at < 0 || (binary.LittleEndian.Uint64(text[at:])^eight)<<(64-8*leastMatch) != 0 {
			i++
			continue
		}
		w.literals(text[next:i])
		n := leastMatch + common(text[at+leastMatch:], text[i+leastMatch:to])
		w.match(n, i-at)
		next = i + n
		for i += 2; i < next && i+8 <= len(text); i += 2 {
			seen[hashOf(binary.LittleEndian.Uint64(text[i:]))] = uint16(i + 1)
		}
		i = next
	}
	w.literals(text[next:to])
}

// match writes that n bytes are those that stand so far before.
func (w *bitWriter) match(n, distance int) {
	w.put(w.codes.matches[n])
	d := &w.codes.distances[distanceSymbol(distance)]
	w.put(d.code)
	w.put(code{uint32(distance - int(d.base)), d.extra})
	w.flush()
}

// hashOf hashes the first bytes, as many as a match must have.
func hashOf(eight uint64) uint32 {
	return uint32(eight << (64 - 8*leastMatch) * 0x9e3779b97f4a7c15 >> (64 - hashBits))
}

// common returns how many bytes b, the shorter one, begins with that a begins with too, as far as a match may go.
func common(a, b []byte) int {
	b = b[:min(len(b), mostMatch-leastMatch)]
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// bitWriter writes bits, the lowest first (RFC 1951, 3.1.1), into dst from at on.
type bitWriter struct {
	codes *codes
	dst   []byte
	at    int
	held  uint64
	n     uint8 // bits in held; fewer than 8 after flush
}

// slack is how many bytes dst must have room for beyond the codes: those of the head of a block, and what flush writes too much.
const slack = 256

// put adds a code; flush must be called before more than 56 bits are there.
func (w *bitWriter) put(c code) {
	w.held |= uint64(c.bits) << (w.n & 63)
	w.n += c.n
}

// flush writes whole bytes; a rest stays in held and stands in dst already.
func (w *bitWriter) flush() {
	binary.LittleEndian.PutUint64(w.dst[w.at:], w.held)
	w.at += int(w.n >> 3)
	w.held >>= w.n & 56
	w.n &= 7
}

// literals writes text as it is. Three codes have at most 56 bits with those that are held.
func (w *bitWriter) literals(text []byte) {
	held, n, at, literals := w.held, w.n, w.at, &w.codes.literals
	for ; len(text) >= 3; text = text[3:] {
		a, b, c := literals[text[0]], literals[text[1]], literals[text[2]]
		held |= uint64(a.bits)<<(n&63) | uint64(b.bits)<<((n+a.n)&63) | uint64(c.bits)<<((n+a.n+b.n)&63)
		n += a.n + b.n + c.n
		binary.LittleEndian.PutUint64(w.dst[at:], held)
		at += int(n >> 3)
		held >>= n & 56
		n &= 7
	}
	w.held, w.n, w.at = held, n, at
	for _, b := range text {
		w.put(literals[b])
	}
	w.flush()
}

// copy writes n bits of src, which has 8 bytes more.
func (w *bitWriter) copy(src []byte, n int) {
	held, have, at := w.held, w.n, w.at
	for ; n >= 56; n -= 56 {
		held |= binary.LittleEndian.Uint64(src) & (1<<56 - 1) << (have & 63)
		binary.LittleEndian.PutUint64(w.dst[at:], held)
		held >>= 56
		at += 7
		src = src[7:]
	}
	held |= binary.LittleEndian.Uint64(src) & (1<<n - 1) << (have & 63)
	w.held, w.at, w.n = held, at, have+uint8(n)
	w.flush()
}
