package server_test

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	tableHeads = regexp.MustCompile(`(?s)<th scope="col"[^>]*>(?:<a [^>]*>)?([^<]*)`)
	chipLinks  = regexp.MustCompile(`<li><a href="([^"]*)" rel="nofollow">([^<]*)<strong>([^<]*)</strong>`)
)

func TestTablesBeginWithTheTitleAndWhatTheyAreSortedBy(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	for query, want := range map[string][]string{
		"kommuner/items?":                          {"Name", "Municipality number", "County number", "Area"},
		"kommuner/items?sortby=-areal_km2":         {"Name", "Area", "Municipality number", "County number"},
		"kommuner/items?properties=areal_km2,navn": {"Name", "Area"},
		"kommuner/items?properties=areal_km2":      {"Id", "Area"},
		"sted/items?limit=1": {
			"Display name", "Place number", "Place name", "Type of named feature", "Group of named features",
			"Main group of named features"},
		"sted/items?limit=1&sortby=oppdatert&land=NO": {
			"Display name", "Updated", "Country", "Place number", "Place name", "Type of named feature"},
		"divisions_events/items?limit=1&sortby=-date,title": {"Event", "Date"},
	} {
		body := string(a.get("/collections/" + query + "&f=html&lang=en").wants(200).Body)
		var got []string
		for _, m := range tableHeads.FindAllStringSubmatch(body, -1) {
			got = append(got, m[1])
		}
		if len(got) > 6 || len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: columns %q, want %q first", query, got, want)
		}
		if !strings.Contains(body, `<tr><th scope="row"><a href=`) {
			t.Errorf("%s: the first column is no link", query)
		}
	}
	if body := string(a.get("/collections/kommuner/items?nr=0301&f=html&lang=en").wants(200).Body); !strings.Contains(
		body, `items/0301?f=html&amp;lang=en">Oslo</a></th>`) {
		t.Error("the title does not lead to the page of the municipality")
	}
}

// TestNumbersMayBeTypedAsThePageWritesThem: the English page accepts a comma between thousands. Links contain the
// number without it.
func TestNumbersMayBeTypedAsThePageWritesThem(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for typed, want := range map[string]string{"2,000": "2000", "1,234,567.5": "1234567.5", "\u22122,000": "\u22122000",
		"2.000": "", "2 000": "", "12,5": "", "0,125": ""} {
		for _, lang := range []string{"en", "nb"} {
			r := a.do("GET", "/v1/collections/kommuner/items?f=html&lang="+lang+"&areal_km2.from="+queryEscape(typed))
			if to, _ := url.Parse(r.Header.Get("Location")); lang == "nb" || want == "" {
				if r.StatusCode != 200 {
					t.Errorf("%q in %s: %d", typed, lang, r.StatusCode)
				}
			} else if r.StatusCode != 303 || to.Path != "/v1/collections/kommuner/items" ||
				to.Query().Get("areal_km2.from") != want || to.Query().Get("lang") != "en" {
				t.Errorf("%q in %s: %d to %s", typed, lang, r.StatusCode, to)
			}
		}
	}
	a.get("/collections/kommuner/items?f=json&areal_km2.from=2,000", "Accept-Language", "en").wants(200)
}

func TestEachConditionCanBeTakenBack(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const asked = "/collections/kommuner/items?f=html&lang=en&q=s&fylke_nr=11&bbox=4,57,12,64&filter=areal_km2%3E10" +
		"&sortby=navn&limit=5&offset=2"
	chips := chipLinks.FindAllStringSubmatch(string(a.get(asked).wants(200).Body), -1)
	var names []string
	for _, m := range chips {
		names = append(names, m[2]+html.UnescapeString(m[3]))
		href := html.UnescapeString(m[1])
		without := string(a.get(href).wants(200).Body)
		if n := len(chipLinks.FindAllString(without, -1)); n != len(chips)-1 || strings.Contains(href, "offset") ||
			!strings.Contains(href, "sortby=navn") || !strings.Contains(href, "lang=en") {
			t.Errorf("%s leads to %s, with %d conditions", m[2], href, n)
		}
	}
	if want := []string{"Search: s", "County number: 11 Rogaland", "Bounding box: 4,57,12,64",
		"Expression: areal_km2>10"}; !slices.Equal(names, want) {
		t.Errorf("conditions %q, want %q", names, want)
	}
	past := serveHistory(t, nil)
	for asked, want := range map[string]string{"2018-01-01": "1.\u00a0januar\u00a02018",
		"2018-01-01/2019-12-31": "1.\u00a0januar\u00a02018 – 31.\u00a0desember\u00a02019",
		"../2018-01-01":         "– 1.\u00a0januar\u00a02018", "2018-01-01/..": "1.\u00a0januar\u00a02018 –"} {
		m := chipLinks.FindStringSubmatch(
			string(past.get("/collections/divisions_events/items?f=html&lang=nb&limit=1&datetime=" + asked).wants(
				200).Body))
		if m == nil || html.UnescapeString(m[3]) != ": "+want && html.UnescapeString(m[3]) != want {
			t.Errorf("datetime=%s stands as %q, want %q", asked, m, want)
		}
	}
	if body := string(a.get("/collections/kommuner/items?f=html&sortby=navn").wants(200).Body); strings.Contains(
		body, `class="chips"`) {
		t.Error("an order is shown as a condition")
	}
}

// TestPagesWithoutHitsLeadOn: to a name that was nearly written, and to no files of nothing.
func TestPagesWithoutHitsLeadOn(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for query, near := range map[string]string{"navn=Barum": "navn=B%C3%A6rum",
		"navn.like=barumm&limit=5": "limit=5&navn.like=B%C3%A6rum", "q=trondhem": "q=Trondheim%20-%20Tr%C3%A5ante",
		"navn=Atlantis": "", "navn=Barum&fylke_nr=11": "", "areal_km2=1": "", "navn=Oslo": "",
		"navn=Barum&offset=9999": "navn=B%C3%A6rum"} {
		for range 4 { // a repeated request is encoded in another way
			page := string(a.get("/collections/kommuner/items?f=html&lang=nb&" + query).wants(200).Body)
			want := `Mente du <a href="` + a.URL + "/collections/kommuner/items?f=html&amp;lang=nb&amp;" +
				strings.ReplaceAll(near, "&", "&amp;") + `">`
			if strings.Contains(page, "Mente du") != (near != "") || !strings.Contains(page, want) && near != "" {
				t.Errorf("%s: %s", query, page[strings.Index(page, `id="count"`):][:200])
			}
			if has := strings.Contains(page, `<nav class="formats"`); has != (query == "navn=Oslo") {
				t.Errorf("%s: files are offered: %t", query, has)
			}
			for _, f := range htmlFaults([]byte(page)) {
				t.Errorf("%s: %s", query, f)
			}
		}
	}
}
