// Package links makes the addresses and the links of responses.
package links

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/format"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/wire"
)

// Hreflang is the attribute hreflang of links to pages.
const Hreflang = "nb-NO"

// FormTitles are titles of links to other representations, by the value of f.
var FormTitles = map[string]string{"json": "This document as JSON", "jsonld": "This document as RDF (JSON-LD)",
	"html": "This document as HTML", "csv": "This document as CSV", "yaml": "This document as YAML",
	"atom": "This document as Atom", "jsonfeed": "This document as JSON Feed"}

// Set makes the links of a response.
type Set struct {
	Root    string         // absolute URL at the start of links, without mount and final slash
	Mount   string         // "" or "/v1"
	Values  url.Values     // query parameters of the request
	Order   []string       // names of those that links repeat, in order
	Formats []media.Format // representations of the resource; the first is the default
	Format  media.Format   // of the response
	Asked   bool           // the request has f
}

// Base returns the absolute URL of the mount, without a slash at the end.
func (s *Set) Base() string { return s.Root + s.Mount }

// HtmlHref returns the address of a page below the mount, in the language that the request names.
func (s *Set) HtmlHref(path string) string { return page.LinkTo(s.Base(), path, s.Values.Get("lang")) }

// AsPage returns the address of the HTML page of an address below the mount.
func (s *Set) AsPage(href string) string { return s.HtmlHref(strings.TrimPrefix(href, s.Base())) }

// Item returns the address of a feature of a collection, which is also its id in linked data.
func (s *Set) Item(collection, id string) string {
	return s.Base() + "/collections/" + collection + "/items/" + wire.PathEscape(id)
}

// Speak makes links repeat a language, if the query of the request was not parsed.
func (s *Set) Speak(lang string) {
	if s.Values == nil {
		s.Values, s.Order = url.Values{"lang": {lang}}, []string{"lang"}
	}
}

// SelfLinks returns the links self and alternate of a document. Without f, the first representation is self. The links
// repeat all other parameters. The slice has capacity for MoreLinks.
func (s *Set) SelfLinks(path string) []ogcapi.Link {
	return s.AppendSelfLinks(make([]ogcapi.Link, 0, len(s.Formats)+MoreLinks), path, s.Others())
}

// MoreLinks is the spare capacity of SelfLinks: the further links of a page or a feature, and of its profiles.
const MoreLinks = 7

// AppendSelfLinks appends the links of SelfLinks. rest is the result of Others.
func (s *Set) AppendSelfLinks(links []ogcapi.Link, path, rest string) []ogcapi.Link {
	reps := s.Formats
	self := reps[0].F
	if s.Asked {
		self = s.Format.F
	}
	base := s.Base()
	var all strings.Builder // all addresses, in one allocation
	all.Grow(len(reps) * (len(base) + len(path) + len("?f=flatgeobuf") + len(rest)))
	for i := range reps {
		r := &reps[i]
		at := all.Len()
		all.WriteString(base)
		all.WriteString(path)
		all.WriteString("?f=")
		all.WriteString(r.F)
		all.WriteString(rest)
		l := ogcapi.Link{Rel: "alternate", Type: r.Media, Title: titleOfForm(r), Href: all.String()[at:]}
		if r.F == self {
			l.Rel = "self"
		}
		if r.F == "html" {
			l.Hreflang = Hreflang
		}
		links = append(links, l)
	}
	return links
}

// titleOfForm returns the title of a link to a document in a representation.
func titleOfForm(r *media.Format) string {
	if r.F == "json" && r.Media == media.GeoJSON.Media {
		return "This document as GeoJSON"
	}
	return allTitles[r.F]
}

// allTitles are FormTitles and the titles of file formats, by the value of f.
var allTitles = func() map[string]string {
	all := map[string]string{}
	for _, f := range format.All() {
		all[f.Name] = f.Title
	}
	maps.Copy(all, FormTitles)
	return all
}()

// ListPages returns the links prev and next of a list that is paged by offset and limit. n is the length of the list.
func (s *Set) ListPages(path string, offset, limit, n int) (links []ogcapi.Link) {
	to := func(rel string, offset int) {
		q := "?"
		if f := s.Values.Get("f"); f != "" {
			q += "f=" + wire.QueryEscape(f) + "&"
		}
		q += "limit=" + strconv.Itoa(limit)
		if offset > 0 {
			q += "&offset=" + strconv.Itoa(offset)
		}
		links = append(links, ogcapi.Link{Rel: rel, Type: s.Format.Media,
			Title: map[string]string{"prev": "Previous page", "next": "Next page"}[rel],
			Href:  s.Base() + path + q + s.Replayed("f", "limit", "offset")})
	}
	if offset > 0 {
		to("prev", max(0, min(offset, n)-limit))
	}
	if n-offset > limit {
		to("next", offset+limit)
	}
	return links
}

// With returns the absolute address of a path below the mount in representation f, with the parameters of this request.
func (s *Set) With(path, f string) string {
	return s.Base() + path + "?f=" + f + s.Others()
}

// Others returns all parameters of the request except f, each after an ampersand.
func (s *Set) Others() string { return s.Replayed("f") }

// Replayed returns the parameters of the request except some, each after an ampersand.
func (s *Set) Replayed(without ...string) string {
	var b strings.Builder
	s.EachReplayed(func(name, value string) {
		b.WriteByte('&')
		b.WriteString(wire.QueryEscape(name))
		b.WriteByte('=')
		b.WriteString(wire.QueryEscape(value))
	}, without...)
	return b.String()
}

// Replay returns the parameters of the request except some, encoded again and in the order of the route. Commas and
// other characters that are safe in a query stay readable.
func (s *Set) Replay(without ...string) (out []string) {
	s.EachReplayed(func(name, value string) { out = append(out, wire.QueryEscape(name)+"="+wire.QueryEscape(value)) },
		without...)
	return out
}

// EachReplayed calls each with the parameters of Replay, decoded.
func (s *Set) EachReplayed(each func(name, value string), without ...string) {
	for _, name := range s.Order {
		if slices.Contains(without, name) {
			continue
		}
		for _, v := range s.Values[name] {
			each(name, v)
		}
	}
}
