package process_test

import (
	"encoding/json"
	"strings"
	"testing"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/store"
)

// TestProcessesDescribeThemselves: under the id by which they are found, with texts in each language, and with inputs
// and outputs that have a type.
func TestProcessesDescribeThemselves(t *testing.T) {
	t.Parallel()
	r := process.NewRegistry(process.Standard()...)
	cat := &store.Catalog{Collections: []*store.Collection{{ID: "kommuner", Public: true}}}
	for _, p := range r.All() {
		id := p.ID()
		if found, ok := r.Find(id); !ok || found.ID() != id {
			t.Errorf("%s is not found", id)
		}
		told := map[string]string{}
		for _, lang := range []string{"nb", "nn", "en"} {
			d := p.Describe(cat, lang)
			if d.ID != id {
				t.Errorf("%s describes itself as %s", id, d.ID)
			}
			if d.Title == "" || d.Description == "" || told[d.Description] != "" {
				t.Errorf("%s: title %q and description %q in %s; in %s it has the same", id, d.Title, d.Description,
					lang, told[d.Description])
			}
			told[d.Description] = lang
			for _, in := range d.Inputs {
				if in.Title == "" || in.Schema == nil {
					t.Errorf("%s: input %s has no title in %s, or no schema", id, in.ID, lang)
				}
			}
			for _, out := range d.Outputs {
				if out.Schema == nil {
					t.Errorf("%s: output %s has no schema", id, out.ID)
				}
			}
		}
	}
	if _, ok := r.Find("ingen"); ok || len(r.All()) == 0 {
		t.Error("a process that is not there is found, or there is none")
	}
}

func echo(t *testing.T) (process.Process, ogcapi.Process) {
	t.Helper()
	p, ok := process.NewRegistry(process.Standard()...).Find("echo")
	if !ok {
		t.Fatal("there is no echo")
	}
	return p, p.Describe(&store.Catalog{}, "en")
}

// TestFaultyExecutionsNameTheInputByAJSONPointer: OGC 18-062r2, 7.11.2; RFC 6901.
func TestFaultyExecutionsNameTheInputByAJSONPointer(t *testing.T) {
	t.Parallel()
	p, d := echo(t)
	for body, want := range map[string]string{
		`{"inputs":{"string":7}}`:                                     "/inputs/string",
		`{"inputs":{"number":"7"}}`:                                   "/inputs/number",
		`{"inputs":{"number":1e999}}`:                                 "/inputs/number",
		`{"inputs":{"pause":61}}`:                                     "/inputs/pause",
		`{"inputs":{"array":[1,"a",3]}}`:                              "/inputs/array/1",
		`{"inputs":{"bbox":{"bbox":[1,2,3]}}}`:                        "/inputs/bbox/bbox",
		`{"inputs":{"bbox":{"crs":"urn:x:y"}}}`:                       "/inputs/bbox/bbox",
		`{"inputs":{"a/b~c":1}}`:                                      "/inputs/a~1b~0c",
		`{"inputs":{"string":{"value":7}}}`:                           "/inputs/string",
		`{"inputs":{},"outputs":{"x":{}}}`:                            "/outputs/x",
		`{"inputs":{},"outputs":{"string":{"transmissionMode":"x"}}}`: "/outputs/string/transmissionMode",
		`{"inputs":{},"response":"x"}`:                                "/response",
		`{"inputs":[]}`:                                               "/inputs",
		`{"inputs":null}`:                                             "/inputs",
		`{"input":{"string":"x"}}`:                                    "/input",
		`{"INPUTS":{"string":"x"}}`:                                   "/INPUTS",
		`null`:                                                        "",
		`[]`:                                                          "",
		`{"inputs":{}} {}`:                                            "",
		`{"inputs":`:                                                  "",
		``:                                                            "",
	} {
		_, err := process.Read([]byte(body), p, d)
		e := problem.Of(err)
		if err == nil || e.Kind != problem.Invalid || len(e.Faults) == 0 || e.Faults[0].Param != want ||
			e.Faults[0].In != "body" ||
			e.Faults[0].Cure == "" {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	_, err := process.Read([]byte(`{"inputs":[]}`), p, d)
	if got := problem.Of(err).Faults[0].Cure; got != "an array cannot stand here" {
		t.Errorf("a list of inputs: %s", got)
	}
	_, err = process.Read([]byte(`{"inputs":{"string":1,"number":"x"},"response":"y"}`), p, d)
	if got := problem.Of(err).Faults; len(got) != 3 {
		t.Errorf("%d of three faults are told: %v", len(got), err)
	}
}

// TestInputsAreTheirValues: in all forms of OGC 18-062r2, 7.11.2.3, with defaults filled in.
func TestInputsAreTheirValues(t *testing.T) {
	t.Parallel()
	p, d := echo(t)
	r, err := process.Read(
		[]byte(
			`{"inputs":{"string":"Å","number":{"value":1.50},"object":{"value":{"a":1}},"array":[1,2],"boolean":false,
		"bbox":{"crs":"urn:ogc:def:crs:EPSG:6.6:4326","bbox":[345345345,345345354,345345355,345345365]}},"outputs":{"string":{},"number":{"transmissionMode":"value"}},"response":"document"}`),
		p,
		d,
	)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"array":[1,2],"bbox":{"bbox":[345345345,345345354,345345355,345345365],` +
		`"crs":"urn:ogc:def:crs:EPSG:6.6:4326"},"boolean":false,"number":1.50,"object":{"a":1},"pause":0,"string":"Å"}`
	if string(b) != want || strings.Join(r.Outputs, " ") != "number string" || !r.Document {
		t.Errorf("%s\n%v %v", b, r.Outputs, r.Document)
	}
	if r, err = process.Read([]byte(`{"id":"echo","mode":"sync"}`), p, d); err != nil || len(r.Outputs) != 6 ||
		r.Document {
		t.Errorf("nothing asked: %+v, %v", r, err)
	}
}
