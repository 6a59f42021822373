package server_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// TestAPIDefinitionOfManyCollections: the definition has one templated path for all collections, is below 2 MB, and
// is written fast in YAML, too.
func TestAPIDefinitionOfManyCollections(t *testing.T) {
	t.Parallel()
	for _, n := range []int{60, 5000} {
		a := serveStore(t, withCollections(demoStore(t), n), nil)
		start := time.Now()
		for _, f := range []string{"json", "yaml", "html"} {
			if size := len(a.get("/openapi?f="+f, "Accept-Encoding", "identity").wants(200).Body); size > 2<<20 {
				t.Errorf("%d collections: %d bytes of %s", n, size, f)
			}
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%d collections took %v", n, took)
		}
		doc := a.get("/openapi?f=json").wants(200).json()
		paths := doc["paths"].(map[string]any)
		if paths["/collections/{collectionId}/items"] == nil || paths["/collections/lag_0001/items"] != nil {
			t.Errorf("%d collections: the paths are not templated", n)
		}
		parameters := doc["components"].(map[string]any)["parameters"].(map[string]any)
		ids := parameters["collectionId"].(map[string]any)["schema"].(map[string]any)
		enum, _ := ids["enum"].([]any)
		if n == 60 && !slices.Contains(enum, any("lag_0001")) || n == 5000 && ids["pattern"] == nil {
			t.Errorf("%d collections: ids %.300v", n, ids)
		}
	}
}

// TestAPIDefinitionAsYAML: the YAML has the content of the JSON.
func TestAPIDefinitionAsYAML(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	text, err := yaml.YAMLToJSON([]byte(a.get("/openapi?f=yaml").wants(200).plain()))
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if want := any(a.get("/openapi?f=json").wants(200).json()); !reflect.DeepEqual(got, want) {
		t.Errorf("YAML says something else")
	}
}
