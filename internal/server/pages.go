package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"grense/api/ogcapi"
	"grense/internal/config"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/web"
)

// page is what a template shows.
type page struct {
	Name   string // of the template
	Title  string
	Crumbs []crumb
	Data   any

	Script      bool        // the page has something that gains by site.js
	TitleLang   string      // language of the title; "" when it is that of the page, or not known
	Description string      // for search engines and previews; "" for none
	LD          template.JS // the page as JSON-LD, made safe by inScript; "" for none
	Caption     string      // of the map; "" for the usual one
	Tiles       *tileMap    // the map of tiles that scripts put in the place of the drawing; nil: none
	Refresh     bool        // without scripts the page is loaded anew every few seconds
	Copies      []copied    // what people take away from the page, each with a button that copies it
	Refused     bool        // the page is a form that comes back with what is wrong
	Path        string      // below the mount, where it is not that of the request
	Instance    string      // of the problem that such a form tells
	Empty       bool        // there is nothing to take away in another format
	Without     string      // a representation of the route that this document does not have; "" for none

	// What the layout shows around the page, which render sets. It is no struct of its own: templates find promoted fields slowly.
	Lang      string // nb, nn, en
	Tag       string // for the attribute lang
	Service   string
	Base      string // absolute URL of the mount
	Formats   []formatLink
	Languages []languageLink
	Neutral   string // the address of this page in no stated language
	Preview   string // address of the picture for previews of links
	Version   string
	c         *call
}

// copied is a text to copy, and what it is.
type copied struct{ Title, Text string }

// copies are the address of data of the page without its language, and how to fetch it.
func (c *call) copies(path string) []copied {
	address := c.base() + path
	key := ""
	if c.s.cfg.Auth != "open" {
		key = `-H "X-API-Key: ` + c.text("recipes.placeholder") + `" `
	}
	return []copied{{"GeoJSON", address}, {"curl", "curl " + key + `"` + strings.ReplaceAll(strings.ReplaceAll(address, "$", "%24"), "`", "%60") + `"`}}
}

// crumb is a step of the path to a page.
type crumb struct{ Title, Href string }

type formatLink struct{ F, Href, Media string }

type languageLink struct {
	Code, Tag, Href string
	Current         bool
}

// T gives a text of the catalogue in the language of the page.
func (v *page) T(name string, args ...any) string { return v.c.text(name, args...) }

// Count writes a whole number for people in the language of the page: 15 326, in English 15,326. The space does not break.
func (v *page) Count(n int) string { return inDigits(strconv.Itoa(n), v.Lang) }

// Number writes a number for people in the language of the page, rounded to six decimals.
func (v *page) Number(x float64) string { return inDigits(number(math.Round(x*1e6)/1e6), v.Lang) }

// Extent writes boxes in degrees for people.
func (v *page) Extent(boxes [][4]float64) string {
	var out []string
	for _, b := range boxes {
		in := func(x float64) string { return inDigits(degrees(x), v.Lang) }
		out = append(out, v.c.text("collection.extent-text", in(b[0]), in(b[1]), in(b[2]), in(b[3])))
	}
	return strings.Join(out, "; ")
}

// Link gives the address of a page of this mount, in the language of this one.
func (v *page) Link(path string) string { return v.c.htmlHref(path) }

// Ours gives an address as a page in the language of this one, where it is a path of this mount; any other stays.
func (v *page) Ours(href string) string {
	if path, ok := strings.CutPrefix(href, v.Base+"/"); ok && !strings.ContainsAny(path, "?#") {
		return v.Link("/" + path)
	}
	return href
}

// Local gives the address of a path of this mount without scheme and host, so that it counts as ours for the browser under
// whatever name the server was reached (CSP Level 3, 'self').
func (v *page) Local(path string) string { return localPath(v.c.base()) + path }

// Inside writes a title as it stands inside a sentence.
func (v *page) Inside(title string) string { return insideSentence(title) }

// insideSentence begins a title with a small letter, unless it is an abbreviation.
func insideSentence(title string) string {
	a, n := utf8.DecodeRuneInString(title)
	b, _ := utf8.DecodeRuneInString(title[n:])
	if unicode.IsUpper(b) || !unicode.IsLetter(b) {
		return title
	}
	return string(unicode.ToLower(a)) + title[n:]
}

// MapCaption is what the usual map shows, by the kind of its geometries.
func (v *page) MapCaption() string {
	if v.c.coll == nil || v.c.coll.Geometry == nil {
		return v.c.text("map.caption")
	}
	switch d, known := dimensions[v.c.coll.Geometry.Type]; {
	case !known:
		return v.c.text("map.caption-mixed")
	case d == 0:
		return v.c.text("map.caption-points")
	case d == 1:
		return v.c.text("map.caption-lines")
	}
	return v.c.text("map.caption")
}

// Static gives the address of an embedded file, without scheme and host.
func (v *page) Static(name string) string {
	return localPath(v.c.root) + "/static/" + hashedName(name)
}

// hashedName is the name that an embedded file is served under.
func hashedName(name string) string {
	if _, ok := swaggerMedia[name]; ok {
		if u, err := unpacked(); err == nil {
			return u.hashed[name]
		}
	}
	return web.Hashed(name)
}

// localPath is the path of an absolute address, escaped; "" for the root.
func localPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

// Feedback is where to write about the service.
func (v *page) Feedback() address { return v.c.s.feedback() }

// Contact is who runs the service, as far as configured.
func (v *page) Contact() config.Contact { return v.c.s.cfg.Service.Contact }

// Invented reports whether the page shows data that are made up.
func (v *page) Invented() bool { return v.c.invented() }

// Register reports whether a place-name register is served.
func (v *page) Register() bool { return v.c.hasRegister() }

// text is a text of the catalogue in the language of the call.
func (c *call) text(name string, args ...any) string {
	s := web.Text(c.lang, name)
	if len(args) > 0 {
		return fmt.Sprintf(s, args...)
	}
	return s
}

// htmlHref is the address of a page below the mount.
func (c *call) htmlHref(path string) string {
	href := c.base() + path + "?f=html"
	if strings.Contains(path, "?") {
		href = c.base() + path + "&f=html"
	}
	if l := first(c.values["lang"]); l != "" {
		href += "&lang=" + queryEscape(l)
	}
	return href
}

// pages renders templates and holds the embedded files as they go out.
type pages struct {
	templates map[string]func() (*template.Template, error) // by language, made when first asked for
	own       func() map[string]asset                       // the files of ours by hashed name, made when first asked for
	shore     asset                                         // the outline of the country, under the name shoreName
	shoreName string                                        // "": there is none
}

func newPages() *pages {
	ps := &pages{templates: map[string]func() (*template.Template, error){}}
	for _, l := range languages {
		ps.templates[l.code] = sync.OnceValues(func() (*template.Template, error) { return templatesIn(l.code) })
	}
	ps.own = sync.OnceValue(func() map[string]asset {
		files := map[string]asset{}
		for _, f := range web.Files() {
			files[f.Name] = newAsset(f.Data, f.Media)
		}
		return files
	})
	return ps
}

// file is an embedded file by its hashed name.
func (ps *pages) file(name string) (f asset, ok bool) {
	if ps.shoreName != "" && name == ps.shoreName {
		return ps.shore, true
	}
	if strings.HasPrefix(name, "swagger-ui") {
		u, err := unpacked()
		if err != nil {
			return f, false
		}
		f, ok = u.files[name]
		return f, ok
	}
	f, ok = ps.own()[name]
	return f, ok
}

// plainText is a place of a template where a text of the catalogues stands without values in it.
var plainText = regexp.MustCompile(`\{\{\$?\.T "([^"{}]*)"\}\}`)

// templatesIn parses the templates with the texts of a language in their places. All of them stand where text or a quoted attribute does.
func templatesIn(lang string) (*template.Template, error) {
	t := template.New("").Funcs(template.FuncMap{"number": number, "join": strings.Join, "json": indented, "sentence": sentence, "unit": unitText.Replace, "xml": indentXML, "shape": shapeOf, "breakable": breakable, "crs": crsText})
	err := fs.WalkDir(web.Templates, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(web.Templates, name)
		if err != nil {
			return err
		}
		_, err = t.New(path.Base(name)).Parse(plainText.ReplaceAllStringFunc(string(text), func(s string) string {
			return asMarkup(web.Text(lang, plainText.FindStringSubmatch(s)[1]))
		}))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("server: templates: %w", err)
	}
	return t, nil
}

// breakable is an address that may go on in another line before each of its parts.
func breakable(address string) template.HTML {
	s := strings.NewReplacer("//", "//", "/", "/<wbr>", "&amp;", "<wbr>&amp;").Replace(template.HTMLEscapeString(address))
	return template.HTML(strings.TrimSuffix(s, "<wbr>"))
}

// crsText is what people call a coordinate reference system by its URI: EPSG:25833.
func crsText(uri string) string {
	if id, ok := crs.Parse(uri); ok {
		return id.String()
	}
	return uri
}

// unitText writes the powers of a unit (UCUM) for people: km2 becomes km².
var unitText = strings.NewReplacer("2", "²", "3", "³")

// inScript makes JSON safe inside a script element, where it stands as data (HTML, 4.12.1.3): what could end the element or open a comment is
// escaped. It stays the same JSON.
func inScript(b []byte) template.JS {
	return template.JS(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(string(b)))
}

// sentence is the first sentence of a text: up to a full stop before a capital letter.
func sentence(s string) string {
	for i := range s {
		if rest, ok := strings.CutPrefix(s[i:], ". "); ok {
			if r, _ := utf8.DecodeRuneInString(rest); unicode.IsUpper(r) {
				return s[:i+1]
			}
		}
	}
	return s
}

// degrees writes a longitude or latitude for people, with 4 decimals at most.
func degrees(v float64) string { return number(math.Round(v*1e4) / 1e4) }

// indented writes a value as JSON for people, as it stands in an element: JSON of Go has no <, > and &.
func indented(v any) (template.HTML, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return template.HTML(b), err
}

// render writes a page with its layout.
func (ps *pages) render(c *call, p *page) ([]byte, error) {
	p.Lang, p.Tag, p.Service, p.Base, p.Version, p.c = c.lang, languageTag(c.lang), c.s.cfg.Service.Title.In(c.lang), c.base(), c.s.version, c
	p.Formats, p.Languages, p.Preview = nil, nil, c.base()+"/preview.png"
	if c.rt != nil {
		path := strings.TrimPrefix(c.s.routePath(c.r.URL), c.mount)
		if p.Path != "" {
			path = p.Path
		}
		if path == "/" {
			path = ""
		}
		for _, r := range c.rt.Formats {
			if r.F != "html" && r.F != p.Without {
				p.Formats = append(p.Formats, formatLink{F: r.F, Href: c.with(path, r.F), Media: r.Media})
			}
		}
		rest := strings.Join(c.replay("f", "lang"), "&")
		if rest != "" {
			rest = "&" + rest
		}
		p.Neutral = c.base() + path + "?f=html" + rest
		for _, l := range languages {
			p.Languages = append(p.Languages, languageLink{Code: l.code, Tag: l.tag, Href: c.base() + path + "?f=html&lang=" + l.code + rest, Current: l.code == c.lang})
		}
	}
	t, err := ps.templates[c.lang]()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(32 << 10) // most pages fit
	if err := t.ExecuteTemplate(&b, p.Name, p); err != nil {
		return nil, fmt.Errorf("server: page %s: %w", p.Name, err)
	}
	if page := b.Bytes(); utf8.Valid(page) {
		return page, nil
	}
	return bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")), nil // an address may hold any bytes
}

// crumbs is the path to a page whose parent is the named page.
func (c *call) crumbs(parent string) []crumb {
	home := crumb{c.text("home"), c.htmlHref("")}
	switch parent {
	case "collections":
		return []crumb{home, {c.text("collections.title"), c.htmlHref("/collections")}}
	case "collection":
		return append(c.crumbs("collections"), crumb{c.titleOf(c.coll), c.htmlHref("/collections/" + c.coll.ID)})
	case "items":
		return append(c.crumbs("collection"), crumb{c.text("items.title"), c.htmlHref("/collections/" + c.coll.ID + "/items")})
	case "codes":
		return []crumb{home, {c.text("codes.title"), c.htmlHref("/codes")}}
	case "codelists":
		return []crumb{home, {c.text("codelists.title"), c.htmlHref("/codelists")}}
	case "processes":
		return []crumb{home, {c.text("processes.title"), c.htmlHref("/processes")}}
	case "jobs":
		return append(c.crumbs("processes"), crumb{c.text("jobs.title"), c.htmlHref("/jobs")})
	case "tilematrixsets":
		return []crumb{home, {c.text("tilematrixsets.title"), c.htmlHref("/TileMatrixSets")}}
	}
	return []crumb{home}
}

// problemPage shows a problem to people; with the key form when a key is what is missing, and what the collection is, but no data.
func (c *call) problemPage(e *problem.Error, p ogcapi.Problem) *page {
	v := problemView{Problem: p, Heading: c.text(fmt.Sprintf("status.%d", p.Status))}
	pg := &page{Name: "problem", Title: v.Heading, Data: &v}
	if c.coll != nil {
		pg.Crumbs = c.crumbs("collection")
		v.Back = &pg.Crumbs[len(pg.Crumbs)-1]
	} else if p.Status == http.StatusNotFound {
		v.Ways = c.waysOn()
		if n := len(v.Ways); n > 1 && c.rt != nil {
			pg.Crumbs = v.Ways
		}
	}
	c.tellProblem(&v, e)
	if p.Status == http.StatusUnauthorized && c.coll != nil {
		doc := c.collectionDoc(c.coll)
		schema := schemaDoc(c, "schema")
		v.Collection, v.Schema = &doc, &schema
		v.Next = c.root + c.mount + strings.TrimPrefix(c.s.routePath(c.r.URL), c.mount)
		if c.r.URL.RawQuery != "" {
			v.Next += "?" + redact(c.r.URL.RawQuery)
		}
	}
	return pg
}

// tellProblem puts what is wrong into the language of the page, as far as it is there.
func (c *call) tellProblem(v *problemView, e *problem.Error) {
	for i, f := range v.Faults {
		v.Told = append(v.Told, toldFault{f.Name, f.Value, c.told(e.Faults[i].Said, f.Cure)})
	}
	v.Lead = c.text(fmt.Sprintf("status.%d-text", v.Status))
	if v.Told != nil || e.Detail == "" || e.Kind == problem.Internal {
		return
	}
	if said := c.told(e.Said, v.Problem.Detail); said.Lang == "" {
		v.Lead = said.Text
	} else {
		v.Detail = said
	}
}

// waysOn are the pages to go on from where there is nothing: the home page, and the list that the address lies below.
func (c *call) waysOn() []crumb {
	list := "collections"
	if c.rt != nil {
		if first, _, _ := strings.Cut(strings.TrimPrefix(c.rt.Path, "/"), "/"); slices.Contains([]string{"codelists", "processes", "jobs", "TileMatrixSets"}, first) {
			list = strings.ToLower(first)
		}
	}
	return c.crumbs(list)
}

// toldFault is what is wrong with a parameter.
type toldFault struct {
	Name, Value string
	Cure        shown
}

// problemView is what an error page shows.
type problemView struct {
	ogcapi.Problem
	Heading    string
	Lead       string
	Told       []toldFault
	Detail     shown              // what Lead does not say, in English; without a text for nothing
	Ways       []crumb            // to go on
	Next       string             // where the key form leads back to
	Back       *crumb             // the collection that was asked; nil for none
	Current    []crumb            // what a code that was given up is now
	Gone       string             // code, name, date and reason of what ended; "" for nothing
	History    string             // page of what became of it; "" for none
	Collection *ogcapi.Collection // of a data page without a key
	Schema     *ogcapi.Schema
}

// forever is the Cache-Control of files whose name holds their hash.
const forever = "public, max-age=31536000, immutable"

// briefly is the Cache-Control of files that were asked by their plain name, as browsers ask favicon.ico.
const briefly = "public, max-age=3600"

// static serves the embedded files by their hashed names.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	name := path.Base(r.URL.Path)
	if f, ok := web.Static(name); ok { // a plain name is understood as well
		name = f.Name
	}
	f, ok := s.pages.file(name)
	if !ok {
		s.notFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("Cache-Control", forever)
	if name != path.Base(r.URL.Path) {
		h.Set("Cache-Control", briefly)
	}
	h.Set("Vary", "Accept-Encoding")
	c.r = r
	c.writeBody(w, http.StatusOK, f.body())
}
