package server

import (
	"cmp"
	"html/template"
	"strings"
)

// markup is what stands many times on pages, for which templates are slow. It escapes as templates do.
type markup []byte

// add appends markup.
func (m *markup) add(parts ...string) {
	for _, s := range parts {
		*m = append(*m, s...)
	}
}

// text appends a text, for where text or a quoted attribute stands.
func (m *markup) text(s string) { m.add(asMarkup(s)) }

// attribute appends an attribute, unless its value is empty.
func (m *markup) attribute(name, value string) {
	if value != "" {
		m.add(" ", name, `="`, asMarkup(value), `"`)
	}
}

// address appends an address of ours, for a quoted attribute: what may not stand in an address is percent-encoded (RFC 3986, 2).
func (m *markup) address(s string) {
	b := *m
	for i := range len(s) {
		switch c := s[i]; {
		case c == '&':
			b = append(b, "&amp;"...)
		case c == '+':
			b = append(b, "&#43;"...)
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("!#$*,/:;=?@[]-._~", c) >= 0,
			c == '%' && i+2 < len(s) && strings.IndexByte(hexDigits, s[i+1]) >= 0 && strings.IndexByte(hexDigits, s[i+2]) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	*m = b
}

const hexDigits = "0123456789abcdefABCDEF"

// asMarkup escapes a text for where text or a quoted attribute stands.
func asMarkup(s string) string {
	if !strings.ContainsAny(s, "\x00\"'&<>+") {
		return s
	}
	return strings.ReplaceAll(template.HTMLEscapeString(s), "+", "&#43;")
}

// Alternates are the elements of the head that tell the other representations of the page and its other languages.
func (v *page) Alternates() template.HTML {
	var m markup
	for _, f := range v.Formats {
		m.add("\n<link rel=\"alternate\" type=\"", asMarkup(f.Media), `" href="`)
		m.address(f.Href)
		m.add(`">`)
	}
	for _, l := range v.Languages {
		m.add("\n<link rel=\"alternate\" hreflang=\"", l.Tag, `" href="`)
		m.address(l.Href)
		m.add(`">`)
	}
	return template.HTML(m)
}

// FormatItems are the links to the other representations, as elements of a list.
func (v *page) FormatItems() template.HTML {
	var m markup
	for _, f := range v.Formats {
		m.add("\n<li><a href=\"")
		m.address(f.Href)
		m.add(`" type="`, asMarkup(f.Media), `">`, asMarkup(f.Title()), "</a></li>")
	}
	return template.HTML(m)
}

// FootItems are the links that every page ends with, as elements of a list.
func (v *page) FootItems() template.HTML {
	var m markup
	for _, l := range footLinks {
		m.add("\n<li><a href=\"")
		m.address(v.Link(l.path))
		m.add(`">`, asMarkup(v.T(l.text)), "</a></li>")
	}
	return template.HTML(m)
}

var footLinks = [...]struct{ path, text string }{{"", "home"}, {"/collections", "collections.title"}, {"/openapi", "api.title"}, {"/conformance", "conformance.title"}, {"/key", "key.title"},
	{"/about", "about.title"}, {"/accessibility", "accessibility.title"}}

// shortNames are what people call representations, by media type or else by the value of f; others have the value of f as their name.
var shortNames = map[string]string{"application/geo+json": "GeoJSON", "application/schema+json": "JSON Schema", "json": "JSON", "jsonld": "JSON-LD", "csv": "CSV", "yaml": "YAML",
	"geojsonseq": "GeoJSONSeq", "ndjson": "NDJSON", "gpkg": "GeoPackage", "flatgeobuf": "FlatGeobuf", "parquet": "GeoParquet", "topojson": "TopoJSON", "shapefile": "Shapefile", "xlsx": "Excel", "gml": "GML",
	"kml": "KML", "linkformat": "Link-Format", "xsd": "XML Schema", "tilejson": "TileJSON", "atom": "Atom", "jsonfeed": "JSON Feed"}

// Title is what people call the representation.
func (f formatLink) Title() string { return cmp.Or(shortNames[f.Media], shortNames[f.F], f.F) }

// Heads are the heads of the columns.
func (v *itemsView) Heads() template.HTML {
	var m markup
	for _, c := range v.Columns {
		m.add(`<th scope="col"`)
		if c.Number {
			m.add(` class="number"`)
		}
		m.attribute("aria-sort", c.Sorted)
		m.add(">")
		if c.Sort != "" {
			m.add(`<a href="`)
			m.address(c.Sort)
			m.add(`" rel="nofollow">`)
		}
		m.text(c.Title)
		if c.Sort != "" {
			m.add("</a>")
		}
		m.unit(c.Unit)
		m.add("</th>")
	}
	return template.HTML(m)
}

// HTML is the inputs of the field, with their labels and what is wrong with them.
func (f filterField) HTML() template.HTML {
	var m markup
	many := len(f.Inputs) == 2
	if many {
		m.add("\n<fieldset><legend>", asMarkup(f.Title))
		m.unit(f.Unit)
		m.add("</legend>")
	}
	for _, in := range f.Inputs {
		m.add("\n<p><label for=\"q-", asMarkup(in.Name), `">`)
		if many {
			m.text(in.Label)
		} else {
			m.text(f.Title)
			m.unit(f.Unit)
		}
		m.add("</label>\n<input id=\"q-", asMarkup(in.Name), `" name="`, asMarkup(in.Name), `" type="`, in.Type, `"`)
		m.attribute("inputmode", in.Mode)
		m.add(` value="`, asMarkup(in.Value), `"`)
		m.invalid(in.Fault)
		m.add(">")
		m.fault(in.Fault)
		m.add("</p>")
	}
	if many {
		m.add("\n</fieldset>")
	}
	return template.HTML(m)
}

// unit appends the unit of values, unless there is none.
func (m *markup) unit(u string) {
	if u != "" {
		m.add(" (", asMarkup(unitText.Replace(u)), ")")
	}
}

// invalid appends the attributes of an input with a fault; nil is none.
func (m *markup) invalid(f *fieldFault) {
	if f != nil {
		m.add(` aria-invalid="true" aria-describedby="`, asMarkup(f.Target), `-fault"`)
	}
}

// fault appends what is wrong with an input; nil is nothing.
func (m *markup) fault(f *fieldFault) {
	if f == nil {
		return
	}
	m.add("\n<span class=\"fault\" id=\"", asMarkup(f.Target), `-fault">`, asMarkup(f.Text))
	if f.Cure != "" {
		m.add(` <span lang="en">`, asMarkup(f.Cure), "</span>")
	}
	m.add("</span>")
}
