package locate

import (
	"cmp"
	"context"
	"math"
	"slices"
	"unsafe"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
	"grense/internal/geo/crs"
)

// A run is a sequence of consecutive edges of a ring.
type run struct {
	first, edges uint32 // first vertex, and number of edges
	feature      int32
}

// A ball is a ball in space that contains positions on the unit sphere and the edges between them.
type ball struct {
	at     [3]float32
	radius float32
}

const (
	runLength = 4 // largest number of edges in a run
	fan       = 8 // number of balls in a ball of the next tier
	// mostRuns is the largest number of runs that are measured for a position, some 10 ms.
	mostRuns = 1 << 15
	// slack is a tolerance on the unit sphere for rounding and for edges that package crs treats as straight: two
	// metres.
	slack = 3e-7
	// oblate is the largest ratio by which distances on the sphere and on the ellipsoid may be ordered differently.
	oblate = crs.MostRadius / crs.LeastRadius
)

// Near is an area with its distance.
type Near struct {
	Area int32
	// distance along the ellipsoid from a position outside of the area to its border, as in store.Geometry.Distance
	Metres float64
}

// AppendNear appends the area nearest to a position in CRS84, and others that are hardly farther, in the order of Add.
// Areas farther than within metres may be missing. It returns false, and an unusable dst, if it would have to measure
// more than mostRuns.
func (x *Index) AppendNear(dst []Near, at orb.Point, within float64) ([]Near, bool) {
	if len(x.runs) == 0 {
		return dst, true
	}
	var room [4]reached
	s := nearSearch{
		x:     x,
		near:  crs.NewNearest(at, x.back),
		from:  onSphere(at),
		least: math.Inf(1),
		reach: math.Inf(1),
		found: room[:0],
	}
	if within < math.Pi*crs.LeastRadius {
		s.come(within / crs.LeastRadius)
	}
	s.visit(len(x.balls)-1, 0, len(x.balls[len(x.balls)-1]))
	if s.runs > mostRuns {
		return dst, false
	}
	slices.SortFunc(s.found, func(a, b reached) int { return cmp.Compare(a.feature, b.feature) })
	for _, f := range s.found {
		if f.least <= s.least*oblate {
			s.near.Best = f.best
			dst = append(dst, Near{f.feature, s.near.Metres()})
		}
	}
	return dst, true
}

// nearSearch visits the nearest balls first, as long as they may contain something as near as the best so far.
type nearSearch struct {
	x     *Index
	near  crs.Nearest
	from  [3]float64
	least float64 // best distance, initially the limit, on the unit sphere
	reach float64 // as a chord: balls farther away are skipped
	found []reached
	runs  int // number of measured runs
}

// reached is an area in a search, with the least distance to it so far and the position at that distance.
type reached struct {
	feature int32
	least   float64
	best    orb.Point
}

// visit visits balls of a tier, the nearest first.
func (s *nearSearch) visit(tier, from, to int) {
	type child struct {
		least float64
		i     int
	}
	var room [fan]child
	list := room[:0]
	balls := s.x.balls[tier]
	for i := from; i < min(to, len(balls)); i++ {
		c := child{balls[i].least(s.from), i}
		k := len(list)
		list = append(list, c)
		for ; k > 0 && list[k-1].least > c.least; k-- {
			list[k] = list[k-1]
		}
		list[k] = c
	}
	for _, c := range list {
		switch {
		case c.least > s.reach || s.runs > mostRuns:
		case tier > 0:
			s.visit(tier-1, c.i*fan, (c.i+1)*fan)
		default:
			s.measure(s.x.runs[c.i])
		}
	}
}

// measure measures the edges of a run.
func (s *nearSearch) measure(r run) {
	s.runs++
	i := slices.IndexFunc(s.found, func(f reached) bool { return f.feature == r.feature })
	n := &s.near
	n.Least = s.least*oblate + slack // areas farther away are not needed
	if i >= 0 {
		n.Least = s.found[i].least
	}
	before := n.Least
	last := s.vertex(r.first)
	for i := r.first + 1; i <= r.first+r.edges; i++ {
		v := s.vertex(i)
		n.Edge(last, v)
		last = v
	}
	if !(n.Least < before) {
		return
	}
	if i < 0 {
		i = len(s.found)
		s.found = append(s.found, reached{feature: r.feature})
	}
	s.found[i].least, s.found[i].best = n.Least, n.Best
	if n.Least < s.least {
		s.come(n.Least)
	}
}

// come sets the best distance and derives reach.
func (s *nearSearch) come(least float64) {
	s.least = least
	s.reach = 2 * math.Sin(min(least*oblate+slack, math.Pi)/2)
}

func (s *nearSearch) vertex(i uint32) crs.Vertex {
	if s.x.degrees == nil {
		return s.near.Vertex(s.x.vertices[i])
	}
	return s.near.Known(s.x.vertices[i], s.x.degrees[i])
}

// least returns the least length of a chord from a position to the ball; NaN if the ball contains NaN.
func (b *ball) least(from [3]float64) float64 {
	x, y, z := float64(b.at[0])-from[0], float64(b.at[1])-from[1], float64(b.at[2])-from[2]
	return math.Sqrt(x*x+y*y+z*z) - float64(b.radius)
}

func onSphere(p orb.Point) [3]float64 {
	sinX, cosX := math.Sincos(p[0] * math.Pi / 180)
	sinY, cosY := math.Sincos(p[1] * math.Pi / 180)
	return [3]float64{cosX * cosY, sinX * cosY, sinY}
}

// tiers sorts runs so that neighbours are adjacent, and builds the tiers of balls.
func (x *Index) tiers(ctx context.Context) error {
	x.degrees = x.inDegrees()
	width, height := x.bound.Max[0]-x.bound.Min[0], x.bound.Max[1]-x.bound.Min[1]
	place := func(r run) uint64 {
		p := x.vertices[r.first+r.edges/2]
		const cells = 1 << 30
		return coverage.Morton(
			coverage.Point{
				X: int32(finite(cells/width) * (p[0] - x.bound.Min[0])),
				Y: int32(finite(cells/height) * (p[1] - x.bound.Min[1])),
			},
		)
	}
	slices.SortFunc(x.runs,
		func(a, b run) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.first, b.first)) })
	tier := make([]ball, len(x.runs))
	var points [][3]float64
	for i, r := range x.runs {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var pad float64
		points, pad = x.positions(points[:0], r)
		tier[i] = around(points, pad)
	}
	for x.balls = append(x.balls, tier); len(tier) > fan; x.balls = append(x.balls, tier) {
		up := make([]ball, 0, len(tier)/fan+1)
		for part := range slices.Chunk(tier, fan) {
			up = append(up, aroundAll(part))
		}
		tier = up
	}
	return nil
}

// inDegrees returns the vertices in CRS84; nil if the layer is in CRS84.
func (x *Index) inDegrees() []orb.Point {
	same := true
	out := make([]orb.Point, len(x.vertices))
	for i, p := range x.vertices {
		out[i][0], out[i][1] = x.back(p[0], p[1])
		same = same && out[i] == p
	}
	if same {
		return nil
	}
	return out
}

// corner is a position of the layer on the unit sphere, with its longitude and the tangent of its latitude.
type corner struct {
	stored orb.Point
	at     [3]float64
	lon    float64
	slope  float64
}

func (x *Index) corner(p orb.Point) corner {
	lon, lat := x.back(p[0], p[1])
	return corner{p, onSphere(orb.Point{lon, lat}), lon, math.Abs(math.Tan(lat * math.Pi / 180))}
}

// positions appends the positions of a run on the sphere, with additional ones on long edges, and returns how far the
// edges may lie from these.
func (x *Index) positions(dst [][3]float64, r run) (out [][3]float64, pad float64) {
	const long = 1e-2
	var edge func(a, b corner, depth int)
	edge = func(a, b corner, depth int) {
		length := apart(a.at, b.at)
		if (length > long || math.Abs(b.lon-a.lon) > 180) && depth > 0 { // ends may be close around the world
			middle := x.corner(orb.Point{(a.stored[0] + b.stored[0]) / 2, (a.stored[1] + b.stored[1]) / 2})
			edge(a, middle, depth-1)
			edge(middle, b, depth-1)
			return
		}
		dst = append(dst, b.at)
		// // An edge that is straight in degrees deviates most from a great circle along a parallel, in proportion to
		// the // tangent of the latitude; edges straight in a projection deviate less. No edge is longer than half a
		// circle.
		pad = max(pad, min(length/2, length*length*(1+max(a.slope, b.slope))/4))
	}
	last := x.corner(x.vertices[r.first])
	dst = append(dst, last.at)
	for _, p := range x.vertices[r.first+1 : r.first+r.edges+1] {
		v := x.corner(p)
		edge(last, v, 16)
		last = v
	}
	return dst, pad + slack
}

func apart(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// around returns a ball around positions, enlarged by pad.
func around(points [][3]float64, pad float64) (b ball) {
	low, high := points[0], points[0]
	for _, p := range points {
		for i, v := range p {
			low[i], high[i] = min(low[i], v), max(high[i], v)
		}
	}
	middle := b.center(low, high)
	radius := 0.0
	for _, p := range points {
		radius = max(radius, apart(p, middle))
	}
	b.radius = math.Nextafter32(float32(radius+pad), 8)
	return b
}

// aroundAll returns a ball around balls.
func aroundAll(balls []ball) (b ball) {
	low, high := [3]float64{4, 4, 4}, [3]float64{-4, -4, -4}
	for _, c := range balls {
		for i, v := range c.at {
			low[i], high[i] = min(low[i], float64(v-c.radius)), max(high[i], float64(v+c.radius))
		}
	}
	middle := b.center(low, high)
	radius := 0.0
	for _, c := range balls {
		radius = max(radius, apart(wide(c.at), middle)+float64(c.radius))
	}
	b.radius = math.Nextafter32(float32(radius), 8)
	return b
}

// center sets the centre of a ball to that of a box, and returns it in stored precision.
func (b *ball) center(low, high [3]float64) [3]float64 {
	for i := range low {
		b.at[i] = float32((low[i] + high[i]) / 2)
	}
	return wide(b.at)
}

func wide(v [3]float32) [3]float64 { return [3]float64{float64(v[0]), float64(v[1]), float64(v[2])} }

const (
	runBytes  = int64(unsafe.Sizeof(run{}))
	ballBytes = int64(unsafe.Sizeof(ball{}))
)
