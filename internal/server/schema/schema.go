// Package schema describes collections and their properties in JSON Schema.
package schema

import (
	"strconv"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/server/page"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

// Writer writes schemas in a language, with addresses below a base URL.
type Writer struct{ Lang, Base string }

// Doc returns a JSON Schema of a collection. kind is "schema"; "queryables" leaves out properties that cannot be
// filtered by, "sortables" those without an order.
func (w Writer) Doc(coll *store.Collection, kind string) ogcapi.Schema {
	doc := ogcapi.Schema{Schema: ogcapi.SchemaDialect, ID: w.Base + "/collections/" + coll.ID + "/" + kind,
		Type: "object", Title: coll.TitleIn(w.Lang),
		Description: coll.Description.In(w.Lang), Properties: ogcapi.SchemaProperties{}}
	if g := coll.Geometry; g != nil && kind != "sortables" {
		p := ogcapi.SchemaProperty{Name: g.Name, Title: page.Text(w.Lang, "geometry"), Format: GeometryFormat(g.Type),
			Role: "primary-geometry"}
		doc.Properties = append(doc.Properties, p)
	}
	for i := range coll.Properties {
		p := &coll.Properties[i]
		if p.Hidden || kind == "queryables" && queryable.Field(coll, p.Name) == nil && p.Items == "" ||
			kind == "sortables" && !queryable.Simple(p.Type) {
			continue
		}
		doc.Properties = append(doc.Properties, w.Property(coll, p, kind))
	}
	return doc
}

// Property describes a property of a collection. With kind "schema", every value of every feature is valid, also null.
func (w Writer) Property(coll *store.Collection, p *store.Property, kind string) ogcapi.SchemaProperty {
	out := ogcapi.SchemaProperty{Name: p.Name, Title: p.TitleIn(w.Lang), Description: p.Description.In(w.Lang),
		Unit: p.Unit, CodeList: p.CodeList, Role: role(coll, p)}
	typ, format := TypeOf(p.Type)
	out.Type, out.Format = ogcapi.Types{typ}, format
	if p.Items != "" {
		out.Type, out.Items = ogcapi.Types{"array"}, &ogcapi.SchemaItems{}
		if p.Items != "any" {
			out.Items.Type = p.Items
		}
	} else if p.Type == cql2.TypeJSON && kind == "schema" {
		out.Type = append(out.Type, "array", "string", "number", "boolean")
	}
	for _, v := range p.Enum {
		out.Enum = append(out.Enum, enumValue(v, p.Type))
	}
	if kind == "schema" && !p.NotNull {
		out.Type = append(out.Type, "null")
		if out.Enum != nil {
			out.Enum = append(out.Enum, nil)
		}
	}
	if strings.HasPrefix(p.CodeList, "/") { // a list of ours
		out.CodeList = w.Base + p.CodeList
	}
	if p.Ref != "" {
		out.Collection = p.Ref
		if out.Role == "" {
			out.Role = "reference"
		}
	}
	return out
}

// enumValue returns an allowed value in the JSON type of its property.
func enumValue(v string, t cql2.Type) any {
	switch t {
	case cql2.TypeInteger:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
	case cql2.TypeNumber:
		if x, err := strconv.ParseFloat(v, 64); err == nil && x-x == 0 {
			return x
		}
	case cql2.TypeBool:
		if v == "1" || strings.EqualFold(v, "true") {
			return true
		}
		return false
	}
	return v
}

// role returns the x-ogc-role of a property (OGC 23-058r2).
func role(coll *store.Collection, p *store.Property) string {
	switch p.Name {
	case coll.Key.Property:
		return "id"
	case coll.Instant:
		return "primary-instant"
	case coll.IntervalStart:
		return "primary-interval-start"
	case coll.IntervalEnd:
		return "primary-interval-end"
	}
	return ""
}

// TypeOf returns the JSON Schema type and format of a property: a single type, since clients read only one.
func TypeOf(t cql2.Type) (typ, format string) {
	switch t {
	case cql2.TypeInteger:
		return "integer", ""
	case cql2.TypeNumber:
		return "number", ""
	case cql2.TypeBool:
		return "boolean", ""
	case cql2.TypeDate:
		return "string", "date"
	case cql2.TypeTimestamp:
		return "string", "date-time"
	case cql2.TypeJSON:
		return "object", ""
	}
	return "string", ""
}

var geometryFormats = map[string]string{"Point": "geometry-point", "MultiPoint": "geometry-multipoint",
	"LineString": "geometry-linestring", "MultiLineString": "geometry-multilinestring",
	"Polygon": "geometry-polygon", "MultiPolygon": "geometry-multipolygon",
	"GeometryCollection": "geometry-geometrycollection"}

// GeometryFormat returns the format of a geometry of a type (OGC 23-058r2).
func GeometryFormat(name string) string {
	if f, ok := geometryFormats[name]; ok {
		return f
	}
	return "geometry-any"
}
