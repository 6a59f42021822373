package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/apikey"
	"grense/internal/draw"
	"grense/internal/problem"
	"grense/internal/server/assets"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/schema"
	"grense/internal/store"
	"grense/internal/style"
	"grense/web"
)

// RenderPage renders a page in the layout.
func (c *Call) RenderPage(p *page.Page) ([]byte, error) {
	if c.Catalog == nil { // the request failed before routing
		c.Catalog = c.s.Store.Catalog()
	}
	p.Lang, p.Service, p.Root, p.Base, p.Version = c.Lang, c.s.Config.Service.Title.In(c.Lang), c.Root, c.Base(),
		c.s.Version
	p.LangAsked, p.Zone, p.MapCaption = c.Values.Get("lang"), c.Zone(), mapCaption(c.Lang, c.Collection)
	p.Feedback, p.Contact = c.s.feedback(), c.s.Config.Service.Contact
	p.Invented, p.Register = invented(c.Catalog, c.Collection), HasRegister(c.Catalog)
	p.Formats, p.Languages, p.Preview = nil, nil, c.Base()+"/preview.png"
	if c.Route == nil {
		return c.s.pages.Render(p)
	}
	path := strings.TrimPrefix(c.s.proxies.Path(c.Request.URL), c.Mount)
	if p.Path != "" {
		path = p.Path
	}
	if path == "/" {
		path = ""
	}
	for _, r := range c.Route.Formats {
		if r.F != "html" && r.F != p.Without {
			p.Formats = append(p.Formats, page.FormatLink{F: r.F, Href: c.With(path, r.F), Media: r.Media})
		}
	}
	rest := strings.Join(c.Replay("f", "lang"), "&")
	if rest != "" {
		rest = "&" + rest
	}
	p.Neutral = c.Base() + path + "?f=html" + rest
	for _, l := range page.Languages {
		p.Languages = append(p.Languages, page.LanguageLink{Code: l.Code, Tag: l.Tag,
			Href: c.Base() + path + "?f=html&lang=" + l.Code + rest, Current: l.Code == c.Lang})
	}
	return c.s.pages.Render(p)
}

// mapCaption returns the caption of maps of a collection, by its kind of geometry.
func mapCaption(lang string, coll *store.Collection) string {
	if coll == nil || coll.Geometry == nil {
		return page.Text(lang, "map.caption")
	}
	switch d, known := style.Dimensions[coll.Geometry.Type]; {
	case !known:
		return page.Text(lang, "map.caption-mixed")
	case d == 0:
		return page.Text(lang, "map.caption-points")
	case d == 1:
		return page.Text(lang, "map.caption-lines")
	}
	return page.Text(lang, "map.caption")
}

// Crumbs returns the breadcrumb trail of a page below the named page.
func (c *Call) Crumbs(parent string) []page.Crumb {
	home := page.Crumb{Title: c.Text("home"), Href: c.HtmlHref("")}
	switch parent {
	case "collections":
		return []page.Crumb{home, {Title: c.Text("collections.title"), Href: c.HtmlHref("/collections")}}
	case "collection":
		return append(c.Crumbs("collections"),
			page.Crumb{Title: c.Collection.TitleIn(c.Lang), Href: c.HtmlHref("/collections/" + c.Collection.ID)})
	case "items":
		return append(c.Crumbs("collection"),
			page.Crumb{Title: c.Text("items.title"), Href: c.HtmlHref("/collections/" + c.Collection.ID + "/items")})
	case "codes":
		return []page.Crumb{home, {Title: c.Text("codes.title"), Href: c.HtmlHref("/codes")}}
	case "codelists":
		return []page.Crumb{home, {Title: c.Text("codelists.title"), Href: c.HtmlHref("/codelists")}}
	case "processes":
		return []page.Crumb{home, {Title: c.Text("processes.title"), Href: c.HtmlHref("/processes")}}
	case "jobs":
		return append(c.Crumbs("processes"), page.Crumb{Title: c.Text("jobs.title"), Href: c.HtmlHref("/jobs")})
	case "tilematrixsets":
		return []page.Crumb{home, {Title: c.Text("tilematrixsets.title"), Href: c.HtmlHref("/TileMatrixSets")}}
	}
	return []page.Crumb{home}
}

// problemPage returns the page of a problem. If a key is missing, it has the key form and describes the collection, but
// shows no data.
func (c failed) problemPage(e *problem.Error, p ogcapi.Problem) *page.Page {
	v := problemView{Problem: p, Heading: c.Text(fmt.Sprintf("status.%d", p.Status))}
	pg := &page.Page{Name: "problem", Title: v.Heading, Data: &v}
	if c.Collection != nil {
		pg.Crumbs = c.Crumbs("collection")
		v.Back = &pg.Crumbs[len(pg.Crumbs)-1]
	} else if p.Status == http.StatusNotFound {
		v.Ways = c.waysOn()
		if n := len(v.Ways); n > 1 && c.Route != nil {
			pg.Crumbs = v.Ways
		}
	}
	c.describeProblem(&v, e)
	if p.Status == http.StatusUnauthorized && c.Collection != nil {
		doc := Summary(c.Collection, c.Lang)
		fields := schema.Writer{Lang: c.Lang, Base: c.Base()}.Doc(c.Collection, "schema")
		v.Collection, v.Schema = &doc, &fields
		v.Next = c.Root + c.Mount + strings.TrimPrefix(c.s.proxies.Path(c.Request.URL), c.Mount)
		if c.Request.URL.RawQuery != "" {
			v.Next += "?" + apikey.Redact(c.s.withoutKey(c.Request.URL.RawQuery))
		}
	}
	return pg
}

// describeProblem sets the texts of a problem in the language of the page, as far as they are translated.
func (c failed) describeProblem(v *problemView, e *problem.Error) {
	for i, f := range v.Faults {
		v.FaultRows = append(v.FaultRows, faultView{f.Name, f.Value, c.translatedOr(e.Faults[i].Said, f.Cure)})
	}
	v.Lead = c.Text(fmt.Sprintf("status.%d-text", v.Status))
	if v.FaultRows != nil || e.Detail == "" || e.Kind == problem.Internal {
		return
	}
	if said := c.translatedOr(e.Said, v.Problem.Detail); said.Lang == "" {
		v.Lead = said.Text
	} else {
		v.Detail = said
	}
}

// waysOn returns the breadcrumb trail for an address that does not exist: the home page and a list.
func (c failed) waysOn() []page.Crumb {
	list := "collections"
	if c.Route != nil {
		if first, _, _ := strings.Cut(strings.TrimPrefix(c.Route.Path, "/"),
			"/"); slices.Contains([]string{"codelists", "processes", "jobs", "TileMatrixSets"}, first) {
			list = strings.ToLower(first)
		}
	}
	return c.Crumbs(list)
}

// faultView is an error in a parameter.
type faultView struct {
	Name, Value string
	Cure        page.Value
}

// problemView is the data of an error page.
type problemView struct {
	ogcapi.Problem
	Heading    string
	Lead       string
	FaultRows  []faultView
	Detail     page.Value         // further details in English; an empty text if there are none
	Ways       []page.Crumb       // links to go on
	Next       string             // address for the key form to return to
	Back       *page.Crumb        // the requested collection; nil if there is none
	Current    []page.Crumb       // current codes of a retired division
	Gone       string             // code, name, date and reason of a retirement; "" if there is none
	History    string             // page of its history; "" if there is none
	Collection *ogcapi.Collection // of a request for data without a key
	Schema     *ogcapi.Schema
}

// forever is the Cache-Control of files with a hash in their name.
const forever = "public, max-age=31536000, immutable"

// Briefly is the Cache-Control of files requested by a plain name, as browsers request favicon.ico.
const Briefly = "public, max-age=3600"

// static serves the embedded files.
func (s *Kit) static(w http.ResponseWriter, r *http.Request) {
	c := CallOf(r)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	name := path.Base(r.URL.Path)
	if f, ok := web.Static(name); ok { // a plain name works, too
		name = f.Name
	}
	f, ok := s.assets.File(name)
	if !ok {
		s.notFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.Media)
	h.Set("Cache-Control", forever)
	if name != path.Base(r.URL.Path) {
		h.Set("Cache-Control", Briefly)
	}
	h.Set("Vary", "Accept-Encoding")
	c.Request = r
	c.WriteBody(w, http.StatusOK, f.Body())
}

// setPages creates the renderer and the static files. rings outline the country for maps without areas, both on pages
// and as a JSON file for tile maps, in whole metres.
func (s *Kit) setPages(rings []orb.Ring) {
	s.pages, s.assets = page.NewRenderer(assets.HashedName), assets.New()
	if rings == nil {
		return
	}
	var land orb.MultiPolygon
	numbers := make([][]int, len(rings))
	for i, r := range rings {
		land = append(land, orb.Polygon{r})
		for _, at := range r {
			numbers[i] = append(numbers[i], int(at[0]), int(at[1]))
		}
	}
	s.Shore = draw.NewOutline("", land, func(x, y float64) (float64, float64) { return x, y })
	text, _ := json.Marshal(numbers) // integers cannot fail
	s.assets.Shore, s.assets.ShoreName = assets.NewFile(text, media.JSON.Media), web.HashedName("shore.json", text)
	s.ShoreFile = "/static/" + s.assets.ShoreName
}

// CountryMost is the number of features up to which a collection is drawn whole.
const CountryMost = 500

// Country returns the first public collection of areas that can be drawn whole; nil if there is none.
func Country(cat *store.Catalog) *store.Collection {
	for _, coll := range cat.Collections {
		if coll.Public && coll.Geometry != nil && (coll.Geometry.Type == "Polygon" ||
			coll.Geometry.Type == "MultiPolygon") && coll.Count > 0 && coll.Count <= CountryMost {
			return coll
		}
	}
	return nil
}

// MayDraw reports whether a page may show features: data need no key, or the visitor has one.
func (c *Call) MayDraw() bool { return c.s.Config.Auth == "open" || c.holds }
