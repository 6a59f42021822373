package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/process"
)

// TestFormatsOfOutputsAreTheirs: OGC 18-062r2, 7.11.2.6; media types are compared without case (RFC 9110, 8.3.1).
func TestFormatsOfOutputsAreTheirs(t *testing.T) {
	t.Parallel()
	d := of(nil)
	csv := json.RawMessage(`{"type":"string","contentMediaType":"text/csv"}`)
	d.Outputs = ogcapi.ProcessOutputs{{ID: "a/b", Schema: csv}, {ID: "json",
		Schema: json.RawMessage(`{"type":"object"}`)}}
	d.OutputTransmission = []string{"value"}
	const isJSON = "/outputs/json/format/mediaType: the output is application/json"
	for _, x := range []struct{ name, outputs, want string }{
		{"its own", `{"a/b":{"format":{"mediaType":"text/csv"}}}`, ""},
		{"in capitals", `{"a/b":{"format":{"mediaType":"TEXT/CSV"}}}`, ""},
		{"none", `{"a/b":{"format":{}}}`, ""},
		{"an encoding and a schema", `{"a/b":{"format":{"mediaType":"text/csv","encoding":"base64","schema":{"a":1}}}}`,
			""},
		{"another", `{"a/b":{"format":{"mediaType":"text/html"}}}`,
			"/outputs/a~1b/format/mediaType: the output is text/csv"},
		{"JSON of JSON", `{"json":{"format":{"mediaType":"Application/JSON"}}}`, ""},
		{"JSON of CSV", `{"a/b":{"format":{"mediaType":"application/json"}}}`,
			"/outputs/a~1b/format/mediaType: the output is text/csv"},
		{"CSV of JSON", `{"json":{"format":{"mediaType":"text/csv"}}}`, isJSON},
		{"null", `{"json":null}`, ""},
		{"no object", `{"json":7,"a/b":[]}`,
			"/outputs/a~1b: an array cannot stand here; /outputs/json: a number cannot stand here"},
		{"a mode that is no text", `{"a/b":{"transmissionMode":1}}`,
			"/outputs/a~1b/transmissionMode: a number cannot stand here"},
		{"a media type that is no text", `{"a/b":{"format":{"mediaType":[1]}}}`,
			"/outputs/a~1b/format/mediaType: an array cannot stand here"},
		{"another mode", `{"a/b":{"transmissionMode":"Value"}}`,
			"/outputs/a~1b/transmissionMode: use value or reference"},
		{"no such output", `{"JSON":{}}`, "/outputs/JSON: there is no such output; use a/b, json"},
		{"every fault", `{"x":{},"json":{"transmissionMode":"?","format":{"mediaType":"?"}}}`,
			isJSON + "; /outputs/json/transmissionMode: use value or reference; " +
				"/outputs/x: there is no such output; use a/b, json"},
		{"a list", `[]`, "/outputs: an array cannot stand here"},
		{"null for all", `null`, ""},
	} {
		r, err := process.Read([]byte(`{"outputs":`+x.outputs+`}`), nothing{}, d)
		if got := faults(err); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
		if x.name == "null for all" && err == nil && !slices.Equal(r.Outputs, []string{"a/b", "json"}) {
			t.Errorf("%s: %v", x.name, r.Outputs)
		}
	}
}

// TestBodiesThatAreNoExecutionAreRefused, with a fault that a client can act upon and never with one of the server.
func TestBodiesThatAreNoExecutionAreRefused(t *testing.T) {
	t.Parallel()
	d := of(map[string]ogcapi.ProcessInput{"x": {Schema: json.RawMessage(`{}`), MaxOccurs: 1}})
	for name, body := range map[string]string{
		"nothing":             "",
		"blanks":              " \n",
		"a text":              `"inputs"`,
		"a number":            "7",
		"cut short":           `{"inputs":{"x":[1,`,
		"a bracket too many":  `{"inputs":{}}}`,
		"two objects":         `{}{}`,
		"a byte order mark":   "\ufeff{}",
		"Latin-1":             "{\"inputs\":{\"x\":\"\xe6\"}}",
		"half a character":    "{\"inputs\":{\"x\":\"\xe2\x82\"}}",
		"single quotes":       `{'inputs':{}}`,
		"a comma too many":    `{"inputs":{},}`,
		"a comment":           `{/* */"inputs":{}}`,
		"not a number":        `{"inputs":{"x":NaN}}`,
		"a number with zeros": `{"inputs":{"x":007}}`,
		"a control character": "{\"inputs\":{\"x\":\"\x01\"}}",
		"far too deep": `{"inputs":{"x":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) +
			`}}`,
		"far too deep, cut":      `{"inputs":{"x":` + strings.Repeat(`{"a":`, 100_000),
		"a response of a number": `{"response":1}`,
		"a response in capitals": `{"response":"RAW"}`,
		"a subscriber of texts":  `{"subscriber":"https://example.com"}`,
		"a member of a draft":    `{"mode":"sync","outputs":{},"input":[]}`,
		"inputs in capitals":     `{"Inputs":{"x":1}}`,
	} {
		r, err := process.Read([]byte(body), nothing{}, d)
		e := problem.Of(err)
		if err == nil || e.Kind != problem.Invalid || len(e.Faults) == 0 || e.Faults[0].Cure == "" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// TestTextsArriveAsTheyWereSent: any characters, escaped or not; half a surrogate pair is replaced (RFC 8259, 8.2).
func TestTextsArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	p, d := echo(t)
	for sent, want := range map[string]string{
		`""`: "", `"ß ẞ ı İ"`: "ß ẞ ı İ", `"e\u0301 é"`: "e\u0301 é", `"\u0000"`: "\x00", `"😀\uD83D\uDE00"`: "😀😀",
		`"\ud800"`: "\ufffd", `"\\ \/ \" \b"`: "\\ / \" \b", `"\u202e<script>&"`: "\u202e<script>&",
		`"` + strings.Repeat("æ", 100_000) + `"`: strings.Repeat("æ", 100_000),
	} {
		r, err := process.Read([]byte(`{"inputs":{"string":`+sent+`}}`), p, d)
		if err != nil || r.Inputs.Text("string") != want {
			t.Errorf("%.40s: %v", sent, err)
			continue
		}
		out, err := p.Execute(t.Context(), municipalities().env(), r.Inputs)
		if err != nil || out["string"].Value != want || len(out) != 1 {
			t.Errorf("%.40s: %d outputs, %v", sent, len(out), err)
		}
	}
	for _, number := range []string{"0", "-0", "1.50", "12345678901234567890.123", "1E+2", "5e-324", "1e-400",
		"1.7976931348623157e308"} {
		r, err := process.Read([]byte(`{"inputs":{"number":`+number+`,"array":[`+number+`]}}`), p, d)
		if err != nil {
			t.Errorf("%s: %v", number, err)
			continue
		}
		out, err := p.Execute(t.Context(), municipalities().env(), r.Inputs)
		if err != nil || written(t, out["number"]) != number || written(t, out["array"]) != "["+number+"]" {
			t.Errorf("%s is %s and %s, %v", number, written(t, out["number"]), written(t, out["array"]), err)
		}
	}
}

// TestBoxesHaveFourOrSixNumbers, within an object with the name of their system.
func TestBoxesHaveFourOrSixNumbers(t *testing.T) {
	t.Parallel()
	p, d := echo(t)
	for box, want := range map[string]string{
		`{"bbox":[1,2,3,4]}`:     "",
		`{"bbox":[1,2,3,4,5,6]}`: "",
		`{"bbox":[170,-90,-170,90],"crs":"http://www.opengis.net/def/crs/EPSG/0/4326"}`: "",
		`{"bbox":[1,2,3,4],"more":null}`:                                                "",
		`{"bbox":[1,2,3,4,5]}`: "/inputs/bbox/bbox: send " +
			"at most 4 elements",
		`{"bbox":[]}`: "/inputs/bbox/bbox: send " +
			"at least 4 elements",
		`{"bbox":[1,2,3,null]}`: "/inputs/bbox/bbox/3: send " +
			"a number",
		`{"bbox":"1,2,3,4"}`: "/inputs/bbox/bbox: send " +
			"an array",
		`{"bbox":[1,2,3,4],"crs":"EPSG"}`: "/inputs/bbox/crs: send an " +
			"absolute address",
		`[1,2,3,4]`: "/inputs/bbox: send an object",
		`{}`: "/inputs/bbox/bbox: it is " +
			"missing",
	} {
		_, err := process.Read([]byte(`{"inputs":{"bbox":`+box+`}}`), p, d)
		if got := faults(err); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", box, got, want)
		}
	}
}

// TestReferredInputsAreReadAsStrictlyAsBodies: RFC 8259 has one value and nothing behind it.
func TestReferredInputsAreReadAsStrictlyAsBodies(t *testing.T) {
	t.Parallel()
	d := of(map[string]ogcapi.ProcessInput{"x": {Schema: json.RawMessage(`{}`), MaxOccurs: 1}})
	for _, x := range []struct{ name, content, want string }{
		{"a value with blanks", " [1]\n", ""},
		{"null", "null", ""},
		{"a number of many digits", "12345678901234567890.5", ""},
		{"nothing", "", "/inputs/x/href: what is there is no JSON"},
		{"two values", "[1] [2]", "/inputs/x/href: what is there is no JSON"},
		{"a page behind it", "[1]<html>", "/inputs/x/href: what is there is no JSON"},
		{"cut short", "[1,", "/inputs/x/href: what is there is no JSON"},
		{"Latin-1", "\"\xe6\"", "/inputs/x/href: what is there is no JSON"},
		{"a member twice", `{"a":{"b":1,"b":2}}`, "/inputs/x/href: what is there has a member twice"},
	} {
		r, err := process.Read([]byte(`{"inputs":{"x":{"href":"https://example.com/x"}}}`), nothing{}, d)
		if err != nil {
			t.Fatal(err)
		}
		env := &process.Env{Open: func(context.Context, string) (io.ReadCloser, string, error) {
			return io.NopCloser(strings.NewReader(x.content)), "text/html", nil
		}}
		err = r.Resolve(t.Context(), env, d)
		if got := faults(err); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
		if b, _ := json.Marshal(r.Inputs["x"]); err == nil && string(b) != strings.TrimSpace(x.content) {
			t.Errorf("%s: %s", x.name, b)
		}
	}
}

// TestReferencesAmongSeveralValuesAreEachRead, in their order; all are closed, and the faults of all are reported.
func TestReferencesAmongSeveralValuesAreEachRead(t *testing.T) {
	t.Parallel()
	d := of(map[string]ogcapi.ProcessInput{
		"x": {Schema: json.RawMessage(`{"type":"number"}`), MinOccurs: 1, MaxOccurs: 40}})
	refs := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"href":"https://example.com/%d"}`, i))
		}
		return strings.Join(list, ",")
	}
	open, closed := 0, 0
	env := &process.Env{Open: func(_ context.Context, href string) (io.ReadCloser, string, error) {
		open++
		number := strings.TrimPrefix(href, "https://example.com/")
		return closer{strings.NewReader(number), &closed}, "", nil
	}}
	r, err := process.Read([]byte(`{"inputs":{"x":[`+refs(3)+`,7,{"value":8}]}}`), nothing{}, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Resolve(t.Context(), env, d); err != nil {
		t.Fatal(err)
	}
	if b, _ := json.Marshal(r.Inputs["x"]); string(b) != "[0,1,2,7,8]" || open != 3 || closed != 3 {
		t.Errorf("%s; %d opened, %d closed", b, open, closed)
	}
	env.Open = func(context.Context, string) (io.ReadCloser, string, error) {
		return closer{strings.NewReader(`"x"`), &closed}, "", nil
	}
	if r, err = process.Read([]byte(`{"inputs":{"x":[1,`+refs(39)+`]}}`), nothing{}, d); err != nil {
		t.Fatal(err)
	}
	e := problem.Of(r.Resolve(t.Context(), env, d))
	if len(e.Faults) != 20 || e.Faults[0].Param != "/inputs/x/1" || closed != 3+39 {
		t.Errorf("%d faults, the first %+v; %d closed", len(e.Faults), e.Faults[0], closed)
	}
	if r, err = process.Read([]byte(`{"inputs":{"x":[`+refs(1)+`]}}`), nothing{}, d); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	env.Open = func(context.Context, string) (io.ReadCloser, string, error) { return nil, "", gone }
	if err := r.Resolve(t.Context(), env, d); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

type closer struct {
	io.Reader
	closed *int
}

func (c closer) Close() error { *c.closed++; return nil }

// TestSchemasOfDescriptionsAreValid: each default fits its own schema, each example its process, and a missing
// required input is a fault.
func TestSchemasOfDescriptionsAreValid(t *testing.T) {
	t.Parallel()
	cat := island().Catalog()
	for _, p := range process.NewRegistry(process.Standard()...).All() {
		for _, lang := range []string{"nb", "nn", "en", "de", ""} {
			d := p.Describe(cat, lang)
			if lang == "de" && d.Title != p.Describe(cat, "en").Title {
				t.Errorf("%s: title %q in a language that it lacks", p.ID(), d.Title)
			}
			for i, in := range d.Inputs {
				if slices.ContainsFunc(d.Inputs[:i], func(x ogcapi.ProcessInput) bool { return x.ID == in.ID }) {
					t.Errorf("%s: two inputs %s", p.ID(), in.ID)
				}
				if in.MaxOccurs < 1 || in.MinOccurs > in.MaxOccurs {
					t.Errorf("%s: %s occurs from %d to %d times", p.ID(), in.ID, in.MinOccurs, in.MaxOccurs)
				}
				b, err := json.Marshal(in.Schema)
				if err != nil {
					t.Fatal(err)
				}
				var schema struct{ Default json.RawMessage }
				if err := json.Unmarshal(b, &schema); err != nil || schema.Default == nil {
					continue
				}
				one := of(map[string]ogcapi.ProcessInput{in.ID: in})
				if _, err := process.Read(fmt.Appendf(nil, `{"inputs":{%q:%s}}`, in.ID, schema.Default), p,
					one); err != nil {
					t.Errorf("%s: default of %s: %v", p.ID(), in.ID, err)
				}
			}
			example, err := json.Marshal(d.Example)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := process.Read(example, p, d); err != nil {
				t.Errorf("%s: its example %s: %v", p.ID(), example, err)
			}
			_, err = process.Read([]byte(`{}`), p, d)
			var asked []string
			if err != nil {
				for _, f := range problem.Of(err).Faults {
					asked = append(asked, strings.TrimPrefix(f.Param, "/inputs/"))
				}
			}
			var required []string
			for _, in := range d.Inputs {
				if in.MinOccurs > 0 {
					required = append(required, in.ID)
				}
			}
			if !slices.Equal(asked, required) {
				t.Errorf("%s asks for %v of %v", p.ID(), asked, required)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{}`, `{"inputs":{"string":"x","number":1e5}}`, `{"inputs":{"array":[1,{"value":2}]}}`,
		`{"inputs":{"bbox":{"value":{"bbox":[1,2,3,4]}}},"outputs":{"bbox":{"transmissionMode":"reference"}}}`,
		`{"inputs":{"object":{"href":"x:y","type":"a/b"}},"response":"document"}`,
		`{"outputs":{"string":{"format":1}}}`,
		`{"inputs":{"pause":60.0000000001}}`, `null`, `{"inputs":{"string":"\ud800"}}`} {
		f.Add([]byte(s))
	}
	p, ok := process.NewRegistry(process.Standard()...).Find("echo")
	if !ok {
		f.Fatal("there is no echo")
	}
	d := p.Describe(municipalities().Catalog(), "en")
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := process.Read(body, p, d)
		if err != nil {
			if e := problem.Of(err); e.Kind != problem.Invalid || len(e.Faults) == 0 || len(e.Faults) > 20 {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		b, err := json.Marshal(r.Inputs)
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		for name := range r.Inputs {
			if _, ok := d.Inputs.Find(name); !ok {
				t.Errorf("%q: input %s", body, name)
			}
		}
		for _, v := range r.Inputs {
			if _, ref := v.(process.Ref); ref {
				return
			}
		}
		again, err := process.Read(fmt.Appendf(nil, `{"inputs":%s}`, b), p, d)
		if err != nil {
			t.Fatalf("%q: its inputs %s: %v", body, b, err)
		}
		if c, _ := json.Marshal(again.Inputs); string(c) != string(b) {
			t.Errorf("%q: %s, again %s", body, b, c)
		}
	})
}
