package server

import (
	"grense/api/ogcapi"
	"grense/internal/format/gml"
	"grense/internal/format/output"
	"grense/internal/server/page"
)

// sortables describes what features can be sorted by (OGC API – Features Part 8, draft; OGC 23-058r2).
func (s *Kit) sortables(c *Call) (*Answer, error) { return c.schemaAnswer("sortables") }

// schema describes what features of a collection hold (OGC 23-058r2).
func (s *Kit) schema(c *Call) (*Answer, error) { return c.schemaAnswer("schema") }

// queryables describes what features can be filtered by (OGC 19-079r2, 6.2).
func (s *Kit) queryables(c *Call) (*Answer, error) { return c.schemaAnswer("queryables") }

func (c *Call) schemaAnswer(kind string) (*Answer, error) {
	doc := SchemaDoc(c, kind)
	var derived ogcapi.SchemaProperties
	for i := range c.Collection.Derived {
		if p := &c.Collection.Derived[i]; p.Path == nil {
			derived = append(derived, c.derivedID(p, kind))
		} else if kind == "queryables" {
			doc.Properties = append(doc.Properties, c.schemaProperty(p, kind))
		}
	}
	doc.Properties = append(derived, doc.Properties...)
	if c.Format.F == asXSD.F {
		text, err := gml.Schema(output.Options{Collection: c.Collection, Address: c.Base() + "/collections/" + c.Collection.ID})
		if err != nil {
			return nil, err
		}
		return &Answer{Raw: map[string][]byte{asXSD.F: text}, Links: c.SelfLinks("/collections/" + c.Collection.ID + "/" + kind)}, nil
	}
	return &Answer{JSON: doc, Links: c.SelfLinks("/collections/" + c.Collection.ID + "/" + kind),
		Page: &page.Page{Name: "schema", Title: c.Text(kind + ".title"), Crumbs: c.Crumbs("collection"), Data: schemaView{Schema: doc, Kind: kind}}}, nil
}
