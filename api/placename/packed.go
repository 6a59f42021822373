package placename

import (
	"bytes"
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// MixedHits are hits of an operation of which some are packed. AppendHits appends them.
type MixedHits struct {
	Packer *HitPacker // of the operation
	Packed []string   // of each hit; "": it is the next one of Others
	Others Hits
}

// Len returns the number of hits.
func (h *MixedHits) Len() int { return len(h.Packed) }

func (*MixedHits) appendItem([]byte, int, NilTypes) []byte {
	panic("placename: packed hits are appended by AppendHits")
}

// Size returns how many bytes AppendHits appends for hits that are all packed.
func (h *MixedHits) Size() (n int) {
	for _, x := range h.Packed {
		n += int(x[0]) | int(x[1])<<8
	}
	return n
}

// AppendSome appends hits that are all packed, from a number on, until b has most bytes or more; it returns the number of the next one.
func (h *MixedHits) AppendSome(b []byte, from, most int) ([]byte, int) {
	runs := *h.Packer.runs.Load()
	for from < len(h.Packed) && len(b) < most {
		b = unpack(b, runs, h.Packed[from])
		from++
	}
	return b, from
}

// Limits of what is packed.
const (
	packedHit  = 1<<16 - 1 // bytes of it as XML
	packedRuns = 256       // different ones between texts
	packedRun  = 1 << 10   // bytes of them
	packedText = 255       // bytes of a text
)

// Limits of runs that hold texts.
const (
	longerRuns  = 160      // of all
	longerBytes = 64 << 10 // all together: they stay near the processor
	longerFrom  = 16       // hits that had them
	longerSeen  = 2 << 10  // that are counted
	longerPart  = 256      // bytes that follow the run before
)

// HitPacker writes hits of an operation in a tenth of the bytes: tags that follow each other have a number, and so have those with texts between them that many hits share. It is safe for concurrent use.
type HitPacker struct {
	operation string
	mu        sync.Mutex
	numbers   map[string]byte          // of tags
	runs      atomic.Pointer[[]string] // by number; what is there stays

	longer map[string]byte  // number of the run that one is with what follows: by its number, and that
	bytes  int              // of these runs
	seen   map[string]uint8 // how many hits had what longer does not hold
	key    []byte
	packed []byte // the hit
}

// NewHitPacker makes one for an operation.
func NewHitPacker(operation string) *HitPacker {
	p := &HitPacker{operation: operation, numbers: map[string]byte{}, longer: map[string]byte{}, seen: map[string]uint8{}}
	p.runs.Store(&[]string{})
	return p
}

// Pack packs a hit as XML; "" where it cannot be packed.
func (p *HitPacker) Pack(hit []byte) string {
	if len(hit) > packedHit {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := append(p.packed[:0], byte(len(hit)), byte(len(hit)>>8))
	end := tagsOf(hit)
	run, ok := p.number(hit[:end])
	for start := 0; ok && end < len(hit); {
		text := bytes.IndexByte(hit[end:], '<')
		if text < 0 || text > packedText {
			return ""
		}
		next := end + text + tagsOf(hit[end+text:])
		if longer, ok := p.with(run, hit[start:next], next-end); ok {
			run, end = longer, next
			continue
		}
		b = append(append(b, run, byte(text)), hit[end:end+text]...)
		start, end = end+text, next
		run, ok = p.number(hit[start:end])
	}
	if !ok {
		return ""
	}
	p.packed = append(b, run)
	return string(p.packed)
}

// tagsOf is how many bytes of tags b begins with.
func tagsOf(b []byte) (n int) {
	for n < len(b) && b[n] == '<' {
		n += bytes.IndexByte(b[n:], '>') + 1
	}
	return n
}

// number is that of tags that follow each other; false where they have none.
func (p *HitPacker) number(tags []byte) (byte, bool) {
	n, ok := p.numbers[string(tags)]
	if ok {
		return n, true
	}
	if n, ok = p.add(tags); ok {
		p.numbers[string(tags)] = n
	}
	return n, ok
}

// with is the number of a run, the last bytes of which follow the run of another number; false where it has none.
func (p *HitPacker) with(run byte, all []byte, last int) (byte, bool) {
	p.key = append(append(p.key[:0], run), all[len(all)-last:]...)
	n, ok := p.longer[string(p.key)]
	if ok || last > longerPart || len(p.longer) == longerRuns || p.bytes+len(all) > longerBytes {
		return n, ok
	}
	if len(p.seen) >= longerSeen {
		clear(p.seen)
	}
	times := p.seen[string(p.key)] + 1
	if p.seen[string(p.key)] = times; times < longerFrom {
		return 0, false
	}
	delete(p.seen, string(p.key))
	if n, ok = p.add(all); ok {
		p.longer[string(p.key)] = n
		p.bytes += len(all)
	}
	return n, ok
}

// add numbers a run; false where there is no number for it.
func (p *HitPacker) add(run []byte) (byte, bool) {
	all := *p.runs.Load()
	if len(all) == packedRuns || len(run) > packedRun {
		return 0, false
	}
	n := len(all)
	all = append(all[:n:n], string(run))
	p.runs.Store(&all)
	return byte(n), true
}

// unpack appends a packed hit as XML.
func unpack(b []byte, runs []string, packed string) []byte {
	packed = packed[2:] // behind its size
	for {
		b = append(b, runs[packed[0]]...)
		if len(packed) == 1 {
			return b
		}
		text := int(packed[1])
		if packed = packed[2:]; text <= 8 && len(packed) >= 8 { // most are short, and quicker copied with what follows
			b = binary.LittleEndian.AppendUint64(b, word(packed))[:len(b)+text]
		} else {
			b = append(b, packed[:text]...)
		}
		packed = packed[text:]
	}
}

// word is the first eight bytes.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
