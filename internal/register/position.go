package register

import (
	"grense/internal/demo"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// point is a position in centimetres of StorageCRS, x before y.
type point struct{ x, y int64 }

// tries is the largest number of attempts to find a position in a cell. Cells fill at least half of their bounding
// boxes, so that all attempts never fail in practice; then the representative point of the municipality is used.
const tries = 200

// inside returns a random position inside the cell of a municipality.
func (s *source) inside(k *demo.Kommune) point {
	c := k.Cell()
	for range tries {
		p := point{c.MinX + int64(s.next()%uint64(c.MaxX-c.MinX+1)), c.MinY + int64(s.next()%uint64(c.MaxY-c.MinY+1))}
		if c.Contains(p.x, p.y) {
			return p
		}
	}
	return point{int64(k.Point[0]) * 100, int64(k.Point[1]) * 100}
}

// compass holds eight directions, counter-clockwise from east, as vectors of length 1000.
var compass = [8]point{{1000, 0}, {707, 707}, {0, 1000}, {-707, 707}, {-1000, 0}, {-707, -707}, {0, -1000}, {707, -707}}

// step returns p moved by r centimetres in one of the eight directions.
func (p point) step(direction int, r int64) point {
	d := compass[direction%8]
	return point{p.x + d.x*r/1000, p.y + d.y*r/1000}
}

// geometry returns the geometry of a place: a point in its municipality, two to six points within 500 m, a line of two
// to eight points, or an area with a radius of 50 to 400 m. Official places are at the representative point of their
// municipality, towns near it.
func (g *generator) geometry(p *place) store.Geometry {
	src := p.chain.part(drawPosition)
	k := g.country.kommuner[p.kommuner[0]].Kommune
	at := src.inside(k)
	if p.types == "fylke" || p.types == "kommune" {
		at = point{int64(k.Point[0]) * 100, int64(k.Point[1]) * 100}
	}
	switch p.shape {
	case shapeMultiPoint:
		ps := []point{at}
		for n := src.between(1, 5); n > 0; n-- {
			ps = append(ps, at.step(src.under(8), int64(src.between(5_000, 50_000))))
		}
		return store.Geometry{WKB: appendMultiPoint(header(wkb.MultiPoint), ps)}
	case shapeLine:
		ps, direction := []point{at}, src.under(8)
		for n := src.between(1, 7); n > 0; n-- {
			ps = append(ps, ps[len(ps)-1].step(direction, int64(src.between(5_000, 40_000))))
			direction += src.between(7, 9)
		}
		return store.Geometry{WKB: appendPoints(header(wkb.LineString), ps)}
	case shapeArea:
		ps := make([]point, 0, len(compass)+1)
		for d := range compass {
			ps = append(ps, at.step(d, int64(src.between(5_000, 40_000))))
		}
		return store.Geometry{WKB: appendPoints(wkb.AppendCount(header(wkb.Polygon), 1), append(ps, ps[0]))}
	}
	return store.Geometry{WKB: appendPoint(header(wkb.Point), at)}
}

// header returns the beginning of a WKB geometry.
func header(kind wkb.Kind) []byte { return wkb.AppendHeader(make([]byte, 0, 160), kind, false) }

func appendPoint(dst []byte, p point) []byte {
	return wkb.AppendXY(dst, float64(p.x)/100, float64(p.y)/100)
}

func appendPoints(dst []byte, ps []point) []byte {
	dst = wkb.AppendCount(dst, len(ps))
	for _, p := range ps {
		dst = appendPoint(dst, p)
	}
	return dst
}

func appendMultiPoint(dst []byte, ps []point) []byte {
	dst = wkb.AppendCount(dst, len(ps))
	for _, p := range ps {
		dst = appendPoint(wkb.AppendHeader(dst, wkb.Point, false), p)
	}
	return dst
}
