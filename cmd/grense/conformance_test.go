package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// standards are the titles of the standards in addresses of conformance classes, in the order of the page.
var standards = []struct{ id, title string }{
	{"ogcapi-common-1", "OGC API - Common - Part 1: Core"},
	{"ogcapi-common-2", "OGC API - Common - Part 2: Geospatial Data"},
	{"ogcapi-common-3", "OGC API - Common - Part 3: Schemas"},
	{"ogcapi-features-1", "OGC API - Features - Part 1: Core"},
	{"ogcapi-features-2", "OGC API - Features - Part 2: Coordinate Reference Systems by Reference"},
	{"ogcapi-features-3", "OGC API - Features - Part 3: Filtering"},
	{"ogcapi-features-5", "OGC API - Features - Part 5: Schemas"},
	{"ogcapi-features-6", "OGC API - Features - Part 6: Property Selection (draft)"},
	{"ogcapi-features-7", "OGC API - Features - Part 7: Geometry Simplification (draft)"},
	{"ogcapi-features-8", "OGC API - Features - Part 8: Sorting (draft)"},
	{"ogcapi-features-9", "OGC API - Features - Part 9: Text Search (draft)"},
	{"cql2", "Common Query Language (CQL2)"},
	{"json-fg-1", "Features and Geometries JSON (JSON-FG)"},
	{"ogcapi-tiles-1", "OGC API - Tiles - Part 1: Core"},
	{"ogcapi-maps-1", "OGC API - Maps - Part 1: Core"},
	{"ogcapi-styles-1", "OGC API - Styles - Part 1: Core (draft)"},
	{"tms", "Two Dimensional Tile Matrix Set and Tile Set Metadata"},
	{"ogcapi-processes-1", "OGC API - Processes - Part 1: Core"},
}

// TestConformancePageIsCurrent builds docs/reference/conformance.md from what a server declares,
// which is the route table.
func TestConformancePageIsCurrent(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "--history", "norway")
	status, body := s.get(t, "/conformance?f=json", "")
	var doc struct {
		ConformsTo []string `json:"conformsTo"`
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	classes := map[string][]string{}
	address := regexp.MustCompile(`^https?://www\.opengis\.net/spec/([^/]+)/([^/]+)/conf/(.+)$`)
	version := map[string]string{}
	for _, c := range doc.ConformsTo {
		m := address.FindStringSubmatch(c)
		if m == nil {
			t.Errorf("%s is not the address of a class", c)
			continue
		}
		version[m[1]] = m[2]
		if class := "`" + m[3] + "`"; !slices.Contains(classes[m[1]], class) {
			classes[m[1]] = append(classes[m[1]], class)
		}
	}
	var b strings.Builder
	b.WriteString("# Conformance\n\n<!-- Generated from /conformance: go test ./cmd/grense -run PageIsCurrent " +
		"-update -->\n\n" +
		"These are the classes of a server with the built-in demo and its history. Each route declares its classes, " +
		"so `/conformance`\n" +
		"of your server lists only what your data support.\n\n" +
		"```sh\ncurl 'http://localhost:8080/conformance?f=json'\n```\n\n| Standard | Version | Classes " +
		"|\n|---|---|---|\n")
	for _, s := range standards {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.title, version[s.id], strings.Join(classes[s.id], ", "))
		delete(classes, s.id)
	}
	for id := range classes {
		t.Errorf("standards has no title for %s", id)
	}
	pageIsCurrent(t, "reference/conformance.md", b.String())
}
