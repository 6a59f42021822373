package tiles

import (
	"fmt"
	"html/template"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/links"
	"grense/internal/server/page"
	"grense/internal/tile"
)

// tileMatrixSets lists the tile matrix sets (OGC 17-083r4; OGC 20-057, Annex A).
func (s *surface) tileMatrixSets(c *call) (*server.Answer, error) {
	doc := ogcapi.TileMatrixSets{Links: c.SelfLinks("/TileMatrixSets"), TileMatrixSets: []ogcapi.TileMatrixSetItem{}}
	for _, set := range tile.Sets(c.Root) {
		doc.TileMatrixSets = append(doc.TileMatrixSets,
			ogcapi.TileMatrixSetItem{ID: set.ID, Title: set.Title, URI: set.URI, CRS: set.CRS,
				Links: c.tilingLinks(set.ID)})
	}
	return &server.Answer{JSON: doc, Links: doc.Links,
		Page: &page.Page{Name: "tilematrixsets", Title: c.Text("tilematrixsets.title"), Data: doc}}, nil
}

// tileMatrixSet returns a tile matrix set.
func (s *surface) tileMatrixSet(c *call) (*server.Answer, error) {
	id := c.PathParam("tileMatrixSetId")
	for _, set := range tile.Sets(c.Root) {
		if set.ID == id || strings.EqualFold(set.ID, id) {
			set.Links = c.tilingLinks(set.ID)
			a := &server.Answer{JSON: set, Links: set.Links}
			v := tileSetView{TileMatrixSet: set, Unit: "m"}
			if id, ok := crs.Parse(set.CRS); ok && id.Geographic() {
				v.Unit = "°"
			}
			if of, ok := tile.Find(set.ID); ok {
				v.Map, a.Fleeting = c.SetMap(of)
			}
			a.Page = &page.Page{Name: "tilematrixset", Title: c.gridName(set.ID), Crumbs: c.Crumbs("tilematrixsets"),
				Data: v}
			return a, nil
		}
	}
	return nil, problem.NotFoundf("there is no tile matrix set %q; %s/TileMatrixSets lists all", problem.Clip(id),
		c.Base())
}

// gridName returns the name of a tile matrix set in the language of the page.
func (c *call) gridName(id string) string { return c.Text(fmt.Sprintf("grid.%s", id)) }

// tileSetView is the data of the page of a tile matrix set.
type tileSetView struct {
	ogcapi.TileMatrixSet
	Map  template.HTML // the grid over the country
	Unit string        // of cell sizes and origins
}

func (c *call) tilingLinks(id string) []ogcapi.Link {
	here := c.Base() + "/TileMatrixSets/" + id
	return []ogcapi.Link{
		{Rel: "self", Type: "application/json", Title: links.FormTitles["json"], Href: here + "?f=json"},
		{Rel: "alternate", Type: "text/html", Title: links.FormTitles["html"], Href: here + "?f=html",
			Hreflang: links.Hreflang},
	}
}
