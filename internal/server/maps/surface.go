// Package maps serves maps as pictures: of a collection and of all data, in PNG, JPEG, SVG and on a page (OGC API
// Maps 1.0, OGC 20-058), and the same as tiles.
package maps

import (
	"net/http"
	"slices"

	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/server/points"
	"grense/internal/server/styles"
	"grense/internal/server/tiles"
	"grense/internal/style"
)

// maps1 begins the names of conformance classes (OGC 20-058).
const maps1 = "http://www.opengis.net/spec/ogcapi-maps-1/1.0/conf/"

// surface holds what the routes of maps share.
type surface struct {
	*server.Kit
	drawing *drawing.Maps
	points  *points.Indexes
}

// call is a request to the surface.
type call struct {
	*server.Call
	drawing.Drawing
	points.Finder
	s *surface
	p *mapParams

	style *styles.Style // that the path names; nil: none
	file  *style.Style  // layers of one that is not ours
}

func (s *surface) stream(h func(*call, http.ResponseWriter) error) func(*server.Call, http.ResponseWriter) error {
	return func(c *server.Call, w http.ResponseWriter) error {
		return h(&call{Call: c, Drawing: s.drawing.Drawing(c), Finder: s.points.Finder(c), s: s,
			p: c.Params.(*mapParams)}, w)
	}
}

// Representations.
var (
	asPNG  = media.Format{F: "png", Media: "image/png", Alias: "image/png", Binary: true}
	asJPEG = media.Format{F: "jpeg", Media: "image/jpeg", Alias: "jpg", Binary: true}
	asSVG  = media.Format{F: "svg", Media: "image/svg+xml", Alias: "image/svg+xml"}
)

// Routes returns the routes of maps.
func Routes(k *server.Kit, m *drawing.Maps, p *points.Indexes) []server.Route {
	s := &surface{Kit: k, drawing: m, points: p}
	forms := []media.Format{asPNG, asJPEG, asSVG, media.HTML}
	params := append(append([]*server.Param{}, mapParameters...), tiles.Filters...)
	tileParams := append(append([]*server.Param{}, sizeParameters...), tiles.Filters...)
	whole := append([]*server.Param{tiles.ParamCollections}, params...)
	routes := []server.Route{
		{Path: "/collections/{collectionId}/map", Op: "collection.getMap", After: "getStyle", Tag: "Maps",
			Summary: "A map of a collection",
			Description: "The features of the collection as a picture, drawn as its style says: of all of it, or of " +
				"a part of it, in any size up to 4096 by 4096 pixels (OGC 20-058).",
			Data: true, Scope: server.ScopeTiles, Drawn: true, Draws: true, Params: params, New: newMapParams,
			Formats: forms,
			Stream:  s.stream(s.picture), Kept: true,
			Classes: []string{maps1 + "core", maps1 + "collection-map", maps1 + "api-operations", maps1 + "scaling",
				maps1 + "display-resolution", maps1 + "spatial-subsetting", maps1 + "crs",
				maps1 + "background", maps1 + "png", maps1 + "jpeg", maps1 + "svg", maps1 + "html", maps1 + "cors"}},
		{Path: "/map", Op: "all.dataset.getMap", After: "collection.getMap", Tag: "Maps", Summary: "A map of all data",
			Description: "The features of several collections as one picture, the first below the others (OGC " +
				"20-058).",
			Data: true, Scope: server.ScopeTiles, Draws: true, Params: whole, New: newMapParams, Formats: forms,
			Stream: s.stream(s.picture), Kept: true,
			Classes: []string{maps1 + "collections-selection", maps1 + "dataset-map"}},
		{Path: "/collections/{collectionId}/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}",
			Op: "collection.map.getTile", After: "all.dataset.map.getTileSet", Values: tiles.Here, Tag: "Maps",
			Summary: "One tile of the map of a collection",
			Description: "A tile of the map of a collection as a picture, of 256 by 256 pixels or as many as are " +
				"asked for.",
			Data: true, Scope: server.ScopeTiles, Drawn: true, Params: tileParams, New: newTileParams,
			Formats: []media.Format{asPNG, asJPEG},
			Stream:  s.stream(s.tile), Kept: true},
		{Path: "/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}", Op: "all.dataset.map.getTile",
			After: "collection.map.getTile", Values: tiles.Here, Tag: "Maps",
			Summary: "One tile of the map of all data",
			Description: "A tile of the map of several collections as a picture, of 256 by 256 pixels or as many as " +
				"are asked for.",
			Data: true, Scope: server.ScopeTiles, Params: append([]*server.Param{tiles.ParamCollections},
				tileParams...), New: newTileParams,
			Formats: []media.Format{asPNG, asJPEG}, Stream: s.stream(s.tile), Kept: true},
		{Path: "/collections/{collectionId}/legend", Op: "getLegend", After: "all.dataset.map.getTile", Tag: "Maps",
			Summary:     "Legend of the map of a collection",
			Description: "What the symbols on the map of the collection look like.",
			Drawn:       true, Params: lookParameters, New: newMapParams, Formats: []media.Format{asPNG, asSVG},
			Stream: s.stream(s.legend)},
		{Path: "/legend", Op: "getDatasetLegend", After: "getLegend", Tag: "Maps",
			Summary:     "Legend of the map of all data",
			Description: "What the symbols of each collection on the map look like.",
			Params:      append([]*server.Param{tiles.ParamCollections}, lookParameters...), New: newMapParams,
			Formats: []media.Format{asPNG, asSVG}, Stream: s.stream(s.legend)},
	}
	return slices.Concat(routes, s.styledRoutes(params), s.wmsRoute(), s.wmtsRoutes())
}
