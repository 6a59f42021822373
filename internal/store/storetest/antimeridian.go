package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Crossing is a layer with one geometry near the antimeridian.
type Crossing struct {
	Name     string
	CRS      crs.ID
	Geometry orb.Geometry
	Refused  string // part of the note; "" if the layer is served
}

// shownIn transforms longitudes and latitudes to a system.
func shownIn(id crs.ID, ring ...orb.Point) orb.Ring {
	f, err := crs.Between(crs.CRS84, id)
	if err != nil {
		panic(err)
	}
	var out orb.Ring
	for _, p := range ring {
		x, y := f(p[0], p[1])
		out = append(out, orb.Point{x, y})
	}
	return out
}

// Crossings returns layers that cross the antimeridian, and some that only touch it or lie near it.
func Crossings() []Crossing {
	const cut, right = "grense import cuts lines and areas there", "is right"
	fiji := []orb.Point{{179, -17}, {181, -17}, {181, -16}, {179, -16}, {179, -17}}
	world := []orb.Point{{-180, -80}, {180, -80}, {180, 80}, {-180, 80}, {-180, -80}}
	arctic := []orb.Point{{0, 75}, {60, 75}, {120, 75}, {180, 75}, {-120, 75}, {-60, 75}, {0, 75}}
	area := func(r orb.Ring) orb.Polygon { return orb.Polygon{r} }
	return []Crossing{
		{"utm60", 32760, area(shownIn(32760, fiji...)), right},
		{"utm1", 32701, area(shownIn(32701, fiji...)), right},
		{"line", 32660, orb.LineString(shownIn(32660, orb.Point{179, 73}, orb.Point{-179, 74})), right},
		{"merc", crs.WebMercator, area(shownIn(crs.WebMercator, fiji...)), "beyond x = ±20037508.34"},
		{"degrees", crs.WGS84, area(fiji), "beyond ±180"},
		{"pole", crs.LAEANorthPole, area(shownIn(crs.LAEANorthPole, arctic...)), cut},
		{"metres", crs.WGS84, area(shownIn(32760, fiji...)), "not longitudes and latitudes"},
		{"near", 32760, area(shownIn(32760, orb.Point{178, -17}, orb.Point{179.999, -17}, orb.Point{179.999, -16},
			orb.Point{178, -17})), ""},
		{"sides", 32760, orb.MultiPoint(shownIn(32760, orb.Point{179, -17}, orb.Point{-179, -17})), ""},
		{"world", crs.WebMercator, area(shownIn(crs.WebMercator, world...)), ""},
		{"globe", crs.CRS84, area(world), ""},
		{"wide", crs.WGS84, area([]orb.Point{{179, -17}, {-179, -17}, {-179, -16}, {179, -17}}), ""},
		{"svalbard", crs.UTM33, area(shownIn(crs.UTM33, orb.Point{9, 74}, orb.Point{36, 74}, orb.Point{36, 82},
			orb.Point{9, 82}, orb.Point{9, 74})), ""},
		{"wedge", crs.LAEANorthPole, area(shownIn(crs.LAEANorthPole, orb.Point{-40, 70}, orb.Point{40, 70},
			orb.Point{40, 90}, orb.Point{-40, 70})), ""},
		// the long way around the globe
		{"europe", crs.LAEAEurope, orb.LineString(shownIn(crs.LAEAEurope, orb.Point{-100, 0}, orb.Point{100, 0})), ""},
	}
}

// WriteCrossings writes each as a collection of one feature.
func WriteCrossings(t *testing.T, w store.Writer) {
	t.Helper()
	for _, x := range Crossings() {
		c := &store.Collection{ID: x.Name, Table: x.Name, Public: true,
			Key:      store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
			Geometry: &store.Geom{Name: "geometry", Column: "geom", CRS: x.CRS}}
		if err := w.Define(context.Background(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(context.Background(), x.Name, []string{"id", "geom"})
		if err == nil {
			err = insert(int64(1), store.Geometry{WKB: wkb.Append(nil, x.Geometry)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ExerciseAntimeridian tests layers that cross the antimeridian in ways that positions in CRS84 do not show.
// They are refused with the cure, rather than served around the world (RFC 7946, 3.1.9); all others are served.
func ExerciseAntimeridian(t *testing.T, open Opener) {
	t.Helper()
	cat := open(t, func(w store.Writer) { WriteCrossings(t, w) }).Catalog()
	for _, x := range Crossings() {
		said := ""
		for _, n := range cat.Notes {
			if n.Refused && strings.TrimPrefix(n.Layer, "grense.") == x.Name {
				said = n.Reason
			}
		}
		_, served := cat.Collection(x.Name)
		if served != (x.Refused == "") || x.Refused == "" && said != "" || !strings.Contains(said, x.Refused) {
			t.Errorf("%s: served %v, %q; want %q", x.Name, served, said, x.Refused)
		}
	}
}

// WideEdges returns geometries in degrees, as other programs write them, by name. Refused is part of the reason for
// refusing a geometry with such edges, Geodesic of that for a geography.
func WideEdges() []WideEdge {
	const across, either = "half around the world; grense import cuts", "as wide as it says"
	return []WideEdge{
		{"triangle", orb.Polygon{{{179, -17}, {-179, -17}, {-179, -16}, {179, -17}}}, across, across},
		{"line", orb.LineString{{170, 10}, {-170, 12}}, across, across},
		{"rectangle", orb.Polygon{{{179, -17}, {-179, -17}, {-179, -16}, {179, -16}, {179, -17}}}, either, across},
		{"hole", orb.Polygon{{{-180, -80}, {0, -80}, {180, -80}, {180, 80}, {0, 80}, {-180, 80}, {-180, -80}},
			{{179, 1}, {-179, 2}, {-179, 1}, {179, 1}}}, across, across},
		{"half", orb.LineString{{-90, 10}, {90, 12}}, "", ""},
		{"world", orb.Polygon{{{-180, -80}, {180, -80}, {180, 80}, {-180, 80}, {-180, -80}}}, "", ""},
		{"cut", orb.MultiPolygon{{{{179, -17}, {180, -17}, {180, -16}, {179, -17}}},
			{{{-180, -17}, {-179, -17}, {-180, -16}, {-180, -17}}}}, "", ""},
		{"sides", orb.MultiPoint{{179, 1}, {-179, 1}}, "", ""},
	}
}

// WideEdge is one of WideEdges.
type WideEdge struct {
	Name              string
	Geometry          orb.Geometry
	Refused, Geodesic string // "": served
}
