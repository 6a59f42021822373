package page

import (
	"html/template"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Value is a value as people read it: where it is a code, or the id of another feature, under the name of what it
// stands for.
type Value struct {
	Text   string
	Code   string  // the value itself, where Text is the name of what it stands for; else ""
	Href   string  // of what it stands for; "" when it stands for nothing
	Away   bool    // Href is the value itself, an address on the web
	Lang   string  // language of Text, a BCP 47 tag; "" when the data do not say
	Number bool    // Code is of digits: it is written before the name
	Time   string  // the day or moment that Text is, by RFC 3339; "" for none
	Parts  []Value // the elements of a list, which are written instead; nil when the value is none
}

// maxAddress is how many bytes an address has that a value is linked to, at most.
const maxAddress = 2048

// Linked links a value that is an absolute address of HTTP, and nothing besides, to that address.
func (s Value) Linked() Value {
	u, err := url.Parse(s.Text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(s.Text) > maxAddress ||
		strings.ContainsFunc(s.Text, unicode.IsSpace) || !utf8.ValidString(s.Text) {
		return s
	}
	s.Href, s.Away = s.Text, true
	return s
}

// Named is a value under the name of what it stands for.
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

// Label is the whole of it in one line.
func (s Value) Label() string {
	if s.Number {
		return s.Code + " " + s.Text
	}
	return s.Text
}

// HTML is it as part of a page, with its link and its language. A page holds thousands of values, for which templates
// are slow.
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

// LangAttribute is the attribute lang; "" for no language.
func LangAttribute(tag string) string {
	if tag == "" {
		return ""
	}
	return ` lang="` + template.HTMLEscapeString(tag) + `"`
}
