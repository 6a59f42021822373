package server_test

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/config"
)

func TestPlaceNamesAreSearchedByForm(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	ask := func(lang string, fields url.Values) string {
		t.Helper()
		r := a.post("/soap/stedsnavn/v1?f=html&lang="+lang, "application/x-www-form-urlencoded", fields.Encode(),
			"Origin", a.URL).wants(200)
		for _, f := range htmlFaults(r.Body) {
			t.Errorf("%v: %s", fields, f)
		}
		return string(r.Body)
	}
	if robots := string(a.get("/robots.txt").wants(200).Body); !strings.Contains(
		robots, "\nAllow: /soap/stedsnavn/v1?\n") || !strings.Contains(
		string(a.get("/sitemap.xml").wants(200).Body), "/soap/stedsnavn/v1?f=html</loc>") {
		t.Errorf("search engines do not find the page: %s", robots)
	}
	form := string(a.get("/soap/stedsnavn/v1?f=html&lang=nb&operation=findSteder").wants(200).Body)
	for _, want := range []string{`name="Stedsnavn"`, `<input id="s-KommunerIds"`, `<option>By</option>`,
		`<select id="s-StedstatuserIds"`, `type="date"`, `#answer"`} {
		if !strings.Contains(form, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	page := ask("nn", url.Values{"operation": {"findSteder"}, "Stedsnavn": {"Oslo"}, "KommunerIds": {"OSLO kommune"},
		"NavneobjekttyperIds": {"kommune"}})
	for _, want := range []string{`/collections/sted/items/`, `lang=nn">Oslo</a>`, `<h2 id="answer"`,
		"&lt;t:stedsnavn&gt;Oslo&lt;/t:stedsnavn&gt;", `value="Oslo"`, `value="OSLO kommune"`, "&gt;0301&lt;",
		"findStederResponse"} {
		if !strings.Contains(page, want) {
			t.Errorf("the answer lacks %s", want)
		}
	}
	if n := strings.Count(page[strings.Index(page, `id="answer"`):], `<tr><td><a href=`); n != 1 {
		t.Errorf("%d hits", n)
	}
	page = ask("nn", url.Values{"operation": {"findSteder"}, "Stedsnavn": {"Oslo"}, "OppdatertEtter": {"i fjor"}})
	if f := fieldsOf(page); f["Stedsnavn"] != "Oslo" || f["OppdatertEtter"] != "i fjor" ||
		!strings.Contains(page, "<title>Feil: ") || !strings.Contains(
		page, `id="s-OppdatertEtter-fault">Skriv ein dag`) || strings.Contains(page, `id="answer"`) {
		t.Errorf("a wrong day costs what was typed: %v", f)
	}
	for message, want := range map[string]string{"<a><b>\n</a>": "Linje 2: elementet &lt;b&gt; lukkes av &lt;/a&gt;.",
		"<a>": "slutter på linje 1", "<a>&x;</a>": "Linje 1: &amp;x; er ingen kjent entitet",
		"</a>": "Linje 1: &lt;/a&gt; lukker", "<a b=c/>": "Linje 1 i meldingen"} {
		if page = ask("nb", url.Values{"operation": {"findSteder"}, "request": {message}}); !strings.Contains(
			page, want) || !strings.Contains(page, html.EscapeString(message)) ||
			!strings.Contains(page, "<title>Feil: ") {
			t.Errorf("%s is not told as broken: no %q", message, want)
		}
	}
	for typed, want := range map[string]string{"3203": "&gt;3203&lt;", "asker": "&gt;3203&lt;",
		"BAERUM": "&gt;3201&lt;", "bærum kommune": "&gt;3201&lt;", "Kautokeino": "&gt;5612&lt;",
		"Herøy": "Skriv nummeret: 1515, 1818.", "Bærumm": "Mente du Bærum?",
		"Atlantis": "Navnet finnes ikke i listen."} {
		page = ask("nb", url.Values{"operation": {"findSteder"}, "Stedsnavn": {"Oslo"}, "KommunerIds": {typed}})
		if !strings.Contains(page, want) || fieldsOf(page)["KommunerIds"] != typed {
			t.Errorf("municipality %s: no %q", typed, want)
		}
	}
	for _, op := range placename.TheContract().Operations {
		ask("nb", url.Values{"operation": {op.Name}, "Stedsnavn": {"Os*"}, "Soeketekst": {"norske"},
			"Kommunenummer": {"0301"}, "Gaardsnummer": {"1"}, "Aar": {"2012"}, "Avsluttet": {"true"},
			"VedtattEtter": {"2001-01-01"}, "OppdatertFoer": {"2024-01-01"}})
		if n := strings.Count(string(a.get("/soap/stedsnavn/v1?f=html&lang=en&operation="+op.Name).wants(200).Body),
			`id="s-`); n == 0 {
			t.Errorf("%s has no fields", op.Name)
		}
	}
}

// hitTables are searches by form that find something, one of each operation.
var hitTables = map[string]url.Values{
	"findSteder": {"Stedsnavn": {"Oslo"}}, "findStedsnavn": {"Stedsnavn": {"Oslo"}},
	"findSkrivemaater": {"Stedsnavn": {"Oslo"}}, "findNavnesaker": {"Saksnummer": {"32"}},
	"findVedtak":      {"Saksnummer": {"32"}},
	"findSamlevedtak": {"Saksnummer": {"1"}}, "findKartprodukter": {"Utgivelsesaar": {"1990"}},
	"findBoeker":                                 {"Soeketekst": {"norske"}},
	"findStederForMatrikkelenhetreferanse":       {"Kommunenummer": {"Oslo"}, "Gaardsnummer": {"1"}},
	"findStedsnavnForMatrikkelenhetreferanse":    {"Kommunenummer": {"Oslo"}, "Gaardsnummer": {"1"}},
	"findSkrivemaaterForMatrikkelenhetreferanse": {"Kommunenummer": {"Oslo"}, "Gaardsnummer": {"1"}},
}

// TestHitsAreInTheLanguageOfThePage: no column of hits has the name of an element or of another column. Codes,
// municipalities and values appear as people write them.
func TestHitsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	head, cells := regexp.MustCompile(`<th scope="col">([^<]*)`), regexp.MustCompile(`(?s)<tbody>.*</tbody>`)
	raw := regexp.MustCompile(`^[a-zæøå]|[a-zæøå][A-Z]`)
	value := regexp.MustCompile(
		`<td>(true|false|\d{4}-\d\d-\d\d[^<]*|[a-zæøå]+[A-Z][a-zA-Zæøå]*|adressekart|nevneform|vedtatt|` +
			`0\d{3}(, [^<]*)?)</td>`)
	for _, op := range placename.TheContract().Operations {
		f := url.Values{"operation": {op.Name}}
		maps.Copy(f, hitTables[op.Name])
		for _, lang := range []string{"nb", "nn", "en"} {
			body := string(a.post("/soap/stedsnavn/v1?f=html&lang="+lang, "application/x-www-form-urlencoded",
				f.Encode(), "Origin", a.URL).wants(http.StatusOK).Body)
			columns, names := head.FindAllStringSubmatch(body, -1), map[string]bool{}
			if len(columns) < 4 {
				t.Errorf("%s: %d columns", op.Name, len(columns))
			}
			for _, m := range columns {
				if raw.MatchString(m[1]) || names[m[1]] {
					t.Errorf("%s in %s: a column is called %s", op.Name, lang, m[1])
				}
				names[m[1]] = true
			}
			for _, v := range value.FindAllString(cells.FindString(body), -1) {
				t.Errorf("%s in %s: %s", op.Name, lang, v)
			}
		}
	}
}

// TestHitsBeginWithWhatNamesThem: the first column names the hit. Municipalities appear by name and cadastral units
// as people write them, and the page says if there are more hits.
func TestHitsBeginWithWhatNamesThem(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	for operation, wants := range map[string][]string{
		"findVedtak": {`<th scope="col">Skrivemåter</th><th scope="col">Id</th>`,
			"<tr><td>Oslo</td><td>321</td>", "<td>Østlandet og Agder</td><td>Oslo</td>"},
		"findKartprodukter": {`<th scope="col">Kartblad</th><th scope="col">Id</th>`},
		"findStederForMatrikkelenhetreferanse": {`<th scope="col">Kommune</th><th scope="col">Matrikkelnummer</th>`,
			"<td>Oslo</td><td>0301-1/1</td>"},
		"findSkrivemaater": {`<th scope="col">Stedsnavn</th><th scope="col">Id</th>`},
	} {
		f := url.Values{"operation": {operation}}
		maps.Copy(f, hitTables[operation])
		body := string(a.post("/soap/stedsnavn/v1?f=html&lang=nb", "application/x-www-form-urlencoded", f.Encode(),
			"Origin", a.URL).wants(http.StatusOK).Body)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s", operation, want)
			}
		}
	}
	body := string(a.post("/soap/stedsnavn/v1?f=html&lang=nb", "application/x-www-form-urlencoded",
		"operation=findSteder&NavneobjekttyperIds=kommune", "Origin", a.URL).wants(http.StatusOK).Body)
	if !strings.Contains(body, "<p>Her er de første 50 treffene. Fyll ut flere felt for å få færre.</p>") {
		t.Error("a page of the first hits does not tell that there are more")
	}
}

// TestWhatTheServiceRefusesStandsBesideItsField sends faults that the form itself cannot detect.
func TestWhatTheServiceRefusesStandsBesideItsField(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, func(c *config.Config) { c.SOAP.MaxHits = 5 })
	ask := func(lang string, fields url.Values) string {
		t.Helper()
		r := a.post("/soap/stedsnavn/v1?f=html&lang="+lang, "application/x-www-form-urlencoded", fields.Encode(),
			"Origin", a.URL).wants(200)
		for _, f := range htmlFaults(r.Body) {
			t.Errorf("%v: %s", fields, f)
		}
		return string(r.Body)
	}
	for _, x := range []struct {
		lang, operation string
		typed           map[string]string
		field, said     string
	}{
		{"nb", "findSteder", map[string]string{"Stedsnavn": "*"}, "Stedsnavn",
			"Et mønster må ha minst 2 tegn som ikke er * eller ?."},
		{"nn", "findSteder", map[string]string{"Stedsnavn": "*"}, "Stedsnavn",
			"Eit mønster må ha minst 2 teikn som ikkje er * eller ?."},
		{"en", "findSteder", map[string]string{"Stedsnavn": "*"}, "Stedsnavn",
			"A pattern needs at least 2 characters other than * and ?."},
		{"nb", "findStederForMatrikkelenhetreferanse", map[string]string{"Kommunenummer": "Oslo"}, "Gaardsnummer",
			"Fyll ut dette."},
		{"en", "findStederForMatrikkelenhetreferanse", map[string]string{
			"Kommunenummer": "", "Gaardsnummer": "one", "Stedsnavn": "Oslo"}, "Gaardsnummer",
			"Must be numbers, with commas and hyphens between them, such as 1-5,7."},
		{"nn", "findBoeker", map[string]string{}, "Soeketekst", "Fyll ut dette."},
		{"en", "findNavnesaker", map[string]string{"Beskrivelse": strings.Repeat("x", 2000)}, "Beskrivelse",
			"Must have at most "},
	} {
		typed := url.Values{"operation": {x.operation}}
		for name, value := range x.typed {
			typed.Set(name, value)
		}
		page := ask(x.lang, typed)
		for _, want := range []string{`<span class="fault" id="s-` + x.field + `-fault">` + x.said,
			`aria-invalid="true" aria-describedby="s-` + x.field + `-fault"`, `<a href="#s-` + x.field + `">`,
			map[bool]string{true: "<title>Error: ", false: "<title>Feil: "}[x.lang == "en"], "&lt;S:Fault&gt;"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s %v in %s: no %s", x.operation, x.typed, x.lang, want)
			}
		}
		if strings.Contains(page, `id="answer"`) {
			t.Errorf("%s %v has an answer", x.operation, x.typed)
		}
		for name, value := range x.typed {
			if got := fieldsOf(page)[name]; got != value {
				t.Errorf("%s: %s has %q, typed was %q", x.operation, name, got, value)
			}
		}
	}
	for lang, want := range map[string]string{"nb": "Søket gir flere enn 5 treff.",
		"nn": "Søket gjev fleire enn 5 treff.", "en": "The search gives more than 5 hits."} {
		if page := ask(lang, url.Values{"operation": {"findSteder"},
			"NavneobjekttyperIds": {"kommune"}}); !strings.Contains(page, want) ||
			strings.Contains(page, `id="answer"`) {
			t.Errorf("too many hits are not told in %s", lang)
		}
	}
	written := `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><a/></S:Body></S:Envelope>`
	if page := ask("nn", url.Values{"operation": {"findSteder"}, "request": {written}}); !strings.Contains(
		page, `<span class="fault" id="request-fault">Body = &#34;a&#34;: tenesta har ingen slik operasjon.`) ||
		!strings.Contains(page, `aria-invalid="true" aria-describedby="request-fault"`) ||
		!strings.Contains(page, "<details id=\"xml\" open>") {
		t.Error("a fault of a message is not told beside it")
	}
}
