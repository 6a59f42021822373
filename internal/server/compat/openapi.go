package compat

import (
	"maps"
	"slices"
	"strings"

	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
)

// service is one of the two services.
type service struct {
	name, path, title string
	try               []string // example addresses below path
	endpoints         []endpoint
}

// parameter is a parameter of an endpoint in the API definition.
type parameter struct {
	name, description string
	schema            map[string]any
	path, required    bool
}

var (
	integer = map[string]any{"type": "integer"}
	number  = map[string]any{"type": "number"}
	str     = map[string]any{"type": "string"}
	strs    = map[string]any{"type": "array", "items": str}
)

var (
	paramFylke   = parameter{name: "fylkesnummer", description: "To siffer", schema: str, path: true, required: true}
	paramKommune = parameter{name: "kommunenummer", description: "Fire siffer", schema: str, path: true, required: true}
	paramFilter  = parameter{name: "filtrer", schema: str, description: "Bare disse feltene i svaret, med " +
		"komma mellom og punktum foran felt i andre: fylkesnavn,kommuner.kommunenavn"}
	paramSystem = parameter{name: "utkoordsys", schema: usually(integer, 4258),
		description: "EPSG-koden til koordinatene i svaret"}
	paramPointSystem = parameter{name: "koordsys", schema: usually(integer, 4258),
		description: "EPSG-koden til koordinatene i spørringen"}
	paramNorth = parameter{name: "nord", schema: number, required: true, description: "Breddegrad eller nordkoordinat"}
	paramEast  = parameter{name: "ost", schema: number, required: true, description: "Lengdegrad eller østkoordinat"}
	paramName  = parameter{name: "knavn", schema: str, required: true,
		description: "Navn på kommuner, med * foran eller bak"}
	paramDay = parameter{name: "datetime", schema: map[string]any{"type": "string", "format": "date"},
		description: "Dagen det spørres om; uten den i dag. Bare i Grense"}
)

func paramSort(name string) parameter {
	return parameter{name: name, schema: str, description: "Feltet som svaret sorteres etter"}
}

// usually returns a schema with a default.
func usually(schema map[string]any, value any) map[string]any {
	schema = maps.Clone(schema)
	schema["default"] = value
	return schema
}

func between(low, high, usual int) map[string]any {
	return map[string]any{"type": "integer", "minimum": low, "maximum": high, "default": usual}
}

// props returns the schema of an object. pairs alternates between names and schemas.
func props(pairs ...any) map[string]any {
	all := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i].(string)] = pairs[i+1]
	}
	return map[string]any{"type": "object", "properties": all}
}

func ref(name string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

func listOf(schema map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": schema}
}

func geometrySchema(coordinates map[string]any) map[string]any {
	return props("coordinates", coordinates, "crs", props("properties", props("name", str), "type", str), "type", str)
}

func orNull(schema map[string]any) map[string]any {
	schema = maps.Clone(schema)
	schema["nullable"] = true
	return schema
}

// schemas are the schemas of all responses, by name. The member names are those of the original services.
var schemas = map[string]map[string]any{
	"Punkt":         geometrySchema(listOf(number)),
	"Flate":         geometrySchema(listOf(listOf(listOf(number)))),
	"Flater":        geometrySchema(listOf(listOf(listOf(listOf(number))))),
	"Navn":          props("navn", orNull(str), "prioritet", integer, "sprak", orNull(str)),
	"Fylke":         props("fylkesnavn", str, "fylkesnummer", str),
	"EnkelKommune":  props("kommunenavn", str, "kommunenummer", str),
	"Kommune":       props("kommunenavn", str, "kommunenavnNorsk", str, "kommunenummer", str),
	"FylkeOmrade":   props("fylkesnavn", str, "fylkesnummer", str, "omrade", ref("Flater")),
	"KommuneOmrade": props("kommunenavn", str, "kommunenummer", str, "omrade", ref("Flater")),
	"KommuneOgFylke": props("fylkesnavn", str, "fylkesnummer", str, "kommunenavn", str,
		"kommunenummer", str),
	"HelKommune": props("avgrensningsboks", ref("Flate"), "fylkesnavn", str, "fylkesnummer", str,
		"gyldigeNavn", listOf(ref("Navn")), "kommunenavn", str, "kommunenavnNorsk", str, "kommunenummer", str,
		"punktIOmrade", ref("Punkt"), "samiskForvaltningsomrade", map[string]any{"type": "boolean"}),
	"FylkeMedKommuner": props("avgrensningsboks", ref("Flate"), "fylkesnavn", str, "fylkesnummer", str,
		"kommuner", listOf(ref("EnkelKommune"))),
	"FylkeMedHeleKommuner": props("avgrensningsboks", ref("Flate"), "fylkesnavn", str, "fylkesnummer", str,
		"kommuner", listOf(ref("HelKommune"))),
	"Kommunetreff": props("antallTreff", integer, "kommuner", listOf(ref("HelKommune"))),

	"Metadata": props("treffPerSide", integer, "side", integer, "totaltAntallTreff", integer, "viserFra", integer,
		"viserTil", integer, "sokeStreng", str),
	"Representasjonspunkt": props("øst", number, "nord", number, "koordsys", integer),
	"Skrivemate": props("skrivemåte", str, "skrivemåtestatus", str, "navnestatus", str, "språk", str,
		"navneobjekttype", str, "stedsnummer", integer, "stedstatus", str,
		"representasjonspunkt", ref("Representasjonspunkt"), "fylker", listOf(ref("Fylke")),
		"kommuner", listOf(ref("EnkelKommune"))),
	"Stedsnavn": props("skrivemåte", str, "skrivemåtestatus", str, "navnestatus", str, "språk", str,
		"stedsnavnnummer", integer),
	"Sted": props("stedsnummer", integer, "navneobjekttype", str, "stedstatus", str,
		"oppdateringsdato", map[string]any{"type": "string", "format": "date-time"},
		"representasjonspunkt", ref("Representasjonspunkt"), "stedsnavn", listOf(ref("Stedsnavn")),
		"fylker", listOf(ref("Fylke")), "kommuner", listOf(ref("EnkelKommune"))),
	"StedVedPunkt": props("meterFraPunkt", integer, "stedsnummer", integer, "navneobjekttype", str,
		"stedstatus", str, "representasjonspunkt", ref("Representasjonspunkt"), "stedsnavn", listOf(ref("Stedsnavn"))),
	"Navnetreff":      props("metadata", ref("Metadata"), "navn", listOf(ref("Skrivemate"))),
	"Stedstreff":      props("metadata", ref("Metadata"), "navn", listOf(ref("Sted"))),
	"Punkttreff":      props("metadata", ref("Metadata"), "navn", listOf(ref("StedVedPunkt"))),
	"Navneobjekttype": props("navneobjekttype", str, "navneobjekttypekode", str),
	"Sprak":           props("språk", str, "språkkode", str),
}

// definition returns the OpenAPI 3.0 document of the service.
func (v *service) definition(c *call) map[string]any {
	paths, used := map[string]any{}, map[string]any{}
	for _, e := range v.endpoints {
		use(used, ref(e.schema))
		var parameters []any
		for _, p := range e.parameters {
			in := "query"
			if p.path {
				in = "path"
			}
			x := map[string]any{"name": p.name, "in": in, "description": p.description, "schema": p.schema}
			if p.required {
				x["required"] = true
			}
			parameters = append(parameters, x)
		}
		answer := ref(e.schema)
		if e.list {
			answer = listOf(answer)
		}
		refusal := func(text string) map[string]any {
			return map[string]any{"description": text,
				"content": map[string]any{"application/problem+json": map[string]any{"schema": props("detail", str)}}}
		}
		op := map[string]any{"operationId": strings.ReplaceAll(opName(e.path), ".", "_"), "summary": e.summary,
			"responses": map[string]any{"200": map[string]any{"description": "Svaret",
				"content": map[string]any{media.JSON.Media: map[string]any{"schema": answer}}},
				"400": refusal("En parameter er feil"), "404": refusal("Ingen treff")}}
		if parameters != nil {
			op["parameters"] = parameters
		}
		paths[e.path] = map[string]any{"get": op}
	}
	doc := map[string]any{"openapi": "3.0.3", "paths": paths,
		"info": map[string]any{"title": v.title, "version": "1",
			"description": "Samme adresser og svar som tjenesten " + v.path + " fra Kartverket."},
		"servers":    []any{map[string]any{"url": c.Base() + v.path}},
		"components": map[string]any{"schemas": used}}
	if c.keyed() {
		doc["security"] = []any{map[string]any{"key": []string{}}}
		doc["components"].(map[string]any)["securitySchemes"] = map[string]any{
			"key": map[string]any{"type": "apiKey", "in": "header", "name": "X-API-Key"}}
	}
	return doc
}

// use adds the schemas that a schema refers to.
func use(used map[string]any, schema any) {
	switch x := schema.(type) {
	case map[string]any:
		if at, ok := x["$ref"].(string); ok {
			name := at[strings.LastIndexByte(at, '/')+1:]
			if used[name] == nil {
				used[name] = schemas[name]
				use(used, schemas[name])
			}
		}
		for _, inner := range x {
			use(used, inner)
		}
	}
}

// keyed reports whether the endpoints need a key.
func (c *call) keyed() bool { return c.s.Config.Auth != "open" && !c.s.Config.Compat.Open }

// serviceView is the data of the page of a service.
type serviceView struct {
	Name, Path, Definition string
	Action                 string // address that the form requests
	Field                  string // parameter that the form sends
	Endpoints              []endpointView
	Examples               []exampleView
	NeedsKey               bool
}

type endpointView struct{ Path, Summary, Parameters string }

type exampleView struct{ Text, Href string }

// serviceDoc is the JSON representation of the page.
type serviceDoc struct {
	Title     string   `json:"title"`
	OpenAPI   string   `json:"openapi"`
	Addresses []string `json:"addresses"`
}

// page returns the page of the service, with a form.
func (v *service) page(c *call) *server.Answer {
	root := c.Base() + v.path
	view := serviceView{Name: v.name, Path: v.path, Definition: root + "/openapi.json", NeedsKey: c.keyed()}
	doc := serviceDoc{Title: v.title, OpenAPI: view.Definition}
	view.Action, view.Field = root+"/sok", "knavn"
	if v.path == stedsnavnPath {
		view.Action, view.Field = root+"/navn", "sok"
	}
	for _, e := range v.endpoints {
		var names []string
		for _, p := range e.parameters {
			if !p.path {
				names = append(names, p.name)
			}
		}
		view.Endpoints = append(view.Endpoints, endpointView{v.path + e.path, e.summary, strings.Join(names, ", ")})
		doc.Addresses = append(doc.Addresses, root+e.path)
	}
	for _, path := range slices.Clone(v.try) {
		view.Examples = append(view.Examples, exampleView{v.path + path, root + path})
	}
	return &server.Answer{JSON: doc, Links: c.SelfLinks(v.path), Page: &page.Page{Name: "compat", Title: v.title,
		Description: c.Text("compat.description", v.path), Crumbs: c.Crumbs(""), Data: view}}
}
