package server_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"grense/internal/config"
)

func TestParametersOfFormsForgive(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	found := func(query string) int {
		t.Helper()
		return a.get("/collections/" + query + "&skipGeometry=true&limit=1").wants(200).page().NumberMatched
	}
	for query, want := range map[string]int{
		"kommuner/items?navn=b%C3%A6rum": 0, "kommuner/items?navn=B%C3%A6rum": 1, // exact
		"kommuner/items?navn.like=b%C3%A6rum": 1, "kommuner/items?navn.like=BAERUM": 1,
		"kommuner/items?navn.like=karasjok": 1, "kommuner/items?navn.like=%C3%A6rum": 0,
	} {
		if n := found(query); n != want {
			t.Errorf("%s finds %d, want %d", query, n, want)
		}
	}
	for _, x := range [][2]string{
		{"kommuner/items?areal_km2.from=2000", "kommuner/items?filter=areal_km2>=2000"},
		{"kommuner/items?areal_km2.to=2%20000,5", "kommuner/items?filter=areal_km2<=2000.5"},
		{"kommuner/items?areal_km2.from=100&areal_km2.to=200",
			"kommuner/items?filter=areal_km2%20BETWEEN%20100%20AND%20200"},
		{"sted/items?oppdatert.from=2020-03-01&oppdatert.to=2020-03-31",
			"sted/items?filter=oppdatert%20BETWEEN%20TIMESTAMP('2020-02-29T23:00:00Z')" +
				"%20AND%20TIMESTAMP('2020-03-31T21:59:59.999999Z')"},
		{"divisions_events/items?date.from=2020-01-01&date.to=2020-01-01",
			"divisions_events/items?filter=date=DATE('2020-01-01')"},
	} {
		if n, want := found(x[0]), found(x[1]); n != want || n == 0 {
			t.Errorf("%s finds %d, %s %d", x[0], n, x[1], want)
		}
	}
	for _, path := range []string{"/collections/kommuner/items?areal_km2.from=x",
		"/collections/kommuner/items?navn.like=--", "/collections/kommuner/items?navn.from=a",
		"/collections/divisions_events/items?date.to=x",
		"/collections/kommuner/items?fylke_nr.like=1&fylke_nr.like=2", "/collections/kommuner/items/0301?navn.like=a"} {
		a.get(path).wants(400)
	}
	if p := a.get("/collections/kommuner/items?navn.like=as&limit=1").wants(200); !strings.Contains(
		string(p.Body), "navn.like=as") {
		t.Error("links lose the parameter")
	}
	a.get("/collections/kommuner/download?f=csv&areal_km2.from=5000").wants(200)
	for _, want := range []string{`"name":"navn.like"`, `"name":"areal_km2.from"`, `"name":"areal_km2.to"`} {
		if !strings.Contains(string(a.get("/openapi").wants(200).Body), want) {
			t.Errorf("the API definition lacks %s", want)
		}
	}
}

// fieldsOf are the values of the fields of the forms of a page, by name.
func fieldsOf(page string) map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(
		`<input (?:id="[^"]*" )?name="([^"]*)"[^>]* value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		out[m[1]] = html.UnescapeString(m[2])
	}
	for _, m := range regexp.MustCompile(
		`(?s)<select (?:id="[^"]*" )?name="([^"]*)"[^>]*>(.*?)</select>`).FindAllStringSubmatch(page, -1) {
		if o := regexp.MustCompile(`<option value="([^"]*)"[^>]* selected`).FindStringSubmatch(m[2]); o != nil {
			out[m[1]] = html.UnescapeString(o[1])
		}
	}
	return out
}

func TestAnErrorReturnsTheFormWithWhatWasTyped(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	typed := url.Values{"q": {"--"}, "navn.like": {"Bærum"}, "areal_km2.from": {"mange"}, "areal_km2.to": {"9"},
		"fylke_nr": {"11"}, "bbox": {"1"}, "datetime": {""}, "limit": {"0"}, "sortby": {"finnes ikke"},
		"filter": {"areal_km2 >"}}
	for lang, want := range map[string][2]string{"nb": {"<title>Feil: ", "Skriv et tall"},
		"nn": {"<title>Feil: ", "Skriv eit tal"}, "en": {"<title>Error: ", "Write a number"}} {
		page := string(a.get("/collections/kommuner/items?f=html&lang=" + lang + "&foo=bar&" + typed.Encode()).wants(
			400).Body)
		fields := fieldsOf(page)
		for name, v := range typed {
			if got, there := fields[name]; (there || name != "datetime") && got != v[0] {
				t.Errorf("%s: %s has %q, typed was %q", lang, name, got, v[0])
			}
		}
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s: the page lacks %q", lang, w)
			}
		}
		for _, id := range []string{"p-search", "q-areal_km2.from", "p-bbox", "p-limit", "p-sortby", "p-filter"} {
			if !regexp.MustCompile(`id="`+regexp.QuoteMeta(id)+`"[^>]*aria-invalid="true"`).MatchString(page) ||
				!strings.Contains(page, `id="`+id+`-fault"`) || !strings.Contains(page, `href="#`+id+`"`) {
				t.Errorf("%s: nothing beside %s tells what is wrong", lang, id)
			}
		}
		if !strings.Contains(page, "<code>foo</code> <code>bar</code>") ||
			strings.Contains(page, `id="q-navn.like"aria-invalid`) || !strings.Contains(page, "<details open>") ||
			strings.Contains(page, `rel="alternate" type="application`) {
			t.Errorf("%s: the page is %.2000s", lang, page)
		}
		for _, f := range htmlFaults([]byte(page)) {
			t.Errorf("%s: %s", lang, f)
		}
	}
	page := string(a.get("/lookup?f=html&lang=nn&lat=x&lon=10,7").wants(400).Body)
	if f := fieldsOf(page); f["lat"] != "x" || f["lon"] != "10,7" || strings.Count(page, `aria-invalid="true"`) != 1 ||
		!strings.Contains(page, "Skriv eit tal") {
		t.Errorf("the page of a point has %v: %s", f, page)
	}
	a.get("/lookup?f=html&lat=59,9&lon=10,7").wants(200)
	a.get("/lookup?lat=59,9&lon=10,7").wants(400)
}

func TestAnErrorReturnsTheFormOfAProcess(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	r := a.post("/processes/locate-point/execution?lang=nb", "application/x-www-form-urlencoded",
		"lon=ti&crs=http%3A%2F%2Fx&run=now", "Accept", "text/html", "Origin", a.URL).wants(400)
	page := string(r.Body)
	if f := fieldsOf(page); f["lon"] != "ti" || f["lat"] != "" || f["crs"] != "http://x" {
		t.Errorf("the form has %v", f)
	}
	for _, want := range []string{"<title>Feil: ", "Skriv et tall", "Fyll ut dette", `href="#in-lon"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
}

func TestWhatWasAskedExactlyStandsInTheForm(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	page := string(a.get("/collections/kommuner/items?f=html&lang=en&navn=Oslo&areal_km2.from=2").wants(200).Body)
	if f := fieldsOf(page); f["navn.like"] != "Oslo" || f["areal_km2.from"] != "2" || f["areal_km2.to"] != "" {
		t.Errorf("the form has %v", f)
	}
	var names []string
	for _, m := range chipLinks.FindAllStringSubmatch(page, -1) {
		names = append(names, m[2]+m[3])
	}
	if want := []string{"Name: Oslo", "Area from: 2"}; !slices.Equal(names, want) {
		t.Errorf("conditions %q, want %q", names, want)
	}
}

func TestTheExampleOfAFilterFindsSomething(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	for _, collection := range []string{"fylker", "kommuner", "sted", "stedsnavn", "divisions_events"} {
		for _, query := range []string{"", "&limit=3", "&filter=1=0"} {
			page := string(a.get("/collections/" + collection + "/items?f=html&lang=nb" + query).wants(200).Body)
			m := regexp.MustCompile(`id="p-filter-hint">[^<]*<code>([^<]*)</code>`).FindStringSubmatch(page)
			if m == nil {
				t.Errorf("%s%s has no example", collection, query)
				continue
			}
			if n := a.get("/collections/" + collection + "/items?limit=1&filter=" +
				url.QueryEscape(html.UnescapeString(m[1]))).wants(200).page().NumberMatched; n == 0 {
				t.Errorf("%s%s: %s finds nothing", collection, query, m[1])
			}
		}
	}
}

func TestFaultsOfExpressionsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	for filter, want := range map[string]string{
		"areal_km2 >": "Linje 1, tegn 12: slutten av uttrykket passer ikke her; her skal " +
			"det stå et navn, en verdi eller &#39;(&#39;.",
		"arael_km2 > 5": "Linje 1, tegn 1: egenskapen &#39;arael_km2&#39; finnes ikke; mente " +
			"du &#39;areal_km2&#39;?",
		"fylke_nr = 3": "Linje 1, tegn 1: &#39;fylke_nr&#39; er tekst; skriv &#39;3&#39; i " +
			"enkle anførselstegn.",
		"navn = 'Oslo": "Linje 1, tegn 8: teksten mangler anførselstegn til slutt.",
		"areal_km2 = 'mye'": "Linje 1, tegn 1: &#39;areal_km2&#39; er et tall og kan ikke " +
			"sammenlignes med &#39;mye&#39;, som er tekst.",
		"navn != 'Oslo'": "Linje 1, tegn 6: &#39;!=&#39; er ingen operator; skriv " +
			"&#39;&lt;&gt;&#39;.",
		"S_INTERSECTS(geometry,POINT(500 60))": "Koordinaten 500 60 ligger utenfor OGC:CRS84: lengde -180 til 180, " +
			"bredde -90 til 90, i rekkefølgen lengde, bredde.",
	} {
		page := string(a.get("/collections/kommuner/items?f=html&lang=nb&filter=" + url.QueryEscape(filter)).wants(
			400).Body)
		if m := regexp.MustCompile(`id="p-filter-fault">(.*?)</span>`).FindStringSubmatch(page); m == nil ||
			m[1] != "Uttrykket kan ikke forstås. "+want {
			t.Errorf("%s: the page says %q", filter, m)
		}
	}
	for filter, want := range map[string]string{
		`{"op":"="}`: "Linje 1, tegn 1: et objekt med &#34;op&#34; må ha &#34;args&#34;.",
		`{"op":"=","args":[{"property":"areal_km2"},]}`: "Linje 1, tegn 44: ugyldig JSON her.",
		`{"op":">","args":[{"property":"navn"},5]}`:     "&#39;navn&#39; er tekst",
	} {
		page := string(a.get("/collections/kommuner/items?f=html&lang=nb&filter-lang=cql2-json&filter=" +
			url.QueryEscape(filter)).wants(400).Body)
		if m := regexp.MustCompile(`id="p-filter-fault">(.*?)</span>`).FindStringSubmatch(page); m == nil ||
			!strings.Contains(m[1], want) || strings.Contains(m[1], `lang="en"`) {
			t.Errorf("%s: the page says %q", filter, m)
		}
	}
}

// TestPagesOfErrorsAreInTheLanguageOfThePage sends the most frequent mistakes that users make in the address line.
func TestPagesOfErrorsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, x := range []struct {
		path       string
		status     int
		nb, nn, en string
	}{
		{"/no/such/page", 404, "Det er ingenting på denne adressen.", "Det er ingenting på denne adressa.",
			"There is nothing at this address."},
		{"/collections/byer", 404, "Det finnes ikke noe datasett «byer».", "Det finst ikkje noko datasett «byer».",
			"There is no collection “byer”."},
		{"/collections/kommuner/items/9999", 404, "Datasettet kommuner har ikke noe objekt «9999».",
			"Datasettet kommuner har ikkje noko objekt «9999».", "The collection kommuner has no feature “9999”."},
		{"/processes/none", 404, "Det finnes ingen prosess «none».", "Det finst ingen prosess «none».",
			"There is no process “none”."},
		{"/TileMatrixSets/none", 404, "Det finnes ikke noe rutenett «none».", "Det finst ikkje noko rutenett «none».",
			"There is no tile matrix set “none”."},
		{"/codelists", 404, "Dataene her har ingen kodelister;", "Dataa her har ingen kodelister;",
			"The data served here have no code lists;"},
		{"/collections?x=1", 400, "Denne parameteren finnes ikke her; bruk f, lang, limit, offset, q, bbox, datetime.",
			"Denne parameteren finst ikkje her; bruk f, lang, limit, offset, q, bbox, datetime.",
			"There is no such parameter here; use f, lang, limit, offset, q, bbox, datetime."},
		{"/collections/kommuner/items?crs=x&limit=5", 400, "Bruk et av koordinatsystemene til datasettet: ",
			"Bruk eit av koordinatsystema til datasettet: ", "Use one of the collection&#39;s crs: "},
		{"/collections/kommuner/items/0301?crs=x", 400, "Bruk et av koordinatsystemene til datasettet: ",
			"Bruk eit av koordinatsystema til datasettet: ", "Use one of the collection&#39;s crs: "},
		{"/codes/kommune/0301?datetime=x", 400, "Oppgi én dag eller ett tidspunkt",
			"Oppgje éin dag eller eitt tidspunkt", "Give one day or moment"},
		{"/processes?limit=x", 400, "Bruk et heltall fra 1.", "Bruk eit heiltal frå 1.", "Use a whole number from 1."},
	} {
		for lang, want := range map[string]string{"nb": x.nb, "nn": x.nn, "en": x.en} {
			sep := "?"
			if strings.Contains(x.path, "?") {
				sep = "&"
			}
			page := string(a.get(x.path + sep + "f=html&lang=" + lang).wants(x.status).Body)
			if !strings.Contains(page, want) {
				t.Errorf("%s in %s: no %q", x.path, lang, want)
			}
			if main := page[strings.Index(page, "<main"):]; strings.Contains(main, `lang="en"`) {
				t.Errorf("%s in %s has English: %s", x.path, lang, main)
			}
			if x.status == 404 && !strings.Contains(x.path, "items") &&
				!strings.Contains(page, `<li><a href="`+a.URL+`?f=html&amp;lang=`+lang+`">`) {
				t.Errorf("%s in %s has no link to go on", x.path, lang)
			}
			for _, f := range htmlFaults([]byte(page)) {
				t.Errorf("%s: %s", x.path, f)
			}
		}
		if doc := a.get(x.path, "Accept-Language", "nb").wants(x.status).json(); strings.Contains(
			fmt.Sprint(doc["detail"]), x.nb) {
			t.Errorf("%s as JSON is not in English: %v", x.path, doc["detail"])
		}
	}
	rude := serve(t, "", func(c *config.Config) { c.Limits.Rate = 1 })
	for range 200 {
		if r := rude.get("/collections/kommuner/items?f=html&lang=nn&limit=1"); r.StatusCode == 429 {
			if !strings.Contains(string(r.Body), "Du har bede om meir enn tenesta tillèt") {
				t.Errorf("too many requests are told so: %s", r.Body)
			}
			return
		}
	}
	t.Error("no request is too many")
}
