package wkb

import (
	"errors"
	"math"
)

// Largest distances between an arc and the lines that stand for it.
const (
	ChordMetres  = 1e-3 // 1 mm
	ChordDegrees = 1e-8 // about as much
)

// maxArcPositions bounds the positions of a geometry whose arcs become lines.
const maxArcPositions = 1 << 20

// Straighten appends as ISO WKB the geometry that stands for one with arcs or of faces: arcs become lines that lie at
// most chord away, in the unit of the positions; CircularString and CompoundCurve become LineString, CurvePolygon and
// Triangle Polygon, MultiCurve MultiLineString, MultiSurface, PolyhedralSurface and TIN MultiPolygon (SQL/MM, 4.2;
// OGC 06-103r4, 6.1.12). Stored positions stay what they are; heights are interpolated, measures left out. A circle
// is a CircularString of three positions whose last is the first: the middle one lies opposite.
func Straighten(dst, b []byte, chord float64) ([]byte, error) {
	s := straightener{r: NewReader(b), dst: dst, chord: chord, left: maxArcPositions}
	k, err := s.r.Header()
	if err == nil {
		err = s.geometry(k, 0)
	}
	return s.dst, err
}

// Lines is Check of the geometry that is served for b: b itself, or where GeoJSON lacks its type what Straighten
// makes of it.
func Lines(b []byte, chord float64) ([]byte, Info, error) {
	in, err := Check(b)
	if _, other := errors.AsType[*KindError](err); !other {
		return b, in, err
	}
	b, err = Straighten(nil, b, chord)
	if err == nil {
		in, err = Check(b)
	}
	return b, in, err
}

// First returns the first position of a geometry of any type; false where there is none before something that cannot
// be read.
func First(b []byte) (x, y float64, ok bool) {
	r := NewReader(b)
	for range MaxDepth {
		k, err := r.Header()
		if err != nil {
			return 0, 0, false
		}
		switch k {
		case Point:
		case LineString, CircularString:
			if n, err := r.count(r.stride); err != nil || n == 0 {
				return 0, 0, false
			}
		case Polygon, Triangle:
			if n, err := r.count(4); err != nil || n == 0 {
				return 0, 0, false
			}
			if n, err := r.count(r.stride); err != nil || n == 0 {
				return 0, 0, false
			}
		default:
			if n, err := r.count(9); err != nil || n == 0 {
				return 0, 0, false
			}
			continue
		}
		p, err := r.Point()
		if err != nil || p.Len() == 0 {
			return 0, 0, false
		}
		x, y = p.XY(0)
		return x, y, true
	}
	return 0, 0, false
}

type straightener struct {
	r     Reader
	dst   []byte
	chord float64
	left  int
	line  []float64 // x, y, z of the current curve
}

// straight is the type that is written for k; 0 for one that has none.
func straight(k Kind) Kind {
	switch k {
	case PolyhedralSurface, TIN:
		return MultiPolygon
	case Triangle:
		return Polygon
	case Curve, Surface: // abstract
		return 0
	}
	return k.Straight()
}

// geometry goes on after the header of a geometry.
func (s *straightener) geometry(k Kind, depth int) error {
	to, z := straight(k), s.r.z
	if to == 0 {
		return &KindError{k}
	}
	s.dst = AppendHeader(s.dst, to, z)
	switch {
	case k == Point:
		p, err := s.r.Point()
		if err == nil && p.Len() == 0 {
			s.position(math.NaN(), math.NaN(), math.NaN(), z)
		}
		s.run(p, z)
		return err
	case to == LineString:
		s.line = s.line[:0]
		if err := s.curve(k); err != nil {
			return err
		}
		return s.flush(z)
	case k == Polygon || k == Triangle:
		return s.parts(4, func() error {
			p, err := s.r.Line()
			if err == nil {
				s.dst = AppendCount(s.dst, p.Len())
				s.run(p, z)
			}
			return err
		})
	case k == CurvePolygon:
		return s.parts(9, func() error {
			m, err := s.member(LineString, CircularString, CompoundCurve)
			if err != nil {
				return err
			}
			s.line = s.line[:0]
			if err := s.curve(m); err != nil {
				return err
			}
			return s.flush(z)
		})
	}
	if depth >= MaxDepth {
		return invalid("more than %d collections in each other", MaxDepth)
	}
	return s.parts(9, func() error {
		m, err := s.r.Header()
		if err == nil && k != Collection && straight(m) != to-3 {
			err = invalid("%v inside %v", m, k)
		}
		if err != nil {
			return err
		}
		return s.geometry(m, depth+1)
	})
}

// member reads the header of a member, which is one of a few types.
func (s *straightener) member(list ...Kind) (Kind, error) {
	m, err := s.r.Header()
	if err != nil {
		return 0, err
	}
	for _, k := range list {
		if k == m {
			return m, nil
		}
	}
	return 0, invalid("%v inside a curve", m)
}

// parts copies a count and calls part so often.
func (s *straightener) parts(size int, part func() error) error {
	n, err := s.r.count(size)
	if err != nil {
		return err
	}
	s.dst = AppendCount(s.dst, n)
	for ; n > 0; n-- {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (s *straightener) run(p Run, z bool) {
	for i := range p.Len() {
		x, y := p.XY(i)
		s.position(x, y, p.Z(i), z)
	}
}

func (s *straightener) position(x, y, h float64, z bool) {
	if z {
		s.dst = AppendXYZ(s.dst, x, y, h)
	} else {
		s.dst = AppendXY(s.dst, x, y)
	}
}

// flush writes the current curve.
func (s *straightener) flush(z bool) error {
	s.dst = AppendCount(s.dst, len(s.line)/3)
	for i := 0; i < len(s.line); i += 3 {
		s.position(s.line[i], s.line[i+1], s.line[i+2], z)
	}
	return nil
}

// curve reads a LineString, CircularString or CompoundCurve after its header, and adds its positions to the line, a
// common one once.
func (s *straightener) curve(k Kind) error {
	if k == CompoundCurve {
		n, err := s.r.count(9)
		for ; n > 0 && err == nil; n-- {
			var m Kind
			if m, err = s.member(LineString, CircularString); err == nil {
				err = s.curve(m)
			}
		}
		return err
	}
	p, err := s.r.Line()
	if err != nil || p.Len() == 0 {
		return err
	}
	at := func(i int) [3]float64 {
		x, y := p.XY(i)
		return [3]float64{x, y, p.Z(i)}
	}
	if first := at(0); len(s.line) == 0 || s.line[len(s.line)-3] != first[0] || s.line[len(s.line)-2] != first[1] {
		s.line = append(s.line, first[:]...)
	}
	if k == LineString {
		for i := 1; i < p.Len(); i++ {
			q := at(i)
			s.line = append(s.line, q[:]...)
		}
		return nil
	}
	if p.Len()%2 == 0 {
		return invalid("a CircularString of %d positions", p.Len())
	}
	for i := 2; i < p.Len(); i += 2 {
		if err := s.arc(at(i-2), at(i-1), at(i)); err != nil {
			return err
		}
	}
	return nil
}

// arc adds what follows a on the arc through b to c.
func (s *straightener) arc(a, b, c [3]float64) error {
	angle := func(at, from, to [3]float64) float64 { // against the clock
		fx, fy, tx, ty := from[0]-at[0], from[1]-at[1], to[0]-at[0], to[1]-at[1]
		return math.Atan2(fx*ty-fy*tx, fx*tx+fy*ty)
	}
	// Half of the angle of an arc is the angle under which it is seen from any other place of the circle.
	first, second := angle(c, a, b), angle(a, b, c)
	if a[0] == c[0] && a[1] == c[1] {
		first, second = math.Pi/2, math.Pi/2
	}
	if math.Abs(math.Sin(first)) < 1e-12 || math.Abs(math.Sin(second)) < 1e-12 { // on a line
		s.line = append(append(s.line, b[:]...), c[:]...)
		return nil
	}
	if err := s.piece(a, b, first); err != nil {
		return err
	}
	return s.piece(b, c, second)
}

// piece adds what follows a on the arc to b, which turns by twice the angle half, positive against the clock.
func (s *straightener) piece(a, b [3]float64, half float64) error {
	dx, dy := b[0]-a[0], b[1]-a[1]
	radius := math.Hypot(dx, dy) / 2 / math.Abs(math.Sin(half))
	step := math.Pi / 8
	if q := s.chord / (2 * radius); q < 1 {
		step = math.Min(step, 4*math.Asin(math.Sqrt(q)))
	}
	n := math.Ceil(2 * math.Abs(half) / step)
	if !(n <= float64(s.left)) {
		return invalid("an arc of more than %d positions", maxArcPositions)
	}
	s.left -= int(n)
	for i := 1.0; i < n; i++ {
		turned := half * i / n
		sin, cos := math.Sincos(turned - half)
		l := math.Sin(turned) / math.Sin(half)
		s.line = append(s.line, a[0]+l*(dx*cos-dy*sin), a[1]+l*(dx*sin+dy*cos), a[2]+(b[2]-a[2])*i/n)
	}
	s.line = append(s.line, b[:]...)
	return nil
}
