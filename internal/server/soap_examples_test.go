package server_test

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
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

func serveExamples(t *testing.T) *api {
	t.Helper()
	path, create := filepath.Join(t.TempDir(), "examples.gpkg"), gpkg.Create
	if onPostGIS() {
		path, create = cluster.Database(t), postgis.Create
	}
	w, err := create(context.Background(), path)
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
	if onPostGIS() {
		return serveStore(t, openURL(t, path), nil)
	}
	return serve(t, path, nil)
}

const (
	name, spelling = `<t:stedsnavn>(?:%)</t:stedsnavn>`, `<t:skrivemaate>(?:%)</t:skrivemaate>`
	inOslo         = `<ko:item><d:value>0301</d:value></ko:item>`
)

func named(element, pattern string) string { return strings.Replace(element, "%", pattern, 1) }

// exampleRules are what each hit of an example must hold: all of the patterns, none of those after "!". A place is found by each of its
// spellings and shown by one: where that does not fit the rule for the name, one of its spellings must (spelled). What an answer does not tell, its
// request asks for (the books behind a spelling, the municipality of a case), and the place that it must find is named.
var exampleRules = map[string][]string{
	"bridges":    {`<t:stedId><d:value>915<`, `<d:value>bru</d:value>`, `<ko:item><d:value>4649</d:value></ko:item>`},
	"decision":   {`<t:skrivemaater>Oslo</t:skrivemaater>`},
	"letter":     {named(name, "Å")},
	"prefix":     {named(name, "[ÅAÁ][sš][^<]*")},
	"exact":      {named(name, "Ås[^<]*")},
	"suffix":     {named(name, "[^<]*vik")},
	"not":        {named(spelling, "(?i)[^<]*n[eé]s[^<]*"), "!" + named(spelling, "(?i)[^<]*sand[^<]*")},
	"or":         {named(spelling, "(?i)[^<]*(vik|våg)[^<]*")},
	"phrase":     {named(spelling, "(?i)[^<]*nord[- ]fron[^<]*")},
	"similar":    {named(name, "Kristian[^<]*")},
	"character":  {named(name, "B[^<][^<]"), inOslo},
	"sami":       {`<t:spraakId><d:value>sme<`},
	"cases":      {`<t:avsluttet>false<`, `<t:navnesakId><d:value>1472<`},
	"farm":       {`<t:kommunenummer>0301</t:kommunenummer><t:gaardsnummer>([1-9]|[1-4]\d|50)<`},
	"combined":   {`<t:registreringsdato><d:timestamp>20[1-9]\d-`},
	"book":       {`<t:tittel>(?i)[^<]*bygdebok[^<]*askøy[^<]*<`},
	"map":        {`<t:kartblad>1<`},
	"documented": {`<t:skrivemaateId><d:value>76312<`},
}

// spelled tells whether the place of a hit of findSteder has a spelling that fits a rule for its name.
func (a *api) spelled(r placename.Request, hit []byte, rule string) bool {
	places, ok := r.(*placename.FindSteder)
	if !ok || !strings.HasPrefix(rule, "<t:stedsnavn>") {
		return false
	}
	q := placename.FindSkrivemaater{StedsnavnContext: places.StedsnavnContext, SkrivemaateSoek: placename.SkrivemaateSoek{Stedsnavn: places.StedSoek.Stedsnavn, AvansertSoek: places.StedSoek.AvansertSoek}}
	spellings := a.post(endpoint, "text/xml", string(placename.Example{Request: &q}.Message(placename.DefaultBase))).wants(200)
	place := regexp.MustCompile(`<t:stedId><d:value>\d+<`).Find(hit)
	fits := regexp.MustCompile(strings.ReplaceAll(rule, "t:stedsnavn>", "t:skrivemaate>"))
	return slices.ContainsFunc(exampleItem.FindAll(spellings.Body, -1), func(s []byte) bool { return bytes.Contains(s, place) && fits.Match(s) })
}

// exampleItem is a hit; those within lists of a hit have other prefixes.
var exampleItem = regexp.MustCompile(`(?s)<t:item>.*?</t:item>`)

// TestDocumentedExamplesAreAnswered: each is a request that is right and finds something, and all that it finds fits what the example says.
func TestDocumentedExamplesAreAnswered(t *testing.T) {
	t.Parallel()
	a := serveExamples(t)
	for _, e := range placename.Examples() {
		r := a.post(endpoint, "text/xml", string(e.Message(placename.DefaultBase)))
		hits := exampleItem.FindAll(r.Body, -1)
		if r.StatusCode != 200 || len(hits) == 0 || len(exampleRules[e.Name]) == 0 {
			t.Errorf("%s: %d hits, %d rules: %.500s", e.Name, len(hits), len(exampleRules[e.Name]), r.Body)
		}
		for _, rule := range exampleRules[e.Name] {
			pattern, not := strings.CutPrefix(rule, "!")
			re := regexp.MustCompile(pattern)
			for _, hit := range hits {
				if re.Match(hit) == not && !a.spelled(e.Request, hit, pattern) {
					t.Errorf("%s: a hit does not fit %q: %s", e.Name, rule, hit)
					break
				}
			}
		}
	}
	for _, lang := range []string{"nb", "nn", "en"} {
		page := a.get("/soap/stedsnavn/v1?f=html&lang=" + lang).wants(200).Body
		if strings.Contains(string(page), "soap.rule") || strings.Contains(string(page), "soap.example") || !strings.Contains(string(page), "EPSG:4258") || !strings.Contains(string(page), "5000") {
			t.Errorf("the page in %s lacks a text", lang)
		}
	}
}
