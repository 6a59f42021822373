package cql2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/crs"
)

// errWKB reports well-known binary that is broken or of a type that is not read.
var errWKB = errors.New("cql2: not well-known binary")

// Geometry types of well-known binary (OGC 06-103r4, 8.2.3).
const (
	wkbPoint = 1 + iota
	wkbLine
	wkbPolygon
	wkbMultiPoint
	wkbMultiLine
	wkbMultiPolygon
	wkbCollection
)

// maxParts is how deep collections may nest.
const maxParts = 16

// wkbReader reads ISO and EWKB, in either byte order, with or without Z, M and SRID.
type wkbReader struct {
	b    []byte
	big  bool // byte order
	dims int  // numbers in a position
	hasZ bool // the third is a height
}

func (r *wkbReader) uint32() (uint32, error) {
	if len(r.b) < 4 {
		return 0, errWKB
	}
	n := binary.LittleEndian.Uint32(r.b)
	if r.big {
		n = binary.BigEndian.Uint32(r.b)
	}
	r.b = r.b[4:]
	return n, nil
}

// head reads byte order and type of a geometry.
func (r *wkbReader) head() (kind uint32, err error) {
	if len(r.b) < 5 {
		return 0, errWKB
	}
	if r.b[0] > 1 {
		return 0, errWKB
	}
	r.big, r.b = r.b[0] == 0, r.b[1:]
	t, _ := r.uint32()
	z, m := t&0x80000000 != 0, t&0x40000000 != 0
	if t&0x20000000 != 0 { // an SRID follows
		if _, err := r.uint32(); err != nil {
			return 0, err
		}
	}
	kind = t & 0x0fffffff
	switch kind / 1000 {
	case 0:
	case 1:
		z = true
	case 2:
		m = true
	case 3:
		z, m = true, true
	default:
		return 0, fmt.Errorf("%w: type %d", errWKB, t)
	}
	r.dims, r.hasZ = 2, z
	if z {
		r.dims++
	}
	if m {
		r.dims++
	}
	if kind %= 1000; kind < wkbPoint || kind > wkbCollection {
		return 0, fmt.Errorf("%w: type %d", errWKB, t)
	}
	return kind, nil
}

// count reads the number of items that follow, each at least size bytes long.
func (r *wkbReader) count(size int) (int, error) {
	n, err := r.uint32()
	if err != nil || uint64(n)*uint64(size) > uint64(len(r.b)) {
		return 0, errWKB
	}
	return int(n), nil
}

// vertex returns the i-th position of those that start here. z is NaN when there is none.
func (r *wkbReader) vertex(i int) (x, y, z float64) {
	p := r.b[i*r.dims*8:]
	x, y, z = r.float(p), r.float(p[8:]), math.NaN()
	if r.hasZ {
		z = r.float(p[16:])
	}
	return x, y, z
}

func (r *wkbReader) float(p []byte) float64 {
	if r.big {
		return math.Float64frombits(binary.BigEndian.Uint64(p))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(p))
}

// positions reads the number of positions of a line or ring and leaves the reader at the first.
func (r *wkbReader) positions() (int, error) { return r.count(r.dims * 8) }

func (r *wkbReader) skip(positions int) { r.b = r.b[positions*r.dims*8:] }

// flat is a geometry made plane: ISO WKB in little-endian order, and its bound, which is empty when the geometry is.
type flat struct {
	wkb   []byte
	bound orb.Bound
}

// errPlace reports a vertex that has no place in the CRS asked for.
var errPlace = errors.New("cql2: a coordinate is not finite")

// flatten copies well-known binary as plane WKB, each vertex passed through f; nil leaves them as they are.
func flatten(wkb []byte, f crs.Func) (flat, error) {
	w := flattener{r: wkbReader{b: wkb}, f: f, flat: flat{
		wkb:   make([]byte, 0, len(wkb)),
		bound: orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}},
	}}
	err := w.geometry(0)
	return w.flat, err
}

type flattener struct {
	flat
	r wkbReader
	f crs.Func
}

func (w *flattener) geometry(depth int) error {
	kind, err := w.r.head()
	if err != nil {
		return err
	}
	if depth > maxParts {
		return fmt.Errorf("%w: nested too deep", errWKB)
	}
	w.wkb = binary.LittleEndian.AppendUint32(append(w.wkb, 1), kind)
	switch kind {
	case wkbPoint:
		if len(w.r.b) < w.r.dims*8 {
			return errWKB
		}
		return w.vertices(1)
	case wkbLine:
		return w.line()
	case wkbPolygon:
		n, err := w.items(4)
		for ; err == nil && n > 0; n-- {
			err = w.line()
		}
		return err
	}
	n, err := w.items(5)
	for ; err == nil && n > 0; n-- {
		err = w.geometry(depth + 1)
	}
	return err
}

// items copies a number of items.
func (w *flattener) items(size int) (int, error) {
	n, err := w.r.count(size)
	w.wkb = binary.LittleEndian.AppendUint32(w.wkb, uint32(n))
	return n, err
}

func (w *flattener) line() error {
	n, err := w.r.positions()
	if err != nil {
		return err
	}
	w.wkb = binary.LittleEndian.AppendUint32(w.wkb, uint32(n))
	return w.vertices(n)
}

func (w *flattener) vertices(n int) error {
	for i := range n {
		x, y, _ := w.r.vertex(i)
		if n > 1 || !math.IsNaN(x) || !math.IsNaN(y) { // an empty point stays one
			if w.f != nil {
				x, y = w.f(x, y)
			}
			if !finite(x) || !finite(y) {
				return errPlace
			}
			w.bound.Min = orb.Point{min(w.bound.Min[0], x), min(w.bound.Min[1], y)}
			w.bound.Max = orb.Point{max(w.bound.Max[0], x), max(w.bound.Max[1], y)}
		}
		w.wkb = binary.LittleEndian.AppendUint64(w.wkb, math.Float64bits(x))
		w.wkb = binary.LittleEndian.AppendUint64(w.wkb, math.Float64bits(y))
	}
	w.r.skip(n)
	return nil
}
