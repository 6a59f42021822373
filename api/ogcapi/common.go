// Package ogcapi holds the JSON documents of the OGC API standards that Grense serves. Each type names its clause;
// members are written in the order of the fields. It uses the standard library only and imports nothing of ours.
package ogcapi

// Link points to another resource (OGC 19-072, 7.4; RFC 8288). Href is absolute.
type Link struct {
	Rel       string `json:"rel"`
	Type      string `json:"type,omitempty"`
	Title     string `json:"title,omitempty"`
	Href      string `json:"href"`
	Hreflang  string `json:"hreflang,omitempty"`
	Length    int64  `json:"length,omitempty"` // bytes
	Templated bool   `json:"templated,omitempty"`
}

// Relation types that are no registered words (http://www.opengis.net/def/rel).
const (
	RelConformance   = "http://www.opengis.net/def/rel/ogc/1.0/conformance"
	RelData          = "http://www.opengis.net/def/rel/ogc/1.0/data"
	RelProcesses     = "http://www.opengis.net/def/rel/ogc/1.0/processes"
	RelExecute       = "http://www.opengis.net/def/rel/ogc/1.0/execute"
	RelResults       = "http://www.opengis.net/def/rel/ogc/1.0/results"
	RelJobList       = "http://www.opengis.net/def/rel/ogc/1.0/job-list"
	RelTilingSchemes = "http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes"
	RelQueryables    = "http://www.opengis.net/def/rel/ogc/1.0/queryables"
	RelSchema        = "http://www.opengis.net/def/rel/ogc/1.0/schema"
	RelSortables     = "http://www.opengis.net/def/rel/ogc/1.0/sortables"
)

// Landing is the landing page (OGC 19-072, 7.2; OGC 17-069r4, 7.2). Extent and CRS are those of the map of all data
// (OGC 20-058, 12).
type Landing struct {
	Links       []Link   `json:"links"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Extent      *Extent  `json:"extent,omitempty"`
	CRS         []string `json:"crs,omitempty"`
	StorageCRS  string   `json:"storageCrs,omitempty"`
}

// Conformance lists the conformance classes of the service (OGC 19-072, 7.5; OGC 17-069r4, 7.4).
type Conformance struct {
	ConformsTo []string `json:"conformsTo"`
}

// Collections is the list of collections (OGC 17-069r4, 7.13).
type Collections struct {
	Collections    []Collection `json:"collections"`
	Links          []Link       `json:"links"`
	NumberMatched  int          `json:"numberMatched"`  // collections on all pages
	NumberReturned int          `json:"numberReturned"` // on this one
}

// Collection describes one collection (OGC 17-069r4, 7.14; storageCrs: OGC 18-058r1, 6.2).
type Collection struct {
	ID          string   `json:"id"`
	Links       []Link   `json:"links"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Keywords    []string `json:"keywords"`
	Extent      *Extent  `json:"extent,omitempty"`
	ItemType    string   `json:"itemType"` // "feature"
	ItemCount   int      `json:"itemCount"`
	CRS         []string `json:"crs"`
	StorageCRS  string   `json:"storageCrs,omitempty"`

	Versioning *Versioning `json:"versioning,omitempty"` // nil: features have no versions
}

// Versioning describes what the time of the versions of features is (draft Versioned Features, collection metadata).
type Versioning struct {
	TimeAxis string `json:"timeAxis"` // "validity-time" or "transaction-time"
}

// Extent bounds the features of a collection in space and time (OGC 17-069r4, 7.14.2).
type Extent struct {
	Spatial  *SpatialExtent  `json:"spatial,omitempty"`
	Temporal *TemporalExtent `json:"temporal,omitempty"`
}

// SpatialExtent holds one box: west, south, east, north in degrees. StorageCRSBBox is a box around it in the storage
// CRS, in the order of its axes (OGC 20-058, /req/collection-map/desc-crs).
type SpatialExtent struct {
	BBox           [][4]float64 `json:"bbox"`
	CRS            string       `json:"crs"`
	StorageCRSBBox [][4]float64 `json:"storageCrsBbox,omitempty"`
}

// TemporalExtent holds one interval of RFC 3339 texts; nil is open.
type TemporalExtent struct {
	Interval [][2]*string `json:"interval"`
	TRS      string       `json:"trs"`
}

// Problem is an error document, application/problem+json (RFC 9457). Code and Description repeat it for clients of
// older servers.
type Problem struct {
	Type        string  `json:"type"` // a URI; "about:blank" when the status says it all
	Title       string  `json:"title"`
	Status      int     `json:"status"`
	Detail      string  `json:"detail,omitempty"`
	Instance    string  `json:"instance,omitempty"` // urn of the request, as in the log
	TraceID     string  `json:"traceId,omitempty"`  // of the header traceparent
	Faults      []Fault `json:"faults,omitempty"`
	Code        string  `json:"code"`
	Description string  `json:"description"`
}

// Fault is one thing that is wrong with a request, a member of Problem.
type Fault struct {
	In    string `json:"in"`
	Name  string `json:"name"`
	Value string `json:"value"`
	Cure  string `json:"cure"`
	Pos   int    `json:"position,omitempty"` // byte in value, from 1
}
