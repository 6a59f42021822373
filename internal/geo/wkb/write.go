package wkb

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// What is appended is ISO WKB in little-endian order (OGC 06-103r4, 8.2).

// AppendHeader appends the start of a geometry: byte order and type.
func AppendHeader(dst []byte, k Kind, z bool) []byte {
	if z {
		k += 1000
	}
	return binary.LittleEndian.AppendUint32(append(dst, 1), uint32(k))
}

// AppendCount appends a number of positions, rings or members.
func AppendCount(dst []byte, n int) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(n)) }

// AppendXY appends a position of two ordinates.
func AppendXY(dst []byte, x, y float64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(y))
}

// AppendXYZ appends a position with its height.
func AppendXYZ(dst []byte, x, y, z float64) []byte {
	return binary.LittleEndian.AppendUint64(AppendXY(dst, x, y), math.Float64bits(z))
}

// Append appends a geometry. A nil one, which has no bytes, is a panic.
func Append(dst []byte, g orb.Geometry) []byte {
	switch g := g.(type) {
	case orb.Point:
		return AppendXY(AppendHeader(dst, Point, false), g[0], g[1])
	case orb.LineString:
		return appendLine(AppendHeader(dst, LineString, false), g)
	case orb.Ring:
		return Append(dst, orb.Polygon{g})
	case orb.Bound:
		return Append(dst, g.ToPolygon())
	case orb.Polygon:
		dst = AppendCount(AppendHeader(dst, Polygon, false), len(g))
		for _, r := range g {
			dst = appendLine(dst, r)
		}
		return dst
	case orb.MultiPoint:
		return appendAll(dst, MultiPoint, g)
	case orb.MultiLineString:
		return appendAll(dst, MultiLineString, g)
	case orb.MultiPolygon:
		return appendAll(dst, MultiPolygon, g)
	case orb.Collection:
		return appendAll(dst, Collection, g)
	}
	panic(fmt.Sprintf("wkb: a geometry of %T", g))
}

func appendLine[L ~[]orb.Point](dst []byte, l L) []byte {
	dst = AppendCount(dst, len(l))
	for _, p := range l {
		dst = AppendXY(dst, p[0], p[1])
	}
	return dst
}

func appendAll[G orb.Geometry](dst []byte, k Kind, list []G) []byte {
	dst = AppendCount(AppendHeader(dst, k, false), len(list))
	for _, g := range list {
		dst = Append(dst, g)
	}
	return dst
}

// AppendPlane appends the geometry that b holds, without heights and measures, each position as move gives it; nil
// leaves them as they are. Positions are not checked, neither before nor after; empty points stay empty, and move
// does not see them. The dst of an error is to be thrown away.
func AppendPlane(dst, b []byte, move func(x, y float64) (float64, float64)) ([]byte, error) {
	r := Reader{b: b}
	k, err := r.Header()
	if err != nil {
		return dst, err
	}
	return r.plane(dst, k, 0, move)
}

func (r *Reader) plane(dst []byte, k Kind, depth int, move func(x, y float64) (float64, float64)) ([]byte, error) {
	dst = AppendHeader(dst, k, false)
	switch k {
	case Point:
		p, err := r.Point()
		if err == nil && p.n == 0 {
			return AppendXY(dst, math.NaN(), math.NaN()), nil
		}
		return p.appendPlane(dst, move), err
	case LineString:
		p, err := r.Line()
		return p.appendPlane(AppendCount(dst, p.n), move), err
	}
	n, err := r.Parts(k)
	dst = AppendCount(dst, n)
	for ; n > 0 && err == nil; n-- {
		if k == Polygon {
			var p Run
			p, err = r.Line()
			dst = p.appendPlane(AppendCount(dst, p.n), move)
			continue
		}
		var m Kind
		if m, err = r.Member(k, depth); err == nil {
			dst, err = r.plane(dst, m, depth+1, move)
		}
	}
	return dst, err
}

func (p *Run) appendPlane(dst []byte, move func(x, y float64) (float64, float64)) []byte {
	for i := range p.n {
		x, y := p.XY(i)
		if move != nil {
			x, y = move(x, y)
		}
		dst = AppendXY(dst, x, y)
	}
	return dst
}

// AppendExtended appends b, which Check takes, with the reference system in its outer header, as PostGIS has it. Its
// byte order stays.
func AppendExtended(dst, b []byte, srid uint32) []byte {
	const hasSRID = 0x20000000
	r := Reader{big: b[0] == 0}
	t, rest := r.uint32(b[1:]), b[5:]
	if t&hasSRID != 0 {
		rest = rest[4:]
	}
	var order binary.AppendByteOrder = binary.LittleEndian
	if r.big {
		order = binary.BigEndian
	}
	dst = order.AppendUint32(order.AppendUint32(append(dst, b[0]), t|hasSRID), srid)
	return append(dst, rest...)
}
