package page

import (
	"html/template"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Value is a value as pages show it. Codes and ids of features are shown with the title of what they refer to.
type Value struct {
	Text   string
	Code   string  // the value itself, if Text is a title for it; else ""
	Href   string  // of the page of the code or feature; "" if there is none
	Away   bool    // Href is the value itself, an address on the web
	Lang   string  // of Text, a BCP 47 tag; "" if unknown
	Number bool    // Code consists of digits: it is written before the title
	Time   string  // the date or RFC 3339 time that Text shows; "" if it shows none
	Parts  []Value // the elements of a list, which are written instead of Text; nil if the value is no list
}

// maxAddress is the largest length of an address that becomes a link, in bytes.
const maxAddress = 2048

// Linked returns the value with a link to itself if it is an absolute HTTP or HTTPS address, else unchanged.
func (s Value) Linked() Value {
	u, err := url.Parse(s.Text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(s.Text) > maxAddress ||
		strings.ContainsFunc(s.Text, unicode.IsSpace) || !utf8.ValidString(s.Text) {
		return s
	}
	s.Href, s.Away = s.Text, true
	return s
}

// Named returns a value with the title of the code or feature that it refers to, and the address of its page.
func (s Value) Named(name Value, href string) Value {
	out := Value{Text: name.Text, Lang: name.Lang, Href: href, Code: s.Text}
	out.Number = strings.Trim(s.Text, "0123456789") == ""
	if out.Text == "" || strings.EqualFold(out.Text, out.Code) {
		out.Code, out.Number = "", false
		if out.Text == "" {
			out.Text = s.Text
		}
	}
	return out
}

// Label returns the code, if it is a number, and the text.
func (s Value) Label() string {
	if s.Number {
		return s.Code + " " + s.Text
	}
	return s.Text
}

// HTML returns the value with its link and language. It uses no template, since a page shows thousands of values.
func (s Value) HTML() template.HTML {
	if s.Parts != nil {
		parts := make([]string, len(s.Parts))
		for i, x := range s.Parts {
			parts[i] = string(x.HTML())
		}
		return template.HTML(strings.Join(parts, ", "))
	}
	text := template.HTMLEscapeString(s.Label())
	if s.Time != "" {
		return template.HTML(`<time datetime="` + template.HTMLEscapeString(s.Time) + `">` + text + "</time>")
	}
	if s.Href == "" && s.Lang == "" {
		return template.HTML(text)
	}
	element, start := "span", "<span"
	if s.Href != "" {
		element, start = "a", `<a href="`+template.HTMLEscapeString(s.Href)+`"`
	}
	if s.Away {
		start += ` rel="noopener"`
	}
	return template.HTML(start + LangAttribute(s.Lang) + ">" + text + "</" + element + ">")
}

// LangAttribute returns the attribute lang with a space before it; "" if the tag is "".
func LangAttribute(tag string) string {
	if tag == "" {
		return ""
	}
	return ` lang="` + template.HTMLEscapeString(tag) + `"`
}
