package server

import (
	"grense/internal/store"
	"grense/internal/tile"
)

// TileSets are the tile matrix sets in which a collection has tiles; none without geometry.
func TileSets(coll *store.Collection) (sets []*tile.Set) {
	for _, set := range tile.All() {
		if set.Takes(coll) {
			sets = append(sets, set)
		}
	}
	return sets
}

// TilesPath is where the tiles of the route are, below the mount.
func (c *Call) TilesPath() string {
	if c.Collection != nil {
		return "/collections/" + c.Collection.ID + "/tiles"
	}
	return "/tiles"
}

// WebMercator is the set that TileJSON and styles are of: the libraries that read them know no other.
const WebMercator = "WebMercatorQuad"

// Dimensions of geometries by their names in GeoJSON.
var Dimensions = map[string]int{"Point": 0, "MultiPoint": 0, "LineString": 1, "MultiLineString": 1, "Polygon": 2, "MultiPolygon": 2}

// Tiled are the public collections with tiles in a set; nil for any.
func (c *Call) Tiled(set *tile.Set) (colls []*store.Collection) {
	for _, coll := range c.Catalog.Collections {
		if coll.Public && (set == nil && TileSets(coll) != nil || set != nil && set.Takes(coll)) {
			colls = append(colls, coll)
		}
	}
	return colls
}
