package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"grense/internal/config"
	"grense/internal/format"
	"grense/openapi"
)

// registerDecoders registers media types that kin-openapi does not know.
var registerDecoders = sync.OnceFunc(func() {
	for _, m := range []string{"application/ld+json", "application/schema+json", "application/vnd.oai.openapi+json",
		"application/geo+json", "application/cql2+json", "application/vnd.mapbox.tile+json",
		"application/vnd.mapbox.style+json", "application/feed+json"} {
		openapi3filter.RegisterBodyDecoder(m, openapi3filter.JSONBodyDecoder)
	}
	text := func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
		b, err := io.ReadAll(body)
		return string(b), err
	}
	for _, m := range []string{"text/html", "text/csv", "application/vnd.oai.openapi", "application/xml",
		"application/atom+xml", "application/vnd.mapbox-vector-tile", "image/png", "image/jpeg", "image/svg+xml"} {
		openapi3filter.RegisterBodyDecoder(m, text)
	}
	for _, f := range format.All() { // files are read back elsewhere
		if m := strings.Split(f.Media, ";")[0]; m != "application/geo+json" && m != "text/csv" {
			openapi3filter.RegisterBodyDecoder(m, text)
		}
	}
})

// TestEveryOperationAnswersAsDefined sends requests to every operation of the API definition, in every
// representation, valid and invalid. Requests and responses must match the definition. At one mount it has a key for
// all data; at the other mount, without a key, it reads the demo.
func TestEveryOperationAnswersAsDefined(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	t.Parallel()
	registerDecoders()
	for name, source := range map[string]string{"demo": "", "kartverket": "norway/kartverket-fylker-25833.gpkg",
		"null": "awkward/gpkg-ets/null_geometry.gpkg", "ne110m": "cql2/ne110m4cql2.gpkg"} {
		t.Run(name, func(t *testing.T) {
			if source != "" {
				source = shared(t, source)
			}
			t.Parallel()
			a := serve(t, source, func(c *config.Config) { c.Auth = "required" })
			a.drive(t, "", []string{a.key})
			if source == "" { // the effect of mount and key does not depend on the data
				a.drive(t, "/v1", []string{a.key, ""})
			}
		})
	}
}

func (a *api) drive(t *testing.T, mount string, keys []string) {
	doc, err := openapi.Load(t.Context(), a.get(mount+"/openapi").wants(200).Body)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for path, item := range doc.Paths.Map() {
		if item.Get == nil { // see the tests of executions and jobs
			continue
		}
		p := mount + path
		for name, value := range map[string]string{"{tileMatrixSetId}": "WebMercatorQuad", "{processId}": "echo",
			"{jobId}": "0123456789abcdef", "{outputId}": "string", "{tileMatrix}": "3", "{tileRow}": "2",
			"{tileCol}": "4"} {
			p = strings.ReplaceAll(p, name, value)
		}
		if strings.Contains(p, "{featureId}") {
			page := a.get(strings.TrimSuffix(p, "/{featureId}")+"?limit=1", "X-API-Key", a.key).wants(200).page()
			if len(page.Features) == 0 {
				continue
			}
			p = strings.ReplaceAll(p, "{featureId}", escape(page.Features[0].ID))
		}
		queries := []string{"", "unknown=1", "lang=en"}
		for _, ref := range item.Get.Parameters {
			pr := ref.Value
			if pr.In != "query" {
				continue
			}
			if pr.Name == "f" {
				for _, v := range pr.Schema.Value.Enum {
					queries = append(queries, "f="+v.(string))
				}
			}
			if v, ok := map[string]string{"limit": "3", "offset": "1", "bbox": "0,0,20,80",
				"datetime": "2020-01-01T00:00:00Z"}[pr.Name]; ok {
				queries = append(queries, pr.Name+"="+v, pr.Name+"=x")
			}
		}
		for _, q := range queries {
			for _, key := range keys {
				n++
				a.check(t, rt, p+"?"+q, key)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d requests", n)
	}
}

// TestDefinitionSuitsGeneratorsOfClients avoids the constructs that validators, linters and generators fail on.
func TestDefinitionSuitsGeneratorsOfClients(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"open", "required"} {
		a := serveHistory(t, func(c *config.Config) { c.Auth = auth }) // which has collections without geometry
		var doc struct {
			Tags  []struct{ Name, Description string }
			Info  struct{ License struct{ Name string } }
			Paths map[string]map[string]struct {
				OperationID string
				Description string
				Security    *[]map[string][]string
				Parameters  []struct {
					Ref  string `json:"$ref"`
					Name string
				}
			}
			Components struct {
				Schemas    map[string]any
				Responses  map[string]any
				Parameters map[string]struct{ Name string }
			}
		}
		body := a.get("/openapi").wants(http.StatusOK).Body
		if err := json.Unmarshal(body, &doc); err != nil {
			t.Fatal(err)
		}
		for _, tag := range doc.Tags {
			if tag.Description == "" {
				t.Errorf("the tag %s has no description", tag.Name)
			}
		}
		if doc.Info.License.Name != "CC-BY-4.0" {
			t.Errorf("the licence is %q", doc.Info.License.Name)
		}
		if doc.Components.Schemas["schema"] != nil {
			t.Error("a component named schema is a class that hides another one in Java")
		}
		kinds := map[string]string{}
		for kind, names := range map[string]iter.Seq[string]{"parameter": maps.Keys(doc.Components.Parameters),
			"response": maps.Keys(doc.Components.Responses), "schema": maps.Keys(doc.Components.Schemas)} {
			for name := range names {
				if other := kinds[strings.ToLower(name)]; other != "" {
					t.Errorf("a %s and a %s are called %s, which is one type in a Go client", kind, other, name)
				}
				kinds[strings.ToLower(name)] = kind
			}
		}
		schemas := map[string]map[string]any{}
		for name, schema := range doc.Components.Schemas {
			schemas[strings.ToLower(name)], _ = schema.(map[string]any)
		}
		for path, item := range doc.Paths {
			for method, op := range item {
				schema := schemas[strings.ToLower(op.OperationID)]
				if props, _ := schema["properties"].(map[string]any); props["response"] != nil {
					t.Errorf("%s %s: the answer of %s and the member response of a schema are one type in a Go client",
						method, path, op.OperationID)
				}
				if keyed := (strings.Contains(path, "/items") || strings.HasSuffix(path, "/download") ||
					strings.HasSuffix(path, "{tileCol}") || strings.HasSuffix(path, "/map") || path == "/lookup" ||
					path == "/search" || path == "/enrich" || path == "/harmonise" ||
					strings.HasPrefix(path, "/changes") || strings.HasSuffix(path, "/execution") ||
					strings.HasPrefix(path, "/jobs")) && auth == "required"; op.Description == "" ||
					op.Security == nil || keyed != (len(*op.Security) > 0) {
					t.Errorf("%s %s: description %q, security %v", method, path, op.Description, op.Security)
				}
				seen := map[string]string{}
				for _, p := range op.Parameters {
					if p.Ref != "" {
						p.Name = doc.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")].Name
					}
					folded := strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(p.Name))
					if other, ok := seen[folded]; ok {
						t.Errorf("%s %s: the parameters %s and %s are one name in a programming language", method, path,
							other, p.Name)
					}
					seen[folded] = p.Name
				}
			}
		}
		var all any
		if err := json.Unmarshal(body, &all); err != nil {
			t.Fatal(err)
		}
		eachObject(all, "", func(at string, o map[string]any) {
			if list, ok := o["required"].([]any); ok && len(list) == 0 {
				t.Errorf("%s: required is empty", at)
			}
			if _, typed := o["type"].(string); o["nullable"] == true && !typed {
				t.Errorf("%s: nullable stands without a type", at)
			}
			if list, ok := o["enum"].([]any); ok && len(list) == 1 && list[0] == nil {
				t.Errorf("%s: an enum of null alone", at)
			}
			if o["enum"] != nil && o["format"] != nil {
				t.Errorf("%s: an enum of the format %v, of which generators make constants that do not compile", at,
					o["format"])
			}
			if list, ok := o["anyOf"].([]any); ok && len(list) > 0 {
				if _, isRef := list[0].(map[string]any)["$ref"]; isRef {
					t.Errorf("%s: anyOf of objects; use oneOf with a discriminator, which tells them apart", at)
				}
			}
		})
	}
}

// eachObject visits the objects of a JSON document with their places in it.
func eachObject(x any, at string, fn func(string, map[string]any)) {
	switch x := x.(type) {
	case map[string]any:
		fn(at, x)
		for k, v := range x {
			eachObject(v, at+"/"+k, fn)
		}
	case []any:
		for _, v := range x {
			eachObject(v, at+"/-", fn)
		}
	}
}

// finder is the router of an API definition.
type finder interface {
	FindRoute(*http.Request) (*routers.Route, map[string]string, error)
}

// check sends one request and validates both sides.
func (a *api) check(t *testing.T, rt finder, path, key string) {
	req, err := http.NewRequestWithContext(t.Context(), "GET", a.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	route, params, err := rt.FindRoute(req)
	if err != nil {
		t.Fatalf("%s is not in the definition: %v", path, err)
	}
	in := &openapi3filter.RequestValidationInput{Request: req, Route: route, PathParams: params,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus: true}}
	res := a.get(path, "X-API-Key", key)
	if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil && res.StatusCode == 200 {
		t.Errorf("%s: the definition refuses it and the server does not: %v", path, err)
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode,
		Header: res.Header, Options: in.Options}
	out.SetBodyBytes(res.Body)
	if err := openapi3filter.ValidateResponse(t.Context(), out); err != nil {
		t.Errorf("%s: %d %s: %.500v", path, res.StatusCode, res.Header.Get("Content-Type"), err)
	}
	if res.StatusCode >= 500 {
		t.Errorf("%s: %d %s", path, res.StatusCode, res.Body)
	}
}

func TestDefinitionIsSelfContainedAndHasWhatClientsNeed(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	b := a.get("/v1/openapi").wants(200).Body
	var doc map[string]any
	decode(t, b, &doc)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if r, ok := v["$ref"].(string); ok && !strings.HasPrefix(r, "#/components/") {
				t.Errorf("reference %s leads out", r)
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(doc)
	parameters := doc["components"].(map[string]any)["parameters"].(map[string]any)
	limit := parameters["limit"].(map[string]any)["schema"].(map[string]any)
	if limit["default"] != 100.0 || limit["maximum"] != 10000.0 {
		t.Errorf("limit is %v", limit)
	}
	if !bytes.Contains(b, []byte(`"url":"`+a.URL+`/v1"`)) {
		t.Error("the server of /v1 is missing")
	}
	get := doc["paths"].(map[string]any)["/collections/kommuner/items"].(map[string]any)["get"].(map[string]any)
	names := map[string]bool{}
	for _, p := range get["parameters"].([]any) {
		b, _ := json.Marshal(p)
		for _, n := range []string{"limit", "bbox", "datetime", "q", "filter", "filter-lang", "filter-crs",
			"properties", "skipGeometry", "resulttype", "nr", "navn", "fylke_nr", "areal_km2", "sortby", "crs",
			"bbox-crs", "offset", "lang"} {
			if bytes.Contains(b, []byte(`"name":"`+n+`"`)) || bytes.Contains(b, []byte(`parameters/`+n+`"`)) {
				names[n] = true
			}
		}
	}
	if len(names) != 19 {
		t.Errorf("parameters of items: %v", names)
	}
}
