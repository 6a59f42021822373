package server_test

import (
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// run executes a process while it is waited for.
func (a *api) run(id, body string, header ...string) answer {
	a.t.Helper()
	return a.send("/processes/"+id+"/execution", body, header...)
}

// parts are the outputs of a raw answer with several, by name.
func (r answer) parts() map[string]string {
	r.t.Helper()
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		r.t.Fatal(err)
	}
	out, m := map[string]string{}, multipart.NewReader(strings.NewReader(string(r.Body)), params["boundary"])
	for {
		p, err := m.NextPart()
		if err == io.EOF {
			return out
		}
		if err != nil {
			r.t.Fatal(err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			r.t.Fatal(err)
		}
		out[strings.Trim(p.Header.Get("Content-ID"), "<>")] = string(b)
	}
}

// TestPointsAreLocatedAsByLookup, the same answer as a process.
func TestPointsAreLocatedAsByLookup(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, q := range []string{`"lon":10.75,"lat":59.91`, `"lon":2,"lat":61`, `"lon":261000,"lat":6650000,"crs":"http://www.opengis.net/def/crs/EPSG/0/25833","collections":"kommuner"`} {
		values := url.Values{}
		for _, pair := range strings.Split(q, `,"`) {
			name, v, _ := strings.Cut(strings.Trim(pair, `"`), `":`)
			values.Set(name, strings.Trim(v, `"`))
		}
		want := a.get("/lookup?f=json&" + values.Encode()).wants(200).json()
		r := a.run("locate-point", `{"inputs":{`+q+`}}`).wants(200)
		got := r.json()
		delete(want, "links")
		delete(got, "links")
		if r.Header.Get("Content-Type") != "application/geo+json" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s\n%v\nwant\n%v", q, r.Header.Get("Content-Type"), got, want)
		}
	}
	for q, at := range map[string]string{`"lon":10`: "/inputs/lat", `"lon":10,"lat":100`: "/inputs/lat", `"lon":"x","lat":1`: "/inputs/lon", `"lon":1,"lat":1,"crs":"x:y"`: "/inputs/crs",
		`"lon":1,"lat":1,"collections":"zz"`: "/inputs/collections", `"lon":1,"lat":1,"datetime":"x"`: "/inputs/datetime"} {
		if r := a.run("locate-point", `{"inputs":{`+q+`}}`); r.StatusCode != 400 || !strings.Contains(string(r.Body), `"name":"`+at+`"`) {
			t.Errorf("%s: %d %s", q, r.StatusCode, r.Body)
		}
	}
}

// TestTablesAreEnrichedByAProcess: by value and by reference, while the client waits and as a job, with the counts beside.
func TestTablesAreEnrichedByAProcess(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const table = `"table":"name,lon,lat\nhome,10.75,59.91\nsea,2,61\nbad,x,1\n","collections":"kommuner"`
	const want = "name,lon,lat,kommuner_id,kommuner_name,enrich_error\nhome,10.75,59.91,0301,Oslo,\nsea,2,61,,,\nbad,x,1,,,a coordinate is no number\n"
	const report = `{"rows":3,"matched":1,"unmatched":1,"errors":1,"restoredCodes":0}`
	if got := a.run("enrich-table", `{"inputs":{`+table+`}}`).wants(200).parts(); got["table"] != want || got["report"] != report {
		t.Errorf("%q", got)
	}
	if r := a.run("enrich-table", `{"inputs":{`+table+`},"outputs":{"report":{}}}`).wants(200); string(r.Body) != report {
		t.Errorf("%s", r.Body)
	}
	if r := a.run("enrich-table", `{"inputs":{"table":{"value":"{\"kode\":\"301\"}\n","mediaType":"application/x-ndjson"},"collections":"kommuner"},"outputs":{"table":{}}}`).wants(200); r.Header.Get("Content-Type") != "application/x-ndjson" ||
		string(r.Body) != `{"kode":"301","kommuner_id":"0301","kommuner_name":"Oslo","enrich_error":null}`+"\n" {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	// the form gives the file
	if r := a.send("/processes/enrich-table/execution", "table="+url.QueryEscape("kode\r\n301\r\n")+"&collections=kommuner&run=now", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html").wants(200); string(r.Body) != "kode,kommuner_id,kommuner_name,enrich_error\n301,0301,Oslo,\n" ||
		r.Header.Get("Content-Disposition") != "attachment; filename=table.csv" {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	// a reference leads to the items of this service
	for _, mount := range []string{"", "/v1"} {
		job := a.send(mount+"/processes/enrich-table/execution", `{"inputs":{"table":{"href":"`+a.URL+mount+`/collections/kommuner/items?f=csv&limit=1000&properties=nr"},"collections":"fylker,kommuner","code":"nr"},"outputs":{"table":{},"report":{}},"response":"document"}`, "Prefer", "respond-async").wants(201).Header.Get("Location")
		a.until(job, "successful")
		got := a.get(job + "/results").wants(200).json()
		r, _ := got["report"].(map[string]any)
		if table, _ := got["table"].(map[string]any); table["mediaType"] != "text/csv" || !strings.Contains(table["value"].(string), "\n0301,") {
			t.Errorf("%.200v", table)
		}
		if counts, _ := r["value"].(map[string]any); counts["matched"] != 357.0 || counts["rows"] != 357.0 {
			t.Errorf("%v", got["report"])
		}
	}
	for in, at := range map[string]string{``: "/inputs/table", `"table":"a,b\n1,2\n"`: "/inputs/table", `"table":""`: "/inputs/table", table + `,"x":"zz"`: "/inputs/table", table + `,"crs":"x:y"`: "/inputs/crs",
		`"table":"lon,lat\n","collections":"zz"`:                                          "/inputs/collections",
		`"table":{"href":"` + a.URL + `/collections/kommuner/items"}`:                     "/inputs/table/href",
		`"table":{"href":"` + a.URL + `/collections/zz/items?f=csv"}`:                     "/inputs/table/href",
		`"table":{"href":"http://169.254.169.254/x.csv"}`:                                 "/inputs/table/href",
		`"table":{"href":"` + a.URL + `/collections/kommuner/items?f=csv&limit=nothing"}`: "/inputs/table/href"} {
		if r := a.run("enrich-table", `{"inputs":{`+in+`}}`); r.StatusCode != 400 || !strings.Contains(string(r.Body), `"name":"`+at+`"`) {
			t.Errorf("%s: %d %s", in, r.StatusCode, r.Body)
		}
	}
}

// TestMissingInputsAreToldAsMissing, and not by a value that nobody sent.
func TestMissingInputsAreToldAsMissing(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for id, in := range map[string]string{"locate-point": `{}`, "export-by-area-gpkg": `{"collection_id":"kommuner","area_type":"fylke"}`} {
		r := a.run(id, `{"inputs":`+in+`}`).wants(400)
		if strings.Contains(string(r.Body), "null") || strings.Contains(string(r.Body), `=\"`) {
			t.Errorf("%s: %s", id, r.Body)
		}
	}
}

// TestCodesAreTranslatedByAProcess: a list, and a column of a table.
func TestCodesAreTranslatedByAProcess(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	const days = `"from":"2019-01-01","to":"2024-01-01"`
	for in, want := range map[string]string{
		`"codes":["1534","301","1507","x"],` + days: `[{"code":"1534","became":[{"code":"1580","name":"Haram"}]},{"code":"301","became":[{"code":"0301","name":"Oslo"}],"restored":true},` +
			`{"code":"1507","became":[],"fault":"the code was not in use on 2019-01-01, but from 2020-01-01 until 2024-01-01 (Ålesund)"},{"code":"x","became":[],"fault":"the code was never in use"}]`,
		`"codes":["1507"],"from":"2020-01-01","to":"2024-01-01"`:                      `[{"code":"1507","became":[{"code":"1508","name":"Ålesund"},{"code":"1580","name":"Haram"}],"ambiguous":true}]`,
		`"codes":["1507"],"from":"2020-01-01","to":"2024-01-01","onAmbiguous":"null"`: `[{"code":"1507","became":[],"ambiguous":true}]`,
		`"codes":["03"],"from":"2018-01-01","to":"2024-01-01","scheme":"fylke"`:       `[{"code":"03","became":[{"code":"03","name":"Oslo"}]}]`,
		`"table":"komnr;n\n1534;1\n301;2\nx;3\n","column":"komnr",` + days:            "komnr;n;translated;translated_name;translated_error\n1534;1;1580;Haram;\n301;2;0301;Oslo;\nx;3;;;the code was never in use\n",
		`"table":"{\"kode\":\"1534\"}\n",` + days:                                     `{"kode":"1534","translated":"1580","translated_name":"Haram","translated_error":null}` + "\n",
	} {
		r := a.run("translate-codes", `{"inputs":{`+in+`},"outputs":{"translations":{},"table":{}}}`).wants(200)
		if string(r.Body) != want {
			t.Errorf("%s: %s, want %s", in, r.Body, want)
		}
	}
	if got := a.run("translate-codes", `{"inputs":{"table":"kode\n1534\n301\nx\n",`+days+`}}`).wants(200).parts(); got["report"] != `{"rows":3,"matched":2,"unmatched":0,"errors":1,"restoredCodes":1}` {
		t.Errorf("%q", got)
	}
	for in, at := range map[string]string{days: "/inputs/codes", `"codes":["1"],"table":"kode\n1\n",` + days: "/inputs/codes", `"codes":["1"],"column":"x",` + days: "/inputs/column",
		`"codes":["1507"],"from":"2020-01-01","to":"2024-01-01","onAmbiguous":"error"`:       "/inputs/codes/0",
		`"table":"kode\n1507\n","from":"2020-01-01","to":"2024-01-01","onAmbiguous":"error"`: "/inputs/onAmbiguous",
		`"codes":["1"],"from":"2020-13-01","to":"2024-01-01"`:                                "/inputs/from",
		`"codes":["1"],"from":"2020-01-01"`:                                                  "/inputs/to",
		`"codes":["1"],"scheme":"x",` + days:                                                 "/inputs/scheme",
		`"codes":["1"],"onAmbiguous":"x",` + days:                                            "/inputs/onAmbiguous",
		`"codes":[],` + days:                        "/inputs/codes",
		`"table":"a,b\n1,2\n","column":"c",` + days: "/inputs/table"} {
		if r := a.run("translate-codes", `{"inputs":{`+in+`}}`); r.StatusCode != 400 || !strings.Contains(string(r.Body), `"name":"`+at+`"`) {
			t.Errorf("%s: %d %s", in, r.StatusCode, r.Body)
		}
	}
	if r := serve(t, "", nil).run("translate-codes", `{"inputs":{"codes":["1534"],`+days+`}}`).wants(404); !strings.Contains(string(r.Body), "--history") {
		t.Errorf("%s", r.Body)
	}
}
