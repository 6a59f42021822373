package server_test

import (
	"html"
	"net/url"
	"strings"
	"testing"

	"grense/api/placename"
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
		r := a.post("/soap/stedsnavn/v1?f=html&lang="+lang, "application/x-www-form-urlencoded", fields.Encode(), "Origin", a.URL).wants(200)
		for _, f := range htmlFaults(r.Body) {
			t.Errorf("%v: %s", fields, f)
		}
		return string(r.Body)
	}
	if robots := string(a.get("/robots.txt").wants(200).Body); !strings.Contains(robots, "\nAllow: /soap/stedsnavn/v1?\n") || !strings.Contains(string(a.get("/sitemap.xml").wants(200).Body), "/soap/stedsnavn/v1?f=html</loc>") {
		t.Errorf("search engines do not find the page: %s", robots)
	}
	form := string(a.get("/soap/stedsnavn/v1?f=html&lang=nb&operation=findSteder").wants(200).Body)
	for _, want := range []string{`name="Stedsnavn"`, `<input id="s-KommunerIds"`, `<option>By</option>`, `<select id="s-StedstatuserIds"`, `type="date"`, `#answer"`} {
		if !strings.Contains(form, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	page := ask("nn", url.Values{"operation": {"findSteder"}, "Stedsnavn": {"Oslo"}, "KommunerIds": {"OSLO kommune"}, "NavneobjekttyperIds": {"kommune"}})
	for _, want := range []string{`/collections/sted/items/`, `lang=nn">Oslo</a>`, `<h2 id="answer"`, "&lt;t:stedsnavn&gt;Oslo&lt;/t:stedsnavn&gt;", `value="Oslo"`, `value="OSLO kommune"`, "&gt;0301&lt;", "findStederResponse"} {
		if !strings.Contains(page, want) {
			t.Errorf("the answer lacks %s", want)
		}
	}
	if n := strings.Count(page[strings.Index(page, `id="answer"`):], `<tr><td><a href=`); n != 1 {
		t.Errorf("%d hits", n)
	}
	page = ask("nn", url.Values{"operation": {"findSteder"}, "Stedsnavn": {"Oslo"}, "OppdatertEtter": {"i fjor"}})
	if f := fieldsOf(page); f["Stedsnavn"] != "Oslo" || f["OppdatertEtter"] != "i fjor" || !strings.Contains(page, "<title>Feil: ") || !strings.Contains(page, `id="s-OppdatertEtter-fault">Skriv ein dag`) || strings.Contains(page, `id="answer"`) {
		t.Errorf("a wrong day costs what was typed: %v", f)
	}
	for message, want := range map[string]string{"<a><b>\n</a>": "Linje 2: elementet &lt;b&gt; lukkes av &lt;/a&gt;.", "<a>": "slutter på linje 1", "<a>&x;</a>": "Linje 1: &amp;x; er ingen kjent entitet", "</a>": "Linje 1: &lt;/a&gt; lukker", "<a b=c/>": "Linje 1 i meldingen"} {
		if page = ask("nb", url.Values{"operation": {"findSteder"}, "request": {message}}); !strings.Contains(page, want) || !strings.Contains(page, html.EscapeString(message)) || !strings.Contains(page, "<title>Feil: ") {
			t.Errorf("%s is not told as broken: no %q", message, want)
		}
	}
	for typed, want := range map[string]string{"3203": "&gt;3203&lt;", "asker": "&gt;3203&lt;", "BAERUM": "&gt;3201&lt;", "bærum kommune": "&gt;3201&lt;", "Kautokeino": "&gt;5612&lt;", "Herøy": "Skriv nummeret: 1515, 1818.", "Bærumm": "Mente du Bærum?", "Atlantis": "Navnet finnes ikke i listen."} {
		page = ask("nb", url.Values{"operation": {"findSteder"}, "Stedsnavn": {"Oslo"}, "KommunerIds": {typed}})
		if !strings.Contains(page, want) || fieldsOf(page)["KommunerIds"] != typed {
			t.Errorf("municipality %s: no %q", typed, want)
		}
	}
	if page = ask("en", url.Values{"operation": {"findSteder"}, "Stedsnavn": {"*"}}); !strings.Contains(page, "The service answers:") {
		t.Error("what the service refuses is not told")
	}
	for _, op := range placename.TheContract().Operations {
		ask("nb", url.Values{"operation": {op.Name}, "Stedsnavn": {"Os*"}, "Soeketekst": {"norske"}, "Kommunenummer": {"0301"}, "Gaardsnummer": {"1"}, "Aar": {"2012"}, "Avsluttet": {"true"}, "VedtattEtter": {"2001-01-01"}, "OppdatertFoer": {"2024-01-01"}})
		if n := strings.Count(string(a.get("/soap/stedsnavn/v1?f=html&lang=en&operation="+op.Name).wants(200).Body), `id="s-`); n == 0 {
			t.Errorf("%s has no fields", op.Name)
		}
	}
}
