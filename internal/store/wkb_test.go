package store_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/store"
)

// shapes are one of each type, with the well-known text from which an independent library makes WKB.
var shapes = map[string]orb.Geometry{
	"POINT(1 2)":                     orb.Point{1, 2},
	"POINT Z(1 2 3)":                 orb.Point{1, 2},
	"POINT M(1 2 3)":                 orb.Point{1, 2},
	"POINT EMPTY":                    orb.MultiPoint{},
	"LINESTRING EMPTY":               orb.LineString{},
	"LINESTRING ZM(1 2 3 4,5 6 7 8)": orb.LineString{{1, 2}, {5, 6}},
	"POLYGON((0 0,4 0,4 4,0 0),(1 0.5,2 0.5,2 1,1 0.5))":                     orb.Polygon{{{0, 0}, {4, 0}, {4, 4}, {0, 0}}, {{1, 0.5}, {2, 0.5}, {2, 1}, {1, 0.5}}},
	"MULTIPOINT((1 2),EMPTY,(3 4))":                                          orb.MultiPoint{{1, 2}, {3, 4}},
	"MULTILINESTRING Z((1 2 0,3 4 0),EMPTY)":                                 orb.MultiLineString{{{1, 2}, {3, 4}}, {}},
	"MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))":                  orb.MultiPolygon{{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}, {{{5, 5}, {6, 5}, {6, 6}, {5, 5}}}},
	"GEOMETRYCOLLECTION(POINT(1 2),GEOMETRYCOLLECTION(LINESTRING(1 2,3 4)))": orb.Collection{orb.Point{1, 2}, orb.Collection{orb.LineString{{1, 2}, {3, 4}}}},
	"GEOMETRYCOLLECTION EMPTY":                                               orb.Collection{},
}

func TestGeometryOfAnotherLibrary(t *testing.T) {
	t.Parallel()
	for text, want := range shapes {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			g, err := geom.UnmarshalWKT(text)
			if err != nil {
				t.Fatal(err)
			}
			s := store.Geometry{WKB: g.AsBinary()}
			got, err := s.Orb()
			if err != nil || !orb.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			b, ok, err := s.Bound()
			low, high, exists := g.Envelope().MinMaxXYs()
			if err != nil || ok != exists || ok && (b.Min != orb.Point{low.X, low.Y} || b.Max != orb.Point{high.X, high.Y}) {
				t.Errorf("bound %v, %v, %v; want %v %v", b, ok, err, low, high)
			}
			if s.HasZ() != g.CoordinatesType().Is3D() {
				t.Errorf("heights: %v", s.HasZ())
			}
		})
	}
}

func TestGeometryForms(t *testing.T) {
	t.Parallel()
	const point = "000000000000f03f0000000000000040"
	tests := map[string]struct {
		hex  string
		fine bool
	}{
		"little endian":       {"0101000000" + point, true},
		"big endian":          {"00000000013ff00000000000004000000000000000", true},
		"extended with SRID":  {"0101000020e9640000" + point, true},
		"extended Z":          {"0101000080" + point + "0000000000000840", true},
		"extended ZM":         {"01010000c0" + point + point, true},
		"ISO Z":               {"01e9030000" + point + "0000000000000840", true},
		"mixed byte order":    {"010400000001000000" + "00000000013ff00000000000004000000000000000", true},
		"nothing after order": {"01", false},
		"other byte order":    {"0201000000" + point, false},
		"truncated":           {"0101000000" + point[:30], false},
		"curve":               {"010800000000000000", false},
		"type 4000":           {"01a00f0000" + point, false},
		"infinite count":      {"0102000000ffffffff", false},
		"infinite parts":      {"0107000000ffffffff", false},
		"half a number":       {"0101000000" + "000000000000f87f" + "0000000000000040", false},
		"line inside points":  {"010400000001000000" + "010200000000000000", false},
		"too deep":            {strings.Repeat("010700000001000000", 40) + "0101000000" + point, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := hex.DecodeString(tt.hex)
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Geometry{WKB: b}.Orb()
			if (err == nil) != tt.fine || err != nil && !errors.Is(err, store.ErrGeometry) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestNullGeometry(t *testing.T) {
	t.Parallel()
	var g store.Geometry
	if o, err := g.Orb(); o != nil || err != nil || !g.IsNull() || g.HasZ() {
		t.Errorf("%v, %v", o, err)
	}
	if _, ok, err := g.Bound(); ok || err != nil {
		t.Error("a bound of nothing")
	}
}

func TestBoundAllocatesNothing(t *testing.T) {
	g := store.Geometry{WKB: wkb.MustMarshal(shapes["MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))"])}
	if n := testing.AllocsPerRun(100, func() { g.Bound() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzGeometry: Orb and Walk fail on the same bytes, and what they read is the same.
func FuzzGeometry(f *testing.F) {
	for text := range shapes {
		g, err := geom.UnmarshalWKT(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(g.AsBinary())
	}
	f.Add([]byte{1, 7, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		g := store.Geometry{WKB: b}
		o, err := g.Orb()
		bound, ok, errBound := g.Bound()
		if (err == nil) != (errBound == nil) {
			t.Fatalf("Orb: %v, Bound: %v", err, errBound)
		}
		if err != nil || g.IsNull() {
			return
		}
		want, any := orb.Bound{}, false
		eachPoint(o, func(p orb.Point) {
			if !any {
				want, any = p.Bound(), true
			}
			want = want.Extend(p)
		})
		if ok != any || bound != want {
			t.Errorf("bound %v, %v; want %v, %v of %v", bound, ok, want, any, o)
		}
	})
}

func eachPoint(g orb.Geometry, fn func(orb.Point)) {
	switch g := g.(type) {
	case orb.Point:
		fn(g)
	case orb.MultiPoint:
		for _, p := range g {
			fn(p)
		}
	case orb.LineString:
		for _, p := range g {
			fn(p)
		}
	case orb.MultiLineString:
		for _, l := range g {
			eachPoint(l, fn)
		}
	case orb.Polygon:
		for _, r := range g {
			eachPoint(orb.LineString(r), fn)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			eachPoint(p, fn)
		}
	case orb.Collection:
		for _, x := range g {
			eachPoint(x, fn)
		}
	default:
		panic(g)
	}
}
