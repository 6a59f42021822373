package ingest_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/paulmach/orb"
	orbjson "github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/planar"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

// in takes a geometry of longitudes and latitudes to a projected system.
func in(t testing.TB, id crs.ID, g orb.Geometry) orb.Geometry {
	t.Helper()
	f, err := crs.Between(crs.CRS84, id)
	if err != nil {
		t.Fatal(err)
	}
	line := func(l []orb.Point) (out []orb.Point) {
		for _, p := range l {
			x, y := f(p[0], p[1])
			out = append(out, orb.Point{x, y})
		}
		return out
	}
	switch g := g.(type) {
	case orb.LineString:
		return orb.LineString(line(g))
	case orb.Polygon:
		var out orb.Polygon
		for _, r := range g {
			out = append(out, line(r))
		}
		return out
	case orb.MultiPolygon:
		var out orb.MultiPolygon
		for _, p := range g {
			out = append(out, in(t, id, p).(orb.Polygon))
		}
		return out
	case orb.Collection:
		var out orb.Collection
		for _, p := range g {
			out = append(out, in(t, id, p))
		}
		return out
	}
	return orb.Point(line([]orb.Point{g.(orb.Point)})[0])
}

// ringOf is a ring of longitudes and latitudes, with corners along its sides for each part.
func ringOf(west, south, east, north float64, parts int) (r orb.Ring) {
	for _, side := range [][2]orb.Point{{{west, south}, {east, south}}, {{east, south}, {east, north}},
		{{east, north}, {west, north}}, {{west, north}, {west, south}}} {
		for i := range parts {
			t := float64(i) / float64(parts)
			r = append(r, orb.Point{side[0][0]*(1-t) + side[1][0]*t, side[0][1]*(1-t) + side[1][1]*t})
		}
	}
	return append(r, r[0])
}

// around is a ring along a parallel.
func around(lat float64) (r orb.Ring) {
	for i := range 36 {
		r = append(r, orb.Point{float64(10*i) - 175, lat})
	}
	return append(r, r[0])
}

// TestWhatCrossesTheAntimeridianInAProjectedSystemIsCut: in longitudes and latitudes, or in Web Mercator on its two
// sides.
func TestWhatCrossesTheAntimeridianInAProjectedSystemIsCut(t *testing.T) {
	t.Parallel()
	fiji := orb.Polygon{ringOf(179, -17, 181, -16, 3)}
	holed := orb.Polygon{ringOf(178, -18, 182, -14, 3), ringOf(179.5, -17, 180.5, -16, 1),
		ringOf(181, -17, 181.5, -16, 1)}
	for name, c := range map[string]struct {
		id     crs.ID
		g      orb.Geometry
		action input.Action
		stored crs.ID
		size   float64 // square degrees; of lines, length
	}{
		"an area":             {32760, fiji, input.Repaired, crs.CRS84, 2},
		"from the other side": {32701, fiji, input.Repaired, crs.CRS84, 2},
		"two holes":           {32760, holed, input.Repaired, crs.CRS84, 16 - 1 - .5},
		"one part of two": {32760, orb.MultiPolygon{fiji, {ringOf(177, -17, 178, -16, 1)}}, input.Repaired,
			crs.CRS84, 3},
		"a line": {32660, orb.LineString{{179, 70}, {-179, 70}, {-178, 70}}, input.Repaired,
			crs.CRS84, 3},
		"along it, from the west":   {32760, orb.Polygon{ringOf(179, -17, 180, -16, 7)}, "", 0, 1},
		"along it, from the east":   {32760, orb.Polygon{ringOf(-180, -17, -179, -16, 7)}, "", 0, 1},
		"in a collection":           {32760, orb.Collection{orb.Point{178, -17}, fiji}, input.Repaired, crs.CRS84, 2},
		"near it":                   {32760, orb.Polygon{ringOf(178, -17, 179.9, -16, 1)}, "", 32760, 0},
		"far from it":               {crs.UTM33, orb.Polygon{ringOf(10, 60, 11, 61, 1)}, "", crs.UTM33, 0},
		"beyond it in Web Mercator": {crs.WebMercator, fiji, input.Repaired, crs.WebMercator, 2},
		"the world in Web Mercator": {crs.WebMercator, orb.Polygon{ringOf(-180, -80, 180, 80, 1)}, "",
			crs.WebMercator, 360 * 160},
		"around the pole": {crs.LAEANorthPole, orb.Polygon{around(80)}, input.Repaired,
			crs.CRS84, 360 * 10},
		"around the pole, turned": {crs.LAEANorthPole, orb.Polygon{reversed(around(80))}, input.Repaired,
			crs.CRS84, 360 * 10},
		"around the pole, with holes": {crs.LAEANorthPole, orb.Polygon{around(70), around(80),
			ringOf(175, 72, 185, 74, 1), ringOf(0, 72, 10, 74, 1)}, input.Repaired, crs.CRS84, 360*10 - 40},
		"over the pole in a zone": {32660, orb.Polygon{around(88)}, input.Repaired, crs.CRS84, 360 * 2},
		"over the south pole":     {32760, orb.Polygon{around(-88)}, input.Repaired, crs.CRS84, 360 * 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := orbjson.NewFeature(in(t, c.id, c.g))
			f.ID = 1
			text, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := ingest.Survey(t.Context(), ingesttest.Open(t,
				ingesttest.WriteFile(t, "a.geojson", string(text)), c.id).Layers, ingesttest.Into, ingest.Watch{})
			if err != nil {
				t.Fatal(err)
			}
			st := ingesttest.Write(t, plan)
			coll, _ := st.Catalog().Collection("x")
			if c.stored != 0 && coll.Geometry.CRS != c.stored {
				t.Errorf("stored in %v, want %v", coll.Geometry.CRS, c.stored)
			}
			_, got := ingesttest.Find(plan.Report, input.Repaired, "crosses the antimeridian")
			if c.stored != 0 && got != (c.action == input.Repaired) {
				t.Errorf("%v", plan.Report.Faults)
			}
			degrees, err := crs.Between(coll.Geometry.CRS, crs.CRS84)
			if err != nil {
				t.Fatal(err)
			}
			g, err := store.Geometry{WKB: ingesttest.Features(t, st, "x")[0].WKB}.Orb()
			if err != nil {
				t.Fatal(err)
			}
			measure(t, g, degrees, c.size)
		})
	}
}

// measure compares the size of a geometry in degrees, none of whose parts may go around the world by an edge.
func measure(t *testing.T, g orb.Geometry, degrees crs.Func, want float64) {
	t.Helper()
	size := 0.0
	line := func(l []orb.Point) (out []orb.Point) {
		for _, p := range l {
			lon, lat := degrees(p[0], p[1])
			out = append(out, orb.Point{lon, lat})
		}
		return out
	}
	var add func(g orb.Geometry)
	add = func(g orb.Geometry) {
		switch g := g.(type) {
		case orb.LineString:
			size += planar.Length(orb.LineString(line(g)))
		case orb.MultiLineString:
			for _, l := range g {
				add(l)
			}
		case orb.Polygon:
			var p orb.Polygon
			for _, r := range g {
				p = append(p, line(r))
			}
			if b := p.Bound(); b.Min[0] < -180-1e-9 || b.Max[0] > 180+1e-9 {
				t.Errorf("%v", b)
			}
			size += planar.Area(p)
		case orb.MultiPolygon:
			for _, p := range g {
				add(p)
			}
		case orb.Collection:
			for _, p := range g {
				add(p)
			}
		}
	}
	if add(g); want > 0 && math.Abs(size-want) > 1e-6*want {
		t.Errorf("size %v, want %v: %v", size, want, g)
	}
}

func reversed(r orb.Ring) orb.Ring {
	r = r.Clone()
	r.Reverse()
	return r
}

// TestWhatCannotBeCutAtTheAntimeridianIsRefused: in a projected system the refusal says that the feature crosses it.
func TestWhatCannotBeCutAtTheAntimeridianIsRefused(t *testing.T) {
	t.Parallel()
	path := ingesttest.WriteFile(t, "a.geojson",
		`{"type":"Feature","id":1,"properties":null,"geometry":{"type":"LineString","coordinates":[[700000,8100000,`+
			`1],[900000,8100000,2]]}}`)
	plan, err := ingest.Survey(t.Context(), ingesttest.Open(t, path, 32760).Layers, ingesttest.Into, ingest.Watch{})
	if _, ok := ingesttest.Find(plan.Report, input.Refused, "ogr2ogr -dim XY"); err == nil || !ok {
		t.Errorf("%v %v", err, plan.Report.Faults)
	}
}
