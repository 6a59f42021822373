package render

import (
	"cmp"
	"encoding/binary"
	"image"
	"slices"
)

// mostEntries is how many colours a palette has at most. The flat ones are exact.
const (
	mostEntries = 256
	mostFlat    = 128
	often       = 2000 // a colour is flat if it is that of one of so many pixels, beside one of the same colour
)

// paletted is a picture as indices into a palette.
type paletted struct {
	pixels  []byte
	palette []uint32 // premultiplied: red is the lowest byte, opacity the highest

	counts, exact, merged table // of the reduction
}

// reduce makes p of a picture. Where it has more than 256 colours, those of antialiased edges are merged that differ by
// less than 16 in each channel. It returns false where too many remain.
func (p *paletted) reduce(img *image.RGBA) bool {
	flat := p.flatColors(img)
	n := len(img.Pix) / 4
	p.pixels = slices.Grow(p.pixels[:0], n)[:n]
	for _, same := range [...]uint32{0xffffffff, 0xf8f8f8f8, 0xf0f0f0f0} { // bits in which merged colours agree
		if p.fill(img, flat, same) {
			return true
		}
	}
	return false
}

// flatColors returns the most frequent colours of areas.
func (p *paletted) flatColors(img *image.RGBA) (list []uint32) {
	const most = 2048
	counts := &p.counts
	counts.reset(most)
	pixels := len(img.Pix) / 4
	before, run := uint32(0), int32(-1) // nothing is before the first
	add := func() {
		if run > 0 {
			if n := counts.at(before); *n > 0 || counts.used < most {
				if *n == 0 {
					counts.used++
					list = append(list, before)
				}
				*n += run
			}
		}
	}
	for pix := img.Pix; len(pix) >= 4; {
		if len(pix) >= 8 && run >= 0 && binary.LittleEndian.Uint64(pix) == uint64(before)|uint64(before)<<32 {
			run += 2
			pix = pix[8:]
			continue
		}
		v := binary.LittleEndian.Uint32(pix)
		pix = pix[4:]
		if v == before && run >= 0 {
			run++
			continue
		}
		add()
		before, run = v, 0
	}
	add()
	list = slices.DeleteFunc(list, func(v uint32) bool { return int(*counts.at(v))*often < pixels })
	slices.SortFunc(list, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(*counts.at(b), *counts.at(a)), cmp.Compare(a, b))
	})
	return list[:min(len(list), mostFlat)]
}

// fill sets the palette and the pixels. It returns false where there are too many colours that differ in some bits.
func (p *paletted) fill(img *image.RGBA, flat []uint32, same uint32) bool {
	p.palette = append(p.palette[:0], flat...)
	exact, merged := &p.exact, &p.merged // entries, plus one
	exact.reset(mostEntries)
	merged.reset(mostEntries)
	for i, v := range flat {
		*exact.at(v) = int32(i + 1)
		if n := merged.at(v & same); *n == 0 {
			*n = int32(i + 1)
		}
	}
	before, entry := uint32(0), int32(0)
	for i := 0; i < len(p.pixels); i++ {
		if entry > 0 && i+1 < len(p.pixels) &&
			binary.LittleEndian.Uint64(img.Pix[4*i:]) == uint64(before)|uint64(before)<<32 {
			p.pixels[i], p.pixels[i+1] = byte(entry-1), byte(entry-1)
			i++
			continue
		}
		v := binary.LittleEndian.Uint32(img.Pix[4*i:])
		if v != before || entry == 0 {
			before = v
			if entry = *exact.at(v); entry == 0 {
				n := merged.at(v & same)
				if *n == 0 {
					if len(p.palette) == mostEntries {
						return false
					}
					p.palette = append(p.palette, v)
					*n = int32(len(p.palette))
				}
				entry = *n
			}
		}
		p.pixels[i] = byte(entry - 1)
	}
	return true
}

// table has a number for each colour.
type table struct {
	colors []uint32
	values []int32 // 0: the slot is empty
	mask   uint32
	used   int
}

// reset empties a table for so many colours, a power of two, which is the same each time.
func (t *table) reset(most int) {
	if t.values == nil {
		t.colors, t.values, t.mask = make([]uint32, 4*most), make([]int32, 4*most), uint32(4*most-1)
	}
	clear(t.values)
	t.used = 0
}

// at returns the number of a colour. The caller may set it, once for each colour.
func (t *table) at(v uint32) *int32 {
	i := v * 0x9e3779b1 >> 15 & t.mask
	for ; t.values[i] != 0; i = (i + 1) & t.mask {
		if t.colors[i] == v {
			return &t.values[i]
		}
	}
	t.colors[i] = v
	return &t.values[i]
}
