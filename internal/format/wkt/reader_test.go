package wkt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

// TestCurvesInText reads each type of well-known text that GeoJSON lacks. Faces that share an edge become one, since a
// MultiPolygon is not valid else.
func TestCurvesInText(t *testing.T) {
	t.Parallel()
	const halfDisc = 0.02 * 0.02 * math.Pi / 2
	for text, want := range map[string]struct {
		kind wkb.Kind
		z    bool
		area float64
		same string // orb's form, where there are no arcs
	}{
		"CIRCULARSTRING(10 60,10.02 60.02,10.04 60)":                 {kind: wkb.LineString},
		"circularstring z (10 60 1,10.02 60.02 2,10.04 60 3)":        {kind: wkb.LineString, z: true},
		"CIRCULARSTRINGZ(10 60 1,10.02 60.02 2,10.04 60 3)":          {kind: wkb.LineString, z: true},
		"CIRCULARSTRING M (10 60 1,10.02 60.02 2,10.04 60 3)":        {kind: wkb.LineString},
		"CIRCULARSTRING ZM (10 60 1 2,10.02 60.02 2 2,10.04 60 3 2)": {kind: wkb.LineString, z: true},
		// as PostGIS writes heights
		"CIRCULARSTRING(10 60 1,10.02 60.02 2,10.04 60 3)": {
			kind: wkb.LineString, z: true},
		"COMPOUNDCURVE((10 60,10.04 60),CIRCULARSTRING(10.04 60,10.02 60.02,10 60))": {
			kind: wkb.LineString},
		"CURVEPOLYGON(COMPOUNDCURVE((10 60,10.04 60),CIRCULARSTRING(10.04 60,10.02 60.02,10 60)))": {
			kind: wkb.Polygon, area: halfDisc},
		"CURVEPOLYGON((10 60,11 60,11 61,10 60))": {
			kind: wkb.Polygon, area: 0.5},
		"CURVEPOLYGON(CIRCULARSTRING(10 60,10.04 60,10 60))": {
			kind: wkb.Polygon, area: 2 * halfDisc},
		"MULTICURVE((10 60,11 61),CIRCULARSTRING(10 60,10.02 60.02,10.04 60))": {
			kind: wkb.MultiLineString},
		"MULTISURFACE(CURVEPOLYGON(CIRCULARSTRING(10 60,10.04 60,10 60)),((20 60,21 60,21 61,20 60)))": {
			kind: wkb.MultiPolygon, area: 2*halfDisc + 0.5},
		"GEOMETRYCOLLECTION(POINT(1 2),CIRCULARSTRING(10 60,10.02 60.02,10.04 60),MULTIPOINT((1 2),3 " +
			"4),MULTIPOINT EMPTY)": {kind: wkb.Collection},
		"TIN(((0 0,1 0,0 1,0 0)),((1 0,1 1,0 1,1 0)))": {kind: wkb.MultiPolygon, area: 1,
			same: "[[[[0 0] [1 0] [1 1] [0 1] [0 0]]]]"},
		"TRIANGLE((0 0 5,1 0 5,0 1 5,0 0 5))": {kind: wkb.Polygon, z: true, area: 0.5,
			same: "[[[0 0] [1 0] [0 1] [0 0]]]"},
		"POLYHEDRALSURFACE Z (((0 0 0,1 0 0,1 1 0,0 1 0,0 0 0)))": {kind: wkb.MultiPolygon, z: true, area: 1,
			same: "[[[[0 0] [1 0] [1 1] [0 1] [0 0]]]]"},
		"CIRCULARSTRING EMPTY": {},
	} {
		have := ingesttest.Features(t, ingesttest.Write(t,
			ingesttest.MustSurvey(t, ingesttest.WriteFile(t, "a.csv", "id;wkt\n1;"+text+"\n"), crs.CRS84)), "x")
		if want.kind == 0 {
			if have[0].WKB != nil {
				t.Errorf("%s: %x", text, have[0].WKB)
			}
			continue
		}
		g, err := store.Geometry{WKB: have[0].WKB}.Orb()
		in, wrong := wkb.Check(have[0].WKB)
		if err != nil || wrong != nil {
			t.Fatalf("%s: %v, %v", text, err, wrong)
		}
		if in.Kind != want.kind || in.HasZ != want.z || math.Abs(planar.Area(g)-want.area) > 1e-8 ||
			want.same != "" && fmt.Sprint(g) != want.same {
			t.Errorf("%s: %v %v, area %v; %v", text, in.Kind, in.HasZ, planar.Area(g), g)
		}
	}
}

// TestArcsInTextAreInTheUnitOfTheSystem: a metre is no degree.
func TestArcsInTextAreInTheUnitOfTheSystem(t *testing.T) {
	t.Parallel()
	const text = "id,wkt\n1,\"SRID=25833;CURVEPOLYGON(CIRCULARSTRING(500000 6600000,500200 6600000,500000 6600000))\"\n"
	have := ingesttest.Features(t,
		ingesttest.Write(t, ingesttest.MustSurvey(t, ingesttest.WriteFile(t, "a.csv", text), 0)), "x")
	g, err := store.Geometry{WKB: have[0].WKB}.Orb()
	if err != nil {
		t.Fatal(err)
	}
	area, n := planar.Area(g), len(g.(orb.Polygon)[0])
	if lost := math.Pi*1e4 - area; lost < 0 || lost > 2*math.Pi*100*1e-3 || n > 2000 {
		t.Errorf("%v of the disc is lost, with %d positions", lost, n)
	}
}

func TestMultiPatchBecomesMultiPolygon(t *testing.T) {
	t.Parallel()
	square := func(x, y, w float64) []float64 {
		return []float64{x, y, 1, x, y + w, 1, x + w, y + w, 1, x + w, y, 1, x, y, 1}
	}
	strip := []float64{0, 0, 1, 1, 0, 2, 0, 1, 3, 1, 1, 4}
	for name, c := range map[string]struct {
		record []byte
		want   string
	}{
		"strip": {ingesttest.Patch([]uint32{0}, strip), "[[[[0 0] [1 0] [1 1] [0 1] [0 0]]]]"},
		"fan": {ingesttest.Patch([]uint32{1}, []float64{0, 0, 1, 1, 0, 2, 1, 1, 3, 0, 1, 4}),
			"[[[[0 0] [1 0] [1 1] [0 1] [0 0]]]]"},
		"outer, inner": {ingesttest.Patch([]uint32{2, 3}, square(0, 0, 9), square(1, 1, 1)),
			"[[[[0 0] [9 0] [9 9] [0 9] [0 0]] [[1 1] [1 2] [2 2] [2 1] [1 1]]]]"},
		"first, rings": {ingesttest.Patch([]uint32{4, 5, 4}, square(0, 0, 9), square(1, 1, 1), square(20, 0, 1)),
			"[[[[0 0] [9 0] [9 9] [0 9] [0 0]] [[1 1] [1 2] [2 2] [2 1] [1 1]]] [[[20 0] [21 0] [21 1] [20 " +
				"1] [20 0]]]]"},
		"ring alone": {ingesttest.Patch([]uint32{5}, square(0, 0, 1)), "[[[[0 0] [1 0] [1 1] [0 1] [0 0]]]]"},
		"ring and strip": {ingesttest.Patch([]uint32{0, 5}, strip[:9], square(5, 5, 1)),
			"[[[[0 0] [1 0] [0 1] [0 0]]] [[[5 5] [6 5] [6 6] [5 6] [5 5]]]]"},
	} {
		path := ingesttest.Shapefile(t, map[string][]byte{".shp": ingesttest.SHP(31, c.record),
			".dbf": ingesttest.DBF(0x57, []string{"NR:N:5"}, []string{"1"}), ".prj": []byte(ingesttest.WGS84)})
		have := ingesttest.Features(t, ingesttest.Write(t, ingesttest.MustSurvey(t, path, 0)), "x")
		g, err := store.Geometry{WKB: have[0].WKB}.Orb()
		if in, _ := wkb.Check(have[0].WKB); err != nil || in.Kind != wkb.MultiPolygon || !in.HasZ ||
			fmt.Sprint(g) != c.want {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
	for name, record := range map[string][]byte{"short": ingesttest.Patch([]uint32{0}, strip)[:60],
		"unknown part": ingesttest.Patch([]uint32{6}, strip),
		"no heights":   ingesttest.Patch([]uint32{0}, strip)[:120]} {
		path := ingesttest.Shapefile(t, map[string][]byte{".shp": ingesttest.SHP(31, record),
			".dbf": ingesttest.DBF(0x57, []string{"NR:N:5"}, []string{"1"}), ".prj": []byte(ingesttest.WGS84)})
		plan, err := ingest.Survey(t.Context(), ingesttest.Open(t, path, 0).Layers, ingesttest.Into, ingest.Watch{})
		if err == nil || plan.Report.Refused == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
