package server

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/format"
	"grense/internal/server/wire"
)

// Hreflang is the attribute hreflang of links to pages.
const Hreflang = "nb-NO"

// FormTitles are titles of links to other representations, by the value of f.
var FormTitles = map[string]string{"json": "This document as JSON", "jsonld": "This document as RDF (JSON-LD)",
	"html": "This document as HTML", "csv": "This document as CSV", "yaml": "This document as YAML",
	"atom": "This document as Atom", "jsonfeed": "This document as JSON Feed"}

// SelfLinks returns the links self and alternate of a document. Without f, the first representation is self. The links
// repeat all other parameters. The slice has capacity for MoreLinks.
func (c *Call) SelfLinks(path string) []ogcapi.Link {
	return c.AppendSelfLinks(make([]ogcapi.Link, 0, len(c.Route.Formats)+MoreLinks), path, c.Others())
}

// MoreLinks is the spare capacity of SelfLinks: the further links of a page or a feature, and of its profiles.
const MoreLinks = 7

// AppendSelfLinks appends the links of SelfLinks. rest is the result of Others.
func (c *Call) AppendSelfLinks(links []ogcapi.Link, path, rest string) []ogcapi.Link {
	reps := c.Route.Formats
	self := reps[0].F
	if c.asked {
		self = c.Format.F
	}
	base := c.Base()
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
func titleOfForm(r *Format) string {
	if r.F == "json" && r.Media == AsGeoJSON.Media {
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
func (c *Call) ListPages(path string, offset, limit, n int) (links []ogcapi.Link) {
	page := func(rel string, offset int) {
		q := "?"
		if f := First(c.Values["f"]); f != "" {
			q += "f=" + wire.QueryEscape(f) + "&"
		}
		q += "limit=" + strconv.Itoa(limit)
		if offset > 0 {
			q += "&offset=" + strconv.Itoa(offset)
		}
		links = append(links, ogcapi.Link{Rel: rel, Type: c.Format.Media,
			Title: map[string]string{"prev": "Previous page", "next": "Next page"}[rel],
			Href:  c.Base() + path + q + c.Replayed("f", "limit", "offset")})
	}
	if offset > 0 {
		page("prev", max(0, min(offset, n)-limit))
	}
	if n-offset > limit {
		page("next", offset+limit)
	}
	return links
}

// with returns the absolute address of a path below the mount in representation f, with the parameters of this request.
func (c *Call) with(path, f string) string {
	return c.Base() + path + "?f=" + f + c.Others()
}

// Others returns all parameters of the request except f, each after an ampersand.
func (c *Call) Others() string { return c.Replayed("f") }

// Replayed returns the parameters of the request except some, each after an ampersand.
func (c *Call) Replayed(without ...string) string {
	var b strings.Builder
	b.Grow(len(c.Request.URL.RawQuery) + 16)
	c.EachReplayed(func(name, value string) {
		b.WriteByte('&')
		b.WriteString(wire.QueryEscape(name))
		b.WriteByte('=')
		b.WriteString(wire.QueryEscape(value))
	}, without...)
	return b.String()
}

// Replay returns the parameters of the request except some, encoded again and in the order of the route. Commas and
// other characters that are safe in a query stay readable.
func (c *Call) Replay(without ...string) (out []string) {
	c.EachReplayed(func(name, value string) { out = append(out, wire.QueryEscape(name)+"="+wire.QueryEscape(value)) },
		without...)
	return out
}

// EachReplayed calls each with the parameters of Replay, decoded.
func (c *Call) EachReplayed(each func(name, value string), without ...string) {
	left := len(c.Values) // names not yet seen
	add := func(name string) {
		values, ok := c.Values[name]
		if !ok {
			return
		}
		if left--; slices.Contains(without, name) {
			return
		}
		for _, v := range values {
			each(name, v)
		}
	}
	add("f")
	add("lang")
	for i := 0; i < len(c.Route.Params) && left > 0; i++ {
		add(c.Route.Params[i].Name)
	}
	if c.Route.Fields && c.Collection != nil && left > 0 {
		for p := range c.Collection.Queryables() {
			// the cheap check first: there may be thousands of properties
			if len(c.Values[p.Name]) > 0 && c.Field(p.Name) != nil {
				add(p.Name)
			}
			if !c.forgives || c.Field(p.Name) == nil {
				continue
			}
			for _, name := range c.ParametersOf(p) {
				if name != p.Name {
					add(name)
				}
			}
		}
	}
}
