package compat_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

type definition struct {
	OpenAPI string
	Servers []struct{ URL string }
	Paths   map[string]struct {
		Get struct {
			OperationID string
			Parameters  []struct {
				Name, In string
				Required bool
			}
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
	}
	Components struct{ Schemas map[string]any }
}

// TestAnswersAreAsTheDefinitionSays asks each path and compares the answer with its schema, member by member.
func TestAnswersAreAsTheDefinitionSays(t *testing.T) {
	t.Parallel()
	c := serve(t, openDemo(t), nil)
	values := map[string]string{"{fylkesnummer}": "03", "{kommunenummer}": "0301"}
	queries := map[string]string{"/punkt": "?nord=59.91&ost=10.75&koordsys=4258&radius=5000", "/sok": "?knavn=oslo",
		"/navn": "?sok=oslo", "/sted": "?sok=oslo"}
	for service, n := range map[string]int{"/kommuneinfo/v1": 9, "/stedsnavn/v1": 5} {
		var d definition
		if err := json.Unmarshal(c.get(service+"/openapi.json", http.StatusOK), &d); err != nil {
			t.Fatal(err)
		}
		if d.OpenAPI != "3.0.3" || d.Servers[0].URL != c.url+service || len(d.Paths) != n {
			t.Errorf("%s: %s, %v, %d paths", service, d.OpenAPI, d.Servers, len(d.Paths))
		}
		for path, x := range d.Paths {
			at := path
			for name, v := range values {
				at = strings.ReplaceAll(at, name, v)
			}
			var answer any
			if err := json.Unmarshal(c.get(service+at+queries[path], http.StatusOK), &answer); err != nil {
				t.Fatal(err)
			}
			schema := x.Get.Responses["200"].Content["application/json"].Schema
			if wrong := differs(answer, schema, d.Components.Schemas); wrong != "" {
				t.Errorf("%s%s: %s", service, path, wrong)
			}
			if strings.Count(path, "{") != len(slices.DeleteFunc(x.Get.Parameters, func(p struct {
				Name, In string
				Required bool
			}) bool {
				return p.In != "path" || !p.Required
			})) {
				t.Errorf("%s%s: variables that no parameter describes", service, path)
			}
		}
	}
}

// differs says where a value differs from its schema; "" for nowhere.
func differs(v any, schema map[string]any, all map[string]any) string {
	if ref, ok := schema["$ref"].(string); ok {
		named, ok := all[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
		if !ok {
			return ref + " does not exist"
		}
		return differs(v, named, all)
	}
	switch x := v.(type) {
	case nil:
		if schema["nullable"] != true {
			return "null"
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		if a, b := slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(properties)); !slices.Equal(a, b) {
			return fmt.Sprintf("has %v, not %v", a, b)
		}
		for name, inner := range x {
			if wrong := differs(inner, properties[name].(map[string]any), all); wrong != "" {
				return name + ": " + wrong
			}
		}
	case []any:
		items, ok := schema["items"].(map[string]any)
		if !ok {
			return "is a list"
		}
		for _, inner := range x {
			if wrong := differs(inner, items, all); wrong != "" {
				return wrong
			}
		}
	case float64:
		if schema["type"] != "number" && schema["type"] != "integer" {
			return fmt.Sprint("a number, not ", schema["type"])
		}
	case string:
		if schema["type"] != "string" {
			return fmt.Sprint("a text, not ", schema["type"])
		}
	case bool:
		if schema["type"] != "boolean" {
			return fmt.Sprint("a truth, not ", schema["type"])
		}
	}
	return ""
}

func TestPagesHaveAForm(t *testing.T) {
	t.Parallel()
	c := serve(t, openDemo(t), nil)
	for path, want := range map[string]string{"/kommuneinfo/v1": `name="knavn"`, "/stedsnavn/v1": `name="sok"`} {
		for _, lang := range []string{"nb", "nn", "en"} {
			body := string(c.get(path+"?lang="+lang, http.StatusOK, "Accept", "text/html"))
			for _, part := range []string{want, "<form", path + "/openapi.json", "<code>" + path + "/punkt</code>"} {
				if !strings.Contains(body, part) {
					t.Errorf("%s in %s lacks %s", path, lang, part)
				}
			}
		}
		if doc := string(c.get(path+"?f=json", http.StatusOK)); !strings.Contains(doc, `"openapi":"`+c.url+path) {
			t.Errorf("%s: %s", path, doc)
		}
	}
}
