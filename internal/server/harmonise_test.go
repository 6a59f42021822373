package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/openapi"
)

// harmonise sends a series and returns the response with its report.
func (a *api) harmonise(t *testing.T, query, media, table string, header ...string) (status int, body, report string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/v1/harmonise?"+query, strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, b := exchange(t, http.DefaultTransport, req)
	return res.StatusCode, string(b), res.Trailer.Get("Harmonise-Report")
}

// TestASeriesIsHarmonisedAsAStream: the result has the format of the input, and equals that of the process.
func TestASeriesIsHarmonisedAsAStream(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	const table = "code,date,value\n1504,2019,10\n1523,2019,1\n1529,2019,2\n1546,2019,3\n1534,2019,4\n0301,2018,7.5\n"
	outputs := a.run("harmonise-series", `{"inputs":{"table":"`+strings.ReplaceAll(
		table, "\n", `\n`)+`","to":"2024-01-01","interval":true}}`).wants(200).parts()
	status, got, report := a.harmonise(t, "to=2024-01-01&interval=true", "text/csv", table)
	if status != 200 || got != outputs["table"] || report != outputs["report"] {
		t.Errorf("%d\n%s%s\nthe process:\n%s%s", status, got, report, outputs["table"], outputs["report"])
	}
	lines := `{"region":"K-0301","year":2018,"people":7.50,"sex":"f"}` + "\n\n" +
		`{"region":"0301","year":"2018","people":"1","sex":"m","more":[1]}` + "\r\n" +
		`{"region":"0301","year":"2019","people":null,"sex":"m"}`
	status, got, _ = a.harmonise(t, "to=2024-01-01&code=region&date=year&value=people&by=sex", "application/x-ndjson",
		lines)
	want := `{"code":"0301","name":"Oslo","date":"2018-01-01","sex":"f","value":7.50,"mark":"exact","why":""}` + "\n" +
		`{"code":"0301","name":"Oslo","date":"2018-01-01","sex":"m","value":1,"mark":"exact","why":""}` + "\n"
	if status != 200 || got != want {
		t.Errorf("%d\n%s\nwant\n%s", status, got, want)
	}
	status, got, _ = a.harmonise(t, "to=2024-01-01&interval=true", "application/x-ndjson",
		`{"code":"1507","date":"2023","value":5}`)
	if want := `"value":null,"low":0,"high":5,"mark":"missing","why":"1507 became several, ` +
		`and no weights are to be used"}`; status != 200 || strings.Count(got, want) != 2 {
		t.Errorf("%d %s", status, got)
	}
	status, _, report = a.harmonise(t, "to=2024-01-01&skip=true", "text/csv",
		"code,date,value\n0301,2024,Å\n0301,2024,1\n0301,24,2\n")
	if want := `"skipped":2,"unknown":0,"restoredCodes":0,"exact":1,"estimated":0,"missing":0,"total":"1",` +
		`"placed":"1","leftOut":"0","faults":[{"row":1,"reason":"\"\u00c5\" is no number; ` +
		`write digits, with a point before decimals"},{"row":3,`; status != 200 || !strings.Contains(report, want) {
		t.Errorf("%d %s", status, report)
	}
}

func TestSeriesThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, func(c *config.Config) { c.Auth = "required" })
	const table, to = "code,date,value\n0301,2024,1\n", "to=2024-01-01"
	for name, x := range map[string]struct {
		query, media, in string
		status           int
		says             string
	}{
		"no day":              {"", "text/csv", table, 400, `"name":"to"`},
		"another day":         {"to=24", "text/csv", table, 400, `"name":"to"`},
		"no such scheme":      {to + "&scheme=x", "text/csv", table, 400, "fylke, kommune"},
		"no such kind":        {to + "&kind=x", "text/csv", table, 400, `"name":"kind"`},
		"a name that is none": {to + "&by=a,", "text/csv", table, 400, `"name":"by"`},
		"own weights":         {to + "&weights=supplied", "text/csv", table, 400, "harmonise-series"},
		"neither yes nor no":  {to + "&skip=1", "text/csv", table, 400, "use true or false"},
		"another parameter":   {to + "&column=x", "text/csv", table, 400, `"name":"column"`},
		"another type":        {to, "application/json", "{}", 415, "text/csv or application/x-ndjson"},
		"nothing":             {to, "text/csv", "", 400, "the table is empty"},
		"no such column": {to, "text/csv", "code,year,value\n", 400,
			`there is no column \"date\"; there are code, year, value`},
		"a taken name": {to + "&by=name", "text/csv", "code,date,value,name\n", 400,
			`the answer has a column \"name\" of its own`},
		"no number": {to, "text/csv", "code,date,value\n0301,2024,x\n", 400, `row 1: \"x\" is no number`},
		"no object": {to, "application/x-ndjson", "[1]\n", 400, "row 1: it is no JSON object"},
		"more than an object": {to, "application/x-ndjson", `{"code":"0301","date":"2024","value":1} 2`, 400,
			"row 1: it is no JSON object"},
		"a member twice": {to, "application/x-ndjson", `{"code":"0301","date":"2024","value":1,"value":2}`, 400,
			`row 1: the member \"value\" is written twice`},
		"no member": {to, "application/x-ndjson", `{"code":"0301","date":"2024"}`, 400,
			`row 1: there is no member \"value\"`},
		"a list": {to, "application/x-ndjson", `{"code":"0301","date":"2024","value":[1]}`, 400,
			`row 1: the member \"value\" is neither a text nor a number`},
		"an endless row": {to + "&skip=true", "text/csv", "code,date,value\n\"" + strings.Repeat("x", 2<<20), 400,
			"row 1: it is longer than 1048576 bytes"},
		"an endless line": {to + "&skip=true", "application/x-ndjson", strings.Repeat("x", 2<<20), 400,
			"row 1: it is longer than 1048576 bytes"},
	} {
		status, body, _ := a.harmonise(t, x.query, x.media, x.in, "X-API-Key", a.key)
		if status != x.status || !strings.Contains(body, x.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _, _ := a.harmonise(t, to, "text/csv", table); status != 401 {
		t.Errorf("without a key: %d", status)
	}
	b := serve(t, "", nil)
	if status, body, _ := b.harmonise(t, to, "text/csv", table); status != 404 {
		t.Errorf("without a history: %d %s", status, body)
	}
}

// TestSeriesAreHarmonisedFromTheirPage: the page returns files; after a fault the form keeps its values.
func TestSeriesAreHarmonisedFromTheirPage(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	page := string(a.get("/processes/harmonise-series?f=html&lang=en").wants(200).Body)
	form := page[strings.Index(page, `enctype="multipart/form-data"`):]
	form = form[:strings.Index(form, "</form>")]
	for part, n := range map[string]int{`action="/harmonise?lang=en"`: 1, `type="file"`: 1, `name="to" required`: 1,
		`<option value="population"`: 1, `<option value="supplied"`: 0, `<select name="skip">`: 1,
		`name="weightsTable"`: 0} {
		if strings.Count(form, part) != n {
			t.Errorf("the form has %q %d times: %s", part, strings.Count(form, part), form)
		}
	}
	upload := func(fields [][2]string, file, table string) answer {
		body, media := uploadForm(t, fields, file, table)
		return a.post("/harmonise", media, body, "Accept", "text/html", "Accept-Language", "nb")
	}
	var long strings.Builder
	long.WriteString("code;date;value;k\n")
	for i := range 20_000 {
		fmt.Fprintf(&long, "0301;2024;1,5;%d\n", i)
	}
	r := upload([][2]string{{"to", "2024-01-01"}, {"scheme", ""}, {"by", "k"}, {"interval", "false"}}, "births.csv",
		long.String()).wants(200)
	if !strings.Contains(r.Header.Get("Content-Disposition"), "filename=births-harmonised.csv") ||
		strings.Count(string(r.Body), "\n") != 20_001 ||
		!strings.HasPrefix(string(r.Body), "code;name;date;k;value;mark;why\n0301;Oslo;2024-01-01;0;1,5;exact;\n") {
		t.Errorf("%v %.200s", r.Header, r.Body)
	}
	again := string(upload([][2]string{{"to", "2024-01-01"}, {"weights", "area"}, {"value", "n & m"}}, "a.csv",
		"code,date\n").wants(400).Body)
	for _, part := range []string{"Overskriftene: ingen kolonne heter «n &amp; m»", `value="2024-01-01"`,
		`<option value="area" selected`, `value="n &amp; m"`} {
		if !strings.Contains(again, part) {
			t.Errorf("after a fault the page has no %s", part)
		}
	}
	if again = string(upload([][2]string{{"to", ""}}, "a.csv", "code,date\n").wants(400).Body); !strings.Contains(
		again, `name="to" id="up-to" aria-invalid="true"`) {
		t.Error("a day that is missing is not told beside its field")
	}
}

// TestSeriesAreDefinedBesideCodes: parameters of one name are not taken for each other.
func TestSeriesAreDefinedBesideCodes(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	doc, err := openapi.Load(t.Context(), a.get("/openapi").wants(200).Body)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/codes/{schemeId}/{code}": "path", "/harmonise": "query",
		"/enrich": "query"} {
		item := doc.Paths.Find(path)
		op := item.Get
		if op == nil {
			op = item.Post
		}
		if op.Parameters.GetByInAndName(want, "code") == nil {
			t.Errorf("%s has no code in its %s", path, want)
		}
	}
	if op := doc.Paths.Find("/harmonise").Post; op.RequestBody.Value.Content["application/x-ndjson"] == nil ||
		op.Responses.Value("413") == nil {
		t.Errorf("%+v", op.RequestBody.Value.Content)
	}
}

// TestSeriesAreChargedAsTables: by the pieces of the body. A client that has used up its rate can start none.
func TestSeriesAreChargedAsTables(t *testing.T) {
	t.Parallel()
	const table = "code,date,value\n0301,2024,1\n"
	a := serveHistory(t, nil)
	a.get("/codes/kommune").wants(200) // which reads the history
	charged := a.srv.Meter()
	status, body, _ := a.harmonise(t, "to=2024-01-01", "text/csv", table)
	if units := charged(); status != 200 || units < 2 || units > 8 {
		t.Errorf("%d %s, %v units", status, body, units)
	}
	a = serveHistory(t, func(c *config.Config) { c.Limits.Rate = 1 })
	for n := 0; status != http.StatusTooManyRequests && n < 10; n++ {
		status, body, _ = a.harmonise(t, "to=2024-01-01", "text/csv", table)
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("%d %s", status, body)
	}
}
