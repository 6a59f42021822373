// Package docs serves the description of the service: landing page, API definition, conformance, functions of filters,
// pages about the service, site map and robots.txt.
package docs

import (
	"fmt"
	"net/http"

	"grense/api/ogcapi"
	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/server/page"
)

// Conformance classes of OGC 19-072 and OGC 17-069r4.
const (
	common1   = "http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/"
	features1 = "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/"
)

// surface holds what the handlers of all routes share.
type surface struct {
	*server.Kit
	maps     *drawing.Maps
	names    *names.Names
	previews *cache.Cache[string, []byte] // by catalog version
}

// call is a request to a route of the surface.
type call struct {
	*server.Call
	drawing.Drawing
	names.Namer
	s *surface
}

func (s *surface) call(c *server.Call) *call { return &call{c, s.maps.Drawing(c), s.names.Namer(c), s} }

func (s *surface) get(h func(*call) (*server.Answer, error)) func(*server.Call) (*server.Answer, error) {
	return func(c *server.Call) (*server.Answer, error) { return h(s.call(c)) }
}

func (s *surface) stream(h func(*call, http.ResponseWriter) error) func(*server.Call, http.ResponseWriter) error {
	return func(c *server.Call, w http.ResponseWriter) error { return h(s.call(c), w) }
}

// file returns a handler that does not depend on the mount.
func file(h http.HandlerFunc) func(*server.Route, string) http.Handler {
	return func(*server.Route, string) http.Handler { return h }
}

// Routes returns the routes that describe the service.
func Routes(k *server.Kit, n *names.Names, m *drawing.Maps) []server.Route {
	s := &surface{Kit: k, names: n, maps: m, previews: cache.New[string, []byte](cache.Options{Name: "previews",
		Bytes: server.KeptOf(k.Config.Limits, 512<<10), Group: k.Caches})}
	return []server.Route{
		{Path: "", Op: "getLandingPage", Tag: "Capabilities", Summary: "Landing page",
			Description: "Title, description and links to all parts of the service. Start here.",
			Formats:     []media.Format{media.JSON, media.JSONLD, media.HTML},
			Schema:      server.SchemaNamed("landingPage"), Get: s.get(s.landing), Draws: true,
			Classes: []string{common1 + "core", common1 + "landing-page", common1 + "json", common1 + "html",
				features1 + "core", features1 + "html"}},
		{Path: "/openapi", Alias: "/api", Op: "getApiDefinition", Tag: "Capabilities", Summary: "This document",
			Description: "The definition of the API as OpenAPI 3.0, in JSON, YAML or as a page.",
			Formats:     []media.Format{media.OpenAPI, media.YAML, media.HTML},
			Schema:      server.SchemaNamed("openapi"), NoAccept: true, Get: s.get(s.apiDefinition),
			Params: []*server.Param{paramUI}, New: newAPIParams,
			Classes: []string{common1 + "oas30", features1 + "oas30"}},
		{Path: "/conformance", Op: "getConformance", Tag: "Capabilities", Summary: "Conformance classes",
			Description: "The conformance classes of OGC standards that the service passes.",
			Formats:     []media.Format{media.JSON, media.HTML},
			Schema:      server.SchemaNamed("conformance"), Get: s.get(s.conformance)},
		{Path: "/functions", Op: "getFunctions", After: "getDatasetStyle", Tag: "Capabilities",
			Summary:     "Functions that filters may call",
			Description: "The functions that filters may call, with the types of their arguments.",
			Formats:     []media.Format{media.JSON, media.HTML},
			Schema:      server.SchemaNamed("functions"), Get: s.get(s.functions)},
		{Path: "/preview.png", Op: "getPreview", After: "getCodeList", Summary: "Picture of the service",
			Formats: []media.Format{media.PNG, media.JSON}, NoAccept: true, Hidden: true, Get: s.get(s.preview)},
		{Path: "/about", Op: "getAbout", After: "getPreview", Summary: "About the service",
			Formats: []media.Format{media.HTML, media.JSON}, Hidden: true, Get: s.get(s.about)},
		{Path: "/accessibility", Op: "getAccessibility", After: "getAbout", Summary: "Accessibility statement",
			Formats: []media.Format{media.HTML, media.JSON}, Hidden: true, Get: s.get(s.accessibility)},
		{Path: "/key", Op: "getKeyForm", Summary: "Form for the API key",
			Params: []*server.Param{paramCode, paramNextPage}, New: newKeyParams,
			Formats: []media.Format{media.HTML, media.JSON}, Hidden: true, Stream: s.stream(s.keyForm),
			Post: s.stream(s.keyPost)},
		{Path: "/sitemap.xml", Op: "sitemap", Root: true, Hidden: true, Serve: file(s.siteMap)},
		{Path: "/robots.txt", Op: "robots", Root: true, Hidden: true, Serve: file(s.robots)},
	}
}

// functionsDoc lists the functions that filters may call (OGC 19-079r2, 6.4).
type functionsDoc struct {
	Functions []functionDoc `json:"functions"`
}

type functionDoc struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Arguments   []argumentDoc `json:"arguments"`
	Returns     []string      `json:"returns"`
}

type argumentDoc struct {
	Type []string `json:"type"`
}

var functionTypes = map[cql2.Type]string{cql2.TypeText: "string", cql2.TypeInteger: "integer",
	cql2.TypeNumber: "number", cql2.TypeBool: "boolean", cql2.TypeDate: "date", cql2.TypeTimestamp: "datetime",
	cql2.TypeGeometry: "geometry"}

// functions lists the functions that are not part of CQL2's own conformance classes.
func (s *surface) functions(c *call) (*server.Answer, error) {
	doc := functionsDoc{}
	for _, f := range cql2.Functions {
		d := functionDoc{Name: f.Name, Description: c.Text(fmt.Sprintf("functions.about.%s", f.Name)),
			Returns: []string{functionTypes[f.Returns]}}
		for _, a := range f.Args {
			d.Arguments = append(d.Arguments, argumentDoc{Type: []string{functionTypes[a]}})
		}
		doc.Functions = append(doc.Functions, d)
	}
	links := append(c.SelfLinks("/functions"),
		ogcapi.Link{Rel: "describedby", Type: "text/html", Href: "https://docs.ogc.org/is/21-065r2/21-065r2.html",
			Title: "Common Query Language (CQL2)", Hreflang: "en"})
	return &server.Answer{JSON: doc, Links: links,
		Page: &page.Page{Name: "functions", Title: c.Text("functions.title"), Data: doc}}, nil
}

// pathVariable is a variable in the path of a route.
type pathVariable struct {
	Name        string
	Description string
	Schema      map[string]any // of the API definition; nil: a string
}

// pathVariables are the variables of all routes, except for the collection.
var pathVariables = []pathVariable{
	{Name: "featureId", Description: "Id of the feature"},
	{Name: "tileMatrixSetId", Description: "Id of the tile matrix set"},
	{Name: "tileMatrix", Description: "Level of the tile matrix set"},
	{Name: "tileRow", Description: "Row of the tile, counted from the top",
		Schema: map[string]any{"type": "integer", "minimum": 0}},
	{Name: "tileCol", Description: "Column of the tile, counted from the left",
		Schema: map[string]any{"type": "integer", "minimum": 0}},
	{Name: "styleId", Description: "Id of the style"},
	{Name: "fontstack", Description: "Names of fonts, with commas between them, as Go Regular"},
	{Name: "range", Description: "First and last code point of 256, as 0-255"},
	{Name: "codeListId", Description: "Id of the code list"},
	{Name: "schemeId", Description: "Id of the scheme that the code is of, such as kommune"},
	{Name: "code", Description: "The code"},
	{Name: "jobId", Description: "Id of the job"},
	{Name: "outputId", Description: "Id of the output"},
	{Name: "processId", Description: "Id of the process"},
}
