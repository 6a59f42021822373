package docs

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/server/page"
)

// robots tells crawlers what to leave alone, and where the site map is (RFC 9309). Only the root of a host is asked
// for it.
func (s *surface) robots(w http.ResponseWriter, r *http.Request) {
	c := server.CallOf(r)
	root := page.LocalPath(c.Root)
	text := "User-agent: *\n"
	// what is a copy, a form, or without end
	for _, p := range []string{"/v1/", "/key", "/*cursor=", "/*filter=", "/soap/"} {
		text += "Disallow: " + root + p + "\n"
	}
	for _, end := range []string{"$", "?"} { // the page of the service, below what is left alone: the longer path wins
		text += "Allow: " + root + server.SoapPath + end + "\n"
	}
	if s.Config.Auth != "open" {
		text += "Disallow: " + root + "/collections/*/items\n"
	}
	s.plain(w, r, "text/plain; charset=utf-8", []byte(text+"\nSitemap: "+c.Root+"/sitemap.xml\n"))
}

// siteMap is a list of pages (sitemaps.org, protocol 0.9) with each in all languages (the extension for alternates).
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

// siteMap lists the pages at the mount / that need no key; with open data, the features of each collection too.
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
			slices.ContainsFunc(rt.Formats, func(r server.Format) bool { return r.F == server.AsHTML.F }) &&
			c.Offers(rt) {
			add(rt.Path)
		}
	}
	if c.HasRegister() {
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

// plain writes a file that is made on the spot.
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
	c.WriteBody(w, http.StatusOK, server.NewBody(data))
}

// about tells what the service is, who runs it, and what of its data is made up.
func (s *surface) about(c *call) (*server.Answer, error) {
	doc := statement{Title: c.Text("about.title"), Description: c.Described(), Links: c.SelfLinks("/about")}
	v := aboutView{statement: doc, Service: &s.Config.Service}
	for _, coll := range c.Catalog.Collections {
		if coll.Public && coll.Invented {
			v.Invented = append(v.Invented,
				page.Crumb{Title: c.TitleOf(coll), Href: c.HtmlHref("/collections/" + coll.ID)})
		}
	}
	return &server.Answer{JSON: doc, Links: doc.Links, Page: &page.Page{Name: "about", Title: doc.Title, Data: v}}, nil
}

// aboutView is what the page about the service shows.
type aboutView struct {
	statement
	Service  *config.Service
	Invented []page.Crumb // collections that are made up
}

// accessibility says how accessible the pages are, and where they are not.
func (s *surface) accessibility(c *call) (*server.Answer, error) {
	doc := statement{Title: c.Text("accessibility.title"), Description: c.Text("accessibility.lead"),
		Links: c.SelfLinks("/accessibility")}
	return &server.Answer{JSON: doc, Links: doc.Links,
		Page: &page.Page{Name: "accessibility", Title: doc.Title, Data: doc}}, nil
}

// statement is a page for programs: what it is, and where to read it.
type statement struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []ogcapi.Link `json:"links"`
}
