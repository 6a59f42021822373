package server

import (
	"strings"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// Encodings of a filter (OGC 19-079r2, 7.3). cql-text is the name that older clients know.
var filterLangs = []string{"cql2-text", "cql2-json", "cql-text"}

var (
	paramFilter = &param{Name: "filter", Description: "Only features for which this CQL2 expression is true", Schema: schemaString,
		parse: func(c *call, v []string) error { c.filter, c.hasFilter = v[0], true; return nil }}

	paramQ = &param{Name: "q", Description: "Only features with these words in a text: the beginning of a word is enough; case, accents and letters such as ø and o count as equal. " +
		"Words separated by blanks stand in that order, a comma separates alternatives. Without sortby the best matches come first",
		Schema: map[string]any{"type": "string", "minLength": 1, "maxLength": 200},
		parse: func(c *call, v []string) (err error) {
			c.terms, err = cql2.ParseSearch(v[0])
			return err
		}}

	paramFilterLang = &param{Name: "filter-lang", Description: "Encoding of filter", Schema: map[string]any{"type": "string", "enum": filterLangs, "default": filterLangs[0]},
		parse: func(c *call, v []string) error {
			for _, l := range filterLangs {
				if v[0] == l {
					c.filterJSON = l == "cql2-json"
					return nil
				}
			}
			return problem.Invalidf("filter-lang", v[0], "use one of %s", strings.Join(filterLangs, ", "))
		}}

	paramFilterCRS = &param{Name: "filter-crs", Description: "CRS of the geometries in filter: one of the collection's crs; default CRS84", Schema: schemaURI,
		parse: func(c *call, v []string) (err error) {
			c.filterCRS, _, err = c.parseCRS("filter-crs", v[0])
			return err
		}}

	paramProperties = &param{Name: "properties", Description: "Properties to return, separated by commas; id and links always stay, the geometry only when it is named",
		Schema: map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "minLength": 1}},
		parse:  func(c *call, v []string) error { return c.parseProperties(v[0]) }}

	paramSkipGeometry = &param{Name: "skipGeometry", Description: "Leave the geometry out", Schema: map[string]any{"type": "boolean", "default": false},
		parse: func(c *call, v []string) error {
			switch v[0] {
			case "true":
				c.skipGeometry = true
			case "false":
			default:
				return problem.Invalidf("skipGeometry", v[0], "use true or false")
			}
			return nil
		}}

	paramCollation = &param{Name: "collation", Description: "Order of texts in sortby: codepoint, or nb for the Norwegian alphabet with æ, ø, å after z",
		Schema: map[string]any{"type": "string", "enum": []string{"codepoint", "nb"}, "default": "codepoint"},
		parse: func(c *call, v []string) error {
			switch v[0] {
			case "nb":
				c.norwegian = true
			case "codepoint":
			default:
				return problem.Invalidf("collation", v[0], "use codepoint or nb")
			}
			return nil
		}}

	paramResultType = &param{Name: "resulttype", Description: "hits counts the features and returns none", Schema: map[string]any{"type": "string", "enum": []string{"results", "hits"}, "default": "results"},
		parse: func(c *call, v []string) error {
			switch v[0] {
			case "hits":
				c.hits = true
			case "results":
			default:
				return problem.Invalidf("resulttype", v[0], "use results or hits")
			}
			return nil
		}}
)

// parseFilter reads filter, after all other parameters, since its meaning depends on filter-lang and filter-crs.
func (c *call) parseFilter() (cql2.Expr, error) {
	in := c.filterCRS
	if in == 0 {
		in = crs.CRS84
	}
	var e cql2.Expr
	var err error
	if c.filterJSON {
		e, err = cql2.ParseJSONIn([]byte(c.filter), in)
	} else {
		e, err = cql2.ParseTextIn(c.filter, in)
	}
	if err != nil {
		return nil, err
	}
	if e, err = cql2.Check(e, public{c.coll}); err != nil {
		return nil, cql2.Locate(err, c.filter)
	}
	return e, nil
}

// public is the schema that a client's filter may name: without the properties that are ours.
type public struct{ *store.Collection }

func (p public) Property(name string) (cql2.Type, bool) {
	if x, ok := p.Find(name); ok && x.Hidden {
		return 0, false
	}
	return p.Collection.Property(name)
}

// parseProperties reads the list of properties to return (OGC API – Features Part 6, draft).
func (c *call) parseProperties(v string) error {
	c.properties, c.skipGeometry = []string{}, true
	seen := map[string]bool{}
	for name := range strings.SplitSeq(v, ",") {
		if seen[name] {
			return problem.Invalidf("properties", v, "name each property once; %s stands twice", clip(name))
		}
		seen[name] = true
		if g := c.coll.Geometry; g != nil && name == g.Name {
			c.skipGeometry = false
			continue
		}
		if p, ok := c.coll.Find(name); !ok || p.Hidden {
			return problem.Invalidf("properties", v, "name properties of the collection: %s", strings.Join(c.coll.Names(), ", "))
		}
		c.properties = append(c.properties, name)
	}
	return nil
}

// sortables describes what features can be sorted by (OGC API – Features Part 8, draft; OGC 23-058r2).
func (s *Server) sortables(c *call) (*answer, error) { return c.schemaAnswer("sortables") }

// functionsDoc lists the functions that filters may call (OGC 19-079r2, 6.4).
type functionsDoc struct {
	Functions []functionDoc `json:"functions"`
}

type functionDoc struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Arguments   []argumentDoc `json:"arguments"`
	Returns     []string      `json:"returns"`
}

type argumentDoc struct {
	Type []string `json:"type"`
}

var functionTypes = map[cql2.Type]string{cql2.TypeText: "string", cql2.TypeInteger: "integer", cql2.TypeNumber: "number", cql2.TypeBool: "boolean", cql2.TypeDate: "date", cql2.TypeTimestamp: "datetime", cql2.TypeGeometry: "geometry"}

// functions lists the functions besides those of the standard's own classes.
func (s *Server) functions(c *call) (*answer, error) {
	doc := functionsDoc{}
	for _, f := range cql2.Functions {
		d := functionDoc{Name: f.Name, Description: f.Description, Returns: []string{functionTypes[f.Returns]}}
		for _, a := range f.Args {
			d.Arguments = append(d.Arguments, argumentDoc{Type: []string{functionTypes[a]}})
		}
		doc.Functions = append(doc.Functions, d)
	}
	links := append(c.selfLinks("/functions"), ogcapi.Link{Rel: "describedby", Type: "text/html", Href: "https://docs.ogc.org/is/21-065r2/21-065r2.html", Title: "Common Query Language (CQL2)", Hreflang: "en"})
	return &answer{JSON: doc, Links: links, Page: &page{Name: "functions", Title: c.text("functions.title"), Data: doc}}, nil
}
