package server

import (
	"grense/internal/store"
	"grense/internal/tile"
)

// TileSets returns the tile matrix sets in which a collection has tiles; none if it has no geometry.
func TileSets(coll *store.Collection) (sets []*tile.Set) {
	for _, set := range tile.All() {
		if set.Takes(coll) {
			sets = append(sets, set)
		}
	}
	return sets
}

// TilesPath returns the path of the route's tiles below the mount.
func (c *Call) TilesPath() string {
	if c.Collection != nil {
		return "/collections/" + c.Collection.ID + "/tiles"
	}
	return "/tiles"
}

// WebMercator is the set of TileJSON and styles, since their libraries support no other.
const WebMercator = "WebMercatorQuad"

// Dimensions maps GeoJSON types to the dimension of their geometries.
var Dimensions = map[string]int{"Point": 0, "MultiPoint": 0, "LineString": 1, "MultiLineString": 1, "Polygon": 2,
	"MultiPolygon": 2}

// Tiled returns the public collections with tiles in a set; nil means any set.
func (c *Call) Tiled(set *tile.Set) (colls []*store.Collection) {
	for _, coll := range c.Catalog.Collections {
		if coll.Public && (set == nil && TileSets(coll) != nil || set != nil && set.Takes(coll)) {
			colls = append(colls, coll)
		}
	}
	return colls
}
