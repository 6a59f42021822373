package features

import (
	"grense/api/ogcapi"
	"grense/internal/server"
	"grense/internal/server/links"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// itemsLinks returns the links of a page of features, in the order that clients expect.
func (c *call) itemsLinks(p *store.Page) []ogcapi.Link {
	path := "/collections/" + c.Collection.ID + "/items"
	list := c.AppendSelfLinks(make([]ogcapi.Link, 0, len(c.Route.Formats)+links.MoreLinks), path, c.Others())
	page := func(rel, title string, cur store.Cursor) {
		if cur != "" {
			list = append(list, ogcapi.Link{Rel: rel, Type: c.Format.Media, Title: title,
				Href: c.pageHref(path, cur)})
		}
	}
	page("prev", "Items (prev)", p.Prev)
	page("next", "Items (next)", p.Next)
	list = append(list, c.versionsLink("")...)
	return append(list, ogcapi.Link{Rel: "collection", Type: "application/json", Title: c.Collection.TitleIn(c.Lang),
		Href: c.Base() + "/collections/" + c.Collection.ID})
}

// pageHref returns the request with another cursor.
func (c *call) pageHref(path string, cur store.Cursor) string {
	query := "?"
	if f := server.First(c.Values["f"]); f != "" {
		query = "?f=" + wire.QueryEscape(f) + "&"
	}
	return c.Base() + path + query + "cursor=" + string(cur) + c.Replayed("f", "offset", "cursor")
}
