package server_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/feature"
)

var linkedPattern = regexp.MustCompile(`(?s)<script type="application/ld\+json">(.*?)</script>`)

func TestLinkedDataInPagesEqualsTheDocument(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		for _, path := range []string{"/", "/collections", "/collections/kommuner", "/collections/kommuner/items",
			"/collections/kommuner/items/0301", "/processes"} {
			p := strings.TrimSuffix(mount+path, "/")
			m := linkedPattern.FindSubmatch(a.get(p + "?lang=nn&f=html").wants(200).Body)
			if m == nil {
				t.Errorf("%s has no JSON-LD", p)
				continue
			}
			var got, want map[string]any
			if err := json.Unmarshal(m[1], &got); err != nil {
				t.Errorf("%s: %v", p, err)
			}
			if err := json.Unmarshal(a.get(p+"?lang=nn&f=jsonld").wants(200).Body, &want); err != nil {
				t.Fatal(err)
			}
			// the page has of each entry what a list needs; properties and geometry are in the document
			if strings.HasSuffix(p, "/items") {
				for _, x := range want["itemListElement"].([]any) {
					node := x.(map[string]any)
					node["@type"] = "Place"
					for name := range node {
						if name != "@type" && name != "@id" && name != "identifier" && name != "name" {
							delete(node, name)
						}
					}
				}
				delete(got, "@context")
				delete(want, "@context")
			}
			keep := func(node any, more ...string) { // of what has a page of its own
				for name := range node.(map[string]any) {
					if !slices.Contains(append(more, "@type", "@id", "url", "name"), name) {
						delete(node.(map[string]any), name)
					}
				}
			}
			sets, _ := want["dataset"].([]any)
			for _, set := range sets {
				keep(set, "description")
			}
			if in, ok := want["includedInDataCatalog"]; ok {
				keep(in)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the page has %.300s, the document %.300v", p, m[1], want)
			}
		}
	}
}

func TestLinkedDataCannotLeaveTheirElement(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Service.Title = config.Text{"nb": "</script><b>&<!--"} })
	body := a.get("/?f=html&lang=nb").wants(200).Body
	if strings.Contains(string(body), "</script><b>") || strings.Contains(string(body), "<!--") {
		t.Errorf("%.2000s", body)
	}
	if m := linkedPattern.FindSubmatch(body); m == nil || !json.Valid(m[1]) ||
		!strings.Contains(string(m[1]), `\u003c/script`) {
		t.Errorf("the data are %q", m)
	}
}

func TestSiteMapLeadsToPagesForEveryone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for _, auth := range []string{"open", "required"} {
		a := serve(t, "", func(c *config.Config) { c.Auth = auth })
		r := a.get("/sitemap.xml").wants(200)
		var doc struct {
			Pages []struct {
				Loc   string `xml:"loc"`
				Links []struct {
					Lang string `xml:"hreflang,attr"`
					Href string `xml:"href,attr"`
				} `xml:"http://www.w3.org/1999/xhtml link"`
			} `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
		}
		if err := xml.Unmarshal(r.Body, &doc); err != nil || len(doc.Pages) < 12 {
			t.Fatalf("%v, %d pages: %.300s", err, len(doc.Pages), r.Body)
		}
		data := 0
		for _, p := range doc.Pages {
			if !strings.HasPrefix(p.Loc, a.URL) || len(p.Links) != 3 {
				t.Errorf("%s has %d languages", p.Loc, len(p.Links))
			}
			if strings.Contains(p.Loc, "/items") {
				data++
			}
			a.get(p.Loc).wants(200)
			for _, l := range p.Links {
				if got := a.get(l.Href).wants(200).Header.Get("Content-Language"); got != l.Lang {
					t.Errorf("%s is in %s", l.Href, got)
				}
			}
		}
		if (data > 0) != (auth == "open") {
			t.Errorf("%s: %d pages of data", auth, data)
		}
		robots := a.get("/robots.txt").wants(200)
		if !strings.Contains(string(robots.Body), "Sitemap: "+a.URL+"/sitemap.xml\n") ||
			strings.Contains(string(robots.Body), "Disallow: /\n") {
			t.Errorf("robots.txt: %s", robots.Body)
		}
		a.do(http.MethodPost, "/robots.txt").wants(405)
	}
}

func TestPagesLinkToTheirLanguagesAndPreview(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	body := string(a.get("/collections/kommuner?f=html&lang=en").wants(200).Body)
	here := a.URL + "/collections/kommuner?f=html"
	for _, want := range []string{
		`<link rel="alternate" hreflang="x-default" href="` + here + `">`,
		`<link rel="alternate" hreflang="nn-NO" href="` + here + `&amp;lang=nn">`,
		`<meta property="og:title" content="Municipalities">`, `<meta property="og:locale" content="en_GB">`,
		`<meta name="description" content="The 357 municipalities`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestPagesHaveMaps(t *testing.T) {
	t.Parallel()
	open := serve(t, "", nil)
	keyed := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	svg := func(r answer) string {
		m := regexp.MustCompile(`(?s)<svg class="map".*?</svg>`).Find(r.wants(200).Body)
		return string(m)
	}
	for path, most := range map[string]int{"/": 30, "/collections/kommuner": 400,
		"/collections/kommuner/items?limit=50": 100, "/collections/kommuner/items/0301": 60} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		page := path + sep + "f=html&lang=nb"
		m := svg(open.get(page))
		if n := strings.Count(m, "<path"); n < 5 || n > most || len(m) > 60<<10 {
			t.Errorf("%s: %d shapes, %d bytes", path, n, len(m))
		}
		for _, link := range regexp.MustCompile(`<a href="([^"]+)"`).FindAllStringSubmatch(m, 2) {
			open.get(strings.ReplaceAll(link[1], "&amp;", "&")).wants(200)
		}
	}
	if m := svg(open.get("/?f=html")); !strings.Contains(m, "<title>Agder</title>") {
		t.Error("the map of the landing page names no county")
	}
	if m := svg(keyed.get("/?f=html")); m != "" {
		t.Errorf("the landing page without a key draws data: %.300s", m)
	}
	m := svg(keyed.get("/collections/kommuner?f=html&lang=nn"))
	if strings.Count(m, `<g class="near"></g><g class="here"></g><path class="box"`) != 1 ||
		strings.Contains(m, "<title>") || strings.Contains(m, "href") {
		t.Errorf("the page of a collection without a key draws more than its extent: %.600s", m)
	}
	for _, want := range []string{">10°\u00a0A</text>", ">30°\u00a0A</text>", ">60°\u00a0N</text>",
		">70°\u00a0N</text>"} {
		if !strings.Contains(m, want) {
			t.Errorf("the extent lies over no line %s", want)
		}
	}
	if m := svg(keyed.get("/TileMatrixSets/WebMercatorQuad?f=html")); !strings.Contains(m, `<g class="here"></g>`) ||
		!strings.Contains(m, `class="tile"`) {
		t.Errorf("the grid without a key: %.300s", m)
	}
	if m := svg(open.get("/collections/kommuner/items?f=html&skipGeometry=true")); m != "" {
		t.Error("a map although no geometry is wanted")
	}
}

func TestTableHeadsSortAndItemsLeadToTheirParts(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	body := string(a.get("/collections/kommuner/items?f=html&lang=en&sortby=navn&limit=5&offset=5").wants(200).Body)
	for _, want := range []string{`<th scope="col" aria-sort="ascending"><a href="` + a.URL +
		`/collections/kommuner/items?f=html&amp;sortby=-navn&amp;lang=en&amp;limit=5"`, "sortby=areal_km2&amp;"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	body = string(a.get("/collections/fylker/items/11?f=html&lang=en").wants(200).Body)
	href := a.URL + "/collections/kommuner/items?f=html&lang=en&fylke_nr=11"
	if !strings.Contains(body, strings.ReplaceAll(href, "&", "&amp;")) {
		t.Errorf("the county does not lead to %s", href)
	}
	if !strings.Contains(string(a.get(href).wants(200).Body), "Stavanger") {
		t.Error("the parts of the county lack Stavanger")
	}
}

func TestEveryConformanceClassIsExplained(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	classes := len(a.get("/conformance?f=json").wants(200).json()["conformsTo"].([]any))
	for _, lang := range []string{"nb", "nn", "en"} {
		body := a.get("/conformance?f=html&lang=" + lang).wants(200).Body
		explained := regexp.MustCompile(`<dt>[^<]+[.]</dt>\n<dd><code class="hint">http`).FindAll(body, -1)
		if len(explained) != classes {
			t.Errorf("%s: %d of %d classes are explained", lang, len(explained), classes)
		}
	}
}

func TestPagesOfTileMatrixSetsDrawTheGrid(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for id, level := range map[string]string{"WebMercatorQuad": "5", "utm33n": "3", "WorldCRS84Quad": "4"} {
		body := string(a.get("/TileMatrixSets/" + id + "?f=html&lang=en").wants(200).Body)
		n := strings.Count(body, `<text class="tile"`)
		if n < 4 || n > 40 || !strings.Contains(body, ">"+level+"/") {
			t.Errorf("%s: %d tiles; %s", id, n, regexp.MustCompile(`>[0-9]+/[0-9]+/[0-9]+<`).FindString(body))
		}
	}
}

// TestColumnsChangeNothingThatAListInJSONLDSays: the context of the list names none of its own members and types.
func TestColumnsChangeNothingThatAListInJSONLDSays(t *testing.T) {
	t.Parallel()
	list := func(columns ...string) map[string]any {
		table := "CREATE TABLE x (fid INTEGER PRIMARY KEY"
		for _, c := range columns {
			table += `, "` + c + `" TEXT DEFAULT 'of ` + c + `'`
		}
		return serve(t, foreign(
			t, table+`); INSERT INTO x (fid) VALUES (1); INSERT INTO gpkg_contents `+
				`(table_name, data_type, identifier) VALUES ('x', 'attributes', 'x')`), nil).
			get("/collections/x/items?f=jsonld").wants(200).json()
	}
	plain := list("a")
	own := []string{plain["@type"].(string), "gsp"}
	for name := range plain {
		if name[0] != '@' {
			own = append(own, name)
		}
	}
	if len(own) < 5 {
		t.Errorf("the list says only %v", own)
	}
	full := list(append([]string{"a", "addr:street"}, own...)...)
	context, node := full["@context"].(map[string]any), full["itemListElement"].([]any)[0].(map[string]any)
	for _, name := range own {
		if v, ok := context[name]; ok && (name != "gsp" || v != feature.Context()["gsp"]) {
			t.Errorf("%s is made %v", name, v)
		}
		// the title of a feature
		if v := node[name+"_"]; v != "of "+name && (name != "name" || node[name] != "of name") {
			t.Errorf("the column %s is %v", name, v)
		}
	}
	if v := context["addr_street"].(string); !strings.HasSuffix(v, "/schema#addr:street") ||
		node["addr_street"] != "of addr:street" {
		t.Errorf("a name with a prefix is %v, %v", v, node)
	}
}
