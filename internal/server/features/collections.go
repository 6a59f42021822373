package features

import (
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/links"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/schema"
	"grense/internal/store"
)

// collections writes the list of public collections (OGC 17-069r4, 7.13), filtered and paged (OGC API - Common Part
// 2, draft).
func (s *surface) collections(c *call) (*server.Answer, error) {
	p := c.Params.(*collectionsParams)
	found := slices.DeleteFunc(c.Catalog.Public(), func(coll *store.Collection) bool { return !p.wants(coll) })
	links := append(c.SelfLinks("/collections"), c.ListPages("/collections", p.offset, p.limit, len(found))...)
	shown := found[min(p.offset, len(found)):min(p.offset+p.limit, len(found))]
	doc := ogcapi.Collections{Collections: c.collectionDocs(shown), Links: links, NumberMatched: len(found),
		NumberReturned: len(shown)}
	ld := func() any {
		m := c.CatalogLD(nil)
		var sets []any
		for i := range doc.Collections {
			set := datasetLD(&doc.Collections[i])
			if c.Format.F == media.HTML.F { // the page of each collection has the rest
				set = named(set, "description")
			}
			sets = append(sets, set)
		}
		m["dataset"] = sets
		return m
	}
	view := collectionsView{Collections: doc.Collections, Query: p.query, Searched: len(found) > searchedFrom ||
		c.Values.Has("q")}
	view.Prev, view.Next = server.PreviousNext(links)
	return &server.Answer{JSON: doc, LD: ld, Links: links, Fleeting: c.Files.Asked,
		Endless: len(c.Request.URL.RawQuery) > 0,
		Page:    &page.Page{Name: "collections", Title: c.Text("collections.title"), Data: view}}, nil
}

// searchedFrom is the number of collections above which their page has a search form.
const searchedFrom = 20

// collectionsView is the view model of the page of all collections.
type collectionsView struct {
	Collections []ogcapi.Collection

	Query      string // the search words; "" for none
	Searched   bool   // the page has a form to search them
	Prev, Next string // addresses of the previous and the next page; "" for none
}

// wants reports whether a collection matches the parameters. A collection without an extent in space or time matches
// every bbox or datetime, as a feature without geometry or time does.
func (p *collectionsParams) wants(coll *store.Collection) bool {
	if p.terms != nil {
		texts := append([]string{coll.ID}, coll.Keywords...)
		for _, l := range page.Languages {
			texts = append(texts, coll.Title.In(l.Code), coll.Description.In(l.Code))
		}
		if !slices.ContainsFunc(texts, func(t string) bool {
			_,
				hit := cql2.RankWords(cql2.Words(t), p.terms)
			return hit
		}) {
			return false
		}
	}
	if p.bbox != nil && coll.Extent != nil && !meets(p.bbox.Box, *coll.Extent) {
		return false
	}
	if _, timed := coll.During(); timed && p.hasTime {
		first, last := coll.Temporal[0], coll.Temporal[1]
		if p.from != nil && last != nil && last.Before(*p.from) || p.to != nil && first != nil && first.After(*p.to) {
			return false
		}
	}
	return true
}

// meets reports whether a box in degrees touches an extent. If west is greater than east, the box crosses the
// antimeridian.
func meets(box, extent orb.Bound) bool {
	if box.Min[0] <= box.Max[0] {
		return box.Intersects(extent)
	}
	east, west := box, box
	east.Max[0], west.Min[0] = 180, -180
	return east.Intersects(extent) || west.Intersects(extent)
}

// collection writes the description of one collection (OGC 17-069r4, 7.14).
func (s *surface) collection(c *call) (*server.Answer, error) {
	doc := c.collectionDoc(c.Collection)
	ld := func() any {
		m := datasetLD(&doc)
		m["@context"] = "https://schema.org/docs/jsonldcontext.jsonld"
		m["includedInDataCatalog"] = c.CatalogLD(nil)
		if c.Format.F == media.HTML.F {
			m["includedInDataCatalog"] = named(c.CatalogLD(nil))
		}
		return m
	}
	w := schema.Writer{Lang: c.Lang, Base: c.Base()}
	view := collectionView{Collection: doc, Schema: w.Doc(c.Collection, "schema"),
		Keyed: s.Config.Auth != "open", Tiled: server.TileSets(c.Collection) != nil,
		Timed: c.Collection.IntervalStart != "" || c.Collection.Versions != nil}
	if at := c.Collection.Modified; !at.IsZero() {
		view.Updated = at.UTC().Format(time.RFC3339)
	}
	a := &server.Answer{JSON: doc, LD: ld, Links: doc.Links, Fleeting: c.Files.Asked}
	if c.Format.F != media.HTML.F {
		return a, nil
	}
	view.Files = c.pageDownloads(nil, c.Collection.Count)
	fleeting := false
	view.Map, fleeting = c.Overview(c.Collection, c.Text("map.collection", doc.Title))
	a.Fleeting = a.Fleeting || fleeting
	a.Page = &page.Page{Name: "collection", Title: doc.Title, Description: doc.Description,
		Crumbs: c.Crumbs("collections"), Data: view, Script: view.Map != ""}
	if set := drawing.Grid(c.Collection); set != nil && view.Map != "" {
		a.Page.Tiles = c.TileMap(set, c.Collection)
		a.Page.Legend = "/collections/" + c.Collection.ID + "/legend"
	}
	switch {
	case !c.MayDraw():
		a.Page.Caption = c.Text("map.caption-extent")
	case c.Collection.Count > server.CountryMost:
		a.Page.Caption = c.Text("map.caption-box")
	}
	return a, nil
}

// collectionView is the view model of the page of a collection.
type collectionView struct {
	ogcapi.Collection
	Schema  ogcapi.Schema
	Keyed   bool
	Files   []page.DownloadLink
	Map     template.HTML // a map of its features, or of their extent
	Tiled   bool          // the collection has tiles
	Updated string        // when its features were last written, by RFC 3339; "" if unknown
	Timed   bool          // features have times or versions, so that a day selects some
}

// CRSName returns the name of a coordinate system of the collection; "" for any other.
func (v collectionView) CRSName(uri string) string {
	if id, ok := crs.Parse(uri); ok {
		return id.Name()
	}
	return ""
}

// collectionDocs returns the descriptions of collections in their order; never nil.
func (c *call) collectionDocs(list []*store.Collection) []ogcapi.Collection {
	out := make([]ogcapi.Collection, len(list))
	for i, coll := range list {
		out[i] = c.collectionDoc(coll)
	}
	return out
}

// collectionDoc returns the description of a collection. It is the same in the list and at its own address, in every
// representation: its links self and alternate point to the description itself.
func (c *call) collectionDoc(coll *store.Collection) ogcapi.Collection {
	root, here := c.Base(), c.Base()+"/collections/"+coll.ID
	var list []ogcapi.Link
	add := func(rel, media, href, title string) {
		l := ogcapi.Link{Rel: rel, Type: media, Title: title, Href: href}
		if media == "text/html" {
			l.Hreflang = links.Hreflang
		}
		list = append(list, l)
	}
	for _, l := range coll.Links {
		list = append(list, ogcapi.Link{Rel: l.Rel, Type: l.Type, Title: l.Title, Href: l.Href, Hreflang: l.Hreflang})
	}
	add("root", "application/json", root+"?f=json", "The landing page of this server as JSON")
	add("root", "text/html", root+"?f=html", "The landing page of this server as HTML")
	add("self", "application/json", here+"?f=json", links.FormTitles["json"])
	add("alternate", "application/ld+json", here+"?f=jsonld", links.FormTitles["jsonld"])
	add("alternate", "text/html", here+"?f=html", links.FormTitles["html"])
	add(ogcapi.RelSchema, media.Schema.Media, here+"/schema?f=json", "Schema of collection in JSON")
	add(ogcapi.RelSchema, "text/html", here+"/schema?f=html", "Schema of collection in HTML")
	add(ogcapi.RelQueryables, media.Schema.Media, here+"/queryables?f=json",
		"Queryables for this collection as JSON")
	add(ogcapi.RelQueryables, "text/html", here+"/queryables?f=html", "Queryables for this collection as HTML")
	add("items", media.GeoJSON.Media, here+"/items", "Items as GeoJSON, page by page")
	add("items", "application/ld+json", here+"/items?f=jsonld", "Items as RDF (GeoJSON-LD), page by page")
	add("items", "text/html", here+"/items?f=html", "Items as HTML, page by page")
	add("items", media.CSV.Media, here+"/items?f=csv", "Items as CSV, page by page")
	add(ogcapi.RelSortables, media.Schema.Media, here+"/sortables?f=json", "Sortables for this collection as JSON")
	add(ogcapi.RelSortables, "text/html", here+"/sortables?f=html", "Sortables for this collection as HTML")
	if server.TileSets(coll) != nil {
		add(ogcapi.RelTilesetsVector, media.JSON.Media, here+"/tiles?f=json", "Vector tiles of this collection")
		add(ogcapi.RelTilesetsVector, media.HTML.Media, here+"/tiles?f=html",
			"Vector tiles of this collection as HTML")
		if slices.Contains(server.OfferedCRS(coll), crs.WebMercator) {
			add("stylesheet", media.Style.Media, here+"/style?f=json", "Style of a map of this collection")
			add(ogcapi.RelStyles, media.JSON.Media, here+"/styles?f=json", "Styles of maps of this collection")
			add(ogcapi.RelStyles, media.HTML.Media, here+"/styles?f=html",
				"Styles of maps of this collection as HTML")
		}
		add(ogcapi.RelTilesetsMap, media.JSON.Media, here+"/map/tiles?f=json", "Map tiles of this collection")
		add(ogcapi.RelMap, media.PNG.Media, here+"/map", "Map of this collection")
		add(ogcapi.RelMap, media.HTML.Media, here+"/map?f=html", "Map of this collection as HTML")
	}
	list = append(list, c.downloadLinks(coll)...)
	if l := c.s.Config.Service.Licence; l.URL != "" {
		add("license", "text/html", l.URL, l.Name)
	}
	doc := server.Summary(coll, c.Lang)
	doc.Links, doc.Keywords, doc.ItemType, doc.CRS = list, coll.Keywords, "feature", server.CrsURIs(coll)
	if doc.Keywords == nil {
		doc.Keywords = []string{}
	}
	if server.IsVersioned(coll) {
		doc.Versioning = &ogcapi.Versioning{TimeAxis: "validity-time"}
		if coll.Versions.TransactionTime() {
			doc.Versioning.TimeAxis = "transaction-time"
		}
	}
	if coll.Geometry != nil {
		doc.StorageCRS = coll.Geometry.CRS.URI()
	}
	return doc
}

// datasetLD returns a collection as a schema.org Dataset, with one DataDownload for each file of all features.
func datasetLD(d *ogcapi.Collection) map[string]any {
	id := ""
	var downloads []any
	for _, l := range d.Links {
		switch l.Rel {
		case "self":
			id, _, _ = strings.Cut(l.Href, "?")
		case "enclosure":
			// An address with a revision is valid only for that data version.
			lasting, _, _ := strings.Cut(l.Href, "&revision=")
			downloads = append(downloads,
				map[string]any{"@type": "DataDownload", "contentUrl": lasting, "encodingFormat": l.Type,
					"name": l.Title})
		}
	}
	m := map[string]any{"@type": "Dataset", "@id": id, "url": id, "name": d.Title, "distribution": downloads}
	if d.Description != "" {
		m["description"] = d.Description
	}
	if len(d.Keywords) > 0 {
		m["keywords"] = d.Keywords
	}
	for _, l := range d.Links {
		if l.Rel == "license" {
			m["license"] = l.Href
		}
	}
	if d.Extent != nil && d.Extent.Spatial != nil {
		b := d.Extent.Spatial.BBox[0]
		m["spatialCoverage"] = map[string]any{"@type": "Place",
			"geo": map[string]any{"@type": "GeoShape", "box": boxText(b)}}
	}
	if d.Extent != nil && d.Extent.Temporal != nil {
		iv := d.Extent.Temporal.Interval[0]
		m["temporalCoverage"] = orOpen(iv[0]) + "/" + orOpen(iv[1])
	}
	return m
}

// named holds the identifying members of an object of linked data, and a few more.
func named(m map[string]any, more ...string) map[string]any {
	out := map[string]any{}
	for _, name := range append(more, "@type", "@id", "url", "name") {
		if v, ok := m[name]; ok {
			out[name] = v
		}
	}
	return out
}

// boxText formats a box for schema.org: latitude before longitude, south-west before north-east.
func boxText(b [4]float64) string {
	return page.Number(b[1]) + "," + page.Number(b[0]) + " " + page.Number(b[3]) + "," + page.Number(b[2])
}

func orOpen(s *string) string {
	if s == nil {
		return ".."
	}
	return *s
}
