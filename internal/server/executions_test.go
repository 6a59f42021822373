package server_test

import (
	"fmt"
	"mime"
	"strings"
	"testing"
)

// TestReferencesWhileTheClientWaits: OGC 18-062r2, 7.11.2.2: 204 with a link, or a document with href.
func TestReferencesWhileTheClientWaits(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	body := func(outputs, response string) string {
		return `{"inputs":{"string":"Å","number":3},"outputs":{` + outputs + `},"response":"` + response + `"}`
	}
	const ref, number = `"string":{"transmissionMode":"reference"}`, `"number":{"transmissionMode":"value"}`
	href := func(link string) string {
		href, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		return href
	}
	r := a.run("echo", body(ref, "raw")).wants(204)
	if got := a.get(href(r.Header.Get("Link"))).wants(200); string(got.Body) != `"Å"` || len(r.Body) != 0 {
		t.Errorf("%v: %s", r.Header, got.Body)
	}
	r = a.run("echo", body(ref+","+number, "raw"), "Prefer", "wait=10").wants(200)
	if got := a.get(href(r.Header.Get("Link"))).wants(200); string(got.Body) != `"Å"` || string(r.Body) != "3" ||
		r.Header.Get("Preference-Applied") != "wait" {
		t.Errorf("%v %s: %s", r.Header, r.Body, got.Body)
	}
	doc := a.run("echo", body(ref+","+number, "document")).wants(200).json()
	if got := a.get(doc["string"].(map[string]any)["href"].(string)).wants(200); string(got.Body) != `"Å"` ||
		doc["number"] != 3.0 {
		t.Errorf("%v: %s", doc, got.Body)
	}
	if r := a.run("join-table",
		`{"inputs":{"table":"kode,tall\n0301,1\n","collection":"none"},`+
			`"outputs":{"result":{"transmissionMode":"reference"}}}`); r.StatusCode != 400 ||
		!strings.Contains(string(r.Body), "/inputs/") {
		t.Errorf("%d %s", r.StatusCode, r.Body)
	}
	serveWithout(t).run("echo", body(ref, "raw")).wants(400)
}

// TestResultsLinksHaveTheTypeThatTheyGive: of one raw output, several, a document, references and failures.
func TestResultsLinksHaveTheTypeThatTheyGive(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, body := range []string{
		`{"inputs":{"string":"x"},"outputs":{"string":{}}}`, `{"inputs":{"string":"x","number":1}}`,
		`{"inputs":{"string":"x"},"response":"document"}`,
		`{"inputs":{"string":"x"},"outputs":{"string":{"transmissionMode":"reference"}}}`,
		`{"inputs":{"string":{"href":"http://192.0.2.1/x"}},"outputs":{"string":{}}}`,
	} {
		job := a.run("echo", body, "Prefer", "respond-async").wants(201).Header.Get("Location")
		a.until(job, "successful failed")
		l, ok := find(a.get(job).wants(200).links(), "http://www.opengis.net/def/rel/ogc/1.0/results", "")
		if !ok {
			t.Fatalf("%s: no link to the results", body)
		}
		r := a.get(l.Href)
		media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if l.Type != media {
			t.Errorf("%s: the link says %q, the answer %d %q", body, l.Type, r.StatusCode, media)
		}
		list := a.get("/jobs").wants(200)
		if !strings.Contains(string(list.Body), l.Href) {
			t.Errorf("%s: the list lacks %s", body, l.Href)
		}
	}
}

// TestJobsArePaged by links next and prev.
func TestJobsArePaged(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	var jobs []string
	for i := range 7 {
		at := a.run("echo", fmt.Sprintf(`{"inputs":{"number":%d}}`, i), "Prefer", "respond-async").wants(
			201).Header.Get("Location")
		a.until(at, "successful failed")
		jobs = append([]string{at[strings.LastIndex(at, "/")+1:]}, jobs...)
	}
	for _, start := range []string{"/jobs?limit=3", "/v1/jobs?limit=3&type=process&status=successful",
		"/jobs?f=json&limit=7", "/jobs"} {
		var seen []string
		pages := 0
		for at := start; at != ""; pages++ {
			r := a.get(at).wants(200)
			for _, j := range r.json()["jobs"].([]any) {
				seen = append(seen, j.(map[string]any)["jobID"].(string))
			}
			next, ok := find(r.links(), "next", "application/json")
			if at = ""; ok {
				if at = next.Href; !strings.Contains(r.Header.Get("Link"), `rel="next"`) {
					t.Errorf("%s: Link %q", start, r.Header.Get("Link"))
				}
			}
		}
		if strings.Join(seen, " ") != strings.Join(jobs, " ") || strings.Contains(start, "limit=3") != (pages == 3) {
			t.Errorf("%s: %d pages, %v, want %v", start, pages, seen, jobs)
		}
	}
	if html := string(a.get("/jobs?f=html&limit=3&offset=3").wants(200).Body); !strings.Contains(html, `rel="next"`) ||
		!strings.Contains(html, `rel="prev"`) {
		t.Error("the page lacks its neighbours")
	}
	a.get("/jobs?offset=-1").wants(400)
	one := a.get("/processes?limit=1&offset=1").wants(200)
	_, next := find(one.links(), "next", "")
	_, prev := find(one.links(), "prev", "")
	if !next || !prev || len(one.json()["processes"].([]any)) != 1 {
		t.Errorf("processes: %s", one.Body)
	}
}

// TestQualifiedValuesOfObjects: OGC 18-062r2, 7.11.2.3. An object whose only member is value, and whose value is no
// object, is itself the input.
func TestQualifiedValuesOfObjects(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for in, want := range map[string]string{`{"value":"x"}`: `{"value":"x"}`, `{"value":{"a":1}}`: `{"a":1}`,
		`{"value":{"value":"x"}}`: `{"value":"x"}`, `{"value":1,"b":2}`: `{"b":2,"value":1}`,
		`{"value":null}`: `{"value":null}`} {
		if r := a.run("echo", `{"inputs":{"object":`+in+`},"outputs":{"object":{}}}`).wants(200); string(
			r.Body) != want {
			t.Errorf("%s: %s, want %s", in, r.Body, want)
		}
	}
	a.run("echo", `{"inputs":{"object":{"value":"x","mediaType":"text/plain"}}}`).wants(400)
}

// TestRepeatedMembersAreRefused: which of two would be meant?
func TestRepeatedMembersAreRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for body, at := range map[string]string{
		`{"inputs":{"string":"x","string":"y"}}`:                           "/inputs/string",
		`{"inputs":{"string":"x"},"inputs":{}}`:                            "/inputs",
		`{"inputs":{"object":{"a":[{"b":1,"b":2}]}}}`:                      "/inputs/object/a/0/b",
		`{"inputs":{"string":"x"},"response":"raw","response":"document"}`: "/response",
		`{"inputs":{"string":"x"},"outputs":{"string":{},"string":{}}}`:    "/outputs/string",
	} {
		for _, prefer := range []string{"wait", "respond-async"} {
			if r := a.run("echo", body, "Prefer", prefer).wants(400); !strings.Contains(
				string(r.Body), `"name":"`+at+`"`) {
				t.Errorf("%s: %s", body, r.Body)
			}
		}
	}
	if r := a.post("/collections/kommuner/items", "application/json",
		`{"op":"=","args":[{"property":"nr"},"0301"],"op":"<>"}`); r.StatusCode != 400 {
		t.Errorf("a filter: %d %s", r.StatusCode, r.Body)
	}
	r := a.post("/enrich", "application/x-ndjson",
		`{"lon":10.75,"lat":59.91,"lat":70}`+"\n"+`{"lon":10.75,"lat":59.91}`+"\n").wants(200)
	if lines := strings.Split(string(r.Body), "\n"); !strings.Contains(lines[0], `twice`) ||
		!strings.Contains(lines[1], `"0301"`) {
		t.Errorf("a table: %s", r.Body)
	}
}
