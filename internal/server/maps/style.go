package maps

import (
	"maps"
	"net/http"
	"slices"

	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/styles"
	"grense/internal/server/tiles"
	"grense/internal/style"
)

// rules returns the layers of the style of a map; v is nil for a legend.
func (c *call) rules(v *view) ([]*style.Rules, error) {
	if c.file != nil {
		return c.file.Rules()
	}
	data := styles.Data(c.Catalog, c.p.Collections(), c.s.Tiles, v.setOf)
	s := &style.Style{Version: 8, Layers: style.Divisions(data,
		style.Drawing{Theme: c.p.theme, Fonts: true, Still: true})}
	return s.Rules()
}

// styled answers with a map in a style of the list (OGC 20-058, 14).
func (s *surface) styled(c *call, w http.ResponseWriter) error {
	m, err := c.s.Styles.Find(c.Catalog, c.Collection, c.PathParam("styleId"))
	if err != nil {
		return err
	}
	c.style = m
	if m.File == nil {
		c.p.theme = m.Theme
	} else {
		c.file = drawn(m.File)
	}
	return s.picture(c, w)
}

// drawn returns the layers of a configured style that draw data of this service.
func drawn(file *style.Style) *style.Style {
	d := *file
	d.Sources = maps.Clone(file.Sources)
	maps.DeleteFunc(d.Sources, func(_ string, source style.Source) bool { return !tiles.OfService(source) })
	d.Layers = slices.DeleteFunc(slices.Clone(file.Layers), func(l style.Layer) bool {
		_, ok := d.Sources[l.Source]
		return l.Source != "" && !ok
	})
	return &d
}

// styledRoutes returns the routes of maps in one of the styles.
func (s *surface) styledRoutes(params []*server.Param) (list []server.Route) {
	params = slices.DeleteFunc(slices.Clone(params), func(p *server.Param) bool { return p == paramTheme })
	for _, of := range []struct{ path, op, after, what string }{
		{"/collections/{collectionId}", "collection.style.getMap", "getLegend", "a collection"},
		{"", "all.dataset.style.getMap", "getDatasetLegend", "all data"},
	} {
		r := server.Route{Path: of.path + "/styles/{styleId}/map", Op: of.op, After: of.after, Tag: "Maps",
			Summary:     "A map of " + of.what + " in a style",
			Description: "A map as a picture, drawn as a style of the list says (OGC 20-058).",
			Data:        true, Scope: server.ScopeTiles, Drawn: of.path != "", Params: params, New: newMapParams,
			Values:  map[string]func(*server.Call) []string{"styleId": s.styleIDs},
			Formats: []media.Format{asPNG, asJPEG, asSVG}, Stream: s.stream(s.styled), Kept: true,
			Classes: []string{maps1 + "styled-map"}}
		if !r.Drawn {
			r.Params = append([]*server.Param{tiles.ParamCollections}, params...)
		}
		list = append(list, r)
	}
	return list
}

// styleIDs returns the ids of the styles of the route.
func (s *surface) styleIDs(c *server.Call) []string {
	return s.Styles.For(c.Catalog, c.Collection).IDs()
}
