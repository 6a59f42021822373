package server_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"grense/api/ogcapi"
	"grense/internal/config"
)

// The eleven links of the landing page, in order: relation, media type, address below the mount, hreflang, title.
var landingLinks = []struct{ rel, media, href, hreflang, title string }{
	{"about", "text/html", "/about", "nb-NO", "Administrative inndelinger"},
	{"self", "application/json", "?f=json", "", "This document as JSON"},
	{"alternate", "application/ld+json", "?f=jsonld", "", "This document as RDF (JSON-LD)"},
	{"alternate", "text/html", "?f=html", "nb-NO", "This document as HTML"},
	{"service-desc", "application/vnd.oai.openapi+json;version=3.0", "/openapi", "", "The OpenAPI definition as JSON"},
	{"service-doc", "text/html", "/openapi?f=html", "nb-NO", "The OpenAPI definition as HTML"},
	{"conformance", "application/json", "/conformance", "", "Conformance"},
	{"data", "application/json", "/collections", "", "Collections"},
	{"http://www.opengis.net/def/rel/ogc/1.0/processes", "application/json", "/processes", "", "Processes"},
	{"http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes", "application/json", "/TileMatrixSets?f=json", "",
		"The list of supported tiling schemes as JSON"},
	{"http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes", "text/html", "/TileMatrixSets?f=html", "nb-NO",
		"The list of supported tiling schemes as HTML"},
}

func TestLandingPageHasTheElevenLinksAtBothMounts(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, at := range []struct{ path, mount string }{{"/", ""}, {"", ""}, {"?f=json", ""}, {"/?f=json", ""},
		{"/v1", "/v1"}, {"/v1/", "/v1"}, {"/v1?f=json", "/v1"}, {"/v1/?f=json", "/v1"}, {"/?f=jsonld", ""},
		{"/v1?f=jsonld", "/v1"}} {
		links := a.get(at.path, "Accept", "*/*").wants(200).links()
		if len(links) < len(landingLinks) {
			t.Fatalf("%s: %d links", at.path, len(links))
		}
		for i, want := range landingLinks {
			href := want.href
			if !strings.HasPrefix(href, "http") {
				href = a.URL + at.mount + href
			}
			if got := (link{want.rel, want.media, href, want.title, want.hreflang}); links[i] != got {
				t.Errorf("%s: link %d is %+v, want %+v", at.path, i+1, links[i], got)
			}
		}
		for _, l := range links {
			if strings.HasPrefix(l.Href, a.URL+"/v1") != (at.mount == "/v1") && strings.HasPrefix(l.Href, a.URL) {
				t.Errorf("%s: %s leaves the mount", at.path, l.Href)
			}
		}
	}
}

// TestHeadersRepeatTheLinksOfADocumentUnlessTheyAreMany: OGC 17-069r4, /rec/core/link-header. If there are many, the
// header has only those that programs follow.
func TestHeadersRepeatTheLinksOfADocumentUnlessTheyAreMany(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, x := range []struct {
		path string
		most int // bytes of the header
		rels []string
	}{
		{"/", 1 << 10, []string{"self", "alternate", "service-desc", "service-doc", "conformance", "data", "license"}},
		{"/collections/kommuner", 1 << 10, []string{"self", "alternate", "items", "license"}},
		{"/collections", 1 << 10, nil},
		{"/processes", 1 << 10, nil},
		{"/TileMatrixSets", 1 << 10, nil},
	} {
		r := a.get(x.path).wants(200)
		inHeader, targets, page := r.headerLinks(), map[string]bool{}, a.get(x.path+"?f=html").wants(200)
		for _, l := range r.links() {
			if href := strings.TrimPrefix(l.Href, a.URL); x.rels == nil || slices.Contains(x.rels, l.Rel) {
				targets[l.Rel] = true
				if !strings.Contains(r.Header.Get("Link"), l.Href) || len(inHeader[l.Rel]) == 0 {
					t.Errorf("%s: no %s, %s, in the header", x.path, l.Rel, href)
				}
			}
		}
		if len(inHeader) != len(targets) {
			t.Errorf("%s: relations %v, want %v", x.path, slices.Sorted(maps.Keys(inHeader)),
				slices.Sorted(maps.Keys(targets)))
		}
		for _, h := range []http.Header{r.Header, page.Header} {
			if n := len(h.Get("Link")); n == 0 || n > x.most {
				t.Errorf("%s: Link has %d bytes, want at most %d", x.path, n, x.most)
			}
		}
	}
}

func TestDescriptionSaysTestingKeyAndFeedback(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for lang, want := range map[string][]string{
		"nb": {"utprøving", "kort varsel", "API-nøkkel", "X-API-Key", "Tilbakemeldinger"},
		"nn": {"utprøving", "kort varsel", "API-nøkkel", "X-API-Key", "Tilbakemeldingar"},
		"en": {"in testing", "short notice", "API key", "X-API-Key", "feedback"},
	} {
		r := a.get("/?lang=" + lang).wants(200)
		text := r.json()["description"].(string)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q lacks %q", lang, text, w)
			}
		}
	}
}

// TestEveryPathAnswersAtBothMounts goes through all resources, methods and representations.
func TestEveryPathAnswersAtBothMounts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		for path, forms := range map[string]string{
			"/": "json jsonld html", "/openapi": "json yaml html", "/conformance": "json html",
			"/collections": "json jsonld html", "/collections/": "json jsonld html",
			"/collections/kommuner":        "json jsonld html",
			"/collections/kommuner/schema": "json html", "/collections/kommuner/queryables": "json html",
			"/collections/kommuner/items":  "json geojson JSON jsonld csv html",
			"/collections/kommuner/items/": "json", "/collections/kommuner/items/0301": "json jsonld html",
			"/TileMatrixSets": "json html", "/tileMatrixSets": "json html",
			"/TileMatrixSets/WebMercatorQuad": "json html", "/TileMatrixSets/utm33n": "json html",
			"/processes": "json jsonld html", "/processes/echo": "json html",
		} {
			p := strings.TrimSuffix(mount+path, "/")
			if strings.HasSuffix(path, "s/") {
				p = mount + path
			}
			for f := range strings.FieldsSeq(forms) {
				if f == "html" {
					a.settled(p + "?f=html") // maps change once tile levels are built
				}
				r := a.get(p+"?f="+f, "Accept-Encoding", "identity").wants(200)
				head := a.do("HEAD", p+"?f="+f, "Accept-Encoding", "identity").wants(200)
				if len(head.Body) != 0 || head.Header.Get("Content-Type") != r.Header.Get("Content-Type") ||
					head.Header.Get("ETag") != r.Header.Get("ETag") {
					t.Errorf("HEAD %s?f=%s: %d bytes, type %q, ETag %q against %q", p, f, len(head.Body),
						head.Header.Get("Content-Type"), head.Header.Get("ETag"), r.Header.Get("ETag"))
				}
				for _, h := range []string{"Vary", "Cache-Control", "Content-Type", "X-Content-Type-Options"} {
					if r.Header.Get(h) == "" {
						t.Errorf("%s?f=%s has no %s", p, f, h)
					}
				}
				if e := r.Header.Get("ETag"); e != "" {
					again := a.get(p+"?f="+f, "If-None-Match", e, "Accept-Encoding", "identity")
					if again.StatusCode != 304 || len(again.Body) != 0 {
						t.Errorf("%s?f=%s with its ETag: %d, %d bytes", p, f, again.StatusCode, len(again.Body))
					}
				} else if f != "html" {
					t.Errorf("%s?f=%s has no ETag", p, f)
				}
			}
			r := a.do("OPTIONS", p)
			if r.StatusCode != 204 || !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "X-API-Key") ||
				r.Header.Get("Access-Control-Allow-Origin") != "*" || r.Header.Get("Allow") == "" {
				t.Errorf("OPTIONS %s: %d %v", p, r.StatusCode, r.Header)
			}
			methods, not := "GET, HEAD, OPTIONS", []string{"PUT", "DELETE", "PATCH", "TRACE", "BREW"}
			if strings.HasSuffix(strings.TrimSuffix(path, "/"), "/items") {
				methods = "GET, HEAD, POST, OPTIONS" // with a filter as its body
			} else {
				not = append(not, "POST")
			}
			for _, m := range not {
				if r := a.do(m, p); r.StatusCode != 405 || r.Header.Get("Allow") != methods ||
					r.Header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("%s %s: %d, Allow %q", m, p, r.StatusCode, r.Header.Get("Allow"))
				}
			}
			for _, bad := range []string{"?f=xml", "?unknown=1", "?f=", "?f=json&f=json"} {
				r := a.get(p + bad).wants(400)
				if doc := r.json(); doc["faults"] == nil || doc["detail"] == "" || doc["status"] != 400.0 {
					t.Errorf("%s: %s", p+bad, r.Body)
				}
			}
			if r := a.get(p, "Accept", "image/png"); path != "/openapi" && r.StatusCode != 406 {
				t.Errorf("%s with Accept image/png: %d", p, r.StatusCode)
			}
		}
	}
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	for _, tt := range []struct{ path, accept, want string }{
		{"/", "", "application/json"},
		{"/", "*/*", "application/json"},
		{"/", browser, "text/html; charset=utf-8"},
		{"/?f=json", browser, "application/json"},
		{"/", "application/ld+json", "application/ld+json"},
		{"/", "application/json;q=0.5, text/html", "text/html; charset=utf-8"},
		{"/", "application/json, text/html;q=0.9", "application/json"},
		{"/", "text/*", "text/html; charset=utf-8"},
		{"/", "application/json;q=0, */*", "application/ld+json"},
		{"/openapi", browser, "application/vnd.oai.openapi+json;version=3.0"},
		{"/openapi", "image/png", "application/vnd.oai.openapi+json;version=3.0"},
		{"/openapi", "application/vnd.oai.openapi+json;version=3.0, application/openapi+json;version=3.0, " +
			"application/json", "application/vnd.oai.openapi+json;version=3.0"},
		{"/openapi?f=html", "", "text/html; charset=utf-8"},
		{"/collections/kommuner/items?limit=1", "application/geo+json, application/json", "application/geo+json"},
		{"/collections/kommuner/items?limit=1", "application/json", "application/geo+json"},
		{"/collections/kommuner/items?limit=1", "text/csv", "text/csv; charset=utf-8"},
		{"/collections/kommuner/queryables", "application/schema+json", "application/schema+json"},
		{"/collections/kommuner/queryables?f=json", "application/json,application/schema+json",
			"application/schema+json"},
	} {
		if got := a.get(tt.path, "Accept", tt.accept).wants(200).Header.Get("Content-Type"); got != tt.want {
			t.Errorf("%s with Accept %q: %q, want %q", tt.path, tt.accept, got, tt.want)
		}
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, tt := range []struct{ path, accept, want string }{
		{"/", "", "nb-NO"}, {"/?lang=nn", "en", "nn-NO"}, {"/?lang=en-GB", "", "en"}, {"/?lang=xx", "", "nb-NO"},
		{"/", "en,*", "en"}, {"/", "de, nn;q=0.5, en;q=0.7", "en"},
		{"/", "no", "nb-NO"}, {"/?lang=%00", "", "nb-NO"},
	} {
		if got := a.get(tt.path, "Accept-Language", tt.accept).wants(200).Header.Get(
			"Content-Language"); got != tt.want {
			t.Errorf("%s with %q: %s, want %s", tt.path, tt.accept, got, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	items := "/collections/kommuner/items"
	for _, tt := range []struct {
		path   string
		status int
		params string // that faults must name
	}{
		{"/nowhere", 404, ""}, {"/v1/nowhere", 404, ""}, {"/collections/nowhere", 404, ""},
		{"/collections/nowhere/items?limit=x", 404, ""},
		{"/collections/kommuner/items/9999", 404, ""}, {"/collections/kommuner/items/..%2f..%2fetc", 404, ""},
		{"/collections/kommuner/items/%00", 404, ""},
		{"/collections/kommuner/items/" + strings.Repeat("a", 8000), 404, ""}, {"/TileMatrixSets/nope", 404, ""},
		{"/processes/nope", 404, ""},
		{items + "?limit=0", 400, "limit"}, {items + "?limit=-1", 400, "limit"}, {items + "?limit=ten", 400, "limit"},
		{items + "?limit=1.5", 400, "limit"}, {items + "?limit=", 400, "limit"}, {items + "?limit=%2B1", 400, "limit"},
		{items + "?offset=-1", 400, "offset"}, {items + "?offset=x", 400, "offset"},
		{items + "?cursor=nonsense", 400, "cursor"}, {items + "?cursor=", 400, "cursor"},
		{items + "?bbox=", 400, "bbox"}, {items + "?bbox=1,2,3", 400, "bbox"}, {items + "?bbox=1,2,3,4,5", 400, "bbox"},
		{items + "?bbox=5,60,10,59", 400, "bbox"}, {items + "?bbox=a,b,c,d", 400, "bbox"},
		{items + "?bbox=NaN,1,2,3", 400, "bbox"}, {items + "?bbox=1,2,3,Inf", 400, "bbox"},
		{items + "?bbox=1,91,3,95", 400, "bbox"}, {items + "?bbox=-500,2,-400,4", 400, "bbox"},
		{items + "?datetime=soon", 400, "datetime"}, {items + "?datetime=../..", 400, "datetime"},
		{items + "?datetime=/", 400, "datetime"}, {items + "?datetime=2018-02-12/P2D", 400, "datetime"},
		{items + "?datetime=2020-01-01/2019-01-01", 400, "datetime"},
		{items + "?datetime_=soon", 400, "datetime_"}, {items + "?datetime=2020-01-01&datetime_=2020-01-01", 400,
			"datetime_"},
		{items + "?sortby=nope", 400, "sortby"}, {items + "?sortby=", 400, "sortby"},
		{items + "?sortby=navn,navn", 400, "sortby"}, {items + "?areal_km2=big", 400, "areal_km2"},
		{items + "?navn=a&navn=b", 400, "navn"},
		{items + "?crs=EPSG:1", 400, "crs"}, {items + "?bbox-crs=x&bbox=1,2,3,4", 400, "bbox-crs"},
		{items + "?limit=0&bbox=1&f=xml&foo=bar", 400, "bbox f foo limit"},
		{items + "?navn=%zz", 400, "?"}, {items + "?a;b", 400, "?"},
	} {
		r := a.get(tt.path).wants(tt.status)
		if ct := r.Header.Get("Content-Type"); ct != "application/problem+json" {
			t.Errorf("%s: Content-Type %q", tt.path, ct)
		}
		doc := r.json()
		if doc["detail"] == "" || doc["title"] == "" || doc["type"] == "" || doc["code"] == "" ||
			doc["instance"] == "" {
			t.Errorf("%s: %s", tt.path, r.Body)
		}
		var names []string
		faults, _ := doc["faults"].([]any)
		for _, f := range faults {
			fault := f.(map[string]any)
			names = append(names, fault["name"].(string))
			if fault["cure"] == "" {
				t.Errorf("%s: fault without cure", tt.path)
			}
		}
		if got := strings.Join(names, " "); got != tt.params {
			t.Errorf("%s: faults name %q, want %q", tt.path, got, tt.params)
		}
		if page := a.get(tt.path, "Accept", "text/html"); page.StatusCode != tt.status ||
			!strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s for a browser: %d %s", tt.path, page.StatusCode, page.Header.Get("Content-Type"))
		}
	}
}

func TestHostileAddressesNeverReachAnAnswer(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.BaseURL = "https://maps.example.org/geo" })
	for _, path := range []string{"/geo", "/geo/v1/collections", "/collections/kommuner/items?limit=1", "/geo/openapi",
		"/nowhere"} {
		for _, h := range [][2]string{{"X-Forwarded-Host", "evil.example"},
			{"Forwarded", "host=evil.example;proto=http"}, {"X-Forwarded-Prefix", "/evil.example"}} {
			r := a.get(path, h[0], h[1])
			if strings.Contains(string(r.Body)+fmt.Sprint(r.Header), "evil.example") {
				t.Errorf("%s with %s reaches the answer", path, h[0])
			}
			if strings.Contains(string(r.Body), a.URL) {
				t.Errorf("%s: the address of the listener reaches the answer", path)
			}
		}
		req, _ := http.NewRequestWithContext(t.Context(), "GET", a.URL+path, nil)
		req.Host = "evil.example"
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if strings.Contains(string(body)+fmt.Sprint(res.Header), "evil.example") {
			t.Errorf("%s: the Host header reaches the answer", path)
		}
	}
}

func TestUnknownPathNamesTheStartOfItsMountUnderAPrefix(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.BaseURL = "https://maps.example.org/geo" })
	for path, start := range map[string]string{"/geo/nope": "https://maps.example.org/geo",
		"/geo/v1/nope": "https://maps.example.org/geo/v1", "/v1/nope": "https://maps.example.org/geo/v1",
		"/geo/v12": "https://maps.example.org/geo"} {
		if d := a.get(path).wants(404).json()["detail"].(string); !strings.HasSuffix(d, " "+start) {
			t.Errorf("%s: %s", path, d)
		}
	}
}

func TestLinksFollowATrustedProxyAndAPathPrefix(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) {
		c.TrustedProxies = prefixes(t, "127.0.0.0/8", "::1/128")
	})
	for _, tt := range []struct {
		header []string
		want   string
	}{
		{[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "maps.example.org"}, "https://maps.example.org"},
		{[]string{"Forwarded", `for=192.0.2.1, for=192.0.2.2;proto=https;host="maps.example.org:8443"`},
			"https://maps.example.org:8443"},
		{[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "maps.example.org", "X-Forwarded-Prefix", "/geo/"},
			"https://maps.example.org/geo"},
		{[]string{"X-Forwarded-Host", "evil\"><script>"}, a.URL},
		{[]string{"X-Forwarded-Host", "//evil"}, a.URL},
		{[]string{"X-Forwarded-Prefix", "//evil"}, a.URL},
	} {
		links := a.get("/v1/collections/kommuner/items?limit=1", tt.header...).wants(200).page().Links
		for _, l := range links {
			if !strings.HasPrefix(l.Href, tt.want+"/v1/collections") {
				t.Errorf("%v: %s", tt.header, l.Href)
			}
		}
	}
	b := serve(t, "", func(c *config.Config) { c.BaseURL = "https://maps.example.org/geo" })
	for _, path := range []string{"/geo/v1/collections", "/v1/collections", "/geo/v1/collections/"} {
		for _, l := range b.get(path).wants(200).links() {
			if !strings.HasPrefix(l.Href, "https://maps.example.org/geo/v1/collections") {
				t.Errorf("%s: %s", path, l.Href)
			}
		}
	}
}

// TestAllLinksLead follows every link of every document.
func TestAllLinksLead(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		seen, todo := map[string]bool{}, []string{a.URL + mount + "?f=json"}
		for len(todo) > 0 && len(seen) < 400 {
			u := todo[0]
			todo = todo[1:]
			if seen[u] || !strings.HasPrefix(u, a.URL) {
				continue
			}
			seen[u] = true
			r := a.get(u).wants(200)
			if !strings.HasPrefix(u, a.URL+"/v1") != (mount == "") {
				t.Errorf("%s crosses from mount %q", u, mount)
			}
			if !strings.Contains(r.Header.Get("Content-Type"), "json") || strings.Contains(u, "cursor=") {
				continue
			}
			var walk func(v any)
			walk = func(v any) {
				switch v := v.(type) {
				case map[string]any:
					// available by POST only
					if h, ok := v["href"].(string); ok && v["templated"] == nil && v["rel"] != ogcapi.RelExecute {
						if !strings.HasPrefix(h, "http") {
							t.Errorf("%s: link %q is not absolute", u, h)
						}
						todo = append(todo, h)
					}
					for _, x := range v {
						walk(x)
					}
				case []any:
					for _, x := range v {
						walk(x)
					}
				}
			}
			if r.Body[0] == '{' && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-ndjson") {
				walk(r.json())
			}
		}
		if len(seen) < 30 {
			t.Errorf("mount %q: only %d addresses reached", mount, len(seen))
		}
	}
}

func TestConformanceIsSortedAndComplete(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	var got []string
	for _, v := range a.get("/conformance").wants(200).json()["conformsTo"].([]any) {
		got = append(got, v.(string))
	}
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("not sorted or not unique: %v", got)
	}
	golden(t, "conformance.txt",
		[]byte("# Decided by the standards and our route table; README.md says more.\n"+strings.Join(got, "\n")+"\n"))
}
