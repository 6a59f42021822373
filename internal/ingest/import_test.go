package ingest_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

func TestFeatureIDs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		field  string
		key    store.FeatureKey
		first  string         // id of the first feature, in the order of ids
		values map[string]any // of it
		refuse string
		line   int
		rows   int // features that get row numbers
	}{
		"the format's own, whole numbers": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":7,`, `"a":1`),
			ingesttest.PointWith(`"id":12,`, `"a":2`)),
			key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger}, first: "7",
			values: map[string]any{"a": int64(1)}},
		"the format's own, text": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":"0301",`, `"a":1`)),
			key: store.FeatureKey{Column: "id", Type: cql2.TypeText}, first: "0301",
			values: map[string]any{"a": int64(1)}},
		"the format's own beats the property id": {
			text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":"b",`, `"id":5`)),
			key:  store.FeatureKey{Column: "id", Type: cql2.TypeText}, first: "b",
			values: map[string]any{"id_": int64(5)}},
		"the format's own is the property id": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":5,`, `"id":5`)),
			key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger, Property: "id"}, first: "5",
			values: map[string]any{"id": int64(5)}},
		"the property id": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"id":"01001","a":true`)),
			key: store.FeatureKey{Column: "id", Type: cql2.TypeText, Property: "id"}, first: "01001",
			values: map[string]any{"id": "01001", "a": true}},
		"the property id, not unique": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"id":1`),
			ingesttest.PointWith("", `"id":1`)),
			key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, first: "1",
			values: map[string]any{"id_": int64(1)}},
		"the property id, null": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"id":null`),
			ingesttest.PointWith("", `"id":1`)),
			key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, first: "1",
			values: map[string]any{"id_": nil}},
		"none": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"fid":"x"`)),
			key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, first: "1",
			values: map[string]any{"fid": "x"}},
		"named": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, `"nr":"0301","id":2`)), field: "nr",
			key: store.FeatureKey{Column: "nr", Type: cql2.TypeText, Property: "nr"}, first: "0301",
			values: map[string]any{"nr": "0301", "id_": int64(2)}},
		"named, days become text": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"nr":"2024-01-01"`)),
			field: "nr",
			key:   store.FeatureKey{Column: "nr", Type: cql2.TypeText, Property: "nr"}, first: "2024-01-01",
			values: map[string]any{"nr": "2024-01-01"}},
		"named, numbers and texts": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"nr":"a"`),
			ingesttest.PointWith("", `"nr":1.0`)), field: "nr",
			key: store.FeatureKey{Column: "nr", Type: cql2.TypeText, Property: "nr"}, first: "1",
			values: map[string]any{"nr": "1"}},
		"twice": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, ""),
			ingesttest.PointWith(`"id":2,`, ""), ingesttest.PointWith(`"id":1,`, "")),
			refuse: `the id "1" is that of feature 1 too`, line: 3},
		"as number and text": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, ""),
			ingesttest.PointWith(`"id":"1",`, "")), refuse: `is that of feature 1 too`, line: 2},
		"missing in one": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":7,`, ""), ingesttest.PointWith("", "")),
			key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger}, first: "2", values: map[string]any{}, rows: 1},
		"missing in the first, whose number is taken": {text: ingesttest.GeoJSON(ingesttest.PointWith("", ""),
			ingesttest.PointWith(`"id":"b",`, ""), ingesttest.PointWith(`"id":1,`, "")),
			key: store.FeatureKey{Column: "id", Type: cql2.TypeText}, first: "1", values: map[string]any{}, rows: 1},
		"missing in all but one, with a property id": {
			text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, `"id":"x"`), ingesttest.PointWith("", `"id":"w"`)),
			key:  store.FeatureKey{Column: "id", Type: cql2.TypeText, Property: "id"}, first: "w",
			values: map[string]any{"id": "w"}},
		"null": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":"a",`, ""),
			ingesttest.PointWith(`"id":null,`, "")),
			key: store.FeatureKey{Column: "id", Type: cql2.TypeText}, first: "2", values: map[string]any{}, rows: 1},
		"named, null": {text: ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, `"nr":"a"`),
			ingesttest.PointWith(`"id":2,`, `"nr":null`)), field: "nr",
			key: store.FeatureKey{Column: "id", Type: cql2.TypeText}, first: "2",
			values: map[string]any{"nr": nil}, rows: 1},
		"named id, empty": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"id":"b"`),
			ingesttest.PointWith("", `"id":""`)), field: "id",
			key: store.FeatureKey{Column: "id", Type: cql2.TypeText}, first: "2",
			values: map[string]any{"id_": ""}, rows: 1},
		"named, twice": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"nr":"b"`),
			ingesttest.PointWith("", `"nr":"b"`)), field: "nr", refuse: `"b" is that of feature 1 too`, line: 2},
		"named, and not there": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"navn":"b"`)), field: "nr",
			refuse: `there is no property "nr" for --id-field; there are: navn`},
		"named, and a list of texts": {text: ingesttest.GeoJSON(ingesttest.PointWith("", `"nr":["b"]`)), field: "nr",
			refuse: `no feature has an id in the property "nr"`, line: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := ingest.Target{Collection: "x", IDField: c.field}
			if c.refuse != "" {
				plan, err := ingesttest.Survey(t, "a.geojson", c.text, target)
				f, ok := ingesttest.Find(plan.Report, input.Refused, c.refuse)
				if !errors.Is(err, input.ErrRefused) || !ok || f.Line != c.line {
					t.Fatalf("%v, %+v", err, plan.Report.Faults)
				}
				return
			}
			plan, have := ingesttest.ImportText(t, "a.geojson", c.text, target)
			if plan.Collection.Key != c.key || have[0].ID != c.first || !reflect.DeepEqual(have[0].Values, c.values) {
				t.Errorf("%+v, id %s, %#v", plan.Collection.Key, have[0].ID, have[0].Values)
			}
			if _, rows := ingesttest.Find(plan.Report, input.Warning, "features without an id"); rows != (c.rows > 0) ||
				len(have) != plan.Report.Read {
				t.Errorf("%d of %d features: %+v", len(have), plan.Report.Read, plan.Report.Faults)
			}
			_, numbered := ingesttest.Find(plan.Report, input.Warning, "no id of their own")
			if numbered != (c.key.Column == "fid") {
				t.Errorf("warned of numbers: %v", numbered)
			}
		})
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		values []string // JSON, one a feature
		typ    cql2.Type
		want   []any
	}{
		"integers":  {[]string{"1", "null", "-5"}, cql2.TypeInteger, []any{int64(1), nil, int64(-5)}},
		"numbers":   {[]string{"1.5", "2"}, cql2.TypeNumber, []any{1.5, 2.0}},
		"exponents": {[]string{"1e3"}, cql2.TypeNumber, []any{1000.0}},
		"large": {[]string{"9223372036854775807"}, cql2.TypeInteger,
			[]any{int64(9223372036854775807)}},
		"larger than 64 bits": {[]string{"9223372036854775808"}, cql2.TypeText, []any{"9223372036854775808"}},
		"large beside fractions": {[]string{"9007199254740993", "0.5"}, cql2.TypeText,
			[]any{"9007199254740993", "0.5"}},
		"beyond a float64": {[]string{"1e400", "1"}, cql2.TypeText, []any{"1e400", "1"}},
		"truth values":     {[]string{"true", "false"}, cql2.TypeBool, []any{true, false}},
		"days":             {[]string{`"2024-01-01"`, "null"}, cql2.TypeDate, []any{"2024-01-01", nil}},
		"no such day":      {[]string{`"2024-02-30"`}, cql2.TypeText, []any{"2024-02-30"}},
		"moments": {[]string{`"2015-04-22T00:00:00+07:00"`, `"2015-04-22 10:00:00"`}, cql2.TypeTimestamp,
			[]any{"2015-04-21T17:00:00.000Z", "2015-04-22T10:00:00.000Z"}},
		"days and moments": {[]string{`"2015-04-22"`, `"2015-04-22T10:00:00Z"`}, cql2.TypeText,
			[]any{"2015-04-22", "2015-04-22T10:00:00Z"}},
		"days and empty text": {[]string{`"2015-04-22"`, `""`}, cql2.TypeText, []any{"2015-04-22", ""}},
		"leading zeros":       {[]string{`"0301"`, `"5501"`}, cql2.TypeText, []any{"0301", "5501"}},
		"numbers as text":     {[]string{`"1"`}, cql2.TypeText, []any{"1"}},
		"text and numbers":    {[]string{`"a"`, "1.50", "true"}, cql2.TypeText, []any{"a", "1.50", "true"}},
		"lists": {[]string{`[{"navn": "Tromsø", "nr": 1.0}]`, "null"}, cql2.TypeJSON,
			[]any{store.JSON(`[{"navn":"Tromsø","nr":1.0}]`), nil}},
		"lists and plain texts": {[]string{`[1]`, `"a\"b"`, "1"}, cql2.TypeJSON,
			[]any{store.JSON(`[1]`), store.JSON(`"a\"b"`), store.JSON("1")}},
		"nothing": {[]string{"null", "null"}, cql2.TypeText, []any{nil, nil}},
		"escapes": {[]string{`"\u00e6\ud83d\ude00\n\/"`}, cql2.TypeText, []any{"æ😀\n/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list []string
			for i, v := range c.values {
				list = append(list, ingesttest.PointWith(fmt.Sprintf(`"id":%d,`, i), `"v":`+v))
			}
			plan, have := ingesttest.ImportText(t, "a.geojson", ingesttest.GeoJSON(list...), ingesttest.Into)
			if p := plan.Collection.Properties[0]; p.Type != c.typ {
				t.Errorf("type %v, want %v", p.Type, c.typ)
			}
			for i, f := range have {
				if !sameValue(f.Values["v"], c.want[i]) {
					t.Errorf("%s: %#v, want %#v", c.values[i], f.Values["v"], c.want[i])
				}
			}
		})
	}
}

// sameValue compares values; moments as moments.
func sameValue(a, b any) bool {
	x, okX := a.(string)
	y, okY := b.(string)
	if tx, err := time.Parse(time.RFC3339, x); okX && err == nil {
		if ty, err := time.Parse(time.RFC3339, y); okY && err == nil {
			return tx.Equal(ty)
		}
	}
	return reflect.DeepEqual(a, b)
}

func TestPropertiesThatAreNotInEveryFeature(t *testing.T) {
	t.Parallel()
	plan, have := ingesttest.ImportText(t, "a.geojson", ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, `"a":1`),
		ingesttest.PointWith(`"id":2,`, `"Navn":"x","NAVN":"y","geometry":"g","geom":"h"`),
		ingesttest.PointWith(`"id":3,`, `"NAVN":"z","a":3`)), ingesttest.Into)
	want := []map[string]any{
		{"a": int64(1), "Navn": nil, "NAVN": nil, "geometry_": nil, "geom": nil},
		{"a": nil, "Navn": "x", "NAVN": "y", "geometry_": "g", "geom": "h"},
		{"a": int64(3), "Navn": nil, "NAVN": "z", "geometry_": nil, "geom": nil},
	}
	for i, f := range have {
		if !reflect.DeepEqual(f.Values, want[i]) {
			t.Errorf("%v, want %v", f.Values, want[i])
		}
	}
	if plan.Report.Written != 3 || plan.Report.Read != 3 {
		t.Errorf("%+v", plan.Report)
	}
}

func TestReferenceSystems(t *testing.T) {
	t.Parallel()
	with := func(crs, x, y string) string {
		return fmt.Sprintf(`{"type":"FeatureCollection",%s"features":[{"type":"Feature","id":1,"properties":{},`+
			`"geometry":{"type":"Point","coordinates":[%s,%s]}}]}`, crs, x, y)
	}
	named := func(name string) string { return `"crs":{"type":"name","properties":{"name":"` + name + `"}},` }
	for name, c := range map[string]struct {
		text   string
		state  crs.ID
		want   crs.ID
		tell   string // a fault
		refuse bool
	}{
		"none": {with("", "10", "60"), 0, crs.CRS84, "", false},
		"none, metres": {with("", "289110.7", "7149195.1"), 0, 0,
			"x = 289110.7 does not exist in OGC:CRS84", true},
		"none, latitude first": {with("", "60", "100"), 0, 0, "y = 100 does not exist", true},
		"stated by the user":   {with("", "289110.7", "7149195.1"), crs.UTM33, crs.UTM33, "", false},
		"legacy":               {with(named("EPSG:25833"), "289110.7", "7149195.1"), 0, crs.UTM33, "", false},
		"legacy, URN": {with(named("urn:ogc:def:crs:EPSG::32633"), "289110.7", "7149195.1"), 0,
			crs.WGS84UTM33, "", false},
		"legacy, CRS84": {with(named("urn:ogc:def:crs:OGC:1.3:CRS84"), "10", "60"), 0,
			crs.CRS84, "", false},
		"legacy, by code": {with(`"crs":{"type":"EPSG","properties":{"code":25832}},`, "289110", "6649195"),
			0, crs.UTM32, "", false},
		"legacy, null": {with(`"crs":null,`, "10", "60"), 0, 0,
			"no reference system is stated; state it with --crs", true},
		"legacy, link": {with(`"crs":{"type":"link","properties":{"href":"http://example.org/x"}},`, "10",
			"60"), 0, 0, "is not known", true},
		"legacy, not served": {with(named("EPSG:27700"), "400000", "300000"), 0, 0,
			"EPSG:27700 is not served", true},
		"legacy, near WGS 84":        {with(named("EPSG:4269"), "10", "60"), 0, crs.CRS84, "two metres", false},
		"legacy says metres, degree": {with(named("EPSG:25833"), "10", "60"), 0, 0, "look like degrees", true},
		"user against the file": {with(named("EPSG:4326"), "289110.7", "7149195.1"), crs.UTM33, crs.UTM33,
			"another reference system (EPSG:4326) than --crs", false},
		"mixed": {`{"type":"FeatureCollection",` + named("EPSG:25833") + `"features":[{"type":"Feature",` +
			named("EPSG:25832") + `"properties":{},"geometry":null}]}`,
			0, 0, "mixes reference systems: EPSG:25832 here, EPSG:25833 before", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := ingest.Survey(t.Context(), ingesttest.Open(t, ingesttest.WriteFile(t, "a.json", c.text),
				c.state).Layers, ingesttest.Into, ingest.Watch{})
			if errors.Is(err, input.ErrRefused) != c.refuse {
				t.Fatal(err)
			}
			action := input.Warning
			if c.refuse {
				action = input.Refused
			}
			if _, ok := ingesttest.Find(plan.Report, action, c.tell); c.tell != "" && !ok {
				t.Errorf("%q is not in %v", c.tell, plan.Report.Faults)
			}
			if !c.refuse && plan.Collection.Geometry.CRS != c.want {
				t.Errorf("%v, want %v", plan.Collection.Geometry.CRS, c.want)
			}
		})
	}
}

func TestFilesInDifferentSystemsAreConverted(t *testing.T) {
	t.Parallel()
	a := ingesttest.Open(t,
		ingesttest.WriteFile(t, "a.geojson", ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, ""))), 0)
	b := ingesttest.Open(t,
		ingesttest.WriteFile(t, "b.geojson",
			`{"type":"Feature","crs":{"type":"name","properties":{"name":"EPSG:25833"}},"id":2,"properties":{},`+
				`"geometry":{"type":"Point","coordinates":[500000,6651411.19]}}`), 0)
	plan, err := ingest.Survey(t.Context(), append(a.Layers, b.Layers...), ingesttest.Into, ingest.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	have := ingesttest.Features(t, ingesttest.Write(t, plan), "x")
	g, err := store.Geometry{WKB: have[1].WKB}.Orb()
	if p, ok := g.(orb.Point); err != nil || !ok || math.Abs(p[0]-15) > 1e-9 || math.Abs(p[1]-60) > 1e-6 {
		t.Errorf("%v, %v", g, err)
	}
	if _, ok := ingesttest.Find(plan.Report, input.Warning, "converted from EPSG:25833 to OGC:CRS84"); !ok {
		t.Errorf("%v", plan.Report.Faults)
	}
}

func TestRings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		geometry string
		want     string // orb's form, %v
		action   input.Action
	}{
		"right": {`{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,0]]]}`,
			"[[[0 0] [2 0] [2 2] [0 0]]]", ""},
		"open": {`{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2]]]}`, "[[[0 0] [2 0] [2 2] [0 0]]]",
			input.Repaired},
		"with the clock": {`{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,0]]]}`,
			"[[[0 0] [2 0] [2 2] [0 0]]]", input.Turned},
		"coordinates before": {`{"coordinates":[[[0,0],[2,0],[2,2],[0,0]]],"type":"Polygon"}`,
			"[[[0 0] [2 0] [2 2] [0 0]]]", ""},
		"hole turned": {`{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[2,1],[2,2],` +
			`[1,1]]],[[[20,0],[22,0],[22,2],[20,0]]]]}`,
			"[[[[0 0] [9 0] [9 9] [0 9] [0 0]] [[1 1] [2 2] [2 1] [1 1]]] [[[20 0] [22 0] [22 2] [20 0]]]]",
			input.Turned},
		"bow-tie": {`{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}`,
			"[[[[2 2] [1 1] [2 0] [2 2]]] [[[0 0] [1 1] [0 2] [0 0]]]]", input.Repaired},
		"overlap stays": {
			`{"type":"MultiPolygon","coordinates":[[[[0,0],[2,0],[2,2],[0,0]]],[[[1,0],[3,0],[3,2],[1,0]]]]}`,
			"[[[[0 0] [2 0] [2 2] [0 0]]] [[[1 0] [3 0] [3 2] [1 0]]]]", input.Kept},
		"empty":         {`{"type":"Polygon","coordinates":[]}`, "<nil>", ""},
		"null":          {`null`, "<nil>", ""},
		"mixed heights": {`{"type":"LineString","coordinates":[[0,0,1],[2,2]]}`, "[[0 0] [2 2]]", input.Repaired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, have := ingesttest.ImportText(t, "a.geojson",
				`{"type":"Feature","id":1,"properties":null,"geometry":`+c.geometry+`}`, ingesttest.Into)
			g, err := store.Geometry{WKB: have[0].WKB}.Orb()
			if err != nil || fmt.Sprint(g) != c.want {
				t.Errorf("%v, %v, want %s", g, err, c.want)
			}
			var got input.Action
			for _, f := range plan.Report.Faults {
				got = f.Action
			}
			if got != c.action {
				t.Errorf("%v", plan.Report.Faults)
			}
		})
	}
}

// TestRepairs reads real municipalities of which 33 are not valid. Of 19 the parts overlap by more than a millionth,
// which stay; what was repaired is valid.
func TestRepairs(t *testing.T) {
	t.Parallel()
	src := ingesttest.Open(t, ingesttest.SharedPath(t, "data", "norway", "robhop-2024", "Kommuner-M.geojson.gz"), 0)
	plan, err := ingest.Survey(t.Context(), src.Layers, ingesttest.Into, ingest.Watch{})
	if err != nil || plan.Report.Repaired != 14 || plan.Report.Kept != 19 {
		t.Fatalf("%v %+v", err, plan.Report)
	}
	st := ingesttest.Write(t, plan)
	again, err := ingest.Survey(t.Context(), ingestLayers(t, st), ingest.Target{Collection: "y"}, ingest.Watch{})
	if err != nil || again.Report.Read != 357 || again.Report.Kept != 19 ||
		again.Report.Repaired+again.Report.Turned != 0 {
		t.Errorf("what was written is not valid: %v %+v", err, again.Report)
	}
}

// ingestLayers reads a store as a source.
func ingestLayers(t *testing.T, st store.Store) []*ingest.Layer {
	t.Helper()
	return ingest.StoreLayers("store", st)
}

func TestHeightsAreKept(t *testing.T) {
	t.Parallel()
	plan, have := ingesttest.ImportText(t, "a.geojson",
		`{"type":"Feature","id":1,"properties":null,"geometry":{"type":"LineString","coordinates":[[1,2,3],[4,5,6]]}}`,
		ingesttest.Into)
	if g := (store.Geometry{WKB: have[0].WKB}); !g.HasZ() || !plan.Collection.Geometry.HasZ ||
		len(have[0].WKB) != 9+2*24 {
		t.Errorf("%x", have[0].WKB)
	}
}

func TestOfficialDownload(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	src := ingesttest.Open(t,
		ingesttest.SharedPath(t, "data", "norway", "Basisdata_0000_Norge_25833_Fylker_GeoJSON.zip"), 0)
	if len(src.Layers) != 2 || src.Layers[0].Name != "Fylke" || src.Layers[1].Name != "Grense" {
		t.Fatalf("%+v", src.Layers)
	}
	const local = "identifikasjon.Identifikasjon.lokalId"
	for i, n := range []int{15, 4636} {
		plan, err := ingest.Survey(t.Context(), src.Layers[i:i+1],
			ingest.Target{Collection: "x", IDField: local, TitleField: "objtype"}, ingest.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		st := ingesttest.Write(t, plan)
		have := ingesttest.Features(t, st, "x")
		c, _ := st.Catalog().Collection("x")
		if len(have) != n || c.Geometry.CRS != crs.UTM33 || c.IntervalStart != "gyldigFra" ||
			c.IntervalEnd != "gyldigTil" || c.TitleProperty != "objtype" {
			t.Errorf("%d features, %+v", len(have), c)
		}
		f := have[0]
		if f.ID != f.Values[local] || len(f.ID) != 36 {
			t.Errorf("id %q of %v", f.ID, f.Values)
		}
		if i == 1 {
			continue
		}
		if _, ok := f.Values["samiskForvaltningsområde"].(bool); !ok {
			t.Errorf("%#v", f.Values["samiskForvaltningsområde"])
		}
		if names, ok := f.Values["administrativenhetnavn"].(store.JSON); !ok ||
			!strings.HasPrefix(string(names), `[{"navn":"`) {
			t.Errorf("%#v", f.Values["administrativenhetnavn"])
		}
	}
}

func TestPackedFiles(t *testing.T) {
	t.Parallel()
	text := ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, `"a":"æ"`))
	var gz, archive bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write([]byte(text))
	z.Close()
	a := zip.NewWriter(&archive)
	for _, n := range []string{"a/one.geojson", "a/lies.txt", "__MACOSX/a/._one.geojson", "two.csv"} {
		w, err := a.Create(n)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(n, ".csv") {
			w.Write([]byte("lon;lat;id\n10;60;1\n"))
		} else {
			w.Write([]byte(text))
		}
	}
	a.Close()
	if have := ingesttest.Features(t,
		ingesttest.Write(t, ingesttest.MustSurvey(t, ingesttest.WriteFile(t, "a.geojson.gz", gz.String()), 0)),
		"x"); len(have) != 1 || have[0].Values["a"] != "æ" {
		t.Errorf("%v", have)
	}
	if src := ingesttest.Open(t, ingesttest.WriteFile(t, "a.zip", archive.String()), 0); len(src.Layers) != 2 ||
		src.Layers[0].Name != "one" || src.Layers[1].Name != "two" {
		t.Errorf("%+v", src.Layers)
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"cut off":      {"a.geojson.gz", gz.String()[:gz.Len()-9], "cut off or damaged"},
		"not gzip":     {"a.geojson.gz", text, "not packed with gzip"},
		"not zip":      {"a.zip", text, "not a zip archive"},
		"zip, cut off": {"a.zip", archive.String()[:archive.Len()/2], "not a zip archive"},
		"no data":      {"a.txt", text, `files that end in ".txt" are not read`},
	} {
		src, err := ingest.Open(t.Context(), ingesttest.WriteFile(t, c.file, c.text), input.Options{})
		if err == nil {
			_, err = ingest.Survey(t.Context(), src.Layers, ingesttest.Into, ingest.Watch{})
			src.Close()
		}
		if !errors.Is(err, input.ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBombs packs much white space into little, in both forms.
func TestBombs(t *testing.T) {
	t.Parallel()
	space := bytes.Repeat([]byte(" "), 1<<20)
	var gz, archive bytes.Buffer
	z := gzip.NewWriter(&gz)
	a := zip.NewWriter(&archive)
	w, err := a.Create("a.geojson")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		z.Write(space)
		w.Write(space)
	}
	z.Close()
	a.Close()
	for _, c := range []struct{ file, text string }{{"a.geojson.gz", gz.String()}, {"a.zip", archive.String()}} {
		for want, l := range map[string]input.Limits{"decompression bomb": {Free: 1 << 20},
			"more than 2097152 bytes": {Unpacked: 2 << 20, Ratio: 10_000}} {
			_, err := ingest.Open(t.Context(), ingesttest.WriteFile(t, c.file, c.text), input.Options{Limits: l})
			if !errors.Is(err, input.ErrRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", c.file, err, want)
			}
		}
	}
	if _, err := ingest.Open(t.Context(), ingesttest.WriteFile(t, "a.zip", archive.String()),
		input.Options{Limits: input.Limits{Entries: -1}}); !errors.Is(err, input.ErrRefused) {
		t.Errorf("too many entries: %v", err)
	}
}

// TestMemoryDoesNotGrowWithTheFile surveys and writes 200 000 features, 20 MB, to a writer that keeps nothing.
func TestMemoryDoesNotGrowWithTheFile(t *testing.T) { // not parallel: it measures
	path := filepath.Join(t.TempDir(), "large.geojsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const n = 200_000
	for i := range n {
		fmt.Fprintf(f, `{"type":"Feature","id":%d,"properties":{"navn":"navn %d"},"geometry":{"type":"Point",`+
			`"coordinates":[%d.5,60]}}`+"\n", i, i, i%100)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	measure := func(done, total int64) {
		runtime.ReadMemStats(&now)
		peak = max(peak, now.HeapInuse)
	}
	calls := 0
	plan, err := ingest.Survey(t.Context(), ingesttest.Open(t, path, 0).Layers, ingesttest.Into,
		ingest.Watch{Progress: func(done, total int64) {
			if calls++; calls%20 == 0 {
				measure(done, total)
			}
			if done < 0 || done > total {
				t.Errorf("%d of %d bytes", done, total)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	w := &ingesttest.CountingWriter{}
	if err := plan.Write(t.Context(), w); err != nil || w.Rows != n || calls < 1000 {
		t.Fatalf("%v, %d rows, %d calls", err, w.Rows, calls)
	}
	if grown := int64(peak) - int64(before.HeapInuse); grown > 40<<20 {
		t.Errorf("the heap grew by %d MB", grown>>20)
	}
}

// BenchmarkSurvey reads 35 357 polygons with 2.2 million vertices: 2.3 s on two cores, 1 s of it in the test of
// validity.
func BenchmarkSurvey(b *testing.B) {
	src := ingesttest.Open(b, ingesttest.SharedPath(b, "data", "france", "france-communes-2018.geojsonl.gz"), 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ingest.Survey(b.Context(), src.Layers, ingesttest.Into, ingest.Watch{}); err != nil {
			b.Fatal(err)
		}
	}
}
