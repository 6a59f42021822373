package server_test

import (
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"grense/internal/config"
)

// send posts JSON, or the media type of a Content-Type among the headers.
func (a *api) send(path, body string, header ...string) answer {
	a.t.Helper()
	return a.post(path, "application/json", body, header...)
}

const exceptions = "http://www.opengis.net/def/exceptions/ogcapi-processes-1/1.0/"

// TestExecutionAnswersRawAndAsADocument: OGC 18-062r2, 7.11.4, at both mounts.
func TestExecutionAnswersRawAndAsADocument(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		path := mount + "/processes/echo/execution"
		r := a.send(path, `{"inputs":{"string":"Å"},"outputs":{"string":{"transmissionMode":"value"}},`+
			`"response":"raw"}`).wants(200)
		if string(r.Body) != `"Å"` || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Link") != "" {
			t.Errorf("raw: %s %v", r.Body, r.Header)
		}
		r = a.send(path, `{"inputs":{"string":"Å","number":1.50,"object":{"value":{"a":1}},`+
			`"bbox":{"bbox":[1,2,3,4]}},"response":"document"}`).wants(200)
		if want := `{"string":"Å","number":1.50,"object":{"value":{"a":1}},"bbox":{"bbox":[1,2,3,4]}}`; string(
			r.Body) != want {
			t.Errorf("document %s, want %s", r.Body, want)
		}
		r = a.send(path, `{"inputs":{"string":"Å","number":2}}`).wants(200)
		media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || media != "multipart/related" {
			t.Fatalf("several raw outputs are %q", r.Header.Get("Content-Type"))
		}
		parts := multipart.NewReader(strings.NewReader(string(r.Body)), params["boundary"])
		for _, want := range []string{`<string> "Å"`, "<number> 2"} {
			p, err := parts.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := io.ReadAll(p); p.Header.Get("Content-ID")+" "+string(b) != want {
				t.Errorf("part %q %s, want %s", p.Header, b, want)
			}
		}
		a.send(path, `{"inputs":{"string":"x"},"outputs":{}}`).wants(204)
		if r := a.send(path, `{"inputs":{"number":1}}`, "Prefer", "wait=5").wants(200); r.Header.Get(
			"Preference-Applied") == "" {
			t.Error("no Preference-Applied")
		}
	}
}

// TestFaultyExecutionsAreProblems of the types that OGC 18-062r2 names, exactly as application/problem+json.
func TestFaultyExecutionsAreProblems(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const echo = "/processes/echo/execution"
	for _, tt := range []struct {
		path, body, media, typ string
		status                 int
	}{
		{"/processes/ingen/execution", `{"inputs":{}}`, "application/json", exceptions + "no-such-process", 404},
		{echo, `{"inputs":{"string":7}}`, "application/json", "about:blank", 400},
		{echo, `{"inputs":{"unknown":7}}`, "application/json", "about:blank", 400},
		{echo + "?x=1", `{"inputs":{}}`, "application/json", "about:blank", 400},
		{echo, `{"inputs":{}}`, "text/plain", "about:blank", 415},
		{echo, `{"inputs":{"string":"` + strings.Repeat("x", 4<<20) + `"}}`, "application/json", "about:blank", 413},
		{echo, `{"inputs":{"string":{"href":"http://169.254.169.254/latest"}}}`, "application/json", "about:blank",
			400},
		{echo, `{"inputs":{"string":{"href":"` + a.URL + `/key"}}}`, "application/json", "about:blank", 400},
		{echo, `{"inputs":{"string":{"href":"` + a.URL + `/collections/../key"}}}`, "application/json", "about:blank",
			400},
		{echo, `{"inputs":{"string":{"href":"file:///etc/passwd"}}}`, "application/json", "about:blank", 400},
	} {
		r := a.send(tt.path, tt.body, "Content-Type", tt.media).wants(tt.status)
		if r.Header.Get("Content-Type") != "application/problem+json" || r.json()["type"] != tt.typ {
			t.Errorf("%s %.80s: %s %v", tt.path, tt.body, r.Header.Get("Content-Type"), r.json()["type"])
		}
	}
	if r := a.send(echo, `{"inputs":`, "Content-Type", "application/json").wants(400); !strings.HasPrefix(
		r.json()["detail"].(string), "body: send a JSON object") {
		t.Errorf("%s", r.Body)
	}
	if r := a.get("/processes/ingen").wants(404); r.json()["type"] != exceptions+"no-such-process" {
		t.Errorf("%s", r.Body)
	}
	if r := a.get(echo).wants(405); r.Header.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("Allow is %q", r.Header.Get("Allow"))
	}
}

// TestInputsByReferenceAreReadFromOwnCollections with the key of the execution (OGC 18-062r2, 7.11.2.4).
func TestInputsByReferenceAreReadFromOwnCollections(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for _, mount := range []string{"", "/v1"} {
		body := `{"inputs":{"object":{"href":"` + a.URL + mount +
			`/collections/fylker/items/03?skipGeometry=true"}},"outputs":{"object":{}}}`
		a.send(mount+"/processes/echo/execution", body).wants(401)
		r := a.send(mount+"/processes/echo/execution", body, "X-API-Key", a.key).wants(200)
		if !strings.Contains(string(r.Body), `"id":"03"`) {
			t.Errorf("%s", r.Body)
		}
	}
}
