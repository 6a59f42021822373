package features

import (
	"grense/api/ogcapi"
	"grense/internal/format/gml"
	"grense/internal/format/output"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/schema"
	"grense/internal/store"
)

// sortables describes the properties that features can be sorted by (OGC API – Features Part 8, draft; OGC 23-058r2).
func (s *surface) sortables(c *call) (*server.Answer, error) { return c.schemaAnswer("sortables") }

// schema describes the properties of the features of a collection (OGC 23-058r2).
func (s *surface) schema(c *call) (*server.Answer, error) { return c.schemaAnswer("schema") }

// queryables describes the properties that features can be filtered by (OGC 19-079r2, 6.2).
func (s *surface) queryables(c *call) (*server.Answer, error) { return c.schemaAnswer("queryables") }

func (c *call) schemaAnswer(kind string) (*server.Answer, error) {
	w := schema.Writer{Lang: c.Lang, Base: c.Base()}
	doc := w.Doc(c.Collection, kind)
	var derived ogcapi.SchemaProperties
	for i := range c.Collection.Derived {
		if p := &c.Collection.Derived[i]; p.Path == nil {
			derived = append(derived, c.derivedID(p, kind))
		} else if kind == "queryables" {
			doc.Properties = append(doc.Properties, w.Property(c.Collection, p, kind))
		}
	}
	doc.Properties = append(derived, doc.Properties...)
	if c.Format.F == media.XSD.F {
		text, err := gml.Schema(output.Options{Collection: c.Collection, Address: c.Base() + "/collections/" +
			c.Collection.ID})
		if err != nil {
			return nil, err
		}
		return &server.Answer{Raw: map[string][]byte{media.XSD.F: text},
			Links: c.SelfLinks("/collections/" + c.Collection.ID + "/" + kind)}, nil
	}
	return &server.Answer{JSON: doc, Links: c.SelfLinks("/collections/" + c.Collection.ID + "/" + kind),
		Page: &page.Page{Name: "schema", Title: c.Text(kind + ".title"), Crumbs: c.Crumbs("collection"),
			Data: schemaView{Schema: doc, Kind: kind}}}, nil
}

// SchemaView is the data of the pages of schema, queryables and sortables.
type schemaView struct {
	ogcapi.Schema
	Kind string
}

// derivedID describes the feature id. As the member id of a feature it is a text (OGC 23-058r2, 10), but filters and
// orders compare whole numbers as such.
func (c *call) derivedID(p *store.Property, kind string) ogcapi.SchemaProperty {
	out := ogcapi.SchemaProperty{Name: p.Name, Title: p.Name, Type: ogcapi.Types{"string"}, Role: "id"}
	if kind != "schema" {
		typ, _ := schema.TypeOf(p.Type)
		out.Type = ogcapi.Types{typ}
	}
	return out
}
