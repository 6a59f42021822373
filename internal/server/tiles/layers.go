package tiles

import (
	"strings"

	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/store"
)

// Layers are the parameters of tiles, and of maps, which are drawn of them: those of a collection, or of the dataset
// with a layer for each of several collections.
type Layers = tileParams

// layered is the struct of a route that has Layers.
type layered interface{ layersOf() *Layers }

func (p *tileParams) layersOf() *Layers { return p }

// NewLayers returns the layers of a call: that of its collection, or of all collections that have tiles.
func NewLayers(c *server.Call) *Layers { return newTileParamsOf(c, nil) }

// NewTileLayers returns the layers of a call whose path names a tile matrix set: those with tiles in it.
func NewTileLayers(c *server.Call) *Layers {
	return newTileParamsOf(c, tileSet(c.PathParam("tileMatrixSetId")))
}

// Calls returns the call as if it asked for the features of each layer's collection, in the order of the layers.
func (p *tileParams) Calls() []*server.Call { return p.layers }

// Choose makes the layers those of collections: ids or addresses with commas between them.
func (p *tileParams) Choose(c *server.Call, list string) error { return p.choose(c, list) }

// Collections returns the collections of the layers.
func (p *tileParams) Collections() []*store.Collection { return p.collections() }

// Parameters of routes that have Layers: those that choose features, and the one that chooses collections.
var (
	Filters          = tileFilters
	ParamCollections = paramCollections
)

// Here lists the tile matrix sets in which there are tiles, as values of a variable of the path.
var Here = tilesHere

// tilesPath returns where the tiles of the route are, below the mount.
func (c *call) tilesPath() string {
	path := server.TilesPath(c.Collection)
	if c.pictures {
		path = strings.TrimSuffix(path, "/tiles") + "/map/tiles"
	}
	return path
}

// form is the representation of the tiles.
func (c *call) form() media.Format {
	if c.pictures {
		return media.PNG
	}
	return media.MVT
}

// dataType is the kind of the tiles (OGC 17-083r4, 8).
func (c *call) dataType() string {
	if c.pictures {
		return "map"
	}
	return "vector"
}

// listTitle is the title of the list of tilesets.
func (c *call) listTitle() string {
	if c.pictures {
		return c.Text("tilesets.maps")
	}
	return c.Text("tilesets.title")
}
