package ingest_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb/encoding/wkt"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

// TestSyntaxFaults gives texts that are not JSON. The place is line:column of where reading ended.
func TestSyntaxFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "1:1 the file is empty",
		" \n ":                      "2:2 the file is empty",
		"\x00":                      "1:1 a zero byte",
		"[]":                        "1:1 the outermost value must be an object, but is an array",
		"{\n":                       "2:1 the text ends where a name in quotation marks is expected",
		"{\n \"type\"":              `2:8 the text ends where ':' is expected`,
		`{"type":"Point",}`:         "1:17 a comma before '}'",
		`{"type" "Point"}`:          `1:9 '"' where ':' is expected`,
		`{type:1}`:                  `1:2 't' where a name in quotation marks is expected`,
		`{"a":[1 2]}`:               `1:9 '2' where a comma or ']' is expected`,
		`{"a":01}`:                  `1:8 "01" is not a number`,
		`{"a":-}`:                   `1:7 "-" is not a number`,
		`{"a":1.}`:                  `1:8 "1." is not a number`,
		`{"a":1e}`:                  `1:8 "1e" is not a number`,
		`{"a":+1}`:                  `'+' where a value is expected`,
		`{"a":NaN}`:                 `1:6 "NaN" is not JSON`,
		`{"a":True}`:                `1:6 "True" is not JSON`,
		`{"a":"x`:                   "1:8 the text ends inside a string",
		"{\"a\":\"\t\"}":            "1:7 the control character '\\t' in a string",
		`{"a":"\x"}`:                `1:9 \x is not an escape`,
		`{"a":"\u12g4"}`:            `1:11 'g' is not a hexadecimal digit`,
		`{"a":"\ud83d"}`:            "half of a surrogate pair",
		`{"a":"\ud83d\u0041"}`:      "half of a surrogate pair",
		"{\"a\":\"\xff\"}":          "is not UTF-8; convert the file",
		strings.Repeat(`{"a":`, 99): "more than 64 arrays and objects in each other",
	} {
		plan, err := ingesttest.Survey(t, "a.json", text, ingesttest.Into)
		if !errors.Is(err, input.ErrRefused) || len(plan.Report.Faults) == 0 {
			t.Errorf("%q: %v", text, err)
			continue
		}
		f := plan.Report.Faults[0]
		if got := fmt.Sprintf("%d:%d %s", f.Line, f.Column,
			strings.TrimPrefix(f.Reason, "not JSON: ")); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestGeometryFaults(t *testing.T) {
	t.Parallel()
	for geometry, want := range map[string]string{
		`{"type":"Point","coordinates":[1,[2]]}`:              "must be a number, but one is an array",
		`{"type":"LineString","coordinates":[[1,2],3]}`:       "a number stands among arrays",
		`{"type":"LineString","coordinates":[[1,2],[[3,4]]]}`: "different depths of arrays",
		`{"type":"Point","coordinates":[[1,2]]}`:              "nested too deep",
		`{"type":"Point","coordinates":[1e999,2]}`:            "too large for a coordinate",
		`{"type":"Point","coordinates":null}`:                 `"coordinates" must be an array`,
		`{"type":"Point"}`:                                    `a Point needs a member "coordinates"`,
		`{"type":"MultiPoint","coordinates":[[]]}`:            "arrays without positions",
		`{"type":"MultiPoint","coordinates":[[1,2],[]]}`: "an empty array stands where a position " +
			"is expected",
		`{"type":"GeometryCollection"}`:                                 `needs a member "geometries"`,
		`{"type":"GeometryCollection","geometries":[null]}`:             "a geometry must be an object, but is null",
		`{"type":"GeometryCollection","geometries":[{"type":"Point"}]}`: `a Point needs a member "coordinates"`,
		`{"type":"point","coordinates":[1,2]}`:                          `the type "point" is written Point`,
		`{"type":"Feature","geometry":null,"properties":null}`:          "the type must be the name of a geometry",
		`{}`:      `the member "type" is missing`,
		`"POINT"`: "a geometry must be an object, but is a string",
		`{"type":"Point","coordinates":[1,2],"coordinates":[3,4]}`: `the member "coordinates" stands here a ` +
			`second time`,
	} {
		plan, err := ingesttest.Survey(t, "a.json", ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, ""),
			"\n"+`{"type":"Feature","id":2,"properties":{},"geometry":`+geometry+`}`), ingesttest.Into)
		f, ok := ingesttest.Find(plan.Report, input.Refused, want)
		if !errors.Is(err, input.ErrRefused) || !ok || f.Line != 3 || f.Feature != 2 || plan.Report.Read != 2 {
			t.Errorf("%s: %v %+v", geometry, err, plan.Report.Faults)
		}
	}
}

// TestShortPartsAreDropped has geometries with rings or lines of too few positions, and what is left of them.
func TestShortPartsAreDropped(t *testing.T) {
	t.Parallel()
	const whole = "((0 0,1 0,1 1,0 0))"
	for geometry, want := range map[string]string{
		`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],` +
			`[0,0]]],[]]}`: "MULTIPOLYGON(" + whole + ")",
		`{"type":"MultiPolygon","coordinates":[[],[[[0,0],[1,0],[1,1],[0,0]]],[[[8,8],[9,` +
			`9],[8,8]]]]}`: "MULTIPOLYGON(" + whole + ")",
		`{"type":"MultiPolygon","coordinates":[[[[8,8],[9,9]],[[0,0],[1,0],[1,1],[0,0]]]]}`: "",
		`{"type":"Polygon","coordinates":[[[0,0],[1,0]]]}`:                                  "",
		`{"type":"Polygon","coordinates":[[]]}`:                                             "",
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],` +
			`[1,1]],[]]}`: "POLYGON" + whole,
		`{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]],[[1,1],[2,2]],[[3,1],[2,1],[3,` +
			`2],[3,1]]]}`: "POLYGON((0 0,4 0,4 4,0 0),(3 1,2 1,3 2,3 1))",
		`{"type":"MultiLineString","coordinates":[[[0,0]]]}`: "",
		`{"type":"MultiLineString","coordinates":[[[0,0]],[[1,1],` +
			`[2,2]],[]]}`: "MULTILINESTRING((1 1,2 2))",
		`{"type":"LineString","coordinates":[[1,1]]}`: "",
		`{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[1,1]]},{"type":"Point",` +
			`"coordinates":[1,2]}]}`: "GEOMETRYCOLLECTION(POINT(1 2))",
	} {
		text := ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, ""),
			"\n"+`{"type":"Feature","id":2,"properties":{},"geometry":`+geometry+`}`)
		plan, have := ingesttest.ImportText(t, "a.json", text, ingesttest.Into)
		f, ok := ingesttest.Find(plan.Report, input.Dropped, "what has fewer is left out")
		if !ok || f.Line != 3 || f.Feature != 2 || plan.Report.Dropped != 1 || plan.Report.Refused != 0 {
			t.Errorf("%s: %+v", geometry, plan.Report.Faults)
		}
		got := ""
		if len(have[1].WKB) > 0 {
			g, err := store.Geometry{WKB: have[1].WKB}.Orb()
			if err != nil {
				t.Fatal(err)
			}
			got = wkt.MarshalString(g)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", geometry, got, want)
		}
		strict := ingesttest.Into
		strict.Strict = true
		if plan, err := ingesttest.Survey(t, "a.json", text, strict); !errors.Is(err, input.ErrRefused) ||
			plan.Report.Refused != 1 || !strings.Contains(err.Error(), "without --strict") {
			t.Errorf("%s: strict: %v", geometry, err)
		}
	}
	for name, text := range map[string]string{
		"a.csv": "id,wkt\n1,\"POLYGON((0 0,1 1,0 0))\"\n2,\"MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((8 8,9 9,8 8)))\"\n3," +
			"LINESTRING(1 1)\n",
		"a.topojson": `{"type":"Topology","arcs":[[[0,0],[1,0],[0,0]],[[0,0],[1,0],[1,1],[0,0]],[[5,5]]],"objects":{"k":{"type":"GeometryCollection","geometries":[
			{"type":"Polygon","id":1,"arcs":[[0]]},{"type":"MultiPolygon","id":2,"arcs":[[[1]],[[0]]]},{"type":"LineString","id":3,"arcs":[2]}]}}}`,
	} {
		plan, err := ingest.Survey(t.Context(),
			ingesttest.Open(t, ingesttest.WriteFile(t, name, text), crs.CRS84).Layers, ingesttest.Into, ingest.Watch{})
		if r := plan.Report; err != nil || r.Dropped != 3 || r.Read != 3 || r.Null != 2 {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
}

// TestAllFaultsAreTold gives many faults: reading goes on behind each.
func TestAllFaultsAreTold(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 3000 {
		list = append(list, ingesttest.PointWith(fmt.Sprintf(`"id":%d,`, i), `"a":1,"a":2`))
	}
	told := 0
	src := ingesttest.Open(t, ingesttest.WriteFile(t, "a.json", ingesttest.GeoJSON(list...)), 0)
	plan, err := ingest.Survey(t.Context(), src.Layers, ingesttest.Into, ingest.Watch{Fault: func(f ingest.Fault) {
		if told++; f.Line != told || f.Feature != told {
			t.Errorf("fault %d: %v", told, f)
		}
	}})
	r := plan.Report
	if !errors.Is(err, input.ErrRefused) || told != 3000 || r.Refused != 3000 || r.All != 3000 || r.Read != 3000 ||
		len(r.Faults) != ingest.MaxFaults {
		t.Errorf("%v, %d told, %d refused", err, told, r.Refused)
	}
	if err := plan.Write(t.Context(), &ingesttest.CountingWriter{}); !errors.Is(err, input.ErrRefused) {
		t.Errorf("a plan with refusals is written: %v", err)
	}
}

func TestAFileThatChangesBetweenThePassesIsNotWritten(t *testing.T) {
	t.Parallel()
	one, two := ingesttest.PointWith(`"id":1,`, `"a":1`), ingesttest.PointWith(`"id":2,`, `"a":2`)
	for name, text := range map[string]string{
		"more features": ingesttest.GeoJSON(one, two, two), "fewer features": ingesttest.GeoJSON(one),
		"another property": ingesttest.GeoJSON(one, ingesttest.PointWith(`"id":2,`, `"b":2`)),
		"a fault":          ingesttest.GeoJSON(one, `{"type":"Feature","id":2,"geometry":{}}`),
		"no id":            ingesttest.GeoJSON(one, ingesttest.PointWith("", `"a":2`)),
		"no JSON":          ingesttest.GeoJSON(one, "{"),
	} {
		path := ingesttest.WriteFile(t, "a.geojson", ingesttest.GeoJSON(one, two))
		plan := ingesttest.MustSurvey(t, path, 0)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := plan.Write(t.Context(), &ingesttest.CountingWriter{}); err == nil ||
			!strings.Contains(err.Error(), "changed while it was read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPackedGeoPackagesAndShapefiles packs files that consist of pages, or of parts.
func TestPackedGeoPackagesAndShapefiles(t *testing.T) {
	t.Parallel()
	ets := ingesttest.SharedPath(t, "data", "awkward", "gpkg-ets", "null_geometry.gpkg")
	oslo := ingesttest.SharedPath(t, "data", "norway", "misc", "oslo-bydeler")
	var archive, gz bytes.Buffer
	a, z := zip.NewWriter(&archive), gzip.NewWriter(&gz)
	add := func(name, path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := a.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(b)
		if path == ets {
			z.Write(b)
		}
	}
	add("in/null.gpkg", ets)
	for _, ext := range []string{".shp", ".SHX", ".dbf", ".prj", ".cpg"} {
		add("in/Bydeler"+ext, filepath.Join(oslo, "Bydeler"+strings.ToLower(ext)))
	}
	a.Close()
	z.Close()
	for path, want := range map[string]map[string]int{
		ingesttest.WriteFile(t, "a.zip", archive.String()): {"new_geopackage": 3, "PointExamples": 2, "Bydeler": 16},
		ingesttest.WriteFile(t, "a.gpkg.gz", gz.String()):  {"new_geopackage": 3, "PointExamples": 2},
	} {
		got := map[string]int{}
		for _, l := range ingesttest.Open(t, path, 0).Layers {
			plan, err := ingest.Survey(t.Context(), []*ingest.Layer{l}, ingesttest.Into, ingest.Watch{})
			if err != nil {
				t.Fatal(err)
			}
			got[l.Name] = len(ingesttest.Features(t, ingesttest.Write(t, plan), "x"))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", filepath.Base(path), got, want)
		}
	}
}

func TestIsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(ingesttest.Shapefile(t,
		map[string][]byte{".shp": ingesttest.SHP(1), ".dbf": ingesttest.DBF(0, nil)}))
	for name, want := range map[string]bool{
		"a.shp": true, "a.dbf": false, "b.dbf": true, "a.prj": false, "x.geojson": true, "x.GeoJSON.gz": true,
		"x.zip": true, "x.csv": true, "x.gpkg": true, "x.txt": false, "x": false, "x.gz": false,
	} {
		if got := ingest.IsData(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCollectionsOfGeometriesWithAndWithoutHeights(t *testing.T) {
	t.Parallel()
	text := `{"type":"Feature","id":1,"properties":{},"geometry":{"type":"GeometryCollection",` +
		`"geometries":[{"type":"Point","coordinates":[1,2,3]},{"type":"Point","coordinates":[4,5]}]}}`
	plan, have := ingesttest.ImportText(t, "a.json", text, ingesttest.Into)
	if _, ok := ingesttest.Find(plan.Report, input.Repaired, "the heights are left out"); !ok ||
		plan.Collection.Geometry.HasZ || len(have[0].WKB) != 9+2*21 {
		t.Errorf("%v, %x", plan.Report.Faults, have[0].WKB)
	}
	if plan.Collection.Geometry.CRS != crs.CRS84 || plan.Collection.Geometry.Type != "GeometryCollection" {
		t.Errorf("%+v", plan.Collection.Geometry)
	}
}
