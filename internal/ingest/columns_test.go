package ingest_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
)

func TestTableWithoutCoordinatesIsRead(t *testing.T) {
	t.Parallel()
	plan, have := ingesttest.ImportText(t, "codes.csv", "kode;navn\n0301;Oslo\n4601;Bergen\n", ingesttest.Into)
	if _, noted := ingesttest.Find(plan.Report, input.Warning, "name the columns lon and lat"); !noted ||
		plan.Collection.Geometry != nil || len(have) != 2 || have[1].Values["kode"] != "4601" {
		t.Errorf("%+v %v %v", plan.Report, plan.Collection.Geometry, have)
	}
	target := ingesttest.Into
	target.IDField = "kode"
	if _, have := ingesttest.ImportText(t, "codes.csv", "kode,navn\n0301,Oslo\n", target); have[0].ID != "0301" {
		t.Errorf("%v", have)
	}
}

func TestColumnsAreChosen(t *testing.T) {
	t.Parallel()
	const text = "nr,navn,areal,lon,lat\n1,Oslo,2,10,60\n"
	target := ingest.Target{Collection: "x", IDField: "nr", Columns: []string{"areal"}}
	plan, have := ingesttest.ImportText(t, "a.csv", text, target)
	if want := map[string]any{"nr": int64(1), "areal": int64(2)}; !reflect.DeepEqual(have[0].Values, want) ||
		len(plan.Collection.Properties) != 2 {
		t.Errorf("%v", have[0].Values)
	}
	target.Columns = []string{"none"}
	if plan, err := ingesttest.Survey(t, "a.csv", text, target); !errors.Is(err, input.ErrRefused) ||
		!strings.Contains(err.Error(), `no property "none" for --columns; there are: nr, navn, areal`) {
		t.Errorf("%v %v", err, plan.Report.Faults)
	}
	plan, have = ingesttest.ImportText(t, "a.json",
		ingesttest.GeoJSON(ingesttest.PointWith("", `"id":"a","navn":"A","n":1`)),
		ingest.Target{Collection: "x", Columns: []string{"navn"}})
	if want := map[string]any{"navn": "A"}; !reflect.DeepEqual(have[0].Values, want) || have[0].ID != "a" {
		t.Errorf("%v %v %v", plan.Collection.Key, have[0].ID, have[0].Values)
	}
}

func TestPropertiesWithoutReadableNames(t *testing.T) {
	t.Parallel()
	plan, have := ingesttest.ImportText(t, "a.json",
		ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, `"":1," ":2,"a\u0000b":3,"unnamed":4`)), ingesttest.Into)
	want := map[string]any{"unnamed": int64(1), "unnamed_2": int64(2), "a_b": int64(3), "unnamed_3": int64(4)}
	if !reflect.DeepEqual(have[0].Values, want) || plan.Report.Warnings == 0 {
		t.Errorf("%v %v", have[0].Values, plan.Report.Faults)
	}
}

func TestNumbersThatAreNoneAreNull(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a.json": ingesttest.GeoJSON(ingesttest.PointWith(`"id":1,`, `"n":1.5`),
			ingesttest.PointWith(`"id":2,`, `"n":NaN`), ingesttest.PointWith(`"id":3,`, `"n":-Infinity`)),
		"a.csv": "id,n,lon,lat\n1,1.5,10,60\n2,nan,10,60\n3,-inf,10,60\n",
	} {
		plan, have := ingesttest.ImportText(t, name, text, ingesttest.Into)
		if _, noted := ingesttest.Find(plan.Report, input.Warning,
			`"n" has numbers that are NaN or infinite, features: 2`); !noted || have[0].Values["n"] != 1.5 ||
			have[1].Values["n"] != nil || have[2].Values["n"] != nil {
			t.Errorf("%s: %v %v", name, have, plan.Report.Faults)
		}
	}
	if _, have := ingesttest.ImportText(t, "b.csv", "id,n,lon,lat\n1,x,10,60\n2,nan,10,60\n",
		ingesttest.Into); have[1].Values["n"] != "nan" {
		t.Errorf("a text: %v", have[1].Values)
	}
}

// workbook is a file with one sheet of rows of cells, as XML. Style 1 is a day, 2 a day with a time, 3 a time, 4 a
// duration.
func workbook(t *testing.T, from1904 bool, rows ...string) string {
	t.Helper()
	var sheet strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&sheet, `<row r="%d">%s</row>`, i+1, r)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"xl/workbook.xml": fmt.Sprintf(`<workbook xmlns:r="r"><workbookPr date1904="%v"/><sheets><sheet `+
			`name="a" sheetId="1" r:id="r1"/></sheets></workbook>`, from1904),
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/>` +
			`</Relationships>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[h]:mm:ss"/><numFmt numFmtId="165" formatCode="[$-409]hh:mm"/></numFmts>
			<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="165"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
		"xl/worksheets/sheet1.xml": `<worksheet><sheetData>` + sheet.String() + `</sheetData></worksheet>`,
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDaysAndTimesOfWorkbooks(t *testing.T) {
	t.Parallel()
	const head = `<c t="str"><v>day</v></c><c t="str"><v>moment</v></c><c t="str"><v>time</v></c><c t="str">` +
		`<v>span</v></c>`
	row := func(days ...string) (out string) {
		for i, d := range days {
			out += fmt.Sprintf(`<c s="%d"><v>%s</v></c>`, i+1, d)
		}
		return out
	}
	for _, c := range []struct {
		from1904 bool
		row      string
		want     map[string]any
	}{
		{false, row("43890", "43890.524259259262", "0.524259259262", "1.5"), map[string]any{"day": "2020-02-29",
			"moment": "2020-02-29T12:34:56Z", "time": "12:34:56", "span": "36:00:00"}},
		{false, row("1", "43890", "0", "0"), map[string]any{"day": "1900-01-01", "moment": "2020-02-29T00:00:00Z",
			"time": "00:00:00", "span": "0:00:00"}},
		{false, row("59", "61", "0.99999999999", "0.5"), map[string]any{"day": "1900-02-28",
			"moment": "1900-03-01T00:00:00Z", "time": "1900-01-01T00:00:00Z", "span": "12:00:00"}},
		{true, row("42428", "42428.524259259262", "0.524259259262", "1.5"), map[string]any{"day": "2020-02-29",
			"moment": "2020-02-29T12:34:56Z", "time": "12:34:56", "span": "36:00:00"}},
		{true, row("-1460", "0", "0", "0"), map[string]any{"day": "1900-01-01", "moment": "1904-01-01T00:00:00Z",
			"time": "00:00:00", "span": "0:00:00"}},
	} {
		_, have := ingesttest.ImportText(t, "a.xlsx", workbook(t, c.from1904, head, c.row), ingesttest.Into)
		if !reflect.DeepEqual(have[0].Values, c.want) {
			t.Errorf("%s: %v", c.row, have[0].Values)
		}
	}
}

func TestErrorsAndFormulasOfWorkbooksAreNoted(t *testing.T) {
	t.Parallel()
	plan, have := ingesttest.ImportText(t, "a.xlsx",
		workbook(t, false, `<c t="str"><v>a</v></c><c t="str"><v>b</v></c><c t="str"><v>c</v></c>`,
			`<c t="e"><v>#N/A</v></c><c><f>1+1</f></c><c t="str"><f>""</f><v></v></c>`,
			`<c><v>1</v></c><c><f>1+1</f><v>2</v></c><c t="str"><v>x</v></c>`), ingesttest.Into)
	for _, want := range []string{"cells with the error #N/A: 1; they are null",
		"cells with a formula and no result: 1;"} {
		if _, noted := ingesttest.Find(plan.Report, input.Warning, want); !noted {
			t.Errorf("%q: %v", want, plan.Report.Faults)
		}
	}
	if want := map[string]any{"a": int64(1), "b": int64(2), "c": "x"}; len(have) != 2 || have[0].Values["a"] != nil ||
		!reflect.DeepEqual(have[1].Values, want) {
		t.Errorf("%v", have)
	}
}
