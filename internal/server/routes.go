package server

import (
	"net/http"

	"grense/api/ogcapi"
	"grense/internal/server/page"
	"grense/internal/store"
)

// A Route is one resource of the service. This table drives everything that the surface promises: the router, the check for
// unknown parameters, negotiation, the OpenAPI document, conformsTo, the key check and the headers for other origins. A route that
// speaks another protocol than this API has Serve.
type Route struct {
	Path        string          // below the mount, as chi writes it; "" is the landing page. Its variables are those of pathVariables
	Alias       string          // another spelling, served but not documented
	Root        bool            // at the root of the server only, not at each mount
	Op          string          // operationId of the GET; the name of the route in logs and metrics
	After       string          // Op of the route that it follows in the API definition; "": before those of the kit
	Tag         string          // group in the API definition
	Summary     string          // in the API definition
	Description string          // the same; what is not Hidden has one
	Params      []*Param        // query parameters besides f and lang
	New         func(*Call) any // makes the struct that Params are read into, with its defaults; nil where Params is
	Formats     []Format        // representations; the first answers */*
	Schema      schemaOf        // of the answer in JSON; every route of the API definition that has such an answer has one
	Data        bool            // needs a key
	Scope       string          // that a key must have, as ScopeTiles; "": apikey.ScopeCollections
	Fields      bool            // queryables of the collection are query parameters too
	Classes     []string        // conformance classes whose tests are green
	Get         func(*Call) (*Answer, error)
	Stream      func(*Call, http.ResponseWriter) error // instead of Get: writes the answer by itself
	Post        func(*Call, http.ResponseWriter) error
	Delete      func(*Call, http.ResponseWriter) error
	Form        func(*Call, page.Faulty) (*page.Page, error) // the form that people ask by, when what they asked is wrong; nil: a page that tells so
	Body        string                                       // schema of the body of Post, in the API definition
	Asks        bool                                         // POST asks the same as GET, with a filter in CQL2 JSON as its body
	NoAccept    bool                                         // the first representation answers whatever Accept says, when f is not given
	Hidden      bool                                         // not in the API definition
	Lenient     bool                                         // unknown query parameters are ignored, and of several values the first counts
	Kept        bool                                         // Stream's answers to GET depend on nothing but the request, the data and the day, and may be kept
	Draws       bool                                         // the page has a map, of data where the visitor has a key
	Drawn       bool                                         // of a collection: only where features have geometries
	Register    bool                                         // only for data with a place-name register
	Feed        bool                                         // only where changes are recorded
	Lineage     bool                                         // only for data with a history of divisions; below a collection: only where its ids are codes of one
	Versions    bool                                         // of a collection: only where features have versions

	Values map[string]func(*Call) []string // all that variables of the path may be, by their names, for the API definition

	Serve func(rt *Route, mount string) http.Handler // instead of all others: answers every method by itself
}

// schemaOf gives the name of a schema in the API definition; coll is that of the path, nil for routes that are below none.
type schemaOf func(coll *store.Collection) string

// schema is the schema of that name, of every collection.
func SchemaNamed(name string) schemaOf { return func(*store.Collection) string { return name } }

// always is a handler that is the same at each mount.
func always(h http.HandlerFunc) func(*Route, string) http.Handler {
	return func(*Route, string) http.Handler { return h }
}

// table is the whole surface: the API in the order of its definition, its pages besides, and what speaks other protocols.
// Besides there are only /metrics, on a listener of its own (metrics.go), and what answers until the data are open (cmd/grense/opening.go).
func (s *Kit) table() []*Route {
	return []*Route{
		{Path: "/healthz", Op: "health", Root: true, Hidden: true, Serve: always(s.healthz)},
		{Path: "/readyz", Op: opReady, Root: true, Hidden: true, Serve: always(s.readyz)},
		{Path: "/static/*", Alias: "/favicon.ico", Op: "static", Root: true, Hidden: true, Serve: always(s.static)},
	}
}

// Representations. The media types of the first column are written, the others are understood in Accept as well.
var (
	AsJSON       = Format{F: "json", Media: "application/json"}
	AsJSONLD     = Format{F: "jsonld", Media: "application/ld+json", Schema: "linkedData"}
	AsHTML       = Format{F: "html", Media: "text/html", Charset: true}
	AsGeoJSON    = Format{F: "json", Media: "application/geo+json", Also: []string{"application/json", "application/vnd.geo+json"}, Alias: "geojson"}
	AsGeoJSONLD  = Format{F: "jsonld", Media: "application/ld+json", Schema: "linkedData"}
	AsCSV        = Format{F: "csv", Media: "text/csv", Charset: true}
	AsLines      = Format{F: "ndjson", Media: "application/x-ndjson"}
	AsPNG        = Format{F: "png", Media: "image/png"}
	AsSchema     = Format{F: "json", Media: "application/schema+json", Also: []string{"application/json"}}
	AsMVT        = Format{F: "mvt", Media: "application/vnd.mapbox-vector-tile", Also: []string{"application/x-protobuf", "application/vnd.mapbox-vector-tile+protobuf"}, Alias: "pbf", Binary: true}
	AsLinkFormat = Format{F: "linkformat", Media: "application/link-format"}
	AsTileJSON   = Format{F: "tilejson", Media: "application/vnd.mapbox.tile+json", Schema: "tileJSON"}
	AsStyle      = Format{F: "json", Media: "application/vnd.mapbox.style+json", Also: []string{"application/json"}, Alias: "mapbox"}
	AsXSD        = Format{F: "xsd", Media: "application/xml", Also: []string{"text/xml"}} // of the features as GML
	AsOpenAPI    = Format{F: "json", Media: "application/vnd.oai.openapi+json;version=3.0", Also: []string{"application/vnd.oai.openapi+json", "application/openapi+json", "application/json"}}
	AsYAML       = Format{F: "yaml", Media: "application/vnd.oai.openapi;version=3.0", Also: []string{"application/yaml", "application/x-yaml", "text/yaml"}, Alias: "yml"}
)

// AnyCollection stands for each collection where the API definition has templated paths.
var AnyCollection = &store.Collection{ID: "collection", Title: store.Text{"": "any collection"}, Public: true,
	Geometry: &store.Geom{Name: "geometry"}}

// An Answer is a document in all its representations, before one is written.
type Answer struct {
	JSON  any               // the JSON document, or []byte that is JSON already
	LD    func() any        // the document as JSON-LD; nil when the route has none
	Raw   map[string][]byte // representations that are bytes already, by f
	Page  *page.Page        // what the HTML page shows
	Links []ogcapi.Link     // repeated in the header Link

	Fleeting bool // made without something that was out of reach, or one of endlessly many: not to be cached
	Endless  bool // one of endlessly many: cached from the second time on that it is asked for, and compressed quickly
}

// Representations of feeds (RFC 4287; JSON Feed 1.1).
var (
	AsAtom     = Format{F: "atom", Media: "application/atom+xml", Charset: true}
	AsJSONFeed = Format{F: "jsonfeed", Media: "application/feed+json", Schema: "jsonFeed"}
)
