// Package openapi builds the API definition, an OpenAPI 3.0 document, from a description of the server's routes and
// from the fragments embedded here. The document is self-contained: it has no external references.
package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"grense/api/ogcapi"
)

//go:embed components.json
var components []byte

// Input describes a running service at one mount point.
type Input struct {
	BaseURL     string // absolute, without a final slash; the only server in the document
	Title       string
	Description string
	Version     string // of the program
	Contact     Contact
	Licence     Licence
	Terms       string // URL, or ""
	MapSide     int    // pixels of the longest side of a map
	Keyed       bool   // data require a key
	Tags        []Tag
	Operations  []Operation
	Collections []Collection
}

// Tag is a group of operations.
type Tag struct{ Name, Description string }

// Contact is the contact of the service; empty fields are omitted.
type Contact struct{ Name, URL, Email string }

// Licence is the licence of the data; omitted if Name is empty.
type Licence struct{ Name, URL string }

// Operation is a method of a path.
type Operation struct {
	Method      string // post, delete; "" is get
	Body        string // name of the schema of a JSON body; "" for none
	Path        string // below the base URL, with variables in braces
	ID          string // unique
	Kind        string // the same for all collections; not in the document
	Of          string // title of the collection; "" for none; not in the document
	Tag         string
	Summary     string
	Description string
	Keyed       bool // requires a key if data do
	Parameters  []Parameter
	Answers     []Answer // representations of the response 200
	Empty       bool     // may respond 204
	Lookup      bool     // responds 404 if the path names something that does not exist
	Resumes     bool     // supports the header Range for a version that may no longer exist: 206, 410, 412 and 416
	// there is also a POST with a CQL2 JSON filter as body instead of the parameters filter and filter-lang
	Asks bool
}

// Parameter is a parameter of an operation. Parameters with the same Shared name are one component.
type Parameter struct {
	Shared      string // name of the component; "" if it belongs to one operation
	Name        string
	In          string // "query" or "path"
	Description string
	Schema      map[string]any
	Explode     bool // each member is a parameter of its own
}

// Answer is a representation: its media type, and the name of its schema component; "" for any text.
type Answer struct {
	Media, Schema string
	Binary        bool // binary, without a schema
}

// Collection describes the features of one collection. Its schemas are named feature_ID and features_ID.
type Collection struct {
	ID       string
	Geometry bool // features have a geometry or null
	Schema   ogcapi.Schema
}

// SchemaOf returns the name of the schema of a page of features or, with one, of a feature.
func SchemaOf(collection string, one bool) string {
	if one {
		return "feature_" + collection
	}
	return "features_" + collection
}

// FileOf returns the name of the schema of a file with all features of a collection.
func FileOf(collection string) string { return "file_" + collection }

type m = map[string]any

// Build returns the document as JSON. It fails if a fragment is broken, or if two operations have the same id.
func Build(in Input) ([]byte, error) {
	var comp m
	if err := json.Unmarshal(components, &comp); err != nil {
		return nil, fmt.Errorf("openapi: components.json: %w", err)
	}
	schemas, params := comp["schemas"].(m), m{}
	comp["parameters"] = params
	for _, c := range in.Collections {
		schemas[SchemaOf(c.ID, true)] = featureSchema(c)
		schemas[SchemaOf(c.ID, false)] = pageSchema(c)
		schemas[FileOf(c.ID)] = fileSchema(c)
	}
	if !in.Keyed {
		delete(comp, "securitySchemes")
	}
	paths, seen := m{}, map[string]bool{}
	for _, op := range in.Operations {
		if seen[op.ID] {
			return nil, fmt.Errorf("openapi: operation %s stands twice", op.ID)
		}
		seen[op.ID] = true
		get, err := operation(op, in.Keyed, params)
		if err != nil {
			return nil, err
		}
		if paths[op.Path] == nil {
			paths[op.Path] = m{}
		}
		if op.Method != "" {
			paths[op.Path].(m)[op.Method] = changing(op, get)
			continue
		}
		paths[op.Path].(m)["get"] = get
		if op.Asks {
			paths[op.Path].(m)["post"] = post(op, get)
		}
	}
	info := m{"title": in.Title, "description": in.Description, "version": in.Version,
		"x-OGC-limits": m{"maps": m{"maxWidth": in.MapSide, "maxHeight": in.MapSide}}} // OGC 20-058, 8.4
	if c := filled(m{"name": in.Contact.Name, "url": in.Contact.URL, "email": in.Contact.Email}); len(c) > 0 {
		info["contact"] = c
	}
	if in.Licence.Name != "" {
		info["license"] = filled(m{"name": spdx(in.Licence), "url": in.Licence.URL})
	}
	if in.Terms != "" {
		info["termsOfService"] = in.Terms
	}
	var tags []any
	for _, t := range in.Tags {
		tags = append(tags, filled(m{"name": t.Name, "description": t.Description}))
	}
	return json.Marshal(
		m{
			"openapi":    "3.0.3",
			"info":       info,
			"servers":    []any{m{"url": in.BaseURL}},
			"tags":       tags,
			"paths":      paths,
			"components": comp,
		},
	)
}

// filled removes members that are "".
func filled(x m) m {
	maps.DeleteFunc(x, func(_ string, v any) bool { return v == "" })
	return x
}

func ref(kind, name string) m { return m{"$ref": "#/components/" + kind + "/" + name} }

func operation(op Operation, keyed bool, params m) (m, error) {
	list := []any{}
	for _, p := range op.Parameters {
		def := m{"name": p.Name, "in": p.In, "description": p.Description, "schema": p.Schema,
			"required": p.In == "path"}
		if p.In == "query" {
			def["style"], def["explode"] = "form", p.Explode
		}
		if p.Shared == "" {
			list = append(list, def)
			continue
		}
		if other, ok := params[p.Shared]; ok && !reflect.DeepEqual(other, def) {
			return nil, fmt.Errorf("openapi: several parameters are called %s; that of operation %s needs another name",
				p.Shared, op.ID)
		}
		params[p.Shared] = def
		list = append(list, ref("parameters", p.Shared))
	}
	content := m{}
	for _, a := range op.Answers {
		schema := m{"type": "string"}
		if a.Binary {
			schema["format"] = "binary"
		}
		if a.Schema != "" {
			schema = ref("schemas", a.Schema)
		}
		content[a.Media] = m{"schema": schema}
	}
	responses := m{
		"200": m{
			"description": "The resource",
			"headers":     m{"Link": ref("headers", "Link"), "ETag": ref("headers", "ETag")},
			"content":     content,
		},
		"304": ref("responses", "NotModified"),
		"400": ref("responses", "Invalid"),
		"406": ref("responses", "NotAcceptable"),
		"500": ref("responses", "Internal"),
	}
	if op.Empty {
		responses["204"] = m{"description": "There is nothing here"}
	}
	if op.Lookup {
		responses["404"] = ref("responses", "NotFound")
	}
	if op.Resumes {
		responses["206"] = m{"description": "The part that the header Range asks for",
			"headers": m{"ETag": ref("headers", "ETag")}, "content": content}
		responses["410"], responses["412"], responses["416"] = ref("responses", "Gone"),
			ref("responses", "Precondition"), ref("responses", "OutOfRange")
	}
	get := m{
		"operationId": op.ID,
		"summary":     op.Summary,
		"description": op.Description,
		"tags":        []any{op.Tag},
		"parameters":  list,
		"responses":   responses,
		"security":    []any{},
	}
	if op.Keyed {
		responses["429"], responses["503"] = ref("responses", "TooMany"), ref("responses", "Unavailable")
		maps.Copy(responses["200"].(m)["headers"].(m),
			m{"RateLimit": ref("headers", "RateLimit"), "RateLimit-Policy": ref("headers", "RateLimitPolicy")})
		if keyed {
			responses["401"] = ref("responses", "Unauthorized")
			get["security"] = []any{m{"ApiKeyHeader": []any{}}, m{"ApiKeyBearer": []any{}}, m{"ApiKeyBasic": []any{}}}
		}
	}
	if strings.Contains(op.Path, "{") != hasPathParam(op) {
		return nil, fmt.Errorf("openapi: operation %s and its path %s differ in their variables", op.ID, op.Path)
	}
	return get, nil
}

// post returns the description of a POST that does what a GET does, with the filter as its body.
func post(op Operation, get m) m {
	p, responses := maps.Clone(get), maps.Clone(get["responses"].(m))
	var list []any
	for i, x := range op.Parameters {
		if x.Name != "filter" && x.Name != "filter-lang" {
			list = append(list, get["parameters"].([]any)[i])
		}
	}
	delete(responses, "304")
	responses["413"], responses["415"] = ref("responses", "TooLarge"), ref("responses", "MediaType")
	body := m{"schema": ref("schemas", "cql2Expression")}
	p["operationId"], p["parameters"], p["responses"] = op.ID+"ByFilter", list, responses
	p["summary"] = op.Summary + ", by a filter in the body"
	p["description"] = op.Description + " The filter stands in the body, as CQL2 JSON, and may be long; " +
		"it changes nothing. Links in the answer repeat it in their address."
	p["requestBody"] = m{
		"description": "A filter in CQL2 JSON (OGC 21-065r2)",
		"required":    true,
		"content":     m{"application/json": body, "application/cql2+json": body},
	}
	return p
}

// changing converts the description of a GET to that of another method, with a body if it has one.
func changing(op Operation, get m) m {
	responses := get["responses"].(m)
	delete(responses, "304")
	delete(responses["200"].(m)["headers"].(m), "ETag")
	if op.Method == "post" && op.Body == "" { // a stream in and one of the same type out, or a form
		content := m{}
		for _, a := range op.Answers {
			content[a.Media] = m{"schema": m{"type": "string"}}
		}
		content["multipart/form-data"] = m{"schema": formSchema(op)}
		responses["413"] = ref("responses", "TooLarge")
		responses["415"] = ref("responses", "MediaType")
		get["requestBody"] = m{"required": true, "content": content}
		return get
	}
	if op.Body == "" {
		return get
	}
	responses["201"] = m{
		"description": "A job was made, as Prefer: respond-async asks",
		"content":     m{"application/json": m{"schema": ref("schemas", "statusInfo")}},
	}
	responses["200"].(m)["content"].(m)["*/*"] = m{"schema": m{"type": "string", "format": "binary"}}
	responses["204"] = m{"description": "No output is wanted by value; those by reference are in the header Link"}
	responses["413"], responses["415"] = ref("responses", "TooLarge"), ref("responses", "MediaType")
	get["requestBody"] = m{"required": true, "content": m{"application/json": m{"schema": ref("schemas", op.Body)}}}
	return get
}

// formSchema describes the form for a file: parameters may be fields, and the file is the last one. The description is
// prose, since generators of Java clients fail for the fields of one of several bodies.
func formSchema(op Operation) m {
	var names []string
	for _, p := range op.Parameters {
		if p.In == "query" && p.Name != "f" && p.Name != "lang" {
			names = append(names, p.Name)
		}
	}
	return m{"type": "object", "additionalProperties": true,
		"description": "A form whose last field, table, is the file with the table. Before it may come fields called " +
			"as parameters of the query are: " + strings.Join(names, ", ") + "."}
}

func hasPathParam(op Operation) bool {
	for _, p := range op.Parameters {
		if p.In == "path" {
			return true
		}
	}
	return false
}

// featureSchema describes a feature of a collection in GeoJSON (RFC 7946, 3.2). Every feature has all properties.
func featureSchema(c Collection) m {
	props, required := m{}, []any{}
	for _, p := range c.Schema.Properties {
		if p.Type == nil { // the geometry is not among the properties
			continue
		}
		s := filled(m{"type": p.Type.First(), "format": p.Format, "title": p.Title, "description": p.Description})
		s["nullable"] = true // has a meaning only together with a type
		if p.Type.First() == "array" {
			s["items"] = m{}
		}
		if p.Type.First() == "object" { // any JSON
			delete(s, "type")
			delete(s, "nullable")
		}
		if len(p.Enum) > 0 {
			s["enum"] = p.Enum
			if !slices.Contains(p.Enum, nil) {
				s["enum"] = append([]any{nil}, p.Enum...)
			}
		}
		props[p.Name] = s
		required = append(required, p.Name)
	}
	properties := m{"type": "object", "properties": props}
	if len(required) > 0 {
		properties["required"] = required
	}
	var geometry m
	if c.Geometry {
		geometry = ref("schemas", "geometry")
	} else {
		// code generators for Java do not support an enum with only null
		geometry = m{"nullable": true, "type": "object", "maxProperties": 0, "description": "Always null."}
	}
	return m{"type": "object", "required": []any{"type", "id", "geometry", "properties"}, "properties": m{
		"type": m{
			"type": "string",
			"enum": []any{"Feature"},
		}, "id": m{"type": "string"}, "geometry": geometry, "properties": properties,
		"links": m{
			"type":  "array",
			"items": ref("schemas", "link"),
		}, "prev": m{"type": "string"}, "next": m{"type": "string"}}}
}

// fileSchema describes a file with all features, which has neither counts nor links.
func fileSchema(c Collection) m {
	return m{"type": "object", "required": []any{"type", "features"}, "properties": m{
		"type":     m{"type": "string", "enum": []any{"FeatureCollection"}},
		"features": m{"type": "array", "items": ref("schemas", SchemaOf(c.ID, true))}}}
}

func pageSchema(c Collection) m {
	return m{
		"type":     "object",
		"required": []any{"type", "features", "numberReturned", "links", "timeStamp"},
		"properties": m{
			"type":           m{"type": "string", "enum": []any{"FeatureCollection"}},
			"features":       m{"type": "array", "items": ref("schemas", SchemaOf(c.ID, true))},
			"numberReturned": m{"type": "integer", "minimum": 0},
			"numberMatched": m{
				"type":        "integer",
				"minimum":     0,
				"description": "Left out where counting takes long; resulttype=hits always counts.",
			},
			"links": m{
				"type":  "array",
				"items": ref("schemas", "link"),
			}, "timeStamp": m{"type": "string", "format": "date-time"}},
	}
}
