package feature

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// A Hole is a place in the text of a Frame where a value stands.
type Hole struct {
	At    int // in the text without values; in order
	Value int // which of the values
}

// A Frame is a text with holes, in the codes that are ready for short texts: what stands around the values is compressed once, and a Member joins it with
// values bit by bit. What is repeated across a hole is a reference whose distance is known only there. It is immutable.
type Frame struct {
	text  []byte
	holes []Hole
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
	frameChain    = 48 // places that are tried for the longest match
	frameSize     = 128
	frameStepSize = 32
	frameHoleSize = 16
)

// NewFrame codes a text. The Frame owns both.
func NewFrame(text []byte, holes []Hole) *Frame {
	f := &Frame{text: text, holes: holes}
	w := frameWriter{f: f, seen: map[uint64][]int{}}
	w.bits = bitWriter{dst: make([]byte, 2*len(text)+9*(len(text)/leastMatch+len(holes)+1)+slack)}
	start := 0
	for i, h := range holes {
		w.segment(i, start, h.At)
		f.steps[len(f.steps)-1].hole = true
		start = h.At
	}
	w.segment(len(holes), start, len(text))
	f.bits = slices.Clone(w.bits.dst[:w.bits.at+8])
	return f
}

// Size is about how many bytes it takes.
func (f *Frame) Size() int64 {
	return int64(len(f.text) + len(f.bits) + frameStepSize*len(f.steps) + frameHoleSize*len(f.holes) + frameSize)
}

// Append appends the text with the values in their places.
func (f *Frame) Append(dst []byte, values [][]byte) []byte {
	start := 0
	for _, h := range f.holes {
		dst = append(append(dst, f.text[start:h.At]...), values[h.Value]...)
		start = h.At
	}
	return append(dst, f.text[start:]...)
}

// frameWriter makes the steps of a frame.
type frameWriter struct {
	f     *Frame
	bits  bitWriter
	seen  map[uint64][]int // places in the text by what begins there
	start []int            // of segments
}

// segment codes the text between two holes.
func (w *frameWriter) segment(number, from, to int) {
	w.start = append(w.start, from)
	text := w.f.text
	w.step(frameStep{at: uint32(from)})
	next := from // first byte that is not written
	for i := from; i+leastMatch <= to; i++ {
		at, n := w.longest(number, i, to)
		w.note(i, to)
		if n == 0 {
			continue
		}
		if i+1+leastMatch <= to {
			if _, later := w.longest(number, i+1, to); later > n+1 {
				continue
			}
		}
		w.bits.literals(text[next:i])
		if at >= from {
			w.bits.match(n, i-at)
		} else {
			of, _ := slices.BinarySearch(w.start, at+1) // the last segment that begins there or before
			w.step(frameStep{at: uint32(i), source: uint32(at), segment: uint32(of - 1), n: uint16(n)})
		}
		for next = i + n; i < next-1; i++ {
			w.note(i+1, to)
		}
	}
	w.bits.literals(text[next:to])
	w.endStep()
}

// note remembers what begins at a place.
func (w *frameWriter) note(i, to int) {
	if i+leastMatch <= to {
		k := w.key(i)
		if at := w.seen[k]; len(at) == 0 || at[len(at)-1] != i {
			w.seen[k] = append(at, i)
		}
	}
}

func (w *frameWriter) key(i int) uint64 {
	var eight [8]byte
	copy(eight[:leastMatch], w.f.text[i:])
	return binary.LittleEndian.Uint64(eight[:])
}

// longest finds the longest text before a place that goes on as the text there does, within one segment each; 0: none does.
func (w *frameWriter) longest(number, i, to int) (at, n int) {
	found := w.seen[w.key(i)]
	text := w.f.text
	for tried := 0; tried < frameChain && tried < len(found); tried++ {
		p := found[len(found)-1-tried]
		if i-p > farthest {
			break
		}
		most := min(to-i, mostMatch)
		if of, _ := slices.BinarySearch(w.start, p+1); of-1 < number { // which ends where the next begins
			most = min(most, w.start[of]-p)
		}
		k := 0
		for k < most && text[p+k] == text[i+k] {
			k++
		}
		if k >= leastMatch && k > n {
			at, n = p, k
		}
	}
	return at, n
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

// AppendFrame writes a frame with the values in its holes.
func (m *Member) AppendFrame(dst []byte, f *Frame, values [][]byte) []byte {
	dst = m.begin(dst)
	size := len(f.text)
	for _, h := range f.holes {
		size += len(values[h.Value])
	}
	m.before = nil
	m.size += uint32(size)
	j := joint{f: f, values: values, w: m.writer(dst, size), crc: m.crc, shift: make([]int, 1, len(f.holes)+1), last: make([]int, len(values))}
	start := 0
	for i := range f.steps {
		j.step(&f.steps[i])
		if f.steps[i].hole {
			h := f.holes[len(j.shift)-1]
			j.crc = crc32.Update(j.crc, crc32.IEEETable, f.text[start:h.At])
			start = h.At
			j.value(h)
		}
	}
	j.flush()
	m.crc = crc32.Update(j.crc, crc32.IEEETable, f.text[start:])
	return m.wrote(j.w)
}

// joint is the joining of a frame with values.
type joint struct {
	f      *Frame
	values [][]byte
	w      bitWriter
	crc    uint32
	shift  []int // how many bytes of values are before each segment
	last   []int // where each value stood last, plus 1

	matched, distance int // a match that is not written, and may go on; 0: none
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
	v, shift := j.values[h.Value], j.shift[len(j.shift)-1]
	j.shift = append(j.shift, shift+len(v))
	if len(v) == 0 {
		return
	}
	j.crc = crc32.Update(j.crc, crc32.IEEETable, v)
	at := h.At + shift + 1
	distance, known := at-j.last[h.Value], j.last[h.Value] > 0
	j.last[h.Value] = at
	if known && distance <= farthest && (len(v) >= leastMatch || distance == j.distance) {
		j.match(len(v), distance)
	} else {
		j.literals(v)
	}
}
