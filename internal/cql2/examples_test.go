package cql2_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"grense/internal/cql2"
	"grense/internal/cql2/cql2test"
)

// jsonSchema compiles the JSON Schema of the standard.
func jsonSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open(shared(t, "cql2.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("cql2.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("cql2.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t testing.TB, s *jsonschema.Schema, doc []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s: %v", doc, err)
	}
}

func TestExamplesOfTheStandardRoundTrip(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	schema := jsonSchema(t)
	paths, err := filepath.Glob(filepath.Join(shared(t, "examples"), "text", "*.txt"))
	if err != nil || len(paths) != 120 {
		t.Fatalf("%d examples, want 120; %v", len(paths), err)
	}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		e, err := cql2.ParseText(string(src))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, doc := cql2.FormatText(e), cql2test.FormatJSON(e)
		validate(t, schema, doc)
		back, err := cql2.ParseJSON(doc)
		if err != nil {
			t.Errorf("%s: %s: %v", name, doc, err)
			continue
		}
		if !reflect.DeepEqual(bare(back), bare(e)) {
			t.Errorf("%s: by JSON %#v, want %#v", name, back, e)
		}
		again, err := cql2.ParseText(text)
		if err != nil || !reflect.DeepEqual(bare(again), bare(e)) {
			t.Errorf("%s: by text %s: %#v, want %#v; %v", name, text, again, e, err)
		}
		if s := cql2.FormatText(back); s != text {
			t.Errorf("%s: text %s, want %s", name, s, text)
		}
	}
}

func TestTextAndJSONExamplesAreTheSameTree(t *testing.T) {
	t.Parallel()
	schema := jsonSchema(t)
	dir := shared(t, "examples")
	paths, err := filepath.Glob(filepath.Join(dir, "json", "*.json"))
	if err != nil || len(paths) != 109 {
		t.Fatalf("%d examples, want 109; %v", len(paths), err)
	}
	for _, path := range paths {
		doc, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		want, err := cql2.ParseJSON(doc)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		validate(t, schema, cql2test.FormatJSON(want))
		texts, err := filepath.Glob(filepath.Join(dir, "text", name+"*.txt"))
		if err != nil || len(texts) == 0 {
			t.Fatalf("%s: no text; %v", name, err)
		}
		for _, p := range texts {
			src, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := cql2.ParseText(string(src))
			if err != nil {
				t.Errorf("%s: %v", p, err)
			} else if g, w := cql2.FormatText(got), cql2.FormatText(want); g != w {
				t.Errorf("%s:\n got %s\nwant %s", filepath.Base(p), g, w)
			}
		}
	}
}
