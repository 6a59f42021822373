package cql2_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
)

// ragged makes a star around c with n corners, on a grid with step corners to the unit.
func ragged(r *rand.Rand, c orb.Point, size, step float64, n int) orb.Ring {
	ring := make(orb.Ring, 0, n+1)
	for i := range n {
		d := size * (0.5 + 0.5*r.Float64())
		s, k := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		ring = append(ring, orb.Point{math.Round((c[0]+d*k)*step) / step, math.Round((c[1]+d*s)*step) / step})
	}
	return append(ring, ring[0])
}

// randomArea is a polygon of many corners, with a hole now and then, or two.
func randomArea(r *rand.Rand) orb.Geometry {
	c := orb.Point{float64(r.IntN(17)) / 2, float64(r.IntN(17)) / 2}
	switch r.IntN(5) {
	case 0:
		w, h := float64(1+r.IntN(8))/2, float64(1+r.IntN(8))/2 // sides that lie on those of others
		return orb.Bound{Min: c, Max: orb.Point{c[0] + w, c[1] + h}}.ToPolygon()
	case 1:
		return orb.Polygon{ragged(r, c, 6, 16, 8+r.IntN(60)), ragged(r, c, 2, 16, 3+r.IntN(12))}
	case 2:
		return orb.MultiPolygon{{ragged(r, orb.Point{2, 2}, 2, 16, 5+r.IntN(40))},
			{ragged(r, orb.Point{7, 6}, 2.5, 16, 5+r.IntN(40)), ragged(r, orb.Point{7, 6}, 1, 16, 4)}}
	}
	return orb.Polygon{ragged(r, c, 1+5*r.Float64(), 16, 3+r.IntN(80))}
}

// near makes a geometry that shares corners and edges with g, or lies by it.
func near(r *rand.Rand, g orb.Geometry) orb.Geometry {
	var ring orb.Ring
	switch g := g.(type) {
	case orb.Polygon:
		ring = g[r.IntN(len(g))]
	case orb.MultiPolygon:
		ring = g[r.IntN(2)][0]
	}
	i := r.IntN(len(ring) - 1)
	a, b := ring[i], ring[i+1]
	middle := orb.Point{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
	tip := orb.Point{middle[0] + float64(r.IntN(9)-4)/16, middle[1] + float64(r.IntN(9)-4)/16}
	switch r.IntN(6) {
	case 0:
		return middle
	case 1:
		return orb.LineString{middle, tip}
	case 2:
		return orb.LineString{{2*a[0] - b[0], 2*a[1] - b[1]}, b}
	case 3:
		return orb.Polygon{{a, b, tip, a}}
	case 4:
		return orb.MultiPoint{tip, {middle[0] + 1, middle[1]}}
	}
	return randomArea(r)
}

// TestAreasAreTestedAsSimpleFeaturesDoes compares literals, which are made ready, with geometries of
// properties, which are not.
func TestAreasAreTestedAsSimpleFeaturesDoes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 9))
	n, hits, skipped := sharedtest.Rounds(t, 4000), 0, 0
	for range n {
		a := randomArea(r)
		var b orb.Geometry
		if b = near(r, a); r.IntN(3) == 0 {
			b = sharedtest.Geometry(r)
		}
		rec := record{wkb: map[string][]byte{"a": wkb.MustMarshal(a), "b": wkb.MustMarshal(b)}, in: crs.CRS84}
		first, err1 := geom.UnmarshalWKB(rec.wkb["a"])
		second, err2 := geom.UnmarshalWKB(rec.wkb["b"])
		if err1 != nil || err2 != nil { // a star that is not valid
			skipped++
			continue
		}
		want := geom.Intersects(first, second)
		if want {
			hits++
		}
		for _, e := range []cql2.Spatial{
			{Op: cql2.SIntersects, L: prop("b"), R: cql2.Geom{G: a, CRS: crs.CRS84}},
			{Op: cql2.SIntersects, L: cql2.Geom{G: b, CRS: crs.CRS84}, R: prop("a")},
			{Op: cql2.SDisjoint, L: cql2.Geom{G: a, CRS: crs.CRS84}, R: prop("b")},
		} {
			if got, err := cql2.Eval(e, rec); err != nil || (got == cql2.True) != (want == (e.Op == cql2.SIntersects)) {
				t.Fatalf("%s of %s and %s is %d, %v", e.Op, first.AsText(), second.AsText(), got, err)
			}
		}
	}
	if hits < n/5 || hits > n*9/10 || skipped > n/2 {
		t.Errorf("of %d pairs %d touch, %d are skipped: no test", n, hits, skipped)
	}
}

// TestBoundsPromiseNothingFalse: the result for an envelope is true of every geometry in it.
func TestBoundsPromiseNothingFalse(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 10))
	known := map[cql2.Truth]int{}
	n := sharedtest.Rounds(t, 4000)
	for range n {
		e := randomPlace(r, 2)
		b := cql2.NewBounds(e, "g", crs.CRS84, 0)
		if b == nil {
			continue
		}
		m := cql2.NewMatcher(e)
		for range 4 {
			g := sharedtest.Geometry(r)
			if r.IntN(2) == 0 {
				g = orb.Point{10 * r.Float64(), 10 * r.Float64()}
			}
			box, slack := g.Bound(), 0.0
			if r.IntN(2) == 0 {
				pad := r.Float64() * r.Float64()
				box, slack = box.Pad(pad), pad*1.0001
			}
			if r.IntN(3) == 0 {
				slack = math.Inf(1)
			}
			told := b.Test(box, slack)
			known[told]++
			if told == cql2.Null {
				continue
			}
			if got, err := m.Eval(record{wkb: map[string][]byte{"g": wkb.MustMarshal(g)}, in: crs.CRS84}); err != nil ||
				got != told {
				t.Fatalf("%s of %v in %v is %d, told %d with slack %v; %v", cql2.FormatText(e), g, box, got,
					told, slack, err)
			}
		}
	}
	if known[cql2.True] < n/10 || known[cql2.False] < n/10 || known[cql2.Null] < n/10 {
		t.Errorf("told %v: no test", known)
	}
}

// randomPlace is a predicate over the place of g.
func randomPlace(r *rand.Rand, depth int) cql2.Expr {
	if depth > 0 {
		switch r.IntN(5) {
		case 0:
			return cql2.And{randomPlace(r, depth-1), randomPlace(r, depth-1)}
		case 1:
			return cql2.Or{randomPlace(r, depth-1), randomPlace(r, depth-1)}
		case 2:
			return cql2.Not{X: randomPlace(r, depth-1)}
		}
	}
	if r.IntN(3) == 0 {
		x, y := 8*r.Float64(), 8*r.Float64()
		b := box(x, y, x+6*r.Float64(), y+6*r.Float64())
		b.Prop = "g"
		return b
	}
	ops := []cql2.SpatialOp{cql2.SIntersects, cql2.SIntersects, cql2.SDisjoint}
	literal := cql2.Geom{G: randomArea(r), CRS: crs.CRS84}
	if r.IntN(2) == 0 {
		return cql2.Spatial{Op: ops[r.IntN(3)], L: literal, R: prop("g")}
	}
	return cql2.Spatial{Op: ops[r.IntN(3)], L: prop("g"), R: literal}
}

// TestBoundsInAnotherCRS: a box in degrees is compared with envelopes in metres.
func TestBoundsInAnotherCRS(t *testing.T) {
	t.Parallel()
	b := cql2.BBox{Prop: "g", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{10, 59}, Max: orb.Point{11, 60}}}
	to, err := crs.Between(crs.CRS84, crs.UTM33)
	if err != nil {
		t.Fatal(err)
	}
	at := func(lon, lat float64) orb.Bound {
		x, y := to(lon, lat)
		return orb.Bound{Min: orb.Point{x - 1, y - 1}, Max: orb.Point{x + 1, y + 1}}
	}
	bounds := cql2.NewBounds(b, "g", crs.UTM33, 10)
	if got := bounds.Test(at(12, 62), 0); got != cql2.False {
		t.Errorf("far away: %d", got)
	}
	if got := bounds.Test(at(10, 59.5), 0); got != cql2.Null {
		t.Errorf("on the border: %d", got)
	}
	if cql2.NewBounds(b, "g", crs.UTM33, math.Inf(1)) != nil {
		t.Error("told without a known pad")
	}
}

// TestBoxThatCoversASideOfAnEnvelope holds a vertex, unless the envelope may be wider than what lies in it.
func TestBoxThatCoversASideOfAnEnvelope(t *testing.T) {
	t.Parallel()
	inf, of := math.Inf(1), func(w, s, e, n float64) orb.Bound {
		return orb.Bound{Min: orb.Point{w, s}, Max: orb.Point{e, n}}
	}
	bounds := cql2.NewBounds(cql2.BBox{Prop: "g", CRS: crs.CRS84, Box: of(10, 50, 11, 51)}, "g", crs.CRS84, 0)
	for _, x := range []struct {
		envelope orb.Bound
		slack    float64
		want     cql2.Truth
	}{
		{of(10.5, 50.2, 11.5, 50.8), 0.1, cql2.True}, {of(10.5, 50.2, 11.5, 50.8), inf, cql2.Null},
		{of(10.5, 50.2, 11.5, 50.8), 0.6, cql2.Null},
		{of(9, 50, 10, 51), 0, cql2.True}, {of(9, 50, 10, 51), 1e-9, cql2.Null}, {of(9, 49, 10.5, 50.5), 0, cql2.Null},
		{of(9, 50.2, 12, 50.8), 0, cql2.Null},
		{of(10.2, 49, 10.8, 50.5), 0.5, cql2.True}, {of(10.2, 50.5, 10.8, 52), 0.5, cql2.True},
		{of(9, 50.2, 10.5, 50.8), 0.5, cql2.True}, {of(12, 50.2, 13, 50.8), 0, cql2.False},
	} {
		if got := bounds.Test(x.envelope, x.slack); got != x.want {
			t.Errorf("%v with slack %v: %d, want %d", x.envelope, x.slack, got, x.want)
		}
	}
}

func BenchmarkIntersectsArea(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	literal := cql2.Geom{G: orb.Polygon{ragged(r, orb.Point{5, 5}, 4, 1e9, 200)}, CRS: crs.CRS84}
	m := cql2.NewMatcher(cql2.Spatial{Op: cql2.SIntersects, L: prop("g"), R: literal})
	for name, c := range map[string]orb.Point{"inside": {5, 5}, "border": {7.9, 5}, "apart": {0.5, 0.5}} {
		rec := record{wkb: map[string][]byte{"g": wkb.MustMarshal(orb.Polygon{ragged(r, c, 0.3, 1e9, 100)})},
			in: crs.CRS84}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Eval(rec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
