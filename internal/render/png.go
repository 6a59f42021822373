package render

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// Kinds of pixels of a PNG (PNG, 11.2.2).
const (
	pngRGB      = 2
	pngPaletted = 3
	pngRGBA     = 6
)

// Filters of rows (PNG, 9.2).
const (
	filterNone = 0
	filterUp   = 2
)

// appendPNG appends a picture as PNG: with a palette where it has few colours (reduce), and without opacity where it is
// opaque. Rows without a palette are written as the difference from the one above, which suits areas of one colour.
func appendPNG(dst []byte, img *image.RGBA) ([]byte, error) {
	p := packers.Get().(*packer)
	defer packers.Put(p)
	few := &p.few
	isFew := few.reduce(img)
	kind, size := byte(pngRGBA), 4
	switch {
	case isFew:
		kind, size = pngPaletted, 1
	case img.Opaque():
		kind, size = pngRGB, 3
	}
	dst = append(dst, "\x89PNG\r\n\x1a\n"...)
	w, h := img.Rect.Dx(), img.Rect.Dy()
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	dst = chunk(dst, "IHDR", append(head, 8, kind, 0, 0, 0))
	if isFew {
		dst = palette(dst, few.palette)
	}
	p.data.Reset()
	p.zlib.Reset(&p.data)
	row, above, line := make([]byte, size*w), make([]byte, size*w), make([]byte, 1+size*w)
	for y := range h {
		if isFew {
			line[0] = filterNone
			copy(line[1:], few.pixels[y*w:])
		} else {
			straight(row, img.Pix[y*img.Stride:][:4*w], size)
			line[0] = filterUp
			subtract(line[1:], row, above)
			row, above = above, row
		}
		if _, err := p.zlib.Write(line); err != nil {
			return nil, err
		}
	}
	if err := p.zlib.Close(); err != nil {
		return nil, err
	}
	return chunk(chunk(dst, "IDAT", p.data.Bytes()), "IEND", nil), nil
}

// subtract sets dst to the differences of the bytes of two slices of its length, eight at a time (Warren, Hacker's
// Delight, 2-18).
func subtract(dst, a, b []byte) {
	const high = 0x8080808080808080
	n := len(dst) &^ 7
	for i := 0; i < n; i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		binary.LittleEndian.PutUint64(dst[i:], (x|high)-(y&^high)^(x^^y)&high)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = a[i] - b[i]
	}
}

// packer is the memory for writing a PNG.
type packer struct {
	few  paletted
	zlib *zlib.Writer
	data bytes.Buffer
}

// packers are those that are not in use.
var packers = sync.Pool{New: func() any {
	z, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil { // the level is one of theirs
		panic(err)
	}
	return &packer{zlib: z}
}}

// chunk appends a chunk of a PNG.
func chunk(dst []byte, name string, data []byte) []byte {
	dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(data))), name...)
	dst = append(dst, data...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[len(dst)-len(data)-len(name):]))
}

// palette appends the colours of a PNG, and their opacities.
func palette(dst []byte, list []uint32) []byte {
	var colors, alphas []byte
	through := false
	for _, v := range list {
		px := binary.LittleEndian.AppendUint32(nil, v)
		straight(px, px, 4)
		colors, alphas = append(colors, px[:3]...), append(alphas, px[3])
		through = through || px[3] < 255
	}
	dst = chunk(dst, "PLTE", colors)
	if through {
		dst = chunk(dst, "tRNS", alphas)
	}
	return dst
}

// straight writes pixels of three or four bytes, whose colours are not multiplied by their opacity.
func straight(dst, src []byte, size int) {
	if size == 3 {
		for i, j := 0, 0; i < len(src); i, j = i+4, j+3 {
			dst[j], dst[j+1], dst[j+2] = src[i], src[i+1], src[i+2]
		}
		return
	}
	copy(dst, src)
	for i := 0; i < len(dst); i += 4 {
		if a := uint32(dst[i+3]); a != 0 && a != 255 {
			for k := range 3 {
				dst[i+k] = byte(min((uint32(dst[i+k])*255+a/2)/a, 255))
			}
		}
	}
}
