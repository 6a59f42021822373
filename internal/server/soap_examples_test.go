package server_test

import (
	"strings"
	"testing"

	"grense/api/placename"
)

// serveExamples serves the register and returns a GeoPackage with the same content, which tests query by SQL.
func serveExamples(t *testing.T) (*api, string) {
	t.Helper()
	path, err := registerFile()
	if err != nil {
		t.Fatal(err)
	}
	return serveRegister(t, nil), path
}

// exampleAnswers are the expected results of the documented examples, each as a query to the tables and a rule for
// the text that it reads.
var exampleAnswers = map[string]answerOf{
	"bridges": {hit: "stedId",
		sql: `SELECT id FROM sted WHERE kommuner LIKE '%"4649"%' AND navneobjekttype = 'bru' ` +
			`AND oppdatert > '2024-04-30T22:00:00'`},
	"decision": {hit: "vedtakId",
		sql:  `SELECT vedtak_id, langnavn FROM vedtak_skrivemaate JOIN skrivemaate s ON s.id = skrivemaate_id`,
		fits: is("oslo")},
	"hyphen": {hit: "stedId", sql: spellings, fits: is("nord fron")},
	"stop":   {hit: "stedId", sql: spellings, fits: is("nes")},
	"languages": {hit: "stedId", sql: spellings, fits: func(
		s string) bool {
		return s == "Guovdageaidnu" || s == "Kautokeino"
	}},
	"letter": {hit: "stedId", sql: spellings, fits: is("a")},
	"prefix": {hit: "stedId", sql: spellings, fits: begins("as")},
	"exact":  {hit: "stedId", sql: spellings, fits: func(s string) bool { return strings.HasPrefix(s, "Ås") }},
	"suffix": {hit: "stedsnavnId",
		sql:  `SELECT stedsnavn_id, langnavn FROM skrivemaate WHERE kommuner LIKE '%"4601"%'`,
		fits: func(s string) bool { return strings.HasSuffix(plain(s), "vik") }},
	"not": {hit: "skrivemaateId", sql: `SELECT id, langnavn FROM skrivemaate`,
		fits: func(s string) bool { return has("nes")(s) && !has("sand")(s) }},
	"or": {hit: "skrivemaateId", sql: `SELECT id, langnavn FROM skrivemaate`,
		fits: func(s string) bool { return has("vik")(s) || has("vag")(s) }},
	"phrase": {hit: "skrivemaateId", sql: `SELECT id, langnavn FROM skrivemaate`, fits: has("nord fron")},
	"similar": {hit: "stedId", sql: spellings, fits: func(
		s string) bool {
		return resemblance("kristiansand", plain(s)) >= 40
	}},
	"character": {hit: "stedId", sql: spellings + ` WHERE kommuner LIKE '%"0301"%'`,
		fits: func(s string) bool { return begins("b")(s) && len(plain(s)) == 3 }},
	"sami": {hit: "stedsnavnId",
		sql: `SELECT id FROM stedsnavn WHERE spraak = 'sme' AND kommuner LIKE '%"5610"%'`},
	"cases": {hit: "navnesakId",
		sql: `SELECT navnesak_id FROM navnesak_kommune JOIN navnesak n ON n.id = navnesak_id ` +
			`WHERE kommunenummer = '0301' AND NOT avsluttet`},
	"farm": {hit: "stedId",
		sql:  `SELECT sted_id FROM matrikkel_sted WHERE kommunenummer = '0301' AND gaardsnummer BETWEEN 1 AND 50`,
		each: true},
	"combined": {hit: "samlevedtakId", sql: `SELECT id FROM samlevedtak WHERE registrert > '2009-12-31T23:00:00'`},
	"book": {hit: "id", sql: `SELECT id, tittel FROM bok`,
		fits: func(s string) bool { return s == "Norske gardsnavn i ny ordning" }},
	"map": {hit: "id", sql: `SELECT id FROM kartprodukt WHERE kartblad = '1'`},
	"documented": {hit: "skrivemaateId",
		sql: `SELECT skrivemaate_id, tittel FROM dokumentasjon JOIN bok b ON b.id = bok_id ` +
			`JOIN skrivemaate s ON s.id = skrivemaate_id WHERE s.kommuner LIKE '%"0301"%'`, fits: has("bygdebok")},
}

// TestDocumentedExamplesAreAnswered: each finds something, and exactly the rows that the tables have for it.
func TestDocumentedExamplesAreAnswered(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a, path := serveExamples(t)
	for _, e := range placename.Examples() {
		a.finds(path, e, exampleAnswers[e.Name])
	}
	for _, lang := range []string{"nb", "nn", "en"} {
		page := a.get("/soap/stedsnavn/v1?f=html&part=programs&lang=" + lang).wants(200).Body
		if strings.Contains(string(page), "soap.rule") || strings.Contains(string(page), "soap.example") ||
			!strings.Contains(string(page), "EPSG:4258") || !strings.Contains(string(page), "5000") {
			t.Errorf("the page in %s lacks a text", lang)
		}
	}
}
