// Package page renders HTML: the layout, its view models, and values and dates in the language of the reader. It knows
// no store, no request and no route.
package page

import (
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"grense/internal/config"
)

// InDigits formats a decimal number with groups of three digits: 15\u00a0326,5, or 15,326.5 in English. The space does
// not break. Other texts are returned unchanged.
func InDigits(number, lang string) string {
	whole, part, broken := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "\u2212", whole[1:]
	}
	if whole == "" || strings.Trim(whole+part, "0123456789") != "" {
		return number
	}
	sep, mark := "\u00a0", ","
	if lang == "en" {
		sep, mark = ",", "."
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + sep + whole[i:]
	}
	if broken {
		whole += mark + part
	}
	return sign + whole
}

// Language is a language of pages and titles. Tag is its BCP 47 tag in headers and attributes.
type Language struct{ Code, Tag string }

var Languages = []Language{{"nb", "nb-NO"}, {"nn", "nn-NO"}, {"en", "en"}}

// LanguageTag returns the value of Content-Language and of the attribute lang.
func LanguageTag(code string) string {
	for _, l := range Languages {
		if l.Code == code {
			return l.Tag
		}
	}
	return "nb-NO"
}

// Page is the data of a template and of the layout around it.
type Page struct {
	Name   string // of the template
	Title  string
	Crumbs []Crumb
	Data   any

	Script      bool        // the page needs site.js
	TitleLang   string      // of the title; "" if it is that of the page or unknown
	Description string      // for search engines and link previews; "" if there is none
	LD          template.JS // the page as JSON-LD, escaped by InScript; "" if there is none
	Caption     string      // of the map; "" for the default
	Legend      string      // path of the legend of the map, below the mount; "" if there is none
	Tiles       *TileMap    // the tile map that replaces the drawing if scripts run; nil if there is none
	Refresh     bool        // without scripts the page reloads every few seconds
	Copies      []Copied    // texts with a button that copies them
	Refused     bool        // the page is a form with errors
	Path        string      // below the mount, if it differs from that of the request
	Instance    string      // of the problem (RFC 9457) that a form with errors reports
	Empty       bool        // there are no features to download
	Without     string      // f of a representation of the route that this document lacks; ""

	// Fields of the layout, which the caller of Render sets. They are not a struct, since templates find promoted
	// fields slowly.
	Lang       string // nb, nn, en
	Tag        string // for the attribute lang
	Service    string
	Root       string // absolute URL of the service
	Base       string // absolute URL of the mount
	LangAsked  string // parameter lang, which links repeat; "" if it was not given
	Zone       *time.Location
	Formats    []FormatLink
	Languages  []LanguageLink
	Neutral    string // address of this page without lang
	Preview    string // address of the preview image
	Version    string
	MapCaption string         // default caption of maps
	Feedback   Address        // address for questions about the service
	Contact    config.Contact // the publisher of the service, as configured
	Invented   bool           // the page shows invented data
	Register   bool           // the service has a place-name register
	hashed     func(name string) string
}

// Copied is a text with a button that copies it.
type Copied struct{ Title, Text string }

// Crumb is a link of the breadcrumb trail.
type Crumb struct{ Title, Href string }

type FormatLink struct{ F, Href, Media string }

type LanguageLink struct {
	Code, Tag, Href string
	Current         bool
}

// T returns a message in the language of the page.
func (v *Page) T(name string, args ...any) string { return Text(v.Lang, name, args...) }

// Count formats an integer in the language of the page: 15 326, or 15,326 in English. The space does not break.
func (v *Page) Count(n int) string { return InDigits(strconv.Itoa(n), v.Lang) }

// Number formats a number in the language of the page, rounded to six decimals.
func (v *Page) Number(x float64) string { return InDigits(Number(math.Round(x*1e6)/1e6), v.Lang) }

// Extent formats bounding boxes (minimum longitude and latitude, then maximum), in degrees.
func (v *Page) Extent(boxes [][4]float64) string {
	var out []string
	for _, b := range boxes {
		in := func(x float64) string { return InDigits(Degrees(x), v.Lang) }
		out = append(out, v.T("collection.extent-text", in(b[0]), in(b[1]), in(b[2]), in(b[3])))
	}
	return strings.Join(out, "; ")
}

// Link returns the address of a page below the mount, with the parameter lang of this page.
func (v *Page) Link(path string) string { return LinkTo(v.Base, path, v.LangAsked) }

// Ours rewrites an address below the mount to its HTML page in the language of this page. Other addresses are returned
// unchanged.
func (v *Page) Ours(href string) string {
	if path, ok := strings.CutPrefix(href, v.Base+"/"); ok && !strings.ContainsAny(path, "?#") {
		return v.Link("/" + path)
	}
	return href
}

// Local returns the address of a path below the mount without scheme and host. Browsers then match it with 'self' (CSP
// Level 3) under any host name of the server.
func (v *Page) Local(path string) string { return LocalPath(v.Base) + path }

// Inside returns a title for use inside a sentence; see InsideSentence.
func (v *Page) Inside(title string) string { return InsideSentence(title) }

// InsideSentence returns a title with its first letter in lower case, unless it begins with an abbreviation.
func InsideSentence(title string) string {
	a, n := utf8.DecodeRuneInString(title)
	b, _ := utf8.DecodeRuneInString(title[n:])
	if unicode.IsUpper(b) || !unicode.IsLetter(b) {
		return title
	}
	return string(unicode.ToLower(a)) + title[n:]
}

// Static returns the address of an embedded file, without scheme and host.
func (v *Page) Static(name string) string {
	return LocalPath(v.Root) + "/static/" + v.hashed(name)
}

// LocalPath returns the escaped path of an absolute address, without a slash at the end.
func LocalPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

// Number formats a float in its shortest form.
func Number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Address is where readers write to: Email or URL; both are "" if none is configured.
type Address struct{ Email, URL string }

// TileMap is the data for the script of a map of tiles.
type TileMap struct {
	Path   string // of the tileset, below the mount, with its query
	Layers string // JSON by collection: titles of features and addresses of their pages
	ID     string // of the highlighted feature; "" if there is none
	View   string // west, south, east and north in the CRS of the set; "": all data
	Whole  string // the same for all data; "" if unknown
	Keyed  bool   // tiles need a key, which scripts fetch with the browser's cookie

	Grounded bool   // the tiles include the areas of the country as background
	Shore    string // address of an outline of the country, if the data have no areas; "" if there is none
	Bare     bool   // there is no background that shows where land is
}
