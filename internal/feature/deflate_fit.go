package feature

import (
	"bytes"
	"hash/crc32"
	"runtime"
	"sync"
)

// fitted is the text of a part in the codes of a Frame, with references to what stands before it on the page. It is for that place alone.
type fitted struct {
	codes  *codes
	before prefix
	bits   []byte // and 8 more
	count  int    // of bits
	crc    uint32 // of the text
	shift  uint32 // moves the CRC of what stands before over the text
}

// prefix tells what stands before a part on a page.
type prefix struct {
	crc  uint32
	size int
}

const (
	fittedSize = 96
	// mostFitted is the length in bytes of the pages whose parts are fitted, some 20 ms for the longest.
	mostFitted = 1 << 20
)

var chainsPool = sync.Pool{New: func() any { return new(chains) }}

func (c *chains) giveBack() {
	clear(c.head[:])
	c.ends = nil
	chainsPool.Put(c)
}

// Fit gives the parts of a page, in the cache, the form in which AppendGzip joins them; not those of a very long page. It costs what compressing the page well does, and is of use for the same page.
func (c *Cache) Fit(f *Frame, values [][]byte, parts []*Fragment) {
	texts, size := make([][]byte, len(parts)), len(f.text)
	for i, p := range parts {
		texts[i] = p.JSON
		size += len(p.JSON)
	}
	if size > mostFitted {
		return
	}
	page := f.Append(nil, values, texts)
	w := fitter{page: page, codes: f.codes, chains: chainsPool.Get().(*chains)}
	defer w.chains.giveBack()
	at, start := 0, 0
	for _, h := range f.holes {
		at += h.At - start
		start = h.At
		n := len(of(h, values, texts))
		if h.Part && n > 0 {
			if p := parts[h.Of]; p.claimed.CompareAndSwap(false, true) {
				c.putFitted(p, w.fit(at, at+n))
				p.claimed.Store(false)
			}
		}
		at += n
	}
}

// putFitted keeps a form of a fragment in the place of the one before.
func (c *Cache) putFitted(p *Fragment, z *fitted) {
	more := len(z.bits) + fittedSize
	if old := p.fitted.Load(); old != nil {
		more -= len(old.bits) + fittedSize
	}
	if c.fragments.Grow(p.key, int64(more), func(held *Fragment) bool { return held == p }) {
		p.fitted.Store(z)
	}
}

// fitter makes the forms of the parts of a page, in order.
type fitter struct {
	page   []byte
	codes  *codes
	chains *chains
	noted  int // up to where
	before prefix
}

// fit codes the part that stands from one place of the page to another.
func (w *fitter) fit(from, to int) *fitted {
	w.before.crc = crc32.Update(w.before.crc, crc32.IEEETable, w.page[w.before.size:from])
	w.before.size = from
	w.chains.note(w.page[:from], max(w.noted, from-farthest), from)
	bits := bitWriter{codes: w.codes, dst: make([]byte, 2*(to-from)+slack)}
	turn := from
	w.chains.parse(w.page, from, to, func(x written) {
		if bits.literals(x.literals); x.n > 0 {
			bits.match(x.n, x.at-x.source)
		}
		if x.at-turn > aTurn {
			turn = x.at
			runtime.Gosched()
		}
	})
	w.noted = to
	text := w.page[from:to]
	return &fitted{codes: w.codes, before: w.before, bits: bytes.Clone(bits.dst[:bits.at+8]), count: bits.at*8 + int(bits.n),
		crc: crc32.ChecksumIEEE(text), shift: crcShift(uint64(len(text)))}
}
