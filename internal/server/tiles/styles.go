package tiles

import (
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/server"
	"grense/internal/server/links"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/styles"
	"grense/internal/style"
)

// styles1 is OGC 20-009, a draft.
const styles1 = "http://www.opengis.net/spec/ogcapi-styles-1/1.0/conf/"

// stylesPath is where the styles of the route are, below the mount.
func (c *call) stylesPath() string { return strings.TrimSuffix(c.tilesPath(), "/tiles") + "/styles" }

// stylesheetLink returns the link to a style.
func (c *call) stylesheetLink(m *styles.Style) ogcapi.Link {
	return ogcapi.Link{Rel: "stylesheet", Type: media.Style.Media, Title: m.Title(c.Lang),
		Href: c.Base() + c.stylesPath() + "/" + m.ID + "?f=json"}
}

// listStyles lists the styles of a collection or of the dataset.
func (s *surface) listStyles(c *call) (*server.Answer, error) {
	doc := ogcapi.Styles{Title: c.tilesTitle(), Styles: []ogcapi.StyleItem{}, Links: c.SelfLinks(c.stylesPath())}
	for i, m := range c.s.Styles.For(c.Catalog, c.Collection) {
		if i == 0 {
			doc.Default = m.ID
		}
		doc.Styles = append(doc.Styles, ogcapi.StyleItem{ID: m.ID, Title: m.Title(c.Lang),
			Links: []ogcapi.Link{c.stylesheetLink(m), {Rel: "describedby", Type: media.JSON.Media,
				Title: "Metadata of the style", Href: c.Base() + c.stylesPath() + "/" + m.ID + "/metadata?f=json"},
				{Rel: ogcapi.RelMap, Type: media.PNG.Media, Title: "Map in the style",
					Href: c.Base() + c.stylesPath() + "/" + m.ID + "/map"}}})
	}
	return &server.Answer{JSON: doc, Links: doc.Links, Page: &page.Page{Name: "styles", Title: c.Text("styles.title"),
		Crumbs: c.tileCrumbs(), Data: doc}}, nil
}

// stylesheet gives a style of the list.
func (s *surface) stylesheet(c *call) (*server.Answer, error) {
	m, err := c.s.Styles.Find(c.Catalog, c.Collection, c.PathParam("styleId"))
	if err != nil {
		return nil, err
	}
	x, err := c.tileExtent(c.tiles().set, c.tiles().collections())
	if err != nil {
		return nil, err
	}
	if m.File == nil {
		return &server.Answer{JSON: c.divisionsStyle(m.Theme, x), Fleeting: !x.settled}, nil
	}
	return &server.Answer{JSON: c.filled(m.File)}, nil
}

// OfService reports whether a source of a style of the configuration stands for the tiles of this service.
func OfService(source style.Source) bool {
	return source["type"] == "vector" && source["url"] == nil && source["tiles"] == nil
}

// filled is a style of the configuration over the tiles of the route: these are the vector sources without an address.
// Of one collection it has the layers that draw this.
func (c *call) filled(file *style.Style) *style.Style {
	d := *file
	d.Sources = map[string]style.Source{}
	for name, source := range file.Sources {
		if OfService(source) {
			source = c.styleSource()
		}
		d.Sources[name] = source
	}
	if d.Glyphs == "" {
		d.Glyphs = c.glyphsURL()
	}
	if c.Collection != nil {
		d.Layers = slices.DeleteFunc(slices.Clone(d.Layers), func(l style.Layer) bool {
			return l.SourceLayer != "" && styles.Collection(c.Catalog, l.SourceLayer) != c.Collection
		})
	}
	return &d
}

// styleMetadata describes a style.
func (s *surface) styleMetadata(c *call) (*server.Answer, error) {
	m, err := c.s.Styles.Find(c.Catalog, c.Collection, c.PathParam("styleId"))
	if err != nil {
		return nil, err
	}
	service := &c.s.Config.Service
	doc := ogcapi.StyleMetadata{ID: m.ID, Title: m.Title(c.Lang), Description: m.About(c.Lang), Scope: "style",
		License: service.Licence.Name, PointOfContact: service.Contact.Name, Layers: []ogcapi.StyleLayer{},
		Links: []ogcapi.Link{{Rel: "self", Type: media.JSON.Media, Title: links.FormTitles["json"],
			Href: c.Base() + c.stylesPath() + "/" + m.ID + "/metadata?f=json"}},
		Stylesheets: []ogcapi.Stylesheet{{Title: "Mapbox Style", Version: "8", Native: true,
			Specification: "https://maplibre.org/maplibre-style-spec/", Link: c.stylesheetLink(m)}}}
	for _, coll := range c.tiles().collections() {
		if !m.Draws(c.Catalog, coll) {
			continue
		}
		kind := "any"
		if d, ok := style.Dimensions[coll.Geometry.Type]; ok {
			kind = [...]string{"points", "lines", "polygons"}[d]
		}
		doc.Layers = append(doc.Layers, ogcapi.StyleLayer{ID: coll.ID, Description: coll.TitleIn(c.Lang),
			DataType: "vector", GeometryType: kind,
			SampleData: &ogcapi.Link{Rel: ogcapi.RelTilesetsVector, Type: media.JSON.Media, Title: "Vector tiles",
				Href: c.Base() + "/collections/" + coll.ID + "/tiles?f=json"}})
	}
	return &server.Answer{JSON: doc, Links: doc.Links}, nil
}

// styleRoutes returns the routes of styles (OGC 20-009, draft).
func (s *surface) styleRoutes() (list []server.Route) {
	names := map[string]func(*server.Call) []string{"styleId": s.styleIDs}
	for _, of := range []struct{ path, op, after, what string }{
		{"/collections/{collectionId}/styles", "collection.", "getStyle", "a collection"},
		{"/styles", "dataset.", "getDatasetStyle", "all data"},
	} {
		below := strings.HasPrefix(of.path, "/collections")
		list = append(list,
			server.Route{Path: of.path, Op: of.op + "getStyles", After: of.after, Tag: "Tiles",
				Summary: "Styles of " + of.what, Drawn: below, New: newStyleParams,
				Classes:     []string{styles1 + "core"},
				Description: "The styles for maps of " + of.what + ", with the address of each (OGC 20-009, draft).",
				Formats:     []media.Format{media.JSON, media.HTML}, Schema: server.SchemaNamed("styles"),
				Get: s.get(s.listStyles)},
			server.Route{Path: of.path + "/{styleId}", Op: of.op + "getStyle", After: of.op + "getStyles", Tag: "Tiles",
				Summary: "One style of " + of.what, Drawn: below, New: newStyleParams, Values: names,
				Description: "A style of MapLibre (Mapbox style specification, version 8) over the tiles in " +
					"WebMercatorQuad: one of Grense, or one of the configuration.",
				Formats: []media.Format{media.Style}, Schema: server.SchemaNamed("mapStyle"),
				Get: s.get(s.stylesheet)},
			server.Route{Path: of.path + "/{styleId}/metadata", Op: of.op + "getStyleMetadata",
				After: of.op + "getStyle", Tag: "Tiles", Summary: "Metadata of a style of " + of.what, Drawn: below,
				New: newStyleParams, Values: names,
				Description: "Title, encodings and layers of a style (OGC 20-009, draft).",
				Formats:     []media.Format{media.JSON}, Schema: server.SchemaNamed("styleMetadata"),
				Get: s.get(s.styleMetadata)})
	}
	return list
}

// styleIDs returns the ids of the styles of the route.
func (s *surface) styleIDs(c *server.Call) []string {
	return s.Styles.For(c.Catalog, c.Collection).IDs()
}
