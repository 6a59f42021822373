package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"grense/internal/config"
	"grense/internal/demo"
	"grense/internal/history"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// writeNorway writes the history of Norway.
func writeNorway(ctx context.Context, w store.Writer) error {
	h, err := history.Norway()
	if err != nil {
		return err
	}
	return history.Write(ctx, w, h)
}

// historyFile writes the divisions and their history into one file, once for all tests.
var historyFile = besideDemo("history.gpkg", demo.Write, writeNorway)

func serveHistory(t *testing.T, change func(*config.Config)) *api {
	t.Helper()
	path, err := historyFile()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return serve(t, path, change)
}

// TestWhoWaitsForTheHistoryMayLeave holds up the reading of the history, which others wait for.
func TestWhoWaitsForTheHistoryMayLeave(t *testing.T) {
	t.Parallel()
	st := busy{serveHistory(t, nil).store, &sync.Once{}, make(chan struct{}), make(chan struct{})}
	a := serveStore(t, st, nil)
	var wg sync.WaitGroup
	wg.Go(func() { a.get("/codes/kommune/0712").wants(200) })
	<-st.asked
	gone, leave := context.WithCancel(t.Context())
	leave()
	left := make(chan struct{})
	go func() {
		defer close(left)
		defer func() { _ = recover() }() // the response is broken off
		a.Config.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(
			gone, http.MethodGet, "/codes/kommune/0301", nil))
	}()
	<-left
	close(st.answer)
	wg.Wait()
	a.get("/codes/kommune/0301").wants(200)
}

func TestACodeHasItsMeanings(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, func(c *config.Config) { c.Auth, c.Service.TimeZone = "required", "Europe/Oslo" })
	for _, tt := range []struct{ query, names string }{
		{"0712", "Skoger Skoger Larvik true"}, {"0712?datetime=2019-06-01", "Larvik false"},
		{"0712?datetime=1960-01-01", "Skoger false"}, {"0712?datetime=2019-12-31T22:30:00Z", "Larvik false"},
		{"0301?datetime=2024-01-01", "Oslo false"}, {"1580", "Haram false"},
	} {
		for _, mount := range []string{"", "/v1"} { // no key is needed
			doc := a.get(mount + "/codes/kommune/" + tt.query).wants(200).json()
			got := ""
			for _, m := range doc["meanings"].([]any) {
				got += m.(map[string]any)["name"].(string) + " "
			}
			if got += fmt.Sprint(doc["ambiguous"]); got != tt.names {
				t.Errorf("%s: %s, want %s", tt.query, got, tt.names)
			}
		}
	}
	gone := a.get("/codes/kommune/0712?datetime=2019-12-31T23:30:00Z").wants(410).json() // which is 2020 in Norway
	if gone["date"] != "2020-01-01" || gone["type"] != "renumber" ||
		!strings.Contains(fmt.Sprint(gone["successors"]), "code:3805 ") ||
		!strings.HasSuffix(gone["detail"].(string), "; today it is 3909 Larvik") {
		t.Errorf("%v", gone)
	}
	if before := a.get("/codes/kommune/3909?datetime=2019-01-01").wants(410).json(); before["successors"] != nil {
		t.Errorf("%v", before)
	}
	for _, path := range []string{"/codes/kommune/0712", "/collections/kommuner/items/0712/lineage"} {
		page := string(a.get(path+"?datetime=2021-01-01&f=html&lang=en", "X-API-Key", a.key).wants(410).Body)
		if !strings.Contains(page, `href="`+a.URL+path+`?f=html&amp;lang=en">What became`) {
			t.Errorf("the page of %s leads to no history: %s", path, page)
		}
	}
	a.get("/codes/kommune/9999").wants(404)
	a.get("/codes/sogn/0301").wants(404)
	for _, bad := range []string{"?datetime=x", "?datetime=2019-01-01/2020-01-01", "?datetime=", "?date=2019-01-01",
		"?until=2020-01-01"} {
		a.get("/codes/kommune/0712" + bad).wants(400)
	}
	if r := a.get("/codes/fylke/30?f=html&lang=en").wants(200); !strings.Contains(string(r.Body), "Viken") ||
		!strings.Contains(string(r.Body), "Split") {
		t.Errorf("page: %s", r.Body)
	}
	meanings := a.get("/codes/kommune/0712?datetime=2019-06-01").wants(200).json()["meanings"].([]any)
	parent := meanings[0].(map[string]any)["parent"].(map[string]any)
	if parent["code"] != "07" || parent["name"] != "Vestfold" {
		t.Errorf("parent %v", parent)
	}
}

func TestARetiredCodeIsGoneAndLeadsToWhatItBecame(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	for _, tt := range []struct{ id, kind, successors, current string }{
		{"1507", "split", "1508 1580 ", "1508 1580 "}, {"1534", "merge", "1507 ", "1580 "},
		{"1504", "merge", "1507 ", "1508 "}, {"3805", "renumber", "3909 ", "3909 "},
		{"0712", "renumber", "3805 ", "3909 "},
	} {
		for _, mount := range []string{"", "/v1"} {
			r := a.get(mount + "/collections/kommuner/items/" + tt.id).wants(410)
			doc := r.json()
			list := func(name string) (s string) {
				for _, x := range doc[name].([]any) {
					s += x.(map[string]any)["code"].(string) + " "
				}
				return s
			}
			if doc["type"] != tt.kind || list("successors") != tt.successors || list("current") != tt.current ||
				doc["status"] != 410.0 {
				t.Errorf("%s: %s", tt.id, r.Body)
			}
			link := r.Header.Get("Link")
			for code := range strings.FieldsSeq(tt.current) {
				if !strings.Contains(
					link, "<"+a.URL+mount+"/collections/kommuner/items/"+code+`>; rel="successor-version"`) {
					t.Errorf("%s: Link %s", tt.id, link)
				}
				a.get(mount + "/collections/kommuner/items/" + code).wants(200)
			}
		}
	}
	page := string(a.get("/collections/kommuner/items/1507?f=html&lang=nn").wants(410).Body)
	for _, want := range []string{"1508 Ålesund", "1580 Haram", "/collections/kommuner/items/1507/lineage?f=html",
		"Nummeret er ikkje i bruk lenger."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if doc := a.get("/collections/fylker/items/54").wants(410).json(); doc["type"] != "split" {
		t.Errorf("54: %v", doc)
	}
	a.get("/collections/kommuner/items/9999").wants(404)
	a.get("/collections/divisions_events/items/9999").wants(404)
	if r := a.do("HEAD", "/collections/kommuner/items/1507"); r.StatusCode != 410 || len(r.Body) != 0 {
		t.Errorf("HEAD: %d, %d bytes", r.StatusCode, len(r.Body))
	}
	serve(t, "", nil).get("/collections/kommuner/items/1507").wants(404)
	serveHistory(t, func(c *config.Config) { c.Auth = "required" }).get("/collections/kommuner/items/1507").wants(401)
}

func TestLineageOfAFeature(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	const of = "/collections/kommuner/items/"
	for _, tt := range []struct{ query, events, until string }{
		{"1580/lineage?until=2019-01-01", "merge 2020-01-01, split 2024-01-01", "1534"},
		{"1508/lineage?until=2019-01-01&direction=predecessors", "merge 2020-01-01, split 2024-01-01",
			"1504 1523 1529 1546"},
		{"1534/lineage?direction=successors", "merge 2020-01-01, split 2024-01-01", ""},
		{"1507/lineage?until=2024-06-01", "split 2024-01-01", "1508 1580"},
		{"0712/lineage?datetime=1960-01-01&until=1970-01-01", "merge 1964-01-01", ""},
	} {
		doc := a.get(of + tt.query).wants(200).json()
		var events, until []string
		for _, side := range []string{"predecessors", "successors"} {
			all, _ := doc[side].([]any)
			for _, e := range all {
				m := e.(map[string]any)
				events = append(events, m["kind"].(string)+" "+m["date"].(string))
			}
		}
		if u, ok := doc["until"].(map[string]any); ok {
			for _, c := range u["codes"].([]any) {
				until = append(until, c.(map[string]any)["code"].(string))
			}
		}
		if strings.HasPrefix(tt.query, "0712") { // Skoger came to Drammen, whatever the kind
			if len(events) == 0 || len(until) == 0 {
				t.Errorf("%s: %v %v", tt.query, events, until)
			}
			continue
		}
		if strings.Join(events, ", ") != tt.events || strings.Join(until, " ") != tt.until {
			t.Errorf("%s: %v until %v", tt.query, events, until)
		}
	}
	shares := a.get(of + "1507/lineage?until=2024-06-01").wants(200).json()["until"].(map[string]any)["codes"].([]any)
	if sum := shares[0].(map[string]any)["share"].(float64) +
		shares[1].(map[string]any)["share"].(float64); sum < 0.999999 || sum > 1.000001 {
		t.Errorf("shares sum to %v", sum)
	}
	a.get(of + "9999/lineage").wants(404)
	a.get(of + "1580/lineage?datetime=2000-01-01").wants(410)
	for _, bad := range []string{"?direction=up", "?until=x", "?until=2000-01-01/2001-01-01", "?unknown=1"} {
		a.get(of + "1580/lineage" + bad).wants(400)
	}
	serve(t, "", nil).get(of + "1580/lineage").wants(404)
	if r := a.get("/collections/divisions_events/items/1/lineage").wants(404); !strings.Contains(
		string(r.Body), "codes: of the collection, one of fylke, kommune") {
		t.Errorf("no cure in %s", r.Body)
	}
	serveHistory(t, func(c *config.Config) { c.Auth = "required" }).get(of + "1580/lineage").wants(401)
}

func TestEventsAreACollectionWithEveryFilter(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	const items = "/collections/divisions_events/items?limit=1000"
	for _, tt := range []struct {
		query string
		want  int
	}{
		{"&datetime=2024-01-01&kind=split&scheme=kommune", 1}, {"&datetime=2024-01-01&scheme=kommune", 119},
		{"&datetime=2024-01-01&kind=split&scheme=fylke", 3},
		{"&filter=codes_before%20LIKE%20%27%251534%25%27%20AND%20date%3E%3DDATE(%272000-01-01%27)", 1},
		{"&datetime=2019-01-01&kind=rename", 3},
	} {
		if p := a.get(items + tt.query).wants(200).page(); p.NumberMatched != tt.want {
			t.Errorf("%s: %d events, want %d", tt.query, p.NumberMatched, tt.want)
		}
	}
	if r := a.get(items + "&kind=splitt").wants(400); !strings.Contains(
		string(r.Body), "use one of rename, renumber, reparent, merge, absorb, split") {
		t.Errorf("a kind that there is not: %s", r.Body)
	}
	if p := a.get(items + "&filter=kind%3D%27splitt%27").wants(200).page(); p.NumberMatched != 0 {
		t.Errorf("a filter by a kind that there is not: %d", p.NumberMatched)
	}
	f := a.get("/collections/divisions_events/items/kommune-2024-01-01-1507").wants(200).json()
	p := f["properties"].(map[string]any)
	if p["kind"] != "split" || p["title"] != "1507 Ålesund → 1508 Ålesund, 1580 Haram" ||
		len(p["changes"].([]any)) != 2 || f["geometry"] != nil {
		t.Errorf("%v", f)
	}
	a.get("/collections/divisions_events/items?f=html&limit=5").wants(200)
	a.get("/collections/divisions_edges").wants(404)
}

// TestASplitWithinAReformIsASplit: an event has the kinds of all its changes.
func TestASplitWithinAReformIsASplit(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	const items = "/collections/divisions_events/items?limit=1000&scheme=kommune"
	for query, want := range map[string]string{
		"&datetime=2017-01-01&kind=split": "0720 Stokke", "&datetime=2020-01-01&kind=split": "1850 Tysfjord",
		"&datetime=2020-01-01&kind=split&kinds=merge": "5012 Snillfjord",
		"&kind=transfer&datetime=2021-01-01":          "1539 Rauma",
	} {
		if r := a.get(items + query).wants(200); !strings.Contains(string(r.Body), want) {
			t.Errorf("%s lacks %s", query, want)
		}
	}
	doc := a.get("/collections/kommuner/items/1806/lineage?direction=predecessors").wants(200).json()
	if kinds := fmt.Sprint(doc["predecessors"].([]any)[0].(map[string]any)["kinds"]); !strings.Contains(
		fmt.Sprint(doc), "split") {
		t.Errorf("%s", kinds)
	}
}

// TestAnEndedEntityNamesItsSuccessors in the collection of versions, now and before its birth.
func TestAnEndedEntityNamesItsSuccessors(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	const entity = "/collections/divisions_versions/items/kommune-1507-20200101"
	for query, want := range map[string]string{
		"": "1507 Ålesund was given up on 2024-01-01; today it is 1508 Ålesund, 1580 Haram",
		"?datetime=2010-01-01": "there is no version of 1507 Ålesund at 2010-01-01; the first one begins with " +
			"2020-01-01, it ended on 2024-01-01 and today it is 1508",
		"?datetime=2025-01-01": "it ended on 2024-01-01 and today it is 1508 Ålesund, 1580 Haram",
	} {
		doc := a.get(entity + query).wants(410).json()
		if !strings.Contains(doc["detail"].(string), want) || doc["date"] != "2024-01-01" || doc["type"] != "split" ||
			len(doc["successors"].([]any)) != 2 {
			t.Errorf("%q: %v", query, doc)
		}
	}
}

func TestAHistoryOfOtherCollectionsIsConfigured(t *testing.T) {
	t.Parallel()
	path, err := historyFile()
	if err != nil {
		t.Fatal(err)
	}
	st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path,
		gpkg.Options{DataDir: t.TempDir(), Settings: map[string]store.Settings{
			"fylker": {ID: "counties", Codes: history.Fylke}}}))
	a := serveStore(t, st, nil)
	if doc := a.get("/collections/counties/items/54").wants(410).json(); doc["type"] != "split" {
		t.Errorf("54: %v", doc)
	}
	a.get("/collections/counties/items/56/lineage?until=2019-01-01").wants(200)
}

func TestThePageOfAFeatureShowsItsHistory(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	for _, mount := range []string{"", "/v1"} {
		page := string(a.get(mount + "/collections/kommuner/items/1580?f=html&lang=en").wants(200).Body)
		_, page, _ = strings.Cut(page, `id="history"`)
		page, _, _ = strings.Cut(page, "<nav")
		last := -1
		for _, want := range []string{"since 1\u00a0January\u00a02024", `datetime="2024-01-01"`, ">Split</a>",
			">1507 Ålesund</a>", mount + "/collections/kommuner/items/1580?f=html", `datetime="2020-01-01"`,
			">Merger</a>", ">1534 Haram</a>", "/items/1580/lineage?f=html"} {
			if i := strings.Index(page, want); i < 0 {
				t.Errorf("the page lacks %s: %s", want, page)
			} else if strings.HasPrefix(want, "datetime") && i < last {
				t.Errorf("%s comes before what is later", want)
			} else {
				last = i
			}
		}
		if strings.Contains(page, "1508") {
			t.Error("the page tells of another part")
		}
		day := a.URL + mount + "/collections/divisions_events/items?f=html&amp;lang=en&amp;datetime=2024-01-01"
		if !strings.Contains(page, day) || !strings.Contains(
			string(a.get(strings.ReplaceAll(day, "&amp;", "&")).wants(200).Body), "1507 Ålesund") {
			t.Errorf("no page of the day: %s", page)
		}
	}
	for _, source := range []*api{serve(t, "", nil)} {
		if page := string(source.get("/collections/kommuner/items/1580?f=html").wants(200).Body); strings.Contains(
			page, `id="history"`) {
			t.Error("a history where none is known")
		}
	}
	if strings.Contains(string(a.get("/collections/kommuner?f=html").wants(200).Body), `id="as-of"`) {
		t.Error("a day can be chosen where nothing depends on it")
	}
}

// TestCodesAreListed as of a day, a page at a time, in each form.
func TestCodesAreListed(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, func(c *config.Config) { c.Auth = "required" }) // no key is needed
	if doc := a.get("/codes").wants(200).json(); len(doc["schemes"].([]any)) != 2 ||
		!strings.Contains(fmt.Sprint(doc), "knownFrom:1838-01-01") {
		t.Errorf("%v", doc)
	}
	for query, want := range map[string]float64{"kommune?datetime=2019-06-01": 422, "kommune?datetime=2020-06-01": 356,
		"fylke?datetime=1980-01-01": 19, "kommune": 357} {
		if doc := a.get("/codes/" + query).wants(200).json(); doc["numberMatched"] != want {
			t.Errorf("%s: %v, want %v", query, doc["numberMatched"], want)
		}
	}
	next, codes := "/codes/kommune?datetime=2019-06-01&limit=100", 0
	for pages := 0; next != ""; pages++ {
		if pages > 5 {
			t.Fatal("no end")
		}
		doc := a.get(next).wants(200).json()
		codes += len(doc["codes"].([]any))
		next = ""
		for _, l := range doc["links"].([]any) {
			if l := l.(map[string]any); l["rel"] == "next" {
				next = strings.TrimPrefix(l["href"].(string), a.URL)
			}
		}
	}
	if codes != 422 {
		t.Errorf("%d codes on all pages", codes)
	}
	if text := string(a.get("/codes/fylke?f=csv&datetime=2019-06-01").wants(200).Body); !strings.HasPrefix(
		text, "code,name,valid_from,valid_to,parent\r\n01,Østfold,1972-01-01,2020-01-01,\r\n") {
		t.Error(text)
	}
	a.get("/codes?f=csv").wants(200)
	for path, want := range map[string]string{
		"/codes?f=html&lang=en":                             "/codes/kommune?f=html",
		"/codes/kommune?f=html&lang=en&datetime=2019-06-01": "/codes/kommune/0101?f=html",
		"/codes/kommune?f=html&lang=nn":                     `rel="next"`,
		"/codes/kommune/101?f=html&lang=en":                 "Halden",
	} {
		if page := string(a.get(path).wants(200).Body); !strings.Contains(page, want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
	a.get("/codes/kommune?datetime=1800-01-01").wants(404)
	a.get("/codes/sogn").wants(404)
	for _, bad := range []string{"?limit=0", "?offset=-1", "?datetime=x", "?foo=1"} {
		a.get("/codes/kommune" + bad).wants(400)
	}
	if doc := a.get("/codes/kommune/101").wants(200).json(); doc["code"] != "0101" {
		t.Errorf("%v", doc)
	}
	if doc := a.get("/codes/kommune/0436").wants(200).json(); doc["ambiguous"] != false ||
		len(doc["meanings"].([]any)) < 2 {
		t.Errorf("%v", doc)
	}
}

// TestCodesAreLinked: searches, events, lineage and ended divisions link to codes.
func TestCodesAreLinked(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	for path, want := range map[string]string{
		"/search?q=1507&f=html":                           "/codes/kommune/1507?f=html",
		"/search?q=101&f=html":                            "/codes/kommune/0101?f=html",
		"/collections/kommuner/items/1580/lineage?f=html": "/codes/kommune/1534?f=html",
		"/collections/divisions_events/items/kommune-2024-01-01-1507?f=html&lang=en": "formerly 1504, 1523, 1529, 1546",
	} {
		if page := string(a.get(path).wants(200).Body); !strings.Contains(page, want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
	if page := string(a.get("/collections/kommuner/items/1507?f=html&lang=en").wants(410).Body); !strings.Contains(
		page, "1507 Ålesund went out of use on 1\u00a0January\u00a02024. Reason: Split.") {
		t.Error(page)
	}
}

// TestADayLeadsToTheVersions: features without versions, whose ids are codes of a history, link to the versions of a
// day.
func TestADayLeadsToTheVersions(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, nil)
	for path, want := range map[string]string{
		"/collections/kommuner/items?datetime=2019-01-01&limit=1": "/collections/divisions_versions/items" +
			"?scheme=kommune&datetime=2019-01-01",
		"/collections/kommuner/items/1580?datetime=2019-01-01": "/collections/divisions_versions/items" +
			"?scheme=kommune&code=1580&datetime=2019-01-01",
		"/collections/fylker/items?limit=1&datetime=2019-01-01/..": "/collections/divisions_versions/items" +
			"?scheme=fylke&datetime=2019-01-01/..",
	} {
		r := a.get(path).wants(200)
		if link := "<" + a.URL + want + `>; rel="version-history"`; !strings.Contains(r.Header.Get("Link"), link) ||
			!strings.Contains(string(r.Body), want) {
			t.Errorf("%s: no link to %s in %s", path, want, r.Header.Get("Link"))
		}
		a.get(want).wants(200)
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		page := string(a.get(path + sep + "f=html&lang=en").wants(200).Body)
		if !strings.Contains(page, "See the divisions as they were then") {
			t.Errorf("%s: no sentence on the page", path)
		}
	}
	if link := a.get("/collections/kommuner/items?limit=1").wants(200).Header.Get("Link"); strings.Contains(
		link, "version-history") {
		t.Error(link)
	}
	a.get("/collections/kommuner/items/1507?datetime=2023-01-01").wants(410)
	a.get("/collections/kommuner/items/1580?datetime=x").wants(400)
	serve(t, "", nil).get("/collections/kommuner/items/1580?datetime=2019-01-01").wants(400)
}
