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
	"grense/internal/cql2/fold"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/server/page"
	"grense/internal/server/queryable"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/style"
)

// searchHits is the number of hits shown for each collection.
const searchHits = 5

// searchParams are the parameters of a search.
type searchParams struct {
	asked string
	terms []string
	kind  string // id of the collection that a word such as "kommune" selects; "": all
}

func newSearchParams(*server.Call) any { return &searchParams{} }

// parseSearched parses the search text: words, of which one may select a collection.
func parseSearched(c *server.Call, p *searchParams, v []string) (err error) {
	p.asked = v[0]
	var words []string
	for _, w := range strings.Fields(v[0]) {
		if kind := names.TypeWords[strings.ToLower(strings.Trim(w, ",."))]; kind != "" {
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

// searchDoc is the response: hits by collection, divisions first.
type searchDoc struct {
	Query  string           `json:"q"`
	Groups []searchGroup    `json:"groups"`
	Codes  []server.CodeRef `json:"codes,omitempty"` // codes with a known history
}

type searchGroup struct {
	ID    string      `json:"collection"`
	Title string      `json:"title"`
	Href  string      `json:"href"` // page with all hits
	More  bool        `json:"more"` // there are more hits
	Hits  []searchHit `json:"hits"`

	one string // name of one feature in the collection, such as "kommune"
}

// searchHit is a feature that matches. About says what it is and where it lies; Shown leaves out what the heading of
// its group says.
type searchHit struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Lang  string `json:"lang,omitempty"`
	About string `json:"about"`
	Shown string `json:"-"`
	Href  string `json:"href"`
}

// search finds features of all collections by words. It redirects the page of a position to /lookup.
func (s *surface) search(c *call, w http.ResponseWriter) error {
	p := c.Params.(*searchParams)
	h := w.Header()
	h.Set("Content-Type", c.Format.ContentType())
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	c.DataHeaders(w)
	if at := position(p.asked, c.holdsData); at != "" && c.Format.F == media.HTML.F {
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
			g.Href += "&filter=" + wire.QueryEscape(cql2.FormatText(of))
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
	if c.Format.F != media.HTML.F {
		b, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		return c.WriteOnce(w, b)
	}
	return c.searchPage(w, doc)
}

// searchPage writes the HTML page of the hits.
func (c *call) searchPage(w http.ResponseWriter, doc searchDoc) (err error) {
	view := searchView{searchDoc: doc, Searches: c.Searches(), Keyed: c.s.Config.Auth != "open"}
	view.Ways = server.RefCrumbs(&c.Set, doc.Codes)
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

// searchView is the data of the page.
type searchView struct {
	searchDoc
	page.Faulty
	Ways     []page.Crumb // pages of the codes
	Searches []names.Searched
	Keyed    bool
	Near     string // a similar name of a division, if nothing was found; "": none
}

// searchForm returns the form with the errors of the request.
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

// settlements are types of places that a search may name. They are ignored if the data have no such types.
var settlements = []string{"by", "byen", "tettsted", "tettstad", "bygd", "town", "city"}

// placeTypes returns the codes of the place types that the first or last word names, as in "oslo by", and the other
// words. Both are nil if neither word names a type. If the data have no types, only codes is nil.
func (c *call) placeTypes(asked string) (codes []cql2.Expr, rest []string, err error) {
	words := strings.Fields(asked)
	known, err := c.CodeNames("navneobjekttype")
	if err != nil || len(words) < 2 {
		return nil, nil, err
	}
	last := len(words) - 1
	for _, at := range []int{last, 0} {
		word := strings.Trim(words[at], ",.")
		for _, code := range known.Codes {
			for _, name := range known.Of[code] {
				if typeNamed(name, word) {
					codes = append(codes, cql2.Text(code))
					break
				}
			}
		}
		lower := strings.ToLower(word)
		if codes != nil || len(known.Codes) == 0 &&
			(slices.Contains(settlements, lower) || names.TypeWords[lower] != "") {
			rest, err = cql2.ParseSearch(strings.Join(slices.Delete(slices.Clone(words), at, at+1), " "))
			return codes, rest, err
		}
	}
	return nil, nil, nil
}

// typeNamed reports whether a word is the name of a place type, or a part of it between slashes, or the definite form
// of one: "støl" and "stølen" name "Seter/støl".
func typeNamed(name, word string) bool {
	key := fold.Norm(word)
	name = strings.TrimSuffix(strings.TrimSpace(name), " i sjø")
	for one := range strings.SplitSeq(name, "/") {
		one = fold.Norm(one)
		for _, ending := range []string{"", "en", "et", "a"} {
			if one+ending == key {
				return true
			}
		}
	}
	return false
}

// typedBy returns the property with the type of a place; nil if there is none.
func typedBy(coll *store.Collection) *store.Property {
	for i := range coll.Properties {
		if p := &coll.Properties[i]; p.CodeList == "/codelists/navneobjekttype" && !p.Hidden &&
			p.Type == cql2.TypeText {
			return p
		}
	}
	return nil
}

// searchIn returns the best hits in a collection for all terms, or its first features if terms is nil. also is a
// further condition, or nil. alike holds the name and description of the hits so far, so that no two hits look the
// same.
func (c *call) searchIn(coll *store.Collection, terms []string, alike map[[2]string]bool,
	also cql2.Expr) (g searchGroup, err error) {
	g = searchGroup{ID: coll.ID, Title: coll.TitleIn(c.Lang), one: c.OneOf(coll),
		Href: c.HtmlHref("/collections/" + coll.ID + "/items")}
	q := store.Query{Limit: searchHits + 1, Count: store.CountNone}
	if terms != nil {
		g.Href += "&q=" + wire.QueryEscape(strings.Join(terms, ","))
		words := cql2.Search{Props: coll.SearchNames(), Terms: terms}
		var asked cql2.Expr = words
		if also != nil {
			asked = cql2.And{words, also}
		}
		e, err := cql2.Check(asked, queryable.Schema(coll, c.Zone()))
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
					Href: c.HtmlHref("/collections/" + coll.ID + "/items/" + wire.PathEscape(f.Public()))})
				return nil
			})
	})
	if err != nil {
		return g, err
	}
	if err := c.NameAll(coll, props, rows); err != nil {
		return g, err
	}
	g.label(coll, props, rows, alike)
	return g, nil
}

// label sets the name and description of hits. It adds details to a hit that would look like an earlier one.
func (g *searchGroup) label(coll *store.Collection, props []*store.Property, rows [][]page.Value,
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
		if len(about) == 0 || coll.Geometry != nil && style.Dimensions[coll.Geometry.Type] == 2 {
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

// periodProperties returns the properties with start and end of a version; none if the collection has no versions. They
// distinguish versions with the same name.
func periodProperties(coll *store.Collection) []*store.Property {
	from, ok := coll.Find(coll.IntervalStart)
	to, both := coll.Find(coll.IntervalEnd)
	if coll.Versions == nil || !ok || !both || from.Hidden || to.Hidden {
		return nil
	}
	return []*store.Property{from, to}
}

// languageName returns the name of the property with the language of titles; "" if there is none.
func languageName(coll *store.Collection) string {
	if p := server.LanguageProperty(coll); p != nil {
		return p.Name
	}
	return ""
}

// searchProperties returns the properties that describe a hit: title, language, place type, the division that it lies
// in, and the scheme of a version.
func (c *call) searchProperties(coll *store.Collection) []*store.Property {
	title, _ := coll.Find(coll.TitleProperty)
	out := []*store.Property{title}
	if p := server.LanguageProperty(coll); p != nil {
		out = append(out, p)
	}
	for i := range coll.Properties {
		p := &coll.Properties[i]
		if p.Hidden || !queryable.Simple(p.Type) {
			continue
		}
		other := server.RefersTo(c.Catalog, p)
		if p.Name == "scheme" && coll.Versions != nil || p.CodeList == "/codelists/navneobjekttype" ||
			p.CodeList == "/codelists/kommune" || other != nil && style.Dimensions[geometryType(other)] == 2 &&
			p.CodeList != "/codelists/fylke" {
			out = append(out, p)
		}
	}
	return out
}

// holdsData reports whether a position, in degrees, lies within the extent of a collection of areas.
func (c *call) holdsData(lat, lon float64) bool {
	return slices.ContainsFunc(c.Catalog.Collections, func(x *store.Collection) bool {
		return x.Public && style.Dimensions[geometryType(x)] == 2 && x.Extent != nil &&
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

// position parses a typed position and returns the query for /lookup; "" if s is none. It accepts degrees with latitude
// first (59.9 10.7), degrees and minutes (59°54′N 10°45′Ø), and UTM in either order (33 262000 6649000), by default in
// zone 33. It swaps degrees without letters if only the swapped position is inside.
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
		if east > north { // in the country, northings are larger than eastings
			east, north = north, east
		}
		if east >= 1e6 || north < 1e6 {
			return ""
		}
		return "lon=" + page.Number(east) + "&lat=" + page.Number(north) + "&crs=" +
			wire.QueryEscape("http://www.opengis.net/def/crs/EPSG/0/258"+cmp.Or(m[1], "33"))
	}
	return ""
}
