package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"grense/openapi"
)

// variables are sample values of the path variables, for a register made by Generate. A new variable needs one.
var variables = map[string]string{"styleId": "divisions", "collectionId": "sted", "featureId": "2",
	"tileMatrixSetId": "WebMercatorQuad", "processId": "echo", "codeListId": "spraak",
	"outputId": "object"}

var variable = regexp.MustCompile(`\{(\w+)\}`)

// TestEveryJSONAnswerIsOfTheSchemaThatItsRouteDeclares requests each route of the API definition in each of its JSON
// representations. The response must be valid by the declared schema. The same definition with a string schema in its
// place must refuse the response.
func TestEveryJSONAnswerIsOfTheSchemaThatItsRouteDeclares(t *testing.T) {
	registerDecoders()
	path, err := registerFile()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	routes, bare := a.srv.JSONRoutes()
	if bare != nil {
		t.Fatalf("routes without the schema of their JSON answer: %q", bare)
	}
	job := a.send("/processes/echo/execution", `{"inputs":{"object":{}},"outputs":{"object":{}}}`, "Prefer",
		"respond-async").wants(201).Header.Get("Location")
	a.until(job, "successful")
	right, wrong := a.definition(t), a.wrongDefinition(t)
	if len(routes) < 15 {
		t.Errorf("only %d routes", len(routes))
	}
	h := serveHistory(t, nil)
	pastRight, pastWrong := h.definition(t), h.wrongDefinition(t)
	for _, rt := range routes {
		a, right, wrong, variables := a, right, wrong, variables
		if rt.Path == "/codes" || strings.HasPrefix(rt.Path, "/codes/") || strings.HasSuffix(rt.Path, "/lineage") {
			a, right, wrong = h, pastRight, pastWrong
			variables = map[string]string{"collectionId": "kommuner", "featureId": "1580", "schemeId": "kommune",
				"code": "0712"}
		}
		if strings.HasSuffix(rt.Path, "/versions") {
			a, right, wrong = h, pastRight, pastWrong
			variables = map[string]string{"collectionId": "divisions_versions", "featureId": "kommune-0301-18380101"}
		}
		path := variable.ReplaceAllStringFunc(rt.Path, func(v string) string {
			value := variables[strings.Trim(v, "{}")]
			if v == "{jobId}" {
				value = job[strings.LastIndex(job, "/")+1:]
			}
			if value == "" {
				t.Fatalf("%s: give a value for %s in the table of this test", rt.Path, v)
			}
			return value
		})
		if path == "" {
			path = "/"
		}
		if path == "/search" {
			rt.Formats = []string{"json&q=oslo", "json"}
		}
		if path == "/lookup" {
			rt.Formats = []string{"json&lon=10.75&lat=59.91", "json&lon=2&lat=61"}
		}
		for _, f := range rt.Formats {
			if err := a.validates(t, right, path+"?f="+f); err != nil {
				t.Errorf("%s?f=%s: %.500v", path, f, err)
			}
			if err := a.validates(t, wrong, path+"?f="+f); err == nil {
				t.Errorf("%s?f=%s is taken for a text", path, f)
			}
		}
	}
}

// wrongDefinition is the API definition with a string schema for every response.
func (a *api) wrongDefinition(t *testing.T) *openapi3.T {
	t.Helper()
	wrong := a.definition(t)
	for _, item := range wrong.Paths.Map() {
		if item.Get == nil {
			continue
		}
		for _, media := range item.Get.Responses.Value("200").Value.Content {
			media.Schema = openapi3.NewSchemaRef("", openapi3.NewStringSchema())
		}
	}
	return wrong
}

// definition reads and parses the current API definition.
func (a *api) definition(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi.Load(t.Context(), a.get("/openapi").wants(200).Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// validates checks the response to a GET, which must be 200, against a definition.
func (a *api) validates(t *testing.T, doc *openapi3.T, path string) error {
	t.Helper()
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	route, params, err := router.FindRoute(req)
	if err != nil {
		t.Fatalf("%s is not in the definition: %v", path, err)
	}
	res := a.get(path).wants(200)
	in := &openapi3filter.RequestValidationInput{Request: req, Route: route, PathParams: params,
		Options: &openapi3filter.Options{IncludeResponseStatus: true}}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode,
		Header: res.Header, Options: in.Options}
	return openapi3filter.ValidateResponse(t.Context(), out.SetBodyBytes(res.Body))
}
