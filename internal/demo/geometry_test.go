package demo_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/paulmach/orb/planar"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/demo"
)

// twiceArea is exact for whole metres.
func twiceArea(r orb.Ring) int64 {
	var sum int64
	for k := range len(r) - 1 {
		ax, ay := int64(r[k][0]-r[0][0]), int64(r[k][1]-r[0][1])
		bx, by := int64(r[k+1][0]-r[0][0]), int64(r[k+1][1]-r[0][1])
		sum += ax*by - ay*bx
	}
	return sum
}

func twiceAreaOf(mp orb.MultiPolygon) int64 {
	var sum int64
	for _, p := range mp {
		for _, r := range p {
			sum += twiceArea(r)
		}
	}
	return sum
}

// simple reads a geometry with the other library, which checks that it is valid.
func simple(t *testing.T, name string, g orb.Geometry) geom.Geometry {
	t.Helper()
	b, err := wkb.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	s, err := geom.UnmarshalWKB(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

func TestGeometriesAreValidWholeAndOriented(t *testing.T) {
	t.Parallel()
	set := load(t)
	check := func(nr string, mp orb.MultiPolygon) {
		if len(mp) == 0 {
			t.Errorf("%s is empty", nr)
		}
		simple(t, nr, mp)
		for _, p := range mp {
			for i, r := range p {
				if r[0] != r[len(r)-1] || i == 0 && twiceArea(r) <= 0 || i > 0 && twiceArea(r) >= 0 {
					t.Errorf("%s: ring %d is open or goes the wrong way", nr, i)
				}
				for _, v := range r {
					if v[0] != math.Trunc(v[0]) || v[1] != math.Trunc(v[1]) {
						t.Errorf("%s: %v are not whole metres", nr, v)
					}
				}
			}
		}
	}
	for _, f := range set.Fylker {
		check(f.Nr, f.Geometry)
	}
	for _, k := range set.Kommuner {
		check(k.Nr, k.Geometry)
		check(k.Nr, orb.MultiPolygon{{k.Ring()}})
	}
}

func TestKommunerDoNotOverlap(t *testing.T) {
	t.Parallel()
	set := load(t)
	var shapes []geom.Geometry
	var bounds []orb.Bound
	for _, k := range set.Kommuner {
		shapes = append(shapes, simple(t, k.Nr, k.Geometry))
		bounds = append(bounds, k.Geometry.Bound())
	}
	near := 0
	for i := range shapes {
		for j := range i {
			if !bounds[i].Intersects(bounds[j]) {
				continue
			}
			near++
			matrix, err := geom.Relate(shapes[i], shapes[j])
			if err != nil {
				t.Fatal(err)
			}
			if matrix[0] != 'F' {
				t.Errorf("%s and %s overlap: %s", set.Kommuner[i].Nr, set.Kommuner[j].Nr, matrix)
			}
		}
	}
	if near < 357 {
		t.Errorf("only %d pairs were near enough to compare", near)
	}
}

// Every vertex that lies on an edge of another cell is a vertex of that cell too, so common borders have the same bits.
func TestNeighboursHaveTheSameVertices(t *testing.T) {
	t.Parallel()
	set := load(t)
	type edge [2]orb.Point
	edges := map[edge]string{}
	for _, k := range set.Kommuner {
		r := k.Ring()
		for n := range len(r) - 1 {
			e := edge{r[n], r[n+1]}
			if math.Hypot(e[0][0]-e[1][0], e[0][1]-e[1][1]) < 100 {
				t.Errorf("%s has an edge shorter than 100 m", k.Nr)
			}
			if other, ok := edges[e]; ok {
				t.Errorf("%s and %s have an edge in the same direction", other, k.Nr)
			}
			edges[e] = k.Nr
		}
	}
	shared := 0
	for e := range edges {
		if _, ok := edges[edge{e[1], e[0]}]; ok {
			shared++
		}
	}
	if shared < 1500 {
		t.Errorf("%d shared edges, too few to be a division", shared)
	}
	for _, k := range set.Kommuner {
		bound := k.Ring().Bound()
		for _, other := range set.Kommuner {
			if k.Nr == other.Nr || !bound.Intersects(other.Ring().Bound()) {
				continue
			}
			for _, p := range k.Ring() {
				if onEdge(other.Ring(), p) {
					t.Errorf("vertex %v of %s lies within an edge of %s", p, k.Nr, other.Nr)
				}
			}
		}
	}
}

// onEdge reports whether p lies on an edge of r between its ends.
func onEdge(r orb.Ring, p orb.Point) bool {
	for n := range len(r) - 1 {
		a, b := r[n], r[n+1]
		if a == p || b == p || !(orb.MultiPoint{a, b}).Bound().Contains(p) {
			continue
		}
		if int64(b[0]-a[0])*int64(p[1]-a[1]) == int64(b[1]-a[1])*int64(p[0]-a[0]) {
			return true
		}
	}
	return false
}

func TestFylkerAreTheUnionsOfTheirKommuner(t *testing.T) {
	t.Parallel()
	set := load(t)
	for _, f := range set.Fylker {
		t.Run(f.Nr, func(t *testing.T) {
			t.Parallel()
			var parts []geom.Geometry
			var sum int64
			for _, k := range set.Kommuner {
				if k.FylkeNr == f.Nr {
					parts = append(parts, simple(t, k.Nr, k.Geometry))
					sum += twiceAreaOf(k.Geometry)
				}
			}
			if got := twiceAreaOf(f.Geometry); got != sum {
				t.Errorf("twice the area is %d m², want %d", got, sum)
			}
			want, err := geom.UnionMany(parts)
			if err != nil {
				t.Fatal(err)
			}
			same, err := geom.Equals(simple(t, f.Nr, f.Geometry), want)
			if err != nil || !same {
				t.Errorf("not the union: %v %v", same, err)
			}
		})
	}
}

// Against brute force: a place belongs to the site of least power, if it lies in that site's disc.
func TestCellsAreThePowerDiagramCutByDiscs(t *testing.T) {
	t.Parallel()
	set := load(t)
	sites, _, err := demo.Sites()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	decided := 0
	for range 4000 {
		s := sites[rng.IntN(len(sites))]
		x := s.X + int64((rng.Float64()*2-1)*1.2*float64(s.Reach))
		y := s.Y + int64((rng.Float64()*2-1)*1.2*float64(s.Reach))
		want, sure := leastPower(sites, x, y)
		if !sure {
			continue
		}
		decided++
		got := -1
		if k, ok := set.Locate(float64(x), float64(y)); ok {
			got = slices.IndexFunc(set.Kommuner, func(o demo.Kommune) bool { return o.Nr == k.Nr })
		}
		if got != want {
			t.Fatalf("%d %d belongs to %d, want %d", x, y, got, want)
		}
	}
	if decided < 3500 {
		t.Errorf("only %d places were decided", decided)
	}
}

// leastPower returns the index of the site to which a place belongs, -1 for none. It is not sure within 100 m of a
// border, by which the vertices may be moved, and where the polygon differs from the circle.
func leastPower(sites []demo.Site, x, y int64) (index int, sure bool) {
	const moved = 100
	power := func(s demo.Site) int64 { return (x-s.X)*(x-s.X) + (y-s.Y)*(y-s.Y) - s.Weight }
	for i, s := range sites {
		if power(s) < power(sites[index]) {
			index = i
		}
	}
	best := sites[index]
	for i, s := range sites {
		apart := math.Hypot(float64(s.X-best.X), float64(s.Y-best.Y))
		if i != index && float64(power(s)-power(best)) < 2*moved*apart {
			return index, false
		}
	}
	d, reach := math.Hypot(float64(x-best.X), float64(y-best.Y)), float64(best.Reach)
	if d > reach+moved {
		return -1, true
	}
	return index, d < reach*math.Cos(math.Pi/48)-moved
}

func TestWeightsAreTheGreatestThatLeaveEveryPointItsRoom(t *testing.T) {
	t.Parallel()
	sites, _, err := demo.Sites()
	if err != nil {
		t.Fatal(err)
	}
	lowered := 0
	for j, b := range sites {
		if b.Weight > b.Area {
			t.Errorf("site %d is heavier than its area", j)
		}
		most := b.Area // that the others allow
		for i, a := range sites {
			if i == j {
				continue
			}
			square := (a.X-b.X)*(a.X-b.X) + (a.Y-b.Y)*(a.Y-b.Y)
			d := int64(math.Sqrt(float64(square)))
			most = min(most, a.Weight+square-2*d*min(a.Room, d/2))
		}
		if b.Weight != most {
			t.Errorf("site %d has the weight %d, want %d", j, b.Weight, most)
		}
		if most < b.Area {
			lowered++
		}
	}
	if lowered == 0 || lowered > len(sites)/2 {
		t.Errorf("%d of %d weights are lowered", lowered, len(sites))
	}
}

func TestWeightsDoNotDependOnTheOrderOfSites(t *testing.T) {
	t.Parallel()
	sites, _, err := demo.Sites()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	rng.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	for i, w := range demo.Settle(sites) {
		if w != sites[i].Weight {
			t.Fatalf("site %d: %d, want %d", i, w, sites[i].Weight)
		}
	}
}

func square(x, y int) orb.Ring {
	a, b := float64(x), float64(y)
	return orb.Ring{{a, b}, {a + 1, b}, {a + 1, b + 1}, {a, b + 1}, {a, b}}
}

func TestUnionKeepsPolygonsThatTouchApart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		plan  []string // # is a square
		rings []int    // number of rings of each polygon, in the order of their least vertices
	}{
		{"one square", []string{"#"}, []int{1}},
		{"two neighbours", []string{"##"}, []int{1}},
		{"two that touch at a corner", []string{"#.", ".#"}, []int{1, 1}},
		{"a hole", []string{"###", "#.#", "###"}, []int{2}},
		{"two holes that touch at a corner", []string{"####", "#.##", "##.#", "####"}, []int{3}},
		{"a hole that touches the outside", []string{".##", "#.#", "###"}, []int{2}},
		{"a hole between two that touch twice", []string{".##", "#.#", "##."}, []int{1, 1}},
		{"an island in a hole", []string{"#####", "#...#", "#.#.#", "#...#", "#####"}, []int{2, 1}},
		{
			"a hole in an island in a hole",
			[]string{"#######", "#.....#", "#.###.#", "#.#.#.#", "#.###.#", "#.....#", "#######"},
			[]int{2, 2},
		},
		{"an island that touches its hole", []string{"####", "#..#", "##.#", "####"}, []int{2}},
		{
			"an island that touches its hole twice",
			[]string{"#####", "#...#", "#..##", "#.#.#", "##..#", "#####"},
			[]int{2, 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var rings []orb.Ring
			for y, row := range tt.plan {
				for x, c := range row {
					if c == '#' {
						rings = append(rings, square(x, y))
					}
				}
			}
			got, err := demo.Union(rings)
			if err != nil {
				t.Fatal(err)
			}
			simple(t, "union", got)
			var counts []int
			for _, p := range got {
				counts = append(counts, len(p))
			}
			if !slices.Equal(counts, tt.rings) {
				t.Errorf("rings %v, want %v: %v", counts, tt.rings, got)
			}
		})
	}
}

// Three areas between the same two ends: at an end, each must go back along itself.
func TestUnionKeepsLensesApart(t *testing.T) {
	t.Parallel()
	var lenses []orb.Ring
	for y := 0.0; y < 6; y += 2 {
		lenses = append(lenses, orb.Ring{{0, 0}, {5, y}, {10, 0}, {5, y + 1}, {0, 0}})
	}
	got, err := demo.Union(lenses)
	if err != nil {
		t.Fatal(err)
	}
	want := orb.MultiPolygon{{lenses[0]}, {lenses[1]}, {lenses[2]}}
	if !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Against the other library, on boards of squares that touch in every way.
func TestUnionOfRandomSquares(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var rings []orb.Ring
		var parts []geom.Geometry
		for n := range 49 {
			if rng.IntN(5) > 1 {
				r := square(n%7, n/7)
				rings = append(rings, r)
				parts = append(parts, simple(t, "square", orb.Polygon{r}))
			}
		}
		got, err := demo.Union(rings)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want, err := geom.UnionMany(parts)
		if err != nil {
			t.Fatal(err)
		}
		same, err := geom.Equals(simple(t, fmt.Sprint("seed ", seed), got), want)
		if err != nil || !same {
			t.Fatalf("seed %d: not the union: %v %v", seed, same, err)
		}
	}
}

func TestUnionRefusesWhatIsNoDivision(t *testing.T) {
	t.Parallel()
	clockwise := square(0, 0)
	slices.Reverse(clockwise)
	tests := []struct {
		name  string
		rings []orb.Ring
	}{
		{"a ring that goes clockwise", []orb.Ring{clockwise}},
		{"the same area twice", []orb.Ring{square(0, 0), square(0, 0)}},
		{"areas on the same side of an edge", []orb.Ring{square(0, 0), {{0, 0}, {1, 0}, {3, 3}, {0, 0}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := demo.Union(tt.rings); err == nil {
				t.Errorf("got %v, want an error", got)
			}
		})
	}
}

func TestCellContainsItsInsideOnly(t *testing.T) {
	t.Parallel()
	// A roof with a notch: 0,0 - 4,0 - 4,3 - 2,1 - 0,3, metres.
	cell := demo.NewCell(orb.Ring{{0, 0}, {4, 0}, {4, 3}, {2, 1}, {0, 3}, {0, 0}})
	tests := []struct {
		name string
		x, y int64 // centimetres
		want bool
	}{
		{"inside", 200, 50, true},
		{"left horn", 50, 200, true},
		{"right horn", 350, 200, true},
		{"level with the notch", 100, 100, true},
		{"in the notch", 200, 200, false},
		{"one centimetre above the notch", 200, 101, false},
		{"one centimetre below the notch", 200, 99, true},
		{"the notch", 200, 100, false},
		{"on a slope", 300, 200, false},
		{"corner", 0, 0, false},
		{"on the floor", 200, 0, false},
		{"on a wall", 400, 100, false},
		{"tip", 400, 300, false},
		{"left of all", -1, 100, false},
		{"right of all", 401, 100, false},
		{"below", 200, -1, false},
		{"above", 200, 301, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := cell.Contains(tt.x, tt.y); got != tt.want {
				t.Errorf("Contains(%d, %d) = %v", tt.x, tt.y, got)
			}
		})
	}
}

func TestCellsFillAThirdOfTheirBounds(t *testing.T) {
	t.Parallel()
	for _, k := range load(t).Kommuner {
		c := k.Cell()
		b := k.Ring().Bound()
		if c.MinX != int64(100*b.Min[0]) || c.MinY != int64(100*b.Min[1]) || c.MaxX != int64(100*b.Max[0]) ||
			c.MaxY != int64(100*b.Max[1]) {
			t.Errorf("%s: bounds %+v of %v", k.Nr, c, b)
		}
		if fill := float64(twiceArea(k.Ring())) * 5000 / (float64(c.MaxX-c.MinX) * float64(c.MaxY-c.MinY)); fill < 1.0/
			3 {
			t.Errorf("%s fills %.2f of its bounds", k.Nr, fill)
		}
	}
}

// What is shown of the municipalities is the shore, divided; beside it the islands of those whose point it misses.
func TestMunicipalitiesAreTheLandDivided(t *testing.T) {
	t.Parallel()
	set := load(t)
	shore, err := demo.Shore()
	if err != nil {
		t.Fatal(err)
	}
	var land, shown int64
	for _, r := range shore {
		land += twiceArea(r)
	}
	islands := 0
	for _, k := range set.Kommuner {
		if !planar.MultiPolygonContains(k.Geometry, k.Point) {
			t.Errorf("%s does not hold its point", k.Nr)
		}
		for _, p := range k.Geometry {
			if p.Bound().Center() == k.Point && len(p[0]) == 49 { // a disc
				islands++
				if a := float64(twiceArea(p[0])) / 2e6; a > float64(k.AreaKm2) {
					t.Errorf("the island of %s has %.0f km² of %d", k.Nr, a, k.AreaKm2)
				}
				for _, r := range shore {
					if planar.RingContains(r, k.Point) {
						t.Errorf("%s has an island on land", k.Nr)
					}
				}
				continue
			}
			for _, r := range p {
				shown += twiceArea(r)
			}
		}
	}
	if off := float64(shown-land) / float64(land); math.Abs(off) > 1e-6 {
		t.Errorf("the municipalities cover %.9f of the land more than there is", off)
	}
	if islands < 10 || islands > 25 {
		t.Errorf("%d islands", islands)
	}
}

// Against brute force.
func TestLandBelongsToTheSiteOfLeastPower(t *testing.T) {
	t.Parallel()
	set := load(t)
	sites, _, err := demo.Sites()
	if err != nil {
		t.Fatal(err)
	}
	shore, err := demo.Shore()
	if err != nil {
		t.Fatal(err)
	}
	for i := range sites {
		sites[i].Reach = 1 << 30
	}
	rng := rand.New(rand.NewPCG(3, 4))
	b := shore[0].Bound()
	decided := 0
	for range 6000 {
		x, y := int64(b.Min[0]+rng.Float64()*(b.Max[0]-b.Min[0])), int64(b.Min[1]+rng.Float64()*(b.Max[1]-b.Min[1]))
		p := orb.Point{float64(x), float64(y)}
		if !planar.RingContains(shore[0], p) {
			continue
		}
		want, sure := leastPower(sites, x, y)
		if !sure {
			continue
		}
		decided++
		if !planar.MultiPolygonContains(set.Kommuner[want].Geometry, p) {
			t.Fatalf("%v does not belong to %s", p, set.Kommuner[want].Nr)
		}
	}
	if decided < 1000 {
		t.Errorf("only %d places were decided", decided)
	}
}
