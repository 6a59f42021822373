package placename_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	api "grense/api/placename"
)

// search is one of the eleven, with everything to compare it with the oracle.
type search struct {
	table   string
	request func() api.Request
	object  string // field of the request that holds the search object; "" for the request itself
	compare func(t testing.TB, f *fixture, s api.Searcher, r api.Request) int
	always  map[string]draw // fields without which there is no search
	draws   map[string]draw // every other field, nested ones with dots
}

// draw makes a value that suits a record; nil when the record has none. Some draws set more than one field.
type draw func(d *drawing, r row) []setting

type setting struct {
	path  string // relative to the search object
	value any
}

// comparison queries the service and the oracle, and reports the first difference. The result is the number of hits.
func comparison[H any, L interface {
	~[]H
	api.Hits
}, R api.Request](rows func(*oracle, R) []row,
	hit func(*oracle, row, api.Flags) H) func(testing.TB, *fixture, api.Searcher, api.Request) int {
	return func(t testing.TB, f *fixture, s api.Searcher, r api.Request) int {
		t.Helper()
		got := hits[H, L](t, s, r)
		want := rows(f.oracle, r.(R))
		for i := range max(len(got), len(want)) {
			switch {
			case i >= len(want):
				t.Errorf("%s: %d hits, want %d; one too many is %s", describe(r), len(got), len(want), show(got[i]))
			case i >= len(got):
				t.Errorf("%s: %d hits, want %d; missing is %s", describe(r), len(got), len(want),
					show(hit(f.oracle, want[i], flagsOf(r))))
			default:
				if w := hit(f.oracle, want[i], flagsOf(r)); !reflect.DeepEqual(got[i], w) {
					t.Errorf("%s: hit %d of %d (want %d):\n got %s\nwant %s", describe(r), i+1, len(got), len(want),
						show(got[i]), show(w))
				} else {
					continue
				}
			}
			break
		}
		return len(got)
	}
}

func flagsOf(r api.Request) (f api.Flags) {
	if v := reflect.ValueOf(r).Elem().FieldByName("Flags"); v.IsValid() {
		f = v.Interface().(api.Flags)
	}
	return f
}

var nulls = regexp.MustCompile(`"\w+":null,?`)

// show is JSON without nulls.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return nulls.ReplaceAllString(string(b), "")
}

// set writes a value into a field, through pointers, which it makes.
func set(v reflect.Value, path string, value any) {
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.FieldByName(name)
	}
	x := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer && x.Kind() != reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	v.Set(x.Convert(v.Type()))
}

// leaves lists the fields of a search object, nested ones with dots.
func leaves(t reflect.Type, prefix string) (out []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous:
		case inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]():
			out = append(out, leaves(inner, prefix+f.Name+".")...)
		default:
			out = append(out, prefix+f.Name)
		}
	}
	return out
}

// target returns the search object of a request.
func (s *search) target(r api.Request) reflect.Value {
	v := reflect.ValueOf(r).Elem()
	if s.object != "" {
		v = v.FieldByName(s.object)
	}
	return v
}

// searches has all eleven, by operation.
var searches = map[string]*search{
	"findSteder": {
		table: "sted", object: "StedSoek", request: func() api.Request { return new(api.FindSteder) },
		compare: comparison[api.StedTreff, api.StedTreffList](
			func(o *oracle, r *api.FindSteder) []row { return o.steder(&r.StedSoek) }, (*oracle).stedTreff),
		draws: map[string]draw{
			"RegistrertEtter": moment("registrert",
				-1), "RegistrertFoer": moment("registrert", 1), "OppdatertEtter": moment("oppdatert", -1),
			"OppdatertFoer": moment("oppdatert",
				1), "Stedsnummer": number64("stedsnummer"),
			"Stedsnavn": placeName("Stedsnavn", spellingsOf("sted_id", "id")),
			"AvansertSoek": word(
				spellingsOf("sted_id", "id"),
			), "NavneobjekttyperIds": codes("navneobjekttype"), "StedstatuserIds": codes("stedstatus"),
			"LandId": code(
				"land",
			), "KommunerIds": column("sted_kommune", "sted_id", "id", codes("kommunenummer")),
			"SpraakprioriteringerIds": codes("spraakprioritering"),
			"VedtaksmyndigheterIds":   codes("vedtaksmyndighet"),
			"TilleggsopplysningstyperIds": column("sted_tilleggsopplysning", "sted_id", "id",
				codes("tilleggsopplysningstype")),
			"Tilleggsopplysningtekst": column("sted_tilleggsopplysning", "sted_id", "id", free("tekst")),
			"MerknadstyperIds":        column("sted_merknad", "sted_id", "id", codes("merknadstype")),
			"Merknadstekst":           column("sted_merknad", "sted_id", "id", free("tekst")),
			"AvAllmennInteresse":      flag("av_allmenn_interesse"),
		},
	},
	"findStedsnavn": {
		table: "stedsnavn", object: "StedsnavnSoek", request: func() api.Request { return new(api.FindStedsnavn) },
		compare: comparison[api.StedsnavnTreff, api.StedsnavnTreffList](
			func(o *oracle, r *api.FindStedsnavn) []row {
				return o.stedsnavn(&r.StedsnavnSoek)
			}, (*oracle).stedsnavnTreff),
		draws: map[string]draw{
			"RegistrertEtter": moment("registrert",
				-1), "RegistrertFoer": moment("registrert", 1), "OppdatertEtter": moment("oppdatert", -1),
			"OppdatertFoer": moment("oppdatert",
				1), "Stedsnummer": number64("stedsnummer"), "Stedsnavnnummer": number32("stedsnavnnummer"),
			"Stedsnavn": placeName("Stedsnavn", spellingsOf("stedsnavn_id", "id")),
			"AvansertSoek": word(
				spellingsOf("stedsnavn_id", "id"),
			), "NavneobjekttyperIds": codes("navneobjekttype"), "VedtaksmyndigheterIds": codes("vedtaksmyndighet"),
			"LandId": code(
				"land",
			), "KommunerIds": column("sted_kommune", "sted_id", "sted_id", codes("kommunenummer")),
			"SpraakIds": codes("spraak"),
			"NavnesakstatuserIds": codes(
				"navnesakstatus",
			), "NavnestatuserIds": codes("navnestatus"), "HarPrimaerfunksjon": flag("har_primaerfunksjon"),
			"TilleggsopplysningstyperIds": column("stedsnavn_tilleggsopplysning", "stedsnavn_id", "id",
				codes("tilleggsopplysningstype")),
			"Tilleggsopplysningtekst": column("stedsnavn_tilleggsopplysning", "stedsnavn_id", "id", free("tekst")),
			"MerknadstyperIds":        column("stedsnavn_merknad", "stedsnavn_id", "id", codes("merknadstype")),
			"Merknadstekst":           column("stedsnavn_merknad", "stedsnavn_id", "id", free("tekst")),
			"AvAllmennInteresse":      flag("av_allmenn_interesse"),
		},
	},
	"findSkrivemaater": {
		table: "skrivemaate", object: "SkrivemaateSoek", request: func() api.Request {
			return new(api.FindSkrivemaater)
		},
		compare: comparison[api.SkrivemaateTreff, api.SkrivemaateTreffList](
			func(o *oracle, r *api.FindSkrivemaater) []row { return o.skrivemaater(&r.SkrivemaateSoek) },
			(*oracle).skrivemaateTreff,
		),
		draws: map[string]draw{
			"RegistrertEtter": moment("registrert",
				-1), "RegistrertFoer": moment("registrert", 1), "OppdatertEtter": moment("oppdatert", -1),
			"OppdatertFoer": moment("oppdatert",
				1), "Stedsnummer": number64("stedsnummer"), "Stedsnavnnummer": number32("stedsnavnnummer"),
			"Skrivemaatenummer": number32(
				"skrivemaatenummer",
			), "Stedsnavn": placeName("Stedsnavn", itself), "AvansertSoek": word(itself),
			"SkrivemaatestatuserIds": codes("skrivemaatestatus"), "Prioritert": flag("prioritert"),
			"SkrivemaatestatusdatoEtter": day("skrivemaatestatusdato",
				-1), "SkrivemaatestatusdatoFoer": day("skrivemaatestatusdato", 1),
			"NavneobjekttyperIds": codes(
				"navneobjekttype",
			), "VedtaksmyndigheterIds": codes("vedtaksmyndighet"), "LandId": code("land"),
			"KommunerIds": column("sted_kommune", "sted_id", "sted_id",
				codes("kommunenummer")),
			"SpraakIds":                            codes("spraak"),
			"NavnesakstatuserIds":                  codes("navnesakstatus"),
			"DokumentasjonsdatoEtter":              documented("", day("dato", -1)),
			"DokumentasjonsdatoFoer":               documented("", day("dato", 1)),
			"BokSoek.Tittel":                       documented("bok", free("tittel")),
			"BokSoek.Utgave":                       documented("bok", free("utgave")),
			"BokSoek.Utgiver":                      documented("bok", free("utgiver")),
			"OffentligKartforekomstSoek.ProduktId": documented("kart+", code("karttype")),
			"OffentligKartforekomstSoek.Kartblad":  documented("kart+", free("kartblad")),
			"AnnenKartforekomstSoek.ProduktId":     documented("kart-", code("karttype")),
			"AnnenKartforekomstSoek.Kartblad":      documented("kart-", free("kartblad")),
			"OpplysningSoek.Informant":             documented("opplysning", free("person")),
			"LokaleInnsamlingerSoek.Innsamler":     documented("lokalInnsamling", free("person")),
			"VedtakSoek.Aar":                       documented("navnesak", number32("aar")),
			"VedtakSoek.Saksnummer":                documented("navnesak", number32("saksnummer")),
			"VedtakSoek.Arkivloepenummer":          documented("vedtak", number32("arkivloepenummer")),
			"VedtakSoek.Arkivreferanse":            documented("navnesak", free("arkivreferanse")),
			"VedtakSoek.Beskrivelse":               documented("navnesak", free("beskrivelse")),
			"SamlevedtakSoek.Aar":                  documented("samlevedtak", number32("aar")),
			"SamlevedtakSoek.Saksnummer":           documented("samlevedtak", number32("saksnummer")),
			"SamlevedtakSoek.Arkivloepenummer":     documented("del", number32("arkivloepenummer")),
			"SamlevedtakSoek.Arkivreferanse":       documented("samlevedtak", free("arkivreferanse")),
			"SamlevedtakSoek.Beskrivelse":          documented("samlevedtak", free("beskrivelse")),
			"KlageSoek.Aar":                        documented("klage", number32("aar")),
			"KlageSoek.Saksnummer":                 documented("klage", number32("saksnummer")),
			"KlageSoek.Arkivreferanse":             documented("klage", free("arkivreferanse")),
			"KlageSoek.Beskrivelse":                documented("klage", free("beskrivelse")),
			"DokumentSoek.Entry":                   documented("dokument", entry),
			"MerknadstyperIds": column("skrivemaate_merknad", "skrivemaate_id", "id",
				codes("merknadstype")),
			"Merknadstekst": column("skrivemaate_merknad", "skrivemaate_id", "id",
				free("tekst")),
			"AvAllmennInteresse": flag("av_allmenn_interesse"),
		},
	},
	"findNavnesaker": {
		table: "navnesak", object: "NavnesakSoek", request: func() api.Request { return new(api.FindNavnesaker) },
		compare: comparison[api.NavnesakTreff, api.NavnesakTreffList](
			func(o *oracle, r *api.FindNavnesaker) []row {
				return o.navnesaker(&r.NavnesakSoek)
			}, (*oracle).navnesakTreff),
		draws: map[string]draw{
			"RegistrertEtter": moment("registrert",
				-1), "RegistrertFoer": moment("registrert", 1), "OppdatertEtter": moment("oppdatert", -1),
			"OppdatertFoer": moment("oppdatert",
				1), "Aar": number32("aar"), "Saksnummer": number32("saksnummer"), "Klagesak": flag("klagesak"),
			"Avsluttet": flag(
				"avsluttet",
			), "Beskrivelse": free("beskrivelse"), "VedtaksmyndighetId": code("vedtaksmyndighet"),
			"OmraadeId": code("omraade"),
			"Arkivreferanse": free(
				"arkivreferanse",
			), "KommunerIds": column("navnesak_kommune", "navnesak_id", "id", codes("kommunenummer")),
			"Stedsnavn": column("navnesak_stedsnavn", "navnesak_id", "id",
				placeName("Stedsnavn", spellingsOf("stedsnavn_id", "stedsnavn_id"))),
		},
	},
	"findVedtak": {
		table: "vedtak", object: "VedtakSoek", request: func() api.Request { return new(api.FindVedtak) },
		compare: comparison[api.VedtakTreff, api.VedtakTreffList](
			func(o *oracle, r *api.FindVedtak) []row { return o.vedtak(&r.VedtakSoek) }, (*oracle).vedtakTreff),
		draws: map[string]draw{
			"Aar": number32(
				"aar",
			), "Saksnummer": number32("saksnummer"), "Arkivloepenummer": number32("arkivloepenummer"),
			"VedtattEtter": day("vedtaksdato", -1),
			"VedtattFoer":  day("vedtaksdato", 1), "VedtaksmyndighetId": code("vedtaksmyndighet"),
			"OmraadeId":   code("omraade"),
			"KommunerIds": column("navnesak_kommune", "navnesak_id", "navnesak_id", codes("kommunenummer")),
			"Skrivemaate": column("vedtak_skrivemaate", "vedtak_id", "id",
				placeName("Skrivemaate", spellingsOf("id", "skrivemaate_id"))),
		},
	},
	"findSamlevedtak": {
		table: "samlevedtak", object: "SamlevedtakSoek", request: func() api.Request {
			return new(api.FindSamlevedtak)
		},
		compare: comparison[api.SamlevedtakTreff, api.SamlevedtakTreffList](
			func(o *oracle, r *api.FindSamlevedtak) []row { return o.samlevedtak(&r.SamlevedtakSoek) },
			(*oracle).samlevedtakTreff,
		),
		draws: map[string]draw{
			"RegistrertEtter": moment("registrert",
				-1), "RegistrertFoer": moment("registrert", 1), "OppdatertEtter": moment("oppdatert", -1),
			"OppdatertFoer": moment("oppdatert",
				1), "Aar": number32("aar"), "Saksnummer": number32("saksnummer"), "Beskrivelse": free("beskrivelse"),
			"Arkivreferanse": free("arkivreferanse"),
			"Stedsnummer": column("del_av_samlevedtak", "samlevedtak_id", "id",
				number64("stedsnummer")),
			"Stedsnavnnummer": column("del_av_samlevedtak", "samlevedtak_id", "id", rarer("stedsnavnnummer")),
			"Stedsnavn": column("del_av_samlevedtak", "samlevedtak_id", "id",
				placeName("Stedsnavn", spellingsOf("stedsnavn_id", "stedsnavn_id"))),
		},
	},
	"findStederForMatrikkelenhetreferanse": cadastral("matrikkel_sted", "sted_id",
		func() api.Request { return new(api.FindStederForMatrikkelenhetreferanse) },
		comparison[api.StedMatrikkelenhetreferanseTreff, api.StedMatrikkelenhetreferanseTreffList](
			func(o *oracle, r *api.FindStederForMatrikkelenhetreferanse) []row {
				return o.matrikkel("matrikkel_sted", "sted_id", &r.Soek)
			}, (*oracle).matrikkelStedTreff)),
	"findStedsnavnForMatrikkelenhetreferanse": cadastral("matrikkel_stedsnavn", "stedsnavn_id",
		func() api.Request { return new(api.FindStedsnavnForMatrikkelenhetreferanse) },
		comparison[api.StedsnavnMatrikkelenhetreferanseTreff, api.StedsnavnMatrikkelenhetreferanseTreffList](
			func(o *oracle, r *api.FindStedsnavnForMatrikkelenhetreferanse) []row {
				return o.matrikkel("matrikkel_stedsnavn", "stedsnavn_id",
					(*api.StedMatrikkelenhetreferanseSoek)(&r.Soek))
			}, (*oracle).matrikkelStedsnavnTreff)),
	"findSkrivemaaterForMatrikkelenhetreferanse": cadastral("matrikkel_skrivemaate", "skrivemaate_id",
		func() api.Request { return new(api.FindSkrivemaaterForMatrikkelenhetreferanse) },
		comparison[api.SkrivemaateMatrikkelenhetreferanseTreff, api.SkrivemaateMatrikkelenhetreferanseTreffList](
			func(o *oracle, r *api.FindSkrivemaaterForMatrikkelenhetreferanse) []row {
				return o.matrikkel("matrikkel_skrivemaate", "skrivemaate_id",
					(*api.StedMatrikkelenhetreferanseSoek)(&r.Soek))
			}, (*oracle).matrikkelSkrivemaateTreff)),
	"findBoeker": {
		table: "bok", request: func() api.Request { return new(api.FindBoeker) },
		compare: comparison[api.BokTreff, api.BokTreffList](
			func(o *oracle, r *api.FindBoeker) []row { return o.boeker(r.Soeketekst) }, (*oracle).bokTreff),
		always: map[string]draw{"Soeketekst": bookWords},
		draws:  map[string]draw{"Soeketekst": bookWords},
	},
	"findKartprodukter": {
		table: "kartprodukt", request: func() api.Request { return new(api.FindKartprodukter) },
		compare: comparison[api.KartproduktTreff, api.KartproduktTreffList](
			func(o *oracle, r *api.FindKartprodukter) []row { return o.kartprodukter(r) }, (*oracle).kartproduktTreff),
		draws: map[string]draw{
			"ProduktkodeId": code("karttype"),
			"Kartblad":      free("kartblad"),
			"Utgivelsesaar": number32("utgivelsesaar"),
		},
	},
}

// cadastral is a search by cadastral unit: the municipality of the record with any farm, unless a draw says which.
func cadastral(
	table, owner string,
	request func() api.Request,
	compare func(testing.TB, *fixture, api.Searcher, api.Request) int,
) *search {
	spellings := spellingsOf(owner, owner)
	if owner == "skrivemaate_id" {
		spellings = spellingsOf("id", owner)
	}
	return &search{
		table: table, object: "Soek", request: request, compare: compare,
		always: map[string]draw{"Kommunenummer": code("kommunenummer"), "Gaardsnummer": anyFarm},
		draws: map[string]draw{
			"Kommunenummer": code(
				"kommunenummer",
			), "Gaardsnummer": numbers("gaardsnummer"), "Bruksnummer": numbers("bruksnummer"),
			"Festenummer": number32(
				"festenummer",
			), "Seksjonsnummer": number32("seksjonsnummer"), "Tilleggsopplysningtekst": free("tilleggsopplysning"),
			"Stedsnavn": placeName("Stedsnavn", spellings), "NavneobjekttypeIds": codes("navneobjekttype"),
		},
	}
}
