package relate_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
	"grense/internal/sharedtest"
)

func box(west, south, east, north float64) relate.Box {
	return relate.Box{CRS: crs.CRS84, Bound: orb.Bound{Min: orb.Point{west, south}, Max: orb.Point{east, north}}}
}

func touches(t testing.TB, g []byte, in crs.ID, b relate.Box) bool {
	t.Helper()
	hit, err := b.Touches(g, in)
	if err != nil {
		t.Fatal(err)
	}
	return hit
}

// floats appends numbers to the head of a geometry.
func floats(order binary.AppendByteOrder, b []byte, v ...float64) []byte {
	for _, f := range v {
		b = order.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

func TestBoxTouches(t *testing.T) {
	t.Parallel()
	ring := func(a, b, c, d float64) orb.Ring { return orb.Ring{{a, b}, {c, b}, {c, d}, {a, d}, {a, b}} }
	for name, c := range map[string]struct {
		g    orb.Geometry
		b    relate.Box
		want bool
	}{
		"point inside":                {orb.Point{1, 1}, box(0, 0, 2, 2), true},
		"point on the corner":         {orb.Point{2, 2}, box(0, 0, 2, 2), true},
		"point outside":               {orb.Point{2.000001, 2}, box(0, 0, 2, 2), false},
		"point on a box without size": {orb.Point{2, 2}, box(2, 2, 2, 2), true},
		"line through":                {orb.LineString{{-1, 1}, {3, 1}}, box(0, 0, 2, 2), true},
		"line along an edge":          {orb.LineString{{-1, 2}, {3, 2}}, box(0, 0, 2, 2), true},
		"line past a corner":          {orb.LineString{{1, 3.1}, {3, 1.1}}, box(0, 0, 2, 2), false},
		"line on a corner":            {orb.LineString{{1, 3}, {3, 1}}, box(0, 0, 2, 2), true},
		"line of one place":           {orb.LineString{{1, 1}, {1, 1}}, box(0, 0, 2, 2), true},
		"line of one place outside":   {orb.LineString{{3, 3}, {3, 3}}, box(0, 0, 2, 2), false},
		"polygon around":              {orb.Polygon{ring(-9, -9, 9, 9)}, box(0, 0, 2, 2), true},
		"box in a hole": {orb.Polygon{ring(-9, -9, 9, 9), ring(-1, -1, 3, 3)},
			box(0, 0, 2, 2), false},
		"box that is the hole": {orb.Polygon{ring(-9, -9, 9, 9), ring(0, 0, 2, 2)}, box(0, 0, 2, 2), true},
		"island in the hole": {orb.MultiPolygon{{ring(-9, -9, 9, 9), ring(-1, -1, 3, 3)},
			{ring(0.5, 0.5, 1, 1)}}, box(0, 0, 2, 2), true},
		"polygon whose bound only touches": {orb.Polygon{{{0, 3}, {3, 0}, {3, 3}, {0, 3}}}, box(0, 0, 1, 1), false},
		"collection": {orb.Collection{orb.Point{5, 5}, orb.LineString{{0, 0}, {1, 1}}},
			box(0, 0, 2, 2), true},
		"west of the antimeridian":       {orb.Point{175, 1}, box(170, 0, -170, 2), true},
		"east of the antimeridian":       {orb.Point{-175, 1}, box(170, 0, -170, 2), true},
		"far from the antimeridian":      {orb.Point{0, 1}, box(170, 0, -170, 2), false},
		"polygon around half of the box": {orb.Polygon{ring(-180, -80, -100, 80)}, box(170, 0, -170, 2), true},
		"empty point":                    {orb.Point{math.NaN(), math.NaN()}, box(0, 0, 2, 2), true},
		"empty line":                     {orb.LineString{}, box(0, 0, 2, 2), true},
		"empty polygon":                  {orb.Polygon{}, box(0, 0, 2, 2), true},
		"empty collection":               {orb.Collection{}, box(0, 0, 2, 2), true},
		"empty and far": {orb.Collection{orb.Point{math.NaN(), math.NaN()}, orb.Point{5, 5}},
			box(0, 0, 2, 2), false},
	} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if got := touches(t, wkb.MustMarshal(c.g, order), crs.CRS84, c.b); got != c.want {
				t.Errorf("%s (%v): %v, want %v", name, order, got, c.want)
			}
		}
	}
	if !touches(t, nil, crs.CRS84, box(0, 0, 1, 1)) {
		t.Error("a feature without geometry does not match")
	}
}

func TestBoxWithHeightsComparesThem(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	isoPoint := floats(le, []byte{1, 0xE9, 3, 0, 0}, 1, 1, 50)                    // POINT Z
	ewkbPoint := floats(le, []byte{1, 1, 0, 0, 0xA0, 0xE6, 0x10, 0, 0}, 1, 1, 50) // with SRID
	pointZM := floats(le, []byte{1, 0xB9, 0x0B, 0, 0}, 1, 1, 50, 7)               // POINT ZM
	pointM := floats(le, []byte{1, 0xD1, 7, 0, 0}, 1, 1, 50)                      // POINT M: 50 is no height
	line := floats(le, []byte{1, 0xEA, 3, 0, 0, 2, 0, 0, 0}, -5, 1, 0, 5, 1, 100) // LINESTRING Z
	plain := floats(le, []byte{1, 1, 0, 0, 0}, 1, 1)                              // POINT
	big := floats(binary.BigEndian, []byte{0, 0, 0, 3, 0xE9}, 1, 1, 50)           // POINT Z
	for name, c := range map[string]struct {
		g      []byte
		lo, hi float64
		want   bool
	}{
		"in": {isoPoint, 0, 50, true}, "above": {isoPoint, 0, 49, false}, "below": {isoPoint, 51, 60, false},
		"EWKB in": {ewkbPoint, 0, 50, true}, "EWKB above": {ewkbPoint, 0, 49, false}, "ZM": {pointZM, 0, 49, false},
		"M":       {pointM, 0, 1, true},
		"line in": {line, 90, 200, true}, "line above": {line, -9, -1, false}, "no height": {plain, 0, 1, true},
		"big endian": {big, 0, 49, false},
	} {
		b := box(0, 0, 2, 2)
		if b.Z = (&[2]float64{c.lo, c.hi}); touches(t, c.g, crs.CRS84, b) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
		if b.Z = nil; !touches(t, c.g, crs.CRS84, b) {
			t.Errorf("%s: a plane box does not match", name)
		}
	}
}

func TestBoxTouchesAgreesWithSimpleFeatures(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	hits, skipped := 0, 0
	n := sharedtest.Rounds(t, 20000)
	for range n {
		g := sharedtest.Geometry(r)
		data := wkb.MustMarshal(g)
		want, err := geom.UnmarshalWKB(data)
		if err != nil { // an invalid star
			skipped++
			continue
		}
		x, y := float64(r.IntN(12))/2, float64(r.IntN(12))/2
		b := box(x, y, x+float64(1+r.IntN(4))/4, y+float64(1+r.IntN(4))/4)
		window, err := geom.UnmarshalWKB(wkb.MustMarshal(b.Bound.ToPolygon()))
		if err != nil {
			t.Fatal(err)
		}
		got, expected := touches(t, data, crs.CRS84, b), geom.Intersects(want, window)
		if got != expected {
			t.Fatalf("%s and %v: %v, want %v", want.AsText(), b.Bound, got, expected)
		}
		if got {
			hits++
		}
	}
	if hits < n/10 || hits > n*9/10 || skipped > n/2 {
		t.Errorf("of %d geometries %d touch, %d are skipped: no test", n, hits, skipped)
	}
}

func TestBoxIsTestedInItsOwnCRS(t *testing.T) {
	t.Parallel()
	// The parallel of 60 degrees from 0 to 30 degrees is bowed in UTM; its chord there runs far north of it.
	line := wkb.MustMarshal(orb.LineString{{0, 60}, {30, 60}})
	to, err := crs.Between(crs.CRS84, crs.UTM33)
	if err != nil {
		t.Fatal(err)
	}
	ax, ay := to(0, 60)
	bx, by := to(30, 60)
	x, y := (ax+bx)/2, (ay+by)/2
	b := box(x-1, y-1, x+1, y+1)
	b.CRS = crs.UTM33
	if !touches(t, line, crs.CRS84, b) {
		t.Error("the chord does not touch")
	}
	px, py := to(15, 60)
	b.Bound = orb.Bound{Min: orb.Point{px - 1, py - 1}, Max: orb.Point{px + 1, py + 1}}
	if touches(t, line, crs.CRS84, b) {
		t.Error("the parallel touches")
	}
	if touches(t, wkb.MustMarshal(orb.Point{0, 95}), crs.CRS84, b) {
		t.Error("a place that does not exist touches")
	}
}

func TestBrokenWKBIsAnError(t *testing.T) {
	t.Parallel()
	whole := wkb.MustMarshal(orb.MultiPolygon{{{{5, 5}, {6, 5}, {6, 6}, {5, 5}}}})
	for n := range len(whole) {
		if _, err := box(0, 0, 1, 1).Touches(whole[:n], crs.CRS84); err == nil {
			t.Errorf("%d of %d bytes: no error", n, len(whole))
		}
	}
	for _, b := range [][]byte{{2, 1, 0, 0, 0}, {1, 99, 0, 0, 0}, {1, 3, 0, 0, 0, 255, 255, 255, 255},
		{1, 0x88, 0x13, 0, 0}} {
		if _, err := box(0, 0, 1, 1).Touches(b, crs.CRS84); err == nil {
			t.Errorf("%v: no error", b)
		}
	}
	if _, err := box(0, 0, 1, 1).Touches(whole, crs.ID(1)); err == nil {
		t.Error("unknown CRS: no error")
	}
}

func TestBoxTouchesAllocatesNothing(t *testing.T) {
	ring := make(orb.Ring, 1001)
	for i := range ring {
		s, c := math.Sincos(2 * math.Pi * float64(i%1000) / 1000)
		ring[i] = orb.Point{c, s}
	}
	data, b := wkb.MustMarshal(orb.Polygon{ring}), box(-0.1, -0.1, 0.1, 0.1)
	if n := testing.AllocsPerRun(10, func() { touches(t, data, crs.CRS84, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzBoxTouches(f *testing.F) {
	f.Add(wkb.MustMarshal(orb.MultiPolygon{{{{5, 5}, {6, 5}, {6, 6}, {5, 5}}}}))
	f.Add(floats(binary.LittleEndian, []byte{1, 0xE9, 3, 0, 0}, 1, 1, 50))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := box(170, 0, -170, 1).Touches(b, crs.CRS84); err == nil && len(b) > 0 && len(b) < 5 {
			t.Error("too short for a geometry")
		}
	})
}
