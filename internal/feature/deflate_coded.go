package feature

import (
	"bytes"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"
)

// coded is the text of a small fragment in the codes that are ready for short texts, to be joined bit by bit with others in one block of a page. What
// features have in common, keys with what stands around them, is left out: a page refers to the feature before for it, whose distance is known
// only there.
type coded struct {
	pieces []piece
	bits   []byte  // and 8 more
	crc    uint32  // of the text
	shift  uint32  // moves the CRC of what stands before over the text
	common *string // the texts of the pieces; where two forms have the same one, their pieces have the same texts
}

// piece is a part of a text that is likely to stand in the next one, too, and the text behind it.
type piece struct {
	at, n uint16 // of the piece
	bits  uint16 // place in coded.bits of what follows, as codes
	count uint32 // of these bits
}

const (
	leastPiece = 5 // bytes
	farthest   = 32 << 10
)

// coder makes coded forms.
type coder struct {
	seen   places
	pieces []piece
	bits   []byte
	texts  []byte
}

var coders = sync.Pool{New: func() any { return new(coder) }}

// newCoded codes a text of at most mostQuick bytes.
func newCoded(text []byte) *coded {
	c := coders.Get().(*coder)
	defer coders.Put(c)
	c.find(text)
	c.seen = places{}
	c.bits = slices.Grow(c.bits[:0], 2*len(text)+len(c.pieces)+slack)
	w := bitWriter{codes: quick, dst: c.bits[:cap(c.bits)]}
	for i := range c.pieces {
		p, to := &c.pieces[i], len(text)
		if i+1 < len(c.pieces) {
			to = int(c.pieces[i+1].at)
		}
		start := w.at
		w.text(text, int(p.at+p.n), to, &c.seen)
		p.bits, p.count = uint16(start), uint32((w.at-start)*8+int(w.n))
		w.at += int(w.n+7) >> 3
		w.held, w.n = 0, 0
	}
	return &coded{pieces: slices.Clone(c.pieces), bits: bytes.Clone(w.dst[:w.at+8]), crc: crc32.ChecksumIEEE(text), shift: crcShift(uint64(len(text))), common: c.textsOf(text)}
}

// commons are some texts of pieces, by their hash: features of one collection mostly have the same ones, which are then not compared each time.
var commons [64]struct {
	texts  atomic.Pointer[string]
	others atomic.Uint32 // how often other texts were asked for
}

const (
	mostCommon = 1 << 10 // bytes of texts that commons holds
	mostOthers = 256     // others take the place of a text that is seldom asked for, so rarely that what forms hold of them is little
)

// textsOf is what coded.common is for the pieces of a text; nil where they are long.
func (c *coder) textsOf(text []byte) *string {
	b := c.texts[:0]
	for _, p := range c.pieces {
		b = append(append(b, byte(p.n), byte(p.n>>8)), text[p.at:p.at+p.n]...)
	}
	if c.texts = b; len(b) > mostCommon {
		return nil
	}
	at := &commons[crc32.ChecksumIEEE(b)%uint32(len(commons))]
	held := at.texts.Load()
	if held != nil && *held == string(b) {
		return held
	}
	if held != nil && at.others.Add(1)%mostOthers != 0 {
		return nil
	}
	s := string(b)
	at.texts.Store(&s)
	return &s
}

// find finds the pieces of JSON; the first begins the text, and may be empty.
func (c *coder) find(text []byte) {
	c.pieces = c.pieces[:0]
	start := 0
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '"':
			end := i + 1 + endOfString(text[i+1:])
			if end < len(text) && text[end] == ':' {
				kind := bytes.HasPrefix(text[i:], []byte(`"type":"`))
				if i = end + 1; kind { // whose value is seldom another
					i += 1 + endOfString(text[i+1:])
				}
				continue
			}
			c.piece(start, i+1)
			start, i = max(i+1, end-1), end
		case b == ',' || b == ':' || b == '{' || b == '}' || b == '[' || b == ']':
			i++
		default:
			c.piece(start, i)
			for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && text[i] != '"' {
				i++
			}
			start = i
		}
	}
	c.piece(start, len(text))
	if len(c.pieces) == 0 || c.pieces[0].at > 0 {
		c.pieces = slices.Insert(c.pieces, 0, piece{})
	}
}

// endOfString is how many bytes there are to the end of a string that has begun, with its end.
func endOfString(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}

func (c *coder) piece(from, to int) {
	for ; to-from >= leastPiece; from += mostMatch {
		c.pieces = append(c.pieces, piece{at: uint16(from), n: uint16(min(to-from, mostMatch))})
	}
}

// appendCoded writes a fragment in the block that is open, or that it begins.
func (m *Member) appendCoded(dst []byte, f *Fragment, z *coded) []byte {
	m.crc = crcMul(z.shift, m.crc) ^ z.crc
	m.size += uint32(len(f.JSON))
	w := m.writer(dst, len(f.JSON))
	var before []piece
	alike := false
	if m.before != nil {
		c := m.before.coded.Load()
		before, alike = c.pieces, c.common != nil && c.common == z.common
	}
	for i := range z.pieces {
		p := &z.pieces[i]
		if n := int(p.n); n > 0 {
			text, distance := f.JSON[p.at:p.at+p.n], 0
			if i < len(before) && (alike || m.before.has(before[i], text)) {
				distance = m.distance(before[i], p)
			}
			if distance > 0 {
				w.match(n, distance)
			} else {
				w.literals(text)
			}
		}
		w.copy(z.bits[p.bits:], int(p.count))
	}
	m.before, m.gap = f, 0
	return m.wrote(w)
}

// has reports whether a piece of a fragment is that text. It looks at the text of the fragment, which may lie where the processor has to wait for it.
func (f *Fragment) has(q piece, text []byte) bool {
	return string(f.JSON[q.at:q.at+q.n]) == string(text)
}

// distance is how far before a piece of a fragment that piece of the fragment before stands, whose text is the same; 0: too far.
func (m *Member) distance(q piece, p *piece) int {
	if d := len(m.before.JSON) - int(q.at) + m.gap + int(p.at); d <= farthest {
		return d
	}
	return 0
}
