package wkb

import (
	"encoding/binary"
	"math"

	"github.com/paulmach/orb"
)

// Reader reads a geometry from its front: Header, and then by its type Point, Line (a LineString), Parts rings (each
// a Line), or Parts members (each begun by Member). After an error it is of no further use. Its copies are
// independent.
type Reader struct {
	b      []byte
	stride int // bytes of a position
	big    bool
	z      bool
}

// NewReader reads b, which must not change while the Reader is used.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Header reads the start of a geometry. The type may be one that is known by name only.
func (r *Reader) Header() (Kind, error) {
	if len(r.b) < 5 {
		return 0, invalid("truncated")
	}
	if r.b[0] > 1 {
		return 0, invalid("byte order %d", r.b[0])
	}
	r.big = r.b[0] == 0
	t := r.uint32(r.b[1:])
	r.b = r.b[5:]
	const flagZ, flagM, flagSRID = 0x80000000, 0x40000000, 0x20000000 // of extended WKB
	r.z, r.stride = t&flagZ != 0, 16
	m := t&flagM != 0
	if t&flagSRID != 0 {
		if len(r.b) < 4 {
			return 0, invalid("truncated")
		}
		r.b = r.b[4:]
	}
	k := Kind(t &^ (flagZ | flagM | flagSRID))
	r.z = r.z || k/1000 == 1 || k/1000 == 3
	if r.z {
		r.stride += 8
	}
	if m || k/1000 == 2 || k/1000 == 3 {
		r.stride += 8
	}
	if k/1000 > 3 || k%1000 < Point || k%1000 > Triangle {
		return 0, invalid("type %d", t)
	}
	return k % 1000, nil
}

// HasZ reports whether the geometry whose header was read last states heights.
func (r *Reader) HasZ() bool { return r.z }

// Member reads the header of a member of a geometry of type k, depth collections deep: 0 where the geometry is in none.
func (r *Reader) Member(k Kind, depth int) (Kind, error) {
	if depth >= MaxDepth {
		return 0, invalid("more than %d collections in each other", MaxDepth)
	}
	m, err := r.Header()
	if err == nil && !k.holds(m) {
		err = invalid("%v inside %v", m, k)
	}
	return m, err
}

// Parts reads how many rings a Polygon has, or how many members another geometry of type k has.
func (r *Reader) Parts(k Kind) (int, error) {
	switch {
	case k == Polygon:
		return r.count(4)
	case k >= MultiPoint && k <= Collection:
		return r.count(9)
	}
	return 0, &KindError{k}
}

// count reads a number of things, each of at least size bytes.
func (r *Reader) count(size int) (int, error) {
	if len(r.b) < 4 {
		return 0, invalid("truncated")
	}
	n := r.uint32(r.b)
	r.b = r.b[4:]
	if uint64(n)*uint64(size) > uint64(len(r.b)) {
		return 0, invalid("truncated: %d parts announced", n)
	}
	return int(n), nil
}

// Point reads the position of a Point; none when it is empty.
func (r *Reader) Point() (Run, error) {
	if len(r.b) < r.stride {
		return Run{}, invalid("truncated")
	}
	p := r.take(1)
	p.Kind, p.Last = Point, true
	if x, y := p.XY(0); math.IsNaN(x) && math.IsNaN(y) {
		p.n = 0
	}
	return p, nil
}

// Line reads the positions of a LineString or of a ring.
func (r *Reader) Line() (Run, error) {
	n, err := r.count(r.stride)
	if err != nil {
		return Run{}, err
	}
	p := r.take(n)
	p.Kind, p.Last = LineString, true
	return p, nil
}

// take reads n positions that are there.
func (r *Reader) take(n int) Run {
	p := Run{b: r.b[:n*r.stride], n: n, stride: r.stride, big: r.big, z: r.z}
	r.b = r.b[n*r.stride:]
	return p
}

func (r *Reader) uint32(b []byte) uint32 {
	if r.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// Run is the positions of a point, a line or a ring, in order, which share memory with the bytes that were read. The
// zero Run has none.
type Run struct {
	Kind Kind // Point, LineString or Polygon: what the positions are of
	Ring int  // of a Polygon: 0 for the outer ring
	Last bool // no other run of the same point, line or polygon follows

	b      []byte
	n      int
	stride int
	big, z bool
}

// Len returns the number of positions.
func (p *Run) Len() int { return p.n }

// HasZ reports whether positions have heights.
func (p *Run) HasZ() bool { return p.z }

// XY returns the i-th position, as it is stored.
func (p *Run) XY(i int) (x, y float64) {
	b := p.b[i*p.stride:]
	if p.big {
		return bigXY(b)
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
}

func bigXY(b []byte) (x, y float64) {
	return math.Float64frombits(binary.BigEndian.Uint64(b)), math.Float64frombits(binary.BigEndian.Uint64(b[8:]))
}

// Z returns the height of the i-th position; NaN where it has none.
func (p *Run) Z(i int) float64 {
	if !p.z {
		return math.NaN()
	}
	b := p.b[i*p.stride+16:]
	v := binary.LittleEndian.Uint64(b)
	if p.big {
		v = binary.BigEndian.Uint64(b)
	}
	if z := math.Float64frombits(v); Valid(z) {
		return z
	}
	return math.NaN()
}

// Area returns the signed area of a ring: see Area.
func (p *Run) Area() float64 {
	var a Area
	for i := range p.n {
		a.Add(p.XY(i))
	}
	return a.Signed()
}

// valid reports whether each position has valid numbers.
func (p *Run) valid() bool {
	for i := range p.n {
		if x, y := p.XY(i); !Valid(x) || !Valid(y) {
			return false
		}
	}
	return true
}

// Walk calls fn with each run of a geometry in the order of storage, until fn returns false, which is no error. A
// point, line or polygon without positions gives at most runs of none. Faults are found as far as it goes; numbers
// are not looked at.
func Walk(b []byte, fn func(Run) bool) error {
	r := Reader{b: b}
	k, err := r.Header()
	if err == nil {
		_, err = r.walk(k, 0, fn)
	}
	return err
}

// walk goes on after the header of a geometry; false when fn has stopped it.
func (r *Reader) walk(k Kind, depth int, fn func(Run) bool) (bool, error) {
	switch k {
	case Point:
		p, err := r.Point()
		return err == nil && fn(p), err
	case LineString:
		p, err := r.Line()
		return err == nil && fn(p), err
	}
	n, err := r.Parts(k)
	if k == Polygon {
		for i := 0; i < n && err == nil; i++ {
			var p Run
			if p, err = r.Line(); err == nil {
				p.Kind, p.Ring, p.Last = Polygon, i, i == n-1
				if !fn(p) {
					return false, nil
				}
			}
		}
		return err == nil, err
	}
	for ; n > 0 && err == nil; n-- {
		var m Kind
		if m, err = r.Member(k, depth); err == nil {
			var on bool
			if on, err = r.walk(m, depth+1, fn); !on {
				return false, err
			}
		}
	}
	return err == nil, err
}

// Info is what Check finds in a geometry.
type Info struct {
	Kind      Kind
	HasZ      bool // by the outer header
	Positions int
	Bound     orb.Bound // EmptyBound without positions
}

// Check reads all of b and reports whether it is a geometry: the one answer that counts. It allocates nothing but its
// error.
func Check(b []byte) (Info, error) {
	r := Reader{b: b}
	k, err := r.Header()
	in := Info{Kind: k, HasZ: r.z, Bound: EmptyBound()}
	if err != nil {
		return Info{}, err
	}
	bad := false
	_, err = r.walk(k, 0, func(p Run) bool {
		in.Positions += p.n
		lo, hi := in.Bound.Min, in.Bound.Max
		for i := range p.n {
			x, y := p.XY(i)
			if bad = !Valid(x) || !Valid(y); bad {
				return false
			}
			lo[0], hi[0] = min(lo[0], x), max(hi[0], x)
			lo[1], hi[1] = min(lo[1], y), max(hi[1], y)
		}
		in.Bound.Min, in.Bound.Max = lo, hi
		return true
	})
	if bad {
		err = invalid("a coordinate is no number of a place")
	}
	if err != nil {
		return Info{}, err
	}
	return in, nil
}

// Decode reads a geometry, heights left out. Points without coordinates are left out of collections; alone, one gives
// an empty MultiPoint. It fails exactly when Check does. The caller owns the result.
func Decode(b []byte) (orb.Geometry, error) {
	r := Reader{b: b}
	k, err := r.Header()
	if err != nil {
		return nil, err
	}
	g, err := r.decode(k, 0)
	if err != nil {
		return nil, err
	}
	if g == nil {
		g = orb.MultiPoint{}
	}
	return g, nil
}

// decode returns nil for an empty point.
func (r *Reader) decode(k Kind, depth int) (orb.Geometry, error) {
	switch k {
	case Point:
		p, err := r.Point()
		if err != nil || p.n == 0 {
			return nil, err
		}
		ps, err := p.points()
		if err != nil {
			return nil, err
		}
		return ps[0], nil
	case LineString:
		ps, err := r.points()
		return orb.LineString(ps), err
	case Polygon:
		n, err := r.Parts(k)
		g := make(orb.Polygon, n)
		for i := 0; i < n && err == nil; i++ {
			g[i], err = r.points()
		}
		return g, err
	}
	n, err := r.Parts(k)
	if err != nil {
		return nil, err
	}
	parts := make([]orb.Geometry, 0, n)
	for range n {
		m, err := r.Member(k, depth)
		if err != nil {
			return nil, err
		}
		g, err := r.decode(m, depth+1)
		if err != nil {
			return nil, err
		}
		if g != nil {
			parts = append(parts, g)
		}
	}
	return assemble(k, parts), nil
}

func (r *Reader) points() ([]orb.Point, error) {
	p, err := r.Line()
	if err != nil {
		return nil, err
	}
	return p.points()
}

func (p *Run) points() ([]orb.Point, error) {
	if !p.valid() {
		return nil, invalid("a coordinate is no number of a place")
	}
	ps := make([]orb.Point, p.n)
	for i := range ps {
		ps[i][0], ps[i][1] = p.XY(i)
	}
	return ps, nil
}

func assemble(k Kind, parts []orb.Geometry) orb.Geometry {
	switch k {
	case MultiPoint:
		m := make(orb.MultiPoint, len(parts))
		for i, p := range parts {
			m[i] = p.(orb.Point)
		}
		return m
	case MultiLineString:
		m := make(orb.MultiLineString, len(parts))
		for i, p := range parts {
			m[i] = p.(orb.LineString)
		}
		return m
	case MultiPolygon:
		m := make(orb.MultiPolygon, len(parts))
		for i, p := range parts {
			m[i] = p.(orb.Polygon)
		}
		return m
	}
	return orb.Collection(parts)
}
