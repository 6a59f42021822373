package topojson_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

func TestTopoJSON(t *testing.T) {
	t.Parallel()
	const arcs = `"transform":{"scale":[0.5,0.5],"translate":[10,60]},"arcs":[[[0,0],[2,0]],[[2,0],[0,2]],[[2,2],[-2,` +
		`-2]],[[4,4],[1,1]]]`
	for name, c := range map[string]struct {
		geometry string
		want     string
		refuse   string
	}{
		"line":         {`{"type":"LineString","arcs":[0,1]}`, "[[10 60] [11 60] [11 61]]", ""},
		"backwards":    {`{"type":"LineString","arcs":[-2,-1]}`, "[[11 61] [11 60] [10 60]]", ""},
		"ring":         {`{"type":"Polygon","arcs":[[0,1,2]]}`, "[[[10 60] [11 60] [11 61] [10 60]]]", ""},
		"ring, turned": {`{"arcs":[[-3,-2,-1]],"type":"Polygon"}`, "[[[10 60] [11 60] [11 61] [10 60]]]", ""},
		"polygons":     {`{"type":"MultiPolygon","arcs":[[[0,1,2]]]}`, "[[[[10 60] [11 60] [11 61] [10 60]]]]", ""},
		"lines": {`{"type":"MultiLineString","arcs":[[0],[3]]}`,
			"[[[10 60] [11 60]] [[12 62] [12.5 62.5]]]", ""},
		"point":  {`{"type":"Point","coordinates":[2,4]}`, "[11 62]", ""},
		"points": {`{"type":"MultiPoint","coordinates":[[2,4],[0,0]]}`, "[[11 62] [10 60]]", ""},
		"null":   {`{"type":null}`, "<nil>", ""},
		"nested": {`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0,0]}]}`,
			"[[10 60]]", ""},
		"no such arc":   {`{"type":"LineString","arcs":[9]}`, "", "there is no arc 9"},
		"wrong depth":   {`{"type":"Polygon","arcs":[0]}`, "", "do not fit to a Polygon"},
		"no arcs":       {`{"type":"Polygon"}`, "", "they are missing"},
		"unknown type":  {`{"type":"Curve"}`, "", `the type "Curve" is unknown`},
		"least integer": {`{"type":"LineString","arcs":[-9223372036854775808]}`, "", "there is no arc"},
	} {
		for order, text := range map[string]string{
			"arcs last": fmt.Sprintf(`{"type":"Topology","objects":{"other":{"type":"Point","coordinates":[0,0]},`+
				`"k":{"type":"GeometryCollection","geometries":[%s]}},%s}`, c.geometry, arcs),
			"arcs first": fmt.Sprintf(`{%s,"objects":{"k":{"geometries":[%s],"type":"GeometryCollection"}},`+
				`"type":"Topology"}`, arcs, c.geometry),
		} {
			src := ingesttest.Open(t, ingesttest.WriteFile(t, "a.json", text), crs.CRS84)
			l := src.Layers[len(src.Layers)-1:]
			plan, err := ingest.Survey(t.Context(), l, ingesttest.Into, ingest.Watch{})
			if c.refuse != "" {
				if f, ok := ingesttest.Find(plan.Report, input.Refused, c.refuse); !errors.Is(err, input.ErrRefused) ||
					!ok || f.Line != 1 {
					t.Errorf("%s, %s: %v %v", name, order, err, plan.Report.Faults)
				}
				continue
			}
			if err != nil || l[0].Name != "k" {
				t.Errorf("%s, %s: %s, %v", name, order, l[0].Name, err)
				continue
			}
			g, err := store.Geometry{WKB: ingesttest.Features(t, ingesttest.Write(t, plan), "x")[0].WKB}.Orb()
			if err != nil || fmt.Sprint(g) != c.want {
				t.Errorf("%s, %s: %v, %v", name, order, g, err)
			}
		}
	}
}

// TestTopoJSONEqualsGeoJSON compares two files of the same municipalities.
func TestTopoJSONEqualsGeoJSON(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	read := func(name string, id crs.ID) map[string]orb.Bound {
		out := map[string]orb.Bound{}
		for _, f := range ingesttest.Features(t, ingesttest.Write(t,
			ingesttest.MustSurvey(t, ingesttest.SharedPath(t, "data", "norway", "robhop-2024", name), id)), "x") {
			b, _, err := store.Geometry{WKB: f.WKB}.Bound()
			if err != nil {
				t.Fatal(err)
			}
			out[fmt.Sprint(f.ID, f.Values["kommunenavn"])] = b
		}
		return out
	}
	topo, geo := read("Kommuner-S.topojson.gz", crs.CRS84), read("Kommuner-S.geojson.gz", 0)
	if len(topo) != 357 {
		t.Errorf("%d features", len(topo))
	}
	for id, b := range geo {
		x, ok := topo[id]
		for k := range 2 {
			if !ok || math.Abs(x.Min[k]-b.Min[k]) > 1e-6 || math.Abs(x.Max[k]-b.Max[k]) > 1e-6 {
				t.Errorf("%s: %v, want %v", id, x, b)
			}
		}
	}
	src := ingesttest.Open(t, ingesttest.SharedPath(t, "data", "norway", "robhop-2024", "Kommuner-S.topojson.gz"), 0)
	plan, err := ingest.Survey(t.Context(), src.Layers, ingesttest.Into, ingest.Watch{})
	if _, ok := ingesttest.Find(plan.Report, input.Refused,
		"no reference system is stated; state it with --crs"); !errors.Is(err, input.ErrRefused) || !ok {
		t.Errorf("without a stated system: %v", err)
	}
}
