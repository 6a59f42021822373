package feature_test

import (
	"encoding/csv"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"grense/internal/feature"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

func newCSV(t testing.TB, c *store.Collection) *feature.CSV {
	t.Helper()
	e, err := feature.NewCSV(c, feature.CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestCSVOfPoints(t *testing.T) {
	t.Parallel()
	e := newCSV(t, places("Point"))
	b := e.AppendHeader(nil)
	empty := oslo()
	empty.Geometry.WKB = little.wkb(tree{kind: 1})
	empty.Values = []any{"-1+1", "=SUM(A1)", math.NaN(), nil, false, "a\r\nb", nil}
	for _, f := range []*store.Feature{oslo(), empty} {
		var err error
		if b, err = e.Append(b, f); err != nil {
			t.Fatal(err)
		}
	}
	want := "id,nr,navn,areal,innbyggere,by,\"år \"\"x\"\"\",koder,lon,lat\r\n" +
		"0301,0301,\"Oslo \"\"by\"\", fylke\",454.12,9007199254740993,true,,\"[1,{\"\"a\"\":\"\"b\"\"}]\"," +
		"10.75,59.91\r\n" +
		"0301,-1+1,=SUM(A1),,,false,\"a\r\nb\",,,\r\n"
	if string(b) != want {
		t.Errorf("got  %q\nwant %q", b, want)
	}
}

func TestCSVColumns(t *testing.T) {
	t.Parallel()
	points := places("Point")
	points.Geometry.CRS = crs.UTM33
	points.Properties = []store.Property{{Name: "id"}, {Name: "lon"}, {Name: "lon_"}}
	e := newCSV(t, points)
	f := &store.Feature{ID: "7", Values: []any{"7", "a", "b"},
		Geometry: store.Geometry{WKB: little.wkb(tree{kind: 1, pts: [][4]float64{{500000, 0}}})}}
	b, err := e.Append(e.AppendHeader(nil), f)
	if want := "id,lon,lon_,lon__,lat\r\n7,a,b,15,0\r\n"; err != nil || string(b) != want {
		t.Errorf("got %q, %v, want %q", b, err, want)
	}
	areas := newCSV(t, places("Polygon"))
	if !areas.Want().NoGeometry || e.Want().NoGeometry {
		t.Error("only points need their geometry")
	}
	b, err = areas.Append(areas.AppendHeader(nil), withPolygon(5))
	if err != nil || strings.Contains(string(b), "lon") || strings.Count(string(b), "\r\n") != 2 {
		t.Errorf("areas: %q, %v", b, err)
	}
}

// A layer of several kinds of geometries has the columns of points, which are empty for the others.
func TestCSVOfMixedGeometriesHasThePoints(t *testing.T) {
	t.Parallel()
	mixed := places("")
	mixed.Properties = nil
	e := newCSV(t, mixed)
	b := e.AppendHeader(nil)
	for _, wkb := range [][]byte{little.wkb(tree{kind: 1, pts: [][4]float64{{10.75, 59.91}}}),
		little.wkb(tree{kind: 2, pts: [][4]float64{{1, 2}, {3, 4}}}), nil} {
		var err error
		if b, err = e.Append(b, &store.Feature{ID: "1", Geometry: store.Geometry{WKB: wkb}}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "id,lon,lat\r\n1,10.75,59.91\r\n1,,\r\n1,,\r\n"; string(b) != want {
		t.Errorf("got %q, want %q", b, want)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a", "b,\"c\"\r\n")
	f.Add("\xff", "\n")
	e := newCSV(f, &store.Collection{ID: "c", Properties: []store.Property{{Name: "x"}}})
	f.Fuzz(func(t *testing.T, id, x string) {
		b, err := e.Append(e.AppendHeader(nil), &store.Feature{ID: id, Values: []any{x}})
		if err != nil || !utf8.Valid(b) {
			t.Fatalf("%q: %v", b, err)
		}
		if strings.ContainsRune(id+x, '\r') || !utf8.ValidString(id) || !utf8.ValidString(x) || id == "" && x == "" {
			return // the reader turns CRLF within a field into LF, and we turn bytes that are no UTF-8 into U+FFFD
		}
		rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
		if err != nil || !reflect.DeepEqual(rows, [][]string{{"id", "x"}, {id, x}}) {
			t.Fatalf("%q: %q, %v", b, rows, err)
		}
	})
}
