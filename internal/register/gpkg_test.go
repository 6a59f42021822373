package register_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// Expressions as the searches build them.

func prop(name string) cql2.Expr { return cql2.Prop{Name: name} }

func eq(name string, v cql2.Expr) cql2.Expr { return cql2.Compare{Op: cql2.Eq, L: prop(name), R: v} }

func after(name string, v cql2.Expr) cql2.Expr { return cql2.Compare{Op: cql2.Gt, L: prop(name), R: v} }

func like(name, pattern string) cql2.Expr {
	return cql2.Like{X: cql2.Func{Name: "norm", Args: []cql2.Expr{prop(name)}}, Pattern: cql2.Text(pattern)}
}

func isText(name, text string) cql2.Expr {
	return cql2.Compare{
		Op: cql2.Eq,
		L:  cql2.Func{Name: "norm", Args: []cql2.Expr{prop(name)}},
		R:  cql2.Text(fold.Norm(text)),
	}
}

func in(name string, codes ...string) cql2.Expr {
	e := cql2.In{X: prop(name)}
	for _, c := range codes {
		e.List = append(e.List, cql2.Text(c))
	}
	return e
}

func exists(relation string, xs ...cql2.Expr) cql2.Expr {
	return cql2.Related{Relation: relation, X: cql2.And(xs)}
}

func moment(s string) cql2.Expr {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return cql2.Timestamp{T: t}
}

func dayOf(s string) cql2.Expr {
	t, err := time.Parse("2006-01-02", s)
	if err != nil {
		panic(err)
	}
	return cql2.Date{T: t}
}

// write makes a GeoPackage of a register at path.
func write(t *testing.T, path string, places int) {
	t.Helper()
	w, err := gpkg.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if err := register.Generate(t.Context(), w, register.Options{Places: places, Seed: seed}); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// frozen returns the bytes of a GeoPackage with the time of its writing (OGC 12-128r18, 1.1.3) set to one value.
func frozen(t *testing.T, path string) []byte {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err == nil {
		err = sqlitex.Execute(conn, "UPDATE gpkg_contents SET last_change = '2026-01-01T00:00:00.000Z'", nil)
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSameSeedGivesSameFile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	first, second := filepath.Join(t.TempDir(), "a.gpkg"), filepath.Join(t.TempDir(), "b.gpkg")
	write(t, first, 800)
	write(t, second, 800)
	if !bytes.Equal(frozen(t, first), frozen(t, second)) {
		t.Error("two files of one seed differ")
	}
}

// A register can be written again over an old one.
func TestRegisterReplacesAnOldOne(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	path := filepath.Join(t.TempDir(), "register.gpkg")
	write(t, path, 900)
	write(t, path, 800)
	s, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if c, ok := s.Catalog().Collection("sted"); !ok || c.Count != 800 {
		t.Errorf("collection sted is %+v", c)
	}
}

// Each field of each search: the expression on a GeoPackage gives what a statement of its own gives on the tables.
func TestEverySearchFieldIsAnExpression(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	path := filepath.Join(t.TempDir(), "register.gpkg")
	write(t, path, small)
	s := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()}))
	for _, n := range s.Catalog().Notes {
		t.Errorf("%s: %s", n.Layer, n.Reason)
	}
	for _, c := range register.Collections() {
		got, ok := s.Catalog().Collection(c.ID)
		if !ok || got.Public != c.Public || got.Count == 0 || (got.Extent != nil) != (c.Geometry != nil) {
			t.Errorf("collection %s: served as %+v", c.ID, got)
		}
	}

	const spellings = "SELECT %s FROM skrivemaate WHERE "
	text := func(owner, where string) string {
		return "(" + strings.Replace(spellings, "%s", owner, 1) + where + ")"
	}
	oslo, sand := isText("langnavn", "OSLO"), like("langnavn", "%sand%")
	for _, c := range []struct {
		collection, field string
		filter            cql2.Expr
		where             string // the oracle
	}{
		{"sted", "registrertEtter", after("registrert", moment("2020-01-01T00:00:00Z")),
			"registrert > '2020-01-01T00:00:00Z'"},
		{"sted", "oppdatertEtter", after("oppdatert", moment("2024-06-01T12:30:00+02:00")),
			"oppdatert > '2024-06-01T10:30:00Z'"},
		{"sted", "stedsnummer", eq("stedsnummer", cql2.Int(2035119)), "id = 1"},
		{"sted", "stedsnavn", exists("skrivemaater", oslo), "id IN " + text("sted_id", "norm = 'oslo'")},
		{"sted", "stedsnavn, inside", exists("skrivemaater", sand), "id IN " + text("sted_id", "norm LIKE '%sand%'")},
		{"sted", "stedsnavn, end", exists("skrivemaater", like("langnavn", "%vatnet")),
			"id IN " + text("sted_id", "norm LIKE '%vatnet'")},
		{"sted", "navneobjekttyper", in("navneobjekttype", "fjell", "elv"), "navneobjekttype IN ('fjell', 'elv')"},
		{"sted", "stedstatuser", in("stedstatus", "relikt"), "stedstatus = 'relikt'"},
		{"sted", "land", eq("land", cql2.Text("SE")), "land = 'SE'"},
		{"sted", "kommuner", exists("kommuner", in("kommunenummer", "0301", "4601")),
			"kommuner LIKE '%0301%' OR kommuner LIKE '%4601%'"},
		{"sted", "kommuner and types", exists("kommuner", in("kommunenummer", "0301", "5610"),
			in("navneobjekttype", "fjell", "kommune")),
			"(kommuner LIKE '%0301%' OR kommuner LIKE '%5610%') AND navneobjekttype IN ('fjell', 'kommune')"},
		{"sted", "spraakprioriteringer", in("spraakprioritering", "nordsamisk-lulesamisk-sørsamisk-norsk-kvensk"),
			"spraakprioritering LIKE 'nordsamisk%'"},
		{"sted", "vedtaksmyndigheter", in("vedtaksmyndighet", "Avinor", "kommune"),
			"vedtaksmyndighet IN ('Avinor', 'kommune')"},
		{"sted", "tilleggsopplysning*", exists("tilleggsopplysninger", in("tilleggsopplysningstype", "historisk"),
			like("tekst", "%husmann%")),
			"id IN (SELECT sted_id FROM sted_tilleggsopplysning WHERE tilleggsopplysningstype = 'historisk' AND " +
				"tekst LIKE '%husmann%')"},
		{"sted", "merknad*", exists("merknader", in("merknadstype", "posisjon"), like("tekst", "%felt%")),
			"id IN (SELECT sted_id FROM sted_merknad WHERE merknadstype = 'posisjon' AND tekst LIKE '%felt%')"},
		{"sted", "avAllmennInteresse", eq("av_allmenn_interesse", cql2.Bool(true)), "av_allmenn_interesse"},

		{"stedsnavn", "stedsnavnnummer", eq("stedsnavnnummer", cql2.Int(2)), "stedsnavnnummer = 2"},
		{"stedsnavn", "stedsnavn", exists("skrivemaater", oslo), "id IN " + text("stedsnavn_id", "norm = 'oslo'")},
		{"stedsnavn", "kommuner", exists("kommuner", in("kommunenummer", "0301")), "kommuner LIKE '%0301%'"},
		{"stedsnavn", "spraak", in("spraak", "sme", "fkv"), "spraak IN ('sme', 'fkv')"},
		{"stedsnavn", "navnesakstatuser", in("navnesakstatus", "iverksattVedtak"),
			"navnesakstatus = 'iverksattVedtak'"},
		{"stedsnavn", "navnestatuser", in("navnestatus", "sidenavn"), "navnestatus = 'sidenavn'"},
		{"stedsnavn", "harPrimaerfunksjon", eq("har_primaerfunksjon", cql2.Bool(true)),
			"primaerfunksjon_id IS NOT NULL"},
		{"stedsnavn", "land", eq("land", cql2.Text("SE")), "sted_id IN (SELECT id FROM sted WHERE land = 'SE')"},
		{"stedsnavn", "vedtaksmyndigheter", in("vedtaksmyndighet", "Statskog"),
			"sted_id IN (SELECT id FROM sted WHERE vedtaksmyndighet = 'Statskog')"},
		{"stedsnavn", "avAllmennInteresse", eq("av_allmenn_interesse", cql2.Bool(true)),
			"sted_id IN (SELECT id FROM sted WHERE av_allmenn_interesse)"},
		{"stedsnavn", "tilleggsopplysning*",
			exists("tilleggsopplysninger", in("tilleggsopplysningstype", "språkfaglig")),
			"id IN (SELECT stedsnavn_id FROM stedsnavn_tilleggsopplysning WHERE tilleggsopplysningstype = " +
				"'språkfaglig')"},
		{"stedsnavn", "merknad*", exists("merknader", like("tekst", "%samisk%")),
			"id IN (SELECT stedsnavn_id FROM stedsnavn_merknad WHERE tekst LIKE '%samisk%')"},

		{"skrivemaate", "skrivemaatenummer", eq("skrivemaatenummer", cql2.Int(2)), "skrivemaatenummer = 2"},
		{"skrivemaate", "stedsnavn", oslo, "norm = 'oslo'"},
		{"skrivemaate", "stedsnavn, exact", cql2.Compare{Op: cql2.Eq,
			L: cql2.Func{Name: "exact", Args: []cql2.Expr{prop("langnavn")}}, R: cql2.Text("oslo")}, "eksakt = 'oslo'"},
		{"skrivemaate", "stedsnavn, prefix", like("langnavn", "stor%"), "norm LIKE 'stor%'"},
		{"skrivemaate", "skrivemaatestatuser", in("skrivemaatestatus", "avslått", "historisk"),
			"skrivemaatestatus IN ('avslått', 'historisk')"},
		{"skrivemaate", "skrivemaatestatusdato", after("skrivemaatestatusdato", dayOf("1991-07-01")),
			"skrivemaatestatusdato > '1991-07-01'"},
		{"skrivemaate", "prioritert", eq("prioritert", cql2.Bool(false)), "NOT prioritert"},
		{"skrivemaate", "kommuner", exists("kommuner", in("kommunenummer", "5601")), "kommuner LIKE '%5601%'"},
		{"skrivemaate", "merknad*", exists("merknader", in("merknadstype", "kilde")),
			"id IN (SELECT skrivemaate_id FROM skrivemaate_merknad WHERE merknadstype = 'kilde')"},
		{"skrivemaate", "dokumentasjonsdato", exists("dokumentasjon", after("dato", dayOf("2015-01-01"))),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon WHERE dato > '2015-01-01')"},
		{"skrivemaate", "bokSoek", exists("dokumentasjon",
			exists("bok", like("tittel", "%norske%"), like("utgave", "2%"), like("utgiver", "%forlag%"))),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon d JOIN bok b ON b.id = d.bok_id WHERE tittel LIKE " +
				"'%norske%' AND utgave LIKE '2%' AND utgiver LIKE '%forlag%')"},
		{"skrivemaate", "offentligKartforekomstSoek", exists("dokumentasjon", eq("offentlig", cql2.Bool(true)),
			exists("kartprodukt", eq("karttype", cql2.Text("turkart")))),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon d JOIN kartprodukt k ON k.id = d.kartprodukt_id WHERE " +
				"offentlig AND karttype = 'turkart')"},
		{"skrivemaate", "annenKartforekomstSoek",
			exists("dokumentasjon", eq("offentlig", cql2.Bool(false)), exists("kartprodukt", like("kartblad", "%1%"))),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon d JOIN kartprodukt k ON k.id = d.kartprodukt_id WHERE " +
				"NOT offentlig AND kartblad LIKE '%1%')"},
		{"skrivemaate", "opplysningSoek",
			exists("dokumentasjon", eq("art", cql2.Text("opplysning")), like("person", "%kari%")),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon WHERE art = 'opplysning' AND person LIKE '%kari%')"},
		{"skrivemaate", "lokaleInnsamlingerSoek",
			exists("dokumentasjon", eq("art", cql2.Text("lokalInnsamling")), like("person", "%a%")),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon WHERE art = 'lokalInnsamling' AND person_norm " +
				"LIKE '%a%')"},
		{"skrivemaate", "vedtakSoek",
			exists("dokumentasjon", exists("vedtak", eq("aar", cql2.Int(2010)), eq("arkivloepenummer", cql2.Int(1)),
				exists("navnesak", like("beskrivelse", "%skrivematen%"), like("arkivreferanse", "2010%")))),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon d JOIN vedtak v ON v.id = d.vedtak_id WHERE v.aar = " +
				"2010 AND v.arkivloepenummer = 1)"},
		{"skrivemaate", "samlevedtakSoek",
			exists("dokumentasjon", exists("del_av_samlevedtak", eq("arkivloepenummer", cql2.Int(2)),
				exists("samlevedtak", like("beskrivelse", "%navneledd%"), after("aar", cql2.Int(2000)),
					after("saksnummer", cql2.Int(20))))),
			`id IN (SELECT skrivemaate_id FROM dokumentasjon d JOIN del_av_samlevedtak p ON p.id = d.del_av_samlevedtak_id JOIN samlevedtak s ON s.id = p.samlevedtak_id
				WHERE p.arkivloepenummer = 2 AND s.beskrivelse LIKE '%navneledd%' AND s.aar > 2000 AND s.saksnummer > 20)`},
		{"skrivemaate", "klageSoek", exists("dokumentasjon", exists("klage", after("aar", cql2.Int(2005)),
			like("beskrivelse", "%klage%"), like("arkivreferanse", "20%"))),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon d JOIN klage k ON k.id = d.klage_id WHERE k.aar > 2005)"},
		{"skrivemaate", "dokumentSoek", exists("dokumentasjon", eq("art", cql2.Text("dokument")),
			eq("dokumenttype", cql2.Text("brev")), like("tekst", "%navn%")),
			"id IN (SELECT skrivemaate_id FROM dokumentasjon WHERE dokumenttype = 'brev' AND tekst LIKE '%navn%')"},

		{"navnesak", "aar", eq("aar", cql2.Int(2002)), "aar = 2002"},
		{"navnesak", "saksnummer", eq("saksnummer", cql2.Int(32)), "id = 32"},
		{"navnesak", "klagesak", eq("klagesak", cql2.Bool(true)), "klage_id IS NOT NULL"},
		{"navnesak", "avsluttet", eq("avsluttet", cql2.Bool(false)), "sluttdato IS NULL"},
		{"navnesak", "beskrivelse", like("beskrivelse", "klagesak%"), "beskrivelse LIKE 'Klagesak%'"},
		{"navnesak", "arkivreferanse", like("arkivreferanse", "2002/%"), "arkivreferanse LIKE '2002/%'"},
		{"navnesak", "vedtaksmyndighet", eq("vedtaksmyndighet", cql2.Text("kommune")), "vedtaksmyndighet = 'kommune'"},
		{"navnesak", "omraade", eq("omraade", cql2.Text("samiskOmråde")), "omraade = 'samiskOmråde'"},
		{"navnesak", "stedsnavn", exists("stedsnavn", exists("skrivemaater", oslo)),
			"id IN (SELECT navnesak_id FROM navnesak_stedsnavn WHERE stedsnavn_id IN " +
				text("stedsnavn_id", "norm = 'oslo'") + ")"},
		{"navnesak", "kommuner", exists("kommuner", in("kommunenummer", "0301")),
			"id IN (SELECT navnesak_id FROM navnesak_kommune WHERE kommunenummer = '0301')"},

		{"vedtak", "arkivloepenummer", eq("arkivloepenummer", cql2.Int(2)), "arkivloepenummer = 2"},
		{"vedtak", "vedtatt", after("vedtaksdato", dayOf("2020-01-01")), "vedtaksdato > '2020-01-01'"},
		{"vedtak", "skrivemaate", exists("skrivemaater", exists("skrivemaate", sand)),
			"id IN (SELECT vedtak_id FROM vedtak_skrivemaate WHERE skrivemaate_id IN " +
				text("id", "norm LIKE '%sand%'") + ")"},
		{"vedtak", "kommuner", exists("kommuner", in("kommunenummer", "0301")),
			"navnesak_id IN (SELECT navnesak_id FROM navnesak_kommune WHERE kommunenummer = '0301')"},
		{"vedtak", "vedtaksmyndighet", eq("vedtaksmyndighet", cql2.Text("kommune")), "vedtaksmyndighet = 'kommune'"},
		{"vedtak", "omraade", eq("omraade", cql2.Text("nordNorge")), "omraade = 'nordNorge'"},

		{"samlevedtak", "stedsnavn", exists("deler", exists("skrivemaater", oslo)),
			"id IN (SELECT samlevedtak_id FROM del_av_samlevedtak WHERE stedsnavn_id IN " +
				text("stedsnavn_id", "norm = 'oslo'") + ")"},
		{"samlevedtak", "stedsnummer, stedsnavnnummer",
			exists("deler", eq("stedsnummer", cql2.Int(1131621)), eq("stedsnavnnummer", cql2.Int(1))),
			"id IN (SELECT samlevedtak_id FROM del_av_samlevedtak WHERE stedsnavn_id = 3731)"},
		{"samlevedtak", "beskrivelse", like("beskrivelse", "%byer%"), "beskrivelse LIKE '%byer%'"},

		{"matrikkel_sted", "numbers", cql2.And{eq("kommunenummer", cql2.Text("0301")), eq("gaardsnummer", cql2.Int(1)),
			eq("bruksnummer", cql2.Int(1)),
			eq("festenummer", cql2.Int(0)), eq("seksjonsnummer", cql2.Int(0))},
			"kommunenummer = '0301' AND gaardsnummer = 1 AND bruksnummer = 1"},
		{"matrikkel_sted", "tilleggsopplysning", like("tilleggsopplysning", "%teig%"),
			"tilleggsopplysning LIKE '%teig%'"},
		{"matrikkel_sted", "stedsnavn", exists("skrivemaater", sand),
			"sted_id IN " + text("sted_id", "norm LIKE '%sand%'")},
		{"matrikkel_stedsnavn", "stedsnavn", exists("skrivemaater", sand),
			"stedsnavn_id IN " + text("stedsnavn_id", "norm LIKE '%sand%'")},
		{"matrikkel_skrivemaate", "stedsnavn", exists("skrivemaater", sand),
			"skrivemaate_id IN " + text("id", "norm LIKE '%sand%'")},
		{"matrikkel_skrivemaate", "navneobjekttyper", in("navneobjekttype", "gard", "bruk"),
			"navneobjekttype IN ('gard', 'bruk')"},

		{"bok", "soeketekst", cql2.And{like("soeketekst", "%norske%"), like("soeketekst", "%kart%")},
			"soeketekst LIKE '%norske%' AND soeketekst LIKE '%kart%'"},
		{"kartprodukt", "produktkode", eq("karttype", cql2.Text("turkart")), "karttype = 'turkart'"},
		{"kartprodukt", "kartblad", like("kartblad", "oslo"), "kartblad = 'Oslo'"},
		{"kartprodukt", "utgivelsesaar", eq("utgivelsesaar", cql2.Int(1990)), "utgivelsesaar = 1990"},
		{"kode", "liste", eq("liste", cql2.Text("land")), "liste = 'land'"},
	} {
		t.Run(c.collection+" "+c.field, func(t *testing.T) {
			t.Parallel()
			page, err := s.Page(t.Context(), store.Query{Collection: c.collection, Filter: c.filter, Limit: 10_000})
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, r := range page.Rows {
				got = append(got, r.ID)
			}
			for _, r := range ask(t, "SELECT id FROM "+c.collection+" WHERE "+c.where) {
				want = append(want, r[0])
			}
			byNumber := func(a, b string) int {
				x, _ := strconv.Atoi(a)
				y, _ := strconv.Atoi(b)
				return x - y
			}
			slices.SortFunc(got, byNumber)
			slices.SortFunc(want, byNumber)
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%d hits, want %d and at least one", len(got), len(want))
			}
		})
	}
}

// TestRegistersOfAnOlderFoldAreRefused: names would not be found as they are folded now.
func TestRegistersOfAnOlderFoldAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.gpkg")
	write(t, path, 50)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err == nil {
		err = sqlitex.Execute(conn,
			`UPDATE grense_collection SET definition = replace(definition, ',"Fold":"`+fold.NormVersion+`"', '')`, nil)
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	s := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()}))
	if _, ok := s.Catalog().Collection("skrivemaate"); ok {
		t.Error("spellings of an older fold are served")
	}
	if !slices.ContainsFunc(s.Catalog().Notes, func(n store.Note) bool {
		return n.Layer == "skrivemaate" && n.Refused && strings.Contains(n.Reason, "grense register upgrade")
	}) {
		t.Errorf("no note tells the cure: %+v", s.Catalog().Notes)
	}
}
