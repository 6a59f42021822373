package server_test

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/process"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// run executes a process while it is waited for.
func (a *api) run(id, body string, header ...string) answer {
	a.t.Helper()
	return a.send("/processes/"+id+"/execution", body, header...)
}

// parts are the outputs of a raw response with several outputs, by name.
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

// TestPointsAreLocatedAsByLookup: the process returns the response of the look-up.
func TestPointsAreLocatedAsByLookup(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, q := range []string{`"lon":10.75,"lat":59.91`, `"lon":2,"lat":61`,
		`"lon":261000,"lat":6650000,"crs":"http://www.opengis.net/def/crs/EPSG/0/25833","collections":"kommuner"`} {
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
	for q, at := range map[string]string{`"lon":10`: "/inputs/lat", `"lon":10,"lat":100`: "/inputs/lat",
		`"lon":"x","lat":1`: "/inputs/lon", `"lon":1,"lat":1,"crs":"x:y"`: "/inputs/crs",
		`"lon":1,"lat":1,"collections":"zz"`: "/inputs/collections",
		`"lon":1,"lat":1,"datetime":"x"`:     "/inputs/datetime"} {
		if r := a.run("locate-point", `{"inputs":{`+q+`}}`); r.StatusCode != 400 ||
			!strings.Contains(string(r.Body), `"name":"`+at+`"`) {
			t.Errorf("%s: %d %s", q, r.StatusCode, r.Body)
		}
	}
}

// TestTablesAreEnrichedByAProcess: by value and by reference, synchronously and as a job, with a report of the
// counts.
func TestTablesAreEnrichedByAProcess(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const table = `"table":"name,lon,lat\nhome,10.75,59.91\nsea,2,61\nbad,x,1\n","collections":"kommuner"`
	const want = "name,lon,lat,kommuner_id,kommuner_name,enrich_error\nhome,10.75,59.91,0301,Oslo,\nsea,2,61,,,\n" +
		"bad,x,1,,,a coordinate is no number\n"
	const report = `{"rows":3,"matched":1,"unmatched":1,"errors":1,"restoredCodes":0}`
	if got := a.run("enrich-table", `{"inputs":{`+table+`}}`).wants(200).parts(); got["table"] != want ||
		got["report"] != report {
		t.Errorf("%q", got)
	}
	if r := a.run("enrich-table", `{"inputs":{`+table+`},"outputs":{"report":{}}}`).wants(200); string(
		r.Body) != report {
		t.Errorf("%s", r.Body)
	}
	ndjson := a.run("enrich-table",
		`{"inputs":{"table":{"value":"{\"kode\":\"301\"}\n","mediaType":"application/x-ndjson"},`+
			`"collections":"kommuner"},"outputs":{"table":{}}}`).wants(200)
	if ndjson.Header.Get("Content-Type") != "application/x-ndjson" || string(ndjson.Body) !=
		`{"kode":"301","kommuner_id":"0301","kommuner_name":"Oslo","enrich_error":null}`+"\n" {
		t.Errorf("%v %s", ndjson.Header, ndjson.Body)
	}
	// the form returns the file
	if r := a.send("/processes/enrich-table/execution", "table="+url.QueryEscape(
		"kode\r\n301\r\n")+"&collections=kommuner&run=now", "Content-Type", "application/x-www-form-urlencoded",
		"Accept", "text/html").wants(200); string(
		r.Body) != "kode,kommuner_id,kommuner_name,enrich_error\n301,0301,Oslo,\n" ||
		r.Header.Get("Content-Disposition") != "attachment; filename=table.csv" {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	// a reference leads to the items of this service
	for _, mount := range []string{"", "/v1"} {
		job := a.send(mount+"/processes/enrich-table/execution",
			`{"inputs":{"table":{"href":"`+a.URL+mount+`/collections/kommuner/items?f=csv&limit=1000`+
				`&properties=nr"},"collections":"fylker,kommuner","code":"nr"},"outputs":{"table":{},"report":{}},`+
				`"response":"document"}`, "Prefer", "respond-async").wants(201).Header.Get("Location")
		a.until(job, "successful")
		got := a.get(job + "/results").wants(200).json()
		r, _ := got["report"].(map[string]any)
		if table, _ := got["table"].(map[string]any); table["mediaType"] != "text/csv" ||
			!strings.Contains(table["value"].(string), "\n0301,") {
			t.Errorf("%.200v", table)
		}
		if counts, _ := r["value"].(map[string]any); counts["matched"] != 357.0 || counts["rows"] != 357.0 {
			t.Errorf("%v", got["report"])
		}
	}
	for in, at := range map[string]string{``: "/inputs/table", `"table":"a,b\n1,2\n"`: "/inputs/table",
		`"table":""`: "/inputs/table", table + `,"x":"zz"`: "/inputs/table", table + `,"crs":"x:y"`: "/inputs/crs",
		`"table":"lon,lat\n","collections":"zz"`:                                          "/inputs/collections",
		`"table":{"href":"` + a.URL + `/collections/kommuner/items"}`:                     "/inputs/table/href",
		`"table":{"href":"` + a.URL + `/collections/zz/items?f=csv"}`:                     "/inputs/table/href",
		`"table":{"href":"http://169.254.169.254/x.csv"}`:                                 "/inputs/table/href",
		`"table":{"href":"` + a.URL + `/collections/kommuner/items?f=csv&limit=nothing"}`: "/inputs/table/href"} {
		if r := a.run("enrich-table", `{"inputs":{`+in+`}}`); r.StatusCode != 400 ||
			!strings.Contains(string(r.Body), `"name":"`+at+`"`) {
			t.Errorf("%s: %d %s", in, r.StatusCode, r.Body)
		}
	}
}

// TestMissingInputsAreReportedAsMissing, and not by a value that nobody sent.
func TestMissingInputsAreReportedAsMissing(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for id, in := range map[string]string{"locate-point": `{}`,
		"export-by-area-gpkg": `{"collection_id":"kommuner","area_type":"fylke"}`} {
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
		`"codes":["1534","301","1507","x"],` +
			days: `[{"code":"1534","became":[{"code":"1580","name":"Haram"}]},` +
			`{"code":"301","became":[{"code":"0301","name":"Oslo"}],"restored":true},` +
			`{"code":"1507","became":[],"fault":"the code was not in use on 2019-01-01, ` +
			`but from 2020-01-01 until 2024-01-01 (Ålesund)"},{"code":"x","became":[],` +
			`"fault":"the code was never in use"}]`,
		`"codes":["1507"],"from":"2020-01-01","to":"2024-01-01"`: `[{"code":"1507","became":[` +
			`{"code":"1508","name":"Ålesund"},{"code":"1580","name":"Haram"}],"ambiguous":true}]`,
		`"codes":["1507"],"from":"2020-01-01","to":"2024-01-01",` +
			`"onAmbiguous":"null"`: `[{"code":"1507","became":[],"ambiguous":true}]`,
		`"codes":["03"],"from":"2018-01-01","to":"2024-01-01","scheme":"fylke"`: `[{"code":"03",` +
			`"became":[{"code":"03","name":"Oslo"}]}]`,
		`"table":"komnr;n\n1534;1\n301;2\nx;3\n","column":"komnr",` +
			days: "komnr;n;translated;translated_name;translated_error\n1534;1;1580;Haram;\n301;2;0301;Oslo;\n" +
			"x;3;;;the code was never in use\n",
		`"table":"{\"kode\":\"1534\"}\n",` +
			days: `{"kode":"1534","translated":"1580","translated_name":"Haram","translated_error":null}` + "\n",
	} {
		r := a.run("translate-codes", `{"inputs":{`+in+`},"outputs":{"translations":{},"table":{}}}`).wants(200)
		if string(r.Body) != want {
			t.Errorf("%s: %s, want %s", in, r.Body, want)
		}
	}
	if got := a.run("translate-codes", `{"inputs":{"table":"kode\n1534\n301\nx\n",`+days+`}}`).wants(
		200).parts(); got["report"] != `{"rows":3,"matched":2,"unmatched":0,"errors":1,"restoredCodes":1}` {
		t.Errorf("%q", got)
	}
	for in, at := range map[string]string{days: "/inputs/codes",
		`"codes":["1"],"table":"kode\n1\n",` + days:                                          "/inputs/codes",
		`"codes":["1"],"column":"x",` + days:                                                 "/inputs/column",
		`"codes":["1507"],"from":"2020-01-01","to":"2024-01-01","onAmbiguous":"error"`:       "/inputs/codes/0",
		`"table":"kode\n1507\n","from":"2020-01-01","to":"2024-01-01","onAmbiguous":"error"`: "/inputs/onAmbiguous",
		`"codes":["1"],"from":"2020-13-01","to":"2024-01-01"`:                                "/inputs/from",
		`"codes":["1"],"from":"2020-01-01"`:                                                  "/inputs/to",
		`"codes":["1"],"scheme":"x",` + days:                                                 "/inputs/scheme",
		`"codes":["1"],"onAmbiguous":"x",` + days:                                            "/inputs/onAmbiguous",
		`"codes":[],` + days:                                                                 "/inputs/codes",
		`"table":"a,b\n1,2\n","column":"c",` + days:                                          "/inputs/table"} {
		if r := a.run("translate-codes", `{"inputs":{`+in+`}}`); r.StatusCode != 400 ||
			!strings.Contains(string(r.Body), `"name":"`+at+`"`) {
			t.Errorf("%s: %d %s", in, r.StatusCode, r.Body)
		}
	}
	if r := serve(t, "", nil).run("translate-codes", `{"inputs":{"codes":["1534"],`+days+`}}`).wants(
		404); !strings.Contains(string(r.Body), "--history") {
		t.Errorf("%s", r.Body)
	}
}

// TestTablesAreJoinedToCollections by code, with unmatched rows on either side. Numbers remain numbers.
func TestTablesAreJoinedToCollections(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const table = `"collection_id":"kommuner","table":"kode;navn;tall;del;blandet\n301;Hovedstaden;12;10,5;x\n` +
		`4601;;;-7;08\n9999;Ingen;3;1;1\n"`
	got := a.run("join-table", `{"inputs":{`+table+`}}`).wants(200).parts()
	var page collectionPage
	decode(t, []byte(got["joined"]), &page)
	byID := map[string]map[string]any{}
	for _, f := range page.Features {
		byID[f.ID] = f.Properties
		if f.Geometry == nil {
			t.Fatalf("%s has no geometry", f.ID)
		}
	}
	oslo, bergen, other := byID["0301"], byID["4601"], byID["1103"]
	if len(byID) != 357 || oslo["navn_2"] != "Hovedstaden" || oslo["navn"] != "Oslo" || oslo["tall"] != 12.0 ||
		oslo["del"] != 10.5 || oslo["blandet"] != "x" || bergen["tall"] != nil || bergen["del"] != -7.0 ||
		bergen["blandet"] != "08" {
		t.Errorf("%d %v %v", len(byID), oslo, bergen)
	}
	if v, ok := other["tall"]; !ok || v != nil {
		t.Errorf("%v", other)
	}
	var report struct{ JoinInformation map[string]any }
	decode(t, []byte(got["report"]), &report)
	r := report.JoinInformation
	if missing := r["unmatchedCollectionKeys"].([]any); r["numberOfMatchedCollectionKeys"] != 2.0 ||
		r["numberOfUnmatchedCollectionKeys"] != 355.0 || r["numberOfAdditionalAttributeKeys"] != 1.0 ||
		!reflect.DeepEqual(r["additionalAttributeKeys"], []any{"9999"}) || len(missing) != 355 ||
		missing[0] != "1101" || r["restoredCodes"] != 1.0 || r["columns"].(map[string]any)["navn"] != "navn_2" {
		t.Errorf("%.300v", r)
	}
	csv := a.run("join-table",
		`{"inputs":{`+table+`,"format":"csv","unmatched":"drop","columns":"tall"},"outputs":{"joined":{}}}`).wants(200)
	if lines := strings.Split(string(csv.Body), "\n"); len(lines) != 4 ||
		!strings.HasSuffix(strings.TrimSpace(lines[0]), "tall") && !strings.Contains(lines[0], ",tall,") ||
		csv.Header.Get("Content-Disposition") != "attachment; filename=kommuner.csv" {
		t.Errorf("%s", csv.Body)
	}
	byName := a.run("join-table",
		`{"inputs":{"collection_id":"fylker","table":"sted,n\nOslo,1\nVestland,2\n","code":"sted","key":"navn",`+
			`"unmatched":"drop"},"outputs":{"joined":{}}}`).wants(200).page()
	if len(byName.Features) != 2 || byName.Features[0].Properties["n"] != 1.0 {
		t.Errorf("%+v", byName.Features)
	}
	for _, f := range []string{"gpkg", "geojsonseq", "flatgeobuf", "parquet", "gml", "kml", "shapefile", "xlsx"} {
		job := a.run("join-table", `{"inputs":{`+table+`,"format":"`+f+`"}}`, "Prefer", "respond-async").wants(
			201).Header.Get("Location")
		a.until(job, "successful")
		body := a.get(job + "/results/joined").wants(200).Body
		if f != "gpkg" {
			continue
		}
		path := filepath.Join(t.TempDir(), "x.gpkg")
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, ok := openGeoPackage(t, path).Catalog().Collection("kommuner"); !ok || c.Count != 357 ||
			!slices.Contains(c.Names(), "del") {
			t.Errorf("%+v", c)
		}
	}
	for in, at := range map[string]string{`"collection_id":"kommuner"`: "/inputs/table",
		`"collection_id":"x","table":"kode\n1\n"`:                 "/inputs/collection_id",
		`"collection_id":"kommuner","table":"kode,n\n1,2\n1,3\n"`: "/inputs/table",
		`"collection_id":"kommuner","table":"kode,n\n,2\n"`:       "/inputs/table",
		`"collection_id":"kommuner","table":"a,b\n1,2\n"`:         "/inputs/table",
		`"collection_id":"kommuner","table":"kode,n\n"`:           "/inputs/table",
		`"collection_id":"kommuner","table":"kode,n\n1,2,3\n"`:    "/inputs/table",
		`"collection_id":"kommuner","table":"kode,kode\n1,2\n"`:   "/inputs/table",
		table + `,"code":"zz"`:                                    "/inputs/table",
		table + `,"columns":"zz"`:                                 "/inputs/columns",
		table + `,"key":"zz"`:                                     "/inputs/key",
		table + `,"format":"zz"`:                                  "/inputs/format",
		table + `,"unmatched":"zz"`:                               "/inputs/unmatched",
		table + `,"crs":"EPSG:1"`:                                 "/inputs/crs"} {
		if r := a.run("join-table", `{"inputs":{`+in+`}}`); r.StatusCode != 400 ||
			!strings.Contains(string(r.Body), `"name":"`+at+`"`) {
			t.Errorf("%s: %d %s", in, r.StatusCode, r.Body)
		}
	}
}

// TestJoinedDigitsAreKept: the join finds codes in columns of decimal numbers by their digits. Numbers with more
// digits than a JSON number holds remain texts.
func TestJoinedDigitsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "digits.gpkg")
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{ID: "kretser", Table: "kretser", Public: true,
			Key:        store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Properties: []store.Property{{Name: "grunnkrets", Column: "grunnkrets", Type: cql2.TypeNumber}}}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		add, err := w.Insert(t.Context(), "kretser", []string{"fid", "grunnkrets"})
		if err != nil {
			t.Fatal(err)
		}
		if err := add(int64(1), 11030101.0); err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), path))
	a := serve(t, path, nil)
	f := a.run("join-table",
		`{"inputs":{"collection_id":"kretser","key":"grunnkrets","table":"code;orgnr;mixed;sum;fine;tenth\n`+
			`11030101;12345678901234567890;9007199254740993;1;0,12345678901234567891;0,10\n2;1;1,5;1,5;1;0,3\n"},`+
			`"outputs":{"joined":{}}}`).wants(200).page().Features
	if len(f) != 1 || f[0].Properties["orgnr"] != "12345678901234567890" ||
		f[0].Properties["mixed"] != "9007199254740993" || f[0].Properties["sum"] != 1.0 ||
		f[0].Properties["fine"] != "0,12345678901234567891" || f[0].Properties["tenth"] != 0.1 {
		t.Errorf("%+v", f)
	}
}

// TestNeighboursShareBorders: each of two has the other, with the same length, and both touch.
func TestNeighboursShareBorders(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	type doc struct {
		Method     string
		Neighbours []struct {
			ID, Title, Href string
			Length          float64
		}
	}
	of := func(id string) (d doc) {
		t.Helper()
		decode(t, a.run("neighbours", `{"inputs":{"collection_id":"kommuner","id":"`+id+`"}}`).wants(200).Body, &d)
		return d
	}
	oslo := of("0301")
	if oslo.Method != "shared-borders" || len(oslo.Neighbours) < 3 {
		t.Fatalf("%+v", oslo)
	}
	// those that touch, as they are found where a collection is no coverage
	p, _ := process.NewRegistry(process.Standard()...).Find("neighbours")
	out, err := p.Execute(t.Context(), &process.Env{Catalog: a.store.Catalog(), Store: a.store, Base: a.URL,
		Neighbours: func(context.Context, string, string) ([]process.Neighbour, bool, error) {
			return nil, false,
				nil
		}}, process.Inputs{"collection_id": "kommuner", "id": "0301"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(out["neighbours"].Value)
	if err != nil {
		t.Fatal(err)
	}
	var found doc
	decode(t, b, &found)
	var touches []string
	for _, n := range found.Neighbours {
		touches = append(touches, n.ID)
	}
	if found.Method != "S_TOUCHES" || strings.Contains(string(b), "length") {
		t.Errorf("%s", b)
	}
	for i, n := range oslo.Neighbours {
		back := of(n.ID).Neighbours
		j := slices.IndexFunc(back, func(x struct {
			ID, Title, Href string
			Length          float64
		}) bool {
			return x.ID == "0301"
		})
		if j < 0 || back[j].Length != n.Length || n.Length < 100 || n.Length > 1e6 || n.Title == "" ||
			i > 0 && n.Length > oslo.Neighbours[i-1].Length || !slices.Contains(touches, n.ID) {
			t.Errorf("%+v and back %+v; what touches is %v", n, back, touches)
		}
		a.get(n.Href).wants(200)
	}
	for in, at := range map[string]string{`"collection_id":"kommuner","id":"9999"`: "/inputs/id",
		`"collection_id":"x","id":"1"`: "/inputs/collection_id", `"collection_id":"kommuner"`: "/inputs/id"} {
		if r := a.run("neighbours", `{"inputs":{`+in+`}}`); r.StatusCode != 400 ||
			!strings.Contains(string(r.Body), `"name":"`+at+`"`) {
			t.Errorf("%s: %d %s", in, r.StatusCode, r.Body)
		}
	}
}

func TestASeriesIsHarmonisedByAProcess(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	const table = `"table":"code,date,value\n1504,2019,10\n1523,2019,1\n1529,2019,2\n1546,2019,3\n1534,2019,4\n` +
		`0301,2018,7.5\n"`
	got := a.run("harmonise-series", `{"inputs":{`+table+`,"to":"2024-01-01"}}`).wants(200).parts()
	if want := "code,name,date,value,mark,why\n0301,Oslo,2018-01-01,7.5,exact,\n" +
		"1508,Ålesund,2018-01-01,,missing,\"no value of 1504, 1523, 1529, 1546\"\n" +
		"1580,Haram,2018-01-01,,missing,no value of 1534\n" +
		"0301,Oslo,2019-01-01,,missing,no value of " +
		"0301\n1508,Ålesund,2019-01-01,16,exact,\n1580,Haram,2019-01-01,4,exact,\n"; got["table"] != want {
		t.Errorf("%s", got["table"])
	}
	if want := `{"rows":6,"empty":0,"unknown":0,"restoredCodes":0,"exact":3,"estimated":0,"missing":3,"total":"27.5",` +
		`"placed":"27.5","leftOut":"0.0"}`; got["report"] != want {
		t.Errorf("%s", got["report"])
	}
	for in, at := range map[string]string{
		`"table":"code,date\n","to":"2024-01-01"`:                              "/inputs/table",
		table + `,"to":"24"`:                                                   "/inputs/to",
		table + `,"to":"2024-01-01","scheme":"x"`:                              "/inputs/scheme",
		table + `,"to":"2024-01-01","weights":"supplied"`:                      "/inputs/weightsTable",
		table + `,"to":"2024-01-01","weights":"half"`:                          "/inputs/weights",
		table + `,"to":"2024-01-01","weights":"supplied","weightsTable":"a\n"`: "/inputs/weightsTable",
		`"table":"{\"code\":1}","to":"2024-01-01"`:                             "/inputs/table",
		table: "/inputs/to",
	} {
		if r := a.run("harmonise-series", `{"inputs":{`+in+`}}`); r.StatusCode != 400 ||
			!strings.Contains(string(r.Body), `"name":"`+at) {
			t.Errorf("%s: %d %s", in, r.StatusCode, r.Body)
		}
	}
}
