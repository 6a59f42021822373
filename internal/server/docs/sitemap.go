package docs

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/wire"
)

// robots writes robots.txt (RFC 9309): the paths that crawlers should not visit, and the site map. Crawlers request it
// at the root of a host only.
func (s *surface) robots(w http.ResponseWriter, r *http.Request) {
	c := server.CallOf(r)
	root := page.LocalPath(c.Root)
	text := "User-agent: *\n"
	// copies, forms and endless pages
	for _, p := range []string{"/v1/", "/key", "/*cursor=", "/*filter=", "/soap/"} {
		text += "Disallow: " + root + p + "\n"
	}
	for _, end := range []string{"$", "?"} { // allows the SOAP page below a disallowed path: the longer rule wins
		text += "Allow: " + root + server.SoapPath + end + "\n"
	}
	if s.Config.Auth != "open" {
		text += "Disallow: " + root + "/collections/*/items\n"
	}
	s.plain(w, r, "text/plain; charset=utf-8", []byte(text+"\nSitemap: "+c.Root+"/sitemap.xml\n"))
}

// siteMap is a site map (sitemaps.org, protocol 0.9) with links to each page in all languages (the xhtml extension).
type siteMap struct {
	XMLName xml.Name   `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	XHTML   string     `xml:"xmlns:xhtml,attr"`
	Pages   []sitePage `xml:"url"`
}

type sitePage struct {
	Location   string          `xml:"loc"`
	Modified   string          `xml:"lastmod,omitempty"`
	Alternates []siteAlternate `xml:"xhtml:link"`
}

type siteAlternate struct {
	Rel  string `xml:"rel,attr"`
	Lang string `xml:"hreflang,attr"`
	Href string `xml:"href,attr"`
}

// siteMap writes the site map: the pages at the root mount that need no key. If data need no key, it includes the
// features of each collection.
func (s *surface) siteMap(w http.ResponseWriter, r *http.Request) {
	c := server.CallOf(r)
	cat := s.Store.Catalog()
	c.Catalog = cat
	doc := siteMap{XHTML: "http://www.w3.org/1999/xhtml"}
	add := func(path string) {
		p := sitePage{Location: c.Root + path + "?f=html"}
		if !cat.Modified.IsZero() {
			p.Modified = cat.Modified.UTC().Format("2006-01-02")
		}
		for _, l := range page.Languages {
			p.Alternates = append(p.Alternates, siteAlternate{"alternate", l.Tag, p.Location + "&lang=" + l.Code})
		}
		doc.Pages = append(doc.Pages, p)
	}
	for _, rt := range s.Routes() {
		if !strings.Contains(rt.Path, "{") && rt.Get != nil &&
			slices.ContainsFunc(rt.Formats, func(r media.Format) bool { return r.F == media.HTML.F }) &&
			s.call(c).offers(rt) {
			add(rt.Path)
		}
	}
	if server.HasRegister(c.Catalog) {
		add(server.SoapPath)
	}
	for _, coll := range cat.Collections {
		if !coll.Public {
			continue
		}
		here := "/collections/" + coll.ID
		for _, p := range []string{"", "/schema", "/queryables", "/sortables"} {
			add(here + p)
		}
		if s.Config.Auth == "open" {
			add(here + "/items")
		}
	}
	b, err := xml.Marshal(doc)
	if err != nil {
		c.Request = r
		c.Fail(w, err)
		return
	}
	s.plain(w, r, "application/xml; charset=utf-8", append([]byte(xml.Header), b...))
}

// plain writes a small file to GET and HEAD requests.
func (s *surface) plain(w http.ResponseWriter, r *http.Request, media string, data []byte) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", media)
	h.Set("Cache-Control", server.Briefly)
	h.Set("Vary", "Accept-Encoding")
	c := server.CallOf(r)
	c.Request = r
	c.WriteBody(w, http.StatusOK, wire.NewBody(data))
}

// about returns the page about the service, its publisher and its invented data.
func (s *surface) about(c *call) (*server.Answer, error) {
	doc := statement{Title: c.Text("about.title"), Description: c.Described(), Links: c.SelfLinks("/about")}
	v := aboutView{statement: doc, Service: &s.Config.Service}
	for _, coll := range c.Catalog.Collections {
		if coll.Public && coll.Invented {
			v.Invented = append(v.Invented,
				page.Crumb{Title: coll.TitleIn(c.Lang), Href: c.HtmlHref("/collections/" + coll.ID)})
		}
	}
	return &server.Answer{JSON: doc, Links: doc.Links, Page: &page.Page{Name: "about", Title: doc.Title, Data: v}}, nil
}

// aboutView is the data of the page.
type aboutView struct {
	statement
	Service  *config.Service
	Invented []page.Crumb // collections with invented data
}

// accessibility returns the accessibility statement.
func (s *surface) accessibility(c *call) (*server.Answer, error) {
	doc := statement{Title: c.Text("accessibility.title"), Description: c.Text("accessibility.lead"),
		Links: c.SelfLinks("/accessibility")}
	return &server.Answer{JSON: doc, Links: doc.Links,
		Page: &page.Page{Name: "accessibility", Title: doc.Title, Data: doc}}, nil
}

// statement is the JSON representation of a page: its title and description.
type statement struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []ogcapi.Link `json:"links"`
}
