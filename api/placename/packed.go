package placename

import (
	"bytes"
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

func (*MixedHits) hits() {}

// Size returns how many bytes AppendHits appends for hits that are all packed.
func (h *MixedHits) Size() (n int) {
	tags := *h.Packer.tags.Load()
	for _, x := range h.Packed {
		for {
			n += len(tags[x[0]])
			if len(x) == 1 {
				break
			}
			text := int(x[1])
			n += text
			x = x[2+text:]
		}
	}
	return n
}

// AppendSome appends hits that are all packed, from a number on, until b has most bytes or more; it returns the number of the next one.
func (h *MixedHits) AppendSome(b []byte, from, most int) ([]byte, int) {
	tags := *h.Packer.tags.Load()
	for from < len(h.Packed) && len(b) < most {
		b = unpack(b, tags, h.Packed[from])
		from++
	}
	return b, from
}

// Limits of what is packed.
const (
	packedTags = 256     // different ones between texts
	packedRun  = 1 << 10 // bytes of them
	packedText = 255     // bytes of a text
)

// HitPacker writes hits of an operation in a fifth of the bytes: tags that follow each other have a number. It is safe for concurrent use.
type HitPacker struct {
	operation string
	mu        sync.Mutex
	numbers   map[string]byte          // of tags
	tags      atomic.Pointer[[]string] // by number; what is there stays
}

// NewHitPacker makes one for an operation.
func NewHitPacker(operation string) *HitPacker {
	p := &HitPacker{operation: operation, numbers: map[string]byte{}}
	p.tags.Store(&[]string{})
	return p
}

// Pack packs a hit as XML; "" where it cannot be packed.
func (p *HitPacker) Pack(hit []byte) string {
	b := make([]byte, 0, len(hit)/2)
	for len(hit) > 0 {
		n := 0
		for n < len(hit) && hit[n] == '<' {
			n += bytes.IndexByte(hit[n:], '>') + 1
		}
		number, ok := p.number(hit[:n])
		if !ok {
			return ""
		}
		if b, hit = append(b, number), hit[n:]; len(hit) == 0 {
			break
		}
		if n = bytes.IndexByte(hit, '<'); n < 0 || n > packedText {
			return ""
		}
		b = append(append(b, byte(n)), hit[:n]...)
		hit = hit[n:]
	}
	return string(b)
}

// number is that of tags that follow each other; false where they have none.
func (p *HitPacker) number(tags []byte) (byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.numbers[string(tags)]
	if ok {
		return n, true
	}
	all := *p.tags.Load()
	if len(all) == packedTags || len(tags) > packedRun {
		return 0, false
	}
	n = byte(len(all))
	all = append(all[:len(all):len(all)], string(tags))
	p.numbers[all[n]] = n
	p.tags.Store(&all)
	return n, true
}

// unpack appends a packed hit as XML.
func unpack(b []byte, tags []string, packed string) []byte {
	for {
		b = append(b, tags[packed[0]]...)
		if len(packed) == 1 {
			return b
		}
		end := 2 + int(packed[1])
		b = append(b, packed[2:end]...)
		packed = packed[end:]
	}
}
