package demo

import (
	"cmp"
	"math"
	"slices"
)

// vertex is a point in whole metres, EPSG:25833.
type vertex struct{ x, y int64 }

func (a vertex) sub(b vertex) vertex      { return vertex{a.x - b.x, a.y - b.y} }
func (a vertex) dot(b vertex) int64       { return a.x*b.x + a.y*b.y }
func (a vertex) cross(b vertex) int64     { return a.x*b.y - a.y*b.x }
func (a vertex) compare(b vertex) int     { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) }
func orient(a, b, c vertex) (twice int64) { return b.sub(a).cross(c.sub(a)) } // > 0: c lies left of a-b

// site is a point of the power diagram. The power of a site for a position q is |q - at|² - weight. Each position
// belongs to the site with the least power.
type site struct {
	at     vertex
	weight int64 // square metres
	reach  int64 // radius of the disc that clips the cell, metres
	room   int64 // least distance to every side of its cell, metres
}

// Lengths as multiples of the radius of a disc with the site's area.
const (
	// larger than 1, so that cells need not be discs; where there is no neighbour, the coast consists of arcs
	reachRadii = 1.6
	roomRadii  = 0.35 // lowers the weights of about 7 % of the sites
)

func newSite(at vertex, km2 int) site {
	area := float64(km2) * 1e6
	r := math.Sqrt(area / math.Pi)
	return site{
		at:     at,
		weight: int64(math.Round(area / math.Pi)),
		reach:  int64(math.Round(reachRadii * r)),
		room:   int64(math.Round(roomRadii * r)),
	}
}

// settleWeights lowers weights until each cell contains its point. If the side towards a heavy neighbour is closer to
// the point than room, or beyond it, the neighbour gets lighter.
//
// The side between i and j lies (d² + w_i - w_j) / 2d from point i, so point i requires w_j <= w_i + d² - 2d·room_i.
// With room_i <= d/2 these bounds are a shortest-path problem with non-negative lengths: it has a unique greatest
// solution, whatever the order of the steps.
func settleWeights(sites []site) {
	for changed := true; changed; {
		changed = false
		for i := range sites {
			for j := range sites {
				if i == j {
					continue
				}
				d := sites[j].at.sub(sites[i].at)
				square := d.dot(d)
				dist := int64(math.Sqrt(float64(square)))
				most := sites[i].weight + square - 2*dist*min(sites[i].room, dist/2)
				if sites[j].weight > most {
					sites[j].weight = most
					changed = true
				}
			}
		}
	}
}

// circle contains a quarter of the directions of a regular polygon with 48 corners: cosines of multiples of 7.5
// degrees, in millionths.
var circle = [...]int64{
	1000000,
	991445,
	965926,
	923880,
	866025,
	793353,
	707107,
	608761,
	500000,
	382683,
	258819,
	130526,
	0,
}

const corners = 4 * (len(circle) - 1)

// disc returns the polygon for the disc of a site, counter-clockwise from the east.
func (s site) disc() []vertex {
	ring := make([]vertex, corners)
	for k := range ring {
		turn, step := k/(corners/4), k%(corners/4)
		x := scale(s.reach, circle[step])
		y := scale(s.reach, circle[len(circle)-1-step])
		for range turn {
			x, y = -y, x
		}
		ring[k] = vertex{s.at.x + x, s.at.y + y}
	}
	return ring
}

func scale(length, millionths int64) int64 { return (length*millionths + 500000) / 1000000 }

// corner is a corner of a cell before rounding.
type corner struct {
	x, y float64 // metres
	side int     // of the side that begins here: index of the neighbour, or discSide minus the index of the disc's side
}

// discSide is the number of the disc's first side; its other sides have the numbers below.
const discSide = -1

// cell clips the disc of site i to its cell in the power diagram. The corners are counter-clockwise; nil if nothing is
// left.
//
// A corner is computed from the sites whose lines meet there, in the order of their numbers, never from other corners.
// So two cells that share a corner get identical values. Conversions to float64 keep a processor from fusing
// multiplication and addition.
func cell(sites []site, i int) []corner {
	s := sites[i]
	round := s.disc()
	var ring []corner
	for k, v := range round {
		ring = append(ring, corner{float64(v.x), float64(v.y), discSide - k})
	}
	for j, other := range sites {
		if j == i {
			continue
		}
		line := newBisector(s, other)
		left := func(c corner) float64 { return line.left(c.x, c.y) }
		if !slices.ContainsFunc(ring, func(c corner) bool { return left(c) < 0 }) {
			continue
		}
		meet := func(side int) (x, y float64) {
			if side > discSide {
				return radicalCentre(sites, i, j, side)
			}
			k := discSide - side
			return line.crossing(round[k], round[(k+1)%len(round)])
		}
		ring = cut(ring, left, j, meet)
	}
	return ring
}

// cut returns the part of a convex ring where left is not negative. The new side gets the number side; meet returns the
// point where it crosses a side.
func cut(ring []corner, left func(corner) float64, side int, meet func(side int) (x, y float64)) []corner {
	var kept []corner
	for k, a := range ring {
		b := ring[(k+1)%len(ring)]
		inA, inB := left(a) >= 0, left(b) >= 0
		if inA {
			kept = append(kept, a)
		}
		if inA != inB {
			x, y := meet(a.side)
			next := a.side
			if inA {
				next = side
			}
			kept = append(kept, corner{x, y, next})
		}
	}
	return kept
}

// bisector is the line between the cells of two sites.
type bisector struct {
	origin vertex
	dx, dy float64 // towards the other site
	level  float64
}

func newBisector(s, other site) bisector {
	d := other.at.sub(s.at)
	return bisector{s.at, float64(d.x), float64(d.y), float64(d.dot(d) + s.weight - other.weight)}
}

// left returns by how much the power of the other site exceeds that of this one at x, y: positive on this site's side.
func (b bisector) left(x, y float64) float64 {
	qx, qy := x-float64(b.origin.x), y-float64(b.origin.y)
	return b.level - 2*(float64(qx*b.dx)+float64(qy*b.dy))
}

func (b bisector) crossing(from, to vertex) (x, y float64) {
	fx, fy, tx, ty := float64(from.x), float64(from.y), float64(to.x), float64(to.y)
	l, r := b.left(fx, fy), b.left(tx, ty)
	t := l / (l - r)
	return fx + float64(t*(tx-fx)), fy + float64(t*(ty-fy))
}

// radicalCentre returns the point of equal power of three sites, in any order.
func radicalCentre(sites []site, i, j, k int) (x, y float64) {
	n := []int{i, j, k}
	slices.Sort(n)
	a, b := newBisector(sites[n[0]], sites[n[1]]), newBisector(sites[n[0]], sites[n[2]])
	det := 2 * (float64(a.dx*b.dy) - float64(a.dy*b.dx))
	qx := (float64(a.level*b.dy) - float64(b.level*a.dy)) / det
	qy := (float64(a.dx*b.level) - float64(b.dx*a.level)) / det
	return float64(a.origin.x) + qx, float64(a.origin.y) + qy
}
