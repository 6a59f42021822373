package coverage

import (
	"encoding/binary"
	"math"
	"sync"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Lines contains the lines of a layer on one grid, each simplified independently. It is immutable except for Add and
// Coarser.
type Lines struct {
	Unit   float64
	starts []int32 // start of each line in points, and the end
	points []Point
	first  []int32 // start of each feature in starts, and the end
	once   sync.Once
	index  *Index
}

// NewLines returns an empty Lines on a grid.
func NewLines(g Grid) *Lines { return &Lines{Unit: g.Unit, starts: []int32{0}, first: []int32{0}} }

// Add adds a feature: the lines of a geometry. move transforms coordinates to those of the grid g, which must be that
// of NewLines. A geometry without lines, or nil, is a feature without lines. After an error l is unchanged.
func (l *Lines) Add(g Grid, geometry []byte, move crs.Func) error {
	starts, points := len(l.starts), len(l.points)
	outside := false
	var err error
	if geometry != nil {
		err = wkb.Walk(geometry, func(r wkb.Run) bool {
			if r.Kind == wkb.LineString {
				outside = !l.add(g, &r, move)
			}
			return !outside
		})
	}
	if err == nil && outside {
		err = ErrOutside
	}
	if err != nil {
		l.starts, l.points = l.starts[:starts], l.points[:points]
		return err
	}
	l.first = append(l.first, int32(len(l.starts)-1))
	return nil
}

func (l *Lines) add(g Grid, r *wkb.Run, move crs.Func) bool {
	from := len(l.points)
	for i := range r.Len() {
		p, ok := g.Snap(r, i, move)
		if !ok {
			return false
		}
		if len(l.points) == from || l.points[len(l.points)-1] != p {
			l.points = append(l.points, p)
		}
	}
	l.end(from)
	return true
}

// Snap returns the i-th position of a run on the grid; false if it lies outside. move may be nil.
func (g Grid) Snap(r *wkb.Run, i int, move crs.Func) (Point, bool) {
	x, y := r.XY(i)
	if move != nil {
		x, y = move(x, y)
	}
	x, y = math.Round((x-g.Origin[0])/g.Unit), math.Round((y-g.Origin[1])/g.Unit)
	if !(math.Abs(x) <= MaxPosition/2 && math.Abs(y) <= MaxPosition/2) {
		return Point{}, false
	}
	return Point{int32(x), int32(y)}, true
}

// Parts returns the number of lines of a feature.
func (l *Lines) Parts(feature int) int { return int(l.first[feature+1] - l.first[feature]) }

// Part returns a line of a feature. The caller must not change it.
func (l *Lines) Part(feature, i int) []Point {
	k := l.first[feature] + int32(i)
	return l.points[l.starts[k]:l.starts[k+1]]
}

// end ends a line that began at an index of points. It removes a line of a single position.
func (l *Lines) end(from int) {
	if len(l.points)-from < 2 {
		l.points = l.points[:from]
		return
	}
	l.starts = append(l.starts, int32(len(l.points)))
}

// Coarser returns the lines on a grid that is 2^shift as coarse, simplified. It omits lines narrower and lower than the
// span.
func (l *Lines) Coarser(shift uint, o Options) *Lines {
	o = o.orDefault()
	out := &Lines{Unit: l.Unit * float64(int64(1)<<shift), starts: []int32{0}, first: []int32{0}}
	for f := range l.Features() {
		for k := l.first[f]; k < l.first[f+1]; k++ {
			from := len(out.points)
			for _, p := range l.points[l.starts[k]:l.starts[k+1]] {
				for range shift {
					p = p.half()
				}
				if len(out.points) == from || out.points[len(out.points)-1] != p {
					out.points = append(out.points, p)
				}
			}
			if low, high := corners(out.points[from:]); max(high.X-low.X, high.Y-low.Y) < o.Span {
				out.points = out.points[:from]
				continue
			}
			out.points = append(out.points[:from], thin(out.points[from:], o.Tolerance)...)
			out.end(from)
		}
		out.first = append(out.first, int32(len(out.starts)-1))
	}
	return out
}

// thin removes positions of a line, except its ends, by the area of their triangles (see simplify).
func thin(line []Point, limit float64) []Point {
	n := int32(len(line))
	prev, next, now := make([]int32, n), make([]int32, n), make([]float32, n)
	var q queue
	enqueue := func(v int32) {
		if v > 0 && v < n-1 {
			w := weight(line[prev[v]], line[v], line[next[v]])
			if now[v] = float32(w); w < limit {
				q.push(candidate{now[v], v})
			}
		}
	}
	for v := range n {
		prev[v], next[v] = v-1, v+1
	}
	for v := range n {
		enqueue(v)
	}
	for len(q) > 0 {
		c := q.pop()
		if now[c.v] != c.weight || next[c.v] < 0 {
			continue
		}
		a, b := prev[c.v], next[c.v]
		if line[a] == line[b] {
			continue
		}
		next[c.v], next[a], prev[b] = -1, b, a
		enqueue(a)
		enqueue(b)
	}
	out := line[:0]
	for v := int32(0); v < n; v = next[v] {
		out = append(out, line[v])
	}
	return out
}

// Features returns the number of features.
func (l *Lines) Features() int { return len(l.first) - 1 }

// Count returns the number of lines.
func (l *Lines) Count() int { return len(l.starts) - 1 }

// Clip appends the parts of the lines of a feature within a box.
func (l *Lines) Clip(dst [][]Point, feature int, low, high Point) [][]Point {
	for k := l.first[feature]; k < l.first[feature+1]; k++ {
		dst = ClipLine(dst, l.points[l.starts[k]:l.starts[k+1]], low, high)
	}
	return dst
}

// Around returns the lower left and the upper right corner of a feature; ok is false if it has no lines.
func (l *Lines) Around(feature int) (low, high Point, ok bool) {
	a, b := l.starts[l.first[feature]], l.starts[l.first[feature+1]]
	if a == b {
		return low, high, false
	}
	low, high = corners(l.points[a:b])
	return low, high, true
}

// Search appends the numbers of the features whose boxes touch a box, ascending.
func (l *Lines) Search(dst []int32, low, high Point) []int32 {
	return l.indexed().Search(dst, low, high)
}

// Any reports whether the box of some feature touches a box.
func (l *Lines) Any(low, high Point) bool { return l.indexed().Any(low, high) }

func (l *Lines) indexed() *Index {
	l.once.Do(func() { l.index = newIndex(l.Features(), l.Around) })
	return l.index
}

// Bytes returns the approximate memory of the lines with their index.
func (l *Lines) Bytes() int64 {
	return int64(128 + 4*len(l.starts) + 8*len(l.points) + 26*len(l.first))
}

// AppendBinary appends the encoded lines. It never fails.
func (l *Lines) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.Unit))
	dst = appendCount(dst, len(l.starts)-1, len(l.points), len(l.first)-1)
	dst = appendRuns(dst, l.starts, l.points)
	for i := 1; i < len(l.first); i++ {
		dst = appendCount(dst, int(l.first[i]-l.first[i-1]))
	}
	return dst, nil
}

// UnmarshalBinary decodes the result of AppendBinary. It returns ErrDamaged for other bytes if they could do harm.
func (l *Lines) UnmarshalBinary(b []byte) error {
	r := reader{b: b}
	l.Unit = r.float()
	lines, points, features := r.count(), r.count(), r.count()
	l.starts, l.points = r.runs(lines, points)
	l.first = append(make([]int32, 0, features+1), 0)
	for range features {
		n := r.int() // not bounded by the remaining bytes, since features may have no lines
		r.bad = r.bad || n < 0 || n > lines-int(l.first[len(l.first)-1])
		l.first = append(l.first, l.first[len(l.first)-1]+int32(n))
	}
	if r.bad || len(r.b) > 0 || int(l.first[features]) != lines {
		return ErrDamaged
	}
	return nil
}
