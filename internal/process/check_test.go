package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/store"
)

// of is a process that does nothing, with inputs by name.
func of(inputs map[string]ogcapi.ProcessInput) ogcapi.Process {
	d := ogcapi.Process{}
	d.ID = "nothing"
	for name, in := range inputs {
		in.ID = name
		d.Inputs = append(d.Inputs, in)
	}
	return d
}

type nothing struct{}

func (nothing) ID() string                                     { return "nothing" }
func (nothing) Describe(*store.Catalog, string) ogcapi.Process { return of(nil) }
func (nothing) Execute(context.Context, *process.Env, process.Inputs) (process.Outputs, error) {
	return nil, nil
}

// faults lists the JSON pointers and cures of an error, "" for none.
func faults(err error) string {
	if err == nil {
		return ""
	}
	var list []string
	for _, f := range problem.Of(err).Faults {
		list = append(list, f.Param+": "+f.Cure)
	}
	return strings.Join(list, "; ")
}

// TestInputsAreCheckedAgainstTheirSchema: the keywords of JSON Schema (draft 2020-12) that descriptions use.
func TestInputsAreCheckedAgainstTheirSchema(t *testing.T) {
	t.Parallel()
	const no = " as the description of the process says"
	for _, x := range []struct{ name, schema, value, want string }{
		{"a text", `{"type":"string"}`, `"x"`, ""},
		{"a number for a text", `{"type":"string"}`, `1`, "/inputs/x: send a string," + no},
		{"an integer for a number", `{"type":"number"}`, `1`, ""},
		{"a fraction for an integer", `{"type":"integer"}`, `1.5`, "/inputs/x: send an integer," + no},
		{"an integer of many digits", `{"type":"integer"}`, `123456789012345678901234567890`, ""},
		{"one of two types", `{"type":["integer","null"]}`, `null`, ""},
		{"none of two types", `{"type":["integer","null"]}`, `"x"`, "/inputs/x: send an integer or null," + no},
		{"a list for an object", `{"type":"object"}`, `[]`, "/inputs/x: send an object," + no},
		{"an object for a list", `{"type":"array"}`, `{"a":1}`, "/inputs/x: send an array," + no},
		{"a truth value", `{"type":"boolean"}`, `true`, ""},
		{"a word for a truth value", `{"type":"boolean"}`, `"true"`, "/inputs/x: send a boolean," + no},
		{"any type", `{}`, `[1,"a",null]`, ""},
		{"a number beyond doubles", `{}`, `1e400`, "/inputs/x: the number is too large"},
		{"the least number", `{"minimum":-1.5}`, `-1.5`, ""},
		{"less than the least", `{"minimum":-1.5}`, `-1.50001`, "/inputs/x: use a number from -1.5"},
		{"the largest number", `{"maximum":60}`, `60.0`, ""},
		{"more than the largest", `{"maximum":60}`, `61`, "/inputs/x: use a number up to 60"},
		{"bounds of numbers do not concern texts", `{"minimum":3}`, `"x"`, ""},
		{"an allowed word", `{"enum":["a","b"]}`, `"b"`, ""},
		{"a word in another case", `{"enum":["a","b"]}`, `"B"`, "/inputs/x: use one of a, b"},
		{"an allowed number in another spelling", `{"enum":[1,2.5]}`, `1.0`, ""},
		{"an allowed null", `{"enum":[null]}`, `null`, ""},
		{"a text for an allowed number", `{"enum":[1]}`, `"1"`, "/inputs/x: use one of 1"},
		{"lengths count characters, not bytes", `{"minLength":2,"maxLength":2}`, `"øå"`, ""},
		{"too few characters", `{"minLength":2}`, `"ø"`, "/inputs/x: send at least 2 characters"},
		{"too many characters", `{"maxLength":2}`, `"abc"`, "/inputs/x: send at most 2 characters"},
		{"a pattern", `{"pattern":"^[0-9]{4}$"}`, `"0301"`, ""},
		{"no match of a pattern", `{"pattern":"^[0-9]{4}$"}`, `"301"`,
			"/inputs/x: send a text that matches ^[0-9]{4}$"},
		{"a date", `{"format":"date"}`, `"2024-02-29"`, ""},
		{"no such date", `{"format":"date"}`, `"2023-02-29"`, "/inputs/x: send a date, as 2024-01-31"},
		{"a moment for a date", `{"format":"date"}`, `"2024-01-31T12:00:00Z"`, "/inputs/x: send a date, as 2024-01-31"},
		{"a moment", `{"format":"date-time"}`, `"2024-01-31T12:00:00+01:00"`, ""},
		{"a moment without a zone", `{"format":"date-time"}`, `"2024-01-31T12:00:00"`,
			"/inputs/x: send a moment, as 2024-01-31T12:00:00Z"},
		{"an address", `{"format":"uri"}`, `"http://www.opengis.net/def/crs/OGC/1.3/CRS84"`, ""},
		{"a URN", `{"format":"uri"}`, `"urn:ogc:def:crs:EPSG::25833"`, ""},
		{"a relative address", `{"format":"uri"}`, `"/crs/84"`, "/inputs/x: send an absolute address"},
		{"elements", `{"items":{"type":"number"}}`, `[1,2]`, ""},
		{"wrong elements", `{"items":{"type":"number"}}`, `[1,"a",2,true]`,
			"/inputs/x/1: send a number," + no + "; /inputs/x/3: send a number," + no},
		{"too few elements", `{"minItems":2}`, `[1]`, "/inputs/x: send at least 2 elements"},
		{"too many elements", `{"maxItems":2}`, `[1,2,3]`, "/inputs/x: send at most 2 elements"},
		{"members", `{"properties":{"a":{"type":"string"}}}`, `{"a":"x","b":1}`, ""},
		{"a wrong member", `{"properties":{"a/b":{"type":"string"}}}`, `{"a/b":1}`,
			"/inputs/x/a~1b: send a string," + no},
		{"a missing member", `{"required":["a"]}`, `{"b":1}`,
			"/inputs/x/a: it is missing; the description of the process requires it"},
		{"a required member that is null is there", `{"required":["a"]}`, `{"a":null}`, ""},
		{"a member too many", `{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"b":2}`,
			"/inputs/x/b: there is no such member; leave it out"},
		{"one of two forms", `{"oneOf":[{"type":"string"},{"type":"number"}]}`, `1`, ""},
		{"both of two forms", `{"oneOf":[{"type":"integer"},{"type":"number"}]}`, `1`,
			"/inputs/x: send a value that fits only one of the forms in the description of the process"},
		{"any of two forms", `{"anyOf":[{"type":"integer"},{"type":"number"}]}`, `1`, ""},
		{"none of two forms: the nearest counts", `{"anyOf":[{"required":["a","b"]},{"required":["c"]}]}`, `{}`,
			"/inputs/x/c: it is missing; the description of the process requires it"},
		{"all of two forms", `{"allOf":[{"minimum":1},{"maximum":3}]}`, `2`, ""},
		{"one of all forms is missed", `{"allOf":[{"minimum":1},{"maximum":3}]}`, `4`,
			"/inputs/x: use a number up to 3"},
	} {
		d := of(map[string]ogcapi.ProcessInput{"x": {Schema: json.RawMessage(x.schema), MaxOccurs: 1, MinOccurs: 1}})
		_, err := process.Read(fmt.Appendf(nil, `{"inputs":{"x":%s}}`, x.value), nothing{}, d)
		if got := faults(err); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

// TestManyFaultsAreCut: a client learns what is wrong, and no answer grows with a request.
func TestManyFaultsAreCut(t *testing.T) {
	t.Parallel()
	d := of(map[string]ogcapi.ProcessInput{"x": {Schema: json.RawMessage(`{"items":{"type":"string"}}`), MaxOccurs: 1}})
	_, err := process.Read([]byte(`{"inputs":{"x":[`+strings.Repeat("1,", 999)+`1]}}`), nothing{}, d)
	if n := len(problem.Of(err).Faults); n != 20 {
		t.Errorf("%d faults are told", n)
	}
	var words []string
	for i := range 50 {
		words = append(words, fmt.Sprintf(`"w%d"`, i))
	}
	enum := json.RawMessage(`{"enum":[` + strings.Join(words, ",") + `]}`)
	d = of(map[string]ogcapi.ProcessInput{"x": {Schema: enum, MaxOccurs: 1}})
	_, err = process.Read([]byte(`{"inputs":{"x":"?"}}`), nothing{}, d)
	if got := faults(err); !strings.HasSuffix(got, "w29 and 20 others, as the description of the process lists") {
		t.Errorf("%q", got)
	}
}

// TestOccurrencesOfInputs: OGC 18-062r2, 7.11.2.5.
func TestOccurrencesOfInputs(t *testing.T) {
	t.Parallel()
	number := json.RawMessage(`{"type":"number"}`)
	for _, x := range []struct {
		name       string
		least      int
		most       int
		body, want string
	}{
		{"one value of one", 1, 1, `{"inputs":{"x":1}}`, ""},
		{"none of one", 1, 1, `{"inputs":{}}`, "/inputs/x: the input is missing; X"},
		{"null of one", 1, 1, `{"inputs":{"x":null}}`,
			"/inputs/x: send a number, as the description of the process says"},
		{"null of an optional one", 0, 1, `{"inputs":{"x":null}}`, ""},
		{"a list of several", 1, 3, `{"inputs":{"x":[1,2,3]}}`, ""},
		{"a single value of several", 1, 3, `{"inputs":{"x":7}}`, ""},
		{"too many of several", 1, 3, `{"inputs":{"x":[1,2,3,4]}}`, "/inputs/x: send from 1 to 3 values"},
		{"too few of several", 2, 3, `{"inputs":{"x":[1]}}`, "/inputs/x: send from 2 to 3 values"},
		{"a wrong one of several", 1, 3, `{"inputs":{"x":[1,"a"]}}`,
			"/inputs/x/1: send a number, as the description of the process says"},
		{"qualified values among several", 1, 3, `{"inputs":{"x":[{"value":1},2]}}`, ""},
	} {
		in := ogcapi.ProcessInput{Title: "X", Schema: number, MinOccurs: x.least, MaxOccurs: x.most}
		d := of(map[string]ogcapi.ProcessInput{"x": in})
		r, err := process.Read([]byte(x.body), nothing{}, d)
		if got := faults(err); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
		if err != nil || x.most == 1 {
			continue
		}
		if _, list := r.Inputs["x"].([]any); !list {
			t.Errorf("%s: %#v is no list", x.name, r.Inputs["x"])
		}
	}
}

// TestQualifiedValuesAndReferences: OGC 18-062r2, 7.11.2.3 and 7.11.2.4.
func TestQualifiedValuesAndReferences(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, schema, value, want, fault string }{
		{"a value in a wrapping", `{"type":"string"}`, `{"value":"a"}`, `"a"`, ""},
		{"with its media type", `{"type":"string","contentMediaType":"text/csv"}`,
			`{"value":"a","mediaType":"TEXT/csv"}`, `"a"`, ""},
		{"with another media type", `{"type":"string","contentMediaType":"text/csv"}`,
			`{"value":"a","mediaType":"text/html"}`, "", "/inputs/x/mediaType: the input is text/csv"},
		{"an object in a wrapping", `{"type":"object"}`, `{"value":{"a":1}}`, `{"a":1}`, ""},
		{"an object with a member value", `{"type":"object"}`, `{"value":7}`, `{"value":7}`, ""},
		{"an object with value and others", `{"type":"object"}`, `{"value":{},"a":1}`, `{"a":1,"value":{}}`, ""},
		{"a reference", `{"type":"string"}`, `{"href":"https://example.com/x","type":"text/csv"}`,
			`{"Href":"https://example.com/x","Media":"text/csv"}`, ""},
		{"an object with href and others", `{"type":"object"}`, `{"href":"x","a":1}`, `{"a":1,"href":"x"}`, ""},
		{"an href that is no text", `{"type":"object"}`, `{"href":1}`, `{"href":1}`, ""},
	} {
		d := of(map[string]ogcapi.ProcessInput{"x": {Schema: json.RawMessage(x.schema), MaxOccurs: 1}})
		r, err := process.Read(fmt.Appendf(nil, `{"inputs":{"x":%s}}`, x.value), nothing{}, d)
		if got := faults(err); got != x.fault {
			t.Errorf("%s: %q, want %q", x.name, got, x.fault)
			continue
		}
		if err != nil {
			continue
		}
		if b, err := json.Marshal(r.Inputs["x"]); err != nil || string(b) != x.want {
			t.Errorf("%s: %s, %v", x.name, b, err)
		}
	}
}

// TestReferencesAreReadAndChecked: OGC 18-062r2, 7.11.2.4.
func TestReferencesAreReadAndChecked(t *testing.T) {
	t.Parallel()
	broken := io.MultiReader(strings.NewReader("[1,"), reader(func([]byte) (int, error) {
		return 0, io.ErrUnexpectedEOF
	}))
	large := io.LimitReader(reader(func(b []byte) (int, error) {
		return copy(b, strings.Repeat(" ", len(b))), nil
	}), 17<<20)
	for _, x := range []struct {
		name, schema string
		content      io.Reader
		err          error
		want, fault  string
	}{
		{"JSON", `{"type":"array"}`, strings.NewReader(`[1, 2.50]`), nil, `[1,2.50]`, ""},
		{"a text", `{"type":"string"}`, strings.NewReader("a;b\n1;2\n"), nil, `"a;b\n1;2\n"`, ""},
		{"no JSON", `{"type":"array"}`, strings.NewReader(`<html>`), nil, "",
			"/inputs/x/href: what is there is no JSON"},
		{"JSON of another type", `{"type":"array"}`, strings.NewReader(`{}`), nil, "",
			"/inputs/x: send an array, as the description of the process says"},
		{"a text that is too long", `{"type":"string","maxLength":2}`, strings.NewReader("abc"), nil, "",
			"/inputs/x: send at most 2 characters"},
		{"what breaks off", `{"type":"array"}`, broken, nil, "", "/inputs/x/href: what is there breaks off; try again"},
		{"more than is read", `{"type":"string"}`, large, nil, "", "/inputs/x/href: refer to at most 16777216 bytes"},
		{"what cannot be opened", `{"type":"string"}`, nil,
			&problem.Error{Kind: problem.Invalid, Detail: "it is not on the list"}, "",
			"/inputs/x/href: it is not on the list"},
	} {
		d := of(map[string]ogcapi.ProcessInput{"x": {Schema: json.RawMessage(x.schema), MaxOccurs: 1}})
		r, err := process.Read([]byte(`{"inputs":{"x":{"href":"https://example.com/x"}}}`), nothing{}, d)
		if err != nil {
			t.Fatal(err)
		}
		env := &process.Env{Open: func(_ context.Context, href string) (io.ReadCloser, string, error) {
			if href != "https://example.com/x" {
				t.Errorf("%s: opened %s", x.name, href)
			}
			return io.NopCloser(x.content), "", x.err
		}}
		err = r.Resolve(t.Context(), env, d)
		if got := faults(err); got != x.fault {
			t.Errorf("%s: %q, want %q", x.name, got, x.fault)
			continue
		}
		if err != nil {
			continue
		}
		if b, err := json.Marshal(r.Inputs["x"]); err != nil || string(b) != x.want {
			t.Errorf("%s: %s, %v", x.name, b, err)
		}
	}
	d := of(map[string]ogcapi.ProcessInput{"x": {Schema: json.RawMessage(`{}`), MaxOccurs: 1}})
	r, err := process.Read([]byte(`{"inputs":{"x":{"href":"https://example.com/x"}}}`), nothing{}, d)
	if err != nil {
		t.Fatal(err)
	}
	away := errors.New("no route")
	if err := r.Resolve(t.Context(), &process.Env{Open: func(context.Context, string) (io.ReadCloser, string, error) {
		return nil, "", away
	}}, d); !errors.Is(err, away) {
		t.Errorf("a fault of the server is told as one of the client: %v", err)
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// TestOutputsOfAnExecution: OGC 18-062r2, 7.11.2.6.
func TestOutputsOfAnExecution(t *testing.T) {
	t.Parallel()
	d := of(nil)
	d.Outputs = ogcapi.ProcessOutputs{{ID: "b"}, {ID: "a"}}
	d.OutputTransmission = []string{"value", "reference"}
	for _, x := range []struct{ name, body, outputs, byReference string }{
		{"all", `{}`, "b a", ""},
		{"none", `{"outputs":{}}`, "", ""},
		{"one", `{"outputs":{"a":{}}}`, "a", ""},
		{"one by reference", `{"outputs":{"a":{"transmissionMode":"reference"},"b":{"transmissionMode":"value"}}}`,
			"a b", "a"},
	} {
		r, err := process.Read([]byte(x.body), nothing{}, d)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		var by []string
		for name := range r.Reference {
			by = append(by, name)
		}
		if strings.Join(r.Outputs, " ") != x.outputs || strings.Join(by, " ") != x.byReference {
			t.Errorf("%s: %q, by reference %q", x.name, r.Outputs, by)
		}
	}
	d.OutputTransmission = []string{"value"}
	_, err := process.Read([]byte(`{"outputs":{"a":{"transmissionMode":"reference"}}}`), nothing{}, d)
	if got := faults(err); got != "/outputs/a/transmissionMode: the process gives values only; use value" {
		t.Errorf("a process of values only: %q", got)
	}
	r, err := process.Read([]byte(`{"subscriber":{"successUri":"https://example.com/s"},"response":"raw"}`),
		nothing{}, d)
	if err != nil || r.Subscriber == nil || r.Subscriber.SuccessURI != "https://example.com/s" || r.Document {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRepeatedMembersAreRefused: which of two values counts would depend on who reads them (RFC 8259, 4).
func TestRepeatedMembersAreRefused(t *testing.T) {
	t.Parallel()
	d := of(map[string]ogcapi.ProcessInput{"x": {Schema: json.RawMessage(`{}`), MaxOccurs: 1}})
	for body, at := range map[string]string{
		`{"inputs":{"x":1,"x":2}}`:               "/inputs/x",
		`{"inputs":{"x":{"a":[{"b":1,"b":1}]}}}`: "/inputs/x/a/0/b",
		`{"inputs":{},"inputs":{}}`:              "/inputs",
		`{"inputs":{"x":1,"\u0078":2}}`:          "/inputs/x",
	} {
		_, err := process.Read([]byte(body), nothing{}, d)
		if got := faults(err); got != at+": the member is written twice; write it once" {
			t.Errorf("%s: %q", body, got)
		}
	}
	_, err := process.Read([]byte("{\"inputs\":{\"x\":\"\xff\"}}"), nothing{}, d)
	if err == nil || problem.Of(err).Kind != problem.Invalid {
		t.Errorf("bytes that are no UTF-8: %v", err)
	}
}

func TestInputsByType(t *testing.T) {
	t.Parallel()
	in := process.Inputs{"text": "a", "number": json.Number("1.5"), "large": json.Number("1e999"), "nil": nil}
	if in.Text("text") != "a" || in.Text("number") != "" || in.Text("absent") != "" || in.Text("nil") != "" {
		t.Errorf("texts of %v", in)
	}
	for name, want := range map[string]float64{"number": 1.5, "text": 0, "absent": 0, "nil": 0} {
		if got, ok := in.Number(name); got != want || ok != (name == "number") {
			t.Errorf("%s: %v, %t", name, got, ok)
		}
	}
	if _, ok := in.Number("large"); ok {
		t.Error("a number beyond doubles is one")
	}
	defer func() {
		if recover() == nil {
			t.Error("two processes have one id")
		}
	}()
	process.NewRegistry(nothing{}, nothing{})
}
