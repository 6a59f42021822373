package server_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
)

// examplePlaces says what places of the generated register become, by id, so that each documented example finds something: values by column,
// and under "navn" another name, since the generator makes none as short as Å.
var examplePlaces = map[int64]map[string]any{
	743: {"kommunenummer": "4601", "fylkesnummer": "46", "kommuner": `["4601"]`}, // Breiryggvik
	749: {"kommunenummer": "0301", "fylkesnummer": "03", "kommuner": `["0301"]`, "navn": "Bru"},
	759: {"navn": "Å"},
	763: {"kommunenummer": "0301", "fylkesnummer": "03", "kommuner": `["0301"]`}, // its spelling is documented by Bygdebok for Vinje
	915: {"kommunenummer": "4649", "fylkesnummer": "46", "kommuner": `["4649"]`, "navneobjekttype": "bru", "navneobjektgruppe": "samferdselsanlegg",
		"oppdatert": time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)},
}

// exampleCase is a case that is not closed; it comes to Oslo.
const exampleCase = 1472

// exampleWriter changes the rows of examplePlaces and exampleCase on their way.
type exampleWriter struct{ store.Writer }

func (w exampleWriter) Insert(ctx context.Context, table string, columns []string) (func(...any) error, error) {
	insert, err := w.Writer.Insert(ctx, table, columns)
	column := func(name string) int { return slices.Index(columns, name) }
	return func(values ...any) error {
		values = slices.Clone(values)
		if table == "navnesak_kommune" && values[column("navnesak_id")] == int64(exampleCase) {
			values[column("kommunenummer")] = "0301"
		}
		for c, v := range examplePlaces[placeOf(table, column, values)] {
			if i := column(c); i >= 0 {
				values[i] = v
			}
			if c == "navn" {
				rename(columns, values, v.(string))
			}
		}
		return insert(values...)
	}, err
}

// placeOf is the place that a row is of, 0 where a table does not tell.
func placeOf(table string, column func(string) int, values []any) int64 {
	i, per := column("sted_id"), int64(1)
	switch table {
	case "sted":
		i = column("id")
	case "skrivemaate_tekst":
		i, per = column("id"), 100
	}
	if i < 0 {
		return 0
	}
	id, _ := values[i].(int64)
	return id / per
}

// rename writes a name into the columns of a row that hold one.
func rename(columns []string, values []any, name string) {
	norm := cql2.Norm(name)
	reversed := []rune(norm)
	slices.Reverse(reversed)
	for i, c := range columns {
		switch c {
		case "visningsnavn", "stedsnavn", "langnavn", "skrivemaater":
			values[i] = name
		case "visningsnavn_norm", "stedsnavn_norm", "norm":
			values[i] = norm
		case "eksakt":
			values[i] = strings.ToLower(name)
		case "rev":
			values[i] = string(reversed)
		}
	}
}

// serveExamples serves the register of the examples and returns a GeoPackage with the same, which tests ask by SQL.
func serveExamples(t *testing.T) (*api, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "examples.gpkg")
	fill := func(create func(context.Context, string) (store.Writer, error), where string) {
		w, err := create(context.Background(), where)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := register.Generate(t.Context(), exampleWriter{w}, register.Options{Places: 1000, Seed: 1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fill(func(ctx context.Context, at string) (store.Writer, error) { return gpkg.Create(ctx, at) }, path)
	if !onPostGIS() {
		return serve(t, path, nil), path
	}
	url := cluster.Database(t)
	fill(func(ctx context.Context, at string) (store.Writer, error) { return postgis.Create(ctx, at) }, url)
	return serveStore(t, openURL(t, url), nil), path
}

// exampleAnswers are what the documented examples say, each as a question to the tables and a rule for the text that it reads.
var exampleAnswers = map[string]answerOf{
	"bridges":    {hit: "stedId", sql: `SELECT id FROM sted WHERE kommuner LIKE '%"4649"%' AND navneobjekttype = 'bru' AND oppdatert > '2024-04-30T22:00:00'`},
	"decision":   {hit: "vedtakId", sql: `SELECT vedtak_id, langnavn FROM vedtak_skrivemaate JOIN skrivemaate s ON s.id = skrivemaate_id`, fits: is("oslo")},
	"letter":     {hit: "stedId", sql: spellings, fits: is("a")},
	"prefix":     {hit: "stedId", sql: spellings, fits: begins("as")},
	"exact":      {hit: "stedId", sql: spellings, fits: func(s string) bool { return strings.HasPrefix(s, "Ås") }},
	"suffix":     {hit: "stedsnavnId", sql: `SELECT stedsnavn_id, langnavn FROM skrivemaate WHERE kommuner LIKE '%"4601"%'`, fits: func(s string) bool { return strings.HasSuffix(plain(s), "vik") }},
	"not":        {hit: "skrivemaateId", sql: `SELECT id, langnavn FROM skrivemaate`, fits: func(s string) bool { return has("nes")(s) && !has("sand")(s) }},
	"or":         {hit: "skrivemaateId", sql: `SELECT id, langnavn FROM skrivemaate`, fits: func(s string) bool { return has("vik")(s) || has("vag")(s) }},
	"phrase":     {hit: "skrivemaateId", sql: `SELECT id, langnavn FROM skrivemaate`, fits: has("nord fron")},
	"similar":    {hit: "stedId", sql: spellings, fits: func(s string) bool { return resemblance("kristiansand", plain(s)) >= 40 }},
	"character":  {hit: "stedId", sql: spellings + ` WHERE kommuner LIKE '%"0301"%'`, fits: func(s string) bool { return begins("b")(s) && len(plain(s)) == 3 }},
	"sami":       {hit: "stedsnavnId", sql: `SELECT id FROM stedsnavn WHERE spraak = 'sme' AND kommuner LIKE '%"5610"%'`},
	"cases":      {hit: "navnesakId", sql: `SELECT navnesak_id FROM navnesak_kommune JOIN navnesak n ON n.id = navnesak_id WHERE kommunenummer = '0301' AND NOT avsluttet`},
	"farm":       {hit: "stedId", sql: `SELECT sted_id FROM matrikkel_sted WHERE kommunenummer = '0301' AND gaardsnummer BETWEEN 1 AND 50`, each: true},
	"combined":   {hit: "samlevedtakId", sql: `SELECT id FROM samlevedtak WHERE registrert > '2009-12-31T23:00:00'`},
	"book":       {hit: "id", sql: `SELECT id, tittel FROM bok`, fits: func(s string) bool { return s == "Norske gardsnavn i ny ordning" }},
	"map":        {hit: "id", sql: `SELECT id FROM kartprodukt WHERE kartblad = '1'`},
	"documented": {hit: "skrivemaateId", sql: `SELECT skrivemaate_id, tittel FROM dokumentasjon JOIN bok b ON b.id = bok_id JOIN skrivemaate s ON s.id = skrivemaate_id WHERE s.kommuner LIKE '%"0301"%'`, fits: has("bygdebok")},
}

// TestDocumentedExamplesAreAnswered: each finds something, and exactly what the tables hold of what the example says.
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
		if strings.Contains(string(page), "soap.rule") || strings.Contains(string(page), "soap.example") || !strings.Contains(string(page), "EPSG:4258") || !strings.Contains(string(page), "5000") {
			t.Errorf("the page in %s lacks a text", lang)
		}
	}
}
