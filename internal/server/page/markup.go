package page

import (
	"cmp"
	"html/template"
	"strings"
)

// Markup builds HTML that a page repeats many times, for which templates are too slow. It escapes as templates do.
type Markup []byte

// Add appends markup.
func (m *Markup) Add(parts ...string) {
	for _, s := range parts {
		*m = append(*m, s...)
	}
}

// Text appends an escaped text, for content or a quoted attribute.
func (m *Markup) Text(s string) { m.Add(AsMarkup(s)) }

// Attribute appends an attribute, unless its value is empty.
func (m *Markup) Attribute(name, value string) {
	if value != "" {
		m.Add(" ", name, `="`, AsMarkup(value), `"`)
	}
}

// Address appends an address for a quoted attribute. It percent-encodes characters that URIs do not allow (RFC 3986,
// section 2). It does not check the scheme.
func (m *Markup) Address(s string) {
	b := *m
	for i := range len(s) {
		switch c := s[i]; {
		case c == '&':
			b = append(b, "&amp;"...)
		case c == '+':
			b = append(b, "&#43;"...)
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			strings.IndexByte("!#$*,/:;=?@[]-._~", c) >= 0,
			c == '%' && i+2 < len(s) && strings.IndexByte(hexDigits, s[i+1]) >= 0 &&
				strings.IndexByte(hexDigits, s[i+2]) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	*m = b
}

const hexDigits = "0123456789abcdefABCDEF"

// AsMarkup escapes a text for content or a quoted attribute.
func AsMarkup(s string) string {
	if !strings.ContainsAny(s, "\x00\"'&<>+") {
		return s
	}
	return strings.ReplaceAll(template.HTMLEscapeString(s), "+", "&#43;")
}

// Alternates returns the elements of the head that link to the other representations of the page
// and its other languages.
func (v *Page) Alternates() template.HTML {
	var m Markup
	for _, f := range v.Formats {
		m.Add("\n<link rel=\"alternate\" type=\"", AsMarkup(f.Media), `" href="`)
		m.Address(f.Href)
		m.Add(`">`)
	}
	for _, l := range v.Languages {
		m.Add("\n<link rel=\"alternate\" hreflang=\"", l.Tag, `" href="`)
		m.Address(l.Href)
		m.Add(`">`)
	}
	return template.HTML(m)
}

// FormatItems returns list items that link to the other representations of the page.
func (v *Page) FormatItems() template.HTML {
	var m Markup
	for _, f := range v.Formats {
		m.Add("\n<li><a href=\"")
		m.Address(f.Href)
		m.Add(`" type="`, AsMarkup(f.Media), `">`, AsMarkup(f.Title()), "</a></li>")
	}
	return template.HTML(m)
}

// FootItems returns the list items of the footer.
func (v *Page) FootItems() template.HTML {
	var m Markup
	for _, l := range footLinks {
		m.Add("\n<li><a href=\"")
		m.Address(v.Link(l.path))
		m.Add(`">`, AsMarkup(v.T(l.text)), "</a></li>")
	}
	return template.HTML(m)
}

var footLinks = [...]struct{ path, text string }{{"", "home"}, {"/collections", "collections.title"},
	{"/openapi", "api.title"}, {"/conformance", "conformance.title"}, {"/key", "key.title"},
	{"/about", "about.title"}, {"/accessibility", "accessibility.title"}}

// shortNames are the titles of representations, by media type or by the value of f. Others are titled by f.
var shortNames = map[string]string{"application/geo+json": "GeoJSON", "application/schema+json": "JSON Schema",
	"json": "JSON", "jsonld": "JSON-LD", "csv": "CSV", "yaml": "YAML",
	"geojsonseq": "GeoJSONSeq", "ndjson": "NDJSON", "gpkg": "GeoPackage", "flatgeobuf": "FlatGeobuf",
	"parquet": "GeoParquet", "topojson": "TopoJSON", "shapefile": "Shapefile", "xlsx": "Excel", "gml": "GML",
	"kml": "KML", "linkformat": "Link-Format", "xsd": "XML Schema", "tilejson": "TileJSON", "atom": "Atom",
	"jsonfeed": "JSON Feed"}

// Title returns the name of the representation for readers.
func (f FormatLink) Title() string { return cmp.Or(shortNames[f.Media], shortNames[f.F], f.F) }

// Unit appends a unit (UCUM) in parentheses; nothing if it is "".
func (m *Markup) Unit(u string) {
	if u != "" {
		m.Add(" (", AsMarkup(unitText.Replace(u)), ")")
	}
}

// Invalid appends the ARIA attributes of an input with an error; nothing if f is nil.
func (m *Markup) Invalid(f *FieldFault) {
	if f != nil {
		m.Add(` aria-invalid="true" aria-describedby="`, AsMarkup(f.Target), `-fault"`)
	}
}

// Fault appends the error of an input; nothing if f is nil.
func (m *Markup) Fault(f *FieldFault) {
	if f == nil {
		return
	}
	m.Add("\n<span class=\"fault\" id=\"", AsMarkup(f.Target), `-fault">`, AsMarkup(f.Text))
	if f.Cure != "" {
		m.Add(` <span lang="en">`, AsMarkup(f.Cure), "</span>")
	}
	m.Add("</span>")
}
