package cql2_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
	"grense/internal/sharedtest"
)

func box(west, south, east, north float64) cql2.BBox {
	return cql2.BBox{Prop: "g", CRS: crs.CRS84,
		Box: orb.Bound{Min: orb.Point{west, south}, Max: orb.Point{east, north}}}
}

// boxOf is the box that is tested.
func boxOf(b cql2.BBox) relate.Box { return relate.Box{Bound: b.Box, Z: b.Z, CRS: b.CRS} }

func touches(t testing.TB, g []byte, in crs.ID, b cql2.BBox) bool {
	t.Helper()
	hit, err := boxOf(b).Touches(g, in)
	if err != nil {
		t.Fatal(err)
	}
	return hit
}

func TestBoxTouches(t *testing.T) {
	t.Parallel()
	ring := func(a, b, c, d float64) orb.Ring { return orb.Ring{{a, b}, {c, b}, {c, d}, {a, d}, {a, b}} }
	for name, c := range map[string]struct {
		g    orb.Geometry
		b    cql2.BBox
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

// randomGeometry makes a valid geometry on a coarse grid, so that vertices and edges often meet those of boxes.
func randomGeometry(r *rand.Rand) orb.Geometry {
	p := func() orb.Point { return orb.Point{float64(r.IntN(13)) / 2, float64(r.IntN(13)) / 2} }
	star := func(c orb.Point, size float64) orb.Ring {
		n := 3 + r.IntN(6)
		ring := make(orb.Ring, 0, n+1)
		for i := range n {
			d := size * (0.3 + 0.7*r.Float64())
			s, k := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			ring = append(ring, orb.Point{math.Round((c[0]+d*k)*8) / 8, math.Round((c[1]+d*s)*8) / 8})
		}
		return append(ring, ring[0])
	}
	switch r.IntN(6) {
	case 0:
		return p()
	case 1:
		return orb.LineString{p(), p(), p()}
	case 2:
		return orb.Polygon{star(p(), 4)}
	case 3:
		c := p()
		return orb.Polygon{star(c, 6), star(c, 0.25)}
	case 4:
		return orb.MultiPoint{p(), p()}
	}
	return orb.MultiPolygon{{star(orb.Point{1, 1}, 1)}, {star(orb.Point{5, 5}, 2)}}
}

func TestBoxTouchesAgreesWithSimpleFeatures(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	hits, skipped := 0, 0
	n := sharedtest.Rounds(t, 20000)
	for range n {
		g := randomGeometry(r)
		data := wkb.MustMarshal(g)
		want, err := geom.UnmarshalWKB(data)
		if err != nil { // an invalid star
			skipped++
			continue
		}
		x, y := float64(r.IntN(12))/2, float64(r.IntN(12))/2
		b := box(x, y, x+float64(1+r.IntN(4))/4, y+float64(1+r.IntN(4))/4)
		window, err := geom.UnmarshalWKB(wkb.MustMarshal(b.Box.ToPolygon()))
		if err != nil {
			t.Fatal(err)
		}
		got, expected := touches(t, data, crs.CRS84, b), geom.Intersects(want, window)
		if got != expected {
			t.Fatalf("%s and %v: %v, want %v", want.AsText(), b.Box, got, expected)
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
	b.Box = orb.Bound{Min: orb.Point{px - 1, py - 1}, Max: orb.Point{px + 1, py + 1}}
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
		if _, err := boxOf(box(0, 0, 1, 1)).Touches(whole[:n], crs.CRS84); err == nil {
			t.Errorf("%d of %d bytes: no error", n, len(whole))
		}
	}
	for _, b := range [][]byte{{2, 1, 0, 0, 0}, {1, 99, 0, 0, 0}, {1, 3, 0, 0, 0, 255, 255, 255, 255},
		{1, 0x88, 0x13, 0, 0}} {
		if _, err := boxOf(box(0, 0, 1, 1)).Touches(b, crs.CRS84); err == nil {
			t.Errorf("%v: no error", b)
		}
	}
	if _, err := boxOf(box(0, 0, 1, 1)).Touches(whole, crs.ID(1)); err == nil {
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
		if _, err := boxOf(box(170, 0, -170, 1)).Touches(b, crs.CRS84); err == nil && len(b) > 0 && len(b) < 5 {
			t.Error("too short for a geometry")
		}
	})
}

// padded is a record that knows how far its edges bend.
type padded struct {
	record
	pad float64
}

func (p padded) Pad() float64 { return p.pad }

// TestBoxesNearFewEdges: a record that knows how far edges bend gives the same answers, with boxes close to long
// edges and around corners.
func TestBoxesNearFewEdges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 11))
	back, err := crs.Between(crs.UTM33, crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	n, hits := sharedtest.Rounds(t, 3000), 0
	for range n {
		c := orb.Point{300000 + 400000*r.Float64(), 6500000 + 1000000*r.Float64()}
		size := math.Pow(10, 3+2.4*r.Float64())
		ring := ragged(r, c, size, 1, 3+r.IntN(60))
		g := orb.Geometry(orb.Polygon{ring})
		switch r.IntN(4) {
		case 0:
			g = orb.Polygon{ring, ragged(r, c, size/3, 1, 3+r.IntN(20))}
		case 1:
			g = orb.MultiPolygon{{ring}, {ragged(r, orb.Point{c[0] + 2*size, c[1]}, size/2, 1, 5)}}
		case 2:
			g = orb.LineString(ring)
		}
		longest := 0.0
		for i := range ring[1:] {
			longest = max(longest, math.Hypot(ring[i+1][0]-ring[i][0], ring[i+1][1]-ring[i][1]))
		}
		longest = max(longest, 3*size)
		rec := padded{record{wkb: map[string][]byte{"g": wkb.MustMarshal(g)}, in: crs.UTM33},
			6*longest*longest/(8*6371e3)*2 + 1e-6}
		for range 4 {
			i := r.IntN(len(ring) - 1)
			k := r.Float64() // along an edge, on it or beside it
			at := orb.Point{ring[i][0]*k + ring[i+1][0]*(1-k), ring[i][1]*k + ring[i+1][1]*(1-k)}
			off := size * math.Pow(10, -5*r.Float64())
			x, y := back(at[0]+off*(r.Float64()-.5), at[1]+off*(r.Float64()-.5))
			side := math.Pow(10, -6+6*r.Float64())
			b := box(x, y, x+side*r.Float64(), y+side*r.Float64()/2)
			b.Prop = "g"
			want := touches(t, rec.wkb["g"], crs.UTM33, b)
			if want {
				hits++
			}
			if got, err := cql2.Eval(b, rec); err != nil || (got == cql2.True) != want {
				t.Fatalf("%v and %v: %d, want %v; %v", g, b.Box, got, want, err)
			}
			if got, err := cql2.Eval(b, edgedOf(rec)); err != nil || (got == cql2.True) != want {
				t.Fatalf("%v and %v: made ready %d, want %v; %v", g, b.Box, got, want, err)
			}
		}
	}
	if hits < n/2 || hits > 4*n-n/2 {
		t.Errorf("of %d boxes %d touch: no test", 4*n, hits)
	}
}
