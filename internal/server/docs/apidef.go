package docs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"grense/api/ogcapi"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/queryable"
	"grense/internal/server/schema"
	"grense/internal/store"
	"grense/openapi"
)

// apiDefinition returns the OpenAPI document of the mount (OGC 19-072, 7.3 and 9). Without f it is OpenAPI 3.0 as JSON,
// whatever Accept says.
func (s *surface) apiDefinition(c *call) (*server.Answer, error) {
	in := c.definition()
	doc, err := openapi.Build(in)
	if err != nil {
		return nil, err
	}
	a := &server.Answer{JSON: doc, Links: []ogcapi.Link{
		{Rel: "self", Type: media.OpenAPI.Media, Href: c.Base() + "/openapi"},
		{Rel: "alternate", Type: "text/html", Href: c.Base() + "/openapi?f=html"}},
		Page: &page.Page{Name: "api", Title: c.Text("api.title"),
			Data: apiView{Input: in, Swagger: c.Params.(*apiParams).swagger}}}
	if c.Format.F == media.YAML.F {
		text, err := yamlOf(doc)
		if err != nil {
			return nil, fmt.Errorf("server: API definition as YAML: %w", err)
		}
		a.Raw = map[string][]byte{media.YAML.F: text}
	}
	return a, nil
}

// apiView is the data of the page of the API definition: plain HTML, with Swagger UI on request.
type apiView struct {
	openapi.Input
	Swagger bool
}

// Grouped returns the operations of a tag.
func (v apiView) Grouped(tag string) []openapi.Operation {
	var out []openapi.Operation
	for _, op := range v.Operations {
		if op.Tag == tag {
			out = append(out, op)
		}
	}
	return out
}

// Own returns the parameters of an operation except f and lang, which every operation has.
func (apiView) Own(op openapi.Operation) (out []openapi.Parameter) {
	for _, p := range op.Parameters {
		if p.Name != "f" && p.Name != "lang" {
			out = append(out, p)
		}
	}
	return out
}

// Page returns the path of the page of an operation; "" if it has none, or its path has variables.
func (apiView) Page(op openapi.Operation) string {
	if op.Method != "" || strings.Contains(op.Path, "{") ||
		!slices.ContainsFunc(op.Answers, func(a openapi.Answer) bool { return a.Media == media.HTML.Media }) {
		return ""
	}
	return strings.TrimSuffix(op.Path, "/")
}

// maxLiteral is the number of collections up to which each has paths of its own in the API definition. Size and build
// time of the document grow with it.
const maxLiteral = 50

// maxListed is the number of collections up to which a templated path lists their ids.
const maxListed = 1000

// definition derives the API definition from the routes and the catalog. Each collection has literal paths, since
// clients look for them. With more than maxLiteral collections, paths are templated.
func (c *call) definition() openapi.Input {
	svc := &c.s.Config.Service
	in := openapi.Input{BaseURL: c.Base(), Title: svc.Title.In(c.Lang), Description: svc.Description.In(c.Lang),
		Version: c.s.Version, Terms: svc.Terms, MapSide: drawing.MostPixels,
		Contact: openapi.Contact{Name: svc.Contact.Name, URL: svc.Contact.URL, Email: svc.Contact.Email},
		Licence: openapi.Licence{Name: svc.Licence.Name, URL: svc.Licence.URL}, Keyed: c.s.Config.Auth != "open"}
	if in.Version == "" {
		in.Version = "0"
	}
	var public []*store.Collection
	for _, coll := range c.Catalog.Collections {
		if coll.Public {
			public = append(public, coll)
		}
	}
	for _, rt := range c.s.Routes() {
		if rt.Hidden || !c.offers(rt) {
			continue
		}
		if !slices.ContainsFunc(in.Tags, func(t openapi.Tag) bool { return t.Name == rt.Tag }) {
			in.Tags = append(in.Tags, openapi.Tag{Name: rt.Tag, Description: tagDescriptions[rt.Tag]})
		}
		if !strings.Contains(rt.Path, "{collectionId}") {
			in.Operations = append(in.Operations, c.operations(rt)...)
			continue
		}
		var of []*store.Collection
		for _, coll := range public {
			if c.offersOf(rt, coll) {
				of = append(of, coll)
			}
		}
		if len(public) > maxLiteral {
			if len(of) > 0 {
				in.Operations = append(in.Operations, c.templated(rt, of, len(of) == len(public)))
			}
			continue
		}
		for _, coll := range of {
			in.Operations = append(in.Operations, c.operation(rt, coll))
		}
	}
	if len(public) > maxLiteral {
		public = []*store.Collection{server.AnyCollection}
	}
	for _, coll := range public {
		at := *c.Call
		at.Collection = coll
		in.Collections = append(in.Collections,
			openapi.Collection{ID: coll.ID, Geometry: coll.Geometry != nil,
				Schema: schema.Writer{Lang: at.Lang, Base: at.Base()}.Doc(at.Collection, "schema")})
	}
	return in
}

// templated returns the operation of a route for the collections of. all: these are all public collections.
func (c *call) templated(rt *server.Route, of []*store.Collection, all bool) openapi.Operation {
	op := c.operation(rt, server.AnyCollection)
	op.Path = rt.Path
	id := openapi.Parameter{Shared: "collectionId", Name: "collectionId", In: "path",
		Description: "Id of the collection; /collections lists all",
		Schema:      map[string]any{"type": "string", "pattern": "^[^/]+$"}}
	if !all {
		id.Shared = "collectionId-" + rt.Op
	}
	if len(of) <= maxListed {
		ids := make([]string, len(of))
		for i, coll := range of {
			ids[i] = coll.ID
		}
		id.Schema = map[string]any{"type": "string", "enum": ids}
	}
	op.Parameters = append([]openapi.Parameter{id}, op.Parameters...)
	return op
}

// tagDescriptions describes the groups of operations.
var tagDescriptions = map[string]string{
	"Capabilities":   "What the service is and can do",
	"Collections":    "What data there are, and what is known of each",
	"Data":           "The features themselves",
	"Maps":           "Maps as pictures",
	"Tiles":          "Vector tiles, for maps",
	"Tiling schemes": "Tile matrix sets that tiles are cut by",
	"Processes":      "What the service can compute",
	"History": "Divisions through time: what codes stood for, what became of them, and what has changed in " +
		"the data",
	"Code lists": "Codes of the place-name register and their names",
}

// operations returns the methods of a route whose path has no collection.
func (c *call) operations(rt *server.Route) []openapi.Operation {
	op := c.operation(rt, nil)
	if !rt.Gets() {
		op.Method, op.Body = "post", rt.Body
	}
	list := []openapi.Operation{op}
	if rt.Delete != nil {
		op.Method, op.ID, op.Kind, op.Summary = "delete", "dismiss", "dismiss", "Dismiss a job"
		op.Answers = op.Answers[:1]
		list = append(list, op)
	}
	return list
}

func (c *call) operation(rt *server.Route, coll *store.Collection) openapi.Operation {
	op := openapi.Operation{Path: rt.Path, ID: rt.Op, Kind: rt.Op, Tag: rt.Tag, Summary: rt.Summary,
		Description: rt.Description, Keyed: rt.Data, Asks: rt.Asks, Lookup: strings.Contains(rt.Path, "{"),
		Resumes: slices.ContainsFunc(rt.Params, func(p *server.Param) bool { return p.Name == "revision" })}
	if op.Path == "" {
		op.Path = "/"
	}
	if coll != nil {
		op.Path = strings.ReplaceAll(rt.Path, "{collectionId}", coll.ID)
		op.ID = coll.ID + "." + rt.Op
		op.Of = coll.TitleIn(c.Lang)
		op.Summary = rt.Summary + ": " + op.Of
	}
	at := *c.Call
	at.Collection, at.Route = coll, rt
	op.Parameters = c.s.call(&at).definedParams()
	for _, r := range rt.Formats {
		op.Answers = append(op.Answers, openapi.Answer{Media: r.Media, Schema: answerSchema(rt, r, coll),
			Binary: r.Binary})
		op.Empty = op.Empty || r.F == media.MVT.F
	}
	return op
}

// answerSchema returns the name of the JSON Schema of a response; "" if the format is not JSON.
func answerSchema(rt *server.Route, r media.Format, coll *store.Collection) string {
	if r.F == media.JSON.F {
		return rt.Schema(coll)
	}
	return r.Schema
}

// definedParams returns the parameters of an operation: path variables, f and lang, those of the route, and queryables.
func (c *call) definedParams() []openapi.Parameter {
	var out []openapi.Parameter
	for _, v := range pathVariables {
		if strings.Contains(c.Route.Path, "{"+v.Name+"}") {
			schema := map[string]any{"type": "string"}
			if v.Schema != nil {
				schema = v.Schema
			}
			shared := v.Name
			if values := c.Route.Values[v.Name]; values != nil {
				schema["enum"] = values(c.Call)
				shared = c.sharedVariable(v.Name)
			}
			out = append(out, openapi.Parameter{Shared: shared, Name: v.Name, In: "path", Description: v.Description,
				Schema: schema})
		}
	}
	formats := make([]string, len(c.Route.Formats))
	for i, r := range c.Route.Formats {
		formats[i] = r.F
	}
	out = append(out, openapi.Parameter{Shared: "f-" + strings.Join(formats, "-"), Name: "f", In: "query",
		Description: server.ParamF.Description, Schema: map[string]any{"type": "string", "enum": formats}},
		openapi.Parameter{Shared: "lang", Name: "lang", In: "query", Description: server.ParamLang.Description,
			Schema: server.ParamLang.Schema})
	for _, p := range c.Route.ParamsOf(c.Collection) {
		if !p.Untold {
			out = append(out, c.definedParam(p))
		}
	}
	if !c.Route.Fields {
		return out
	}
	if c.Collection == server.AnyCollection {
		return append(out, openapi.Parameter{Name: "queryables", In: "query", Explode: true,
			Description: "Only features whose property has this value: NAME=VALUE, of the queryables of the collection",
			Schema:      map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}})
	}
	seen := map[string]bool{}
	for _, p := range out {
		seen[nameInCode(p.Name)] = true
	}
	for p := range c.Collection.Queryables() {
		if queryable.Field(c.Collection, p.Name) == nil {
			continue
		}
		for _, d := range append([]openapi.Parameter{definedField(p)}, c.definedForgiving(p)...) {
			if name := nameInCode(d.Name); !seen[name] { // the server accepts the others, too
				seen[name] = true
				out = append(out, d)
			}
		}
	}
	return out
}

// sharedVariable returns the name under which operations share a path variable with listed values. Operations of a
// collection, and those with a point in their names, have lists of their own.
func (c *call) sharedVariable(name string) string {
	if c.Collection != nil {
		return c.Collection.ID + "." + name
	}
	if i := strings.LastIndexByte(c.Route.Op, '.'); i > 0 {
		return c.Route.Op[:i+1] + name
	}
	return name
}

// nameInCode returns a parameter name in lower case without punctuation. Generated clients often reduce Id, id_ and i-d
// to the same identifier.
func nameInCode(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// definedParam describes a parameter of the route, adapted to the collection.
func (c *call) definedParam(p *server.Param) openapi.Parameter {
	d := openapi.Parameter{Shared: cmp.Or(p.Shared, p.Name), Name: p.Name, In: "query", Description: p.Description,
		Schema: p.Schema}
	if p.Own {
		d.Shared = ""
	}
	if p.Define != nil {
		p.Define(c.Call, &d)
	}
	return d
}

// definedField describes the query parameter that filters by a property.
func definedField(p *store.Property) openapi.Parameter {
	t, format := schema.TypeOf(p.Type)
	about := "Only features whose " + p.Name + " equals this"
	if queryable.Elements(p) {
		t, format, about = "string", "", "Only features whose list "+p.Name+" contains this"
		if p.Items != "any" {
			t = p.Items
		}
	}
	schema := map[string]any{"type": t}
	if format == "date" {
		schema["format"] = format
	}
	if len(p.Enum) > 0 {
		schema["enum"] = p.Enum
	}
	return openapi.Parameter{Name: p.Name, In: "query", Description: about, Schema: schema}
}

// offers reports whether there are data for a route.
func (c *call) offers(rt *server.Route) bool {
	return (!rt.Register || server.HasRegister(c.Catalog)) && (!rt.Lineage || c.HasHistory()) &&
		(!rt.Feed || c.s.Changes != nil)
}

// offersOf reports whether a route below a collection exists for that collection.
func (c *call) offersOf(rt *server.Route, coll *store.Collection) bool {
	return (!rt.Drawn || coll.Geometry != nil) && (!rt.Lineage || c.s.ShowsTime(c.Catalog, coll)) &&
		(!rt.Versions || server.IsVersioned(coll))
}
