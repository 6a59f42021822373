package coverage_test

import (
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
)

// TestBordersAreTheEdgesThatTwoFeaturesHave: the arcs of the border of two features are the edges that run one way in
// the one and the other way in the other.
func TestBordersAreTheEdgesThatTwoFeaturesHave(t *testing.T) {
	t.Parallel()
	for _, o := range []coverage.Options{coverage.Whole, {}} {
		for _, l := range build(t, 0.3, o, 3, append(patchwork(5, 6, 100), nil)...) {
			own := make([]map[edge]bool, l.Features())
			for f := range own {
				own[f] = map[edge]bool{}
				for _, p := range feature(l, f) {
					for _, r := range p {
						for i := 1; i < len(r); i++ {
							own[f][edge{r[i-1], r[i]}] = true
						}
					}
				}
			}
			for f := range own {
				borders := map[int]int{}
				for _, b := range l.Borders(f) {
					for _, a := range b.Arcs {
						line := l.Arc(nil, int(a))
						for i := 1; i < len(line); i++ {
							e := edge{position(line[i-1]), position(line[i])}
							back := edge{e[1], e[0]}
							if !(own[f][e] && own[b.Feature][back] || own[f][back] && own[b.Feature][e]) {
								t.Fatalf("features %d and %d do not share %v", f, b.Feature, e)
							}
						}
						borders[b.Feature] += len(line) - 1
					}
				}
				for g := range own {
					n := 0
					for e := range own[f] {
						if own[g][edge{e[1], e[0]}] {
							n++
						}
					}
					if borders[g] != n {
						t.Errorf("features %d and %d share %d edges, their border has %d", f, g, n, borders[g])
					}
				}
			}
		}
	}
}

// TestRingsAreTheirArcs: arcs in the order and the direction that RingArcs returns are the ring.
func TestRingsAreTheirArcs(t *testing.T) {
	t.Parallel()
	l := build(t, 0.3, coverage.Whole, 1, patchwork(5, 6, 100)...)[0]
	for f := range l.Features() {
		for i := range l.Polygons(f) {
			for k := range l.Rings(f, i) {
				want, _ := l.AppendRing(nil, f, i, k)
				refs, _ := l.RingArcs(f, i, k)
				var got []coverage.Point
				for _, r := range refs {
					line := l.Arc(nil, int(max(r, ^r)))
					if r < 0 {
						slices.Reverse(line)
					}
					if len(got) > 0 && got[len(got)-1] != line[0] {
						t.Fatalf("feature %d: an arc begins at %v, the one before ends at %v", f, line[0],
							got[len(got)-1])
					}
					got = append(got, line[min(len(got), 1):]...)
				}
				if got[0] != got[len(got)-1] || !slices.Equal(got[:len(got)-1], want) {
					t.Errorf("feature %d: %v, want %v", f, got, want)
				}
			}
			if _, ok := l.RingArcs(f, i, l.Rings(f, i)); ok {
				t.Errorf("feature %d has a ring too many", f)
			}
		}
	}
}

// TestWholeLeavesNothingOut: what lies on the grid comes out as it went in.
func TestWholeLeavesNothingOut(t *testing.T) {
	t.Parallel()
	speck := orb.Polygon{{{0, 0}, {1, 0}, {0, 1}, {0, 0}}}
	flat := orb.Polygon{{{10, 0}, {20, 0}, {30, 1}, {30, 10}, {20, 10}, {10, 10}, {10, 0}}}
	l := build(t, 1, coverage.Whole, 1, speck, flat)[0]
	for f, want := range []orb.Polygon{speck, flat} {
		got := feature(l, f)
		if len(got) != 1 || len(got[0]) != 1 || len(got[0][0]) != len(want[0]) ||
			area(got) != area(orb.MultiPolygon{want}) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func position(p coverage.Point) orb.Point { return orb.Point{float64(p.X), float64(p.Y)} }
