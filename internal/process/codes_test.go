package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"grense/internal/history"
	"grense/internal/history/changes"
	"grense/internal/problem"
	"grense/internal/process"
)

// wards is an environment whose history has one scheme, ward, made of a table of changes. It has one day for each step.
func wards(t *testing.T, rows string) *process.Env {
	t.Helper()
	table, err := changes.Read(strings.NewReader("date,from,from_name,to,to_name,people\n"+rows), changes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	replayed, err := history.Replay("ward", table.Changes, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.New(replayed)
	if err != nil {
		t.Fatal(err)
	}
	env := municipalities().env()
	env.History = func(context.Context) (*history.History, error) { return h, nil }
	return env
}

// lines of changes: A and B merge into C, whose parts are D and E; X, with a blank in its code, becomes "Y 1" and is
// called two things at once; Z ends.
const wardChanges = `2010-01-01,A,Ask,C,Cedar,
2010-01-01,B,Birch,C,Cedar,
2020-01-01,C,Cedar,D,Dogwood; east,700
2020-01-01,C,Cedar,E 5,Elm,300
2020-01-01,X 0,Yew,Y 1,Yew; Ivy,
2020-01-01,Z,Zelkova,,,
`

// became runs translate-codes for codes and returns what each is.
func became(t *testing.T, env *process.Env, inputs string) (string, error) {
	t.Helper()
	out, err := run(t, env, "translate-codes", `{"scheme":"ward",`+inputs+`}`)
	if err != nil {
		return "", err
	}
	var got []struct {
		Code, Fault string
		Became      []struct{ Code, Name string }
	}
	if err := json.Unmarshal([]byte(written(t, out["translations"])), &got); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range got {
		var to []string
		for _, b := range r.Became {
			to = append(to, b.Code+"="+b.Name)
		}
		s := r.Code + ">" + strings.Join(to, "+")
		if r.Fault != "" {
			s += "!"
		}
		list = append(list, s)
	}
	return strings.Join(list, " | "), nil
}

// TestCodesWithBlanksAreWhole, and names with semicolons: a code that is several has each with its own name.
func TestCodesWithBlanksAreWhole(t *testing.T) {
	t.Parallel()
	env := wards(t, wardChanges)
	for _, x := range []struct{ name, codes, from, to, choice, want string }{
		{"a blank in the code", `"X 0"`, "2015-01-01", "2021-01-01", "list", "X 0>Y 1=Yew; Ivy"},
		{"back again", `"Y 1"`, "2021-01-01", "2015-01-01", "list", "Y 1>X 0=Yew"},
		{"several", `"C","A"`, "2015-01-01", "2021-01-01", "list", "C>D=Dogwood; east+E 5=Elm | A>!"},
		{"the largest of several", `"C"`, "2015-01-01", "2021-01-01", "largest", "C>D=Dogwood; east"},
		{"none of several", `"C"`, "2015-01-01", "2021-01-01", "null", "C>"},
		{"two that were one", `"D","E 5"`, "2021-01-01", "2009-01-01", "list", "D>A=Ask+B=Birch | E 5>A=Ask+B=Birch"},
		{"over two steps", `"A"`, "2009-12-31", "2020-01-01", "list", "A>D=Dogwood; east+E 5=Elm"},
		{"on the day of the change", `"A","C"`, "2010-01-01", "2010-01-01", "list", "A>! | C>C=Cedar"},
		{"one that ended", `"Z"`, "2019-12-31", "2020-01-01", "list", "Z>!"},
		{"a code in small letters", `"a"`, "2009-01-01", "2009-01-01", "list", "a>!"},
		{"a code with a blank behind it", `"A "`, "2009-01-01", "2009-01-01", "list", "A >!"},
		{"the same code twice", `"A","A"`, "2009-01-01", "2009-01-01", "list", "A>A=Ask | A>A=Ask"},
	} {
		got, err := became(t, env, fmt.Sprintf(`"codes":[%s],"from":%q,"to":%q,"onAmbiguous":%q`, x.codes, x.from, x.to,
			x.choice))
		if err != nil || got != x.want {
			t.Errorf("%s: %s, %v, want %s", x.name, got, err, x.want)
		}
	}
	for _, x := range []struct{ name, inputs, want string }{
		{"several, refused", `"codes":["A","C"],"from":"2015-01-01","to":"2021-01-01","onAmbiguous":"error"`,
			"/inputs/codes/1: it stands for several: D E 5; choose list, null or largest with onAmbiguous"},
		{"no codes", `"codes":[],"from":"2015-01-01","to":"2021-01-01"`, "/inputs/codes: send at least 1 elements"},
		{"a number", `"codes":[301],"from":"2015-01-01","to":"2021-01-01"`, "/inputs/codes/0: send a string"},
		{"no day", `"codes":["A"],"from":"2015-02-29","to":"2021-01-01"`, "/inputs/from: send a date"},
		{"the year nought", `"codes":["A"],"from":"0000-01-01","to":"2021-01-01"`, "/inputs/from: send a day"},
		{"another choice", `"codes":["A"],"from":"2015-01-01","to":"2021-01-01","onAmbiguous":"all"`,
			"/inputs/onAmbiguous: use one of list, null, largest, error"},
	} {
		if _, err := became(t, env, x.inputs); err == nil || !strings.HasPrefix(faults(err), x.want) {
			t.Errorf("%s: %v, want %s", x.name, err, x.want)
		}
	}
	if _, err := run(t, env, "translate-codes", `{"codes":["A"],"from":"2015-01-01","to":"2021-01-01"}`); faults(err) !=
		"/inputs/scheme: use one of ward" {
		t.Errorf("the default scheme: %v", err)
	}
}

// TestTablesOfCodesAreTranslated: the report counts each row; a code of several ends the table only if it shall.
func TestTablesOfCodesAreTranslated(t *testing.T) {
	t.Parallel()
	const days = `"scheme":"ward","from":"2015-01-01","to":"2021-01-01"`
	for _, x := range []struct{ name, inputs, table, report string }{
		{"all kinds of rows", `"table":"code,n\nX 0,1\nC,2\nZ,3\nnever,4\n,5\n"`,
			"code,n,translated,translated_name,translated_error\nX 0,1,Y 1,Yew; Ivy,\nC,2,D E 5,Dogwood; east; Elm,\n" +
				"Z,3,,,nothing of it was left on 2021-01-01\nnever,4,,,the code was never in use\n,5,,,",
			`{"rows":5,"matched":2,`},
		{"none of several", `"table":"code\nC\n","onAmbiguous":"null"`,
			"code,translated,translated_name,translated_error\nC,,,\n", `{"rows":1,"matched":0,"unmatched":1,`},
		{"a named column of JSON lines", `"table":"{\"nr\":\"X 0\",\"code\":7}\n","column":"nr"`,
			`{"nr":"X 0","code":7,"translated":"Y 1","translated_name":"Yew; Ivy","translated_error":null}` + "\n",
			`{"rows":1,"matched":1,`},
		{"no rows", `"table":"code\n"`, "code,translated,translated_name,translated_error\n", `{"rows":0,`},
	} {
		out, err := run(t, wards(t, wardChanges), "translate-codes", `{`+days+`,`+x.inputs+`}`)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if got := strings.ReplaceAll(written(t, out["table"]), "\r\n", "\n"); !strings.HasPrefix(got, x.table) {
			t.Errorf("%s: %q, want %q", x.name, got, x.table)
		}
		if got := written(t, out["report"]); !strings.HasPrefix(got, x.report) {
			t.Errorf("%s: report %s, want %s", x.name, got, x.report)
		}
	}
	for _, x := range []struct{ name, inputs, want string }{
		{"a code of several", `"table":"code\nX 0\nC\n","onAmbiguous":"error"`,
			"/inputs/onAmbiguous: row 2: the code stands for several; choose list, null or largest"},
		{"no such column", `"table":"code\nA\n","column":"nr"`, "/inputs/table: the table has no column \"nr\""},
		{"no column of codes", `"table":"a,b\n1,2\n"`, "/inputs/table: "},
		{"a column that would be added", `"table":"code,translated\nA,B\n"`, "/inputs/table: "},
	} {
		out, err := run(t, wards(t, wardChanges), "translate-codes", `{`+days+`,`+x.inputs+`}`)
		if err == nil {
			err = out["table"].Write(t.Context(), io.Discard)
		}
		if err == nil || !strings.HasPrefix(faults(err), x.want) {
			t.Errorf("%s: %v, want %s", x.name, err, x.want)
		}
	}
}

// cells are the rows of a series as code=value and mark.
func cells(t *testing.T, table string) string {
	t.Helper()
	_, rows := records(t, table)
	var list []string
	for _, r := range rows {
		list = append(list, fmt.Sprintf("%s %s=%s %s", r["date"], r["code"], r["value"], r["mark"]))
	}
	return strings.Join(list, " | ")
}

// TestInputsOfASeriesReachIt: columns, further columns, weights of each kind, ratios and rows that are passed over.
// Sums and shares are calculated by hand.
func TestInputsOfASeriesReachIt(t *testing.T) {
	t.Parallel()
	env := wards(t, wardChanges)
	const table = `"table":"code,date,value\nA,2009-06-01,40\nB,2009-06-01,60\n"`
	for _, x := range []struct{ name, inputs, want string }{
		{"a merger is exact", table + `,"to":"2015-01-01"`, "2009-06-01 C=100 exact"},
		{"the same day", table + `,"to":"2009-06-01"`, "2009-06-01 A=40 exact | 2009-06-01 B=60 exact"},
		{"a division without weights", table + `,"to":"2021-01-01"`,
			"2009-06-01 D= missing | 2009-06-01 E 5= missing"},
		{"a division by people", table + `,"to":"2021-01-01","weights":"population"`,
			"2009-06-01 D=70 estimated | 2009-06-01 E 5=30 estimated"},
		{"a division by own weights", table + `,"to":"2021-01-01","weights":"supplied",` +
			`"weightsTable":"code,to,weight\nA,D,1\nA,E 5,3\nB,D,0.25\nB,E 5,0.75\n"`,
			"2009-06-01 D=25 estimated | 2009-06-01 E 5=75 estimated"},
		{"other names of columns", `"table":"nr,dag,verdi\nA,2009-06-01,40\nB,2009-06-01,60\n","code":"nr",` +
			`"date":"dag",` +
			`"value":"verdi","to":"2015-01-01"`, "2009-06-01 C=100 exact"},
		{"a series of years", `"table":"code,date,value\nA,2009,1\nB,2009,2\nC,2010,5\n","to":"2015-01-01"`,
			"2009-01-01 C=3 exact | 2010-01-01 C=5 exact"},
		{"rows that are passed over", `"table":"code,date,value\nA,2009-06-01,40\nB,2009-06-01,60\n?,2009-06-01,x\n",` +
			`"skip":true,"to":"2015-01-01"`, "2009-06-01 C=100 exact"},
	} {
		out, err := run(t, env, "harmonise-series", `{"scheme":"ward",`+x.inputs+`}`)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		got := written(t, out["table"])
		// other columns keep their names: take them by their place
		for _, name := range []string{"nr,dag,verdi", "nr;dag;verdi"} {
			got = strings.Replace(got, name, "code,date,value", 1)
		}
		if s := cells(t, got); s != x.want {
			t.Errorf("%s: %s, want %s in\n%s", x.name, s, x.want, got)
		}
		var report map[string]any
		if err := json.Unmarshal([]byte(written(t, out["report"])), &report); err != nil || len(report) == 0 {
			t.Errorf("%s: report %v, %v", x.name, report, err)
		}
	}
	out, err := run(t, env, "harmonise-series", `{"scheme":"ward","to":"2015-01-01","by":"sex, age","table":"`+
		`{\"code\":\"A\",\"date\":\"2009\",\"value\":1,\"sex\":\"f\",\"age\":\"0\"}\n`+
		`{\"code\":\"B\",\"date\":\"2009\",\"value\":2,\"sex\":\"f\",\"age\":\"0\"}\n`+
		`{\"code\":\"B\",\"date\":\"2009\",\"value\":4,\"sex\":\"m\",\"age\":\"0\"}\n"}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(written(t, out["table"])) {
		var c struct {
			Sex   string
			Value any
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s=%v", c.Sex, c.Value))
	}
	if s := strings.Join(got, " "); s != "f=3 m=<nil>" || out["table"].Name != "series.jsonl" ||
		out["table"].Media != "application/x-ndjson" {
		t.Errorf("JSON lines: %s of %s, %s", s, out["table"].Name, out["table"].Media)
	}
}

// TestHistoriesThatCannotBeReadAreNoFaultOfTheClient, and neither is a history that is not there.
func TestHistoriesThatCannotBeReadAreNoFaultOfTheClient(t *testing.T) {
	t.Parallel()
	disk := errors.New("disk")
	for _, x := range [][2]string{
		{"translate-codes", `{"codes":["1"],"from":"2024-01-01","to":"2024-01-01"}`},
		{"harmonise-series", `{"table":"code,date,value\n1,2020,1\n","to":"2024-01-01"}`},
	} {
		env := municipalities().env()
		env.History = func(context.Context) (*history.History, error) { return nil, disk }
		if _, err := run(t, env, x[0], x[1]); !errors.Is(err, disk) {
			t.Errorf("%s: %v", x[0], err)
		}
		env.History = func(context.Context) (*history.History, error) { return nil, nil }
		if _, err := run(t, env, x[0], x[1]); err == nil || problem.Of(err).Kind != problem.NotFound {
			t.Errorf("%s without a history: %v", x[0], err)
		}
	}
}

// TestTablesReportTheirProgress: in percent of their bytes, never back and never above 99, or in rows for a reference.
func TestTablesReportTheirProgress(t *testing.T) {
	t.Parallel()
	var asked string
	env := tables(&asked)
	last, calls, message := 0, 0, ""
	env.Progress = func(percent int, text string) {
		if percent < last || percent > 99 {
			t.Errorf("progress goes from %d to %d", last, percent)
		}
		last, message = percent, text
		calls++
	}
	rows := strings.Repeat("1,2\n", 100_000)
	b, _ := json.Marshal(map[string]string{"table": "lon,lat\n" + rows})
	out, err := run(t, env, "enrich-table", string(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := out["table"].Write(t.Context(), io.Discard); err != nil || last < 50 || calls < 2 || message != "" {
		t.Errorf("%d calls up to %d percent, %q, %v", calls, last, message, err)
	}
	last, calls = 0, 0
	env.Open = func(context.Context, string) (io.ReadCloser, string, error) {
		return io.NopCloser(strings.NewReader("lon,lat\n" + rows)), "text/csv", nil
	}
	if out, err = run(t, env, "enrich-table", `{"table":{"href":"https://example.com/t"}}`); err != nil {
		t.Fatal(err)
	}
	if err := out["table"].Write(t.Context(), io.Discard); err != nil || last != 0 || calls == 0 ||
		!strings.HasSuffix(message, " rows") {
		t.Errorf("%d calls up to %d percent, %q, %v", calls, last, message, err)
	}
}
