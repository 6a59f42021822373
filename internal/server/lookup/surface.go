// Package lookup finds divisions at a point, and features of all collections by words.
package lookup

import (
	"net/http"

	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/server/page"
	"grense/internal/server/points"
	"grense/internal/server/selection"
)

// surface holds what the handlers of all routes share.
type surface struct {
	*server.Kit
	codes   *codes.Codes
	maps    *drawing.Maps
	names   *names.Names
	points  *points.Indexes
	divided *divisionCache
}

// call is a request to a route of the surface.
type call struct {
	*server.Call
	codes.Reader
	drawing.Drawing
	names.Namer
	points.Finder
	s *surface
}

func (s *surface) call(c *server.Call) *call {

	return &call{c, s.codes.Reader(c), s.maps.Drawing(c), s.names.Namer(c), s.points.Finder(c), s}

}

func (s *surface) stream(h func(*call, http.ResponseWriter) error) func(*server.Call, http.ResponseWriter) error {
	return func(c *server.Call, w http.ResponseWriter) error { return h(s.call(c), w) }
}

// pageMaker returns the page of a form with errors.
type pageMaker func(*server.Call, page.Faulty) (*page.Page, error)

func (s *surface) form(h func(*call, page.Faulty) (*page.Page, error)) pageMaker {
	return func(c *server.Call, f page.Faulty) (*page.Page, error) { return h(s.call(c), f) }
}

// Routes returns the routes /lookup and /search.
func Routes(k *server.Kit, h *codes.Codes, n *names.Names, m *drawing.Maps, p *points.Indexes) []server.Route {
	s := &surface{Kit: k, codes: h, names: n, maps: m, points: p, divided: newDivisionCache(k.Caches)}
	return []server.Route{
		{Path: "/lookup", Op: "lookup", After: "getTileMatrixSet", Tag: "Data", Summary: "The divisions at a point",
			Description: "Codes, names and properties of every division that covers a point or has it on its " +
				"border, the largest kind first, in one response. If there are none, the response has the nearest " +
				"division and its distance.",
			Data: true,
			Params: []*server.Param{paramLon, paramLat, paramLookupCRS, paramLookupCollections, paramLookupTime,
				selection.ParamProfile},
			New: newLookupParams, Formats: []media.Format{media.GeoJSON, media.HTML},
			Schema: server.SchemaNamed("lookup"), Stream: s.stream(s.lookup), Kept: true, Form: s.form(s.lookupForm)},
		{Path: "/search", Op: "search", After: "lookup", Tag: "Data", Summary: "Search in all collections",
			Description: "The best hits of each collection, divisions first, with their type and location. A word " +
				"for a kind of division (kommune, fylke, county and the like) selects the collection, a word for a " +
				"type of place (by, farm) the places of that type. The page of a position redirects to /lookup.",
			Data: true, Params: []*server.Param{paramSearch}, New: newSearchParams,
			Formats: []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("search"),
			Stream: s.stream(s.search), Form: s.form(s.searchForm)},
	}
}
