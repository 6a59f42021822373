package features

import (
	"net/http"
	"slices"
	"strings"

	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// itemPage writes a feature as a page.
func (c *call) itemPage(w http.ResponseWriter, at neighbours) error {
	v, linked, err := c.readItem(at)
	if err != nil {
		return err
	}
	return c.writePage(w, c.itemDoc(v, linked, at.id))
}

// readItem reads what the page of a feature shows, in one query.
func (c *call) readItem(at neighbours) (v *itemView, linked []byte, err error) {
	read, err := c.reading(nil)
	if err != nil {
		return nil, nil, err
	}
	err = c.one(at.row, read.want, func(f *store.Feature) (err error) {
		if v, err = c.itemView(f); err != nil {
			return err
		}
		if v.box != nil && read.outlines != nil {
			if err := read.outline(f); err != nil {
				return err
			}
		}
		linked, err = c.linkedOnPage(read.selected(f))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	v.Prev.ID, v.Next.ID = at.prev, at.next
	if server.IsVersioned(c.Collection) {
		v.Versions = c.AsPage(c.timeMapHref(at.of))
	}
	if err := c.nameItem(v); err != nil {
		return nil, nil, err
	}
	if v.History, err = c.itemHistory(at.row.ID); err != nil {
		return nil, nil, err
	}
	if v.Changes, err = c.eventChanges(at.row.ID); err != nil {
		return nil, nil, err
	}
	if v.Changes != nil { // the changes contain the same facts
		v.Properties = slices.DeleteFunc(v.Properties, func(p propertyView) bool {
			return p.Name == "changes" || p.Name == "codes_before" || p.Name == "codes_after"
		})
	}
	if v.box != nil && read.outlines != nil {
		v.Map, err = c.ItemMap(read.outlines, at.row, *v.box, v.Title)
	}
	return v, linked, err
}

// itemDoc returns the page of a feature; mapID is its id on the map of tiles.
func (c *call) itemDoc(v *itemView, linked []byte, drawn string) *page.Page {
	path := "/collections/" + c.Collection.ID + "/items/" + wire.PathEscape(v.ID)
	if href := c.versionsElsewhere(v.ID); href != "" {
		v.Elsewhere = c.AsPage(href)
	}
	query := strings.Join(append([]string{"f=json"}, c.Replay("f", "lang")...), "&")
	pg := &page.Page{Name: "item", Title: v.Title, Crumbs: c.Crumbs("items"), LD: page.InScript(linked), Data: v,
		TitleLang: v.TitleLang,
		Script:    true, Copies: append(c.copies(path+"?"+query), page.Copied{Title: c.Text("items.id"), Text: v.ID})}
	if v.Map != "" {
		if m := c.ItemTiles(drawn, *v.box); m != nil {
			pg.Tiles = m
		}
	}
	return pg
}

// copies returns the address of the data of the page without its language, and a command that fetches it.
func (c *call) copies(path string) []page.Copied {
	address := c.Base() + path
	key := ""
	if c.s.Config.Auth != "open" {
		key = `-H "X-API-Key: ` + c.Text("recipes.placeholder") + `" `
	}
	return []page.Copied{{Title: "GeoJSON", Text: address},
		{Title: "curl", Text: "curl " + key + `"` +
			strings.ReplaceAll(strings.ReplaceAll(address, "$", "%24"), "`", "%60") + `"`}}
}
