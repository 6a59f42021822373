package demo

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// Site is a point of the power diagram with its weight before and after settling, square metres, and the lengths in
// metres.
type Site struct {
	X, Y, Area, Weight, Reach, Room int64
}

// Sites returns the sites in the order of the municipalities, and their unrounded points.
func Sites() ([]Site, []orb.Point, error) {
	_, kommuner, err := readFacts()
	if err != nil {
		return nil, nil, err
	}
	raw, err := project(kommuner)
	if err != nil {
		return nil, nil, err
	}
	before, after := placeSites(kommuner, raw), placeSites(kommuner, raw)
	settleWeights(after)
	var out []Site
	for i, s := range after {
		out = append(out, Site{s.at.x, s.at.y, before[i].weight, s.weight, s.reach, s.room})
	}
	return out, raw, nil
}

// Settle returns the settled weights of sites.
func Settle(sites []Site) []int64 {
	var in []site
	for _, s := range sites {
		in = append(in, site{vertex{s.X, s.Y}, s.Area, s.Reach, s.Room})
	}
	settleWeights(in)
	var out []int64
	for _, s := range in {
		out = append(out, s.weight)
	}
	return out
}

// Union joins closed rings.
func Union(rings []orb.Ring) (orb.MultiPolygon, error) {
	var open [][]vertex
	for _, r := range rings {
		var o []vertex
		for _, p := range r[:len(r)-1] {
			o = append(o, vertex{int64(p[0]), int64(p[1])})
		}
		open = append(open, o)
	}
	return union(open)
}

// NewCell makes a cell of a closed ring in metres.
func NewCell(r orb.Ring) Cell {
	var o []vertex
	for _, p := range r[:len(r)-1] {
		o = append(o, vertex{int64(p[0]), int64(p[1])})
	}
	return newCell(o)
}

// Locate returns the municipality whose cell holds the point x, y (EPSG:25833, metres, rounded to centimetres); of
// several that share a border, the first. It is false in the sea and abroad.
func (s *Set) Locate(x, y float64) (*Kommune, bool) {
	p := vertex{int64(math.Round(100 * x)), int64(math.Round(100 * y))}
	i := slices.IndexFunc(s.Kommuner, func(k Kommune) bool { return k.cell.place(p) != outside })
	if i < 0 {
		return nil, false
	}
	return &s.Kommuner[i], true
}

// Ring is the closed ring of a municipality's cell, metres.
func (k *Kommune) Ring() orb.Ring {
	r := slices.Clone(k.cell.ring)
	for i, v := range r {
		r[i] = vertex{v.x / 100, v.y / 100}
	}
	return orbRing(r)
}
