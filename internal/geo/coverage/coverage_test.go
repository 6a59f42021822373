package coverage_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/project"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
	"grense/internal/sharedtest"
)

// build makes n levels of features on a grid of the given unit.
func build(t testing.TB, unit float64, o coverage.Options, n int, features ...orb.Geometry) []*coverage.Level {
	t.Helper()
	b := coverage.NewBuilder(coverage.Grid{Unit: unit}, o)
	for _, f := range features {
		var raw []byte
		if f != nil {
			raw = wkb.Append(nil, f)
		}
		if err := b.Add(raw, nil); err != nil {
			t.Fatal(err)
		}
	}
	levels, err := b.Levels(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return levels
}

// feature reads a feature of a level, rings closed.
func feature(l *coverage.Level, f int) orb.MultiPolygon {
	var m orb.MultiPolygon
	for i := range l.Polygons(f) {
		var p orb.Polygon
		for k := 0; ; k++ {
			list, ok := l.AppendRing(nil, f, i, k)
			if !ok {
				break
			}
			var r orb.Ring
			for _, x := range append(list, list[0]) {
				r = append(r, orb.Point{float64(x.X), float64(x.Y)})
			}
			p = append(p, r)
		}
		m = append(m, p)
	}
	return m
}

type edge [2]orb.Point

// edges returns how often each edge runs, those that run both ways left out.
func edges(l *coverage.Level) (all, outline map[edge]int) {
	all, outline = map[edge]int{}, map[edge]int{}
	for f := range l.Features() {
		for _, p := range feature(l, f) {
			for _, r := range p {
				for i := 1; i < len(r); i++ {
					all[edge{r[i-1], r[i]}]++
				}
			}
		}
	}
	for e, n := range all {
		if n -= all[edge{e[1], e[0]}]; n != 0 {
			outline[e] = n
		}
	}
	return all, outline
}

func area(m orb.MultiPolygon) (sum float64) {
	for _, p := range m {
		for _, r := range p {
			sum += ringArea(r)
		}
	}
	return sum
}

// valid fails unless each polygon is valid by another library, wound as promised, and within its box.
func valid(t testing.TB, l *coverage.Level) {
	t.Helper()
	for f := range l.Features() {
		m := feature(l, f)
		for i, p := range m {
			low, high := l.Box(f, i)
			if b := p.Bound(); b.Min != (orb.Point{float64(low.X), float64(low.Y)}) ||
				b.Max != (orb.Point{float64(high.X), float64(high.Y)}) {
				t.Errorf("feature %d: box %v %v of %v", f, low, high, b)
			}
			if _, err := geom.UnmarshalWKB(wkb.Append(nil, p)); err != nil {
				t.Errorf("feature %d: %v", f, err)
			}
			for k, r := range p {
				if a := ringArea(r); a == 0 || (a > 0) != (k == 0) {
					t.Errorf("feature %d: ring %d has the area %v", f, k, a)
				}
			}
		}
	}
}

// covered fails unless features neither overlap nor gap: no two edges cross, no edge runs twice in one direction, and
// all that do not run both ways are the rings of the outline, which has the area of all features together.
func covered(t testing.TB, l *coverage.Level) (outline float64) {
	t.Helper()
	all, left := edges(l)
	list := make([]edge, 0, len(all))
	for e, n := range all {
		if n > 1 {
			t.Errorf("the edge %v runs %d times", e, n)
		}
		if _, both := all[edge{e[1], e[0]}]; !both || e[0][0] < e[1][0] || e[0][0] == e[1][0] && e[0][1] < e[1][1] {
			list = append(list, e)
		}
	}
	west := func(e edge) float64 { return min(e[0][0], e[1][0]) }
	slices.SortFunc(list, func(e, f edge) int { return cmp.Compare(west(e), west(f)) })
	for i, e := range list {
		for _, f := range list[i+1:] {
			if west(f) > max(e[0][0], e[1][0]) {
				break
			}
			if meet(e, f) {
				t.Errorf("%v meets %v", e, f)
			}
		}
	}
	sum := 0.0
	for f := range l.Features() {
		sum += area(feature(l, f))
	}
	for e := range left {
		outline += (e[0][0]*e[1][1] - e[1][0]*e[0][1]) / 2
	}
	if math.Abs(outline-sum) > 1e-6*math.Abs(sum) {
		t.Errorf("the outline has the area %v, all features %v", outline, sum)
	}
	return outline
}

// meet reports whether two edges have more than a common end in common.
func meet(e, f edge) bool {
	side := func(a, b, c orb.Point) float64 { return (b[0]-a[0])*(c[1]-a[1]) - (b[1]-a[1])*(c[0]-a[0]) }
	between := func(a, b, c orb.Point) bool {
		return side(a, b, c) == 0 && c != a && c != b && (c[0]-a[0])*(c[0]-b[0]) <= 0 && (c[1]-a[1])*(c[1]-b[1]) <= 0
	}
	if between(e[0], e[1], f[0]) || between(e[0], e[1], f[1]) || between(f[0], f[1], e[0]) ||
		between(f[0], f[1], e[1]) {
		return true
	}
	return side(e[0], e[1], f[0])*side(e[0], e[1], f[1]) < 0 && side(f[0], f[1], e[0])*side(f[0], f[1], e[1]) < 0
}

// patchwork is a coverage of n times n faces with ragged borders; a face in three has a hole with another feature in
// it, one in five is an island's neighbour of nothing.
func patchwork(seed uint64, n int, size float64) []orb.Geometry {
	r := rand.New(rand.NewPCG(seed, 1))
	node := make([][]orb.Point, n+1)
	for i := range node {
		node[i] = make([]orb.Point, n+1)
		for k := range node[i] {
			node[i][k] = orb.Point{(float64(i) + 0.5*r.Float64()) * size, (float64(k) + 0.5*r.Float64()) * size}
		}
	}
	ragged := func(a, b orb.Point) []orb.Point { // without b
		out := []orb.Point{a}
		for s := 1; s < 12; s++ {
			f := float64(s) / 12
			noise := 0.16 * size * f * (1 - f) // so little that no border crosses itself or another
			out = append(out,
				orb.Point{a[0] + f*(b[0]-a[0]) + noise*(r.Float64()-0.5),
					a[1] + f*(b[1]-a[1]) + noise*(r.Float64()-0.5)})
		}
		return out
	}
	reversed := func(line []orb.Point, a orb.Point) []orb.Point { // from the end, which line does not have
		out := []orb.Point{a}
		for i := len(line) - 1; i > 0; i-- {
			out = append(out, line[i])
		}
		return out
	}
	across, up := map[[2]int][]orb.Point{}, map[[2]int][]orb.Point{}
	for i := range n + 1 {
		for k := range n + 1 {
			if i < n {
				across[[2]int{i, k}] = ragged(node[i][k], node[i+1][k])
			}
			if k < n {
				up[[2]int{i, k}] = ragged(node[i][k], node[i][k+1])
			}
		}
	}
	var out []orb.Geometry
	for i := range n {
		for k := range n {
			var ring orb.Ring
			ring = append(ring, across[[2]int{i, k}]...)
			ring = append(ring, up[[2]int{i + 1, k}]...)
			ring = append(ring, reversed(across[[2]int{i, k + 1}], node[i+1][k+1])...)
			ring = append(ring, reversed(up[[2]int{i, k}], node[i][k+1])...)
			ring = append(ring, ring[0])
			p := orb.Polygon{ring}
			if (i+k)%3 == 0 {
				c, s := orb.Point{(float64(i) + 0.75) * size, (float64(k) + 0.75) * size}, 0.1*size*r.Float64()
				hole := orb.Ring{
					{c[0] - s, c[1] - s},
					{c[0] - s, c[1] + s},
					{c[0] + s, c[1] + s},
					{c[0] + s, c[1] - s},
					{c[0] - s, c[1] - s},
				}
				p = append(p, hole)
				out = append(out, orb.Polygon{hole})
			}
			out = append(out, p)
		}
	}
	return out
}

func TestCoverageStaysOneOnEachLevel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		features := patchwork(seed, 6, 100)
		before := 0.0
		for i, l := range build(t, 0.3, coverage.Options{}, 8, features...) {
			valid(t, l)
			a := covered(t, l) * l.Unit * l.Unit
			if i == 0 {
				before = a
			}
			if i < 4 && math.Abs(a-before) > 0.02*before {
				t.Errorf("seed %d: level %d has the area %v, the first %v", seed, i, a, before)
			}
			if t.Failed() {
				t.Fatalf("seed %d, level %d", seed, i)
			}
		}
	}
}

func square(x, y, w, h float64) orb.Ring {
	return orb.Ring{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}, {x, y}}
}

func TestFaceThatCollapsesLeavesNoGap(t *testing.T) {
	t.Parallel()
	// A strip of a width of 3 between two squares: from a unit of 8 on it is a line or less than four units.
	levels := build(t, 1, coverage.Options{}, 6, orb.Polygon{square(0, 0, 128, 130)},
		orb.Polygon{square(128, 0, 3, 130)}, orb.Polygon{square(131, 0, 129, 130)})
	for i, l := range levels {
		valid(t, l)
		covered(t, l)
		if want := 2; i >= 3 && (l.Polygons(0)+l.Polygons(2) != want || l.LeftOut != 1) {
			t.Errorf("level %d: %d and %d polygons, %d left out", i, l.Polygons(0), l.Polygons(2), l.LeftOut)
		}
		if _, outline := edges(l); len(outline) > 12 {
			t.Errorf("level %d: an outline of %d edges", i, len(outline))
		}
	}
}

// TestAreasKeepTheirSize: what is lost of an area at one place of its border is won at another, also from level to
// level.
func TestAreasKeepTheirSize(t *testing.T) {
	t.Parallel()
	features := patchwork(3, 10, 100)
	for i, l := range build(t, 0.3, coverage.Options{}, 5, features...) {
		off, all := 0.0, 0.0
		for f, g := range features {
			whole := math.Abs(area(orb.MultiPolygon{g.(orb.Polygon)}))
			off += math.Abs(area(feature(l, f))*l.Unit*l.Unit - whole)
			all += whole
		}
		if most := []float64{0.001, 0.002, 0.0025, 0.008, 0.03}[i]; off > most*all {
			t.Errorf("level %d of %d vertices: areas are off by %.5f of all", i, l.Vertices(), off/all)
		}
	}
}

// TestNothingMovesToOneSide: positions are as often moved to the left and down as to the right and up, on all levels
// together.
func TestNothingMovesToOneSide(t *testing.T) {
	t.Parallel()
	var features []orb.Geometry
	for i := range 400 {
		features = append(features, orb.Polygon{square(float64(i%20*1501), float64(i/20*1307), 1400, 1200)})
	}
	for i, l := range build(t, 1, coverage.Options{}, 8, features...) {
		var by orb.Point
		for f, g := range features {
			is, was := feature(l, f).Bound(), g.Bound()
			for k := range by {
				by[k] += (is.Min[k] + is.Max[k] - (was.Min[k]+was.Max[k])/l.Unit) / 2 / float64(len(features))
			}
		}
		if math.Hypot(by[0], by[1]) > 0.1 {
			t.Errorf("level %d: all is moved by %.3f cells", i, by)
		}
	}
}

func TestSmallFeatureGoesToItsLongestNeighbour(t *testing.T) {
	t.Parallel()
	small := square(60, 0, 3, 3)
	left := orb.Ring{{0, 0}, {60, 0}, {60, 3}, {63, 3}, {63, 100}, {0, 100}, {0, 0}} // two of its sides
	right := orb.Ring{{63, 0}, {120, 0}, {120, 100}, {63, 100}, {63, 3}, {63, 0}}
	l := build(t, 1, coverage.Options{Tolerance: 0.001}, 1, orb.Polygon{left}, orb.Polygon{small},
		orb.Polygon{right})[0]
	covered(t, l)
	if l.LeftOut != 1 || area(feature(l, 0)) != 6300 || area(feature(l, 2)) != 5700 {
		t.Errorf("%d left out; areas %v and %v", l.LeftOut, area(feature(l, 0)), area(feature(l, 2)))
	}
}

func TestFeatureKeepsItsLargestRing(t *testing.T) {
	t.Parallel()
	m := orb.MultiPolygon{{square(0, 0, 5, 5)}, {square(20, 0, 6, 6)}, {square(40, 0, 1, 1)}}
	l := build(t, 1, coverage.Options{Island: 64}, 1, m)[0]
	if got := feature(l, 0); len(got) != 1 || area(got) != 36 || l.LeftOut != 0 {
		t.Errorf("%v, %d left out", got, l.LeftOut)
	}
	if l := build(t, 1, coverage.Options{}, 1, orb.Polygon{square(0, 0, 3, 3)}, nil,
		orb.LineString{{0, 0}, {9, 9}})[0]; l.LeftOut != 1 ||
		l.Features() != 3 ||
		l.Polygons(0)+l.Polygons(1)+l.Polygons(2) != 0 {
		t.Errorf("%d left out of %d", l.LeftOut, l.Features())
	}
}

func TestPolygonsThatTouchInPointsAreValid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		g        orb.Geometry
		polygons int
		rings    int
	}{
		"corners that touch": {orb.MultiPolygon{{square(0, 0, 50, 50)}, {square(50, 50, 50, 50)}}, 2, 2},
		"hole at a corner": {orb.Polygon{square(0, 0, 100, 100), {{0, 0}, {50, 20}, {20, 50}, {0, 0}}}, 1,
			2},
		"two holes that touch": {orb.Polygon{square(0, 0, 100, 100), square(20, 20, 20, 20), square(40, 40, 20, 20)}, 1,
			3},
		"an island in a hole": {orb.MultiPolygon{{square(0, 0, 100, 100), square(20, 20, 60, 60)},
			{square(40, 40, 20, 20)}}, 2, 3},
		"clockwise": {orb.Polygon{{{0, 0}, {0, 50}, {50, 50}, {50, 0}, {0, 0}},
			square(10, 10, 20, 20)}, 1, 2},
		"a hole from side to side": {orb.Polygon{square(0, 0, 100, 100),
			{{0, 50}, {50, 70}, {100, 50}, {50, 30}, {0, 50}}}, 2, 2},
		"parts with a common side":   {orb.MultiPolygon{{square(0, 0, 50, 50)}, {square(50, 0, 50, 50)}}, 1, 1},
		"a ring that crosses itself": {orb.Polygon{{{0, 0}, {100, 100}, {100, 0}, {0, 100}, {0, 0}}}, 2, 2},
		// even-odd
		"parts that overlap somewhat": {orb.MultiPolygon{{square(0, 0, 60, 50)}, {square(50, 20, 60, 50)}}, 2, 2},
	} {
		l := build(t, 1, coverage.Options{}, 1, c.g)[0]
		got := feature(l, 0)
		rings := 0
		for _, p := range got {
			rings += len(p)
		}
		if len(got) != c.polygons || rings != c.rings {
			t.Errorf("%s: %v", name, got)
		}
		valid(t, l)
	}
}

// TestFeaturesThatOverlapKeepTheirShape: what is no coverage is right for each feature.
func TestFeaturesThatOverlapKeepTheirShape(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	for range 30 {
		var list []orb.Geometry
		for range 8 {
			c := orb.Point{r.Float64() * 500, r.Float64() * 500}
			var ring orb.Ring
			for i := range 40 {
				s, co := math.Sincos(2 * math.Pi * float64(i) / 40)
				d := 40 + 100*r.Float64()
				ring = append(ring, orb.Point{c[0] + d*co, c[1] + d*s})
			}
			list = append(list, orb.Polygon{append(ring, ring[0])})
		}
		for i, l := range build(t, 0.25, coverage.Options{Tolerance: 8}, 4, list...) {
			valid(t, l)
			for f, g := range list {
				want := ringArea(g.(orb.Polygon)[0])
				if got := area(feature(l, f)) * l.Unit * l.Unit; math.Abs(got-want) > 0.03*want {
					t.Errorf("level %d: area %v, want %v", i, got, want)
				}
			}
		}
	}
}

func TestBordersThatDoNotMatch(t *testing.T) {
	t.Parallel()
	a := orb.Polygon{{{0, 0}, {100, 0}, {100, 33}, {100.4, 50}, {100, 100}, {0, 100}, {0, 0}}}
	b := orb.Polygon{{{100, 0}, {200, 0}, {200, 100}, {100, 100}, {99.2, 61}, {100, 0}}}
	for _, l := range build(t, 0.1, coverage.Options{}, 6, a, b) {
		valid(t, l)
		for f := range 2 {
			if got := area(feature(l, f)) * l.Unit * l.Unit; math.Abs(got-10000) > 100+48*l.Unit*l.Unit {
				t.Errorf("unit %v: area %v", l.Unit, got)
			}
		}
	}
}

func TestPositionsOutsideOfTheGrid(t *testing.T) {
	t.Parallel()
	b := coverage.NewBuilder(coverage.Grid{Unit: 1}, coverage.Options{})
	for _, x := range [...]float64{1e9, -1e9, math.NaN(), math.Inf(1)} {
		if err := b.Add(wkb.Append(nil, orb.Polygon{square(x, 0, 10, 10)}), nil); err != coverage.ErrOutside {
			t.Errorf("%v: %v", x, err)
		}
	}
	if err := b.Add([]byte{1, 2}, nil); err == nil {
		t.Error("bytes that are no geometry")
	}
	levels, err := b.Levels(t.Context(), 2)
	if err != nil || levels[1].Features() != 0 || levels[1].Vertices() != 0 {
		t.Errorf("%v, %v", levels, err)
	}
}

// collection reads the polygons of a packed GeoJSON file of the shared data in Web Mercator.
func collection(t testing.TB, name string) []orb.Geometry {
	t.Helper()
	var out []orb.Geometry
	for _, f := range sharedtest.Features(t, "data", name) {
		out = append(out, project.MultiPolygon(f.Area, project.WGS84.ToMercator))
	}
	return out
}

// unit14 is that of 4096 cells to a tile of level 14 of WebMercatorQuad, in metres.
const unit14 = 40075016.685578488 / (4096 << 14)

func TestLevelsOfNorway(t *testing.T) {
	t.Parallel()
	features := collection(t, "norway/robhop-2024/Kommuner-M.geojson.gz")
	for i, l := range build(t, unit14, coverage.Options{}, 12, features...) {
		if i%4 == 3 {
			valid(t, l)
		}
		covered(t, l)
		t.Logf("unit %.1f m: %d arcs, %d vertices, %d left out", l.Unit, l.Arcs(), l.Vertices(), l.LeftOut)
	}
}

// TestRingsThatCrossThemselvesKeepTheirArea: a small loop the wrong way at a corner does not cost the rest of the
// ring, whichever way the loop lies.
func TestRingsThatCrossThemselvesKeepTheirArea(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]orb.Ring{
		"outside": {{0, 0}, {1000, 0}, {1000, 1000}, {-20, 1000}, {-20, 1020}, {0, 1020}, {0, 0}},
		"inside":  {{0, 0}, {1000, 0}, {1000, 1000}, {20, 1000}, {20, 980}, {0, 980}, {30, 990}, {0, 1000}, {0, 0}},
		"across":  {{0, 0}, {500, 0}, {520, -20}, {520, 0}, {500, -20}, {1000, 0}, {1000, 1000}, {0, 1000}, {0, 0}},
	} {
		for i, l := range build(t, 1, coverage.Options{}, 3, orb.Polygon{r}, orb.Polygon{square(1000, 0, 1000, 1000)}) {
			valid(t, l)
			if a := area(feature(l, 0)) * l.Unit * l.Unit; a < 0.95e6 || a > 1.05e6 {
				t.Errorf("%s, level %d: %v of a million", name, i, a)
			}
		}
	}
}

func BenchmarkLevels(b *testing.B) {
	for _, name := range []string{"norway/robhop-2024/Kommuner-M.geojson.gz",
		"france/france-communes-2018.geojsonl.gz"} {
		b.Run(filepath.Base(name), func(b *testing.B) {
			features := collection(b, name)
			for b.Loop() {
				l := build(b, unit14, coverage.Options{}, 12, features...)
				b.ReportMetric(float64(l[0].Vertices()), "vertices")
			}
		})
	}
}

// ringArea returns the signed area of a ring.
func ringArea(r orb.Ring) float64 {
	var a wkb.Area
	for _, p := range r {
		a.Add(p[0], p[1])
	}
	return a.Signed()
}
