package server_test

import (
	"bytes"
	"context"
	"image/png"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"grense/internal/apikey"
	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
	"grense/internal/tile"
	"grense/web"
)

func TestCodesAndReferencesAreShownByName(t *testing.T) {
	t.Parallel()
	a, reg := serve(t, "", nil), serveRegister(t, func(c *config.Config) { c.Auth = "open" })
	for path, wants := range map[string][]string{
		"/collections/kommuner/items?f=html&lang=en&nr=1103": {
			`/collections/fylker/items/11?f=html&amp;lang=en">11 Rogaland</a>`, `<option value="03">03 Oslo</option>`},
		"/collections/kommuner/items/1103?f=html&lang=en": {
			`>11 Rogaland</a>`, ">Part of</h2>", "County: <a", `rel="prev"`, "Previous: Eigersund", "Next: Haugesund"},
		"/collections/sted/items?f=html&lang=en&limit=3&properties=navneobjekttype,fylkesnummer": {
			`/codelists/navneobjekttype?f=html&amp;lang=en#code-fylke">County</a>`, `#code-03" lang="nb">03 Oslo</a>`,
			`<option value="NO">Norway</option>`},
		"/collections/stedsnavn/items?f=html&lang=en&limit=3": {
			`/collections/sted/items/1?f=html&amp;lang=en">Oslo</a>`},
		"/collections/sted/items/1?f=html&lang=en": {
			`>County</a> <code class="hint">fylke</code>`, ">1 place names in Oslo</a>", `<td><time datetime="`},
		"/collections/fylker/items/11?f=html&lang=en": {
			`&amp;fylke_nr=11">23 municipalities in Rogaland</a>`},
		"/TileMatrixSets/WorldCRS84Quad?f=html&lang=en": {"Cell size (°)"},
		"/TileMatrixSets/utm33n?f=html&lang=en": {
			"Cell size (m)", ">ETRS89 / UTM zone 33N, quad tree</h1>"},
		"/TileMatrixSets?f=html&lang=nn": {
			">UTM-sone 33 (ETRS89)</a> <code>utm33n</code>", ">Web Mercator for heile verda</a>"},
		"/collections/kommuner/tiles?f=html&lang=nb": {
			">UTM-sone 33 (ETRS89)</a> <code>utm33n</code>"},
		"/collections/kommuner/tiles/WebMercatorQuad?f=html&lang=nb": {
			">Web Mercator for hele verden</h1>"},
		"/collections/sted/tiles/utm33n?f=html&lang=nb": {
			">UTM-sone 33 (ETRS89)</h1>"},
	} {
		at := a
		if strings.Contains(path, "/sted") {
			at = reg
		}
		body := string(at.get(path).wants(200).Body)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %s", path, want)
			}
		}
	}
	body := string(a.get("/collections/kommuner/items?f=html&lang=en&fylke_nr=99").wants(200).Body)
	if !strings.Contains(body, `<option value="99" selected>99</option>`) {
		t.Error("a value that is asked and does not exist is lost from the form")
	}
}

func TestCodesOfDivisionsLeadToThem(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	body := string(a.get("/collections/sted/items/17?f=html&lang=en").wants(200).Body)
	link := `<a href="` + a.URL + `/collections/kommuner/items/1101?f=html&amp;lang=en">1101 Eigersund</a>`
	for _, want := range []string{`<th scope="row">Municipality number</th><td>` + link,
		`<th scope="row">All municipalities</th><td>` + link, `<li>Municipality: ` + link,
		"/collections/fylker/items/11?f=html"} {
		if !strings.Contains(body, want) {
			t.Errorf("the place lacks %s", want)
		}
	}
	if strings.Count(body, "<li>Municipality:") != 1 {
		t.Error("the place belongs to the same municipality twice")
	}
	href := a.URL + "/collections/sted/items?f=html&lang=en&kommunenummer=1101"
	if body = string(a.get("/collections/kommuner/items/1101?f=html&lang=en").wants(200).Body); !strings.Contains(
		body, strings.ReplaceAll(href, "&", "&amp;")) {
		t.Errorf("the municipality does not lead to %s", href)
	}
	a.get(href).wants(200)
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for lang, want := range map[string]string{"nb": "1\u00a0046", "en": "1,046"} {
		for path, where := range map[string]string{"/collections/kommuner/items?nr=1108&": `<td class="number">` +
			want + `</td>`, "/collections/kommuner/items/1108?": `<td>` + want + ` km²</td>`} {
			body := string(a.get(path + "f=html&lang=" + lang).wants(200).Body)
			if !strings.Contains(body, where) {
				t.Errorf("%s in %s lacks %s", path, lang, where)
			}
			if strings.Contains(path, "nr=") && !strings.Contains(body, `<th scope="col" class="number"><a href=`) {
				t.Errorf("%s: the head of the numbers is not above them", path)
			}
		}
	}
	if body := string(a.get("/TileMatrixSets/utm33n?f=html&lang=nb").wants(200).Body); !strings.Contains(
		body, "77\u00a0371\u00a0428,571429<") {
		t.Error("the scales of tiles are not written for people")
	}
}

func TestNamesHaveTheirLanguage(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "open" })
	body := string(a.get("/collections/stedsnavn/items?f=html&lang=en&limit=50").wants(200).Body)
	for _, want := range []string{`lang="smj">Nordlánnda</a>`, `lang="no">Oslo</a>`,
		`lang="smj"><title>Nordlánnda</title>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if body = string(a.get("/collections/stedsnavn/items?f=html&lang=nn&limit=50").wants(200).Body); strings.Contains(
		body, `lang="no"`) {
		t.Error("Norwegian is marked as foreign on a page in Nynorsk")
	}
	id := regexp.MustCompile(`items/(\d+)\?f=html&amp;lang=nn" lang="smj">`).FindStringSubmatch(body)
	if id == nil {
		t.Fatal("no name in Lule Sami")
	}
	body = string(a.get("/collections/stedsnavn/items/" + id[1] + "?f=html&lang=nn").wants(200).Body)
	if !strings.Contains(body, `<h1 lang="smj">`) || !strings.Contains(body, `aria-current="page" lang="smj"`) {
		t.Error("the heading of a name in Lule Sami does not tell so")
	}
}

func TestLandingPageSearchesWithoutScript(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "required" })
	body := string(a.get("/?f=html&lang=en").wants(200).Body)
	buttons := regexp.MustCompile(`<button type="submit" class="quiet" formaction="([^"]+)"`).FindAllStringSubmatch(
		body, -1)
	if len(buttons) < 2 || !strings.Contains(body, `data-key="/key?f=json"`) ||
		strings.Count(body, "<script src=") != 1 {
		t.Fatalf("%d buttons: %q", len(buttons), buttons)
	}
	for _, b := range buttons {
		r := a.get(b[1]+"?f=html&lang=en&q=oslo", "X-API-Key", a.key).wants(200)
		if !strings.Contains(string(r.Body), "Oslo") {
			t.Errorf("%s finds no Oslo", b[1])
		}
	}
	for header, want := range map[string]bool{"": false, a.key: true} {
		r := a.get("/key?f=json", "X-API-Key", header).wants(200)
		if got := r.json()["keyAccepted"]; got != want {
			t.Errorf("key %q: accepted %v", header, got)
		}
		if got := r.Header.Get("Cache-Control"); got != "private, no-cache" {
			t.Errorf("whether a key is accepted may be kept for others: %q", got)
		}
	}
}

func TestOverviewsNameWhatReadersLookFor(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	for page, names := range map[string][]string{"/?f=html": {
		"Oslo", "Rogaland", "Vestland", "Finnmark", "Akershus", "Vestfold", "Østfold", "Buskerud", "Innlandet",
		"Telemark", "Agder", "Møre og Romsdal", "Nordland", "Trøndelag", "Troms"},
		"/collections/kommuner?f=html": {"Oslo", "Bergen", "Trondheim", "Stavanger"}} {
		body := a.get(page).wants(200).Body
		sets := regexp.MustCompile(`(?s)<g class="names[^>]*>(.*?)</g>`).FindAllSubmatch(body, -1)
		if len(sets) != 2 {
			t.Fatalf("%s has %d sets of names", page, len(sets))
		}
		for i, set := range sets {
			for _, name := range names {
				if !strings.Contains(string(set[1]), ">"+name+"</text>") {
					t.Errorf("%s, set %d: no %s", page, i, name)
				}
			}
		}
	}
}

func TestOverviewsAreForVisitorsWithAKey(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, func(c *config.Config) { c.Auth = "required" })
	for _, page := range []string{"/?f=html", "/collections/kommuner?f=html",
		"/collections/kommuner/tiles/utm33n?f=html"} {
		for range 2 { // built and cached
			for key, drawn := range map[string]bool{"": false, "wrong": false, a.key: true} {
				r := a.get(page, "Cookie", apikey.Cookie+"="+key).wants(200)
				if has := strings.Contains(string(r.Body), `<g class="here"><a href`) ||
					strings.Contains(string(r.Body), `<g class="here"><path`); has != drawn {
					t.Errorf("%s with key %q: features are shown: %t", page, key, has)
				}
				if private := strings.HasPrefix(r.Header.Get("Cache-Control"), "private"); private != drawn ||
					!strings.Contains(r.Header.Get("Vary"), "Cookie") {
					t.Errorf("%s with key %q: Cache-Control %q, Vary %q", page, key, r.Header.Get("Cache-Control"),
						r.Header.Get("Vary"))
				}
			}
		}
	}
}

func TestPreviewIsAPictureThatHoldsNoDataWithoutKey(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	var pictures [][]byte
	for _, auth := range []string{"open", "required"} {
		a := serve(t, "", func(c *config.Config) { c.Auth = auth })
		a.get("/preview.png").wants(200) // begins the levels
		tilesReady(t, a.srv)
		for _, mount := range []string{"", "/v1"} {
			page := string(a.get(mount + "/collections?f=html").wants(200).Body)
			m := regexp.MustCompile(`<meta property="og:image" content="([^"]+)">`).FindStringSubmatch(page)
			if m == nil || m[1] != a.URL+mount+"/preview.png" {
				t.Fatalf("the page names the picture %q", m)
			}
			r := a.get(m[1], "Accept", "text/html,image/avif").wants(200)
			img, err := png.Decode(bytes.NewReader(r.Body))
			if err != nil || r.Header.Get("Content-Type") != "image/png" || img.Bounds().Dx() != 1200 ||
				img.Bounds().Dy() != 630 || len(r.Body) > 300<<10 {
				t.Fatalf("%s: %v, %s, %d bytes", m[1], err, r.Header.Get("Content-Type"), len(r.Body))
			}
			pictures = append(pictures, r.Body)
		}
	}
	if !bytes.Equal(pictures[0], pictures[1]) || bytes.Equal(pictures[0], pictures[2]) {
		t.Error("the picture depends on the mount, or not on the key")
	}
	a := serve(t, "", nil)
	a.do(http.MethodGet, "/preview.png?f=html").wants(400)
	if strings.Contains(string(a.get("/sitemap.xml").Body), "preview") {
		t.Error("the picture is in the site map")
	}
}

func TestPagesAreLight(t *testing.T) {
	t.Parallel()
	a, reg := serve(t, "", nil), serveRegister(t, func(c *config.Config) { c.Auth = "open" })
	for _, path := range []string{"/?f=html", "/openapi?f=html", "/collections?f=html", "/collections/sted?f=html",
		"/collections/kommuner/items?f=html", "/collections/sted/items?f=html", "/collections/stedsnavn/items?f=html",
		"/collections/kommuner/items?f=html&limit=10000", "/collections/sted/items?f=html&limit=10000",
		"/collections/stedsnavn/items?f=html&limit=10000",
		"/collections/kommuner/items/0301?f=html", "/codelists/kommune?f=html", "/conformance?f=html",
		"/TileMatrixSets/utm33n?f=html", "/soap/stedsnavn/v1?f=html"} {
		at := a
		if regexp.MustCompile("sted|code").MatchString(path) {
			at = reg
		}
		r := at.get(path, "Accept-Encoding", "gzip").wants(200)
		if r.Header.Get("Content-Encoding") != "gzip" || len(r.Body) > 100<<10 {
			t.Errorf("%s: %d bytes, coding %q", path, len(r.Body), r.Header.Get("Content-Encoding"))
		}
		plain := string(at.get(path).Body)
		scripts := regexp.MustCompile(`<script src="[^"]*/([^/"]+)"`).FindAllStringSubmatch(plain, -1)
		if len(scripts) > 1 || len(scripts) == 1 && !strings.HasPrefix(scripts[0][1], "site.") {
			t.Errorf("%s loads %q", path, scripts)
		}
		if loads := regexp.MustCompile(`<(?:link rel="(?:stylesheet|icon)"|img)`).FindAllString(
			plain, -1); slices.Contains(loads, "<img") && len(loads) > 4 {
			t.Errorf("%s loads %q", path, loads)
		}
	}
}

// countingStore counts the queries to a store.
type countingStore struct {
	store.Store
	pages, fetches atomic.Int32
}

func (s *countingStore) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	if !background(ctx) {
		s.fetches.Add(1)
	}
	return s.Store.Fetch(ctx, coll, rows, want, fn)
}

func (s *countingStore) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if !background(ctx) {
		s.pages.Add(1)
	}
	return s.Store.Page(ctx, q)
}

// serveCounted serves the demo from a countingStore.
func serveCounted(t *testing.T) (*api, *countingStore) {
	t.Helper()
	path, err := demoFile()
	if err != nil {
		t.Fatal(err)
	}
	st := &countingStore{Store: openTest(t, path)}
	return serveStore(t, st, nil), st
}

func TestReferencesAreNamedWhateverElseLeadsNowhere(t *testing.T) {
	t.Parallel()
	st := &countingStore{Store: openTest(t, referring(t))}
	a := serveStore(t, st, nil)
	a.settled("/collections/ting/items?f=html&eier=none")
	for path, wants := range map[string][]string{
		"/collections/ting/items?f=html":    {`items/a?f=html">Kari</a>`, `items/b?f=html">Ola</a>`, "<td>gone40</td>"},
		"/collections/ting/items/40?f=html": {`items/a?f=html">Kari</a>`, "<td>gone40</td>"},
		"/collections/ting/items/41?f=html": {`items/a?f=html">Kari</a>`, `items/b?f=html">Ola</a>`},
	} {
		before := st.fetches.Load()
		body := string(a.get(path).wants(200).Body)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %s", path, want)
			}
		}
		if strings.Contains(body, "items/gone") {
			t.Errorf("%s links to a feature that is not there", path)
		}
		most := int32(4) // features, names, linked data, and outlines or the names of neighbours
		if n := st.fetches.Load() - before; n > most {
			t.Errorf("%s reads features %d times", path, n)
		}
	}
}

// referring writes features that refer to owners in two properties, mostly to owners that do not exist.
func referring(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		column := func(name, ref string) store.Property {
			return store.Property{Name: name, Column: name, Type: cql2.TypeText, Ref: ref}
		}
		key := store.FeatureKey{Column: "kode", Type: cql2.TypeText}
		for _, c := range []*store.Collection{
			// its features are shown by their property navn
			{ID: "eiere", Table: "eiere", Public: true, Key: key, Properties: []store.Property{column("navn", "")}},
			{ID: "ting", Table: "ting", Public: true, Key: key,
				Properties: []store.Property{column("eier", "eiere"), column("leier", "eiere")}},
		} {
			if err := w.Define(t.Context(), c, false); err != nil {
				t.Fatal(err)
			}
		}
		row := func(table string, columns []string, values ...any) {
			t.Helper()
			add, err := w.Insert(t.Context(), table, columns)
			if err == nil {
				err = add(values...)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		row("eiere", []string{"kode", "navn"}, "a", "Kari")
		row("eiere", []string{"kode", "navn"}, "b", "Ola")
		for i := range 40 {
			id := strconv.Itoa(i + 1)
			owner := "gone" + id
			if i == 39 {
				owner = "a"
			}
			row("ting", []string{"kode", "eier", "leier"}, id, owner, "gone"+id)
		}
		row("ting", []string{"kode", "eier", "leier"}, "41", "b", "a")
	})(gpkg.Create(t.Context(), path))
	return path
}

func TestChoicesOfTheFormAreKept(t *testing.T) {
	t.Parallel()
	a, st := serveCounted(t)
	a.settled("/collections/kommuner?f=html")
	ask := func(query string) (pages int32, body string) {
		before := st.pages.Load()
		body = string(a.get("/collections/kommuner/items?f=html&limit=1" + query).wants(200).Body)
		return st.pages.Load() - before, body
	}
	first, _ := ask("&lang=en")
	again, body := ask("&lang=en&fylke_nr=11")
	if again != first-1 {
		t.Errorf("a page asks the store %d times, the next one %d times", first, again)
	}
	if !strings.Contains(body, `<option value="11" selected>11 Rogaland</option>`) {
		t.Error("what is asked is not selected")
	}
	if _, body = ask("&lang=en"); strings.Contains(body, `<option value="11" selected`) ||
		strings.Count(body, ">11 Rogaland</option>") != 1 {
		t.Error("what another reader asked is selected")
	}
}

func TestListsOfProcessesOfAnyLengthAreNotKept(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	a.get("/processes").wants(200)
	before := a.srv.Documents()
	for n := range 20 {
		a.get("/processes?limit=" + strconv.Itoa(n+1)).wants(200)
	}
	if now := a.srv.Documents(); now != before {
		t.Errorf("%d documents more are kept", now-before)
	}
}

func TestLongFiltersGiveNoLongHeader(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, length := range []int{0, 100, 500, 1200, 3000, 5000, 9000} {
		filter := "fylke_nr<>'" + strings.Repeat("x", length) + "'"
		r := a.get("/collections/kommuner/items?limit=3&offset=3&filter=" + url.QueryEscape(filter)).wants(200)
		header := r.Header.Get("Link")
		if len(header) > 4<<10 {
			t.Errorf("a filter of %d bytes makes a header of %d", len(filter), len(header))
		}
		for _, rel := range []string{"self", "next", "prev", "collection"} {
			if _, ok := find(r.links(), rel, ""); !ok {
				t.Errorf("a filter of %d bytes: the document lacks the link %s", len(filter), rel)
			}
			must := rel == "collection" || length <= 1200 && rel != "self" || length <= 500
			if has := strings.Contains(header, `rel="`+rel+`"`); must && !has {
				t.Errorf("a filter of %d bytes: the header lacks the link %s", len(filter), rel)
			}
		}
	}
}

func TestPreviewIsPaintedOnce(t *testing.T) {
	t.Parallel()
	a, st := serveCounted(t)
	a.get("/preview.png").wants(200) // begins the levels
	tilesReady(t, a.srv)
	st.pages.Store(0)
	for _, p := range []string{"/preview.png", "/preview.png?lang=en", "/v1/preview.png", "/preview.png/",
		"/preview.png?f=PNG"} {
		a.get(p).wants(200)
	}
	if n := st.pages.Load(); n != 1 {
		t.Errorf("the outlines were asked %d times", n)
	}
}

// TestGridsAreNamedInEnglishAsInTheirDocuments: the catalogue repeats the titles that programs get.
func TestGridsAreNamedInEnglishAsInTheirDocuments(t *testing.T) {
	t.Parallel()
	for _, set := range tile.All() {
		if text := web.Text("en", "grid."+set.ID); text != set.Title {
			t.Errorf("%s is %q, in its document %q", set.ID, text, set.Title)
		}
	}
}

// TestPartsAreNamedByTheirWholeAlone: a link states its property only if several properties could be meant.
func TestPartsAreNamedByTheirWholeAlone(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	body := string(serve(t, path, nil).get("/collections/kommuner/items/0301?f=html&lang=nb").wants(200).Body)
	if !strings.Contains(body, " steder i Oslo</a>") || !strings.Contains(body, " stedsnavn i Oslo</a>") {
		t.Errorf("%s", regexp.MustCompile(`[^>]* i Oslo[^<]*</a>`).FindAllString(body, -1))
	}
}

func TestAddressesInValuesAreLinksOnPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "addresses.gpkg")
	values := map[string]string{
		"1": "https://example.no/?a=1&b=2", "2": "http://example.no/\"><script>", "3": "javascript:alert(1)",
		"4": "see https://example.no/", "5": "https://",
		"6": `["https://example.no/en","to"]`, "7": "HTTPS://example.no/items/1",
	}
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{ID: "web", Table: "web", Public: true,
			Key: store.FeatureKey{Column: "id", Type: cql2.TypeText}, TitleProperty: "navn",
			Properties: []store.Property{{Name: "navn", Column: "navn", Type: cql2.TypeText},
				{Name: "side", Column: "side", Type: cql2.TypeText},
				{Name: "flere", Column: "flere", Type: cql2.TypeJSON}}}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "web", []string{"id", "navn", "side", "flere"})
		if err != nil {
			t.Fatal(err)
		}
		for id, v := range values {
			row := []any{id, "https://example.no/title", v, nil}
			if strings.HasPrefix(v, "[") {
				row[2], row[3] = nil, v
			}
			if err := insert(row...); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(context.Background(), path))
	a := serve(t, path, nil)
	list := string(a.get("/collections/web/items?f=html&lang=en").wants(200).Body)
	for id, want := range map[string]string{
		"1": `<td><a href="https://example.no/?a=1&amp;b=2" rel="noopener">https://example.no/?a=1&amp;b=2</a></td>`,
		"2": `http://example.no/&#34;&gt;&lt;script&gt;`,
		"3": `<td>javascript:alert(1)</td>`, "4": `<td>see https://example.no/</td>`, "5": `<td>https://</td>`,
		"6": `<td><a href="https://example.no/en" rel="noopener">https://example.no/en</a>, to</td>`,
		"7": `<td><a href="HTTPS://example.no/items/1" rel="noopener">HTTPS://example.no/items/1</a></td>`,
	} {
		page := string(a.get("/collections/web/items/" + id + "?f=html&lang=en").wants(200).Body)
		for name, body := range map[string]string{"list": list, "page": page} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the %s lacks %s", id, name, want)
			}
		}
		if strings.Contains(page, `"><script>`) {
			t.Errorf("%s: a value is markup", id)
		}
	}
	if !strings.Contains(list, `/collections/web/items/1?f=html&amp;lang=en">https://example.no/title</a></th>`) {
		t.Error("the title of a row leads elsewhere than to its page")
	}
}
