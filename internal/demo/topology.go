package demo

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// cellRings returns all cells: open rings of whole metres, counter-clockwise. Along a common border two cells have the
// same vertices, including those that are a corner of only one of them.
func cellRings(sites []site) [][]vertex {
	cells := make([][]corner, len(sites))
	for i := range sites {
		cells[i] = cell(sites, i)
	}
	rings := make([][]vertex, len(sites))
	for i, ring := range cells {
		for k, c := range ring {
			rings[i] = append(rings[i], c.rounded())
			if c.side > discSide {
				end := ring[(k+1)%len(ring)]
				rings[i] = append(rings[i], between(c, end, sideOf(cells[c.side], i))...)
			}
		}
	}
	merge(rings)
	return rings
}

// grain is the least distance between two vertices in metres. It is less than a side of the smallest disc.
const grain = 100

// merge merges vertices that are closer than grain, in the same way in all rings, to avoid slivers and narrow gaps.
func merge(rings [][]vertex) {
	all := slices.Concat(rings...)
	slices.SortFunc(all, vertex.compare)
	kept := map[vertex]vertex{}
	var recent []vertex // kept vertices up to grain to the west
	for _, v := range slices.Compact(all) {
		recent = slices.DeleteFunc(recent, func(k vertex) bool { return v.x-k.x >= grain })
		near := slices.IndexFunc(recent, func(k vertex) bool { d := v.sub(k); return d.dot(d) < grain*grain })
		if near < 0 {
			recent = append(recent, v)
			kept[v] = v
			continue
		}
		kept[v] = recent[near]
	}
	for i, ring := range rings {
		for k, v := range ring {
			ring[k] = kept[v]
		}
		rings[i] = slices.Compact(ring)
		if n := len(rings[i]); n > 1 && rings[i][0] == rings[i][n-1] {
			rings[i] = rings[i][:n-1]
		}
	}
}

func (c corner) rounded() vertex { return vertex{int64(math.Round(c.x)), int64(math.Round(c.y))} }

// sideOf returns the two corners of a cell's side towards a neighbour; nil if they do not touch.
func sideOf(ring []corner, neighbour int) []corner {
	k := slices.IndexFunc(ring, func(c corner) bool { return c.side == neighbour })
	if k < 0 {
		return nil
	}
	return []corner{ring[k], ring[(k+1)%len(ring)]}
}

// between returns the rounded corners of the neighbour's side that lie within the side a-b, in the order from a to b.
func between(a, b corner, corners []corner) []vertex {
	dx, dy := b.x-a.x, b.y-a.y
	along := func(c corner) float64 { return float64((c.x-a.x)*dx) + float64((c.y-a.y)*dy) }
	slices.SortFunc(corners, func(c, d corner) int { return cmp.Compare(along(c), along(d)) })
	var inside []vertex
	for _, c := range corners {
		if along(c) > 0 && along(c) < along(b) {
			inside = append(inside, c.rounded())
		}
	}
	return inside
}

// errNoDivision reports rings that overlap or run clockwise.
var errNoDivision = errors.New("rings are not a division of an area")

// edge is a piece of a border; its area lies to the left.
type edge struct{ from, to vertex }

// union joins areas that do not overlap and share their borders vertex by vertex. Edges that occur in both directions
// vanish; the others are chained to rings.
func union(rings [][]vertex) (orb.MultiPolygon, error) {
	edges := map[edge]bool{}
	for _, ring := range rings {
		for k, v := range ring {
			next := ring[(k+1)%len(ring)]
			switch {
			case edges[edge{v, next}]:
				return nil, errNoDivision
			case edges[edge{next, v}]:
				delete(edges, edge{next, v})
			default:
				edges[edge{v, next}] = true
			}
		}
	}
	chained, err := chain(edges)
	if err != nil {
		return nil, err
	}
	return polygons(chained)
}

// chain connects edges to rings. No ring passes a vertex twice. A ring starts at its least vertex, by which the rings
// are ordered.
func chain(edges map[edge]bool) ([][]vertex, error) {
	out := map[vertex][]vertex{}
	var starts []edge
	for e := range edges {
		out[e.from] = append(out[e.from], e.to)
		starts = append(starts, e)
	}
	slices.SortFunc(starts, func(a, b edge) int { return cmp.Or(a.from.compare(b.from), a.to.compare(b.to)) })
	var rings [][]vertex
	for _, e := range starts {
		if !slices.Contains(out[e.from], e.to) {
			continue
		}
		path := []vertex{e.from}
		for at := e; ; {
			out[at.from] = slices.DeleteFunc(out[at.from], func(v vertex) bool { return v == at.to })
			if k := slices.Index(path, at.to); k >= 0 { // a ring is closed; the path before it continues
				rings = append(rings, slices.Clone(path[k:]))
				path = path[:k]
				if k == 0 {
					break
				}
			}
			path = append(path, at.to)
			next, ok := turn(at, out[at.to])
			if !ok {
				return nil, errNoDivision
			}
			at = edge{at.to, next}
		}
	}
	for _, ring := range rings {
		rotate(ring)
	}
	slices.SortFunc(rings, func(a, b []vertex) int { return slices.CompareFunc(a, b, vertex.compare) })
	return rings, nil
}

// turn chooses the next edge at a vertex where several rings touch: the sharpest left turn, which follows the same
// area.
func turn(in edge, choices []vertex) (vertex, bool) {
	if len(choices) == 0 {
		return vertex{}, false
	}
	back := in.from.sub(in.to)
	best := choices[0]
	for _, v := range choices[1:] {
		if clockwiseFirst(back, v.sub(in.to), best.sub(in.to)) {
			best = v
		}
	}
	return best, true
}

// clockwiseFirst reports whether a ray that turns clockwise from the direction from meets a before b.
func clockwiseFirst(from, a, b vertex) bool {
	half := func(d vertex) int { // 0: less than 180° clockwise of from, 1: more
		if from.cross(d) < 0 || from.cross(d) == 0 && from.dot(d) < 0 {
			return 0
		}
		return 1
	}
	if half(a) != half(b) {
		return half(a) < half(b)
	}
	return a.cross(b) < 0
}

// rotate rotates a ring so that it begins with its least vertex.
func rotate(ring []vertex) {
	first := 0
	for k, v := range ring {
		if v.compare(ring[first]) < 0 {
			first = k
		}
	}
	copy(ring, slices.Concat(ring[first:], ring[:first]))
}

// polygons assigns each hole to the smallest exterior ring around it.
func polygons(rings [][]vertex) (orb.MultiPolygon, error) {
	var shells, holes [][]vertex
	for _, ring := range rings {
		if twiceArea(ring) > 0 {
			shells = append(shells, ring)
		} else {
			holes = append(holes, ring)
		}
	}
	mp := make(orb.MultiPolygon, len(shells))
	for i, ring := range shells {
		mp[i] = orb.Polygon{orbRing(ring)}
	}
	for _, hole := range holes {
		best := -1
		for i, shell := range shells {
			if surrounds(shell, hole) && (best < 0 || twiceArea(shell) < twiceArea(shells[best])) {
				best = i
			}
		}
		if best < 0 {
			return nil, errNoDivision
		}
		mp[best] = append(mp[best], orbRing(hole))
	}
	return mp, nil
}

// surrounds reports whether a hole lies within a shell, which it may touch only at single vertices.
func surrounds(shell, hole []vertex) bool {
	c := newCell(shell)
	return slices.ContainsFunc(hole, func(v vertex) bool { return c.Contains(100*v.x, 100*v.y) })
}

// twiceArea returns twice the area in square metres; positive if the ring is counter-clockwise.
func twiceArea(ring []vertex) int64 {
	var sum int64
	for k := 1; k+1 < len(ring); k++ {
		sum += orient(ring[0], ring[k], ring[k+1])
	}
	return sum
}

func orbRing(ring []vertex) orb.Ring {
	r := make(orb.Ring, 0, len(ring)+1)
	for _, v := range ring {
		r = append(r, orb.Point{float64(v.x), float64(v.y)})
	}
	return append(r, r[0])
}
