package wire

import (
	"slices"
	"strconv"
	"strings"

	"grense/api/ogcapi"
)

// linkSafe escapes characters that would end the value of a link.
var linkSafe = strings.NewReplacer("<", "%3C", ">", "%3E", `"`, "%22", "\r", "", "\n", "")

func safeInLink(s string) string {
	for _, b := range [...]byte{'<', '>', '"', '\r', '\n'} { // each with vector instructions
		if strings.IndexByte(s, b) >= 0 {
			return linkSafe.Replace(s)
		}
	}
	return s
}

// manyLinks is the number of links up to which all of them are repeated in the header. Beyond it, the header has only
// leading relations.
const manyLinks = 10

// leading are the relations that programs need to find their way.
var leading = [...]string{"self", "alternate", "service-desc", "service-doc", "conformance", "data", "items", "license"}

// LedBy returns the links of a document that its header repeats (OGC 17-069r4, /rec/core/link-header).
func LedBy(links []ogcapi.Link) []ogcapi.Link {
	if len(links) <= manyLinks {
		return links
	}
	var few []ogcapi.Link
	for _, l := range links {
		if slices.Contains(leading[:], l.Rel) {
			few = append(few, l)
		}
	}
	return few
}

// maxLinks limits the header Link, in bytes: many programs and proxies refuse headers of 8 KB.
const maxLinks = 4 << 10

// LinkHeader writes links as the value of the header Link (RFC 8288, 3), without templated links. If a long filter
// makes the header too long, links to the document itself are left out first, then others. The document has all
// links, except for CSV, which then is paged by offset.
func LinkHeader(links []ogcapi.Link) string {
	itself := func(l *ogcapi.Link) bool { return l.Rel == "self" || l.Rel == "alternate" }
	left, all := maxLinks, 0 // left for links to the document itself
	for i := range links {
		l := &links[i]
		all += sizeInHeader(l)
		if !l.Templated && !itself(l) && sizeInHeader(l) <= left {
			left -= sizeInHeader(l)
		}
	}
	var b strings.Builder
	b.Grow(min(all, maxLinks))
	rest := maxLinks
	for i := range links {
		l := &links[i]
		if n := sizeInHeader(l); l.Templated || n > rest || itself(l) && n > left {
			continue
		} else if rest -= n; itself(l) {
			left -= n
		}
		writeLink(&b, l)
	}
	return b.String()
}

// sizeInHeader returns the bytes that LinkHeader counts for a link.
func sizeInHeader(l *ogcapi.Link) int {
	return len(l.Href) + len(l.Rel) + len(l.Type) + len(`<>; rel=""; type="", `)
}

// writeLink appends a link.
func writeLink(b *strings.Builder, l *ogcapi.Link) {
	if b.Len() > 0 {
		b.WriteString(", ")
	}
	b.WriteByte('<')
	b.WriteString(safeInLink(l.Href))
	b.WriteString(`>; rel="`)
	b.WriteString(safeInLink(l.Rel))
	b.WriteByte('"')
	if l.Type != "" {
		b.WriteString(`; type="`)
		b.WriteString(safeInLink(l.Type))
		b.WriteByte('"')
	}
}

// AppendLinks appends links, encoded as by Marshal.
func AppendLinks(b []byte, links []ogcapi.Link) []byte {
	if links == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i := range links {
		l := &links[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(append(b, `{"rel":`...), l.Rel)
		if l.Type != "" {
			b = AppendText(append(b, `,"type":`...), l.Type)
		}
		if l.Title != "" {
			b = AppendText(append(b, `,"title":`...), l.Title)
		}
		b = AppendText(append(b, `,"href":`...), l.Href)
		if l.Hreflang != "" {
			b = AppendText(append(b, `,"hreflang":`...), l.Hreflang)
		}
		if l.Length != 0 {
			b = strconv.AppendInt(append(b, `,"length":`...), l.Length, 10)
		}
		if l.Templated {
			b = append(b, `,"templated":true`...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// LinkTemplates returns templated links as the value of the header Link-Template (RFC 9652, 2).
func LinkTemplates(links []ogcapi.Link) string {
	var b []byte
	for _, l := range links {
		if !l.Templated {
			continue
		}
		if b != nil {
			b = append(b, ", "...)
		}
		b = append(b, strconv.Quote(linkSafe.Replace(l.Href))+`; rel="`+linkSafe.Replace(l.Rel)+`"; type="`+
			linkSafe.Replace(l.Type)+`"`...)
	}
	return string(b)
}
