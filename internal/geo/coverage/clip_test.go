package coverage_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
)

// clipped reads a feature within a box, rings closed.
func clipped(c *coverage.Clipper, l *coverage.Level, f int, low, high coverage.Point) (m orb.MultiPolygon) {
	c.Feature(l, f, low, high, func(rings [][]coverage.Point) {
		var p orb.Polygon
		for _, r := range rings {
			var ring orb.Ring
			for _, x := range r {
				ring = append(ring, orb.Point{float64(x.X), float64(x.Y)})
			}
			p = append(p, append(ring, ring[0]))
		}
		m = append(m, p)
	})
	return m
}

// TestClippedPolygonsAreValidAndCoverTheSame compares with the intersection of another library: each polygon is
// valid, wound as promised and within the box, and has the same area but for the places where edges are cut.
func TestClippedPolygonsAreValidAndCoverTheSame(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 15))
	var c coverage.Clipper
	cuts := 0
	for seed := range uint64(4) {
		l := build(t, 0.5, coverage.Options{Tolerance: 2}, 2, patchwork(seed, 4, 100)...)[seed%2]
		for range 25 {
			low := coverage.Point{X: int32(r.IntN(700)), Y: int32(r.IntN(700))}
			high := coverage.Point{X: low.X + 1 + int32(r.IntN(300)), Y: low.Y + 1 + int32(r.IntN(300))}
			box := orb.Bound{Min: orb.Point{float64(low.X), float64(low.Y)},
				Max: orb.Point{float64(high.X), float64(high.Y)}}
			for f := range l.Features() {
				got := clipped(&c, l, f, low, high)
				if want, limit := intersection(t, feature(l, f), box); math.Abs(area(got)-want) > limit {
					t.Fatalf("seed %d, feature %d in %v: area %v, want %v", seed, f, box, area(got), want)
				}
				if len(got) > 0 {
					cuts++
				}
				sound(t, got, box)
			}
		}
	}
	if cuts < 200 {
		t.Errorf("%d features were in a box", cuts)
	}
}

// intersection returns the area of m within a box, and how much rounding may change it: half the length of edges that
// reach its sides.
func intersection(t *testing.T, m orb.MultiPolygon, box orb.Bound) (size, limit float64) {
	t.Helper()
	a, err := geom.UnmarshalWKB(wkb.Append(nil, m), geom.NoValidate{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := geom.UnmarshalWKB(wkb.Append(nil, box))
	if err != nil {
		t.Fatal(err)
	}
	g, err := geom.Intersection(a, b)
	if err != nil {
		t.Fatal(err)
	}
	limit = 0.5
	for _, p := range m {
		for _, r := range p {
			for i := 1; i < len(r); i++ {
				if box.Contains(r[i]) != box.Contains(r[i-1]) || !box.Contains(r[i]) {
					limit += math.Hypot(r[i][0]-r[i-1][0], r[i][1]-r[i-1][1]) / 2
				}
			}
		}
	}
	return g.Area(), limit
}

func sound(t *testing.T, m orb.MultiPolygon, box orb.Bound) {
	t.Helper()
	for _, p := range m {
		if _, err := geom.UnmarshalWKB(wkb.Append(nil, p)); err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		for k, r := range p {
			if a := ringArea(r); a == 0 || (a > 0) != (k == 0) || !box.Contains(r.Bound().Min) ||
				!box.Contains(r.Bound().Max) {
				t.Fatalf("ring %d of %v", k, p)
			}
		}
	}
}

// TestClippedNeighboursStillMatch: edges that are not on the sides of the box run both ways, but for the outline of
// all.
func TestClippedNeighboursStillMatch(t *testing.T) {
	t.Parallel()
	var c coverage.Clipper
	l := build(t, 0.5, coverage.Options{}, 1, patchwork(3, 5, 100)...)[0]
	low, high := coverage.Point{X: 300, Y: 300}, coverage.Point{X: 700, Y: 650} // within the outline
	sum, all := 0.0, map[edge]bool{}
	for f := range l.Features() {
		m := clipped(&c, l, f, low, high)
		sum += area(m)
		for _, p := range m {
			for _, r := range p {
				for i := 1; i < len(r); i++ {
					all[edge{r[i-1], r[i]}] = true
				}
			}
		}
	}
	for e := range all {
		inside := func(p orb.Point) bool {
			return p[0] > float64(low.X) && p[0] < float64(high.X) && p[1] > float64(low.Y) && p[1] < float64(high.Y)
		}
		if (inside(e[0]) || inside(e[1])) && !all[edge{e[1], e[0]}] {
			t.Errorf("%v has no neighbour", e)
		}
	}
	if want := float64(high.X-low.X) * float64(high.Y-low.Y); math.Abs(sum-want) > 1e-6*want {
		t.Errorf("the box is covered by %v of %v", sum, want)
	}
}

func TestClipWithSeveralPartsAndHoles(t *testing.T) {
	t.Parallel()
	var c coverage.Clipper
	comb := orb.Polygon{{{0, 0}, {100, 0}, {100, 90}, {80, 90}, {80, 20}, {60, 20}, {60, 90}, {40, 90}, {40, 20},
		{20, 20}, {20, 90}, {0, 90}, {0, 0}}}
	frame := orb.Polygon{square(0, 0, 100, 100), {{30, 30}, {30, 70}, {70, 70}, {70, 30}, {30, 30}}}
	l := build(t, 1, coverage.Options{Tolerance: 0.001}, 1, comb)[0]
	if m := clipped(&c, l, 0, coverage.Point{X: -10, Y: 50}, coverage.Point{X: 110, Y: 110}); len(m) != 3 ||
		area(m) != 3*20*40 {
		t.Errorf("teeth: %v", m)
	}
	l = build(t, 1, coverage.Options{Tolerance: 0.001}, 1, frame)[0]
	if m := clipped(&c, l, 0, coverage.Point{X: 40, Y: 40}, coverage.Point{X: 60, Y: 60}); len(m) != 0 {
		t.Errorf("within the hole: %v", m)
	}
	if m := clipped(&c, l, 0, coverage.Point{X: 10, Y: 10}, coverage.Point{X: 20, Y: 20}); len(m) != 1 ||
		area(m) != 100 {
		t.Errorf("within the frame: %v", m)
	}
	if m := clipped(&c, l, 0, coverage.Point{X: 50, Y: -10}, coverage.Point{X: 110, Y: 110}); len(m) != 1 ||
		len(m[0]) != 1 ||
		area(m) != 5000-20*40 {
		t.Errorf("half the frame: %v", m)
	}
	if m := clipped(&c, l, 0, coverage.Point{X: -5, Y: 40}, coverage.Point{X: 105, Y: 60}); len(m) != 2 ||
		area(m) != 2*30*20 {
		t.Errorf("a band across the frame: %v", m)
	}
}

// TestClipOfAnAreaThatLeavesTheBoxThreeTimesOverItself: along a side of the box the outline runs forth once and back
// twice, on whichever side that is, and however many corners there are elsewhere.
func TestClipOfAnAreaThatLeavesTheBoxThreeTimesOverItself(t *testing.T) {
	t.Parallel()
	var c coverage.Clipper
	for teeth := range 25 {
		ring := orb.Ring{
			{10, 20},
			{30, 20},
			{30, 150},
			{60, 150},
			{60, 100},
			{62, 80},
			{50, 100},
			{50, 120},
			{40, 120},
			{40, 50},
		}
		for i := range teeth {
			ring = append(ring, orb.Point{float64(41 + 2*i), 49}, orb.Point{float64(42 + 2*i), 50})
		}
		ring = append(ring, orb.Point{90, 50}, orb.Point{90, 160}, orb.Point{10, 160})
		ring = append(ring, ring[0])
		for turns := range 4 {
			l := build(t, 1, coverage.Options{Tolerance: 0.001}, 1, orb.Polygon{ring})[0]
			m := clipped(&c, l, 0, coverage.Point{}, coverage.Point{X: 100, Y: 100})
			if len(m) != 2 || area(m) != float64(1600+2400+teeth) {
				t.Errorf("%d teeth, turned %d times: %v, want 4000", teeth, turns, area(m)-float64(teeth))
			}
			for i, p := range ring {
				ring[i] = orb.Point{100 - p[1], p[0]} // about the middle of the box
			}
		}
	}
}

func BenchmarkClip(b *testing.B) {
	name := "norway/robhop-2024/Kommuner-M.geojson.gz"
	l := build(b, unit14, coverage.Options{}, 9, collection(b, name)...)[8] // of level 6 of WebMercatorQuad
	var c coverage.Clipper
	b.Run(filepath.Base(name), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			low := coverage.Point{X: 4096 - 64, Y: 13*4096 - 64} // matrix 6, row 18, column 33: the south of Norway
			for f := range l.Features() {
				c.Feature(l, f, low, coverage.Point{X: low.X + 4096 + 128, Y: low.Y + 4096 + 128},
					func(rings [][]coverage.Point) {
						for _, r := range rings {
							n += len(r)
						}
					})
			}
			b.ReportMetric(float64(n), "vertices")
		}
	})
}
