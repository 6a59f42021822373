package ogcapi

// RelStyles is the relation type of styles (OGC 20-009, draft, 7).
const RelStyles = "http://www.opengis.net/def/rel/ogc/1.0/styles"

// Styles lists the styles of a collection or of the dataset (OGC 20-009, draft, /req/core/styles-success).
type Styles struct {
	Title   string      `json:"title,omitempty"`
	Default string      `json:"default,omitempty"` // id of one of the styles
	Styles  []StyleItem `json:"styles"`
	Links   []Link      `json:"links"`
}

// StyleItem is a style in the list.
type StyleItem struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Links []Link `json:"links"` // stylesheet and describedby
}

// StyleMetadata describes a style (OGC 20-009, draft, /req/core/style-md-success).
type StyleMetadata struct {
	ID             string       `json:"id"`
	Title          string       `json:"title,omitempty"`
	Description    string       `json:"description,omitempty"`
	Keywords       []string     `json:"keywords,omitempty"`
	PointOfContact string       `json:"pointOfContact,omitempty"`
	License        string       `json:"license,omitempty"`
	Scope          string       `json:"scope"` // "style"
	Stylesheets    []Stylesheet `json:"stylesheets"`
	Layers         []StyleLayer `json:"layers"`
	Links          []Link       `json:"links"`
}

// Stylesheet is an encoding of a style.
type Stylesheet struct {
	Title         string `json:"title"`
	Version       string `json:"version"`
	Specification string `json:"specification"`
	Native        bool   `json:"native"`
	Link          Link   `json:"link"`
}

// StyleLayer is what a style needs of the data.
type StyleLayer struct {
	ID           string `json:"id"` // of the source layer
	Description  string `json:"description,omitempty"`
	DataType     string `json:"dataType"`     // "vector"
	GeometryType string `json:"geometryType"` // points, lines, polygons or any
	SampleData   *Link  `json:"sampleData,omitempty"`
}
