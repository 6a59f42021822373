package ingest_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"grense/internal/format/input"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

func TestWhatCrossesTheAntimeridianIsCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		geometry string
		action   input.Action
		kind     string
		area     float64 // square degrees; of lines, length
	}{
		"a triangle": {`{"type":"Polygon","coordinates":[[[178,0],[-178,0],[-178,4],[178,0]]]}`,
			input.Repaired, "MultiPolygon", 8},
		"beyond 180": {`{"type":"Polygon","coordinates":[[[178,0],[182,0],[182,4],[178,4],[178,0]]]}`,
			input.Repaired, "MultiPolygon", 16},
		"all beyond 180": {`{"type":"Polygon","coordinates":[[[190,0],[194,0],[194,4],[190,4],[190,0]]]}`,
			input.Repaired, "MultiPolygon", 16},
		"beyond -180": {`{"type":"Polygon","coordinates":[[[-178,0],[-178,4],[-182,4],[-182,0],[-178,0]]]}`,
			input.Repaired, "MultiPolygon", 16},
		"with a hole": {`{"type":"Polygon","coordinates":[[[170,0],[-170,1],[-170,20],[170,20],[170,0]],` +
			`[[-175,5],[-174,5],[-174,6],[-175,5]]]}`, input.Repaired, "MultiPolygon", 389.5},
		"a hole across": {`{"type":"Polygon","coordinates":[[[170,0],[-170,1],[-170,20],[170,20],[170,0]],` +
			`[[-179,5],[179,5],[179,6],[-179,5]]]}`, input.Repaired, "MultiPolygon", 389},
		"one part of two": {`{"type":"MultiPolygon","coordinates":[[[[178,0],[-178,0],[-178,4],[178,0]]],[[[0,` +
			`0],[1,0],[1,1],[0,0]]]]}`, input.Repaired, "MultiPolygon", 8.5},
		"through 180 and -180": {`{"type":"Polygon","coordinates":[[[178,0],[180,0],[-180,0],[-178,1],[-178,4],[178,` +
			`4],[178,0]]]}`, input.Repaired, "MultiPolygon", 15},
		"a line": {`{"type":"LineString","coordinates":[[170,0],[-170,0]]}`, input.Repaired,
			"MultiLineString", 20},
		"in a collection": {`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0,0]},` +
			`{"type":"Polygon","coordinates":[[[178,0],[-178,0],[-178,4],[178,0]]]}]}`, input.Repaired,
			"GeometryCollection", 8},
		"a rectangle": {`{"type":"Polygon","coordinates":[[[-170,0],[170,0],[170,4],[-170,4],[-170,0]]]}`,
			input.Warning, "Polygon", 1360},
		"around a pole": {`{"type":"Polygon","coordinates":[[[-170,-60],[-50,-65],[70,-60],[170,-62],` +
			`[-170,-60]]]}`, input.Kept, "Polygon", 0},
		"with heights": {`{"type":"Polygon","coordinates":[[[178,0,1],[-178,0,1],[-178,4,1],[178,0,1]]]}`,
			input.Warning, "Polygon", 0},
		"the world": {`{"type":"Polygon","coordinates":[[[-180,-90],[180,-90],[180,90],[-180,90],` +
			`[-180,-90]]]}`, "", "Polygon", 64800},
		"Antarctica": {`{"type":"Polygon","coordinates":[[[-180,-90],[180,-90],[180,-80],[60,-70],[-60,` +
			`-75],[-180,-80],[-180,-90]]]}`, "", "Polygon", 0},
		"cut already": {`{"type":"MultiPolygon","coordinates":[[[[178,0],[180,0],[180,4],[178,0]]],[[[-180,` +
			`0],[-178,0],[-180,4],[-180,0]]]]}`, "", "MultiPolygon", 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, have := ingesttest.ImportText(t, "a.geojson",
				`{"type":"Feature","id":1,"properties":null,"geometry":`+c.geometry+`}`, ingesttest.Into)
			g, err := store.Geometry{WKB: have[0].WKB}.Orb()
			if err != nil || g.GeoJSONType() != c.kind {
				t.Fatalf("%v %v", g, err)
			}
			var got input.Action
			for _, f := range plan.Report.Faults {
				if f.Action != input.Turned {
					got = f.Action
				}
			}
			if got != c.action {
				t.Errorf("%v", plan.Report.Faults)
			}
			size := planar.Area(g)
			if c.kind == "MultiLineString" {
				size = planar.Length(g)
			}
			if c.area > 0 && math.Abs(size-c.area) > 1e-9*c.area {
				t.Errorf("size %v, want %v: %v", size, c.area, g)
			}
			if b := g.Bound(); b.Min[0] < -180 || b.Max[0] > 180 {
				t.Errorf("%v", b)
			}
			if m, ok := g.(orb.MultiPolygon); ok && c.action == input.Repaired {
				for _, p := range m {
					if b := p.Bound(); b.Max[0]-b.Min[0] > 180 {
						t.Errorf("a part goes around the world: %v", b)
					}
				}
			}
		})
	}
}
