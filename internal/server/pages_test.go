package server_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"grense/internal/apikey"
	"grense/internal/config"
)

func TestHTMLFaultsAreFound(t *testing.T) {
	t.Parallel()
	page := func(body string) []byte {
		return []byte("<!DOCTYPE html>\n<html lang=\"nb\"><head><title>x</title></head><body><main><h1>x</h1>" + body +
			"</main></body></html>")
	}
	if f := htmlFaults(page(
		`<p>a &amp; b<br>c</p><table><caption>x</caption><tbody><tr><th scope="row">x</th><td></td></tr></tbody>` +
			`</table>`)); f != nil {
		t.Errorf("a good page: %q", f)
	}
	for _, body := range []string{
		"<p>x", "</p>", "<p><div>x</div></p>", "<blink>x</blink>", "<h3>x</h3>", "<h1>x</h1>",
		`<p id="a">x</p><p id="a">x</p>`, `<a href="#no">x</a>`, `<a href="/"></a>`, `<a>x</a>`,
		`<img src="/x">`, `<img src="http://elsewhere/x" alt="">`, `<script src="//elsewhere/x"></script>`,
		`<form method="get" action="/"><p><input id="i" name="i"></p></form>`,
		"<table><tbody><tr><td>x</td></tr></tbody></table>", `<p style="color:red">x</p>`, `<p onclick="x()">x</p>`,
		"<ul><p>x</p></ul>", "<button>x</button>", "<nav>x</nav>", "%!s(MISSING)",
	} {
		if htmlFaults(page(body)) == nil {
			t.Errorf("%s passes", body)
		}
	}
}

var (
	hrefPattern  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	shapePattern = regexp.MustCompile(`/(items|codelists|TileMatrixSets|tileMatrixSets|tiles)/[^/?]+`)
	tagPattern   = regexp.MustCompile(`<html lang="([^"]*)"`)
)

// crawlPages follows the links of pages from the landing page of a mount, two addresses of each kind, and passes
// every response to visit.
func (a *api) crawlPages(start string, visit func(address string, r answer), header ...string) {
	a.t.Helper()
	seen, kinds := map[string]bool{start: true}, map[string]int{}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		r := a.get(queue[0], header...)
		visit(queue[0], r)
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range hrefPattern.FindAllSubmatch(r.Body, -1) {
			address := html.UnescapeString(string(m[1]))
			if strings.HasPrefix(address, "/") {
				address = a.URL + address
			}
			u, err := url.Parse(address)
			if err != nil {
				a.t.Errorf("%s: link %q: %v", queue[0], address, err)
				continue
			}
			if !strings.HasPrefix(address, a.URL) || seen[address] {
				continue
			}
			q := u.Query()
			kind := shapePattern.ReplaceAllString(u.Path, "/$1/*") + " " + q.Get("f") + " " + q.Get("lang")
			if q.Has("cursor") {
				kind += " cursor"
			}
			if kinds[kind]++; kinds[kind] > 2 {
				continue
			}
			seen[address] = true
			queue = append(queue, address)
		}
	}
}

func TestEveryPageIsValidAndEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for _, mount := range []string{"", "/v1"} {
		a := serve(t, "", nil)
		pages := map[string]int{}
		a.crawlPages(a.URL+mount+"/?f=html", func(address string, r answer) {
			if r.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", address, r.StatusCode)
			}
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
				return
			}
			for _, f := range htmlFaults(r.Body) {
				t.Errorf("%s: %s", address, f)
			}
			m := tagPattern.FindSubmatch(r.Body)
			if m == nil || string(m[1]) != r.Header.Get("Content-Language") {
				t.Errorf("%s: lang %q, Content-Language %q", address, m, r.Header.Get("Content-Language"))
				return
			}
			if p := r.Header.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") ||
				strings.Contains(p, "unsafe") {
				t.Errorf("%s: policy %q", address, p)
			}
			pages[string(m[1])]++
		})
		for _, lang := range []string{"nb-NO", "nn-NO", "en"} {
			if pages[lang] < 15 {
				t.Errorf("mount %q: %d pages in %s", mount, pages[lang], lang)
			}
		}
	}
}

func TestPagesWithoutKeyAreValidAndHoldNoData(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	refused := 0
	a.crawlPages(a.URL+"/?f=html", func(address string, r answer) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			for _, f := range htmlFaults(r.Body) {
				t.Errorf("%s: %s", address, f)
			}
		}
		if data := strings.Contains(address, "/items") || strings.Contains(address, "/download?") ||
			strings.Contains(address, "/lookup?") || strings.Contains(address, "/jobs?") ||
			strings.Contains(address, "/search?") || strings.Contains(address, "/changes") ||
			strings.Contains(address, "/map?"); data != (r.StatusCode == http.StatusUnauthorized) {
			t.Errorf("%s: %d", address, r.StatusCode)
		}
		if r.StatusCode != http.StatusUnauthorized {
			return
		}
		refused++
		if strings.Contains(string(r.Body), "Trondheim") {
			t.Errorf("%s tells data", address)
		}
	})
	if refused < 4 {
		t.Errorf("%d pages of data", refused)
	}
}

func TestErrorAndKeyPagesAreValid(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for path, status := range map[string]int{
		"/collections/kommuner/items?f=html&limit=x&foo=%3Cb%3E&bbox=1": 400,
		"/collections/kommuner/items/9999?f=html":                       404,
		"/collections/nothing?f=html":                                   404,
		"/no/such/page?f=html":                                          404,
		"/key":                                                          200,
		"/key?code=used":                                                410,
	} {
		for _, lang := range []string{"nb", "nn", "en"} {
			r := a.get(path, "X-API-Key", a.key, "Accept", "text/html", "Accept-Language", lang, "Cookie",
				apikey.Cookie+"="+a.key).wants(status)
			for _, f := range htmlFaults(r.Body) {
				t.Errorf("%s in %s: %s", path, lang, f)
			}
			if strings.Contains(string(r.Body), a.key) {
				t.Errorf("%s tells the key", path)
			}
		}
	}
}

func TestFormLeavesOutEmptyFields(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	all := a.get("/collections/kommuner/items?f=html&lang=nb&nr=&navn=&fylke_nr=&areal_km2=&bbox=&limit=").wants(200)
	if !strings.Contains(string(all.Body), "av 357 objekter") {
		t.Error("empty fields select")
	}
	one := a.get("/collections/kommuner/items?f=html&lang=nb&nr=&navn=Oslo&bbox=&limit=10").wants(200)
	if !strings.Contains(string(one.Body), ">1 treff for «Oslo».</p>") ||
		!strings.Contains(string(one.Body), `value="Oslo"`) {
		t.Errorf("a filled field does not select: %.900s", one.Body)
	}
	a.get("/collections/kommuner/items?f=html&nothing=").wants(400)
	if r := a.get("/collections/kommuner/items?f=json&navn="); r.StatusCode == 200 && r.page().NumberMatched != 0 {
		t.Error("an empty value of a program is left out")
	}
}

func TestPageUnderAPrefixLoadsItsFiles(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.BaseURL += "/geo" })
	page := a.get("/geo/v1/collections?f=html").wants(200)
	for _, m := range regexp.MustCompile(`(?:src|rel="stylesheet" href)="([^"]+)"`).FindAllSubmatch(page.Body, -1) {
		file := string(m[1])
		if !strings.HasPrefix(file, "/geo/static/") {
			t.Errorf("the page loads %q", file)
		}
		if cache := a.get(file).wants(200).Header.Get("Cache-Control"); !strings.Contains(cache, "immutable") {
			t.Errorf("%s: Cache-Control %q", file, cache)
		}
	}
	if cache := a.get("/favicon.ico").wants(200).Header.Get("Cache-Control"); strings.Contains(cache, "immutable") {
		t.Errorf("favicon.ico: Cache-Control %q", cache)
	}
}

func TestFormShowsWhatWasAskedAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	body := string(a.get(
		"/collections/kommuner/items?f=html&lang=en&sortby=-areal_km2&bbox=4,57,12,64&properties=navn&limit=5&filter=" +
			escape("navn LIKE 'S%'")).wants(200).Body)
	for _, want := range []string{`<option value="-areal_km2" selected>`, `value="4,57,12,64"`,
		`name="properties" value="navn"`, `value="navn LIKE &#39;S%&#39;"`,
		`name="limit" type="number" min="1" max="250" value="5"`, `<strong>4,57,12,64</strong>`,
		`<strong>navn LIKE &#39;S%&#39;</strong>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(body, "<details open>") {
		t.Error("the form lies above what was found")
	}
	if body = string(a.get("/collections/kommuner/items?f=html&sortby=navn,-nr").wants(200).Body); !strings.Contains(
		body, `<option value="navn,-nr" selected>`) {
		t.Error("an order that the form does not offer is lost")
	}
}

// TestEveryAnswerHasSecurityHeaders: every response forbids the guessing of its media type. Documents, which load
// resources and have links, also have a policy for these.
func TestEveryAnswerHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	styles := regexp.MustCompile(`href="(/static/[^"]+[.]css)"`).FindSubmatch(a.get("/?f=html").wants(200).Body)
	if styles == nil {
		t.Fatal("the landing page has no styles")
	}
	documents := 0
	for path, status := range map[string]int{
		"/": 200, "/?f=html": 200, "/v1/collections?f=html": 200, "/collections/kommuner?f=jsonld": 200,
		"/openapi": 200, "/openapi?f=html&ui=swagger": 200, "/key?f=html": 200,
		"/collections/kommuner/items": 401, "/collections/kommuner/items?f=html": 401, "/no/such/page?f=html": 404,
		"/no/such/page": 404, "/collections?f=nothing": 400,
		"/sitemap.xml": 200, "/robots.txt": 200, "/preview.png": 200, string(styles[1]): 200, "/healthz": 200,
	} {
		h := a.get(path).wants(status).Header
		if got := h.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options %q", path, got)
		}
		if h.Get("Server") != "" || h.Get("X-Powered-By") != "" {
			t.Errorf("%s tells what it runs on", path)
		}
		if media := h.Get("Content-Type"); !strings.HasPrefix(media, "text/html") && !strings.Contains(media, "xml") {
			continue
		}
		documents++
		if got := h.Get("Referrer-Policy"); got != "same-origin" {
			t.Errorf("%s: Referrer-Policy %q", path, got)
		}
		policy := map[string]string{}
		for _, d := range strings.Split(h.Get("Content-Security-Policy"), ";") {
			name, sources, _ := strings.Cut(strings.TrimSpace(d), " ")
			policy[name] = sources
		}
		for name, want := range map[string]string{"default-src": "'none'", "script-src": "'self'",
			"style-src": "'self'", "connect-src": "'self'", "form-action": "'self'", "base-uri": "'none'",
			"frame-ancestors": "'none'"} {
			if policy[name] != want {
				t.Errorf("%s: %s %q, want %q", path, name, policy[name], want)
			}
		}
		for _, sources := range policy {
			if strings.Contains(sources, "unsafe-") || strings.Contains(sources, "*") ||
				strings.Contains(sources, "http") {
				t.Errorf("%s: the policy lets %q in", path, sources)
			}
		}
	}
	if documents != 7 {
		t.Errorf("%d documents, want 7", documents)
	}
}

func TestPageOfAFaultLeadsBackToItsCollection(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for path, status := range map[string]int{"/collections/kommuner/items/x?f=html&lang=en&datetime=x": 400,
		"/v1/collections/kommuner/items/9999?f=html&lang=en": 404, "/collections/kommuner/no?f=html&lang=en": 404,
		"/collections/none?f=html&lang=en": 404} {
		body := string(a.get(path).wants(status).Body)
		mount := ""
		if strings.HasPrefix(path, "/v1") {
			mount = "/v1"
		}
		link := `<p><a href="` + a.URL + mount +
			`/collections/kommuner?f=html&amp;lang=en">To the collection “Municipalities”</a></p>`
		if strings.Contains(body, link) != (strings.Contains(path, "/items")) {
			t.Errorf("%s: link to the collection: %t", path, !strings.Contains(path, "/items"))
		}
	}
}

func TestLinkedDataOfALongPageStandInThePage(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.Buffer = 1 })
	body := a.get("/collections/kommuner/items?f=html&limit=3").wants(200).Body
	for _, f := range htmlFaults(body) {
		t.Error(f)
	}
	if m := linkedPattern.FindSubmatch(body); m == nil || !json.Valid(m[1]) {
		t.Errorf("the data are %q", m)
	}
}

func TestSpellingsOfALanguageMakeOneDocument(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, path := range []string{"/?f=html&lang=", "/collections/kommuner?f=html&lang=", "/conformance?f=json&lang="} {
		want := a.settled(path + "nb").get(path + "nb").wants(200) // maps change once tile levels are built
		for _, lang := range []string{"NB", "nb-NO", "nb_x1", "no", "no-y2"} {
			r := a.get(path + lang).wants(200)
			if string(r.Body) != string(want.Body) || r.Header.Get("Link") != want.Header.Get("Link") {
				t.Errorf("%s%s differs from nb", path, lang)
			}
		}
	}
	a.get("/?lang=nb&lang=en").wants(400)
}
