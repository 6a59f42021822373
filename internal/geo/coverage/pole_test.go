package coverage_test

import (
	"math"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"grense/internal/geo/coverage"
)

func TestThePoleIsInTheLargestPartFarFromItsBorder(t *testing.T) {
	t.Parallel()
	u := orb.Ring{{0, 0}, {1000, 0}, {1000, 1000}, {700, 1000}, {700, 200}, {100, 200}, {100, 1000}, {0, 1000}, {0, 0}}
	hole := orb.Polygon{square(0, 0, 1000, 1000), orb.Ring{{300, 300}, {300, 900}, {900, 900}, {900, 300}, {300, 300}}}
	for name, x := range map[string]struct {
		of   orb.Geometry
		want orb.Point
		room float64
	}{
		"square": {orb.Polygon{square(0, 0, 1000, 1000)}, orb.Point{500, 500}, 500},
		"parts": {orb.MultiPolygon{{square(2000, 0, 300, 300)}, {square(0, 0, 800, 400)}, {square(3000, 0, 200, 200)}},
			orb.Point{400, 200}, 200},
		"u":    {orb.Polygon{u}, orb.Point{832, 168}, 168},
		"hole": {hole, orb.Point{176, 176}, 176},
		"thin": {orb.Polygon{square(0, 0, 10_000, 10)}, orb.Point{5000, 5}, 5},
	} {
		l := build(t, 1, coverage.Whole, 1, x.of)[0]
		at, room, area, ok := l.Pole(0)
		p := orb.Point{float64(at.X), float64(at.Y)}
		near := 0.02 * (x.of.Bound().Max[0] - x.of.Bound().Min[0])
		if !ok || math.Abs(room-x.room) > near || area <= 0 {
			t.Errorf("%s: %v, %.0f from the border, want %.0f", name, at, room, x.room)
		}
		if (name == "square" || name == "hole" || name == "u") && planar.Distance(p, x.want) > 5*near {
			t.Errorf("%s: at %v, want %v", name, p, x.want)
		}
		inside := false
		for _, poly := range feature(l, 0) {
			inside = inside || planar.PolygonContains(poly, p)
		}
		if !inside {
			t.Errorf("%s: %v is outside", name, p)
		}
	}
	if _, _, _, ok := build(t, 1, coverage.Whole, 1, nil)[0].Pole(0); ok {
		t.Error("nothing has a pole")
	}
}

func TestNeighboursHaveDifferentColors(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		l := build(t, 1, coverage.Options{}, 1, append(patchwork(seed, 20, 100), nil)...)[0]
		colors := l.Colors()
		alike, used := 0, [4]int{}
		for f, c := range colors {
			if l.Polygons(f) == 0 {
				if c != coverage.NoColor {
					t.Errorf("nothing has the colour %d", c)
				}
				continue
			}
			used[c]++
			for _, b := range l.Borders(f) {
				if colors[b.Feature] == c {
					alike++
				}
			}
		}
		if alike > 0 || slices.Min(used[:]) == 0 {
			t.Errorf("patchwork %d: %d borders between areas of one colour; %v areas have each", seed, alike/2, used)
		}
		if !slices.Equal(colors, l.Colors()) {
			t.Error("colours differ the second time")
		}
	}
}

func TestWhatFourColorsCannotTellApartHasFourColorsAllTheSame(t *testing.T) {
	t.Parallel()
	// five areas of two parts each, so that each lies beside each other
	const n = 5
	list := make([]orb.MultiPolygon, n)
	x := 0.0
	for i := range n {
		for k := i + 1; k < n; k++ {
			list[i] = append(list[i], orb.Polygon{square(x, 0, 100, 100)})
			list[k] = append(list[k], orb.Polygon{square(x+100, 0, 100, 100)})
			x += 300
		}
	}
	var all []orb.Geometry
	for _, m := range list {
		all = append(all, m)
	}
	for _, c := range build(t, 1, coverage.Whole, 1, all...)[0].Colors() {
		if c > 3 {
			t.Errorf("a colour is %d", c)
		}
	}
}
