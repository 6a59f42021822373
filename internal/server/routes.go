package server

import (
	"net/http"

	"grense/api/ogcapi"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/store"
)

// Route is a resource of the service. The routes drive the router, the check of parameters, negotiation, the API
// definition, conformsTo, the key check and CORS headers. A route of another protocol has Serve.
type Route struct {
	// below the mount, in chi's syntax; "" is the landing page; its variables are in pathVariables
	Path        string
	Alias       string          // another path, served but not documented
	Root        bool            // at the root of the server only, not at each mount
	Op          string          // operationId of GET; also the name in logs and metrics
	After       string          // Op of the route before it in the API definition; "": before those of the kit
	Tag         string          // group in the API definition
	Summary     string          // in the API definition
	Description string          // in the API definition; required unless Hidden
	Params      []*Param        // query parameters other than f and lang
	New         func(*Call) any // returns the struct for Params, with defaults; nil without Params
	Formats     []media.Format  // representations; the first is the default
	Schema      schemaOf        // of the JSON response, in the API definition
	Data        bool            // needs a key
	Scope       string          // that a key must have, as ScopeTiles; "": apikey.ScopeCollections
	KeyParam    string          // query parameter that may hold the key, in any case; "": none
	Fields      bool            // queryables of the collection are query parameters, too
	Classes     []string        // conformance classes that the route passes
	Get         func(*Call) (*Answer, error)
	Stream      func(*Call, http.ResponseWriter) error // instead of Get: writes the response itself
	Post        func(*Call, http.ResponseWriter) error
	Delete      func(*Call, http.ResponseWriter) error
	// the form to show again after an error; nil: the error page
	Form func(*Call, page.Faulty) (*page.Page, error)
	Body string // schema of the body of Post, in the API definition
	// POST means the same as GET, with a CQL2 JSON filter in the body
	Asks bool
	// without f, the first representation is used whatever Accept says
	NoAccept bool
	Hidden   bool // not in the API definition
	// ignores unknown parameters, and uses the first of several values
	Lenient bool
	// responses of Stream to GET depend only on request, data and day, and may be cached
	Kept bool
	// the page has a map, which shows data if the visitor may see them
	Draws    bool
	Drawn    bool // for collections with geometry only
	Register bool // for data with a place-name register only
	Feed     bool // only if changes are recorded
	// for data with a history only; below a collection, only if its ids are codes
	Lineage  bool
	Versions bool // for collections with versions only

	Values map[string]func(*Call) []string // all values of path variables, for the API definition

	Serve func(rt *Route, mount string) http.Handler // instead of all others: serves every method
}

// schemaOf returns the name of a schema in the API definition. coll is nil for routes that are not below a collection.
type schemaOf func(coll *store.Collection) string

// SchemaNamed returns a schemaOf that does not depend on the collection.
func SchemaNamed(name string) schemaOf { return func(*store.Collection) string { return name } }

// always returns a handler that does not depend on the mount.
func always(h http.HandlerFunc) func(*Route, string) http.Handler {
	return func(*Route, string) http.Handler { return h }
}

// table returns the routes of the kit. Outside of routes are only /metrics, on a listener of its own (metrics.go), and
// the responses while the data are being opened (cmd/grense/opening.go).
func (s *Kit) table() []*Route {
	return []*Route{
		{Path: "/healthz", Op: "health", Root: true, Hidden: true, Serve: always(s.healthz)},
		{Path: "/readyz", Op: opReady, Root: true, Hidden: true, Serve: always(s.readyz)},
		{Path: "/static/*", Alias: "/favicon.ico", Op: "static", Root: true, Hidden: true, Serve: always(s.static)},
	}
}

// AnyCollection stands for all collections in the templated paths of the API definition.
var AnyCollection = &store.Collection{ID: "collection", Title: store.Text{"": "any collection"}, Public: true,
	Geometry: &store.Geom{Name: "geometry"}}

// Answer is a document before one of its representations is written.
type Answer struct {
	JSON  any               // the JSON document, or []byte with JSON
	LD    func() any        // returns the JSON-LD document; nil if the route has none
	Raw   map[string][]byte // encoded representations, by f
	Page  *page.Page        // the HTML page
	Links []ogcapi.Link     // repeated in the header Link

	Fleeting bool // incomplete, or one of very many: must not be cached
	Endless  bool // one of very many: cached on the second request, and compressed fast
}
