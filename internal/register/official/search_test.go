package official_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	api "grense/api/placename"
	"grense/internal/placename"
	"grense/internal/register"
	"grense/internal/register/official"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// importedStore is a GeoPackage of files, opened.
func importedStore(t testing.TB, files ...string) store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "register.gpkg")
	im, err := official.Read(t.Context(), files, official.Options{})
	defer func() { _ = im.Close() }()
	if err != nil {
		t.Fatal(err)
	}
	w, err := gpkg.CreateDated(t.Context(), path, im.Dated())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := register.Define(t.Context(), w, false); err != nil {
		t.Fatal(err)
	}
	if err := im.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// search runs a search and returns its hits.
func search[L interface {
	~[]H
	api.Hits
}, H any](t *testing.T, s api.Searcher, r api.Request) []H {
	t.Helper()
	a, err := s.Search(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", r.Operation(), err)
	}
	var out []H
	for a.Next != nil {
		h, err := a.Next(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", r.Operation(), err)
		}
		if h == nil {
			break
		}
		out = append(out, h.(L)...)
	}
	return out
}

func ptr[T any](v T) *T { return &v }

// Each place of the official sample is found by each of its spellings, with the values that the file has.
func TestSearchesAnswerFromTheOfficialSample(t *testing.T) {
	t.Parallel()
	file := sharedtest.Path(t, "data", "placenames", "ssr-sample-20231001.gml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := placename.New(importedStore(t, file), placename.Options{})
	value := func(part, element string) string {
		m := regexp.MustCompile("<app:" + element + ">([^<]*)<").FindStringSubmatch(part)
		if m == nil {
			return ""
		}
		return m[1]
	}
	parts := strings.Split(string(text), "<gml:featureMember>")[1:]
	if len(parts) != 9 {
		t.Fatalf("%d places in the sample", len(parts))
	}
	spellings := regexp.MustCompile("<app:komplettskrivemåte>([^<]*)<")
	languages := map[string]string{"norsk": "nor", "sørsamisk": "sma", "nordsamisk": "sme"}
	for _, part := range parts {
		number := value(part, "stedsnummer")
		for _, m := range spellings.FindAllStringSubmatch(part, -1) {
			steder := search[api.StedTreffList](t, s,
				&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr(m[1])}, Flags: api.Flags{InkluderGeometri: true}})
			if len(steder) != 1 {
				t.Errorf("%s: %d places", m[1], len(steder))
				continue
			}
			h := steder[0]
			if fmt.Sprint(h.Ident.Stedsnummer) != number || h.StedId != number ||
				h.NavneobjekttypeId != value(part, "navneobjekttype") ||
				h.LandId != "NO" ||
				h.SpraakprioriteringId != value(part, "språkprioritering") ||
				h.Sortering.Sortering1KodeId != value(part, "sortering") ||
				!slices.Equal(h.KommunerIds, []string{value(part, "kommunenummer")}) {
				t.Errorf("%s: %+v", m[1], h)
			}
			pos := regexp.MustCompile("<gml:pos(?:List)?>([0-9.]+)0* ([0-9.]+)0*").FindStringSubmatch(part)
			if want := strings.TrimRight(pos[2], "0") + " " + strings.TrimRight(pos[1], "0"); !strings.Contains(
				h.Geometri,
				want,
			) {
				t.Errorf("%s: %s lacks %s", m[1], h.Geometri, want)
			}
			names := search[api.StedsnavnTreffList](t, s,
				&api.FindStedsnavn{StedsnavnSoek: api.StedsnavnSoek{Stedsnavn: ptr(m[1])}})
			if len(names) != 1 ||
				languages[value(part[:strings.Index(part, m[0])][strings.LastIndex(part[:strings.Index(part, m[0])],
					"<app:Stedsnavn>"):], "språk")] != names[0].SpraakId {
				t.Errorf("%s: names %+v", m[1], names)
			}
		}
	}
}

// The searches whose data the product has find what it says; those whose data it lacks find nothing, and do not fail.
func TestSearchesAnswerFromAnImportedRegister(t *testing.T) {
	t.Parallel()
	s := placename.New(importedStore(t, put(t, t.TempDir(), "a.gml", gmlFile(invented()...))), placename.Options{})
	unit := api.StedMatrikkelenhetreferanseSoek{Kommunenummer: "1135", Gaardsnummer: "12"}
	if h := search[api.StedMatrikkelenhetreferanseTreffList](t, s,
		&api.FindStederForMatrikkelenhetreferanse{Soek: unit}); len(h) != 1 || h[0].StedId != "77" {
		t.Errorf("places of a cadastral unit: %+v", h)
	}
	names := &api.FindStedsnavnForMatrikkelenhetreferanse{Soek: api.StedsnavnMatrikkelenhetreferanseSoek(unit)}
	if h := search[api.StedsnavnMatrikkelenhetreferanseTreffList](t, s, names); len(h) != 1 ||
		h[0].StedsnavnId != "77001" {
		t.Errorf("names of a cadastral unit: %+v", h)
	}
	spellings := &api.FindSkrivemaaterForMatrikkelenhetreferanse{Soek: api.SkrivemaateMatrikkelenhetreferanseSoek(unit)}
	if h := search[api.SkrivemaateMatrikkelenhetreferanseTreffList](t, s, spellings); len(h) != 1 ||
		h[0].SkrivemaateId != "77001001" {
		t.Errorf("spellings of a cadastral unit: %+v", h)
	}
	found := search[api.SkrivemaateTreffList](t, s,
		&api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{Stedsnavn: ptr("Store Krålenuten")}})
	if len(found) != 2 || found[0].SkrivemaateId != "4711001001" || found[1].SkrivemaateId != "4711001002" {
		t.Errorf("spellings that are equal when folded: %+v", found)
	}
	later := &api.FindSteder{
		StedSoek: api.StedSoek{
			OppdatertEtter: ptr(time.Date(2021, 6, 8, 16, 47, 50, 0, time.UTC)),
			KommunerIds:    []string{"1135"},
		},
	}
	if h := search[api.StedTreffList](t, s, later); len(h) != 2 || h[0].StedId != "4711" || h[1].StedId != "77" {
		t.Errorf("places of a municipality, by importance: %+v", h)
	}
	if h := search[api.NavnesakTreffList](t, s, &api.FindNavnesaker{}); len(h) != 0 {
		t.Errorf("cases: %+v", h)
	}
	if h := search[api.VedtakTreffList](t, s, &api.FindVedtak{}); len(h) != 0 {
		t.Errorf("decisions: %+v", h)
	}
	if h := search[api.SamlevedtakTreffList](t, s, &api.FindSamlevedtak{}); len(h) != 0 {
		t.Errorf("combined decisions: %+v", h)
	}
	if h := search[api.BokTreffList](t, s, &api.FindBoeker{Soeketekst: "ordbok"}); len(h) != 0 {
		t.Errorf("books: %+v", h)
	}
	if h := search[api.KartproduktTreffList](t, s, &api.FindKartprodukter{}); len(h) != 0 {
		t.Errorf("maps: %+v", h)
	}
}
