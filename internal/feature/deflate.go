package feature

import (
	"encoding/binary"
	"hash/crc32"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/flate"
)

const (
	// leastDeflated is the mean length in bytes of a page's fragments from which each is compressed on its own, once,
	// and copied into every response. Compared with compressing a whole response, similarities between features are
	// lost: 14 % more bytes at a mean of 1.4 KB, none from 2.5 KB on.
	leastDeflated = 1 << 10

	// fragmentLevel is the compression level of fragments: twice the time of level 6 for 2 to 3 % fewer bytes
	// (BenchmarkLevels).
	fragmentLevel = 7

	// mostAtOnce is the largest length in bytes of fragments that are compressed for one response, about 100 ms of
	// work. Later responses compress the rest.
	mostAtOnce = 4 << 20

	// runLevel is the compression level of text between fragments, and of pages with small ones, for each response.
	runLevel = flate.BestSpeed

	// mostStored is the length in bytes up to which text is stored without compression, such as a comma between
	// fragments.
	mostStored = 64
)

// A Fragment is an encoded feature and, if it was used again on a page of large ones, its compressed form. It is
// immutable for callers and safe for concurrent use.
type Fragment struct {
	JSON []byte // the encoded feature; must not be changed

	deflated atomic.Pointer[deflated]
	claimed  atomic.Bool // some goroutine builds or has built the compressed form

	key Key // if it is in a Cache
}

// Deflated reports whether the fragment has a compressed form, which a Member can copy.
func (f *Fragment) Deflated() bool { return f.deflated.Load() != nil }

// deflated is a text as deflate blocks (RFC 1951) that do not refer to earlier data, end on a byte boundary, and are
// not final.
type deflated struct {
	blocks []byte
	crc    uint32 // CRC-32 of the text
	shift  uint32 // factor for appending the text to a CRC-32; see crcShift
	size   uint32 // length of the text modulo 2^32
}

func newDeflated(text []byte) *deflated {
	d := fragmentDeflaters.Get().(*deflater)
	d.out = d.run(d.out[:0], text)
	z := &deflated{
		blocks: slices.Clone(d.out),
		crc:    crc32.ChecksumIEEE(text),
		shift:  crcShift(uint64(len(text))),
		size:   uint32(len(text)),
	}
	fragmentDeflaters.Put(d)
	return z
}

// A Member writes one gzip member (RFC 1952) from plain text and fragments. It copies the compressed form of a
// fragment. It writes a single member, since some readers stop after the first one. The zero value begins a member. It
// appends to buffers of the caller, which may be sent and emptied between calls. It is not safe for concurrent use. A
// copy of a Member continues from the same point.
type Member struct {
	begun     bool
	crc, size uint32
}

// AppendText writes plain text as a compressed block of its own. Callers should collect text first.
func (m *Member) AppendText(dst, text []byte) []byte {
	dst = m.begin(dst)
	if len(text) == 0 {
		return dst
	}
	m.crc = crc32.Update(m.crc, crc32.IEEETable, text)
	m.size += uint32(len(text))
	if n := uint16(len(text)); len(text) <= mostStored { // RFC 1951, 3.2.4
		dst = append(dst, 0, byte(n), byte(n>>8), byte(^n), byte(^n>>8))
		return append(dst, text...)
	}
	d := runDeflaters.Get().(*deflater)
	defer runDeflaters.Put(d)
	return d.run(dst, text)
}

// AppendFragment writes the JSON of a fragment.
func (m *Member) AppendFragment(dst []byte, f *Fragment) []byte {
	z := f.deflated.Load()
	if z == nil {
		return m.AppendText(dst, f.JSON)
	}
	dst = m.begin(dst)
	m.crc = crcMul(z.shift, m.crc) ^ z.crc
	m.size += z.size
	return append(dst, z.blocks...)
}

// AppendEnd ends the member with an empty final block, CRC-32 and length (RFC 1952, 2.3.1). The next call begins a new
// one.
func (m *Member) AppendEnd(dst []byte) []byte {
	dst = append(m.begin(dst), 3, 0)
	dst = binary.LittleEndian.AppendUint32(dst, m.crc)
	dst = binary.LittleEndian.AppendUint32(dst, m.size)
	*m = Member{}
	return dst
}

// gzipHead is the header of a gzip member: deflate, no name, no time, unknown system.
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

func (m *Member) begin(dst []byte) []byte {
	if m.begun {
		return dst
	}
	m.begun = true
	return append(dst, gzipHead...)
}

// A deflater appends blocks to out.
type deflater struct {
	w   *flate.Writer
	out []byte
}

var (
	fragmentDeflaters = sync.Pool{New: func() any { return newDeflater(fragmentLevel) }}
	runDeflaters      = sync.Pool{New: func() any { return newDeflater(runLevel) }}
)

func newDeflater(level int) *deflater {
	d := &deflater{}
	d.w, _ = flate.NewWriter(d, level) // fails only for invalid levels
	return d
}

func (d *deflater) Write(b []byte) (int, error) {
	d.out = append(d.out, b...)
	return len(b), nil
}

// aTurn is the number of bytes after which compression yields to other goroutines, within a millisecond. The scheduler
// alone lets each goroutine run for 10 ms.
const aTurn = 64 << 10

// run appends text as blocks that do not refer to earlier data and end on a byte boundary.
func (d *deflater) run(dst, text []byte) []byte {
	d.out = dst
	d.w.Reset(d)
	for ; len(text) > aTurn; text = text[aTurn:] {
		d.w.Write(text[:aTurn]) // never fails
		runtime.Gosched()
	}
	d.w.Write(text)
	d.w.Flush()
	dst, d.out = d.out, nil
	return dst
}

// crcPoly is the polynomial of CRC-32, bit-reversed: the highest bit is x^0 (RFC 1952, 8).
const crcPoly = crc32.IEEE

// crcMul multiplies modulo the polynomial.
func crcMul(a, b uint32) (p uint32) {
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			p ^= b
		}
		b = b>>1 ^ crcPoly&-(b&1)
	}
	return p
}

// crcShift returns x^(8n) modulo the polynomial. The CRC of A followed by B of n bytes is crcMul(crcShift(n), crc(A))
// ^ crc(B).
func crcShift(n uint64) uint32 {
	p, square := uint32(1)<<31, uint32(1)<<23 // 1, x^8
	for ; n != 0; n >>= 1 {
		if n&1 != 0 {
			p = crcMul(square, p)
		}
		square = crcMul(square, square)
	}
	return p
}
