// Package features serves collections and their features: collections, schemas, items, files of whole collections, and
// the versions of a feature.
package features

import (
	"net/http"

	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/server/page"
	"grense/internal/server/selection"
)

// Conformance classes of OGC 20-024, OGC 17-069r4, OGC 18-058r1, OGC 19-079r2, OGC 23-058r2 and OGC 21-045r1, and of
// drafts, which have no stable addresses yet.
const (
	common2   = "http://www.opengis.net/spec/ogcapi-common-2/1.0/conf/"
	common2s  = "https://www.opengis.net/spec/ogcapi-common-2/1.0/conf/"
	features1 = "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/"
	features2 = "http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/"
	features3 = "http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/"
	common3   = "http://www.opengis.net/spec/ogcapi-common-3/1.0/conf/"
	features5 = "http://www.opengis.net/spec/ogcapi-features-5/1.0/conf/" // where older clients look for Common 3
	jsonFG    = "http://www.opengis.net/spec/json-fg-1/1.0/conf/"
	features6 = "http://www.opengis.net/spec/ogcapi-features-6/0.0/conf/"
	features7 = "http://www.opengis.net/spec/ogcapi-features-7/0.0/conf/"
	features8 = "http://www.opengis.net/spec/ogcapi-features-8/0.0/conf/"
	features9 = "http://www.opengis.net/spec/ogcapi-features-9/0.0/conf/"
	cql2Base  = "http://www.opengis.net/spec/cql2/1.0/conf/"
)

// surface holds what the routes share.
type surface struct {
	*server.Kit
	codes *codes.Codes
	maps  *drawing.Maps
	names *names.Names
	ahead *Ahead
}

// call is a request to the surface.
type call struct {
	*server.Call
	codes.Reader
	drawing.Drawing
	names.Namer
	s      *surface
	simple *simplified // nil for geometries as they are stored
}

// Items returns the parameters of a call to a route that selects features.
func (c *call) Items() *selection.Params { return selection.Of(c.Call) }

// Output returns the parameters of a call to a route that writes features.
func (c *call) Output() *selection.OutputParams { return selection.OutputOf(c.Call) }

func (s *surface) call(c *server.Call) *call {
	return &call{Call: c, Reader: s.codes.Reader(c), Drawing: s.maps.Drawing(c), Namer: s.names.Namer(c), s: s}
}

func (s *surface) get(h func(*call) (*server.Answer, error)) func(*server.Call) (*server.Answer, error) {
	return func(c *server.Call) (*server.Answer, error) { return h(s.call(c)) }
}

func (s *surface) stream(h func(*call, http.ResponseWriter) error) func(*server.Call, http.ResponseWriter) error {
	return func(c *server.Call, w http.ResponseWriter) error { return h(s.call(c), w) }
}

func (s *surface) form(h func(*call, page.Faulty) (*page.Page, error)) func(*server.Call, page.Faulty) (*page.Page,
	error) {
	return func(c *server.Call, f page.Faulty) (*page.Page, error) { return h(s.call(c), f) }
}

// Routes returns the routes of collections and features.
func Routes(k *server.Kit, h *codes.Codes, n *names.Names, m *drawing.Maps, a *Ahead) []server.Route {
	s := &surface{Kit: k, codes: h, names: n, maps: m, ahead: a}
	return []server.Route{
		{Path: "/collections", Op: "getCollections", Tag: "Collections", Summary: "All collections",
			Description: "The collections with their extents, coordinate systems and links, those that are sought " +
				"page by page.",
			Params: []*server.Param{paramCollectionsLimit, paramCollectionsOffset, paramCollectionsQ,
				paramCollectionsBBox, paramCollectionsTime}, New: newCollectionsParams,
			Formats: []media.Format{media.JSON, media.JSONLD, media.HTML},
			Schema:  server.SchemaNamed("collections"), Get: s.get(s.collections),
			Classes: []string{common2 + "collections", common2s + "collections", common2 + "json", common2s + "json",
				common2 + "html", common2s + "html"}},
		{Path: "/collections/{collectionId}", Op: "getCollection", Tag: "Collections", Summary: "One collection",
			Description: "Extent, coordinate systems, number of features and links of a collection.",
			Formats:     []media.Format{media.JSON, media.JSONLD, media.HTML},
			Schema:      server.SchemaNamed("collection"), Get: s.get(s.collection), Draws: true},
		{Path: "/collections/{collectionId}/schema", Op: "getSchema", Tag: "Collections",
			Summary:     "Schema of the features",
			Description: "The properties of the features as JSON Schema, with their roles and formats (OGC 23-058r2).",
			Formats:     []media.Format{media.Schema, media.HTML, media.XSD},
			Schema:      server.SchemaNamed("jsonSchema"), Get: s.get(s.schema),
			Classes: []string{common3 + "schemas", common3 + "returnables-and-receivables", common3 +
				"advanced-property-roles", common3 + "references", features5 + "schemas"}},
		{Path: "/collections/{collectionId}/queryables", Op: "getQueryables", Tag: "Collections",
			Summary: "Properties to filter by",
			Description: "The properties that can be used in filters and as query parameters, as JSON Schema (OGC " +
				"19-079r2).",
			Formats: []media.Format{media.Schema, media.HTML}, Schema: server.SchemaNamed("jsonSchema"),
			Get: s.get(s.queryables),
			Classes: []string{features3 + "queryables", features3 + "queryables-query-parameters", common3 +
				"queryables"}},
		{Path: "/collections/{collectionId}/items", Op: "getFeatures", Tag: "Data", Summary: "Features",
			Description: "A page of features that match all conditions asked for, with the number of all matches " +
				"and links to the pages beside it.",
			Data: true, Fields: true,
			Params: []*server.Param{paramLimit, paramOffset, selection.ParamCursor, paramBBox, paramBBoxCRS, paramCRS,
				selection.ParamDatetime, selection.ParamDatetimeAlias, paramQ, selection.ParamFilter,
				selection.ParamFilterLang, selection.ParamFilterCRS,
				paramSortBy, paramCollation, selection.ParamProperties, paramSkipGeometry, paramZoomLevel,
				paramResultType, selection.ParamProfile, paramDialect, paramPrecision}, New: selection.New,
			Formats: s.itemsReps(), Schema: featuresSchema, Stream: s.stream(s.items), Asks: true, Kept: true,
			Form: s.form(s.itemsForm),
			Classes: append(cql2Classes(), features1+"geojson", features2+"crs", features3+"filter", features3+
				"features-filter",
				features6+"properties", features6+"properties-features", features7+"zoom-level", features7+
					"zoom-level-features", features8+"sorting", features8+"features-sorting",
				features9+"text-search", features9+"features-text-search", jsonFG+"core", jsonFG+"types-schemas",
				jsonFG+"profiles", jsonFG+"api", common3+"profile-parameter")},
		{Path: "/collections/{collectionId}/download", Op: "getDownload", Tag: "Data",
			Summary: "All features as a file",
			Description: "All features that match all conditions asked for, as one file. Where the answer names a " +
				"state of the data in Content-Location, the file can be resumed under that address.",
			Data: true, Fields: true,
			Params: []*server.Param{paramBBox, paramBBoxCRS, paramCRS, selection.ParamDatetime,
				selection.ParamDatetimeAlias, paramQ, selection.ParamFilter, selection.ParamFilterLang,
				selection.ParamFilterCRS,
				paramSortBy, paramCollation, selection.ParamProperties, paramSkipGeometry, paramZoomLevel,
				selection.ParamProfile, paramDialect, paramPrecision, paramRevision}, New: newDownloadParams,
			Formats: s.downloadReps(), Schema: fileSchema, Stream: s.stream(s.download)},
		{Path: "/collections/{collectionId}/items/{featureId}", Op: "getFeature", Tag: "Data", Summary: "One feature",
			Description: "One feature by its id.",
			Data:        true,
			Params: []*server.Param{paramCRS, selection.ParamProperties, paramSkipGeometry, paramZoomLevel,
				selection.ParamProfile, paramPrecision, paramVersion}, New: newItemParams,
			Formats: []media.Format{media.GeoJSON, media.GeoJSONLD, media.HTML}, Schema: featureSchema,
			Stream: s.stream(s.item), Kept: true},
		{Path: "/collections/{collectionId}/items/{featureId}/versions", Op: "getVersions", Tag: "Data",
			Summary: "All versions of a feature",
			Description: "The time map of a feature (RFC 7089): a link to each of its versions, with the moment " +
				"from which it is valid.",
			Data: true, Versions: true,
			Formats: []media.Format{media.JSON, media.HTML, media.LinkFormat},
			Schema:  server.SchemaNamed("timeMap"), Stream: s.stream(s.versions), Kept: true},
		{Path: "/collections/{collectionId}/sortables", Op: "getSortables", After: "getLineage", Tag: "Collections",
			Summary:     "Properties to sort by",
			Description: "The properties that sortby takes, as JSON Schema.",
			Formats:     []media.Format{media.Schema, media.HTML}, Schema: server.SchemaNamed("jsonSchema"),
			Get: s.get(s.sortables), Classes: []string{common3 + "sortables", features8 + "sortables"}},
	}
}
