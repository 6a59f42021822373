package server_test

import (
	"strings"
	"testing"

	"grense/internal/config"
)

// TestVersionsAreDistinguishedByTheirPeriod: divisions of the same name differ by scheme or period. The page shows
// these, which people know, and not only the ids.
func TestVersionsAreDistinguishedByTheirPeriod(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	body := string(serve(t, path, nil).get("/search?f=html&lang=nb&q=oslo").wants(200).Body)
	for _, want := range []string{
		`items/fylke-03-19720101?f=html&amp;lang=nb">Oslo</a> <span class="hint">fylke, 1. januar 1972 –</span>`,
		`>Oslo</a> <span class="hint">kommune, 1. januar 1948 –</span>`} {
		if !strings.Contains(strings.ReplaceAll(body, "\u00a0", " "), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if again := `, Stedsnavn</span>`; strings.Contains(body, again) ||
		!strings.Contains(string(serve(t, path, nil).get("/search?f=json&lang=nb&q=oslo").wants(200).Body),
			", Stedsnavn\"") {
		t.Errorf("hits repeat the heading above them, or suggestions lack it")
	}
}

func TestOneSearchFindsDivisionsFirst(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	for asked, want := range map[string][2]string{ // the first hit and its collection
		"bærum kommune": {"Bærum", "kommuner"}, "kommune bærum": {"Bærum", "kommuner"}, "Baerum": {"Bærum", "kommuner"},
		"rogaland fylke": {"Rogaland", "fylker"},
		"county of":      {"", ""}, "Rogaland county": {"Rogaland", "fylker"}, "oslo": {"Oslo", "fylker"},
		"oslo kommune": {"Oslo", "kommuner"},
		"OSLO BY":      {"Oslo", "sted"}, "byen oslo": {"Oslo", "sted"}, "town Oslo": {"Oslo", "sted"},
	} {
		doc := a.get("/search?f=json&lang=nb&q=" + escape(asked)).wants(200).json()
		groups := doc["groups"].([]any)
		if want[0] == "" {
			if len(groups) != 0 {
				t.Errorf("%q finds %v", asked, groups)
			}
			continue
		}
		if len(groups) == 0 {
			t.Errorf("%q finds nothing", asked)
			continue
		}
		g := groups[0].(map[string]any)
		if hit := g["hits"].([]any)[0].(map[string]any); hit["name"] != want[0] || g["collection"] != want[1] {
			t.Errorf("%q finds %v in %v first", asked, hit, g["collection"])
		}
	}
	if hits := a.get("/search?f=json&lang=nb&q=oslo+by").wants(200).json()["groups"].([]any)[0].(map[string]any); len(
		hits["hits"].([]any)) != 1 || hits["hits"].([]any)[0].(map[string]any)["about"] != "By, Oslo" {
		t.Errorf("a word of type finds others: %v", hits)
	} else if all := a.get(hits["href"].(string) + "&limit=100").wants(200); strings.Count(
		string(all.Body), "<tbody>") != 1 || !strings.Contains(string(all.Body), ">By</a>") {
		t.Errorf("%v shows others", hits["href"])
	}
	if groups := serve(t, "", nil).get("/search?f=json&q=oslo+by").wants(200).json()["groups"].([]any); len(
		groups) == 0 || groups[0].(map[string]any)["collection"] != "fylker" {
		t.Errorf("without types of places, a word of type finds %v", groups)
	}
	seen := map[string]bool{}
	for _, x := range a.get("/search?f=json&lang=nb&q=os").wants(200).json()["groups"].([]any) {
		g := x.(map[string]any)
		for _, h := range g["hits"].([]any) {
			hit := h.(map[string]any)
			if line := hit["name"].(string) + " " + hit["about"].(string); seen[line] || hit["about"] == "" {
				t.Errorf("two hits are %q, or it tells nothing", line)
			} else {
				seen[line] = true
			}
		}
	}
	body := string(a.get("/search?f=html&lang=nb&q=" + escape("bærum")).wants(200).Body)
	for _, want := range []string{`<h2>Kommuner</h2>`, `/collections/kommuner/items/3201?f=html&amp;lang=nb">Bærum</a>`,
		`value="bærum"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if i, j := strings.Index(body, "<h2>Kommuner</h2>"), strings.Index(body, "<h2>Steder</h2>"); j > 0 && j < i {
		t.Error("places come before divisions")
	}
	if h := a.get("/search?f=html").wants(200).Header; !strings.HasPrefix(h.Get("Content-Type"), "text/html") ||
		h.Get("Cache-Control") != "no-cache" {
		t.Errorf("headers %v", h)
	}
	for asked, want := range map[string]string{"barum": `Mente du <a href="` + a.URL +
		`/search?q=B%C3%A6rum&amp;f=html&amp;lang=nb">Bærum</a>?`, "atlantis": "Ingen treff.</p>"} {
		if body := string(a.get("/search?f=html&lang=nb&q=" + asked).wants(200).Body); !strings.Contains(body, want) {
			t.Errorf("%q: the page lacks %s:%s", asked, want, body[strings.LastIndex(body, `role="status"`):][:200])
		}
	}
	keyed := serve(t, path, func(c *config.Config) { c.Auth = "required" })
	keyed.get("/search?f=json&q=oslo").wants(401)
	if body := string(keyed.get("/search?f=html&q=oslo").wants(401).Body); strings.Contains(body, "items/0301") {
		t.Error("hits without a key")
	}
}

func TestPositionsLeadToTheLookup(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for asked, want := range map[string]string{
		"59.9 10.7": "lat=59.9&lon=10.7&", "59,9 10,7": "lat=59.9&lon=10.7&", "10.7 59.9": "lat=59.9&lon=10.7&",
		"59.9, 10.7": "lat=59.9&lon=10.7&", "59°54′N 10°45′Ø": "lat=59.9&lon=10.75&",
		"59°54'0\"N 10°45'E": "lat=59.9&lon=10.75&",
		"33 262000 6649000":  "lon=262000&lat=6649000&crs=http://www.opengis.net/def/crs/EPSG/0/25833&",
		"32V 597000 6643000": "lon=597000&lat=6643000&crs=http://www.opengis.net/def/crs/EPSG/0/25832&",
		"262000 6649000":     "lon=262000&lat=6649000&crs=http://www.opengis.net/def/crs/EPSG/0/25833&",
		"6649000 262000":     "lon=262000&lat=6649000&crs=http://www.opengis.net/def/crs/EPSG/0/25833&",
		"6649000N 262000Ø":   "lon=262000&lat=6649000&crs=http://www.opengis.net/def/crs/EPSG/0/25833&",
		"N59.9 Ø10.7":        "lat=59.9&lon=10.7&", "59 54 00 N 10 45 00 E": "lat=59.9&lon=10.75&",
	} {
		r := a.get("/search?f=html&q=" + escape(asked)).wants(303)
		to := r.Header.Get("Location")
		if !strings.HasPrefix(to, a.URL+"/lookup?"+want) {
			t.Errorf("%q leads to %s", asked, to)
			continue
		}
		if body := string(a.get(to).wants(200).Body); !strings.Contains(body, "0301") &&
			!strings.Contains(body, "3201") && !strings.Contains(body, "3212") {
			t.Errorf("%q finds no municipality at %s", asked, to)
		}
	}
	for _, asked := range []string{"59", "oslo 10", "99.9 10.7", "1103 0301", "10.7", "262000 262000",
		"6649000 6649000"} {
		a.get("/search?f=html&q=" + escape(asked)).wants(200)
	}
	page := string(a.get("/search?f=html&lang=nb&q=%25").wants(400).Body)
	for _, want := range []string{"<title>Feil: ", `value="%"`, `aria-invalid="true" aria-describedby="search-fault"`,
		`id="search-fault">Skriv minst én bokstav`} {
		if !strings.Contains(page, want) {
			t.Errorf("a search for nothing costs the form: no %s", want)
		}
	}
}

// TestWordsOfTypeSayNothingWhereNoCollectionIsCalledSo searches data whose collection of municipalities has another
// id.
func TestWordsOfTypeSayNothingWhereNoCollectionIsCalledSo(t *testing.T) {
	t.Parallel()
	a := serve(t, shared(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"), nil)
	for _, asked := range []string{"Bærum kommune", "kommune bærum"} {
		groups := a.get("/search?f=json&q=" + escape(asked)).wants(200).json()["groups"].([]any)
		if len(groups) != 1 || groups[0].(map[string]any)["hits"].([]any)[0].(map[string]any)["name"] != "Bærum" {
			t.Errorf("%q finds %v", asked, groups)
		}
	}
}
