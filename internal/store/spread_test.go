package store_test

import (
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

// TestSpreadSeesWhereGeometriesLie: positions are in degrees unless the case names a CRS in metres.
func TestSpreadSeesWhereGeometriesLie(t *testing.T) {
	t.Parallel()
	bound := func(west, south, east, north float64) *orb.Bound {
		return &orb.Bound{Min: orb.Point{west, south}, Max: orb.Point{east, north}}
	}
	ring := func(p ...orb.Point) orb.Polygon { return orb.Polygon{append(p, p[0])} }
	const world = 20037508.342789244 // x of the antimeridian in Web Mercator
	for _, x := range []struct {
		name string
		id   crs.ID
		g    []orb.Geometry
		want store.Spread
	}{
		{"nothing", crs.CRS84, nil, store.Spread{}},
		{"a point", crs.CRS84, []orb.Geometry{orb.Point{10, 60}}, store.Spread{Bound: bound(10, 60, 10, 60)}},
		{"an empty line", crs.CRS84, []orb.Geometry{orb.LineString{}}, store.Spread{}},
		{"two geometries", crs.CRS84, []orb.Geometry{orb.Point{10, 60}, orb.Point{5, 62}},
			store.Spread{Bound: bound(5, 60, 10, 62)}},
		{"the longest edge", crs.CRS84, []orb.Geometry{orb.LineString{{0, 0}, {3, 4}, {3, 5}}},
			store.Spread{Bound: bound(0, 0, 3, 5), LongestEdge: 5}},
		{"edges end with their line", crs.CRS84,
			[]orb.Geometry{orb.MultiLineString{{{0, 0}, {1, 0}}, {{9, 0}, {9, 1}}}},
			store.Spread{Bound: bound(0, 0, 9, 1), LongestEdge: 1}},
		{"the antimeridian itself", crs.CRS84, []orb.Geometry{orb.Point{180, 0}, orb.Point{-180, 0}},
			store.Spread{Bound: bound(-180, 0, 180, 0)}},
		{"rounding beyond the antimeridian", crs.CRS84, []orb.Geometry{orb.Point{180.0000005, 90.0000005}},
			store.Spread{Bound: bound(180, 90, 180, 90)}},
		{"longitudes beyond 180", crs.CRS84, []orb.Geometry{orb.Point{190, 0}}, store.Spread{Outside: true}},
		{"longitudes of another turn and a half", crs.CRS84, []orb.Geometry{orb.Point{541, 0}},
			store.Spread{Outside: true, Nowhere: true}},
		{"metres for degrees", crs.CRS84, []orb.Geometry{orb.Point{262000, 6650000}},
			store.Spread{Outside: true, Nowhere: true}},
		{"no number", crs.CRS84, []orb.Geometry{orb.Point{10, 60}, orb.LineString{{11, 60}, {math.Inf(1), 60}}},
			store.Spread{Bound: bound(10, 60, 11, 60), LongestEdge: math.Inf(1), Outside: true, Nowhere: true}},
		{"half around the world is not across", crs.CRS84, []orb.Geometry{orb.LineString{{-90, 0}, {90, 0}}},
			store.Spread{Bound: bound(-90, 0, 90, 0), LongestEdge: 180}},
		{"more than half is", crs.CRS84, []orb.Geometry{orb.LineString{{-91, 0}, {90, 0}}},
			store.Spread{Bound: bound(-91, 0, 90, 0), LongestEdge: 181, Across: true}},
		{"all around the world is not", crs.CRS84, []orb.Geometry{orb.LineString{{-180, 10}, {180, 10}}},
			store.Spread{Bound: bound(-180, 10, 180, 10), LongestEdge: 360}},
		{"along a pole is not", crs.CRS84, []orb.Geometry{orb.LineString{{-100, -90}, {100, -90}}},
			store.Spread{Bound: bound(-100, -90, 100, -90), LongestEdge: 200}},
		{"a wide rectangle may be so wide", crs.CRS84,
			[]orb.Geometry{ring(orb.Point{-100, 0}, orb.Point{100, 0}, orb.Point{100, 10}, orb.Point{-100, 10})},
			store.Spread{Bound: bound(-100, 0, 100, 10), LongestEdge: 200, Wide: true}},
		{"a wide area that is no rectangle is across", crs.CRS84,
			[]orb.Geometry{ring(orb.Point{-170, 0}, orb.Point{170, 1}, orb.Point{170, 10}, orb.Point{-170, 10})},
			store.Spread{Bound: bound(-170, 0, 170, 10), LongestEdge: math.Hypot(340, 1), Across: true}},
		{"a line along a parallel is no rectangle", crs.CRS84, []orb.Geometry{orb.LineString{{-170, 5}, {170, 5}}},
			store.Spread{Bound: bound(-170, 5, 170, 5), LongestEdge: 340, Across: true}},
		{"a part of a collection", crs.CRS84,
			[]orb.Geometry{orb.Collection{orb.Point{1, 1}, orb.LineString{{-170, 5}, {170, 6}}}},
			store.Spread{Bound: bound(-170, 1, 170, 6), LongestEdge: math.Hypot(340, 1), Across: true}},
		{"metres", crs.WebMercator, []orb.Geometry{orb.LineString{{0, 0}, {world / 2, 0}}},
			store.Spread{Bound: bound(0, 0, 90, 0), LongestEdge: world / 2}},
	} {
		degrees, err := crs.Between(x.id, crs.CRS84)
		if err != nil {
			t.Fatal(err)
		}
		var got store.Spread
		for _, g := range x.g {
			got.Add(wkb.MustMarshal(g), x.id, degrees)
		}
		same := got.Bound == nil && x.want.Bound == nil
		if got.Bound != nil && x.want.Bound != nil {
			d := func(i int) float64 {
				return math.Abs(got.Bound.Min[i]-x.want.Bound.Min[i]) + math.Abs(got.Bound.Max[i]-x.want.Bound.Max[i])
			}
			same = d(0)+d(1) < 1e-9
		}
		if !same {
			t.Errorf("%s: bound %v, want %v", x.name, got.Bound, x.want.Bound)
		}
		got.Bound, x.want.Bound = nil, nil
		if got != x.want {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
}

// TestInvalidGeometriesCountUpToTheirFault.
func TestInvalidGeometriesCountUpToTheirFault(t *testing.T) {
	t.Parallel()
	degrees, err := crs.Between(crs.CRS84, crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	whole := wkb.MustMarshal(orb.MultiPoint{{1, 2}, {3, 4}})
	for name, x := range map[string]struct {
		wkb  []byte
		most float64 // largest longitude that was seen; 0: none
	}{
		"nothing": {nil, 0}, "half a header": {whole[:3], 0}, "the first of two points": {whole[:len(whole)-1], 1},
		"all": {whole, 3},
	} {
		var s store.Spread
		s.Add(x.wkb, crs.CRS84, degrees)
		most := 0.0
		if s.Bound != nil {
			most = s.Bound.Max[0]
		}
		if most != x.most {
			t.Errorf("%s: %v", name, s.Bound)
		}
	}
}

// TestLayersAcrossTheAntimeridianAreRefusedWithTheCure: RFC 7946, 3.1.9.
func TestLayersAcrossTheAntimeridianAreRefusedWithTheCure(t *testing.T) {
	t.Parallel()
	degrees := store.Placing{CRS: crs.CRS84}
	mercator := store.Placing{CRS: crs.WebMercator}
	utm := store.Placing{CRS: crs.UTM33}
	geography := store.Placing{CRS: crs.CRS84, Geodesic: true}
	ours := store.Placing{CRS: crs.CRS84, Ours: true}
	read := store.Placing{CRS: crs.CRS84, Uncut: true}
	for _, x := range []struct {
		name        string
		s           store.Spread
		p           store.Placing
		wrong, note string // parts of them; "": none
	}{
		{"all is well", store.Spread{}, degrees, "", ""},
		{"longitudes beyond 180", store.Spread{Outside: true}, degrees, "beyond ±180", ""},
		{"the same, about to be cut", store.Spread{Outside: true}, read, "", ""},
		{"metres beyond the antimeridian", store.Spread{Outside: true}, mercator, "20037508.34", ""},
		{"degrees that are none", store.Spread{Outside: true, Nowhere: true}, degrees,
			"set the reference system that they are in", ""},
		{"degrees that are none, about to be cut", store.Spread{Outside: true, Nowhere: true}, read,
			"set the reference system that they are in", ""},
		{"metres far away", store.Spread{Outside: true, Nowhere: true}, mercator, "", "outside of the area of"},
		{"metres outside of a zone", store.Spread{Outside: true}, utm, "", "outside of the area of"},
		{"an area across", store.Spread{Across: true}, degrees, "cross the antimeridian", ""},
		{"an area across in metres", store.Spread{Across: true}, utm, "the reference system", ""},
		{"an area across, written by an import", store.Spread{Across: true}, ours, "", ""},
		{"an area across, about to be cut", store.Spread{Across: true}, read, "", ""},
		{"a wide rectangle", store.Spread{Wide: true}, degrees, "a rectangle goes more than half around", ""},
		{"a wide rectangle of an import", store.Spread{Wide: true}, ours, "", ""},
		{"a wide rectangle of geography goes the short way", store.Spread{Wide: true}, geography,
			"cross the antimeridian", ""},
		{"an import in metres is not cut", store.Spread{Across: true}, store.Placing{CRS: crs.UTM33, Ours: true},
			"the reference system", ""},
	} {
		wrong, note := x.s.Misplaced(x.p)
		if (wrong == "") != (x.wrong == "") || !strings.Contains(wrong, x.wrong) ||
			(note == "") != (x.note == "") || !strings.Contains(note, x.note) {
			t.Errorf("%s: wrong %q, note %q", x.name, wrong, note)
		}
	}
}

func TestDeclaredGeometryTypes(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{"POINT": "Point", "multipolygon": "MultiPolygon",
		"CurvePolygon": "Polygon", "MULTISURFACE": "MultiPolygon", "TIN": "MultiPolygon", "COMPOUNDCURVE": "LineString",
		"GEOMETRYCOLLECTION": "GeometryCollection", "GEOMETRY": "", "SURFACE": "", "": "", "POINT Z": ""} {
		if got := store.GeometryType(declared); got != want {
			t.Errorf("%s: %q, want %q", declared, got, want)
		}
	}
	if d, m := store.Chord(crs.CRS84), store.Chord(crs.UTM33); d <= 0 || m <= 0 || d >= m {
		t.Errorf("curves leave their chords by %v degrees or %v metres", d, m)
	}
}

func TestHasZIsThatOfTheOutermostGeometry(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		wkb  []byte
		want bool
	}{
		"a point":                    {wkb.MustMarshal(orb.Point{1, 2}), false},
		"a point with Z (ISO)":       {[]byte{1, 0xe9, 3, 0, 0}, true},
		"a point with M (ISO)":       {[]byte{1, 0xd1, 7, 0, 0}, false},
		"a point with Z and M (ISO)": {[]byte{1, 0xb9, 0xb, 0, 0}, true},
		"a point with Z (extended)":  {[]byte{1, 1, 0, 0, 0x80}, true},
		"a point with M (extended)":  {[]byte{1, 1, 0, 0, 0x40}, false},
		"big-endian with Z (ISO)":    {[]byte{0, 0, 0, 3, 0xe9}, true},
		"half a header":              {[]byte{1, 0xe9, 3}, false},
		"nothing":                    {nil, false},
	} {
		if got := (store.Geometry{WKB: x.wkb}).HasZ(); got != x.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
