package shapefile_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	outer, hole, second := []float64{0, 0, 0, 9, 9, 9, 9, 0, 0, 0}, []float64{1, 1, 2, 1, 2, 2, 1, 1},
		[]float64{20, 0, 20, 5, 25, 5, 20, 0}
	nested := []float64{3, 3, 3, 6, 6, 6, 6, 3, 3, 3} // an island in a lake
	lake := []float64{2.5, 2.5, 7, 2.5, 7, 7, 2.5, 7, 2.5, 2.5}
	zs := append(append(make([]byte, 32), 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0),
		ingesttest.Floats(1, 2, 3, 4, 0, 0, 5, 6)...)
	for name, c := range map[string]struct {
		kind   uint32
		record []byte
		want   string
	}{
		"point":             {1, ingesttest.Floats(1, 2), "[1 2]"},
		"point with height": {11, ingesttest.Floats(1, 2, 3, 0), "[1 2]"},
		"point, measured":   {21, ingesttest.Floats(1, 2, 9), "[1 2]"},
		"null":              {1, nil, "<nil>"},
		"points": {8, append(append(make([]byte, 32), 2, 0, 0, 0), ingesttest.Floats(1, 2, 3, 4)...),
			"[[1 2] [3 4]]"},
		"line": {3, ingesttest.Rings([]float64{0, 0, 1, 1}), "[[0 0] [1 1]]"},
		"lines": {3, ingesttest.Rings([]float64{0, 0, 1, 1}, []float64{5, 5, 6, 6}),
			"[[[0 0] [1 1]] [[5 5] [6 6]]]"},
		"line with heights": {13, zs, "[[1 2] [3 4]]"},
		"ring":              {5, ingesttest.Rings(outer), "[[[0 0] [9 0] [9 9] [0 9] [0 0]]]"},
		"ring, turned": {5, ingesttest.Rings([]float64{0, 0, 9, 0, 9, 9, 0, 9, 0, 0}),
			"[[[0 0] [9 0] [9 9] [0 9] [0 0]]]"},
		"hole first": {5, ingesttest.Rings(hole, outer),
			"[[[0 0] [9 0] [9 9] [0 9] [0 0]] [[1 1] [2 2] [2 1] [1 1]]]"},
		"two, one hole": {5, ingesttest.Rings(second, outer, hole),
			"[[[[20 0] [25 5] [20 5] [20 0]]] [[[0 0] [9 0] [9 9] [0 9] [0 0]] [[1 1] [2 2] [2 1] [1 1]]]]"},
		"island in a lake": {5, ingesttest.Rings(outer, nested, lake),
			"[[[[0 0] [9 0] [9 9] [0 9] [0 0]] [[2.5 2.5] [2.5 7] [7 7] [7 2.5] [2.5 2.5]]] [[[3 3] [6 3] [6 6] [3 " +
				"6] [3 3]]]]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := ingesttest.Shapefile(t, map[string][]byte{".shp": ingesttest.SHP(c.kind, c.record),
				".dbf": ingesttest.DBF(0x57, []string{"NR:N:5"}, []string{"  7"}), ".prj": []byte(ingesttest.WGS84)})
			have := ingesttest.Features(t, ingesttest.Write(t, ingesttest.MustSurvey(t, path, 0)), "x")
			g, err := store.Geometry{WKB: have[0].WKB}.Orb()
			if err != nil || fmt.Sprint(g) != c.want || have[0].Values["NR"] != int64(7) {
				t.Errorf("%v, %v, %v, want %s", g, err, have[0].Values, c.want)
			}
			if z := (store.Geometry{WKB: have[0].WKB}).HasZ(); z != strings.Contains(name, "height") {
				t.Errorf("height: %v", z)
			}
		})
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	fields := []string{"NAVN:C:10", "N:N:8", "X:N:8", "D:D:8", "L:L:1", "S:N:3"}
	path := ingesttest.Shapefile(t, map[string][]byte{".dbf": ingesttest.DBF(0x57, fields,
		[]string{"B\xe6rum", "      12", "    1.50", "20240131", "T", "***"},
		[]string{"gone", "1", "1", "20240131", "F", "1", "deleted"},
		[]string{"", "", "-.5", "        ", "?", "007"})})
	plan := ingesttest.MustSurvey(t, path, 0)
	var got []map[string]any
	for _, f := range ingesttest.Features(t, ingesttest.Write(t, plan), "x") {
		got = append(got, f.Values)
	}
	want := []map[string]any{
		{"NAVN": "Bærum", "N": int64(12), "X": 1.5, "D": "2024-01-31", "L": true, "S": nil},
		{"NAVN": nil, "N": nil, "X": -0.5, "D": nil, "L": nil, "S": int64(7)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v", got)
	}
	if _, ok := ingesttest.Find(plan.Report, input.Warning, "1 rows of the .dbf are marked as deleted"); !ok ||
		plan.Collection.Geometry != nil {
		t.Errorf("%+v", plan.Report.Faults)
	}
}

func TestFaultsOfShapefiles(t *testing.T) {
	t.Parallel()
	table := ingesttest.DBF(0x57, []string{"NR:N:5"}, []string{"1"})
	good := ingesttest.SHP(1, ingesttest.Floats(1, 2))
	half := ingesttest.Rings([]float64{0, 0, 0, 9, 9, 9, 0, 0})
	for name, c := range map[string]struct {
		parts map[string][]byte
		want  string
	}{
		"no .prj": {map[string][]byte{".shp": good, ".dbf": table}, "no reference system is stated"},
		"unknown system": {map[string][]byte{".shp": good, ".dbf": table,
			".prj": []byte(`PROJCS["x",GEOGCS["y"]]`)}, `the reference system "x" is not served`},
		"no text in .prj": {map[string][]byte{".shp": good, ".dbf": table, ".prj": []byte("EPSG:25833")},
			"not the text of a reference system"},
		"not a Shapefile": {map[string][]byte{".shp": make([]byte, 100), ".dbf": table},
			"does not begin as a Shapefile"},
		"header cut off": {map[string][]byte{".shp": good[:50], ".dbf": table}, "no whole header"},
		"shape cut off": {map[string][]byte{".shp": good[:len(good)-4], ".dbf": table},
			"the .shp is cut off in record 1"},
		"table cut off": {map[string][]byte{".shp": good, ".dbf": table[:len(table)-3]},
			"the .dbf is cut off in row 1 of 1"},
		"table too short": {map[string][]byte{".shp": ingesttest.SHP(1, ingesttest.Floats(1, 2),
			ingesttest.Floats(1, 2)), ".dbf": table}, "different numbers of records: one ends before number 2"},
		"table too long": {map[string][]byte{".shp": ingesttest.SHP(1), ".dbf": table},
			"different numbers of records: one ends before number 1"},
		"unknown type": {map[string][]byte{".shp": ingesttest.SHP(77), ".dbf": table}, "unknown shape type 77"},
		"short record": {map[string][]byte{".shp": ingesttest.SHP(5, half[:60]), ".dbf": table},
			"too short for its shape"},
		"NaN": {map[string][]byte{".shp": ingesttest.SHP(1, ingesttest.Floats(1, math.NaN())),
			".dbf": table, ".prj": []byte(ingesttest.WGS84)}, "not numbers (NaN or infinite)"},
		"parts out of order": {
			map[string][]byte{".shp": ingesttest.SHP(5, append(append([]byte{}, half[:40]...),
				append([]byte{9, 0, 0, 0}, half[44:]...)...)), ".dbf": table}, "do not follow each other"},
		"header of the table": {map[string][]byte{".shp": good, ".dbf": table[:20]}, "no whole header"},
		"unknown encoding": {map[string][]byte{".shp": good, ".dbf": table, ".cpg": []byte("klingon")},
			`the encoding "klingon" of the .cpg is not known`},
		"wrong encoding": {map[string][]byte{".dbf": ingesttest.DBF(0, []string{"A:C:5"}, []string{"\xe6"}),
			".cpg": []byte("UTF-8")}, "is not in the encoding that the .cpg"},
		"no encoding": {map[string][]byte{".dbf": ingesttest.DBF(0, []string{"A:C:5"}, []string{"\xe6"})},
			"nothing states another encoding"},
		"no such day": {map[string][]byte{".dbf": ingesttest.DBF(0, []string{"A:D:8"}, []string{"20241331"})},
			"is not a date"},
		"no number": {map[string][]byte{".dbf": ingesttest.DBF(0, []string{"A:N:8"}, []string{"1,5"})},
			"is not a number"},
		"field type": {map[string][]byte{".dbf": ingesttest.DBF(0, []string{"A:M:8"}, []string{"1"})},
			"which is not read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := ingest.Survey(t.Context(), ingesttest.Open(t, ingesttest.Shapefile(t, c.parts), 0).Layers,
				ingesttest.Into, ingest.Watch{})
			if _, ok := ingesttest.Find(plan.Report, input.Refused, c.want); !errors.Is(err, input.ErrRefused) || !ok {
				t.Errorf("%v, %+v", err, plan.Report.Faults)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	dir := ingesttest.SharedPath(t, "data", "awkward", "mapshaper-encodings")
	for name, want := range map[string]string{
		"euckr.dbf": "한국말", "koi8r.dbf": "русский", "latin2.dbf": "čeština", "shiftjis.dbf": "カタカナひらがな",
		"win1251.dbf": "РУССКИЙ", "win874.dbf": "ภาษาไทย",
		"big5.shp": "國語", "chinese.shp": "简体",
	} {
		have := ingesttest.Features(t,
			ingesttest.Write(t, ingesttest.MustSurvey(t, filepath.Join(dir, name), crs.WebMercator)), "x")
		if len(have) != 1 || have[0].Values["NAME"] != want {
			t.Errorf("%s: %v, want %s", name, have, want)
		}
	}
	for name, want := range map[string]bool{"UTF-8": true, "utf8": true, "ANSI 1252": true, "OEM 865": true,
		"CP437": true, "ISO-8859-1": true, "ISO8859-15": true, "windows-1251": true,
		"EUC_KR": true, "65001": true, "": true, "x": false, "9999": false} {
		plan, err := ingest.Survey(t.Context(),
			ingesttest.Open(t,
				ingesttest.Shapefile(t, map[string][]byte{".dbf": ingesttest.DBF(0, []string{"A:C:5"}, []string{"a"}),
					".cpg": []byte(name + "\r\n")}), 0).Layers, ingesttest.Into, ingest.Watch{})
		if (err == nil) != want {
			t.Errorf("%q: %v, %v", name, err, plan.Report.Faults)
		}
	}
}

// TestDistrictsOfOslo compares with the areas that the file's own polygons have, whose rings run the other way round.
func TestDistrictsOfOslo(t *testing.T) {
	t.Parallel()
	plan := ingesttest.MustSurvey(t, ingesttest.SharedPath(t, "data", "norway", "misc", "oslo-bydeler", "Bydeler.shp"),
		0)
	if plan.Collection.Geometry.CRS != crs.UTM32 || plan.Report.Turned+plan.Report.Repaired+plan.Report.Kept != 0 {
		t.Errorf("%+v, %+v", plan.Collection.Geometry, plan.Report)
	}
	sum, parts := 0.0, 0
	for _, f := range ingesttest.Features(t, ingesttest.Write(t, plan), "x") {
		g, err := store.Geometry{WKB: f.WKB}.Orb()
		if err != nil {
			t.Fatal(err)
		}
		polygons, ok := g.(orb.MultiPolygon)
		if p, one := g.(orb.Polygon); one {
			polygons, ok = orb.MultiPolygon{p}, true
		}
		if !ok {
			t.Fatalf("%T", g)
		}
		for _, p := range polygons {
			parts++
			for i, r := range p {
				if (r.Orientation() == orb.CCW) != (i == 0) {
					t.Errorf("ring %d of %v runs wrongly", i, f.Values)
				}
				for j := range len(r) - 1 {
					sum += ((r[j][0]-6e5)*(r[j+1][1]-6.6e6) - (r[j+1][0]-6e5)*(r[j][1]-6.6e6)) / 2
				}
			}
		}
	}
	if sum < 470e6 || sum > 490e6 { // Oslo has 480 km², 454 of them land, in its official statistics
		t.Errorf("%.1f km² in %d parts", sum/1e6, parts)
	}
}
