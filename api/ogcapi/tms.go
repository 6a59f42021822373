package ogcapi

// TileMatrixSet is the definition of a tiling scheme in the JSON encoding of OGC 17-083r4 (TMS 2.0).
type TileMatrixSet struct {
	Title string `json:"title"`
	CRS   string `json:"crs"` // URI
	ID    string `json:"id"`
	URI   string `json:"uri"`
	// as the CRS's authority orders them; so are all coordinates of the document
	OrderedAxes       []string     `json:"orderedAxes"`
	WellKnownScaleSet string       `json:"wellKnownScaleSet,omitempty"`
	BoundingBox       *BoundingBox `json:"boundingBox,omitempty"`
	TileMatrices      []TileMatrix `json:"tileMatrices"`
	Links             []Link       `json:"links,omitempty"`
}

// TileMatrix is one level of a TileMatrixSet (OGC 17-083r4).
type TileMatrix struct {
	ID               string     `json:"id"`
	ScaleDenominator float64    `json:"scaleDenominator"` // with pixels of 0.28 mm
	CellSize         float64    `json:"cellSize"`         // in units of the CRS
	CornerOfOrigin   string     `json:"cornerOfOrigin"`   // "topLeft"
	PointOfOrigin    [2]float64 `json:"pointOfOrigin"`
	TileWidth        int        `json:"tileWidth"`  // cells
	TileHeight       int        `json:"tileHeight"` // cells
	MatrixWidth      int        `json:"matrixWidth"`
	MatrixHeight     int        `json:"matrixHeight"`
}

// BoundingBox is a box in a CRS (OGC 17-083r4, 2DBoundingBox), coordinates in the order of OrderedAxes.
type BoundingBox struct {
	LowerLeft   [2]float64 `json:"lowerLeft"`
	UpperRight  [2]float64 `json:"upperRight"`
	CRS         string     `json:"crs,omitempty"` // URI
	OrderedAxes []string   `json:"orderedAxes,omitempty"`
}

// TileMatrixSets is the list of the tiling schemes that a server knows (OGC 20-057, resource /tileMatrixSets).
type TileMatrixSets struct {
	TileMatrixSets []TileMatrixSetItem `json:"tileMatrixSets"`
	Links          []Link              `json:"links,omitempty"`
}

// TileMatrixSetItem names one tiling scheme in TileMatrixSets and links to its definition.
type TileMatrixSetItem struct {
	Title string `json:"title"`
	ID    string `json:"id"`
	URI   string `json:"uri"`
	CRS   string `json:"crs,omitempty"` // URI
	Links []Link `json:"links"`
}
