package maps

import (
	"net/http"
	"slices"

	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/tile"
)

// mapView is the data of the page of a map.
type mapView struct {
	Title   string
	Picture string // address as PNG
}

// page shows the map of the site in place of the picture.
func (c *call) page(w http.ResponseWriter) error {
	colls := make([]*store.Collection, 0, len(c.p.Calls()))
	for _, at := range c.p.Calls() {
		colls = append(colls, at.Collection)
	}
	set := gridOf(colls)
	if set == nil {
		return problem.NotFoundf("there is no grid in which these data have a map; choose some with collections=")
	}
	colls = slices.DeleteFunc(colls, func(x *store.Collection) bool { return !set.Takes(x) })
	v := mapView{Title: c.title(), Picture: c.Base() + c.path() + "?f=png" + c.Others()}
	tiles := c.TileMap(set, colls...)
	if chosen := server.First(c.Values["collections"]); chosen != "" {
		tiles.Path += "&collections=" + wire.QueryEscape(chosen)
	}
	pg := &page.Page{Name: "map", Title: c.Text("picture.title"), Crumbs: c.Crumbs(""), Data: v, Script: true,
		Tiles: tiles}
	if c.Collection != nil {
		pg.Crumbs, pg.Legend = c.Crumbs("collection"), "/collections/"+c.Collection.ID+"/legend"
	}
	doc, err := c.RenderPage(pg)
	if err != nil {
		return err
	}
	if err := c.Still(); err != nil {
		return err
	}
	c.DataFields(w, c.SelfLinks(c.path()))
	return c.WriteOnce(w, doc)
}

// gridOf returns the tile matrix set of the map of collections on a page: that of the first collection with such a
// map; nil if there is none.
func gridOf(colls []*store.Collection) *tile.Set {
	for _, coll := range colls {
		if set := drawing.Grid(coll); set != nil {
			return set
		}
	}
	return nil
}
