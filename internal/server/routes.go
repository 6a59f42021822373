package server

import (
	"net/http"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/server/page"
	"grense/internal/store"
	"grense/openapi"
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

func featuresSchema(coll *store.Collection) string { return openapi.SchemaOf(coll.ID, false) }

func fileSchema(coll *store.Collection) string { return openapi.FileOf(coll.ID) }

func featureSchema(coll *store.Collection) string { return openapi.SchemaOf(coll.ID, true) }

// Addresses of conformance classes (OGC 19-072, OGC 17-069r4, OGC 18-058r1, OGC 19-079r2, OGC 23-058r2, OGC 17-083r4, OGC 20-057, OGC 18-062r2, OGC 21-045r1).
const (
	common2   = "http://www.opengis.net/spec/ogcapi-common-2/1.0/conf/"
	common2s  = "https://www.opengis.net/spec/ogcapi-common-2/1.0/conf/"
	features1 = "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/"
	features2 = "http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/"
	features3 = "http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/"
	common3   = "http://www.opengis.net/spec/ogcapi-common-3/1.0/conf/"
	features5 = "http://www.opengis.net/spec/ogcapi-features-5/1.0/conf/" // where older clients look for the classes of Common 3
	jsonFG    = "http://www.opengis.net/spec/json-fg-1/1.0/conf/"
	features6 = "http://www.opengis.net/spec/ogcapi-features-6/0.0/conf/" // draft: no stable address yet
	features7 = "http://www.opengis.net/spec/ogcapi-features-7/0.0/conf/" // draft: no stable address yet
	features8 = "http://www.opengis.net/spec/ogcapi-features-8/0.0/conf/" // draft: no stable address yet
	features9 = "http://www.opengis.net/spec/ogcapi-features-9/0.0/conf/" // draft: no stable address yet
	cql2Base  = "http://www.opengis.net/spec/cql2/1.0/conf/"
)

// cql2Classes are the classes of OGC 21-065r2 that filters have.
func cql2Classes() []string {
	var out []string
	for c := range strings.FieldsSeq("basic-cql2 cql2-text cql2-json advanced-comparison-operators case-insensitive-comparison accent-insensitive-comparison basic-spatial-functions " +
		"basic-spatial-functions-plus spatial-functions temporal-functions property-property functions arithmetic array-functions") {
		out = append(out, cql2Base+c)
	}
	return out
}

// always is a handler that is the same at each mount.
func always(h http.HandlerFunc) func(*Route, string) http.Handler {
	return func(*Route, string) http.Handler { return h }
}

// table is the whole surface: the API in the order of its definition, its pages besides, and what speaks other protocols.
// Besides there are only /metrics, on a listener of its own (metrics.go), and what answers until the data are open (cmd/grense/opening.go).
func (s *Kit) table() []*Route {
	return []*Route{
		{Path: "/collections", Op: "getCollections", Tag: "Collections", Summary: "All collections",
			Description: "The collections with their extents, coordinate systems and links, those that are sought page by page.",
			Params:      []*Param{paramCollectionsLimit, paramCollectionsOffset, paramCollectionsQ, paramCollectionsBBox, paramCollectionsTime}, New: newCollectionsParams,
			Formats: []Format{AsJSON, AsJSONLD, AsHTML}, Schema: SchemaNamed("collections"), Get: s.collections,
			Classes: []string{common2 + "collections", common2s + "collections", common2 + "json", common2s + "json", common2 + "html", common2s + "html"}},
		{Path: "/collections/{collectionId}", Op: "getCollection", Tag: "Collections", Summary: "One collection",
			Description: "Extent, coordinate systems, number of features and links of a collection.",
			Formats:     []Format{AsJSON, AsJSONLD, AsHTML}, Schema: SchemaNamed("collection"), Get: s.collection, Draws: true},
		{Path: "/collections/{collectionId}/schema", Op: "getSchema", Tag: "Collections", Summary: "Schema of the features",
			Description: "The properties of the features as JSON Schema, with their roles and formats (OGC 23-058r2).",
			Formats:     []Format{asSchema, AsHTML, asXSD}, Schema: SchemaNamed("jsonSchema"), Get: s.schema,
			Classes: []string{common3 + "schemas", common3 + "returnables-and-receivables", common3 + "advanced-property-roles", common3 + "references", features5 + "schemas"}},
		{Path: "/collections/{collectionId}/queryables", Op: "getQueryables", Tag: "Collections", Summary: "Properties to filter by",
			Description: "The properties that can be used in filters and as query parameters, as JSON Schema (OGC 19-079r2).",
			Formats:     []Format{asSchema, AsHTML}, Schema: SchemaNamed("jsonSchema"), Get: s.queryables,
			Classes: []string{features3 + "queryables", features3 + "queryables-query-parameters", common3 + "queryables"}},
		{Path: "/collections/{collectionId}/items", Op: "getFeatures", Tag: "Data", Summary: "Features",
			Description: "A page of features that match all conditions asked for, with the number of all matches and links to the pages beside it.",
			Data:        true, Fields: true,
			Params: []*Param{paramLimit, paramOffset, paramCursor, paramBBox, paramBBoxCRS, paramCRS, ParamDatetime, ParamDatetimeAlias, paramQ, ParamFilter, ParamFilterLang, ParamFilterCRS,
				paramSortBy, paramCollation, ParamProperties, paramSkipGeometry, paramZoomLevel, paramResultType, ParamProfile, paramDialect, paramPrecision}, New: NewItemsParams,
			Formats: s.itemsReps(), Schema: featuresSchema, Stream: s.items, Asks: true, Kept: true, Form: s.itemsForm,
			Classes: append(cql2Classes(), features1+"geojson", features2+"crs", features3+"filter", features3+"features-filter",
				features6+"properties", features6+"properties-features", features7+"zoom-level", features7+"zoom-level-features", features8+"sorting", features8+"features-sorting",
				features9+"text-search", features9+"features-text-search", jsonFG+"core", jsonFG+"types-schemas", jsonFG+"profiles", jsonFG+"api", common3+"profile-parameter")},
		{Path: "/collections/{collectionId}/download", Op: "getDownload", Tag: "Data", Summary: "All features as a file",
			Description: "All features that match all conditions asked for, as one file. Where the answer names a state of the data in Content-Location, the file can be resumed under that address.",
			Data:        true, Fields: true,
			Params: []*Param{paramBBox, paramBBoxCRS, paramCRS, ParamDatetime, ParamDatetimeAlias, paramQ, ParamFilter, ParamFilterLang, ParamFilterCRS,
				paramSortBy, paramCollation, ParamProperties, paramSkipGeometry, paramZoomLevel, ParamProfile, paramDialect, paramPrecision, paramRevision}, New: newDownloadParams,
			Formats: s.downloadReps(), Schema: fileSchema, Stream: s.download},
		{Path: "/collections/{collectionId}/items/{featureId}", Op: "getFeature", Tag: "Data", Summary: "One feature",
			Description: "One feature by its id.",
			Data:        true,
			Params:      []*Param{paramCRS, ParamProperties, paramSkipGeometry, paramZoomLevel, ParamProfile, paramPrecision, paramVersion}, New: newItemParams, Formats: []Format{AsGeoJSON, asGeoJSONLD, AsHTML}, Schema: featureSchema, Stream: s.item, Kept: true},
		{Path: "/collections/{collectionId}/items/{featureId}/versions", Op: "getVersions", Tag: "Data", Summary: "All versions of a feature",
			Description: "The time map of a feature (RFC 7089): a link to each of its versions, with the moment from which it is valid.",
			Data:        true, Versions: true, Formats: []Format{AsJSON, AsHTML, asLinkFormat}, Schema: SchemaNamed("timeMap"), Stream: s.versions, Kept: true},
		{Path: "/collections/{collectionId}/sortables", Op: "getSortables", Tag: "Collections", Summary: "Properties to sort by",
			Description: "The properties that sortby takes, as JSON Schema.",
			Formats:     []Format{asSchema, AsHTML}, Schema: SchemaNamed("jsonSchema"), Get: s.sortables, Classes: []string{common3 + "sortables", features8 + "sortables"}},
		{Path: "/key", Op: "getKeyForm", Summary: "Form for the API key", Params: []*Param{paramCode, paramNextPage}, New: newKeyParams, Formats: []Format{AsHTML, AsJSON}, Hidden: true,
			Stream: s.keyForm, Post: s.keyPost},

		{Path: "/healthz", Op: "health", Root: true, Hidden: true, Serve: always(s.healthz)},
		{Path: "/readyz", Op: "ready", Root: true, Hidden: true, Serve: always(s.readyz)},
		{Path: "/static/*", Alias: "/favicon.ico", Op: "static", Root: true, Hidden: true, Serve: always(s.static)},
	}
}

// Representations. The media types of the first column are written, the others are understood in Accept as well.
var (
	AsJSON       = Format{F: "json", Media: "application/json"}
	AsJSONLD     = Format{F: "jsonld", Media: "application/ld+json", Schema: "linkedData"}
	AsHTML       = Format{F: "html", Media: "text/html", Charset: true}
	AsGeoJSON    = Format{F: "json", Media: "application/geo+json", Also: []string{"application/json", "application/vnd.geo+json"}, Alias: "geojson"}
	asGeoJSONLD  = Format{F: "jsonld", Media: "application/ld+json", Schema: "linkedData"}
	AsCSV        = Format{F: "csv", Media: "text/csv", Charset: true}
	AsLines      = Format{F: "ndjson", Media: "application/x-ndjson"}
	AsPNG        = Format{F: "png", Media: "image/png"}
	asSchema     = Format{F: "json", Media: "application/schema+json", Also: []string{"application/json"}}
	AsMVT        = Format{F: "mvt", Media: "application/vnd.mapbox-vector-tile", Also: []string{"application/x-protobuf", "application/vnd.mapbox-vector-tile+protobuf"}, Alias: "pbf", Binary: true}
	asLinkFormat = Format{F: "linkformat", Media: "application/link-format"}
	AsTileJSON   = Format{F: "tilejson", Media: "application/vnd.mapbox.tile+json", Schema: "tileJSON"}
	AsStyle      = Format{F: "json", Media: "application/vnd.mapbox.style+json", Also: []string{"application/json"}, Alias: "mapbox"}
	asXSD        = Format{F: "xsd", Media: "application/xml", Also: []string{"text/xml"}} // of the features as GML
	AsOpenAPI    = Format{F: "json", Media: "application/vnd.oai.openapi+json;version=3.0", Also: []string{"application/vnd.oai.openapi+json", "application/openapi+json", "application/json"}}
	AsYAML       = Format{F: "yaml", Media: "application/vnd.oai.openapi;version=3.0", Also: []string{"application/yaml", "application/x-yaml", "text/yaml"}, Alias: "yml"}
)

// Offers reports whether there are data that a route is for.
func (c *Call) Offers(rt *Route) bool {
	return (!rt.Register || c.HasRegister()) && (!rt.Lineage || c.hasHistory()) && (!rt.Feed || c.s.Changes != nil)
}

// OffersOf reports whether a route below a collection is for that one.
func (c *Call) OffersOf(rt *Route, coll *store.Collection) bool {
	return (!rt.Drawn || coll.Geometry != nil) && (!rt.Lineage || c.tellsTime(coll)) && (!rt.Versions || IsVersioned(coll))
}

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
