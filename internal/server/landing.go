package server

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/config"
	"grense/internal/server/page"
	"grense/internal/store"
)

// landing is the start of the API (OGC 19-072, 7.2). The first eleven links are what clients of the service were written for: order,
// relation, type, address and title are fixed, and they are the same in each machine representation. Further links come after them.
func (s *Kit) landing(c *Call) (*Answer, error) {
	b, svc := c.Base(), &s.Config.Service
	title, description := svc.Title.In(c.Lang), c.described()
	links := []ogcapi.Link{
		{Rel: "about", Type: "text/html", Title: title, Href: cmp.Or(svc.Publisher.URL, b+"/about"), Hreflang: Hreflang},
		{Rel: "self", Type: "application/json", Title: "This document as JSON", Href: b + "?f=json"},
		{Rel: "alternate", Type: "application/ld+json", Title: "This document as RDF (JSON-LD)", Href: b + "?f=jsonld"},
		{Rel: "alternate", Type: "text/html", Title: "This document as HTML", Href: b + "?f=html", Hreflang: Hreflang},
		{Rel: "service-desc", Type: asOpenAPI.Media, Title: "The OpenAPI definition as JSON", Href: b + "/openapi"},
		{Rel: "service-doc", Type: "text/html", Title: "The OpenAPI definition as HTML", Href: b + "/openapi?f=html", Hreflang: Hreflang},
		{Rel: "conformance", Type: "application/json", Title: "Conformance", Href: b + "/conformance"},
		{Rel: "data", Type: "application/json", Title: "Collections", Href: b + "/collections"},
		{Rel: ogcapi.RelProcesses, Type: "application/json", Title: "Processes", Href: b + "/processes"},
		{Rel: ogcapi.RelTilingSchemes, Type: "application/json", Title: "The list of supported tiling schemes as JSON", Href: b + "/TileMatrixSets?f=json"},
		{Rel: ogcapi.RelTilingSchemes, Type: "text/html", Title: "The list of supported tiling schemes as HTML", Href: b + "/TileMatrixSets?f=html", Hreflang: Hreflang},
		{Rel: ogcapi.RelConformance, Type: "application/json", Title: "Conformance", Href: b + "/conformance"},
		{Rel: ogcapi.RelData, Type: "application/json", Title: "Collections", Href: b + "/collections"},
	}
	if s.Jobs != nil {
		links = append(links, ogcapi.Link{Rel: ogcapi.RelJobList, Type: "application/json", Title: "Jobs", Href: b + "/jobs?f=json"},
			ogcapi.Link{Rel: ogcapi.RelJobList, Type: "text/html", Title: "Jobs as HTML", Href: b + "/jobs?f=html", Hreflang: Hreflang})
	}
	if c.tiled(nil) != nil {
		links = append(links,
			ogcapi.Link{Rel: ogcapi.RelTilesetsVector, Type: AsJSON.Media, Title: "Vector tiles of all collections", Href: b + "/tiles?f=json"},
			ogcapi.Link{Rel: ogcapi.RelTilesetsVector, Type: AsHTML.Media, Title: "Vector tiles of all collections as HTML", Href: b + "/tiles?f=html", Hreflang: Hreflang},
			ogcapi.Link{Rel: "stylesheet", Type: asStyle.Media, Title: "Style of a map of all collections", Href: b + "/style?f=json"})
	}
	if s.Changes != nil {
		links = append(links, ogcapi.Link{Rel: "current", Type: asAtom.Media, Title: "Changes of the data as Atom", Href: b + "/changes/latest?f=atom"},
			ogcapi.Link{Rel: "current", Type: AsJSON.Media, Title: "Changes of the data", Href: b + "/changes/latest?f=json"})
	}
	if svc.Licence.URL != "" {
		links = append(links, ogcapi.Link{Rel: "license", Type: "text/html", Title: svc.Licence.Name, Href: svc.Licence.URL, Hreflang: Hreflang})
	}
	if svc.Terms != "" {
		links = append(links, ogcapi.Link{Rel: "terms-of-service", Type: "text/html", Title: "Terms of service", Href: svc.Terms, Hreflang: Hreflang})
	}
	doc := ogcapi.Landing{Links: links, Title: title, Description: description}
	view := landingView{Landing: doc, Collections: c.collectionDocs(c.publicCollections()), Publisher: publisher(svc), Keyed: s.Config.Auth != "open", Divisions: len(c.divisions()) > 0, Changes: s.Changes != nil}
	a := &Answer{JSON: doc, LD: func() any { return c.catalogLD(links) }, Links: links}
	if whole := c.wholeMap(); whole != nil {
		view.Map, a.Fleeting = c.overview(whole, c.Text("map.landing", c.titleOf(whole), whole.Count))
	}
	view.Searches, view.Finds = c.searches(), c.finds()
	a.Page = &page.Page{Name: "landing", Title: title, Description: description, Data: view, Script: view.Map != "" || view.Searches != nil}
	return a, nil
}

// wholeMap is the collection that the landing page draws: the country, else the first that can be drawn whole; nil when there is none.
func (c *Call) wholeMap() *store.Collection {
	if country := c.country(); country != nil {
		return country
	}
	for _, coll := range c.Catalog.Collections {
		if coll.Public && coll.Geometry != nil && coll.Count > 0 && coll.Count <= countryMost {
			return coll
		}
	}
	return nil
}

// findsMost is how many kinds of features the landing page begins with.
const findsMost = 4

// finds tells what there is: the largest kinds of features that people search by name, those of areas first.
func (c *Call) finds() string {
	var parts []string
	for _, coll := range c.searchOrder() {
		if coll.Geometry != nil && coll.Count > 0 && len(parts) < findsMost {
			parts = append(parts, page.InDigits(strconv.Itoa(coll.Count), c.Lang)+" "+page.InsideSentence(c.titleOf(coll)))
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

// landingView is what the landing page shows.
type landingView struct {
	ogcapi.Landing
	Collections []ogcapi.Collection
	Map         template.HTML // of the first collection of areas
	Searches    []searched
	Finds       string // what there is; "" for nothing
	Publisher   string // name, or address, of who stands behind the data; "" for nobody
	Keyed       bool   // data need a key
	Divisions   bool   // points can be looked up
	Changes     bool   // are recorded
}

// conformance lists the classes of all routes (OGC 19-072, 7.5).
func (s *Kit) conformance(c *Call) (*Answer, error) {
	var uris []string
	for _, rt := range s.Routes() {
		uris = append(uris, rt.Classes...)
	}
	slices.Sort(uris)
	doc := ogcapi.Conformance{ConformsTo: slices.Compact(uris)}
	return &Answer{JSON: doc, Links: c.SelfLinks("/conformance"),
		Page: &page.Page{Name: "conformance", Title: c.Text("conformance.title"), Data: c.classViews(doc.ConformsTo)}}, nil
}

// classView is a conformance class on its page.
type classView struct {
	URI, Name string // the name is that of the standard, a point, and that of the class
	Known     bool   // the catalogues have a sentence for it
}

func (c *Call) classViews(uris []string) []classView {
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

// publisher is what the link to the publisher says; "" when there is none.
func publisher(svc *config.Service) string {
	if svc.Publisher.URL == "" {
		return ""
	}
	return cmp.Or(svc.Publisher.Name, svc.Publisher.URL)
}
