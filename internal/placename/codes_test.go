package placename_test

import (
	"errors"
	"strings"
	"testing"

	api "grense/api/placename"
	"grense/internal/placename"
)

// TestUnknownCodesAreRefusedWithTheNearest in every field that takes a code.
func TestUnknownCodesAreRefusedWithTheNearest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for name, f := range setup(t).inBothStores(t) {
		t.Run(name, func(t *testing.T) { unknownCodesAreRefused(t, f) })
	}
}

func unknownCodesAreRefused(t *testing.T, f *fixture) {
	refuses, matchesNothing := placename.New(
		f.store,
		placename.Options{},
	), placename.New(f.store, placename.Options{MaxHits: 1_000_000, UnknownCodes: placename.NoMatch})
	for _, c := range []struct {
		op, field string
		value     any
		want      string // path, value and cure, in English
	}{
		{"findSteder", "NavneobjekttyperIds", []string{"fjell", "fjel"},
			`stedSoek/navneobjekttyperIds = "fjel": there is no such code; nearest: fjell`},
		{"findSteder", "StedstatuserIds", []string{"aktive"},
			`stedSoek/stedstatuserIds = "aktive": there is no such code; nearest: aktiv`},
		{"findSteder", "LandId", "Norje", `stedSoek/landId = "Norje": there is no such code; nearest: Norge`},
		{"findSteder", "SpraakprioriteringerIds", []string{"nordsamisk"},
			`stedSoek/spraakprioriteringerIds = "nordsamisk": there is no such code; nearest: norsk-nordsamisk-`},
		{"findSteder", "VedtaksmyndigheterIds", []string{"komune"},
			`stedSoek/vedtaksmyndigheterIds = "komune": there is no such code; nearest: kommune`},
		{"findSteder", "TilleggsopplysningstyperIds", []string{"historie"},
			`stedSoek/tilleggsopplysningstyperIds = "historie": there is no such code; nearest: historisk`},
		{"findSteder", "MerknadstyperIds", []string{"uttale"},
			`stedSoek/merknadstyperIds = "uttale": there is no such code; `},
		{"findStedsnavn", "MerknadstyperIds", []string{"kilde"},
			`stedsnavnSoek/merknadstyperIds = "kilde": there is no such code; `},
		{"findStedsnavn", "SpraakIds", []string{"nordsamsk"},
			`stedsnavnSoek/spraakIds = "nordsamsk": there is no such code; nearest: nordsamisk`},
		{"findStedsnavn", "NavnesakstatuserIds", []string{"klage"},
			`stedsnavnSoek/navnesakstatuserIds = "klage": there is no such code; nearest: klage`},
		{"findStedsnavn", "NavnestatuserIds", []string{"xyzzy"},
			`stedsnavnSoek/navnestatuserIds = "xyzzy": there is no such code; the codes are at /codelists/navnestatus`},
		{"findSkrivemaater", "SkrivemaatestatuserIds", []string{"vedtat"},
			`skrivemaateSoek/skrivemaatestatuserIds = "vedtat": there is no such code; nearest: vedtatt`},
		{"findSkrivemaater", "MerknadstyperIds", []string{"kjelde"},
			`skrivemaateSoek/merknadstyperIds = "kjelde": there is no such code; nearest: kilde`},
		{"findSkrivemaater", "OffentligKartforekomstSoek.ProduktId", "fylkekart",
			`skrivemaateSoek/offentligKartforekomstSoek/produktId = "fylkekart": there is no such code; nearest: ` +
				`fylkeskart`},
		{"findSkrivemaater", "DokumentSoek.Entry", []api.DokumentSoekEntry{{Key: "brev"}, {Key: "brevet"}},
			`skrivemaateSoek/dokumentSoek/entry[2]/key = "brevet": there is no such code; nearest: brev`},
		{"findNavnesaker", "VedtaksmyndighetId", "departementet",
			`navnesakSoek/vedtaksmyndighetId = "departementet": there is no such code; nearest: departement`},
		{"findVedtak", "OmraadeId", "østlandet",
			`vedtakSoek/omraadeId = "østlandet": there is no such code; nearest: østlandetOgAgder`},
		{"findKartprodukter", "ProduktkodeId", "turkartet",
			`produktkodeId = "turkartet": there is no such code; nearest: turkart`},
		{"findStederForMatrikkelenhetreferanse", "NavneobjekttypeIds", []string{"gaard"},
			`soek/navneobjekttypeIds = "gaard": there is no such code; nearest: gard`},
	} {
		s := searches[c.op]
		r := s.request()
		set(s.target(r), c.field, c.value)
		if m, ok := r.(*api.FindStederForMatrikkelenhetreferanse); ok {
			m.Soek.Kommunenummer, m.Soek.Gaardsnummer = "0301", "1"
		}
		_, err := refuses.Search(t.Context(), r)
		refusal, ok := errors.AsType[*api.Refusal](err)
		if !ok || !strings.HasPrefix(refusal.Text(api.English), c.op+"/"+c.want) || len(refusal.Faults) != 1 {
			t.Errorf("%s %s: %v\nwant %s/%s", c.op, c.field, err, c.op, c.want)
		}
		if a, err := matchesNothing.Search(t.Context(), r); err != nil ||
			a.Count != 0 && c.field != "NavneobjekttyperIds" {
			t.Errorf("%s %s: %d hits, %v", c.op, c.field, a.Count, err)
		}
	}
}

// TestCodesCompareWithoutCase, and countries and languages by either form.
func TestCodesCompareWithoutCase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for name, f := range setup(t).inBothStores(t) {
		t.Run(name, func(t *testing.T) { codesCompareWithoutCase(t, f.service()) })
	}
}

func codesCompareWithoutCase(t *testing.T, s *placename.Service) {
	count := func(r api.Request) int {
		t.Helper()
		a, err := s.Search(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", describe(r), err)
		}
		return a.Count
	}
	for _, c := range []struct{ one, other api.StedsnavnSoek }{
		{api.StedsnavnSoek{NavneobjekttyperIds: []string{"fjell"}},
			api.StedsnavnSoek{NavneobjekttyperIds: []string{"FJELL"}}},
		{api.StedsnavnSoek{NavneobjekttyperIds: []string{"vikISjø"}},
			api.StedsnavnSoek{NavneobjekttyperIds: []string{"vikisjØ"}}},
		{api.StedsnavnSoek{SpraakIds: []string{"sme"}}, api.StedsnavnSoek{SpraakIds: []string{"Nordsamisk"}}},
		{api.StedsnavnSoek{SpraakIds: []string{"sme"}}, api.StedsnavnSoek{SpraakIds: []string{"SME"}}},
		{api.StedsnavnSoek{LandId: ptr("SE")}, api.StedsnavnSoek{LandId: ptr("sverige")}},
	} {
		one, other := count(&api.FindStedsnavn{StedsnavnSoek: c.one}), count(&api.FindStedsnavn{StedsnavnSoek: c.other})
		if one == 0 || one != other {
			t.Errorf("%+v finds %d, %+v %d", c.one, one, c.other, other)
		}
	}
}
