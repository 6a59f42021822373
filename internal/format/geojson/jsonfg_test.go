package geojson_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb/encoding/wkt"

	encode "grense/internal/feature"
	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

func TestPlacesOfJSONFG(t *testing.T) {
	t.Parallel()
	const utm, ring = `"http://www.opengis.net/def/crs/EPSG/0/25833"`,
		`{"type":"Polygon","coordinates":[[[250000,6650000],[260000,6650000],[260000,6660000],[250000,6650000]]]}`
	const metres, degrees = "POLYGON((250000 6.65e+06,260000 6.65e+06,260000 6.66e+06,250000 6.65e+06))",
		"POLYGON((10 60,11 60,11 61,10 60))"
	const north = `{"type":"Polygon","coordinates":[[[60,10],[60,11],[61,11],[60,10]]]}`
	one := func(root, members string) string {
		return `{"type":"FeatureCollection",` + root + `"features":[{"type":"Feature","id":"a","properties":{},` +
			members + `}]}`
	}
	for name, c := range map[string]struct{ text, crs, want string }{
		"system before": {one(`"coordRefSys":`+utm+`,`, `"geometry":null,"place":`+ring), "EPSG:25833", metres},
		"system after": {strings.TrimSuffix(one("", `"geometry":null,"place":`+ring), "}") + `,"coordRefSys":` +
			utm + `}`, "EPSG:25833", metres},
		"of the feature": {one("", `"place":`+ring+`,"geometry":null,"coordRefSys":`+utm), "EPSG:25833", metres},
		"as an object": {one(`"coordRefSys":{"type":"Reference","href":`+utm+`,"epoch":2020},`,
			`"geometry":null,"place":`+ring), "EPSG:25833", metres},
		"compound": {one(`"coordRefSys":[`+utm+`,"http://www.opengis.net/def/crs/EPSG/0/5941"],`,
			`"geometry":null,"place":`+ring), "EPSG:25833", metres},
		"place beats geometry": {one(`"coordRefSys":`+utm+`,`,
			`"geometry":{"type":"Point","coordinates":[10,60]},"place":`+ring), "EPSG:25833", metres},
		"latitude first": {one(`"coordRefSys":"http://www.opengis.net/def/crs/EPSG/0/4258",`,
			`"geometry":null,"place":`+north), "EPSG:4258", degrees},
		"no system": {one("", `"geometry":null,"place":{"type":"Point","coordinates":[10,60]}`), "OGC:CRS84",
			"POINT(10 60)"},
		"no place": {one(`"coordRefSys":`+utm+`,`,
			`"geometry":{"type":"Point","coordinates":[10,60]},"place":null`), "OGC:CRS84", "POINT(10 60)"},
		"a foreign member": {
			one("", `"geometry":{"type":"Point","coordinates":[10,60]},"place":{"name":"Oslo"},"time":12,`+
				`"featureType":null`), "OGC:CRS84", "POINT(10 60)"},
		"of a type not read": {
			one("", `"geometry":{"type":"Point","coordinates":[10,60]},"place":{"type":"Polyhedron",`+
				`"coordinates":[[[[[10,60,1],[11,60,1],[11,61,1],[10,60,1]]]]]}`),
			"OGC:CRS84", "POINT(10 60)"},
	} {
		plan, have := ingesttest.ImportText(t, "a.json", c.text, ingesttest.Into)
		g, err := store.Geometry{WKB: have[0].WKB}.Orb()
		if err != nil || plan.Collection.Geometry.CRS.String() != c.crs || wkt.MarshalString(g) != c.want ||
			plan.Report.Turned != 0 || len(have[0].Values) != 0 {
			t.Errorf("%s: %v, %v, %s, %v %v", name, err, plan.Collection.Geometry.CRS, wkt.MarshalString(g),
				have[0].Values, plan.Report.Faults)
		}
	}
	for want, text := range map[string]string{
		"mixes reference systems": `{"type":"FeatureCollection","coordRefSys":` + utm +
			`,"features":[{"type":"Feature","id":1,"properties":{},"geometry":null,"place":` + ring + `},
			{"type":"Feature","id":2,"properties":{},"geometry":{"type":"Point","coordinates":[10,60]},"place":null}]}`,
		"a place of the type Polyhedron is not read, and there is no geometry": one("",
			`"geometry":null,"place":{"type":"Polyhedron","coordinates":[]}`),
		"the reference system": one(`"coordRefSys":"http://example.org/none",`, `"geometry":null,"place":`+ring),
	} {
		plan, err := ingesttest.Survey(t, "a.json", text, ingesttest.Into)
		if _, ok := ingesttest.Find(plan.Report, input.Refused, want); err == nil || !ok {
			t.Errorf("%s: %v %v", want, err, plan.Report.Faults)
		}
	}
}

func TestTimesAndTypesOfJSONFG(t *testing.T) {
	t.Parallel()
	features := func(root string, members ...string) string {
		return `{"type":"FeatureCollection",` + root + `"features":[{"type":"Feature","geometry":null,` +
			strings.Join(members, `},{"type":"Feature","geometry":null,`) + `}]}`
	}
	for name, c := range map[string]struct {
		text                string
		want                map[string]any // of the first feature
		instant, start, end string
	}{
		"a date": {features("", `"id":1,"properties":{},"time":{"date":"2020-01-01"}`),
			map[string]any{"time": "2020-01-01"}, "time", "", ""},
		"a timestamp": {features("", `"id":1,"properties":{},"time":{"timestamp":"2020-01-01T10:00:00Z"}`),
			map[string]any{"time": "2020-01-01T10:00:00Z"}, "time", "", ""},
		"intervals": {features("", `"id":1,"properties":{},"time":{"interval":["2020-01-01",".."]}`,
			`"id":2,"properties":{},"time":{"interval":["2020-01-01","2021-01-01"]}`),
			map[string]any{"time_start": "2020-01-01", "time_end": nil}, "", "time_start", "time_end"},
		"of properties": {
			features("", `"id":1,"properties":{"fra":"2020-01-01","til":null},"time":{"interval":["2020-01-01",".."]}`,
				`"id":2,"properties":{"fra":null,"til":"2020-01-02"},"time":{"interval":["..","2020-01-02"]}`),
			map[string]any{"fra": "2020-01-01", "til": nil}, "", "fra", "til"},
		"beside a property of that name": {
			features("", `"id":1,"properties":{"time":"noon"},"time":{"date":"2020-01-01"}`),
			map[string]any{"time": "noon", "time_2": "2020-01-01"}, "time_2", "", ""},
		"the type of a feature": {features("", `"id":1,"properties":{},"featureType":"a"`,
			`"id":2,"properties":{},"featureType":"b"`), map[string]any{"featureType": "a"}, "", "", ""},
		"the type of all": {features(`"featureType":"kommune",`, `"id":1,"properties":{}`),
			map[string]any{"featureType": "kommune"}, "", "", ""},
		"the type is the collection": {features(`"featureType":"x",`, `"id":1,"properties":{}`),
			map[string]any{}, "", "", ""},
	} {
		plan, have := ingesttest.ImportText(t, "a.json", c.text, ingesttest.Into)
		if x := plan.Collection; !reflect.DeepEqual(have[0].Values, c.want) || x.Instant != c.instant ||
			x.IntervalStart != c.start || x.IntervalEnd != c.end {
			t.Errorf("%s: %v, %q %q %q", name, have[0].Values, x.Instant, x.IntervalStart, x.IntervalEnd)
		}
	}
}

// TestJSONFGIsReadBackWhole imports what the encoder writes in several systems.
func TestJSONFGIsReadBackWhole(t *testing.T) {
	t.Parallel()
	text := ingesttest.GeoJSON(ingesttest.PointWith(`"id":"0301",`,
		`"navn":"Oslo","valid_from":"2020-01-01","valid_to":null`),
		ingesttest.PointWith(`"id":"4601",`, `"navn":"Bergen","valid_from":"2020-01-01","valid_to":"2024-01-01"`))
	first, err := ingesttest.Survey(t, "a.json", text, ingesttest.Into)
	if err != nil {
		t.Fatal(err)
	}
	st := ingesttest.Write(t, first)
	c, _ := st.Catalog().Collection("x")
	for _, id := range []crs.ID{crs.CRS84, 25833, 4258} {
		enc, err := encode.NewJSONFG(c, encode.Options{CRS: id}, false)
		if err != nil {
			t.Fatal(err)
		}
		doc := append(enc.AppendRoot([]byte(`{"type":"FeatureCollection",`), "", id), `,"features":[`...)
		page, err := st.Page(t.Context(), store.Query{Collection: "x", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = st.Fetch(t.Context(), "x", page.Rows, enc.Want(), func(f *store.Feature) error {
			if n++; n > 1 {
				doc = append(doc, ',')
			}
			doc, err = enc.AppendFeature(doc, f)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		plan, have := ingesttest.ImportText(t, "b.json", string(doc)+"]}", ingesttest.Into)
		if x := plan.Collection; plan.Report.Null != 0 || len(have) != 2 || x.Geometry.CRS != id ||
			len(x.Properties) != len(c.Properties) || x.IntervalStart != "valid_from" || x.IntervalEnd != "valid_to" {
			t.Errorf("%v: %+v, %v", id, plan.Report, x.Geometry)
		}
		if want := map[string]any{"navn": "Oslo", "valid_from": "2020-01-01",
			"valid_to": nil}; !reflect.DeepEqual(have[0].Values, want) || have[0].ID != "0301" {
			t.Errorf("%v: %v", id, have[0].Values)
		}
		move, err := crs.Between(id, crs.CRS84)
		if err != nil {
			t.Fatal(err)
		}
		x, y, ok := wkb.First(have[0].WKB)
		if x, y = move(x, y); !ok || math.Abs(x-10) > 1e-6 || math.Abs(y-60) > 1e-6 {
			t.Errorf("%v: the point is at %v %v", id, x, y)
		}
	}
}
