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

// TilesPath returns the path of the tiles of a collection, or of all without one, below the mount.
func TilesPath(coll *store.Collection) string {
	if coll != nil {
		return "/collections/" + coll.ID + "/tiles"
	}
	return "/tiles"
}

// WebMercator is the set of TileJSON and styles, since their libraries support no other.
const WebMercator = "WebMercatorQuad"

// Tiled returns the public collections with tiles in a set; nil means any set.
func Tiled(cat *store.Catalog, set *tile.Set) (colls []*store.Collection) {
	for _, coll := range cat.Collections {
		if coll.Public && (set == nil && TileSets(coll) != nil || set != nil && set.Takes(coll)) {
			colls = append(colls, coll)
		}
	}
	return colls
}
