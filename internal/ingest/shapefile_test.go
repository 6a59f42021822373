package ingest_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/store"
)

// shp makes a .shp of records of one type; a record is what follows the type.
func shp(kind uint32, records ...[]byte) []byte {
	var body []byte
	for i, r := range records {
		k := kind
		if r == nil {
			k = 0
		}
		body = binary.BigEndian.AppendUint32(body, uint32(i+1))
		body = binary.BigEndian.AppendUint32(body, uint32(len(r)+4)/2)
		body = append(binary.LittleEndian.AppendUint32(body, k), r...)
	}
	head := make([]byte, 100)
	binary.BigEndian.PutUint32(head, 9994)
	binary.BigEndian.PutUint32(head[24:], uint32(100+len(body))/2)
	binary.LittleEndian.PutUint32(head[28:], 1000)
	binary.LittleEndian.PutUint32(head[32:], kind)
	return append(head, body...)
}

func floats(list ...float64) (b []byte) {
	for _, f := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// rings is a polygon or line record with parts of x, y pairs.
func rings(parts ...[]float64) []byte {
	b := make([]byte, 32)
	n := 0
	for _, p := range parts {
		n += len(p) / 2
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(parts)))
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	at := 0
	for _, p := range parts {
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
		at += len(p) / 2
	}
	for _, p := range parts {
		b = append(b, floats(p...)...)
	}
	return b
}

// dbf makes a table; a field is NAME:type:width, a row its fields, padded to the widths.
func dbf(driver byte, fields []string, rows ...[]string) []byte {
	head := make([]byte, 32)
	head[0], head[29] = 3, driver
	length := 1
	var widths []int
	for _, f := range fields {
		p := strings.Split(f, ":")
		d := make([]byte, 32)
		copy(d, p[0])
		d[11] = p[1][0]
		w := 0
		fmt.Sscan(p[2], &w)
		d[16] = byte(w)
		length += w
		widths = append(widths, w)
		head = append(head, d...)
	}
	head = append(head, 0x0d)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(rows)))
	binary.LittleEndian.PutUint16(head[8:], uint16(len(head)))
	binary.LittleEndian.PutUint16(head[10:], uint16(length))
	for _, r := range rows {
		mark := byte(' ')
		if len(r) > len(widths) {
			mark = '*'
		}
		head = append(head, mark)
		for i, w := range widths {
			head = append(head, (r[i] + strings.Repeat(" ", w))[:w]...)
		}
	}
	return append(head, 0x1a)
}

// shapefile writes the parts, by their endings, and returns the path of the .shp, or of the .dbf without one.
func shapefile(t testing.TB, parts map[string][]byte) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	for ext, b := range parts {
		if err := os.WriteFile(base+ext, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if parts[".shp"] == nil {
		return base + ".dbf"
	}
	return base + ".shp"
}

const wgs84 = `GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["Degree",0.0174532925199433]]`

func TestShapes(t *testing.T) {
	t.Parallel()
	outer, hole, second := []float64{0, 0, 0, 9, 9, 9, 9, 0, 0, 0}, []float64{1, 1, 2, 1, 2, 2, 1, 1}, []float64{20, 0, 20, 5, 25, 5, 20, 0}
	nested := []float64{3, 3, 3, 6, 6, 6, 6, 3, 3, 3} // an island in a lake
	lake := []float64{2.5, 2.5, 7, 2.5, 7, 7, 2.5, 7, 2.5, 2.5}
	zs := append(append(make([]byte, 32), 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0), floats(1, 2, 3, 4, 0, 0, 5, 6)...)
	for name, c := range map[string]struct {
		kind   uint32
		record []byte
		want   string
	}{
		"point":             {1, floats(1, 2), "[1 2]"},
		"point with height": {11, floats(1, 2, 3, 0), "[1 2]"},
		"point, measured":   {21, floats(1, 2, 9), "[1 2]"},
		"null":              {1, nil, "<nil>"},
		"points":            {8, append(append(make([]byte, 32), 2, 0, 0, 0), floats(1, 2, 3, 4)...), "[[1 2] [3 4]]"},
		"line":              {3, rings([]float64{0, 0, 1, 1}), "[[0 0] [1 1]]"},
		"lines":             {3, rings([]float64{0, 0, 1, 1}, []float64{5, 5, 6, 6}), "[[[0 0] [1 1]] [[5 5] [6 6]]]"},
		"line with heights": {13, zs, "[[1 2] [3 4]]"},
		"ring":              {5, rings(outer), "[[[0 0] [9 0] [9 9] [0 9] [0 0]]]"},
		"ring, turned":      {5, rings([]float64{0, 0, 9, 0, 9, 9, 0, 9, 0, 0}), "[[[0 0] [9 0] [9 9] [0 9] [0 0]]]"},
		"hole first":        {5, rings(hole, outer), "[[[0 0] [9 0] [9 9] [0 9] [0 0]] [[1 1] [2 2] [2 1] [1 1]]]"},
		"two, one hole": {5, rings(second, outer, hole),
			"[[[[20 0] [25 5] [20 5] [20 0]]] [[[0 0] [9 0] [9 9] [0 9] [0 0]] [[1 1] [2 2] [2 1] [1 1]]]]"},
		"island in a lake": {5, rings(outer, nested, lake),
			"[[[[0 0] [9 0] [9 9] [0 9] [0 0]] [[2.5 2.5] [2.5 7] [7 7] [7 2.5] [2.5 2.5]]] [[[3 3] [6 3] [6 6] [3 6] [3 3]]]]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := shapefile(t, map[string][]byte{".shp": shp(c.kind, c.record), ".dbf": dbf(0x57, []string{"NR:N:5"}, []string{"  7"}), ".prj": []byte(wgs84)})
			have := features(t, write(t, mustSurvey(t, path, 0)), "x")
			g, err := store.Geometry{WKB: have[0].wkb}.Orb()
			if err != nil || fmt.Sprint(g) != c.want || have[0].values["NR"] != int64(7) {
				t.Errorf("%v, %v, %v, want %s", g, err, have[0].values, c.want)
			}
			if z := (store.Geometry{WKB: have[0].wkb}).HasZ(); z != strings.Contains(name, "height") {
				t.Errorf("height: %v", z)
			}
		})
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	fields := []string{"NAVN:C:10", "N:N:8", "X:N:8", "D:D:8", "L:L:1", "S:N:3"}
	path := shapefile(t, map[string][]byte{".dbf": dbf(0x57, fields,
		[]string{"B\xe6rum", "      12", "    1.50", "20240131", "T", "***"}, []string{"gone", "1", "1", "20240131", "F", "1", "deleted"},
		[]string{"", "", "-.5", "        ", "?", "007"})})
	plan := mustSurvey(t, path, 0)
	var got []map[string]any
	for _, f := range features(t, write(t, plan), "x") {
		got = append(got, f.values)
	}
	want := []map[string]any{
		{"NAVN": "Bærum", "N": int64(12), "X": 1.5, "D": "2024-01-31", "L": true, "S": nil},
		{"NAVN": nil, "N": nil, "X": -0.5, "D": nil, "L": nil, "S": int64(7)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v", got)
	}
	if _, ok := find(plan.Report, ingest.Warning, "1 rows of the .dbf are marked as deleted"); !ok || plan.Collection.Geometry != nil {
		t.Errorf("%+v", plan.Report.Faults)
	}
}

func TestFaultsOfShapefiles(t *testing.T) {
	t.Parallel()
	table := dbf(0x57, []string{"NR:N:5"}, []string{"1"})
	good := shp(1, floats(1, 2))
	half := rings([]float64{0, 0, 0, 9, 9, 9, 0, 0})
	for name, c := range map[string]struct {
		parts map[string][]byte
		want  string
	}{
		"no .prj":             {map[string][]byte{".shp": good, ".dbf": table}, "no reference system is stated"},
		"unknown system":      {map[string][]byte{".shp": good, ".dbf": table, ".prj": []byte(`PROJCS["x",GEOGCS["y"]]`)}, `the reference system "x" is not served`},
		"no text in .prj":     {map[string][]byte{".shp": good, ".dbf": table, ".prj": []byte("EPSG:25833")}, "not the text of a reference system"},
		"not a Shapefile":     {map[string][]byte{".shp": make([]byte, 100), ".dbf": table}, "does not begin as a Shapefile"},
		"header cut off":      {map[string][]byte{".shp": good[:50], ".dbf": table}, "no whole header"},
		"shape cut off":       {map[string][]byte{".shp": good[:len(good)-4], ".dbf": table}, "the .shp is cut off in record 1"},
		"table cut off":       {map[string][]byte{".shp": good, ".dbf": table[:len(table)-3]}, "the .dbf is cut off in row 1 of 1"},
		"table too short":     {map[string][]byte{".shp": shp(1, floats(1, 2), floats(1, 2)), ".dbf": table}, "different numbers of records: one ends before number 2"},
		"table too long":      {map[string][]byte{".shp": shp(1), ".dbf": table}, "different numbers of records: one ends before number 1"},
		"unknown type":        {map[string][]byte{".shp": shp(77), ".dbf": table}, "unknown shape type 77"},
		"short record":        {map[string][]byte{".shp": shp(5, half[:60]), ".dbf": table}, "too short for its shape"},
		"NaN":                 {map[string][]byte{".shp": shp(1, floats(1, math.NaN())), ".dbf": table, ".prj": []byte(wgs84)}, "not numbers (NaN or infinite)"},
		"parts out of order":  {map[string][]byte{".shp": shp(5, append(append([]byte{}, half[:40]...), append([]byte{9, 0, 0, 0}, half[44:]...)...)), ".dbf": table}, "do not follow each other"},
		"header of the table": {map[string][]byte{".shp": good, ".dbf": table[:20]}, "no whole header"},
		"unknown encoding":    {map[string][]byte{".shp": good, ".dbf": table, ".cpg": []byte("klingon")}, `the encoding "klingon" of the .cpg is not known`},
		"wrong encoding":      {map[string][]byte{".dbf": dbf(0, []string{"A:C:5"}, []string{"\xe6"}), ".cpg": []byte("UTF-8")}, "is not in the encoding that the .cpg"},
		"no encoding":         {map[string][]byte{".dbf": dbf(0, []string{"A:C:5"}, []string{"\xe6"})}, "nothing states another encoding"},
		"no such day":         {map[string][]byte{".dbf": dbf(0, []string{"A:D:8"}, []string{"20241331"})}, "is not a date"},
		"no number":           {map[string][]byte{".dbf": dbf(0, []string{"A:N:8"}, []string{"1,5"})}, "is not a number"},
		"field type":          {map[string][]byte{".dbf": dbf(0, []string{"A:M:8"}, []string{"1"})}, "which is not read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := ingest.Survey(t.Context(), open(t, shapefile(t, c.parts), 0).Layers, into, ingest.Watch{})
			if _, ok := find(plan.Report, ingest.Refused, c.want); !errors.Is(err, ingest.ErrRefused) || !ok {
				t.Errorf("%v, %+v", err, plan.Report.Faults)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	dir := sharedPath(t, "data", "awkward", "mapshaper-encodings")
	for name, want := range map[string]string{
		"euckr.dbf": "한국말", "koi8r.dbf": "русский", "latin2.dbf": "čeština", "shiftjis.dbf": "カタカナひらがな", "win1251.dbf": "РУССКИЙ", "win874.dbf": "ภาษาไทย",
		"big5.shp": "國語", "chinese.shp": "简体",
	} {
		have := features(t, write(t, mustSurvey(t, filepath.Join(dir, name), crs.WebMercator)), "x")
		if len(have) != 1 || have[0].values["NAME"] != want {
			t.Errorf("%s: %v, want %s", name, have, want)
		}
	}
	for name, want := range map[string]bool{"UTF-8": true, "utf8": true, "ANSI 1252": true, "OEM 865": true, "CP437": true, "ISO-8859-1": true, "ISO8859-15": true, "windows-1251": true,
		"EUC_KR": true, "65001": true, "": true, "x": false, "9999": false} {
		plan, err := ingest.Survey(t.Context(), open(t, shapefile(t, map[string][]byte{".dbf": dbf(0, []string{"A:C:5"}, []string{"a"}), ".cpg": []byte(name + "\r\n")}), 0).Layers, into, ingest.Watch{})
		if (err == nil) != want {
			t.Errorf("%q: %v, %v", name, err, plan.Report.Faults)
		}
	}
}

// TestDistrictsOfOslo compares with the areas that the file's own polygons have, whose rings run the other way round.
func TestDistrictsOfOslo(t *testing.T) {
	t.Parallel()
	plan := mustSurvey(t, sharedPath(t, "data", "norway", "misc", "oslo-bydeler", "Bydeler.shp"), 0)
	if plan.Collection.Geometry.CRS != crs.UTM32 || plan.Report.Turned+plan.Report.Repaired+plan.Report.Kept != 0 {
		t.Errorf("%+v, %+v", plan.Collection.Geometry, plan.Report)
	}
	sum, parts := 0.0, 0
	for _, f := range features(t, write(t, plan), "x") {
		g, err := store.Geometry{WKB: f.wkb}.Orb()
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
					t.Errorf("ring %d of %v runs wrongly", i, f.values)
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
