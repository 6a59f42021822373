package coverage_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
)

// merged joins polygons along the edges that they share.
func merged(list []orb.Geometry) orb.MultiPolygon {
	next := map[orb.Point][]orb.Point{}
	for _, g := range list {
		for _, r := range g.(orb.Polygon) {
			if (ringArea(r) > 0) != (&r[0] == &g.(orb.Polygon)[0][0]) {
				r = slices.Clone(r)
				slices.Reverse(r)
			}
			for i := 1; i < len(r); i++ {
				if k := slices.Index(next[r[i]], r[i-1]); k >= 0 {
					next[r[i]] = slices.Delete(next[r[i]], k, k+1)
				} else {
					next[r[i-1]] = append(next[r[i-1]], r[i])
				}
			}
		}
	}
	var rings []orb.Ring
	for start := range next {
		for len(next[start]) > 0 {
			r := orb.Ring{start}
			for at := start; ; {
				to := next[at][0]
				next[at] = next[at][1:]
				r = append(r, to)
				if at = to; at == start {
					break
				}
			}
			rings = append(rings, r)
		}
	}
	var out orb.MultiPolygon
	for _, r := range rings {
		if ringArea(r) > 0 {
			out = append(out, orb.Polygon{r})
		}
	}
	for _, r := range rings { // all are in the first polygon here
		if ringArea(r) < 0 {
			out[0] = append(out[0], r)
		}
	}
	return out
}

// layered makes levels of two layers, which are distinguished.
func layered(t *testing.T, unit float64, n int, layers ...[]orb.Geometry) (out [][]*coverage.Level) {
	t.Helper()
	b := coverage.NewBuilder(coverage.Grid{Unit: unit}, coverage.Options{})
	bounds := []int{0}
	for i, features := range layers {
		if i > 0 {
			b.NextLayer()
		}
		for _, f := range features {
			if err := b.Add(wkb.Append(nil, f), nil); err != nil {
				t.Fatal(err)
			}
		}
		bounds = append(bounds, b.Features())
	}
	err := b.Each(t.Context(), func(i int, l *coverage.Level) (bool, error) {
		var level []*coverage.Level
		for k := range layers {
			level = append(level, l.Layer(bounds[k], bounds[k+1]))
		}
		out = append(out, level)
		return i+1 < n, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBordersOfLayersThatCoincideDoSoOnEveryLevel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		small := patchwork(seed, 8, 100)
		column := func(g orb.Geometry) int { return int(g.(orb.Polygon).Bound().Center()[0] / 300) }
		by := map[int][]orb.Geometry{}
		for _, g := range small {
			by[column(g)] = append(by[column(g)], g)
		}
		var large []orb.Geometry
		for _, k := range slices.Sorted(maps.Keys(by)) {
			large = append(large, merged(by[k]))
		}
		for z, level := range layered(t, 0.3, 10, small, large) {
			for _, l := range level {
				valid(t, l)
				covered(t, l)
			}
			fine, _ := edges(level[0])
			coarse, _ := edges(level[1])
			if len(coarse) == 0 && z < 6 {
				t.Errorf("level %d has no large areas", z)
			}
			for e := range coarse {
				if fine[e] == 0 && fine[edge{e[1], e[0]}] == 0 {
					t.Errorf("seed %d, level %d: %v is a border of large areas and not of small ones", seed, z, e)
				}
			}
		}
	}
}

func TestCoarseLevelsAreCoverages(t *testing.T) {
	t.Parallel()
	b := coverage.NewBuilder(coverage.Grid{Unit: 0.3}, coverage.Options{Skip: 12})
	for _, f := range patchwork(4, 12, 100) {
		if err := b.Add(wkb.Append(nil, f), nil); err != nil {
			t.Fatal(err)
		}
	}
	all := b.Edges()
	c := b.Coarse(5)
	if c.Skipped() != 5 || c.Edges() > all || b.Length() < int64(all) {
		t.Fatalf("%d of %d edges are left, %d levels are left out", c.Edges(), all, c.Skipped())
	}
	levels, err := c.Levels(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range levels {
		valid(t, l)
		covered(t, l)
		valid(t, l.Finer(3))
	}
	full, err := b.Levels(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, full[0])
	if full[0].Unit != 0.3 {
		t.Errorf("the finest level has cells of %v", full[0].Unit)
	}
}
