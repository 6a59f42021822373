// Package page writes HTML: the layout, the view models that its templates show, values and dates as people read
// them, and markup that stands on pages thousands of times. It knows no store, no request and no route.
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

// InDigits writes a decimal number for people: the digits before the mark in groups of three, 15\u00a0326,5 or in
// English 15,326.5. The space does not break. What is no number stays.
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

// Language is one that pages and titles are written in, with the tag that goes out.
type Language struct{ Code, Tag string }

var Languages = []Language{{"nb", "nb-NO"}, {"nn", "nn-NO"}, {"en", "en"}}

// LanguageTag is the value of Content-Language and of the attribute lang.
func LanguageTag(code string) string {
	for _, l := range Languages {
		if l.Code == code {
			return l.Tag
		}
	}
	return "nb-NO"
}

// Page is what a template shows.
type Page struct {
	Name   string // of the template
	Title  string
	Crumbs []Crumb
	Data   any

	Script      bool        // the page has something that gains by site.js
	TitleLang   string      // language of the title; "" when it is that of the page, or not known
	Description string      // for search engines and previews; "" for none
	LD          template.JS // the page as JSON-LD, made safe by inScript; "" for none
	Caption     string      // of the map; "" for the usual one
	Tiles       *TileMap    // the map of tiles that scripts put in the place of the drawing; nil: none
	Refresh     bool        // without scripts the page reloads every few seconds
	Copies      []Copied    // what people take away from the page, each with a button that copies it
	Refused     bool        // the page is a form that comes back with what is wrong
	Path        string      // below the mount, where it is not that of the request
	Instance    string      // of the problem that such a form reports
	Empty       bool        // there is nothing to take away in another format
	Without     string      // a representation of the route that this document does not have; "" for none

	// What the layout shows around the page, which render sets. It is no struct of its own: templates find promoted
	// fields slowly.
	Lang       string // nb, nn, en
	Tag        string // for the attribute lang
	Service    string
	Root       string // absolute URL of the service
	Base       string // absolute URL of the mount
	LangAsked  string // the parameter lang, which links repeat; "" for none
	Zone       *time.Location
	Formats    []FormatLink
	Languages  []LanguageLink
	Neutral    string // the address of this page in no stated language
	Preview    string // address of the picture for previews of links
	Version    string
	MapCaption string         // what the usual map shows
	Feedback   Address        // where to write about the service
	Contact    config.Contact // who runs the service, as far as configured
	Invented   bool           // the page shows data that are made up
	Register   bool           // a place-name register is served
	hashed     func(name string) string
}

// Copied is a text to copy, and what it is.
type Copied struct{ Title, Text string }

// Crumb is a step of the path to a page.
type Crumb struct{ Title, Href string }

type FormatLink struct{ F, Href, Media string }

type LanguageLink struct {
	Code, Tag, Href string
	Current         bool
}

// T gives a text of the catalogue in the language of the page.
func (v *Page) T(name string, args ...any) string { return Text(v.Lang, name, args...) }

// Count writes a whole number for people in the language of the page: 15 326, in English 15,326. The space does not
// break.
func (v *Page) Count(n int) string { return InDigits(strconv.Itoa(n), v.Lang) }

// Number writes a number for people in the language of the page, rounded to six decimals.
func (v *Page) Number(x float64) string { return InDigits(Number(math.Round(x*1e6)/1e6), v.Lang) }

// Extent writes boxes in degrees for people.
func (v *Page) Extent(boxes [][4]float64) string {
	var out []string
	for _, b := range boxes {
		in := func(x float64) string { return InDigits(Degrees(x), v.Lang) }
		out = append(out, v.T("collection.extent-text", in(b[0]), in(b[1]), in(b[2]), in(b[3])))
	}
	return strings.Join(out, "; ")
}

// Link gives the address of a page of this mount, in the language of this one.
func (v *Page) Link(path string) string { return LinkTo(v.Base, path, v.LangAsked) }

// Ours gives an address as a page in the language of this one, where it is a path of this mount; any other stays.
func (v *Page) Ours(href string) string {
	if path, ok := strings.CutPrefix(href, v.Base+"/"); ok && !strings.ContainsAny(path, "?#") {
		return v.Link("/" + path)
	}
	return href
}

// Local gives the address of a path of this mount without scheme and host, so that it counts as ours for the browser
// under whatever name the server was reached (CSP Level 3, 'self').
func (v *Page) Local(path string) string { return LocalPath(v.Base) + path }

// Inside writes a title as it stands inside a sentence.
func (v *Page) Inside(title string) string { return InsideSentence(title) }

// InsideSentence begins a title with a small letter, unless it is an abbreviation.
func InsideSentence(title string) string {
	a, n := utf8.DecodeRuneInString(title)
	b, _ := utf8.DecodeRuneInString(title[n:])
	if unicode.IsUpper(b) || !unicode.IsLetter(b) {
		return title
	}
	return string(unicode.ToLower(a)) + title[n:]
}

// Static gives the address of an embedded file, without scheme and host.
func (v *Page) Static(name string) string {
	return LocalPath(v.Root) + "/static/" + v.hashed(name)
}

// LocalPath is the path of an absolute address, escaped; "" for the root.
func LocalPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

// Number writes a float in the shortest form.
func Number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Address is where to write: one of the two; both "" when not configured.
type Address struct{ Email, URL string }

// TileMap is the data for the script of a map of tiles.
type TileMap struct {
	Path   string // of the tileset, below the mount, with its query
	Layers string // JSON by collection: what its features are called, and where their pages are
	ID     string // of the feature that stands out; "" for none
	View   string // west, south, east and north in the CRS of the set; "": all data
	Whole  string // the same of all data; "": not known
	Keyed  bool   // tiles need a key, which only the browser's cookie brings

	Grounded bool   // the country lies under the collection
	Shore    string // address of what does where the data have no country; "": nothing
	Bare     bool   // where land ends is not known
}
