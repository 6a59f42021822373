package server_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/config"
	"grense/internal/register"
	"grense/internal/store"
)

// registerFile writes a register once for all tests.
var registerFile = besideDemo("register.gpkg", writeRegister)

// writeRegister writes a register of 1000 places, always the same.
func writeRegister(ctx context.Context, w store.Writer) error {
	return register.Generate(ctx, w, register.Options{Places: 1000, Seed: 1})
}

func serveRegister(t *testing.T, change func(*config.Config)) *api {
	t.Helper()
	path, err := registerFile()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return serve(t, path, change)
}

// post sends a body.
func (a *api) post(path, media, body string, header ...string) answer {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), "POST", a.URL+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer{res, b, a.t}
}

const endpoint = "/soap/stedsnavn/v1/SoekServiceWS"

func TestSOAPAnswersAtBothMountsWithAKey(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "required" })
	for _, mount := range []string{"", "/v1"} {
		wsdl := a.get(mount + endpoint + "?wsdl").wants(200)
		if !bytes.Contains(wsdl.Body, []byte(`location="`+a.URL+mount+endpoint+`"`)) {
			t.Errorf("%q: the WSDL does not name its endpoint", mount)
		}
		for _, f := range placename.TheContract().Files() {
			a.get(mount + "/soap/stedsnavn/v1/" + f).wants(200)
		}
		for _, op := range placename.TheContract().Operations {
			for _, soap12 := range []bool{false, true} {
				media := "text/xml; charset=utf-8"
				if soap12 {
					media = "application/soap+xml; charset=utf-8"
				}
				body := string(placename.ExampleRequest(op.Name, soap12, placename.DefaultBase))
				r := a.post(mount+endpoint, media, body)
				if r.StatusCode != 401 || !bytes.Contains(r.Body, []byte("AUTHENTICATION")) ||
					!strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Basic") ||
					bytes.Contains(r.Body, []byte("<item>")) {
					t.Errorf("%s without a key: %d %q %s", op.Name, r.StatusCode, r.Header.Get("WWW-Authenticate"),
						r.Body)
				}
				for _, h := range [][2]string{{"X-API-Key", a.key}, {"Authorization", basic("any", a.key)}} {
					r := a.post(mount+endpoint, media, body, h[0], h[1]).wants(200)
					if !bytes.Contains(r.Body, []byte(op.Name+"Response")) || r.Header.Get("Content-Type") != media {
						t.Errorf("%s: %s %.200s", op.Name, r.Header.Get("Content-Type"), r.Body)
					}
				}
			}
		}
	}
	r := a.post(endpoint, "text/xml; charset=utf-8", string(
		placename.ExampleRequest("findSteder", false, placename.DefaultBase)), "X-API-Key", a.key, "Accept-Encoding",
		"gzip").wants(200)
	if r.Header.Get("Content-Encoding") == "gzip" && !bytes.Contains(gunzip(t, r.Body), []byte("findStederResponse")) {
		t.Error("the compressed answer differs")
	}
}

func TestSOAPRefusals(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, nil)
	for _, tt := range []struct {
		method, path, media, body string
		status                    int
	}{
		{"GET", endpoint, "", "", 405}, {"PUT", endpoint, "text/xml", "x", 405}, {"DELETE", endpoint, "", "", 405},
		{"POST", "/soap/stedsnavn/v1/sted.xsd", "text/xml", "x", 405},
		{"GET", "/soap/stedsnavn/v1/nope.xsd", "", "", 404},
		{"GET", "/soap/stedsnavn/v1/..%2f..%2fetc%2fpasswd", "", "", 404},
		{"POST", endpoint, "application/json", "{}", 415}, {"POST", endpoint, "text/xml", "<x/>", 500},
		{"POST", endpoint, "text/xml", strings.Repeat("x", 2<<20), 413},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, a.URL+tt.path, strings.NewReader(tt.body))
		if tt.media != "" {
			req.Header.Set("Content-Type", tt.media)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s %s (%s): %d, want %d", tt.method, tt.path, tt.media, res.StatusCode, tt.status)
		}
		if res.StatusCode == 405 && res.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", tt.method, tt.path)
		}
	}
}

func TestSOAPIsAbsentWithoutARegister(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, p := range []string{endpoint + "?wsdl", "/v1/soap/stedsnavn/v1", "/codelists", "/codelists/spraak"} {
		a.get(p).wants(404)
	}
	if bytes.Contains(a.get("/openapi").wants(200).Body, []byte(`"/codelists`)) {
		t.Error("the API definition promises code lists")
	}
}

// TestSOAPDescriptionsHaveAValidatorForEachEncoding follows RFC 9110, 8.8.3.3: each encoding has other bytes, so it
// needs its own strong validator.
func TestSOAPDescriptionsHaveAValidatorForEachEncoding(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "required" })
	for _, path := range []string{endpoint + "?wsdl", "/v1/soap/stedsnavn/v1/servicetyper.xsd"} {
		tags := map[string]string{}
		for _, coding := range []string{"identity", "gzip"} {
			r := a.get(path, "Accept-Encoding", coding).wants(200)
			tag := r.Header.Get("ETag")
			if got := r.Header.Get("Content-Encoding"); (got == "gzip") != (coding == "gzip") ||
				r.Header.Get("Cache-Control") != "no-cache" || !strings.HasPrefix(tag, `"`) {
				t.Errorf("%s as %s: %v", path, coding, r.Header)
			}
			a.get(path, "Accept-Encoding", coding, "If-None-Match", tag).wants(304)
			tags[tag] = coding
		}
		if len(tags) != 2 {
			t.Errorf("%s: one validator for two encodings: %v", path, tags)
		}
	}
}

func TestSOAPPageAsksForTheKeyBeforeItReadsTheForm(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "required" })
	a.post("/soap/stedsnavn/v1", "text/plain", "x").wants(401)
	a.post("/soap/stedsnavn/v1", "text/plain", "x", "X-API-Key", a.key).wants(415)
}

func TestSOAPPageLetsPeopleTry(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "required" })
	page := string(a.get("/v1/soap/stedsnavn/v1?operation=findBoeker&lang=en").wants(200).Body)
	for _, want := range []string{"findBoeker", "&lt;", "<textarea", "part=programs"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	page = string(a.get("/v1/soap/stedsnavn/v1?part=programs&lang=en").wants(200).Body)
	for _, want := range []string{"SoekServiceWS?wsdl", `href="` + a.URL + `/v1/codelists`,
		"lang=nn&amp;part=programs"} {
		if !strings.Contains(page, want) {
			t.Errorf("the part for programs lacks %q", want)
		}
	}
	a.get("/soap/stedsnavn/v1?part=x").wants(400)
	a.get("/soap/stedsnavn/v1?operation=dropTables").wants(400)
	form := url.Values{"operation": {"findSteder"}, "request": {
		string(placename.ExampleRequest("findSteder", false, placename.DefaultBase))}}.Encode()
	a.post("/soap/stedsnavn/v1", "application/x-www-form-urlencoded", form).wants(401)
	r := a.post("/soap/stedsnavn/v1", "application/x-www-form-urlencoded", form, "Cookie", "grense_key="+a.key).wants(
		200)
	if !bytes.Contains(r.Body, []byte("findStederResponse")) {
		t.Errorf("no answer in the page: %.500s", r.Body)
	}
	a.post("/soap/stedsnavn/v1", "application/x-www-form-urlencoded", form, "Cookie", "grense_key="+a.key,
		"Sec-Fetch-Site", "cross-site").wants(400)
}

func TestCodeListsAreOpen(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "required" })
	lists := a.get("/v1/codelists?lang=en").wants(200).json()["codelists"].([]any)
	want, err := register.CodeLists()
	if err != nil {
		t.Fatal(err)
	}
	if len(lists) != len(want) {
		t.Fatalf("%d lists, want %d", len(lists), len(want))
	}
	for _, l := range want {
		doc := a.get("/codelists/" + l.ID).wants(200).json()
		codes := doc["codes"].([]any)
		if len(codes) != len(l.Codes) {
			t.Errorf("%s: %d codes, want %d", l.ID, len(codes), len(l.Codes))
			continue
		}
		for i, c := range l.Codes {
			got := codes[i].(map[string]any)
			if got["code"] != c.ID || got["name"].(map[string]any)["nb"] != c.Name["nb"] {
				t.Errorf("%s: code %d is %v, want %v", l.ID, i, got, c)
			}
		}
		rows, err := csv.NewReader(bytes.NewReader(a.get("/codelists/" + l.ID + "?f=csv").wants(200).Body)).ReadAll()
		if err != nil || len(rows) != len(l.Codes)+1 {
			t.Errorf("%s as CSV: %d rows, %v", l.ID, len(rows), err)
		}
		a.get("/codelists/" + l.ID + "?f=html").wants(200)
	}
	a.get("/codelists/nope").wants(404)
	a.get("/codelists?f=html").wants(200)
	if rows, err := csv.NewReader(bytes.NewReader(a.get("/codelists?f=csv").wants(200).Body)).ReadAll(); err != nil ||
		len(rows) != len(lists)+1 || rows[0][0] != "code" {
		t.Errorf("the lists as CSV: %d rows for %d lists, %v", len(rows), len(lists), err)
	}
}

// TestAnswersOfTheRegisterAreValid validates the responses of every operation over a whole register against the
// served schemas, with xmllint.
func TestAnswersOfTheRegisterAreValid(t *testing.T) {
	t.Parallel()
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("SKIPPED: xmllint (Debian: libxml2-utils) is not installed")
	}
	a := serveRegister(t, nil)
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, f := range placename.TheContract().Files() {
		write(f, a.get("/soap/stedsnavn/v1/"+f).wants(200).Body)
	}
	yes, blank := true, ""
	all := placename.Flags{BeregnVisningsnavn: true, InkluderGeometri: true}
	oslo := []string{"0301", "1103", "4601", "5001"}
	requests := []placename.Request{
		&placename.FindSteder{StedSoek: placename.StedSoek{AvansertSoek: &yes}, Flags: all},
		&placename.FindSteder{},
		&placename.FindStedsnavn{Flags: all},
		&placename.FindSkrivemaater{Flags: all},
		&placename.FindNavnesaker{},
		&placename.FindVedtak{},
		&placename.FindSamlevedtak{},
		&placename.FindKartprodukter{},
		&placename.FindBoeker{Soeketekst: "norske"},
		&placename.FindBoeker{Soeketekst: blank},
	}
	for _, k := range oslo {
		requests = append(requests, &placename.FindStederForMatrikkelenhetreferanse{
			Soek: placename.StedMatrikkelenhetreferanseSoek{Kommunenummer: k, Gaardsnummer: "1-9999"}, Flags: all},
			&placename.FindStedsnavnForMatrikkelenhetreferanse{
				Soek:  placename.StedsnavnMatrikkelenhetreferanseSoek{Kommunenummer: k, Gaardsnummer: "1-9999"},
				Flags: all},
			&placename.FindSkrivemaaterForMatrikkelenhetreferanse{
				Soek:  placename.SkrivemaateMatrikkelenhetreferanseSoek{Kommunenummer: k, Gaardsnummer: "1-9999"},
				Flags: all})
	}
	const nobody = `<t:vedtattAv xsi:nil="true"/>`
	withNobody, nobodies := "", 0
	files, hits := []string{"--noout", "--schema", filepath.Join(dir, "SoekServiceWS_schema1.xsd")}, 0
	for i, rq := range requests {
		body := append([]byte(`<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>`),
			placename.AppendRequest(nil, rq, placename.DefaultBase)...)
		body = append(body, `</S:Body></S:Envelope>`...)
		r := a.post(endpoint, "text/xml; charset=utf-8", string(body))
		_, inner, ok := bytes.Cut(r.Body, []byte("Body>"))
		end := bytes.LastIndex(inner, []byte("</"))
		if !ok || end < 0 {
			t.Fatalf("%s: %.300s", rq.Operation(), r.Body)
		}
		end = bytes.LastIndex(inner[:end], []byte("</"))
		if r.StatusCode != 200 {
			continue // faults are validated by package soap
		}
		hits += bytes.Count(inner, []byte("item>"))
		document := inner[:end]
		if n := bytes.Count(document, []byte(nobody)); n > 0 {
			nobodies += n
			withNobody = write("nobody.xml", document)
			document = bytes.ReplaceAll(document, []byte(nobody),
				[]byte(`<t:vedtattAv xsi:type="ob:UtoevendeMyndighetFylke" xsi:nil="true"/>`))
		}
		files = append(files, write(fmt.Sprintf("%02d.xml", i), document))
	}
	// A nil of an abstract type needs an xsi:type to be valid (XML Schema Part 1, 3.3.4). The service sends the plain
	// nil of its contract, since clients read that correctly.
	out, err := exec.Command(lint, "--noout", "--schema", filepath.Join(dir, "SoekServiceWS_schema1.xsd"),
		withNobody).CombinedOutput()
	if faults := bytes.Count(out, []byte("error :")); err == nil || nobodies == 0 || faults != nobodies ||
		bytes.Count(out, []byte("vedtattAv")) < nobodies {
		t.Errorf("%d decisions of nobody, %d faults: %.1000s", nobodies, faults, out)
	}
	if hits < 10000 || len(files) < 20 {
		t.Errorf("%d hits in %d answers: too few to prove anything", hits/2, len(files)-3)
	}
	if out, err := exec.Command(lint, files...).CombinedOutput(); err != nil {
		t.Errorf("%v: %.3000s", err, out)
	}
}

func TestCodeListsOfPropertiesAreInTheMount(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.BaseURL = "https://maps.example.org/geo" })
	for _, mount := range []string{"", "/v1"} {
		props := a.get("/geo" + mount + "/collections/sted/schema").wants(200).json()["properties"].(map[string]any)
		uri := props["navneobjekttype"].(map[string]any)["x-ogc-codelistUri"].(string)
		if want := "https://maps.example.org/geo" + mount + "/codelists/navneobjekttype"; uri != want {
			t.Errorf("the code list is %s, want %s", uri, want)
		}
		a.get(strings.TrimPrefix(uri, "https://maps.example.org")).wants(200)
	}
}
