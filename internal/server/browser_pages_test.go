package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"grense/internal/apikey"
	"grense/internal/config"
	"grense/internal/demo"
)

// pageKind is a kind of page, with an address of it.
type pageKind struct {
	name   string
	route  string // its path in the table of routes; "-" for none
	path   string // below the mount, with a query
	status int    // 0 for 200
	keyed  bool   // 401 without a key
	tool   bool   // shows a tool of others, which loads files of its own
}

// pageKinds are all kinds of pages. Each route that returns a page has at least one.
var pageKinds = []pageKind{
	{name: "landing", route: "", path: "/?f=html"},
	{name: "openapi", route: "/openapi", path: "/openapi?f=html"},
	{name: "openapi-tool", route: "/openapi", path: "/openapi?f=html&ui=swagger", tool: true},
	{name: "conformance", route: "/conformance", path: "/conformance?f=html"},
	{name: "collections", route: "/collections", path: "/collections?f=html"},
	{name: "collection", route: "/collections/{collectionId}", path: "/collections/kommuner?f=html"},
	{name: "collection-places", route: "/collections/{collectionId}", path: "/collections/sted?f=html"},
	{name: "schema", route: "/collections/{collectionId}/schema", path: "/collections/sted/schema?f=html"},
	{name: "queryables", route: "/collections/{collectionId}/queryables",
		path: "/collections/kommuner/queryables?f=html"},
	{name: "sortables", route: "/collections/{collectionId}/sortables", path: "/collections/kommuner/sortables?f=html"},
	{name: "items", route: "/collections/{collectionId}/items", path: "/collections/kommuner/items?f=html",
		keyed: true},
	{name: "items-filtered", route: "/collections/{collectionId}/items", keyed: true,
		path: "/collections/kommuner/items?f=html&limit=5&offset=5&sortby=-areal_km2&bbox=4,57,12,64" +
			"&filter=navn%20LIKE%20%27S%25%27"},
	{name: "items-none", route: "/collections/{collectionId}/items",
		path: "/collections/kommuner/items?f=html&navn=Atlantis", keyed: true},
	{name: "items-places", route: "/collections/{collectionId}/items", path: "/collections/sted/items?f=html&limit=25",
		keyed: true},
	{name: "item", route: "/collections/{collectionId}/items/{featureId}",
		path: "/collections/kommuner/items/0301?f=html", keyed: true},
	{name: "item-place", route: "/collections/{collectionId}/items/{featureId}",
		path: "/collections/sted/items/2?f=html", keyed: true},
	{name: "functions", route: "/functions", path: "/functions?f=html"},
	{name: "lookup", route: "/lookup", path: "/lookup?f=html&lon=10.75&lat=59.91", keyed: true},
	{name: "lookup-outside", route: "/lookup", path: "/lookup?f=html&lon=2&lat=61", keyed: true},
	{name: "tilematrixsets", route: "/TileMatrixSets", path: "/TileMatrixSets?f=html"},
	{name: "tilematrixset", route: "/TileMatrixSets/{tileMatrixSetId}", path: "/TileMatrixSets/utm33n?f=html"},
	{name: "tilesets", route: "/collections/{collectionId}/tiles", path: "/collections/kommuner/tiles?f=html"},
	{name: "tileset", route: "/collections/{collectionId}/tiles/{tileMatrixSetId}",
		path: "/collections/kommuner/tiles/utm33n?f=html"},
	{name: "tilesets-all", route: "/tiles", path: "/tiles?f=html"},
	{name: "styles", route: "/collections/{collectionId}/styles", path: "/collections/kommuner/styles?f=html"},
	{name: "styles-all", route: "/styles", path: "/styles?f=html"},
	{name: "tileset-all", route: "/tiles/{tileMatrixSetId}", path: "/tiles/WebMercatorQuad?f=html"},
	{name: "map", route: "/map", path: "/map?f=html", keyed: true},
	{name: "map-of-one", route: "/collections/{collectionId}/map", path: "/collections/kommuner/map?f=html",
		keyed: true},
	{name: "maptilesets", route: "/collections/{collectionId}/map/tiles",
		path: "/collections/kommuner/map/tiles?f=html"},
	{name: "maptileset", route: "/collections/{collectionId}/map/tiles/{tileMatrixSetId}",
		path: "/collections/kommuner/map/tiles/utm33n?f=html"},
	{name: "maptilesets-all", route: "/map/tiles", path: "/map/tiles?f=html"},
	{name: "maptileset-all", route: "/map/tiles/{tileMatrixSetId}", path: "/map/tiles/WebMercatorQuad?f=html"},
	{name: "processes", route: "/processes", path: "/processes?f=html"},
	{name: "process", route: "/processes/{processId}", path: "/processes/echo?f=html"},
	{name: "jobs", route: "/jobs", path: "/jobs?f=html", keyed: true},
	{name: "job-gone", route: "/jobs/{jobId}", path: "/jobs/0123456789abcdef?f=html", status: http.StatusNotFound,
		keyed: true},
	{name: "process-file", route: "/processes/{processId}", path: "/processes/enrich-table?f=html"},
	{name: "process-export", route: "/processes/{processId}", path: "/processes/export-by-area-gpkg?f=html"},
	{name: "codelists", route: "/codelists", path: "/codelists?f=html"},
	{name: "codelist", route: "/codelists/{codeListId}", path: "/codelists/spraak?f=html"},
	{name: "schemes", route: "/codes", path: "/codes?f=html"},
	{name: "codes", route: "/codes/{schemeId}", path: "/codes/kommune?f=html&datetime=2019-06-01"},
	{name: "code", route: "/codes/{schemeId}/{code}", path: "/codes/kommune/0712?f=html"},
	{name: "lineage", route: "/collections/{collectionId}/items/{featureId}/lineage",
		path: "/collections/kommuner/items/1580/lineage?f=html&until=2019-01-01", keyed: true},
	{name: "versions", route: "/collections/{collectionId}/items/{featureId}/versions",
		path: "/collections/divisions_versions/items/kommune-0301-18380101/versions?f=html", keyed: true},
	{name: "events", route: "/collections/{collectionId}/items",
		path: "/collections/divisions_events/items?f=html&limit=25", keyed: true},
	{name: "events-of-a-day", route: "/collections/{collectionId}/items",
		path: "/collections/divisions_events/items?f=html&datetime=2020-01-01&limit=10", keyed: true},
	{name: "item-history", route: "/collections/{collectionId}/items/{featureId}",
		path: "/collections/kommuner/items/1580?f=html", keyed: true},
	{name: "changes", route: "/changes", path: "/changes?f=html&limit=5", keyed: true},
	{name: "changes-latest", route: "/changes/latest", path: "/changes/latest?f=html", keyed: true},
	{name: "retired", route: "-", path: "/collections/kommuner/items/1507?f=html", status: http.StatusGone,
		keyed: true},
	{name: "search", route: "/search", path: "/search?f=html&q=oslo", keyed: true},
	{name: "about", route: "/about", path: "/about?f=html"},
	{name: "accessibility", route: "/accessibility", path: "/accessibility?f=html"},
	{name: "soap", route: "/soap/stedsnavn/v1", path: "/soap/stedsnavn/v1?f=html"},
	{name: "soap-programs", route: "/soap/stedsnavn/v1", path: "/soap/stedsnavn/v1?f=html&part=programs"},
	{name: "key", route: "/key", path: "/key?f=html"},
	{name: "key-code-used", route: "/key", path: "/key?f=html&code=used", status: http.StatusGone},
	{name: "no-such-page", route: "-", path: "/no/such/page?f=html", status: http.StatusNotFound},
	{name: "no-such-item", route: "-", path: "/collections/kommuner/items/9999?f=html", status: http.StatusNotFound,
		keyed: true},
	{name: "bad-lookup", route: "-", path: "/lookup?f=html&lat=x&lon=10,7", status: http.StatusBadRequest, keyed: true},
	{name: "bad-request", route: "-", path: "/collections/kommuner/items?f=html&limit=x&foo=%3Cb%3E&bbox=1",
		status: http.StatusBadRequest, keyed: true},
}

// reader is a user who opens a page.
type reader struct {
	who      string // "open": on a server that requires no key; "keyed", "keyless": on one that does
	lang     string
	dark     bool
	noScript bool
	mount    string
	markup   bool // the HTML of the pages that this reader gets is validated
}

func (r reader) String() string {
	s := r.who + " " + r.lang
	if r.dark {
		s += " dark"
	}
	if r.noScript {
		s += " no-script"
	}
	return s + " " + r.mount
}

// readers cover every pair of properties in which readers differ.
var readers = []reader{
	{who: "open", lang: "nb", markup: true},
	{who: "open", lang: "nn", dark: true, noScript: true, mount: "/v1"},
	{who: "open", lang: "en", dark: true},
	{who: "keyed", lang: "nb", dark: true, noScript: true, markup: true},
	{who: "keyed", lang: "nn", mount: "/v1", markup: true},
	{who: "keyed", lang: "en", noScript: true},
	{who: "keyless", lang: "nb", mount: "/v1"},
	{who: "keyless", lang: "nn", dark: true, noScript: true},
	{who: "keyless", lang: "en", noScript: true, mount: "/v1", markup: true},
}

// sees reports whether the page differs from those of earlier readers. Without a key the language changes only pages
// that require a key; all others differ by a link alone.
func (r reader) sees(k pageKind) bool { return r.who != "keyless" || k.keyed || r.lang == "nb" }

// trios are readers with and without a key in all languages, one of whom validates the HTML. Pages are assigned to
// the trios in turn.
var trios = [3][3]int{{0, 5, 7}, {4, 2, 6}, {3, 1, 8}}

// visitors are the readers who open the n-th kind of page.
func visitors(n int) (out []reader) {
	for i, r := range readers {
		if r.sees(pageKinds[n]) && slices.Contains(trios[n%len(trios)][:], i) {
			out = append(out, r)
		}
	}
	return out
}

func TestEveryPairOfReadersIsCovered(t *testing.T) {
	t.Parallel()
	kinds := []func(reader) string{func(r reader) string { return r.who }, func(r reader) string { return r.lang },
		func(r reader) string { return fmt.Sprint(r.dark) },
		func(r reader) string { return fmt.Sprint(r.noScript) }, func(r reader) string { return r.mount }}
	sizes := []int{3, 3, 2, 2, 2}
	for i, a := range kinds {
		for j, b := range kinds[:i] {
			pairs := map[string]bool{}
			for _, r := range readers {
				pairs[a(r)+"|"+b(r)] = true
			}
			if len(pairs) != sizes[i]*sizes[j] {
				t.Errorf("%d and %d: only the pairs %q", i, j, slices.Sorted(maps.Keys(pairs)))
			}
		}
	}
}

// wholeDemo writes the divisions and a register into one file, once for all tests.
var wholeDemo = besideDemo("whole.gpkg", demo.Write, writeRegister, writeNorway)

// site is the servers that readers visit: the same data with and without keys.
type site struct{ open, keyed *api }

func newSite(t *testing.T) site {
	t.Helper()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	return site{open: openSite(t, nil), keyed: serve(t, path, func(c *config.Config) { c.Auth = "required" })}
}

// openSite is that without keys, with a change of its configuration.
func openSite(t *testing.T, change func(*config.Config)) *api {
	t.Helper()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Sources{Environ: []string{"GRENSE_AUTH=open", "GRENSE_DATA_DIR=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, path, func(c *config.Config) {
		c.Service = loaded.Service // shows that the data are open
		if change != nil {
			change(c)
		}
	})
}

func (s site) of(r reader) *api {
	if r.who == "open" {
		return s.open
	}
	return s.keyed
}

// visit is one page as one reader meets it.
type visit struct {
	kind   pageKind
	reader reader
	api    *api
}

func (v visit) address() string {
	return v.api.URL + v.reader.mount + v.kind.path + "&lang=" + v.reader.lang
}

func (v visit) status() int {
	switch {
	case v.kind.keyed && v.reader.who == "keyless":
		return http.StatusUnauthorized
	case v.kind.status != 0:
		return v.kind.status
	}
	return http.StatusOK
}

// findings collects faults, each with the visits that have it.
type findings struct {
	mu     sync.Mutex
	faults map[string][]string // by kind of page and fault
	links  map[string]visit    // address and the first page that leads to it
	visits int
	bodies map[[sha256.Size]byte]visit // that are to be validated
	pages  map[[sha256.Size]byte][]byte
	most   map[string]float64 // bytes of the heaviest page, and its name
}

func (f *findings) add(v visit, faults ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range faults {
		k := v.kind.name + ": " + strings.ReplaceAll(s, v.api.URL, "")
		f.faults[k] = append(f.faults[k], v.reader.String())
	}
}

// report fails the test for the faults since the last report.
func (f *findings) report(t *testing.T) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(f.faults)) {
		t.Errorf("%s (%d times, first %s)", k, len(f.faults[k]), f.faults[k][0])
	}
	clear(f.faults)
}

func TestEveryRouteWithAPageIsVisited(t *testing.T) {
	t.Parallel()
	for _, path := range serve(t, "", nil).srv.HTMLRoutes() {
		if !slices.ContainsFunc(pageKinds, func(k pageKind) bool { return k.route == path }) {
			t.Errorf("the browser opens no page of %q; add one to pageKinds", path)
		}
	}
}

// TestBrowser runs all checks of pages in a browser.
func TestBrowser(t *testing.T) {
	ctx := chromium(t)
	checks, haveAxe := script(t)
	s := newSite(t)
	t.Run("finds faults", func(t *testing.T) { findsFaults(t, ctx, checks, haveAxe) })
	t.Run("opens every page", func(t *testing.T) { everyPage(t, ctx, s, checks, haveAxe) })
	t.Run("filters by keyboard", func(t *testing.T) { filterByKeyboard(t, ctx, s, checks) })
	t.Run("takes a key by keyboard", func(t *testing.T) { keyByKeyboard(t, ctx, s, checks) })
	t.Run("suggests by keyboard", func(t *testing.T) { suggestByKeyboard(t, ctx, checks) })
	t.Run("searches without scripts", func(t *testing.T) { searchWithoutScripts(t, ctx, s, checks) })
	t.Run("moves maps by keyboard", func(t *testing.T) { moveMapByKeyboard(t, ctx, s, checks) })
	t.Run("draws maps that can be read", func(t *testing.T) { mapContrast(t, ctx, s, checks) })
	t.Run("does what visitors come for", func(t *testing.T) { visitTasks(t, ctx, checks) })
	t.Run("shows results of processes", func(t *testing.T) { processResults(t, ctx, s, checks) })
	t.Run("answers forms accessibly", func(t *testing.T) { answeredForms(t, ctx, s, checks, haveAxe) })
	t.Run("prints wide tables whole", func(t *testing.T) { wideTables(t, ctx, s, checks) })
	t.Run("shows hits first", func(t *testing.T) { hitsFirst(t, ctx, s, checks) })
	t.Run("draws maps of tiles that can be read", func(t *testing.T) { tileContrast(t, ctx, s, checks) })
	t.Run("moves maps of tiles", func(t *testing.T) { moveTiles(t, ctx, s, checks) })
	t.Run("begins maps of tiles where most is", func(t *testing.T) { beginsAtMost(t, ctx, checks) })
	t.Run("asks less often for tiles that are not ready", func(
		t *testing.T) {
		asksLess(keyboard{newTab(t, ctx, true, checks), t}, s, `{}`, 40_000)
	})
	t.Run("asks no sooner for tiles than it is told", func(t *testing.T) {
		asksLess(keyboard{newTab(t, ctx, true, checks), t}, s, `{ "Retry-After": "90" }`, 90_000)
	})
}

// everyPage opens every kind of page as some readers. The console is empty, all requests go to the server, axe-core
// finds nothing, the HTML is valid and links work. The page is light, narrow, without motion and printable.
func everyPage(t *testing.T, ctx context.Context, s site, checks string, haveAxe bool) {
	f := &findings{faults: map[string][]string{}, links: map[string]visit{}, bodies: map[[sha256.Size]byte]visit{},
		pages: map[[sha256.Size]byte][]byte{}, most: map[string]float64{}}
	start := time.Now()
	const workers = 4
	var wg sync.WaitGroup
	work, visits := make(chan visit), 0
	for range workers {
		tabs := map[bool]*tab{true: newTab(t, ctx, true, checks), false: newTab(t, ctx, true, checks)}
		tabs[true].remember(t, s.keyed)
		wg.Go(func() {
			for v := range work {
				if err := f.look(tabs[v.reader.who == "keyed"], v, haveAxe); err != nil {
					f.add(v, "cannot be opened: "+err.Error())
				}
			}
		})
	}
	for n, k := range pageKinds {
		// while these are worked on
		if only := os.Getenv("GRENSE_TEST_PAGE"); only != "" && !slices.Contains(strings.Split(only, ","), k.name) {
			continue
		}
		for _, r := range visitors(n) {
			work <- visit{k, r, s.of(r)}
			visits++
		}
	}
	close(work)
	wg.Wait()
	t.Logf("%s: opened", time.Since(start))
	f.report(t)
	if os.Getenv("GRENSE_TEST_PAGE") == "" && (f.visits < visits || len(f.bodies) < len(pageKinds)) {
		t.Errorf("only %d visits and %d different pages", f.visits, len(f.bodies))
	}
	f.followLinks(t)
	t.Logf("%s: links followed", time.Since(start))
	if haveAxe {
		f.validate(t)
	}
	t.Logf("%s: HTML", time.Since(start))
	f.report(t)
	t.Logf("%d visits, %d pages validated, %d links, heaviest %v", f.visits, len(f.bodies), len(f.links), f.most)
	if !haveAxe {
		t.Skip("axe-core and html-validate are not installed; make page-checks installs them where npm is")
	}
}

// remember puts the key of a server into the tab's cookie.
func (b *tab) remember(t *testing.T, a *api) {
	t.Helper()
	yes := true
	_, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{
		Name: apikey.Cookie, Value: a.key, URL: a.URL + "/", HTTPOnly: &yes, SameSite: network.CookieSameSiteStrict})
	if err != nil {
		t.Fatal(err)
	}
}

// maxPage limits the transferred size of a page: the document and its script, in bytes.
const maxPage = 100_000

// maxMap limits the transferred size of the script of tile maps.
const maxMap = 20_000

// ofMap matches the addresses that a map requests.
var ofMap = regexp.MustCompile(`/tiles/|/static/shore\.|/TileMatrixSets/|/key\?f=json$`)

// look opens a page and records its faults.
func (f *findings) look(b *tab, v visit, haveAxe bool) error {
	w := desk
	w.dark, w.noScript = v.reader.dark, v.reader.noScript
	status, err := b.open(w, v.address())
	if err != nil {
		return err
	}
	if status != v.status() {
		f.add(v, fmt.Sprintf("status %d, want %d", status, v.status()))
		return nil
	}
	if v.kind.tool && !v.reader.noScript {
		if err := b.ask("toolShown()", nil); err != nil {
			return err
		}
	}
	if !v.reader.noScript {
		if err := b.ask("mapShown()", nil); err != nil {
			return err
		}
	}
	if err := b.ask(fmt.Sprintf("scriptsRun = %t", !v.reader.noScript), nil); err != nil {
		return err
	}
	steps := []struct {
		expression string
		change     func(*window)
	}{
		{"readable()", nil},
		// the page is loaded: its own scripts run no more, but axe-core needs timers
		{"accessible()", func(w *window) { w.noScript = false }},
		{"still()", func(w *window) { w.reduced = true }},
		{"unbroken()", func(w *window) { w.width, w.height = 360, 740 }},
		{"narrow()", func(w *window) { w.width, w.height = 320, 256 }}, // 1280 by 1024 at 400 % (WCAG 2.2, 1.4.10)
		{"printed()", func(w *window) { w.print, w.width = true, 720 }},
	}
	for _, s := range steps {
		if s.expression == "accessible()" && !haveAxe {
			continue
		}
		shown := w
		shown.noScript = false
		if s.change != nil {
			s.change(&shown)
			if err := b.set(shown); err != nil {
				return err
			}
		}
		var faults []string
		if err := b.ask(s.expression, &faults); err != nil {
			return err
		}
		f.add(v, faults...)
	}
	var links []string
	if err := b.ask("links()", &links); err != nil {
		return err
	}
	body, err := b.body()
	if err != nil {
		return err
	}
	tr := b.happened()
	f.add(v, tr.faults...)
	f.weigh(v, tr)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range links {
		if sameServer(l, v.api.URL) {
			if _, ok := f.links[l]; !ok {
				f.links[l] = v
			}
		}
	}
	f.visits++
	if v.reader.markup {
		sum := sha256.Sum256(body)
		f.bodies[sum], f.pages[sum] = v, body
	}
	return nil
}

// weigh checks the requests of a page: none to another server, none that fails, at most one besides styles, icon and
// our own script, and a light document.
func (f *findings) weigh(v visit, tr traffic) {
	documents, scripts, total := 0, 0, 0.0
	for _, r := range tr.requests {
		switch {
		case !sameServer(r.url, v.api.URL):
			f.add(v, "asks elsewhere: "+r.url)
		case r.failed != "" && r.status != 304 &&
			// an empty tile, or one that the browser cancelled when it left the page
			!(ofMap.MatchString(r.url) && strings.HasSuffix(r.failed, "ERR_ABORTED")):
			f.add(v, "request fails: "+r.url+" "+r.failed)
		case r.status >= 400 && r.kind != network.ResourceTypeDocument:
			f.add(v, fmt.Sprintf("request answers %d: %s", r.status, r.url))
		}
		switch r.kind {
		case network.ResourceTypeDocument:
			documents++
			total += r.bytes
		case network.ResourceTypeScript:
			// that of maps, which is loaded where one is looked at, has a bound of its own
			if strings.Contains(r.url, "/static/map.") {
				if r.bytes > maxMap {
					f.add(v, fmt.Sprintf("the map's script weighs %.0f bytes", r.bytes))
				}
				continue
			}
			scripts++
			total += r.bytes
		case network.ResourceTypeStylesheet, network.ResourceTypeImage:
		default:
			if !v.kind.tool && !strings.Contains(r.url, "/static/favicon.") && !ofMap.MatchString(r.url) {
				f.add(v, fmt.Sprintf("asks for more: %s %s", r.kind, r.url))
			}
		}
	}
	if v.kind.tool {
		return
	}
	if documents != 1 || scripts > 1 {
		f.add(v, fmt.Sprintf("%d documents and %d scripts", documents, scripts))
	}
	if total > maxPage {
		f.add(v, fmt.Sprintf("weighs %.0f bytes", total))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if total > slices.Max(append(slices.Collect(maps.Values(f.most)), 0)) {
		f.most = map[string]float64{v.kind.name: total}
	}
}

var idPattern = regexp.MustCompile(`\bid="([^"]*)"`)

// followLinks requests every address that pages link to, once, with a key if one is required.
func (f *findings) followLinks(t *testing.T) {
	parts := map[string][]string{} // fragments by address without them
	for l := range f.links {
		address, part, _ := strings.Cut(l, "#")
		parts[address] = append(parts[address], part)
	}
	work := make(chan string)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for address := range work {
				v := f.links[address]
				if v.api == nil {
					v = f.links[address+"#"+parts[address][0]]
				}
				header := []string{"Accept", "text/html,*/*;q=0.8"}
				if v.api.key != "" {
					header = append(header, "Cookie", apikey.Cookie+"="+v.api.key)
				}
				r := v.api.get(address, header...)
				if r.StatusCode >= 400 {
					// A page of an error leads to itself in other languages.
					if own, _, _ := strings.Cut(v.kind.path, "?"); v.kind.status != r.StatusCode ||
						!strings.Contains(address, own) {
						f.add(v, fmt.Sprintf("leads to %d: %s", r.StatusCode, address))
					}
					continue
				}
				var ids []string
				for _, m := range idPattern.FindAllSubmatch(r.Body, -1) {
					ids = append(ids, html.UnescapeString(string(m[1])))
				}
				for _, p := range parts[address] {
					if id, err := url.PathUnescape(p); p != "" && (err != nil || !slices.Contains(ids, id)) {
						f.add(v, "leads to a part that is not there: "+address+"#"+p)
					}
				}
			}
		})
	}
	for address := range parts {
		work <- address
	}
	close(work)
	wg.Wait()
}

// validate passes all different pages to html-validate (its rules for the HTML standard, and for documents).
func (f *findings) validate(t *testing.T) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node.js for html-validate")
	}
	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join("testdata", "browser", "htmlvalidate.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".htmlvalidate.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	names := map[string]visit{}
	for sum, v := range f.bodies {
		name := filepath.Join(dir, fmt.Sprintf("%x.html", sum[:8]))
		names[name] = v
		if err := os.WriteFile(name, f.pages[sum], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := filepath.Abs(filepath.Join("testdata", "browser", "node_modules", "html-validate", "bin",
		"html-validate.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.json") // standard output is cut off where a pipe is full
	cmd := exec.CommandContext(t.Context(), node, program, "--formatter", "json="+report, "--max-warnings", "0", dir)
	cmd.Dir = dir
	said, failed := cmd.CombinedOutput()
	out, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("html-validate: %v: %s", failed, said)
	}
	var results []struct {
		FilePath string
		Messages []struct {
			RuleID, Message, Selector string
			Line                      int
		}
	}
	if err := json.Unmarshal(out, &results); err != nil || (failed != nil) != (len(results) > 0) {
		t.Fatalf("html-validate: %v, %v: %s%.500s", failed, err, said, out)
	}
	for _, r := range results {
		v, ok := names[r.FilePath]
		if !ok {
			t.Errorf("html-validate tells of %s", r.FilePath)
		}
		for _, m := range r.Messages {
			f.add(v, fmt.Sprintf("HTML %s: %s (%s)", m.RuleID, m.Message, m.Selector))
		}
	}
}
