package feature

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync"
)

// A Hole is a place in the text of a Frame where a value or a part stands.
type Hole struct {
	At   int // in the text without values and parts; in order
	Of   int // which of the values, or of the parts
	Part bool
}

// A Frame is the text of pages, with holes for short values, and for parts, which are fragments. It is compressed once, in codes that are made for the page, and joined with values
// and parts bit by bit. What is repeated across a hole is a reference whose distance is known only there. It is immutable.
type Frame struct {
	text  []byte
	holes []Hole
	codes *codes
	steps []frameStep
	bits  []byte // and 8 more
}

// frameStep is n bytes of the text that stand before it, in the segment from, and codes behind them; the last of a segment has a hole behind it.
type frameStep struct {
	at, source uint32 // in the text; at is where the step begins
	segment    uint32 // of source: how many holes are before it
	n          uint16
	hole       bool
	bits       uint32 // place in Frame.bits of what follows, as codes
	count      uint32 // of these bits
}

const (
	frameSize     = 6 << 10 // most of it codes
	frameStepSize = 32
	frameHoleSize = 24
)

// NewFrame codes a text, as that of a page with such values and parts. The Frame owns text and holes.
func NewFrame(text []byte, holes []Hole, values, parts [][]byte) *Frame {
	return newFrame(&Frame{text: text, holes: holes}, values, parts)
}

// NewInnerFrame codes a text without parts in the codes that are ready, so that it can stand within other text (Member.AppendFrame); values are such as will stand in it. The Frame owns text and holes.
func NewInnerFrame(text []byte, holes []Hole, values [][]byte) *Frame {
	return newFrame(&Frame{text: text, holes: holes, codes: quick}, values, nil)
}

func newFrame(f *Frame, values, parts [][]byte) *Frame {
	w := frameWriter{f: f, page: f.Append(nil, values, parts), shift: make([]int, 1, len(f.holes)+1)}
	for _, h := range f.holes {
		w.shift = append(w.shift, w.shift[len(w.shift)-1]+len(of(h, values, parts)))
	}
	for i := range len(f.holes) + 1 {
		from, to := f.segment(i)
		w.start, w.end = append(w.start, from+w.shift[i]), append(w.end, to+w.shift[i])
	}
	if count := w.parse(); f.codes == nil {
		f.codes = count.codes()
	}
	w.write()
	return f
}

// of is what stands in a hole.
func of(h Hole, values, parts [][]byte) []byte {
	if h.Part {
		return parts[h.Of]
	}
	return values[h.Of]
}

// segment is where the text before the i-th hole begins and ends.
func (f *Frame) segment(i int) (from, to int) {
	if to = len(f.text); i < len(f.holes) {
		to = f.holes[i].At
	}
	if i > 0 {
		from = f.holes[i-1].At
	}
	return from, to
}

// Size is about how many bytes it takes.
func (f *Frame) Size() int64 {
	return int64(len(f.text) + len(f.bits) + frameStepSize*len(f.steps) + frameHoleSize*len(f.holes) + frameSize)
}

// Append appends the text with values and parts in their places.
func (f *Frame) Append(dst []byte, values, parts [][]byte) []byte {
	start := 0
	for _, h := range f.holes {
		dst = append(append(dst, f.text[start:h.At]...), of(h, values, parts)...)
		start = h.At
	}
	return append(dst, f.text[start:]...)
}

// frameWriter makes the steps of a frame.
type frameWriter struct {
	f          *Frame
	page       []byte // with the values and parts that it is made with
	shift      []int  // how many bytes of these are before each segment
	start, end []int  // of segments in the page
	how        [][]written
	bits       bitWriter
}

// parse finds how the segments are written, and counts all symbols of the page.
func (w *frameWriter) parse() (t tally) {
	own, all := chainsPool.Get().(*chains), chainsPool.Get().(*chains)
	defer func() { own.giveBack(); all.giveBack() }()
	own.ends = func(at int) int {
		of, _ := slices.BinarySearch(w.start, at+1) // the last segment that begins there or before
		return w.end[of-1]
	}
	for i, from := range w.start {
		var how []written
		own.parse(w.page, from, w.end[i], func(x written) {
			how = append(how, x)
			if t.literals(x.literals); x.n > 0 {
				t.match(x.n, x.at-x.source)
			}
		})
		w.how = append(w.how, how)
		all.note(w.page, from, w.end[i])
		switch {
		case i == len(w.f.holes):
		case w.f.holes[i].Part:
			all.parse(w.page, w.end[i], w.start[i+1], func(x written) {
				if t.literals(x.literals); x.n > 0 {
					t.match(x.n, x.at-x.source)
				}
			})
		default:
			t.literals(w.page[w.end[i]:w.start[i+1]])
			all.note(w.page, w.end[i], w.start[i+1])
		}
	}
	t.symbols[256]++
	return t
}

// write writes the segments.
func (w *frameWriter) write() {
	w.bits = bitWriter{codes: w.f.codes, dst: make([]byte, 2*len(w.f.text)+9*(len(w.f.text)/leastChain+len(w.start)+1)+slack)}
	for i, how := range w.how {
		shift := w.shift[i]
		w.step(frameStep{at: uint32(w.start[i] - shift)})
		for _, x := range how {
			w.bits.literals(x.literals)
			switch {
			case x.n == 0:
			case x.source >= w.start[i]:
				w.bits.match(x.n, x.at-x.source)
			default:
				of, _ := slices.BinarySearch(w.start, x.source+1)
				of--
				w.step(frameStep{at: uint32(x.at - shift), source: uint32(x.source - w.shift[of]), segment: uint32(of), n: uint16(x.n)})
			}
		}
		w.endStep()
		w.f.steps[len(w.f.steps)-1].hole = i < len(w.f.holes)
	}
	w.f.bits = slices.Clone(w.bits.dst[:w.bits.at+8])
}

// step ends the codes of the step before, and begins one.
func (w *frameWriter) step(s frameStep) {
	if len(w.f.steps) > 0 {
		w.endStep()
	}
	s.bits = uint32(w.bits.at)
	w.f.steps = append(w.f.steps, s)
}

// endStep writes the number of bits of the last step, unless it is written.
func (w *frameWriter) endStep() {
	s := &w.f.steps[len(w.f.steps)-1]
	if s.count > 0 || uint32(w.bits.at) == s.bits && w.bits.n == 0 {
		return
	}
	s.count = (uint32(w.bits.at)-s.bits)*8 + uint32(w.bits.n)
	w.bits.at += int(w.bits.n+7) >> 3
	w.bits.held, w.bits.n = 0, 0
}

// AppendGzip appends a page as a gzip member (RFC 1952); false, where a part was not fitted into this frame, behind what stands before it here (Cache.Fit). It appends to dst then, too, which
// is of no use.
func (f *Frame) AppendGzip(dst []byte, values [][]byte, parts []*Fragment) (_ []byte, ok bool) {
	room := 2*len(f.text) + mostHead + slack
	for _, h := range f.holes {
		if !h.Part {
			room += 2 * len(values[h.Of])
		} else if z := parts[h.Of].fitted.Load(); z != nil {
			room += len(z.bits)
		}
	}
	dst = slices.Grow(append(dst, gzipHead...), room)
	j := joint{f: f, values: values, w: bitWriter{codes: f.codes, dst: dst[:cap(dst)], at: len(dst)}, shift: make([]int, 1, len(f.holes)+1), last: make([]int, len(values))}
	j.w.begin()
	if !j.all(parts) {
		return dst, false
	}
	j.w.put(j.w.codes.end)
	j.w.put(code{3, 10}) // an empty block, the last (RFC 1951, 3.2.6)
	j.w.flush()
	j.w.at += int(j.w.n+7) >> 3
	dst = binary.LittleEndian.AppendUint32(j.w.dst[:j.w.at], j.crc)
	return binary.LittleEndian.AppendUint32(dst, uint32(len(f.text)+j.shift[len(j.shift)-1])), true
}

// joint is the joining of a frame with values and parts.
type joint struct {
	f      *Frame
	values [][]byte
	w      bitWriter
	crc    uint32
	summed bool  // crc is that of the whole text already
	shift  []int // how many bytes of values and parts are before each segment
	last   []int // where each value stood last, plus 1

	matched, distance int // a match that is not written, and may go on; 0: none
}

// all writes the text with values and parts; false, where a part was not fitted.
func (j *joint) all(parts []*Fragment) bool {
	start, f := 0, j.f
	for i := range f.steps {
		j.step(&f.steps[i])
		if !f.steps[i].hole {
			continue
		}
		h := f.holes[len(j.shift)-1]
		j.sum(f.text[start:h.At])
		if start = h.At; !h.Part {
			j.value(h)
		} else if !j.part(parts[h.Of], h) {
			return false
		}
	}
	j.flush()
	j.sum(f.text[start:])
	return true
}

// sum adds a text to the CRC.
func (j *joint) sum(text []byte) {
	if !j.summed {
		j.crc = crc32.Update(j.crc, crc32.IEEETable, text)
	}
}

// Len is how many bytes Append appends for these values, of a frame without parts.
func (f *Frame) Len(values [][]byte) int {
	n := len(f.text)
	for _, h := range f.holes {
		n += len(values[h.Of])
	}
	return n
}

// innerText is what AppendFrame works with.
type innerText struct {
	text        []byte
	shift, last []int
}

var inner = sync.Pool{New: func() any { return new(innerText) }}

// AppendFrame writes the text of a frame that NewInnerFrame made, with values in its holes.
func (m *Member) AppendFrame(dst []byte, f *Frame, values [][]byte) []byte {
	x := inner.Get().(*innerText)
	x.text, x.last = f.Append(x.text[:0], values, nil), append(x.last[:0], make([]int, len(values))...)
	n := len(x.text)
	j := joint{f: f, values: values, w: m.writer(m.begin(dst), n), summed: true, shift: append(x.shift[:0], 0), last: x.last}
	j.all(nil)
	m.crc, m.size, m.before = crc32.Update(m.crc, crc32.IEEETable, x.text), m.size+uint32(n), nil // at once: of short texts it takes as long as of long ones
	x.shift = j.shift
	inner.Put(x)
	return m.wrote(j.w)
}

func (j *joint) step(s *frameStep) {
	if s.n > 0 {
		shift := j.shift[len(j.shift)-1]
		if d := int(s.at-s.source) + shift - j.shift[s.segment]; d <= farthest {
			j.match(int(s.n), d)
		} else {
			j.literals(j.f.text[s.at : s.at+uint32(s.n)])
		}
	}
	if s.count > 0 {
		j.flush()
		j.w.copy(j.f.bits[s.bits:], int(s.count))
	}
}

// match writes n bytes as those that stand so far before; what follows may go on with them.
func (j *joint) match(n, distance int) {
	if distance != j.distance {
		j.flush()
	}
	j.distance, j.matched = distance, j.matched+n
}

// flush writes the match that may have gone on.
func (j *joint) flush() {
	for n := j.matched; n > 0; {
		k := min(n, mostMatch)
		if n > mostMatch && n < mostMatch+3 { // a match has 3 bytes or more
			k -= 3
		}
		j.w.match(k, j.distance)
		n -= k
	}
	j.matched, j.distance = 0, 0
}

func (j *joint) literals(text []byte) {
	j.flush()
	j.w.literals(text)
}

// value writes the value of a hole, by reference where it has been written.
func (j *joint) value(h Hole) {
	v, shift := j.values[h.Of], j.shift[len(j.shift)-1]
	j.shift = append(j.shift, shift+len(v))
	if len(v) == 0 {
		return
	}
	j.sum(v)
	at := h.At + shift + 1
	distance, known := at-j.last[h.Of], j.last[h.Of] > 0
	j.last[h.Of] = at
	if known && distance <= farthest && (len(v) >= leastChain || distance == j.distance) {
		j.match(len(v), distance)
	} else {
		j.literals(v)
	}
}

// part writes a part; false where it is not fitted to what stands before it.
func (j *joint) part(p *Fragment, h Hole) bool {
	shift := j.shift[len(j.shift)-1]
	j.shift = append(j.shift, shift+len(p.JSON))
	if len(p.JSON) == 0 {
		return true
	}
	z := p.fitted.Load()
	if z == nil || z.codes != j.f.codes || z.before != (prefix{crc: j.crc, size: h.At + shift}) {
		return false
	}
	j.flush()
	j.w.copy(z.bits, z.count)
	j.crc = crcMul(z.shift, j.crc) ^ z.crc
	return true
}
