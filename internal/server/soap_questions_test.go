package server_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/api/placename"
)

// answerOf is the expected result of an example, computed without the searches: ids by SQL. If the query also reads a
// text, fits selects the rows.
type answerOf struct {
	hit  string // element of a hit that holds the id
	sql  string // selects ids, and the text for fits
	fits func(text string) bool
	each bool // one id for each row; else each id once
}

const spellings = `SELECT sted_id, langnavn FROM skrivemaate`

// letters are those that occur in names, and what they count as; made by hand, apart from the fold of the program.
var letters = strings.NewReplacer("aa", "a", "å", "a", "á", "a", "â", "a", "à", "a", "ä", "ae", "æ", "ae", "ö", "o",
	"ø", "o", "ó", "o", "ò", "o", "é", "e", "č", "c", "đ", "d", "ŋ", "n", "š", "s", "ŧ", "t", "ž", "z", "ï", "i", "-",
	" ", "–", " ", "'", "", "’", "")

func plain(s string) string { return letters.Replace(strings.ToLower(s)) }

func is(want string) func(string) bool { return func(s string) bool { return plain(s) == want } }

func begins(with string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(plain(s), with) }
}

func has(part string) func(string) bool {
	return func(s string) bool { return strings.Contains(plain(s), part) }
}

// resemblance is the share of common trigrams in all trigrams, in percent. Each word has two blanks before it and one
// after it.
func resemblance(a, b string) int {
	runs := func(s string) map[string]bool {
		m := map[string]bool{}
		for _, word := range strings.Fields(s) {
			for word = "  " + word + " "; len(word) >= 3; word = word[1:] {
				m[word[:3]] = true
			}
		}
		return m
	}
	x, y, common := runs(a), runs(b), 0
	for r := range x {
		if y[r] {
			common++
		}
	}
	return 100 * common / (len(x) + len(y) - common)
}

// ids queries the tables in path.
func (w answerOf) ids(t testing.TB, path string) (ids []int) {
	t.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = sqlitex.ExecuteTransient(db, w.sql, &sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
		if w.fits != nil {
			text := row.ColumnText(1)
			if strings.ContainsFunc(plain(text), func(r rune) bool { return r > 'z' }) {
				t.Errorf("%q has a letter that the rules do not know", text)
			}
			if !w.fits(text) {
				return nil
			}
		}
		ids = append(ids, int(row.ColumnInt64(0)))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	if !w.each {
		ids = slices.Compact(ids)
	}
	return ids
}

// exampleItem matches a hit; elements in lists of a hit have other prefixes.
var exampleItem = regexp.MustCompile(`(?s)<t:item>.*?</t:item>`)

// finds sends an example and compares the ids that it returns with want, which must not be empty.
func (a *api) finds(path string, e placename.Example, want answerOf) {
	a.t.Helper()
	r := a.post(endpoint, "text/xml", string(e.Message(placename.DefaultBase)))
	var got []int
	id := regexp.MustCompile(`<t:` + want.hit + `><d:value>(\d+)<`)
	for _, hit := range exampleItem.FindAll(r.Body, -1) {
		m := id.FindSubmatch(hit)
		if m == nil {
			a.t.Fatalf("%s: no %s in %s", e.Name, want.hit, hit)
		}
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			a.t.Fatal(err)
		}
		got = append(got, n)
	}
	slices.Sort(got)
	if ids := want.ids(a.t, path); r.StatusCode != 200 || len(ids) == 0 || !slices.Equal(got, ids) {
		a.t.Errorf("%s: finds %d: %v; the tables hold %d: %v\n%.300s", e.Name, len(got), got, len(ids), ids, r.Body)
	}
}

// TestQuestionsAreAnsweredAsTheDocumentationSays sends what a newcomer to the register wants to know, as the comments
// of generated clients explain. More of this kind are among the documented examples.
func TestQuestionsAreAnsweredAsTheDocumentationSays(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a, path := serveExamples(t)
	at := func(s string) *time.Time {
		when, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return &when
	}
	day := func(s string) *time.Time { return at(s + "T00:00:00Z") }
	text := func(s string) *string { return &s }
	year, yes := int32(2010), true
	who := placename.StedsnavnContext{SystemVersion: "1", ClientIdentification: "stranger", Locale: "en",
		SnapshotVersion: *at("9999-01-01T00:00:00+01:00")}
	for _, q := range []struct {
		asked   string
		request placename.Request
		answer  answerOf
	}{
		// A whole day, since both bounds are exclusive.
		{"which places were updated on 1 June 2024", &placename.FindSteder{
			StedsnavnContext: who, StedSoek: placename.StedSoek{
				OppdatertEtter: at("2024-05-31T23:59:59.999+02:00"), OppdatertFoer: at("2024-06-02T00:00:00+02:00")}},
			answerOf{hit: "stedId",
				sql: `SELECT id FROM sted WHERE oppdatert >= '2024-05-31T22:00:00' ` +
					`AND oppdatert < '2024-06-01T22:00:00'`}},
		{"which main names are Northern Sami", &placename.FindStedsnavn{
			StedsnavnContext: who, StedsnavnSoek: placename.StedsnavnSoek{
				SpraakIds: []string{"sme"}, NavnestatuserIds: []string{"hovednavn"}}},
			answerOf{hit: "stedsnavnId",
				sql: `SELECT id FROM stedsnavn WHERE spraak = 'sme' AND navnestatus = 'hovednavn'`}},
		{"which spellings were decided in 2016", &placename.FindSkrivemaater{
			StedsnavnContext: who, SkrivemaateSoek: placename.SkrivemaateSoek{
				SkrivemaatestatuserIds: []string{"vedtatt"}, SkrivemaatestatusdatoEtter: day("2015-12-31"),
				SkrivemaatestatusdatoFoer: day("2017-01-01")}},
			answerOf{hit: "skrivemaateId",
				sql: `SELECT id FROM skrivemaate WHERE skrivemaatestatus = 'vedtatt' ` +
					`AND skrivemaatestatusdato LIKE '2016-%'`}},
		{"which decisions were made in February 2021", &placename.FindVedtak{
			StedsnavnContext: who, VedtakSoek: placename.VedtakSoek{
				VedtattEtter: day("2021-01-31"), VedtattFoer: day("2021-03-01")}},
			answerOf{hit: "vedtakId", sql: `SELECT id FROM vedtak WHERE vedtaksdato LIKE '2021-02-%'`}},
		{"which cases of 2010 were raised by a complaint", &placename.FindNavnesaker{
			StedsnavnContext: who, NavnesakSoek: placename.NavnesakSoek{Aar: &year, Klagesak: &yes}},
			answerOf{hit: "navnesakId", sql: `SELECT id FROM navnesak WHERE aar = 2010 AND klage_id IS NOT NULL`}},
		{"which spellings does a book document", &placename.FindSkrivemaater{
			StedsnavnContext: who, SkrivemaateSoek: placename.SkrivemaateSoek{
				BokSoek: &placename.BokSoek{Tittel: text("norske gardsnavn")}}},
			answerOf{hit: "skrivemaateId",
				sql:  `SELECT skrivemaate_id, tittel FROM dokumentasjon JOIN bok b ON b.id = bok_id`,
				fits: has("norske gardsnavn")}},
		{"which names lie on holding 1 of any farm in Oslo",
			&placename.FindStedsnavnForMatrikkelenhetreferanse{
				StedsnavnContext: who, Soek: placename.StedsnavnMatrikkelenhetreferanseSoek{
					Kommunenummer: "0301", Gaardsnummer: "1-9999", Bruksnummer: text("1")}},
			answerOf{hit: "stedsnavnId",
				sql: `SELECT n.id FROM matrikkel_sted m JOIN stedsnavn n USING (sted_id) ` +
					`WHERE m.kommunenummer = '0301' AND bruksnummer = 1`, each: true}},
		{"which places have a remark about what they belong to",
			&placename.FindSteder{StedsnavnContext: who, StedSoek: placename.StedSoek{
				MerknadstyperIds: []string{"tilhørighet"}}},
			answerOf{hit: "stedId", sql: `SELECT sted_id FROM sted_merknad WHERE merknadstype = 'tilhørighet'`}},
		{"which maps of 1990 are address maps", &placename.FindKartprodukter{
			StedsnavnContext: who, ProduktkodeId: text("adressekart"),
			Utgivelsesaar: func() *int32 { n := int32(1990); return &n }()},
			answerOf{hit: "id", sql: `SELECT id FROM kartprodukt WHERE karttype = 'adressekart' ` +
				`AND utgivelsesaar = 1990`}},
		{"which combined decisions are about Oslo", &placename.FindSamlevedtak{
			StedsnavnContext: who, SamlevedtakSoek: placename.SamlevedtakSoek{Stedsnavn: text("Oslo")}},
			answerOf{hit: "samlevedtakId",
				sql:  `SELECT samlevedtak_id, langnavn FROM del_av_samlevedtak JOIN skrivemaate s USING (stedsnavn_id)`,
				fits: is("oslo")}},
	} {
		a.finds(path, placename.Example{Name: q.asked, Request: q.request}, q.answer)
	}
}
