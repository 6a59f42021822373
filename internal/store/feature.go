package store

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Feature is one record. It is valid only until the function that receives it returns.
type Feature struct {
	ID       string // Row.ID
	Of       string // of a version: the id of its feature, or VersionID if Want.VersionIDs; "": the row is the feature
	Rev      uint64
	Geometry Geometry // in the collection's storage CRS
	Values   []any    // nil, string, int64, float64, bool or JSON, in the order of Want.Properties
}

// Public returns the id that clients see: Of, or ID if Of is empty.
func (f *Feature) Public() string {
	if f.Of != "" {
		return f.Of
	}
	return f.ID
}

// JSON is a value that is JSON text, without line breaks.
type JSON string

// CompactJSON returns JSON text as a value, without line breaks, which would end a record of line-delimited formats.
func CompactJSON(text string) JSON {
	if !strings.ContainsAny(text, "\n\r") {
		return JSON(text)
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return JSON(text)
	}
	return JSON(b.String())
}

// Geometry is a stored geometry: well-known binary (ISO or extended, either byte order, with or without Z and M),
// x before y, in the storage CRS of its collection. It is empty if the feature has none, and decoded on demand.
type Geometry struct {
	WKB []byte
}

// IsNull reports whether there is no geometry.
func (g Geometry) IsNull() bool { return len(g.WKB) == 0 }
