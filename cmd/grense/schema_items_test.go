package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"grense/internal/ingest"
)

// mostValidated is how many features of a collection are held against its schema.
const mostValidated = 5000

// TestItemsAreValidByTheirSchemas holds features against /schema of their collection: the properties and the geometry
// of each are what it describes (OGC 23-058r2, returnables), null included.
// make accept takes every file of the shared data.
func TestItemsAreValidByTheirSchemas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	files := []string{"", "norway/kartverket-fylker-25833.gpkg", "awkward/gpkg-ets/null_geometry.gpkg",
		"cql2/ne110m4cql2.gpkg", "norway/robhop-2020/Fylker-small.geojson.gz", "placenames/n1000-stedsnavn.csv"}
	if os.Getenv("GRENSE_ACCEPT") != "" {
		files = everyFile(t)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			var args []string
			if file != "" {
				args = []string{sharedPath(t, "data", file)}
				if !exists(args[0]) {
					t.Skipf("shared test data are absent: %s", args[0])
				}
			}
			s := serve(t, []string{"GRENSE_AUTH=open"}, args...)
			n := 0
			for _, id := range s.collections(t) {
				n += s.validate(t, id)
			}
			t.Logf("%d features", n)
		})
	}
}

// notServed are files that serve refuses without a flag, by the reason, and one that takes a
// validator of schemas minutes.
var notServed = map[string]string{
	"artsdatabanken-fylke_5k.geojson.gz": "features without an id beside others with one",
	"csmaps-Fylker17.geojson.gz":         "metres in a file that says degrees",
	"Kommuner-S.topojson.gz":             "a TopoJSON that states no reference system",
	"tellekrets.json":                    "a schema, no data",
	"ne_10m_ocean.geojson.gz":            "one geometry of 450,000 positions",
}

// everyFile are those of the shared data that can be served.
func everyFile(t *testing.T) []string {
	t.Helper()
	files := []string{""}
	root := sharedPath(t, "data")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		folder, _, _ := strings.Cut(rel, string(filepath.Separator))
		// other tables may be no features
		features := strings.HasSuffix(path, ".gpkg") || ingest.IsData(path) && strings.Contains(path, "json")
		if err == nil && !d.IsDir() && features && notServed[filepath.Base(path)] == "" &&
			slices.Contains([]string{"norway", "france", "world", "placenames"}, folder) {
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// validate holds the features of a collection against its schema, and returns how many.
func (s *serving) validate(t *testing.T, id string) (n int) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.body(t, "/collections/"+id+"/schema")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	geometry, member := "", false // member: the property of the role id is the member id
	for name, p := range doc.(map[string]any)["properties"].(map[string]any) {
		if p.(map[string]any)["x-ogc-role"] == "primary-geometry" {
			geometry = name
		}
		member = member || name == "id" && p.(map[string]any)["x-ogc-role"] == "id"
	}
	for next := "/collections/" + id + "/items?limit=500"; next != "" && n < mostValidated; {
		var page struct {
			Features []struct {
				ID         any
				Geometry   any
				Properties map[string]any
			}
			Links []struct{ Rel, Href string }
		}
		d := json.NewDecoder(bytes.NewReader(s.body(t, next)))
		d.UseNumber()
		if err := d.Decode(&page); err != nil {
			t.Fatalf("%s: %v", next, err)
		}
		for _, f := range page.Features {
			if n++; geometry != "" {
				f.Properties[geometry] = f.Geometry
			}
			if _, ok := f.Properties["id"]; !ok && member {
				f.Properties["id"] = f.ID
			}
			if err := schema.Validate(f.Properties); err != nil {
				t.Errorf("%s, feature %v: %v", id, f.ID, err)
				return n
			}
		}
		next = ""
		for _, l := range page.Links {
			if l.Rel == "next" {
				next = strings.TrimPrefix(l.Href, s.base)
			}
		}
	}
	return n
}

// body is what a path answers with 200.
func (s *serving) body(t testing.TB, path string) []byte {
	t.Helper()
	var raw json.RawMessage
	s.getJSON(t, path, &raw)
	return raw
}
