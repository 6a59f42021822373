package coverage

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrDamaged reports bytes that are not an encoded level or encoded lines.
var ErrDamaged = errors.New("arc: damaged")

// AppendBinary appends the encoded level, with one to three bytes for a coordinate. It never fails.
func (l *Level) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.Unit))
	dst = appendCount(dst, l.LeftOut, len(l.arcs)-1, len(l.points), len(l.first)-1, len(l.polygons), len(l.refs))
	dst = appendRuns(dst, l.arcs, l.points)
	for i := 1; i < len(l.first); i++ {
		dst = appendCount(dst, int(l.first[i]-l.first[i-1]))
	}
	for i := range l.polygons {
		r := l.polygons[i].rings
		dst = appendCount(dst, len(r)-1)
		for k := 1; k < len(r); k++ {
			dst = appendCount(dst, int(r[k]-r[k-1]))
		}
	}
	for _, r := range l.refs {
		dst = binary.AppendVarint(dst, int64(r))
	}
	return dst, nil
}

// UnmarshalBinary decodes the result of AppendBinary. It returns ErrDamaged for other bytes if they could do harm.
func (l *Level) UnmarshalBinary(b []byte) error {
	r := reader{b: b}
	l.Unit, l.LeftOut = r.float(), r.int()
	arcs, points, features, polygons, refs := r.count(), r.count(), r.count(), r.count(), r.count()
	l.arcs, l.points = r.runs(arcs, points)
	l.first = append(make([]int32, 0, features+1), 0)
	for range features {
		l.first = append(l.first, l.first[len(l.first)-1]+int32(r.count()))
	}
	if r.bad = r.bad || int(l.first[features]) != polygons; r.bad {
		return ErrDamaged
	}
	l.polygons = make([]polygon, polygons)
	at := int32(0)
	for i := range l.polygons {
		n := r.count()
		rings := append(make([]int32, 0, n+1), at)
		for range n {
			at += int32(r.count())
			rings = append(rings, at)
			r.bad = r.bad || int(at) > refs || at == rings[len(rings)-2]
		}
		l.polygons[i].rings = rings
		r.bad = r.bad || n == 0
	}
	l.refs = make([]int32, refs)
	for i := range l.refs {
		l.refs[i] = int32(r.int())
		r.bad = r.bad || int(max(l.refs[i], ^l.refs[i])) >= arcs
	}
	if r.bad || int(at) != refs || len(r.b) > 0 {
		return ErrDamaged
	}
	l.measure()
	return nil
}

// measure computes the boxes of polygons.
func (l *Level) measure() {
	low, high := make([]Point, l.Arcs()), make([]Point, l.Arcs())
	for i := range low {
		low[i], high[i] = corners(l.points[l.arcs[i]:l.arcs[i+1]])
	}
	for i := range l.polygons {
		p := &l.polygons[i]
		for k, r := range l.refs[p.rings[0]:p.rings[1]] {
			r = max(r, ^r)
			if k == 0 {
				p.min, p.max = low[r], high[r]
			}
			p.min = Point{min(p.min.X, low[r].X), min(p.min.Y, low[r].Y)}
			p.max = Point{max(p.max.X, high[r].X), max(p.max.Y, high[r].Y)}
		}
	}
}

func appendCount(dst []byte, counts ...int) []byte {
	for _, n := range counts {
		dst = binary.AppendVarint(dst, int64(n))
	}
	return dst
}

// appendRuns encodes runs of points, each of at least two.
func appendRuns(dst []byte, starts []int32, points []Point) []byte {
	var last Point
	for i := 1; i < len(starts); i++ {
		dst = appendCount(dst, int(starts[i]-starts[i-1]))
		for _, p := range points[starts[i-1]:starts[i]] {
			dst = appendCount(dst, int(p.X)-int(last.X), int(p.Y)-int(last.Y))
			last = p
		}
	}
	return dst
}

// reader decodes numbers. It sets bad if the bytes end early or announce too many elements.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) int() int {
	v, n := binary.Varint(r.b)
	if n <= 0 || v != int64(int32(v)) {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// count decodes the number of the following elements, each of at least a byte.
func (r *reader) count() int {
	n := r.int()
	if n < 0 || n > len(r.b) {
		r.bad = true
		return 0
	}
	return n
}

func (r *reader) float() float64 {
	if len(r.b) < 8 {
		r.b, r.bad = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return math.Float64frombits(v)
}

func (r *reader) runs(runs, total int) (starts []int32, points []Point) {
	starts = append(make([]int32, 0, runs+1), 0)
	points = make([]Point, 0, total)
	var last Point
	for range runs {
		n := r.count()
		if n < 2 || len(points)+n > total {
			r.bad = true
			break
		}
		for range n {
			last = Point{last.X + int32(r.int()), last.Y + int32(r.int())}
			points = append(points, last)
		}
		starts = append(starts, int32(len(points)))
	}
	r.bad = r.bad || len(points) != total
	return starts, points
}
