package lookup

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/store"
)

// searchHits is how many hits of each collection a search shows; the page of the collection has the rest.
const searchHits = 5

// searchParams are those of a search in all collections.
type searchParams struct {
	asked string
	terms []string
	kind  string // id of the collection that a word of type names; "": all
}

func newSearchParams(*server.Call) any { return &searchParams{} }

// parseSearched reads what is searched: words, of which one may name a kind.
func parseSearched(c *server.Call, p *searchParams, v []string) (err error) {
	p.asked = v[0]
	var words []string
	for _, w := range strings.Fields(v[0]) {
		if kind := server.TypeWords[strings.ToLower(strings.Trim(w, ",."))]; kind != "" {
			if _, there := c.Catalog.Collection(kind); there {
				p.kind = kind
				continue
			}
		}
		words = append(words, w)
	}
	if text := strings.Join(words, " "); text != "" || p.kind == "" {
		p.terms, err = cql2.ParseSearch(text)
	}
	return err
}

// searchDoc is what a search finds, by collections, divisions first.
type searchDoc struct {
	Query  string           `json:"q"`
	Groups []searchGroup    `json:"groups"`
	Codes  []server.CodeRef `json:"codes,omitempty"` // whose history is known
}

type searchGroup struct {
	ID    string      `json:"collection"`
	Title string      `json:"title"`
	Href  string      `json:"href"` // of all its hits
	More  bool        `json:"more"` // than are listed
	Hits  []searchHit `json:"hits"`

	one string // what one of them is called
}

// searchHit is a feature that was found. About is its type and where it lies; Shown is as much of that as a reader
// needs who sees the group.
type searchHit struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Lang  string `json:"lang,omitempty"`
	About string `json:"about"`
	Shown string `json:"-"`
	Href  string `json:"href"`
}

// search finds features of all collections by words; a position leads to the divisions there.
func (s *surface) search(c *call, w http.ResponseWriter) error {
	p := c.Params.(*searchParams)
	h := w.Header()
	h.Set("Content-Type", c.Format.ContentType())
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	c.DataHeaders(w)
	if at := position(p.asked, c.holdsData); at != "" && c.Format.F == server.AsHTML.F {
		h.Set("Location", c.HtmlHref("/lookup?"+at))
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	codes, rest, err := c.placeTypes(p.asked)
	if err != nil {
		return err
	}
	doc, alike := searchDoc{Query: p.asked, Groups: []searchGroup{}}, map[[2]string]bool{}
	for _, x := range c.SearchOrder() {
		if p.kind != "" && x.ID != p.kind || p.asked == "" {
			continue
		}
		g := searchGroup{}
		if typed := typedBy(x); codes != nil && typed != nil {
			of := cql2.In{X: cql2.Prop{Name: typed.Name}, List: codes}
			if g, err = c.searchIn(x, rest, alike, of); err != nil {
				return err
			}
			g.Href += "&filter=" + server.QueryEscape(cql2.FormatText(of))
		}
		if len(g.Hits) == 0 {
			if g, err = c.searchIn(x, p.terms, alike, nil); err != nil {
				return err
			}
		}
		if len(g.Hits) == 0 && codes == nil && rest != nil {
			if g, err = c.searchIn(x, rest, alike, nil); err != nil {
				return err
			}
		}
		if len(g.Hits) > 0 {
			doc.Groups = append(doc.Groups, g)
		}
	}
	if doc.Codes, err = c.CodesLike(strings.TrimSpace(p.asked)); err != nil {
		return err
	}
	if c.Format.F != server.AsHTML.F {
		b, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		return c.WriteOnce(w, b)
	}
	return c.searchPage(w, doc)
}

// searchPage writes what was found as a page.
func (c *call) searchPage(w http.ResponseWriter, doc searchDoc) (err error) {
	view := searchView{searchDoc: doc, Searches: c.Searches(), Keyed: c.s.Config.Auth != "open"}
	view.Ways = c.RefCrumbs(doc.Codes)
	if len(doc.Groups) == 0 && doc.Codes == nil {
		if view.Near, err = c.NearName(doc.Query, c.SearchOrder()); err != nil {
			return err
		}
	}
	page, err := c.RenderPage(&page.Page{Name: "found", Title: c.Text("search.title"), Crumbs: c.Crumbs(""),
		Data: &view, Script: true})
	if err != nil {
		return err
	}
	if err := c.Still(); err != nil {
		return err
	}
	return c.WriteOnce(w, page)
}

// searchView is what the page of a search shows.
type searchView struct {
	searchDoc
	page.Faulty
	Ways     []page.Crumb // pages of codes
	Searches []server.Searched
	Keyed    bool
	Near     string // the name of a division that is much like what was asked, of which nothing was found; "": none
}

// searchForm is the page of a search without hits.
func (s *surface) searchForm(c *call, f page.Faulty) (*page.Page, error) {
	for i := range f.Faults {
		if x := &f.Faults[i]; x.Name == "q" {
			x.Target, x.Title = "search", c.Text("search.label")
		}
	}
	v := searchView{searchDoc: searchDoc{Query: server.First(c.Values["q"])}, Faulty: f, Searches: c.Searches(),
		Keyed: s.Config.Auth != "open"}
	return &page.Page{Name: "found", Title: c.Text("search.title"), Crumbs: c.Crumbs(""), Data: &v, Script: true}, nil
}

// settlements are words of type that, like those of divisions, say nothing where the data have no types of places.
var settlements = []string{"by", "byen", "tettsted", "tettstad", "bygd", "town", "city"}

// placeTypes returns the types of places that the first or the last word of the search names, as in "oslo by", and the
// other words. Both are nil if neither word names a type. Where the data have no types, only codes is nil.
func (c *call) placeTypes(asked string) (codes []cql2.Expr, rest []string, err error) {
	words := strings.Fields(asked)
	names, err := c.CodeNames("navneobjekttype")
	if err != nil || len(words) < 2 {
		return nil, nil, err
	}
	last := len(words) - 1
	for _, at := range []int{last, 0} {
		word := strings.Trim(words[at], ",.")
		for _, code := range names.Codes {
			for _, name := range names.Of[code] {
				if typeNamed(name, word) {
					codes = append(codes, cql2.Text(code))
					break
				}
			}
		}
		lower := strings.ToLower(word)
		if codes != nil || len(names.Codes) == 0 &&
			(slices.Contains(settlements, lower) || server.TypeWords[lower] != "") {
			rest, err = cql2.ParseSearch(strings.Join(slices.Delete(slices.Clone(words), at, at+1), " "))
			return codes, rest, err
		}
	}
	return nil, nil, nil
}

// typeNamed reports whether a word is the name of a type of places, also of those in the sea and in the definite
// form: "seter" is "Seter/støl".
func typeNamed(name, word string) bool {
	key := cql2.Norm(word)
	name = strings.TrimSuffix(strings.TrimSpace(name), " i sjø")
	for one := range strings.SplitSeq(name, "/") {
		one = cql2.Norm(one)
		for _, ending := range []string{"", "en", "et", "a"} {
			if one+ending == key {
				return true
			}
		}
	}
	return false
}

// typedBy is the property with the type of a place; nil for none.
func typedBy(coll *store.Collection) *store.Property {
	for i := range coll.Properties {
		if p := &coll.Properties[i]; p.CodeList == "/codelists/navneobjekttype" && !p.Hidden &&
			p.Type == cql2.TypeText {
			return p
		}
	}
	return nil
}

// searchIn finds the best features of a collection that fulfil also, which may be nil; without terms the first ones.
// No hit looks like one of those before, which alike keeps.
func (c *call) searchIn(coll *store.Collection, terms []string, alike map[[2]string]bool,
	also cql2.Expr) (g searchGroup, err error) {
	g = searchGroup{ID: coll.ID, Title: c.TitleOf(coll), one: c.OneOf(coll),
		Href: c.HtmlHref("/collections/" + coll.ID + "/items")}
	q := store.Query{Limit: searchHits + 1, Count: store.CountNone}
	if terms != nil {
		g.Href += "&q=" + server.QueryEscape(strings.Join(terms, ","))
		words := cql2.Search{Props: coll.SearchNames(), Terms: terms}
		var asked cql2.Expr = words
		if also != nil {
			asked = cql2.And{words, also}
		}
		e, err := cql2.Check(asked, c.SchemaOf(coll))
		if err != nil {
			return g, err
		}
		q.Filter, q.Rank = e, &words
	}
	props := append(c.searchProperties(coll), periodProperties(coll)...)
	want := store.Want{NoGeometry: true}
	for _, p := range props {
		want.Properties = append(want.Properties, p.Name)
	}
	var rows [][]page.Value
	err = c.Ask(func(ctx context.Context) error {
		pg, err := c.s.Store.Page(ctx, c.Current(coll, q))
		if err != nil {
			return err
		}
		g.Hits, rows = nil, nil
		g.More = len(pg.Rows) > searchHits
		return c.s.Store.Fetch(ctx, coll.ID, pg.Rows[:min(len(pg.Rows), searchHits)], want,
			func(f *store.Feature) error {
				cells := make([]page.Value, len(props))
				for i, p := range props {
					cells[i] = c.Show(p, f.Values[i])
				}
				rows = append(rows, cells)
				g.Hits = append(g.Hits, searchHit{ID: f.Public(),
					Href: c.HtmlHref("/collections/" + coll.ID + "/items/" + server.PathEscape(f.Public()))})
				return nil
			})
	})
	if err != nil {
		return g, err
	}
	if err := c.NameAll(coll, props, rows); err != nil {
		return g, err
	}
	g.tell(coll, props, rows, alike)
	return g, nil
}

// tell names the hits by the values of the properties, each so that it looks like none before.
func (g *searchGroup) tell(coll *store.Collection, props []*store.Property, rows [][]page.Value,
	alike map[[2]string]bool) {
	for i, cells := range rows {
		h := &g.Hits[i]
		h.Name, h.Lang = cmp.Or(cells[0].Text, h.ID), cells[0].Lang
		var about []string
		last := len(cells) - len(periodProperties(coll))
		for j, s := range cells[1:last] {
			if s.Text != "" && props[j+1].Name != languageName(coll) {
				about = append(about, s.Text)
			}
		}
		if period := cells[last:]; len(period) == 2 && period[0].Text+period[1].Text != "" {
			about = append(about, strings.TrimSpace(period[0].Text+" – "+period[1].Text))
		}
		if len(about) == 0 || coll.Geometry != nil && server.Dimensions[coll.Geometry.Type] == 2 {
			about = slices.Insert(about, 0, g.one)
		}
		h.About = strings.Join(about, ", ")
		h.Shown = h.About
		for _, more := range []string{g.Title, h.ID} {
			if alike[[2]string{h.Name, h.About}] && !slices.Contains(about, more) {
				if h.About += ", " + more; more != g.Title {
					h.Shown += ", " + more
				}
			}
		}
		if h.Shown == g.Title {
			h.Shown = ""
		}
		alike[[2]string{h.Name, h.About}] = true
	}
}

// periodProperties are the ends of the time for which a version holds, by which people tell versions of one name
// apart; none where rows are no versions.
func periodProperties(coll *store.Collection) []*store.Property {
	from, ok := coll.Find(coll.IntervalStart)
	to, both := coll.Find(coll.IntervalEnd)
	if coll.Versions == nil || !ok || !both || from.Hidden || to.Hidden {
		return nil
	}
	return []*store.Property{from, to}
}

// languageName is the property with the language of titles; "" for none.
func languageName(coll *store.Collection) string {
	if p := server.LanguageProperty(coll); p != nil {
		return p.Name
	}
	return ""
}

// searchProperties are those that tell a feature: its title, what kind it is, the division that it lies in, and the
// scheme of a version.
func (c *call) searchProperties(coll *store.Collection) []*store.Property {
	title, _ := coll.Find(coll.TitleProperty)
	out := []*store.Property{title}
	if p := server.LanguageProperty(coll); p != nil {
		out = append(out, p)
	}
	for i := range coll.Properties {
		p := &coll.Properties[i]
		if p.Hidden || !server.Simple(p.Type) {
			continue
		}
		other := c.RefersTo(p)
		if p.Name == "scheme" && coll.Versions != nil || p.CodeList == "/codelists/navneobjekttype" ||
			p.CodeList == "/codelists/kommune" || other != nil && server.Dimensions[geometryType(other)] == 2 &&
			p.CodeList != "/codelists/fylke" {
			out = append(out, p)
		}
	}
	return out
}

// holdsData reports whether a position lies within the extent of divisions.
func (c *call) holdsData(lat, lon float64) bool {
	return slices.ContainsFunc(c.Catalog.Collections, func(x *store.Collection) bool {
		return x.Public && server.Dimensions[geometryType(x)] == 2 && x.Extent != nil &&
			x.Extent.Contains(orb.Point{lon, lat})
	})
}

func geometryType(coll *store.Collection) string {
	if coll.Geometry == nil {
		return ""
	}
	return coll.Geometry.Type
}

var (
	decimalPair = regexp.MustCompile(`^([NSns])?\s*(-?\d{1,3}(?:[.,]\d+)?)\s*°?\s*([NSns])?[\s;,]+` +
		`([EWØVAewøva])?\s*(-?\d{1,3}(?:[.,]\d+)?)\s*°?\s*([EWØVAewøva])?$`)
	minutePair = regexp.MustCompile(`^(\d{1,2})[°\s]\s*(\d{1,2}(?:[.,]\d+)?)['′’]?` +
		`\s*(?:(\d{1,2}(?:[.,]\d+)?)["″”]?)?\s*([NSns])[\s,]*(\d{1,3})[°\s]\s*` +
		`(\d{1,2}(?:[.,]\d+)?)['′’]?\s*(?:(\d{1,2}(?:[.,]\d+)?)["″”]?)?\s*([EWØVAewøva])$`)
	utmPair = regexp.MustCompile(`^(?i:UTM)?\s*(?:(3[235])\s*[A-Xa-x]?[\s,]+)?(\d{5,7}(?:[.,]\d+)?)\s*[mM]?\s*` +
		`([EØANeøan])?[\s,;]+(\d{5,7}(?:[.,]\d+)?)\s*[mM]?\s*[NEØAneøa]?$`)
)

// position reads a position that people write: degrees as 59.9 10.7, latitude first, degrees and minutes as 59°54′N
// 10°45′Ø, or UTM as 33 262000 6649000, either first, in zone 33 where none is told. Degrees without letters are
// turned where only so they lie inside. It is the query of /lookup; "" when it is none.
func position(s string, inside func(lat, lon float64) bool) string {
	s = strings.TrimSpace(s)
	value := func(s string) float64 {
		v, _ := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
		return v
	}
	point := func(lat, lon float64) string {
		if lat < -90 || lat > 90 || lon < -180 || lon > 180 {
			return ""
		}
		return "lat=" + page.Degrees(lat) + "&lon=" + page.Degrees(lon)
	}
	sign := func(letter string) float64 {
		if letter != "" && strings.ContainsAny(letter, "SsWwVv") {
			return -1
		}
		return 1
	}
	if m := decimalPair.FindStringSubmatch(s); m != nil &&
		(m[1]+m[3] != "" || strings.ContainsAny(m[2], ".,") && strings.ContainsAny(m[5], ".,")) {
		lat, lon := sign(m[1]+m[3])*value(m[2]), sign(m[4]+m[6])*value(m[5])
		if m[1]+m[3]+m[4]+m[6] == "" && !inside(lat, lon) && inside(lon, lat) {
			lat, lon = lon, lat
		}
		return point(lat, lon)
	}
	if m := minutePair.FindStringSubmatch(s); m != nil {
		return point(sign(m[4])*(value(m[1])+value(m[2])/60+value(m[3])/3600),
			sign(m[8])*(value(m[5])+value(m[6])/60+value(m[7])/3600))
	}
	if m := utmPair.FindStringSubmatch(s); m != nil {
		east, north := value(m[2]), value(m[4])
		if east > north { // the northing of places in the country is the greater one
			east, north = north, east
		}
		if east >= 1e6 || north < 1e6 {
			return ""
		}
		return "lon=" + page.Number(east) + "&lat=" + page.Number(north) + "&crs=" +
			server.QueryEscape("http://www.opengis.net/def/crs/EPSG/0/258"+cmp.Or(m[1], "33"))
	}
	return ""
}
