package server_test

import (
	"strings"
	"testing"
)

// TestAssertionsOfTheProcessesSuite checks the assertions of the official suite (ets-ogcapi-processes10), at both
// mounts, with echo as its echo process. It never sends an address with a trailing slash.
func TestAssertionsOfTheProcessesSuite(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		iut := a.URL + mount
		landing := a.get(iut+"/", "Accept", "application/json").wants(200)
		list, ok := find(landing.links(), "http://www.opengis.net/def/rel/ogc/1.0/processes", "application/json")
		_, conformance := find(landing.links(), "http://www.opengis.net/def/rel/ogc/1.0/conformance", "")
		if !ok || !conformance || !strings.HasPrefix(list.Href, iut+"/processes") {
			t.Fatalf("landing page: %v", landing.links())
		}
		declared := string(a.get(iut + "/conformance").wants(200).Body)
		for _, class := range []string{"core", "ogc-process-description", "json", "html", "oas30", "job-list",
			"dismiss"} {
			if !strings.Contains(declared, "ogcapi-processes-1/1.0/conf/"+class+`"`) {
				t.Errorf("%s is not declared", class)
			}
		}
		one := a.get(iut + "/processes?limit=1").wants(200).json()
		if len(one["processes"].([]any)) != 1 || len(one["links"].([]any)) == 0 {
			t.Errorf("limit=1: %v", one)
		}
		for _, p := range a.get(iut + "/processes").wants(200).json()["processes"].([]any) {
			summary := p.(map[string]any)
			d := a.get(iut + "/processes/" + summary["id"].(string)).wants(200).json()
			if d["id"] != summary["id"] || d["version"] == "" || d["inputs"] == nil || d["outputs"] == nil ||
				len(d["jobControlOptions"].([]any)) == 0 || len(d["outputTransmission"].([]any)) == 0 {
				t.Errorf("description: %v", d)
			}
			for name, in := range d["inputs"].(map[string]any) {
				if in.(map[string]any)["schema"] == nil {
					t.Errorf("%v: %s has no schema", summary["id"], name)
				}
			}
		}
		echo := string(a.get(iut + "/processes/echo").wants(200).Body)
		if first := strings.Index(echo, `"inputs":{"string":`); first < 0 ||
			strings.Contains(echo, "contentMediaType") {
			t.Errorf("the first input of echo is no plain text: %s", echo)
		}
		a.etsExceptions(t, mount)
		a.etsExecutions(t, mount)
		a.etsJobs(t, mount)
	}
}

// etsExceptions: unknown processes and jobs, bad and unknown inputs.
func (a *api) etsExceptions(t *testing.T, mount string) {
	t.Helper()
	iut := a.URL + mount
	for _, tt := range []struct {
		r      answer
		status int
		class  string
	}{
		{a.get(iut + "/processes/none"), 404, "no-such-process"},
		{a.send(mount+"/processes/none/execution", `{"inputs":{}}`), 404, "no-such-process"},
		{a.get(iut + "/jobs/none"), 404, "no-such-job"}, {a.get(iut + "/jobs/none/results"), 404, "no-such-job"},
		{a.do("DELETE", iut+"/jobs/none"), 404, "no-such-job"},
		{a.send(mount+"/processes/echo/execution", `{"inputs":{"string":{"a":1}}}`), 400, ""},
		{a.send(mount+"/processes/echo/execution", `{"inputs":{"unheard":"x"}}`), 400, ""},
	} {
		if tt.r.StatusCode != tt.status || tt.r.Header.Get("Content-Type") != "application/problem+json" ||
			tt.class != "" && tt.r.json()["type"] != exceptions+tt.class {
			t.Errorf("%s: %d %s %s", tt.r.Request.URL, tt.r.StatusCode, tt.r.Header.Get("Content-Type"), tt.r.Body)
		}
	}
}

// etsExecutions: echo returns its inputs, by value and by reference, raw and as a document.
func (a *api) etsExecutions(t *testing.T, mount string) {
	t.Helper()
	path := mount + "/processes/echo/execution"
	for name, value := range map[string]string{"string": `"text"`, "number": `3.5`, "boolean": `true`,
		"array": `[1,2,3]`, "bbox": `{"bbox":[345345345,345345354,345345355,345345365],` +
			`"crs":"urn:ogc:def:crs:EPSG:6.6:4326"}`} {
		body := `{"inputs":{"` + name + `":` + value + `},"outputs":{"` + name +
			`":{"transmissionMode":"value"}},"response":"`
		if r := a.send(path, body+`raw"}`).wants(200); string(r.Body) != value || r.Header.Get("Link") != "" {
			t.Errorf("raw %s: %s %v", name, r.Body, r.Header)
		}
		if r := a.send(path, body+`document"}`).wants(200); string(r.Body) != `{"`+name+`":`+value+`}` {
			t.Errorf("document %s: %s", name, r.Body)
		}
		r := a.send(path, strings.Replace(body, `"value"}`, `"reference"}`, 1)+`raw"}`, "Prefer",
			"respond-async").wants(201)
		job := r.Header.Get("Location")
		a.until(job, "successful")
		results := a.get(job + "/results").wants(204)
		href, _, _ := strings.Cut(strings.TrimPrefix(results.Header.Get("Link"), "<"), ">")
		if r := a.get(href).wants(200); string(r.Body) != value {
			t.Errorf("reference %s: %s", name, r.Body)
		}
	}
	all := a.send(path, `{"inputs":{"string":"x","number":1,"boolean":false}}`).wants(200)
	if len(all.parts()) != 3 {
		t.Errorf("outputs that are left out are all: %s", all.Body)
	}
}

// etsJobs: creation, status, results that are not ready, the list and its parameters, dismissal.
func (a *api) etsJobs(t *testing.T, mount string) {
	t.Helper()
	iut := a.URL + mount
	r := a.send(mount+"/processes/echo/execution", `{"inputs":{"string":"x","pause":5},"outputs":{"string":{}}}`,
		"Prefer", "respond-async").wants(201)
	job, status := r.Header.Get("Location"), r.json()
	if !strings.HasPrefix(job, iut+"/jobs/") || status["status"] != "accepted" || status["type"] != "process" ||
		status["jobID"] == "" || status["processID"] != "echo" ||
		r.Header.Get("Preference-Applied") != "respond-async" {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	if monitor, ok := find(r.links(), "monitor", "application/json"); !ok ||
		a.get(monitor.Href).wants(200).json()["jobID"] != status["jobID"] {
		t.Errorf("a job under way has no link to follow: %s", r.Body)
	}
	if r := a.get(job + "/results").wants(404); r.json()["type"] != exceptions+"result-not-ready" ||
		r.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s", r.Body)
	}
	list := a.get(iut + "/jobs").wants(200).json()
	if len(list["jobs"].([]any)) == 0 || len(list["links"].([]any)) == 0 {
		t.Errorf("%v", list)
	}
	for query, there := range map[string]bool{"type=process": true, "processID=echo": true,
		"processID=neighbours": false, "status=accepted,running": true, "status=failed": false,
		"datetime=2020-01-01T00:00:00Z/..": true,
		"datetime=../2020-01-01T00:00:00Z": false, "minDuration=1000": false, "limit=1": true} {
		if got := a.get(iut + "/jobs?" + query).wants(200); strings.Contains(
			string(got.Body), status["jobID"].(string)) != there {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
	if r := a.do("DELETE", job).wants(200); r.json()["status"] != "dismissed" {
		t.Errorf("%s", r.Body)
	}
	a.until(job, "dismissed")
	a.do("DELETE", job).wants(200)
	a.get(job).wants(404)
}
