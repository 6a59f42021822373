package ogcapi

// Relation types of tiles (OGC 20-057, 8 to 10; OGC 20-009 for stylesheet, which is registered).
const (
	RelMap            = "http://www.opengis.net/def/rel/ogc/1.0/map"
	RelTilesetsMap    = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-map"
	RelTilesetsVector = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector"
	RelTilingScheme   = "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme"
)

// TileSets is the list of the tilesets of a collection or of the dataset (OGC 20-057, 9.2).
type TileSets struct {
	Title    string        `json:"title,omitempty"`
	Tilesets []TileSetItem `json:"tilesets"`
	Links    []Link        `json:"links"`
}

// TileSetItem is a tileset in TileSets (OGC 17-083r4, TileSet metadata, the members of a list; the limits besides, as
// clients look for them).
type TileSetItem struct {
	Title               string             `json:"title,omitempty"`
	DataType            string             `json:"dataType"` // "vector"
	CRS                 string             `json:"crs"`      // URI
	TileMatrixSetURI    string             `json:"tileMatrixSetURI"`
	TileMatrixSetID     string             `json:"tileMatrixSetId"`
	TileMatrixSetLimits []TileMatrixLimits `json:"tileMatrixSetLimits"`
	Links               []Link             `json:"links"`
}

// TileSet describes a tileset (OGC 17-083r4, 8). MinZoom and MaxZoom repeat the first and last matrix of the limits
// for clients that count levels.
type TileSet struct {
	Title               string             `json:"title,omitempty"`
	Description         string             `json:"description,omitempty"`
	Keywords            []string           `json:"keywords,omitempty"`
	Attribution         string             `json:"attribution,omitempty"`
	License             string             `json:"license,omitempty"`
	AccessConstraints   string             `json:"accessConstraints"` // "unclassified"
	DataType            string             `json:"dataType"`          // "vector"
	CRS                 string             `json:"crs"`               // URI
	TileMatrixSetURI    string             `json:"tileMatrixSetURI"`
	TileMatrixSetID     string             `json:"tileMatrixSetId"`
	TileMatrixSetLimits []TileMatrixLimits `json:"tileMatrixSetLimits"`
	BoundingBox         *BoundingBox       `json:"boundingBox,omitempty"` // of the data, in CRS84
	MinZoom             *int               `json:"minzoom,omitempty"`
	MaxZoom             *int               `json:"maxzoom,omitempty"`
	MediaTypes          []string           `json:"mediaTypes"`
	Layers              []TileLayer        `json:"layers"`
	Links               []Link             `json:"links"`
}

// TileMatrixLimits says which tiles of a matrix hold data (OGC 17-083r4, 7.2); the ends are in.
type TileMatrixLimits struct {
	TileMatrix string `json:"tileMatrix"`
	MinTileRow int    `json:"minTileRow"`
	MaxTileRow int    `json:"maxTileRow"`
	MinTileCol int    `json:"minTileCol"`
	MaxTileCol int    `json:"maxTileCol"`
}

// TileLayer is a layer of the tiles of a tileset (OGC 17-083r4, GeospatialData).
type TileLayer struct {
	ID                string       `json:"id"` // its name in the tiles: the id of its collection
	Title             string       `json:"title,omitempty"`
	Description       string       `json:"description,omitempty"`
	DataType          string       `json:"dataType"` // "vector"
	GeometryDimension *int         `json:"geometryDimension,omitempty"`
	MinTileMatrix     string       `json:"minTileMatrix,omitempty"`
	MaxTileMatrix     string       `json:"maxTileMatrix,omitempty"`
	BoundingBox       *BoundingBox `json:"boundingBox,omitempty"` // in CRS84
	PropertiesSchema  LayerSchema  `json:"propertiesSchema"`
	Links             []Link       `json:"links,omitempty"`
}

// LayerSchema describes the properties of the features of a layer, as JSON Schema.
type LayerSchema struct {
	Type       string                   `json:"type"` // "object"
	Properties map[string]LayerProperty `json:"properties"`
}

// LayerProperty is a property in LayerSchema.
type LayerProperty struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"` // "": any
	Format      string `json:"format,omitempty"`
}
