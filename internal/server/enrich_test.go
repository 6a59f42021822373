package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"grense/internal/config"
	"grense/internal/geo/crs"
	"grense/openapi"
)

// enrich sends a table and returns the response with its report.
func (a *api) enrich(t testing.TB, query, media, table string, header ...string) (
	status int, body string, report map[string]int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/v1/enrich"+query, strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, b := exchange(t, http.DefaultTransport, req)
	if res.StatusCode == 200 {
		decode(t, []byte(res.Trailer.Get("Enrich-Report")), &report)
	}
	return res.StatusCode, string(b), report
}

func TestTablesGetTheDivisionsOfTheirPointsAndCodes(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const added = "fylker_id,fylker_name,kommuner_id,kommuner_name,enrich_error"
	for name, x := range map[string]struct{ query, in, out string }{
		"points": {"", "name,lon,lat\nhome,10.75,59.91\nsea,2,61\n",
			"name,lon,lat," + added + "\nhome,10.75,59.91,03,Oslo,0301,Oslo,\nsea,2,61,,,,,\n"},
		"a rest without an end": {"", "lat,lon\r\n59.91,10.75",
			"lat,lon," + added + "\n59.91,10.75,03,Oslo,0301,Oslo,\n"},
		"semicolons, decimal commas, a byte order mark and Windows-1252": {
			"", "\xef\xbb\xbfsted;Lon;Lat\nB\xe6rum;10,75;59,91\n",
			"sted;Lon;Lat;" + strings.ReplaceAll(added, ",", ";") + "\nBærum;10,75;59,91;03;Oslo;0301;Oslo;\n"},
		"tabs": {"", "x\ty\n10.75\t59.91\n", "x\ty\t" + strings.ReplaceAll(added, ",", "\t") +
			"\n10.75\t59.91\t03\tOslo\t0301\tOslo\t\n"},
		"bad rows": {"?collections=kommuner", "lon,lat\n,59\nx,59\n10.75,59.91\n500,1\n1\n1,2,3\n",
			"lon,lat,kommuner_id,kommuner_name,enrich_error\n,59,,,there is no coordinate\nx,59,,,a coordinate is no " +
				"number\n10.75,59.91,0301,Oslo,\n500,1,,,the point lies outside of OGC:CRS84\n1,,,,\"the row has 1 " +
				"cells, the header 2\"\n1,2,3,,,\"the row has 3 cells, the header 2\"\n"},
		"quotation marks": {"?collections=kommuner", "note,lon,lat\n\"a, \"\"b\"\"\nc\",\"10,75\",59.91\n",
			"note,lon,lat,kommuner_id,kommuner_name,enrich_error\n\"a, \"\"b\"\"\nc\",\"10,75\",59.91,0301,Oslo,\n"},
		"codes": {"?collections=kommuner", "kode,n\n0301,1\n301,2\n9999,3\n,4\n",
			"kode,n,kommuner_id,kommuner_name,enrich_error\n0301,1,0301,Oslo,\n301,2,0301,Oslo,\n9999,3,,,\n" +
				",4,,,there is no code\n"},
		"named columns": {"?collections=kommuner&x=B&y=A", "A,B\n59.91,10.75\n",
			"A,B,kommuner_id,kommuner_name,enrich_error\n59.91,10.75,0301,Oslo,\n"},
		"other systems": {"?collections=kommuner&crs=" + url.QueryEscape(crs.UTM33.URI()), "x,y\n261000,6650000\n",
			"x,y,kommuner_id,kommuner_name,enrich_error\n261000,6650000,0301,Oslo,\n"},
		"empty lines": {"?collections=kommuner", "lon,lat\n\n10.75,59.91\n",
			"lon,lat,kommuner_id,kommuner_name,enrich_error\n\n10.75,59.91,0301,Oslo,\n"},
	} {
		status, got, _ := a.enrich(t, x.query, "text/csv", x.in)
		if status != 200 || got != x.out {
			t.Errorf("%s: %d\n%s\nwant\n%s", name, status, got, x.out)
		}
	}
	_, _, report := a.enrich(t, "?collections=kommuner", "text/csv", "kode\n0301\n301\n9999\n\"\"\n")
	if fmt.Sprint(report) != "map[errors:1 matched:2 restoredCodes:1 rows:4 unmatched:1]" {
		t.Errorf("%v", report)
	}
	status, got, _ := a.enrich(t, "?collections=kommuner", "application/x-ndjson",
		"{\"lon\":10.75,\"lat\":59.91 }\nno\n{\"code\":\"301\"}\n{}\n")
	var lines []map[string]any
	for line := range strings.Lines(got) {
		var m map[string]any
		decode(t, []byte(line), &m)
		lines = append(lines, m)
	}
	if status != 200 || len(lines) != 4 || lines[0]["kommuner_id"] != "0301" || lines[0]["lat"] != 59.91 ||
		lines[0]["enrich_error"] != nil || lines[1]["enrich_error"] == nil || lines[2]["kommuner_id"] != "0301" ||
		lines[3]["enrich_error"] == nil {
		t.Errorf("%d %s", status, got)
	}
}

func TestTablesThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for name, x := range map[string]struct {
		query, media, in string
		status           int
	}{
		"nothing":           {"", "text/csv", "", 400},
		"no columns":        {"", "text/csv", "a,b\n1,2\n", 400},
		"a missing column":  {"?x=zz&y=b", "text/csv", "a,b\n1,2\n", 400},
		"a column twice":    {"", "text/csv", "lon,lat,kommuner_id\n1,2,3\n", 400},
		"UTF-16":            {"", "text/csv", "\xff\xfel\x00o\x00n\x00", 400},
		"an endless row":    {"", "text/csv", "lon,lat\n\"" + strings.Repeat("x", 2<<20), 400},
		"another type":      {"", "application/json", "{}", 415},
		"another parameter": {"?level=1", "text/csv", "lon,lat\n", 400},
		"no collection":     {"?collections=zz", "text/csv", "lon,lat\n", 400},
	} {
		// The rows before the endless row are sent already, so the response is broken off.
		req, err := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/enrich"+x.query, strings.NewReader(x.in))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", x.media)
		req.Header.Set("X-API-Key", a.key)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		if x.in == "" || name != "an endless row" {
			if err != nil || res.StatusCode != x.status {
				t.Errorf("%s: %v %v", name, res, err)
			}
		} else if err == nil && res.StatusCode == 200 {
			t.Errorf("%s: whole", name)
		}
	}
	if status, _, _ := a.enrich(t, "", "text/csv", "lon,lat\n1,2\n"); status != 401 {
		t.Errorf("without a key: %d", status)
	}
}

// TestRowsComeBackWhileOthersAreSent: a client that waits for each row gets it, over HTTP/1.1 and 2.
func TestRowsComeBackWhileOthersAreSent(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	second := httptest.NewUnstartedServer(a.Config.Handler)
	second.EnableHTTP2 = true
	second.StartTLS()
	t.Cleanup(second.Close)
	rowByRow(t, a.Server, 1)
	rowByRow(t, second, 2)
}

// rowByRow sends a row when the one before has come back, over the given major version of HTTP.
func rowByRow(t *testing.T, a *httptest.Server, major int) {
	t.Helper()
	in, send := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/enrich?collections=kommuner", in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/csv")
	go io.WriteString(send, "lon,lat\n")
	res, err := a.Client().Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.ProtoMajor != major {
		t.Errorf("the answer is %s", res.Proto)
	}
	defer res.Body.Close()
	out := bufio.NewReader(res.Body)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		io.WriteString(send, fmt.Sprintf("10.7%d,59.91\n", i))
		line, err := out.ReadString('\n')
		if err != nil || line != fmt.Sprintf("10.7%d,59.91,0301,Oslo,\n", i) {
			t.Fatalf("%q: %v", line, err)
		}
	}
	send.Close()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	var report struct{ Rows int }
	if err := json.Unmarshal([]byte(res.Trailer.Get("Enrich-Report")), &report); err != nil || report.Rows != 5 {
		t.Errorf("%v %+v", err, report)
	}
}

// upload sends the form for a file, as browsers without scripts do.
func (a *api) upload(t *testing.T, fields [][2]string, file, table string, header ...string) answer {
	t.Helper()
	body, media := uploadForm(t, fields, file, table)
	return a.post("/enrich", media, body, header...)
}

// uploadForm is the form; an empty file is none.
func uploadForm(t *testing.T, fields [][2]string, file, table string) (body, media string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for _, f := range fields {
		if err := m.WriteField(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if file != "" {
		w, err := m.CreateFormFile("table", file)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, table)
	}
	m.Close()
	return b.String(), m.FormDataContentType()
}

// TestFilesAreEnrichedWhileTheDataAreSwapped: if the data are replaced while the server reads a form, it uses the new
// data.
func TestFilesAreEnrichedWhileTheDataAreSwapped(t *testing.T) {
	t.Parallel()
	st := openSwapped(t)
	a := serveStore(t, st.Store, nil)
	a.waitIndexed(t, 10.5, 60.5, "flater")
	body, media := uploadForm(t, [][2]string{{"collections", "flater"}}, "x.csv", "lon,lat\n10.5,60.5\n")
	for n := range 3 {
		code, got := a.postAfter(func() { st.swap(t) }, "/enrich", media, body)
		if code != http.StatusOK || !strings.Contains(got, "f0,"+stateMark(n+1)) {
			t.Errorf("swap %d: status %d, %.300s", n, code, got)
		}
	}
}

func TestFilesAreEnrichedFromTheirPage(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	if page := string(a.get("/processes/enrich-table?f=html").wants(200).Body); !strings.Contains(
		page, `enctype="multipart/form-data"`) || !strings.Contains(page, `type="file"`) {
		t.Error("no form for a file")
	}
	long := "name,lon,lat\n" + strings.Repeat("home,10.75,59.91\n", 20_000)
	for name, x := range map[string]struct {
		fields          [][2]string
		file, in        string
		out, attachment string
	}{
		"points": {[][2]string{{"x", ""}, {"collections", "kommuner"}}, `C:\tables\places.txt`,
			"lon,lat\n10.75,59.91\n", "lon,lat,kommuner_id,kommuner_name,enrich_error\n10.75,59.91,0301,Oslo,\n",
			"places-enriched.csv"},
		"codes": {[][2]string{{"code", "B"}, {"collections", "kommuner"}}, "b.csv", "A;B\n1;301\n",
			"A;B;kommuner_id;kommuner_name;enrich_error\n1;301;0301;Oslo;\n", "b-enriched.csv"},
		"JSON lines": {[][2]string{{"collections", "kommuner"}}, "l.ndjson", `{"code":"0301"}` + "\n",
			`{"code":"0301","kommuner_id":"0301","kommuner_name":"Oslo","enrich_error":null}` + "\n",
			"l-enriched.jsonl"},
		"a long file": {[][2]string{{"collections", "kommuner"}}, "long.csv", long,
			"name,lon,lat,kommuner_id,kommuner_name,enrich_error\n" +
				strings.Repeat("home,10.75,59.91,0301,Oslo,\n", 20_000), "long-enriched.csv"},
	} {
		r := a.upload(t, x.fields, x.file, x.in).wants(200)
		if string(r.Body) != x.out || !strings.Contains(r.Header.Get("Content-Disposition"),
			"filename="+x.attachment) || !strings.Contains(r.Header.Get("Enrich-Report"), `"matched":`) {
			t.Errorf("%s: %v %.200s", name, r.Header, r.Body)
		}
	}
	for name, x := range map[string]struct {
		fields   [][2]string
		file, in string
		header   []string
	}{
		"no file":       {nil, "", "", nil},
		"no such field": {[][2]string{{"level", "1"}}, "a.csv", "lon,lat\n", nil},
		"no collection": {[][2]string{{"collections", "zz"}}, "a.csv", "lon,lat\n", nil},
		"no columns":    {nil, "a.csv", "a,b\n1,2\n", nil},
		"another site":  {nil, "a.csv", "lon,lat\n", []string{"Sec-Fetch-Site", "cross-site"}},
	} {
		if r := a.upload(t, x.fields, x.file, x.in, append(x.header, "Accept", "text/html")...).wants(
			400); !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %v", name, r.Header)
		}
	}
}

// TestAFaultWithAFileCostsNothingThatWasTyped: the form returns with its values, and the faults are beside the
// fields.
func TestAFaultWithAFileCostsNothingThatWasTyped(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	typed := [][2]string{{"x", "øst"}, {"y", "nord & ned"}, {"collections", "kommuner"}, {"level", "1"}}
	for name, x := range map[string]struct {
		fields        [][2]string
		file, in      string
		fault, unlike string
	}{
		"a field": {append([][2]string{{"crs", "EPSG:1"}}, typed[:3]...), "a.csv", "øst,nord & ned\n1,2\n",
			`name="crs" id="up-crs" aria-invalid="true" aria-describedby="up-crs-fault" value="EPSG:1"`, `id="in-`},
		"a table": {typed[:3], "a.csv", "a,b\n1,2\n",
			`<p>Tabellen har ingen kolonne som heter «øst»; den har a, b.</p>`, `id="in-`},
		"no file": {typed[:3], "", "", `name="table" type="file" id="up-table" aria-invalid="true"`, `id="in-`},
		"more":    {typed, "a.csv", "lon,lat\n1,2\n", `role="alert"`, `value="1"`},
	} {
		page := string(a.upload(t, x.fields, x.file, x.in, "Accept", "text/html", "Accept-Language", "nb").wants(
			400).Body)
		for _, want := range []string{`name="x" `, ` value="øst"`, ` value="nord &amp; ned"`, ` value="kommuner"`,
			"<title>Feil: ", x.fault} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page has no %s", name, want)
			}
		}
		if strings.Contains(page, x.unlike) {
			t.Errorf("%s: the page has %s", name, x.unlike)
		}
	}
	a.upload(t, typed[:1], "a.csv", "a,b\n", "Accept", "text/csv").wants(400)
}

// TestTheFormForAFileIsDefined, with all its fields, as the server takes it.
func TestTheFormForAFileIsDefined(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	doc, err := openapi.Load(t.Context(), a.get("/openapi").wants(200).Body)
	if err != nil {
		t.Fatal(err)
	}
	op := doc.Paths.Find("/enrich").Post
	form := op.RequestBody.Value.Content["multipart/form-data"]
	if form == nil || op.RequestBody.Value.Content["text/csv"] == nil {
		t.Fatalf("%v", op.RequestBody.Value.Content)
	}
	rt, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	if text := form.Schema.Value.Description; !strings.HasSuffix(text, ": x, y, code, crs, datetime, collections.") {
		t.Errorf("other fields are told: %s", text)
	}
	fields := [][2]string{{"x", "lon"}, {"y", "lat"}, {"collections", "kommuner"}}
	a.upload(t, fields, "a.csv", "lon,lat\n10.75,59.91\n").wants(200)
	body, media := uploadForm(t, fields, "a.csv", "lon,lat\n")
	req, err := http.NewRequestWithContext(t.Context(), "POST", a.URL+"/enrich", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	route, params, err := rt.FindRoute(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
		Request: req, Route: route, PathParams: params}); err != nil {
		t.Errorf("the definition of the form: %v", err)
	}
}
