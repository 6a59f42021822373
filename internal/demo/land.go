package demo

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// A shore is a coarse outline of the country: counter-clockwise rings that neither cross nor contain each other. Sides
// of all rings are numbered from shoreSide downwards.
type shore struct {
	rings [][]corner
	edges []edge
}

// shoreSide is the number of the first side of the shore. It is used like discSide.
const shoreSide = discSide

// readShore transforms the outline of the facts to EPSG:25833, whole metres.
func readShore() (*shore, error) {
	toUTM, err := crs.Between(crs.CRS84, crs.UTM33)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	s := &shore{}
	var ring []vertex
	last := ""
	end := func() {
		if len(ring) > 0 {
			s.add(open(ring))
		}
		ring = nil
	}
	err = eachRecord("facts/norge-omriss.csv", 3, func(r []string) error {
		lon, lonErr := strconv.ParseFloat(r[1], 64)
		lat, latErr := strconv.ParseFloat(r[2], 64)
		if lonErr != nil || latErr != nil {
			return fmt.Errorf("ring %q: bad position", r[0])
		}
		if r[0] != last {
			end()
			last = r[0]
		}
		x, y := toUTM(lon, lat)
		ring = append(ring, vertex{int64(math.Round(x)), int64(math.Round(y))})
		return nil
	})
	end()
	return s, err
}

// Shore returns the coarse outline of the country as closed rings in EPSG:25833, whole metres.
func Shore() ([]orb.Ring, error) {
	s, err := readShore()
	if err != nil {
		return nil, err
	}
	var out []orb.Ring
	for _, ring := range s.rings {
		var r []vertex
		for _, c := range ring {
			r = append(r, c.rounded())
		}
		out = append(out, orbRing(r))
	}
	return out, nil
}

func (s *shore) add(ring []vertex) {
	if twiceArea(ring) < 0 {
		slices.Reverse(ring)
	}
	var corners []corner
	for k, v := range ring {
		corners = append(corners, corner{float64(v.x), float64(v.y), shoreSide - len(s.edges)})
		s.edges = append(s.edges, edge{v, ring[(k+1)%len(ring)]})
	}
	s.rings = append(s.rings, corners)
}

// land returns the cell of site i in the power diagram, clipped to the shore, as rings without holes. Corners are
// computed from the lines that meet there, as in cell, so that neighbours get identical values.
func (s *shore) land(sites []site, i int) [][]corner {
	others := make([]int, 0, len(sites))
	for j := range sites {
		if j != i {
			others = append(others, j)
		}
	}
	square := func(j int) int64 { d := sites[j].at.sub(sites[i].at); return d.dot(d) }
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(square(a), square(b)) })
	rings := s.rings
	for _, j := range others {
		line := newBisector(sites[i], sites[j])
		meet := func(side int) (x, y float64) {
			if side > shoreSide {
				return radicalCentre(sites, i, j, side)
			}
			e := s.edges[shoreSide-side]
			if i < j { // the same for either order
				return line.crossing(e.from, e.to)
			}
			return newBisector(sites[j], sites[i]).crossing(e.from, e.to)
		}
		var kept [][]corner
		for _, ring := range rings {
			kept = append(kept, line.part(ring, j, meet)...)
		}
		rings = kept
	}
	return rings
}

// part returns the part of a ring left of the line, which may be several rings. New sides get the number side; meet
// returns the point where the line crosses a side.
func (b bisector) part(ring []corner, side int, meet func(side int) (x, y float64)) [][]corner {
	inside := make([]bool, len(ring))
	first := -1 // first corner inside after one outside
	for k, c := range ring {
		inside[k] = b.left(c.x, c.y) >= 0
	}
	for k := range ring {
		if inside[k] && !inside[(k+len(ring)-1)%len(ring)] {
			first = k
		}
	}
	if first < 0 {
		if inside[0] {
			return [][]corner{ring}
		}
		return nil
	}
	var runs [][]corner // from entering to leaving the left side
	for n := range ring {
		k := (first + n) % len(ring)
		before := (k + len(ring) - 1) % len(ring)
		if inside[k] && !inside[before] {
			x, y := meet(ring[before].side)
			runs = append(runs, []corner{{x, y, ring[before].side}})
		}
		if !inside[k] {
			continue
		}
		run := &runs[len(runs)-1]
		*run = append(*run, ring[k])
		if !inside[(k+1)%len(ring)] {
			x, y := meet(ring[k].side)
			*run = append(*run, corner{x, y, side})
		}
	}
	return b.join(runs)
}

// join connects the runs of a ring left of the line to rings: along the line, each run continues with the next one.
func (b bisector) join(runs [][]corner) [][]corner {
	along := func(c corner) float64 {
		return float64((c.x-float64(b.origin.x))*b.dy) - float64((c.y-float64(b.origin.y))*b.dx)
	}
	type end struct {
		at    float64
		run   int
		start bool
	}
	var ends []end
	for r, run := range runs {
		ends = append(ends, end{along(run[0]), r, true}, end{along(run[len(run)-1]), r, false})
	}
	slices.SortStableFunc(ends, func(p, q end) int { return cmp.Compare(p.at, q.at) })
	next := make([]int, len(runs))
	for k := 0; k < len(ends); k += 2 { // pairs of ends enclose the inside of the ring
		p, q := ends[k], ends[k+1]
		if p.start {
			p, q = q, p
		}
		next[p.run] = q.run
	}
	var out [][]corner
	done := make([]bool, len(runs))
	for r := range runs {
		var ring []corner
		for ; !done[r]; r = next[r] {
			done[r] = true
			ring = append(ring, runs[r]...)
		}
		if ring != nil {
			out = append(out, ring)
		}
	}
	return out
}

// landRings returns the areas of all municipalities: open rings of whole metres, counter-clockwise. Neighbours have the
// same vertices. A municipality whose point lies off the shore gets a disc around the point as an island.
func landRings(sites []site, s *shore) [][][]vertex {
	out := make([][][]vertex, len(sites))
	for i, at := range sites {
		ashore := false
		for _, ring := range s.land(sites, i) {
			var round []vertex
			for _, c := range ring {
				round = append(round, c.rounded())
			}
			if round = open(slices.Compact(round)); len(round) > 2 && twiceArea(round) > 0 {
				out[i] = append(out[i], round)
				ashore = ashore || newCell(round).Contains(100*at.at.x, 100*at.at.y)
			}
		}
		if !ashore {
			out[i] = append(out[i], at.island(s))
		}
	}
	return out
}

// island returns a disc around the point of a site with the site's area, or smaller if the shore is near.
func (s site) island(coast *shore) []vertex {
	radius := float64(s.reach) / reachRadii
	for _, e := range coast.edges {
		radius = min(radius, .9*e.distance(s.at))
	}
	s.reach = int64(math.Round(radius))
	return s.disc()
}

// distance returns the distance of a point from an edge in metres.
func (e edge) distance(p vertex) float64 {
	d, q := e.to.sub(e.from), p.sub(e.from)
	t := min(max(float64(d.dot(q))/float64(d.dot(d)), 0), 1)
	return math.Hypot(float64(q.x)-float64(t*float64(d.x)), float64(q.y)-float64(t*float64(d.y)))
}

// open returns a ring without a repeated last vertex.
func open(ring []vertex) []vertex {
	if n := len(ring); n > 1 && ring[0] == ring[n-1] {
		return ring[:n-1]
	}
	return ring
}
