package history_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"grense/internal/history"
)

// TestTablesAreReadAsPeopleWriteThem: codes, days and numbers of statistical offices and spreadsheets.
func TestTablesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ table, want string }{
		"decimal commas": {"code;date;value\n0301;2024;1,5\n0301;2023;2\n",
			"0301;Oslo;2023-01-01;2;exact;\n0301;Oslo;2024-01-01;1,5;exact;\n"},
		"commas in quotes":        {"code,date,value\n0301,2024,\"1,25\"\n", "0301,Oslo,2024-01-01,\"1,25\",exact,\n"},
		"blanks between thousand": {"code;date;value\n0301;2024;1 717 710\n", "0301;Oslo;2024-01-01;1717710;exact;\n"},
		"months": {"code,date,value\n0301,2019M02,1\n0301,2019-03,2\n",
			"0301,Oslo,2019-02-01,1,exact,\n0301,Oslo,2019-03-01,2,exact,\n"},
		"quarters": {"code,date,value\n0301,2019K2,1\n0301,2019Q3,2\n",
			"0301,Oslo,2019-04-01,1,exact,\n0301,Oslo,2019-07-01,2,exact,\n"},
		"a prefix": {"code,date,value\nK-0301,2024,1\n", "0301,Oslo,2024-01-01,1,exact,\n"},
		"a name": {"code,date,value\n0301 Oslo,2024,1\nK-1580 Haram (2024),2024,2\n",
			"0301,Oslo,2024-01-01,1,exact,\n1580,Haram,2024-01-01,2,exact,\n"},
		"zeros and a name": {"code,date,value\n301 Oslo,2024,1\n", "0301,Oslo,2024-01-01,1,exact,\n"},
		"a minus of spreadsheets": {"code;date;value\n0301;2024;\u22121 234,5\n",
			"0301;Oslo;2024-01-01;-1234,5;exact;\n"},
		"bars":                 {"code|date|value\n0301|2024|5\n", "0301|Oslo|2024-01-01|5|exact|\n"},
		"names in other cases": {"CODE,Date,value,Value\n0301,2024,5,6\n", "0301,Oslo,2024-01-01,5,exact,\n"},
		"no value": {"code,date,value\n0301,2024,1\n0301,2023,NA\n1580,2024,.\n1508,2024," +
			":\n1507,2023,..\n", "0301,Oslo,2024-01-01,1,exact,\n"},
	} {
		if got, _ := harmonised(t, tt.table, history.SeriesOptions{}); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
	for table, want := range map[string]string{
		"code,date,value\n0301,2024,\"1,234\"\n": `row 1: "1,234" may be thousands or decimals; ` +
			`write decimals with a point, and nothing between thousands`,
		"code;date;value\n0301;2024;1 7\n": `row 1: "1 7" is no number; write digits, with a point ` +
			`before decimals`,
		"code,date,value\n0301,2019M13,1\n": `row 1: "2019M13" is no day; write it as 2020-01-01`,
		"\xff\xfec\x00o\x00":                "heading: the table is UTF-16; save it as UTF-8",
		"code,Date,DATE,value\n":            `heading: the column "date" stands twice; name each once`,
		"code,date,value\n0301,2019K5,1\n":  `row 1: "2019K5" is no day; write it as 2020-01-01`,
	} {
		if _, _, err := harmonise(t, &strings.Builder{}, table, history.SeriesColumns{},
			history.SeriesOptions{To: 20240101}); err == nil ||
			err.Error() != want {
			t.Errorf("%q: %v, want %s", table, err, want)
		}
	}
}

// TestRowsThatCannotBeReadArePassedOver on request, and reported; totals are those of the others.
func TestRowsThatCannotBeReadArePassedOver(t *testing.T) {
	t.Parallel()
	const table = "code,date,value\n0301,2024,1\n0301,24,2\n0301,2024,3\n0301,2023,many\n1580,2024\n1580,2024,4\n"
	var out strings.Builder
	told, r, err := harmonise(t, &out, table, history.SeriesColumns{Skip: true}, history.SeriesOptions{To: 20240101})
	if err != nil || r.Skipped != 4 || len(told) != 4 || r.Rows != 6 || r.Total != "5" || r.Placed != "5" {
		t.Errorf("%+v, %q, %v", r, told, err)
	}
	if want := "code,name,date,value,mark,why\n0301,Oslo,2024-01-01,1,exact,\n1580,Haram,2024-01-01," +
		"4,exact,\n"; out.String() != want {
		t.Errorf("%s", &out)
	}
}

// TestAnIntervalIsGivenInsteadOfABlank: what became several may be in each of them, wholly or not at all.
func TestAnIntervalIsGivenInsteadOfABlank(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		table, want string
		ratio       bool
	}{
		"a part that is not known": {
			"code,date,value\n1805,2019,18000\n1854,2019,2500\n1850,2019,2000\n1849,2019,1700\n",
			"1806,Narvik,2019-01-01,,20500,22500,missing\n1875,Hábmer,2019-01-01,,1700,3700,missing\n", false},
		"exact": {"code,date,value\n0301,2019,5\n", "0301,Oslo,2019-01-01,5,5,5,exact\n", false},
		"below nothing": {"code,date,value\n1507,2023,-5\n",
			"1508,Ålesund,2023-01-01,,-5,0,missing\n1580,Haram,2023-01-01,,-5,0,missing\n", false},
		"a value is absent": {"code,date,value\n1805,2019,18000\n", "1806,Narvik,2019-01-01,,,,missing\n", false},
		"a mean": {"code,date,value\n1805,2019,4\n1854,2019,6\n1850,2019,5\n",
			"1806,Narvik,2019-01-01,,,,missing\n1875,Hábmer,2019-01-01,,,,missing\n", true},
	} {
		rows, _ := harmonised(t, tt.table, history.SeriesOptions{Interval: true, Ratio: tt.ratio})
		got := ""
		for line := range strings.Lines(rows) {
			f := strings.Split(line, ",")
			name := strings.Split(f[1], " ")[0]
			got += strings.Join(append([]string{f[0], name}, f[2:7]...), ",") + "\n"
		}
		if got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

// TestALongSeriesIsHeldInAFile, which gives what memory gives, and leaves nothing behind.
func TestALongSeriesIsHeldInAFile(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("code,date,value,sex\n")
	for _, sex := range []string{"f", "m"} {
		for year := range 40 {
			for i, code := range []string{"1504", "1534", "0301"} {
				if year < 36 || code == "0301" {
					fmt.Fprintf(&table, "%s,%d,%d.%d,%s\n", code, 1984+year, 100*year+i, i, sex)
				}
			}
		}
	}
	dir := t.TempDir()
	all, whole := harmonised(t, table.String(), history.SeriesOptions{}, "sex")
	few, parts := harmonised(t, table.String(), history.SeriesOptions{MaxCells: 10, Spill: dir}, "sex")
	if all != few || !reflect.DeepEqual(whole, parts) || strings.Count(all, "\n") < 200 {
		t.Errorf("%+v, in parts %+v", whole, parts)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	_, _, err := harmonise(t, &strings.Builder{}, table.String(), history.SeriesColumns{By: []string{"sex"}},
		history.SeriesOptions{To: 20240101, MaxCells: 3, Spill: dir})
	if err == nil || !strings.Contains(err.Error(), "more than 3 values on 1984-01-01; harmonise it in parts") {
		t.Error(err)
	}
}
