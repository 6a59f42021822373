package docs

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/config"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/links"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/server/page"
	"grense/internal/store"
)

// landing returns the landing page (OGC 19-072, 7.2). Existing clients rely on the first eleven links: their order,
// relation, type, address and title are fixed in every machine-readable representation. New links go after them.
func (s *surface) landing(c *call) (*server.Answer, error) {
	b, svc := c.Base(), &s.Config.Service
	title, description := svc.Title.In(c.Lang), c.Described()
	list := []ogcapi.Link{
		{Rel: "about", Type: "text/html", Title: title, Href: cmp.Or(svc.Publisher.URL, b+"/about"),
			Hreflang: links.Hreflang},
		{Rel: "self", Type: "application/json", Title: "This document as JSON", Href: b + "?f=json"},
		{Rel: "alternate", Type: "application/ld+json", Title: "This document as RDF (JSON-LD)", Href: b + "?f=jsonld"},
		{Rel: "alternate", Type: "text/html", Title: "This document as HTML", Href: b + "?f=html",
			Hreflang: links.Hreflang},
		{Rel: "service-desc", Type: media.OpenAPI.Media, Title: "The OpenAPI definition as JSON", Href: b +
			"/openapi"},
		{Rel: "service-doc", Type: "text/html", Title: "The OpenAPI definition as HTML", Href: b + "/openapi?f=html",
			Hreflang: links.Hreflang},
		{Rel: "conformance", Type: "application/json", Title: "Conformance", Href: b + "/conformance"},
		{Rel: "data", Type: "application/json", Title: "Collections", Href: b + "/collections"},
		{Rel: ogcapi.RelProcesses, Type: "application/json", Title: "Processes", Href: b + "/processes"},
		{Rel: ogcapi.RelTilingSchemes, Type: "application/json",
			Title: "The list of supported tiling schemes as JSON", Href: b + "/TileMatrixSets?f=json"},
		{Rel: ogcapi.RelTilingSchemes, Type: "text/html", Title: "The list of supported tiling schemes as HTML",
			Href: b + "/TileMatrixSets?f=html", Hreflang: links.Hreflang},
		{Rel: ogcapi.RelConformance, Type: "application/json", Title: "Conformance", Href: b + "/conformance"},
		{Rel: ogcapi.RelData, Type: "application/json", Title: "Collections", Href: b + "/collections"},
	}
	if s.Jobs != nil {
		list = append(list, ogcapi.Link{Rel: ogcapi.RelJobList, Type: "application/json", Title: "Jobs", Href: b +
			"/jobs?f=json"},
			ogcapi.Link{Rel: ogcapi.RelJobList, Type: "text/html", Title: "Jobs as HTML", Href: b + "/jobs?f=html",
				Hreflang: links.Hreflang})
	}
	if server.Tiled(c.Catalog, nil) != nil {
		list = append(list,
			ogcapi.Link{Rel: ogcapi.RelTilesetsVector, Type: media.JSON.Media,
				Title: "Vector tiles of all collections", Href: b + "/tiles?f=json"},
			ogcapi.Link{Rel: ogcapi.RelTilesetsVector, Type: media.HTML.Media,
				Title: "Vector tiles of all collections as HTML", Href: b + "/tiles?f=html", Hreflang: links.Hreflang},
			ogcapi.Link{Rel: "stylesheet", Type: media.Style.Media, Title: "Style of a map of all collections",
				Href: b + "/style?f=json"},
			ogcapi.Link{Rel: ogcapi.RelTilesetsMap, Type: media.JSON.Media, Title: "Map tiles of all collections",
				Href: b + "/map/tiles?f=json"},
			ogcapi.Link{Rel: ogcapi.RelMap, Type: media.PNG.Media, Title: "Map of all collections",
				Href: b + "/map"},
			ogcapi.Link{Rel: ogcapi.RelMap, Type: media.HTML.Media, Title: "Map of all collections as HTML",
				Href: b + "/map?f=html", Hreflang: links.Hreflang},
			ogcapi.Link{Rel: ogcapi.RelStyles, Type: media.JSON.Media, Title: "Styles of maps",
				Href: b + "/styles?f=json"},
			ogcapi.Link{Rel: ogcapi.RelStyles, Type: media.HTML.Media, Title: "Styles of maps as HTML",
				Href: b + "/styles?f=html", Hreflang: links.Hreflang})
	}
	if s.Changes != nil {
		list = append(list, ogcapi.Link{Rel: "current", Type: media.Atom.Media,
			Title: "Changes of the data as Atom", Href: b + "/changes/latest?f=atom"},
			ogcapi.Link{Rel: "current", Type: media.JSON.Media, Title: "Changes of the data", Href: b +
				"/changes/latest?f=json"})
	}
	if svc.Licence.URL != "" {
		list = append(list, ogcapi.Link{Rel: "license", Type: "text/html", Title: svc.Licence.Name,
			Href: svc.Licence.URL, Hreflang: links.Hreflang})
	}
	if svc.Terms != "" {
		list = append(list, ogcapi.Link{Rel: "terms-of-service", Type: "text/html", Title: "Terms of service",
			Href: svc.Terms, Hreflang: links.Hreflang})
	}
	doc := ogcapi.Landing{Links: list, Title: title, Description: description, Extent: c.extent()}
	for _, id := range drawing.CommonCRS(server.Tiled(c.Catalog, nil)) {
		doc.CRS = append(doc.CRS, id.URI())
	}
	if doc.Extent != nil {
		doc.StorageCRS = c.storageCRS(doc.Extent.Spatial)
	}
	view := landingView{Landing: doc, Collections: c.summaries(), Publisher: publisher(svc),
		Keyed: s.Config.Auth != "open", Divisions: len(c.Catalog.Areas()) > 0, Changes: s.Changes != nil}
	a := &server.Answer{JSON: doc, LD: func() any { return c.CatalogLD(list) }, Links: list}
	if whole := c.wholeMap(); whole != nil {
		view.Map, a.Fleeting = c.Overview(whole, c.Text("map.landing", whole.TitleIn(c.Lang), whole.Count))
	}
	view.Searches, view.Finds = c.Searches(), c.finds()
	a.Page = &page.Page{Name: "landing", Title: title, Description: description, Data: view, Script: view.Map != "" ||
		view.Searches != nil}
	return a, nil
}

// extent returns a box around all data that have maps, in degrees; nil if there are none.
func (c *call) extent() *ogcapi.Extent {
	var all *ogcapi.Extent
	for _, coll := range server.Tiled(c.Catalog, nil) {
		e := server.Summary(coll, c.Lang).Extent
		if e == nil || e.Spatial == nil {
			continue
		}
		if all == nil {
			all = &ogcapi.Extent{Spatial: &ogcapi.SpatialExtent{CRS: e.Spatial.CRS, BBox: e.Spatial.BBox}}
			continue
		}
		a, b := &all.Spatial.BBox[0], e.Spatial.BBox[0]
		*a = [4]float64{min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])}
	}
	return all
}

// storageCRS returns the reference system in which all data with maps are stored, and sets their box in it; "" if they
// differ.
func (c *call) storageCRS(of *ogcapi.SpatialExtent) string {
	colls := server.Tiled(c.Catalog, nil)
	id := colls[0].Geometry.CRS
	if id.Own() || slices.ContainsFunc(colls, func(x *store.Collection) bool { return x.Geometry.CRS != id }) {
		return ""
	}
	if b := of.BBox[0]; id != crs.CRS84 {
		box, err := crs.EnvelopeOf(orb.Bound{Min: orb.Point{b[0], b[1]}, Max: orb.Point{b[2], b[3]}}, crs.CRS84, id)
		if err != nil {
			return ""
		}
		of.StorageCRSBBox = [][4]float64{id.Corners(box)}
	}
	return id.URI()
}

// summaries describes the public collections.
func (c *call) summaries() []ogcapi.Collection {
	var out []ogcapi.Collection
	for _, coll := range c.Catalog.Public() {
		out = append(out, server.Summary(coll, c.Lang))
	}
	return out
}

// wholeMap returns the collection that the landing page draws: the country, or the first that is small enough to draw
// whole; nil if there is none.
func (c *call) wholeMap() *store.Collection {
	if country := server.Country(c.Catalog); country != nil {
		return country
	}
	for _, coll := range c.Catalog.Collections {
		if coll.Public && coll.Geometry != nil && coll.Count > 0 && coll.Count <= server.CountryMost {
			return coll
		}
	}
	return nil
}

// maxFinds bounds the number of collections in the first sentence of the landing page.
const maxFinds = 4

// finds returns a sentence with the number of features in the main collections, areas first; "" if there are none.
func (c *call) finds() string {
	var parts []string
	for _, coll := range c.SearchOrder() {
		if coll.Geometry != nil && coll.Count > 0 && len(parts) < maxFinds {
			parts = append(parts, page.InDigits(strconv.Itoa(coll.Count), c.Lang)+" "+
				page.InsideSentence(coll.TitleIn(c.Lang)))
		}
	}
	if parts == nil {
		return ""
	}
	list := strings.Join(parts[:len(parts)-1], ", ")
	if list != "" {
		list += " " + c.Text("landing.and") + " "
	}
	return c.Text("landing.finds", list+parts[len(parts)-1])
}

// landingView is the data of the page.
type landingView struct {
	ogcapi.Landing
	Collections []ogcapi.Collection
	Map         template.HTML // of the collection that wholeMap returns
	Searches    []names.Searched
	Finds       string // see finds
	Publisher   string // name or address of the publisher; "" if there is none
	Keyed       bool   // data need a key
	Divisions   bool   // points can be looked up
	Changes     bool   // changes are recorded
}

// conformance lists the classes of all routes (OGC 19-072, 7.5).
func (s *surface) conformance(c *call) (*server.Answer, error) {
	var uris []string
	for _, rt := range s.Routes() {
		uris = append(uris, rt.Classes...)
	}
	slices.Sort(uris)
	doc := ogcapi.Conformance{ConformsTo: slices.Compact(uris)}
	return &server.Answer{JSON: doc, Links: c.SelfLinks("/conformance"),
		Page: &page.Page{Name: "conformance", Title: c.Text("conformance.title"),
			Data: c.classViews(doc.ConformsTo)}}, nil
}

// classView is a conformance class on its page.
type classView struct {
	URI, Name string // Name joins standard and class with a point, such as ogcapi-features-1.core
	Known     bool   // web/messages has a sentence for it
}

func (c *call) classViews(uris []string) []classView {
	out := make([]classView, len(uris))
	for i, uri := range uris {
		_, name, _ := strings.Cut(uri, "/spec/")
		standard, _, _ := strings.Cut(name, "/")
		v := classView{URI: uri, Name: standard + "." + uri[strings.LastIndexByte(uri, '/')+1:]}
		v.Known = c.Text("class."+v.Name) != "class."+v.Name
		out[i] = v
	}
	return out
}

// publisher returns the text of the link to the publisher; "" if it has no address.
func publisher(svc *config.Service) string {
	if svc.Publisher.URL == "" {
		return ""
	}
	return cmp.Or(svc.Publisher.Name, svc.Publisher.URL)
}
