package csv_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

func TestCSV(t *testing.T) {
	t.Parallel()
	utf16 := "\xff\xfe"
	for _, r := range "id;lon;lat\n1;10,5;60\n" {
		utf16 += string([]byte{byte(r), 0})
	}
	for name, c := range map[string]struct {
		text   string
		state  crs.ID
		wkt    string // orb's form
		values map[string]any
	}{
		"comma": {"id,lon,lat,n\n1,10,60,5\n", 0, "[10 60]", map[string]any{"id": int64(1), "n": int64(5)}},
		"semicolon, commas": {"id;Lon;Lat;n\n1;10,5;-60,25;5,5\n", 0, "[10.5 -60.25]",
			map[string]any{"id": int64(1), "n": "5,5"}},
		"tab, mark, CRLF": {"\ufeffid\tlng\tlat\r\n0301\t10\t60\r\n", 0, "[10 60]", map[string]any{"id": "0301"}},
		"bar, quotes": {"id|longitude|latitude|t\n1|10|60|\"a|\"\"b\"\"\nc\"\n", 0, "[10 60]",
			map[string]any{"id": int64(1), "t": "a|\"b\"\nc"}},
		"lines in quotes": {"id,lon,lat,t\r\n1,10,60,\"a\r\nb\nc\rd\"\"\r\n\"\r\n", 0, "[10 60]",
			map[string]any{"id": int64(1), "t": "a\r\nb\nc\rd\"\r\n"}},
		"UTF-16": {utf16, 0, "[10.5 60]", map[string]any{"id": int64(1)}},
		"metres": {"id,x,y\n1,289110.5,7149195\n", crs.UTM33, "[289110.5 7.149195e+06]",
			map[string]any{"id": int64(1)}},
		"text": {"id,WKT\n1,\"POLYGON((0 0,0 1,1 1,0 0))\"\n", crs.CRS84, "[[[0 0] [1 1] [0 1] [0 0]]]",
			map[string]any{"id": int64(1)}},
		"text with SRID": {"id,geom\n1,SRID=25833;POINT(289110 7149195)\n", 0, "[289110 7.149195e+06]",
			map[string]any{"id": int64(1)}},
		"text, heights":  {"id,wkt\n1,POINT ZM (1 2 3 4)\n", crs.CRS84, "[1 2]", map[string]any{"id": int64(1)}},
		"text, empty":    {"id,wkt\n1,POINT EMPTY\n", crs.CRS84, "<nil>", map[string]any{"id": int64(1)}},
		"no coordinates": {"id,lon,lat\n1,,\n", 0, "<nil>", map[string]any{"id": int64(1)}},
		"empty values": {"id,lon,lat,a,b\n1,10,60,,true\n", 0, "[10 60]",
			map[string]any{"id": int64(1), "a": nil, "b": true}},
		"unnamed column": {"id,lon,lat,\n1,10,60,z\n", 0, "[10 60]",
			map[string]any{"id": int64(1), "column_4": "z"}},
		"day": {"id,lon,lat,d\n1,10,60,2024-01-31\n", 0, "[10 60]",
			map[string]any{"id": int64(1), "d": "2024-01-31"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := ingesttest.Features(t,
				ingesttest.Write(t, ingesttest.MustSurvey(t, ingesttest.WriteFile(t, "a.csv", c.text), c.state)), "x")
			if len(have) != 1 {
				t.Fatalf("%v", have)
			}
			g, err := store.Geometry{WKB: have[0].WKB}.Orb()
			if err != nil || fmt.Sprint(g) != c.wkt {
				t.Errorf("%v, %v, want %s", g, err, c.wkt)
			}
			if !reflect.DeepEqual(have[0].Values, c.values) {
				t.Errorf("%#v, want %#v", have[0].Values, c.values)
			}
		})
	}
}

func TestTypesOfCSV(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]cql2.Type{
		"1 2 -3": cql2.TypeInteger, "1 2.50": cql2.TypeNumber, "0301 1": cql2.TypeText, "1e5": cql2.TypeText,
		"+5": cql2.TypeText, "-0": cql2.TypeText,
		"true FALSE": cql2.TypeBool, "true 1": cql2.TypeText, "2024-01-01 2024-12-31": cql2.TypeDate,
		"2024-01-01T10:00Z":    cql2.TypeTimestamp,
		"99999999999999999999": cql2.TypeText, "00": cql2.TypeText, "0": cql2.TypeInteger, "0.0": cql2.TypeNumber,
		"1.": cql2.TypeText,
	} {
		text := "lon,lat,v\n"
		for v := range strings.FieldsSeq(values) {
			text += "1,2," + v + "\n"
		}
		plan, err := ingesttest.Survey(t, "a.csv", text, ingesttest.Into)
		if err != nil || plan.Collection.Properties[0].Type != want {
			t.Errorf("%s: %v, want %v, %v", values, plan.Collection.Properties[0].Type, want, err)
		}
	}
}

func TestFaultsOfCSV(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
		line       int
	}{
		"empty":             {"", "the file is empty", 1},
		"column twice":      {"a,lon,lat,a\n", "stands in the header twice", 1},
		"too many fields":   {"lon,lat\n1,2\n1,2,3\n", "more or fewer fields", 3},
		"not a number":      {"lon,lat\n1,2\n1,x\n", `"1", "x" are not coordinates`, 3},
		"NaN":               {"lon,lat\n1,NaN\n", "are not coordinates", 2},
		"half":              {"lon,lat\n1,\n", "are not coordinates", 2},
		"comma for a point": {"lon,lat\n\"1,5\",2\n", "are not coordinates", 2},
		"quote":             {"lon,lat,a\n1,2,\"x\n", "quot", 2},
		"not UTF-8":         {"lon,lat,a\n1,2,\xe6\n", "save the file as UTF-8", 2},
		"header not UTF-8":  {"lon,lat,\xe6\n1,2,3\n", "the header is not UTF-8", 1},
		"no system":         {"x,y\n1,2\n", "no reference system is stated", 0},
		"bad text":          {"wkt\nPOINT(1)\n", "not well-known text", 2},
		"deep text": {"wkt\n" + strings.Repeat("GEOMETRYCOLLECTION(", 1000) + "\n",
			"brackets in each other", 2},
		"half an arc":      {"wkt\n\"CIRCULARSTRING(0 0,1 1)\"\n", "not well-known text", 2},
		"a curve's end":    {"wkt\n\"CIRCULARSTRING(0 0,1 1,2 0) x\"\n", "at character 29", 2},
		"a point in a TIN": {"wkt\n\"TIN(POINT(1 2))\"\n", "not well-known text", 2},
		"a curve of words": {"wkt\n\"CIRCULARSTRING(0 0,1 NaN,2 0)\"\n", "not well-known text", 2},
		"two systems": {"wkt\nSRID=25833;POINT(289110 7149195)\nSRID=25832;POINT(289110 7149195)\n",
			"mixes reference systems", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := ingesttest.Survey(t, "a.csv", c.text, ingesttest.Into)
			f, ok := ingesttest.Find(plan.Report, input.Refused, c.want)
			if !errors.Is(err, input.ErrRefused) || !ok || f.Line != c.line {
				t.Errorf("%v, %+v", err, plan.Report.Faults)
			}
		})
	}
}
