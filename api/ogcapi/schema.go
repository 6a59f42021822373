package ogcapi

import (
	"bytes"
	"encoding/json"
)

// SchemaDialect is the JSON Schema dialect of every schema that we write (OGC 23-058r2).
const SchemaDialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a logical schema of features, application/schema+json: of queryables (OGC 19-079r2, 6.2) or of what is
// returned (OGC 23-058r2). Properties keep their order.
type Schema struct {
	Schema               string           `json:"$schema"`
	ID                   string           `json:"$id"`
	Type                 string           `json:"type"`
	Title                string           `json:"title"`
	Description          string           `json:"description,omitempty"`
	Properties           SchemaProperties `json:"properties"`
	AdditionalProperties bool             `json:"additionalProperties"`
}

// SchemaProperties are properties in order.
type SchemaProperties []SchemaProperty

// SchemaProperty describes one property. Spatial ones have a Format and no Type.
type SchemaProperty struct {
	Name        string       `json:"-"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	Type        Types        `json:"type,omitempty"`
	Format      string       `json:"format,omitempty"`
	Items       *SchemaItems `json:"items,omitempty"` // of an array
	Ref         string       `json:"$ref,omitempty"`
	Enum        []any        `json:"enum,omitempty"`
	Unit        string       `json:"x-ogc-unit,omitempty"` // UCUM
	Role        string       `json:"x-ogc-role,omitempty"`
	Sequence    int          `json:"x-ogc-propertySeq,omitempty"`
	Collection  string       `json:"x-ogc-collectionId,omitempty"`
	CodeList    string       `json:"x-ogc-codelistUri,omitempty"`
}

// Types are JSON types, of which a value has one. A single one is written as a string, which older clients read alone.
type Types []string

// MarshalJSON writes one type as a string, several as an array (JSON Schema 2020-12, Validation 6.1.1).
func (ts Types) MarshalJSON() ([]byte, error) {
	if len(ts) == 1 {
		return json.Marshal(ts[0])
	}
	return json.Marshal([]string(ts))
}

// First is the type besides null; "" when there is none.
func (ts Types) First() string {
	if len(ts) == 0 {
		return ""
	}
	return ts[0]
}

// SchemaItems describes the elements of an array; without a type they are of several.
type SchemaItems struct {
	Type string `json:"type,omitempty"`
}

// MarshalJSON writes an object with one member a property, in order.
func (ps SchemaProperties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(body)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
