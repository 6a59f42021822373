package feature

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Geometry types of well-known binary (ISO 19125-1 / OGC 06-103r4, 8.2.7).
const (
	wkbPoint uint32 = iota + 1
	wkbLineString
	wkbPolygon
	wkbMultiPoint
	wkbMultiLineString
	wkbMultiPolygon
	wkbCollection
)

// maxDepth is how deep collections may be nested.
const maxDepth = 16

var (
	errShort = errors.New("well-known binary ends early")
	errOrder = errors.New("well-known binary has no byte order")
	errDepth = fmt.Errorf("collections are nested deeper than %d", maxDepth)
)

// reader walks over well-known binary, ISO or extended, of either byte order. Byte order and dimensions are those of the header read
// last.
type reader struct {
	b      []byte
	off    int
	big    bool
	hasZ   bool
	stride int // bytes of a position
}

// header reads the start of a geometry and returns its type.
func (r *reader) header() (uint32, error) {
	if len(r.b)-r.off < 5 {
		return 0, errShort
	}
	switch r.b[r.off] {
	case 0:
		r.big = true
	case 1:
		r.big = false
	default:
		return 0, errOrder
	}
	r.off++
	t := r.uint32()
	const flagZ, flagM, flagSRID = 0x80000000, 0x40000000, 0x20000000
	hasM := t&flagM != 0
	r.hasZ = t&flagZ != 0
	if t&flagSRID != 0 {
		if len(r.b)-r.off < 4 {
			return 0, errShort
		}
		r.off += 4
	}
	kind := t &^ uint32(flagZ|flagM|flagSRID)
	switch kind / 1000 {
	case 1:
		r.hasZ = true
	case 2:
		hasM = true
	case 3:
		r.hasZ, hasM = true, true
	}
	if kind >= 4000 || kind%1000 < wkbPoint || kind%1000 > wkbCollection {
		return 0, fmt.Errorf("geometry type %d is not one of Simple Features", t)
	}
	r.stride = 16
	if r.hasZ {
		r.stride += 8
	}
	if hasM {
		r.stride += 8
	}
	return kind % 1000, nil
}

// count reads how many parts of at least size bytes follow.
func (r *reader) count(size int) (int, error) {
	if len(r.b)-r.off < 4 {
		return 0, errShort
	}
	n := int(r.uint32())
	if n > (len(r.b)-r.off)/size {
		return 0, errShort
	}
	return n, nil
}

func (r *reader) uint32() uint32 {
	b := r.b[r.off:]
	r.off += 4
	if r.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// float reads the ordinate at an offset that was checked.
func (r *reader) float(at int) float64 {
	b := r.b[at:]
	if r.big {
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// area returns twice the signed area of a ring of n positions at the current offset: positive when it runs counter-clockwise.
func (r *reader) area(n int) float64 {
	x0, y0 := r.float(r.off), r.float(r.off+8)
	var sum, px, py float64
	for i := 1; i < n; i++ {
		at := r.off + i*r.stride
		x, y := r.float(at)-x0, r.float(at+8)-y0
		sum += px*y - x*py
		px, py = x, y
	}
	return sum
}
