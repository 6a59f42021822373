// Package formattest has helpers for tests of several formats: the official JSON Schemas of JSON-FG 1.0 (OGC 21-045r1),
// published under the Apache licence in jsonfg/LICENSE.
package formattest

import (
	"embed"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed jsonfg/*.json
var schemas embed.FS

// JSONFG returns the schema of a root object of JSON-FG.
func JSONFG(t testing.TB) *jsonschema.Schema {
	t.Helper()
	const at = "https://schemas.opengis.net/json-fg/"
	c := jsonschema.NewCompiler()
	files, err := schemas.ReadDir("jsonfg")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		in, err := schemas.Open("jsonfg/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(in)
		in.Close()
		if err == nil {
			err = c.AddResource(at+f.Name(), doc)
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
	}
	s, err := c.Compile(at + "jsonfg-root-object.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
