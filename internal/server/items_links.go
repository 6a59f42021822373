package server

import (
	"net/http"

	"grense/api/ogcapi"
	"grense/internal/server/page"
	"grense/internal/store"
)

// DataFields are the header fields of answers with features: dataHeaders, what they are written in, and their links.
func (c *Call) DataFields(w http.ResponseWriter, links []ogcapi.Link) {
	SetHeader(w, "Content-Type", c.Format.ContentType())
	SetHeader(w, "Content-Language", page.LanguageTag(c.Lang))
	c.DataHeaders(w)
	SetHeader(w, "Link", LinkHeader(append(links, c.profileLinks()...)))
}

// itemsLinks are the links of a page of features, in the order that clients know.
func (c *Call) itemsLinks(p *store.Page) []ogcapi.Link {
	path := "/collections/" + c.Collection.ID + "/items"
	links := c.appendSelfLinks(make([]ogcapi.Link, 0, len(c.Route.Formats)+moreLinks), path, c.Others())
	page := func(rel, title string, cur store.Cursor) {
		if cur != "" {
			links = append(links, ogcapi.Link{Rel: rel, Type: c.Format.Media, Title: title, Href: c.pageHref(path, cur)})
		}
	}
	page("prev", "Items (prev)", p.Prev)
	page("next", "Items (next)", p.Next)
	links = append(links, c.versionsLink("")...)
	return append(links, ogcapi.Link{Rel: "collection", Type: "application/json", Title: c.TitleOf(c.Collection), Href: c.Base() + "/collections/" + c.Collection.ID})
}

// pageHref replays the request from another place.
func (c *Call) pageHref(path string, cur store.Cursor) string {
	query := "?"
	if f := First(c.Values["f"]); f != "" {
		query = "?f=" + QueryEscape(f) + "&"
	}
	return c.Base() + path + query + "cursor=" + string(cur) + c.replayed("f", "offset", "cursor")
}
