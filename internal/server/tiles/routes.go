// Package tiles serves vector tiles: tilesets of a collection and of all data, tiles, TileJSON and styles for map
// libraries, and tile matrix sets.
package tiles

import (
	"net/http"

	"grense/internal/cache"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/server/wire"
)

// Conformance classes of OGC 20-057 and OGC 17-083r4.
const (
	tiles1 = "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/"
	maps1  = "http://www.opengis.net/spec/ogcapi-maps-1/1.0/conf/"
	tms2   = "http://www.opengis.net/spec/tms/2.0/conf/"
)

// surface holds what the handlers of all routes share.
type surface struct {
	*server.Kit
	maps      *drawing.Maps
	tiles     *tileCache
	templates *cache.Cache[templatesKey, string]
	glyphs    *cache.Cache[glyphKey, *wire.Body]
}

// call is a request to a route of the surface.
type call struct {
	*server.Call
	drawing.Drawing
	s        *surface
	pictures bool // the tiles are those of maps
}

func (s *surface) call(c *server.Call) *call { return &call{Call: c, Drawing: s.maps.Drawing(c), s: s} }

func (s *surface) get(h func(*call) (*server.Answer, error)) func(*server.Call) (*server.Answer, error) {
	return func(c *server.Call) (*server.Answer, error) { return h(s.call(c)) }
}

// ofMaps is get for a route of map tiles.
func (s *surface) ofMaps(h func(*call) (*server.Answer, error)) func(*server.Call) (*server.Answer, error) {
	return func(c *server.Call) (*server.Answer, error) { return h(&call{c, s.maps.Drawing(c), s, true}) }
}

func (s *surface) stream(h func(*call, http.ResponseWriter) error) func(*server.Call, http.ResponseWriter) error {
	return func(c *server.Call, w http.ResponseWriter) error { return h(s.call(c), w) }
}

// Routes returns the routes of tiles and tile matrix sets.
func Routes(k *server.Kit, m *drawing.Maps) []server.Route {
	s := &surface{Kit: k, maps: m, tiles: newTileCache(k.Caches, server.KeptOf(k.Config.Limits, tileBytes)),
		templates: newTemplates(k.Caches), glyphs: newGlyphs(k.Caches)}
	return append(s.styleRoutes(), []server.Route{
		{Path: "/collections/{collectionId}/tiles", Op: "collection.vector.getTileSetsList", After: "getSortables",
			Tag: "Tiles", Summary: "Tilesets of a collection",
			Description: "The tile matrix sets in which there are vector tiles of the collection, with the limits " +
				"of each (OGC 20-057).",
			Formats: []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("tileSets"),
			Get: s.get(s.tilesets), Draws: true, Drawn: true,
			Classes: []string{tiles1 + "core", tiles1 + "tilesets-list", tiles1 + "geodata-tilesets",
				tiles1 + "oas30"}},
		{Path: "/collections/{collectionId}/tiles/{tileMatrixSetId}",
			Alias: "/collections/{collectionId}/tiles/{tileMatrixSetId}/metadata", Op: "collection.vector.getTileSet",
			After: "collection.vector.getTileSetsList", Values: tilesHere,
			Tag: "Tiles", Summary: "One tileset of a collection",
			Description: "The layer, limits and address of the tiles of a collection in a tile matrix set. " +
				"TileJSON, for map libraries, is of WebMercatorQuad only.",
			Formats: []media.Format{media.JSON, media.HTML, media.TileJSON},
			Schema:  server.SchemaNamed("tileSet"), New: newTileParams, Get: s.get(s.tileset), Draws: true, Drawn: true,
			Classes: []string{tiles1 + "tileset", tms2 + "json-tilesetmetadata", tms2 + "tilesetmetadata",
				tms2 + "json-tilematrixsetlimits", tms2 + "tilematrixsetlimits"}},
		{Path: "/collections/{collectionId}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}",
			Op: "collection.vector.getTile", After: "collection.vector.getTileSet", Values: tilesHere, Tag: "Tiles",
			Summary: "One tile of a collection",
			Description: "The features in a tile as Mapbox Vector Tile. The layer has the id of the collection; " +
				"204 says that there is nothing in the tile.",
			Data: true, Scope: server.ScopeTiles, Drawn: true, Params: tileFilters, New: newTileParams,
			Formats: []media.Format{media.MVT}, Stream: s.stream(s.tile), Classes: []string{tiles1 + "mvt"}},
		{Path: "/collections/{collectionId}/style", Op: "getStyle", After: "collection.vector.getTile", Tag: "Tiles",
			Summary: "Style of a collection",
			Description: "How the collection may look in a map library: a style of MapLibre (Mapbox style " +
				"specification, version 8) over the tiles in WebMercatorQuad.",
			Params:  []*server.Param{paramTheme},
			Formats: []media.Format{media.Style}, Schema: server.SchemaNamed("mapStyle"), New: newStyleParams,
			Get: s.get(s.style), Drawn: true},
		{Path: "/tiles", Op: "dataset.vector.getTileSetsList", After: "getStyle", Tag: "Tiles",
			Summary: "Tilesets of all data",
			Description: "The tile matrix sets in which there are vector tiles of all collections together, a " +
				"layer for each (OGC 20-057).",
			Formats: []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("tileSets"),
			Get: s.get(s.tilesets), Draws: true, Classes: []string{tiles1 + "dataset-tilesets"}},
		{Path: "/tiles/{tileMatrixSetId}", Alias: "/tiles/{tileMatrixSetId}/metadata",
			Op: "dataset.vector.getTileSet", After: "dataset.vector.getTileSetsList", Values: tilesHere, Tag: "Tiles",
			Summary: "One tileset of all data",
			Description: "The layers, limits and address of tiles in a tile matrix set. TileJSON, for map " +
				"libraries, is of WebMercatorQuad only.",
			Params: []*server.Param{paramCollections}, New: newTileParams,
			Formats: []media.Format{media.JSON, media.HTML, media.TileJSON},
			Schema:  server.SchemaNamed("tileSet"), Get: s.get(s.tileset), Draws: true,
			Classes: []string{tiles1 + "collections-selection"}},
		{Path: "/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}", Op: "dataset.vector.getTile",
			After: "dataset.vector.getTileSet", Values: tilesHere, Tag: "Tiles", Summary: "One tile of all data",
			Description: "The features of several collections in a tile as Mapbox Vector Tile, a layer for each; " +
				"204 says that there is nothing in the tile. Filters hold for each layer.",
			Data: true, Scope: server.ScopeTiles, Params: append([]*server.Param{paramCollections}, tileFilters...),
			New:     newTileParams,
			Formats: []media.Format{media.MVT}, Stream: s.stream(s.tile)},
		{Path: "/style", Op: "getDatasetStyle", After: "dataset.vector.getTile", Tag: "Tiles",
			Summary: "Style of all data",
			Description: "How the data may look in a map library: a style of MapLibre (Mapbox style specification, " +
				"version 8) over the tiles in WebMercatorQuad.",
			Params: []*server.Param{paramCollections, paramTheme}, New: newStyleParams,
			Formats: []media.Format{media.Style}, Schema: server.SchemaNamed("mapStyle"), Get: s.get(s.style)},
		{Path: fontsPath, Op: "getGlyphs", After: "getDatasetStyle", Tag: "Tiles", Summary: "Letters for map libraries",
			Description: "256 letters of a font as signed distance fields, as the styles name them: glyphs of the " +
				"MapLibre style specification. Go Regular, Go Bold and Go Italic stand in for other fonts.",
			Formats: []media.Format{asGlyphs}, Stream: s.stream(s.letters)},
		{Path: "/collections/{collectionId}/map/tiles", Op: "collection.map.getTileSetsList",
			After: "all.dataset.getMap", Tag: "Maps", Summary: "Tilesets of the map of a collection",
			Description: "The tile matrix sets in which there are tiles of the map of the collection (OGC 20-058).",
			Formats:     []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("tileSets"),
			Get: s.ofMaps(s.tilesets), Drawn: true, Classes: []string{maps1 + "tilesets"}},
		{Path: "/collections/{collectionId}/map/tiles/{tileMatrixSetId}", Op: "collection.map.getTileSet",
			After: "collection.map.getTileSetsList", Values: tilesHere, Tag: "Maps",
			Summary:     "One tileset of the map of a collection",
			Description: "The limits and the address of tiles of the map of a collection in a tile matrix set.",
			Formats:     []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("tileSet"),
			New: newTileParams, Get: s.ofMaps(s.tileset), Drawn: true},
		{Path: "/map/tiles", Op: "all.dataset.map.getTileSetsList", After: "collection.map.getTileSet", Tag: "Maps",
			Summary:     "Tilesets of the map of all data",
			Description: "The tile matrix sets in which there are tiles of the map of all data (OGC 20-058).",
			Formats:     []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("tileSets"),
			Get: s.ofMaps(s.tilesets)},
		{Path: "/map/tiles/{tileMatrixSetId}", Op: "all.dataset.map.getTileSet",
			After: "all.dataset.map.getTileSetsList", Values: tilesHere, Tag: "Maps",
			Summary:     "One tileset of the map of all data",
			Description: "The limits and the address of tiles of the map in a tile matrix set.",
			Params:      []*server.Param{paramCollections}, New: newTileParams,
			Formats: []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("tileSet"),
			Get: s.ofMaps(s.tileset)},
		{Path: "/TileMatrixSets", Alias: "/tileMatrixSets", Op: "getTileMatrixSetsList", After: "getFunctions",
			Tag: "Tiling schemes", Summary: "All tile matrix sets",
			Description: "The tile matrix sets that the service knows.",
			Formats:     []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("tileMatrixSets"),
			Get:     s.get(s.tileMatrixSets),
			Classes: []string{tms2 + "tilematrixset", tms2 + "json-tilematrixset"}},
		{Path: "/TileMatrixSets/{tileMatrixSetId}", Alias: "/tileMatrixSets/{tileMatrixSetId}",
			Op: "getTileMatrixSet", After: "getTileMatrixSetsList", Values: allTileSets, Tag: "Tiling schemes",
			Summary:     "One tile matrix set",
			Description: "Coordinate system, origin and levels of a tile matrix set (OGC 17-083r4).",
			Formats:     []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("tileMatrixSet"),
			Get: s.get(s.tileMatrixSet)},
	}...)
}
