package register_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/register"
	"grense/internal/register/registertest"
	"grense/internal/store"
)

// small is the register of the demo.
const small = 3_000

func TestSameSeedGivesSameRows(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	sum := func(r *registertest.Recording) uint32 {
		all := uint32(0)
		for _, table := range slices.Sorted(maps.Keys(r.Columns)) {
			all = crc32.Update(all, crc32.IEEETable, []byte(table))
			all = crc32.Update(all, crc32.IEEETable,
				[]byte{byte(r.Sums[table]), byte(r.Sums[table] >> 8), byte(r.Sums[table] >> 16),
					byte(r.Sums[table] >> 24)})
		}
		return all
	}
	first := sum(generated(t, small, seed, false))
	if second := sum(generated(t, small, seed, false)); second != first {
		t.Errorf("two runs give %08x and %08x", first, second)
	}
	if other := sum(generated(t, small, seed+1, false)); other == first {
		t.Error("another seed gives the same rows")
	}
	if got := fmt.Sprintf("%08x-%s", first, fold.NormVersion); !strings.HasPrefix(register.Version, got+"-") {
		t.Errorf("the checksum of all rows is %s; if the generator was meant to change, set rowsVersion to it", got)
	}
}

// A smaller register is the beginning of a larger one, but for rang and what a combined decision gathers.
func TestSmallerRegisterIsABeginning(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a, b := generated(t, 1_000, seed, true), generated(t, 1_500, seed, true)
	for table, rows := range a.Rows {
		if table == "samlevedtak" {
			continue
		}
		drop := slices.Index(a.Columns[table], "rang")
		for i, row := range rows {
			other := b.Rows[table][i]
			for k := range row {
				if k != drop && !equal(row[k], other[k]) {
					t.Fatalf("%s row %d, %s: %v and %v", table, i, a.Columns[table][k], row[k], other[k])
				}
			}
		}
	}
}

func equal(a, b any) bool {
	if g, ok := a.(store.Geometry); ok {
		return string(g.WKB) == string(b.(store.Geometry).WKB)
	}
	return a == b
}

func TestCounts(t *testing.T) {
	t.Parallel()
	r := read(t, small)
	types := map[string]int{}
	r.Each(t, "sted", func(get func(string) any) { types[get("navneobjekttype").(string)]++ })
	for name, want := range map[string]int{"fylke": 15, "kommune": 357} {
		if types[name] != want {
			t.Errorf("%d places of type %s, want %d", types[name], name, want)
		}
	}
	if got := types["by"] + types["tettsted"]; got != 357 {
		t.Errorf("%d towns and villages, want one in each municipality", got)
	}
	if len(r.Rows["sted"]) != small {
		t.Errorf("%d places, want %d", len(r.Rows["sted"]), small)
	}
	for _, table := range slices.Sorted(maps.Keys(r.Columns)) {
		if len(r.Rows[table]) == 0 {
			t.Errorf("table %s is empty", table)
		}
	}
}

// Every code in the data stands in its list, and the lists that a search names are used to the full where the shares
// allow.
func TestCodesAreInTheirLists(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	lists, err := register.CodeLists()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]bool{}
	for _, l := range lists {
		known[l.ID] = map[string]bool{}
		for _, c := range l.Codes {
			known[l.ID][c.ID] = true
		}
	}
	r := read(t, 20_000)
	used := map[string]map[string]bool{}
	check := func(table, column, list string) {
		if used[list] == nil {
			used[list] = map[string]bool{}
		}
		r.Each(t, table, func(get func(string) any) {
			code, ok := get(column).(string)
			if ok && !known[list][code] {
				t.Errorf("%s.%s has %q, which is not in list %s", table, column, code, list)
			}
			if ok {
				used[list][code] = true
			}
		})
	}
	for _, table := range []string{"sted", "stedsnavn", "skrivemaate"} {
		for column, list := range map[string]string{"navneobjekttype": "navneobjekttype",
			"vedtaksmyndighet": "vedtaksmyndighet", "land": "land"} {
			check(table, column, list)
		}
	}
	for _, c := range [][3]string{
		{"sted", "navneobjektgruppe", "navneobjektgruppe"},
		{"sted", "navneobjekthovedgruppe", "navneobjekthovedgruppe"}, {"sted", "stedstatus", "stedstatus"},
		{"sted", "spraakprioritering", "spraakprioritering"}, {"sted", "sortering1", "sortering1"},
		{"sted", "sortering2", "sortering2"},
		{"sted", "kommunenummer", "kommune"}, {"sted", "fylkesnummer", "fylke"},
		{"sted_kommune", "kommunenummer", "kommune"},
		{"stedsnavn", "navnestatus", "navnestatus"}, {"stedsnavn", "navnesakstatus", "navnesakstatus"},
		{"stedsnavn", "spraak", "spraak"},
		{"stedsnavn", "opphavsspraak", "spraak"}, {"skrivemaate", "skrivemaatestatus", "skrivemaatestatus"},
		{"skrivemaate", "kasustype", "kasustype"},
		{"skrivemaate", "rekkefoelge", "rekkefoelge"}, {"kasus", "kasustype", "kasustype"},
		{"navnesak", "omraade", "omraade"},
		{"sted_tilleggsopplysning", "tilleggsopplysningstype", "tilleggsopplysningstype"},
		{"stedsnavn_tilleggsopplysning", "tilleggsopplysningstype", "tilleggsopplysningstype"},
		{"sted_merknad", "merknadstype", "stedMerknadstype"},
		{"stedsnavn_merknad", "merknadstype", "stedsnavnMerknadstype"},
		{"skrivemaate_merknad", "merknadstype", "skrivemaateMerknadstype"}, {"kartprodukt", "karttype", "karttype"},
		{"dokumentasjon", "dokumenttype", "dokumenttype"},
		{"vedtak", "vedtaksmyndighet", "vedtaksmyndighet"}, {"vedtak", "utoever_kommunenummer", "kommune"},
		{"vedtak", "utoever_fylkesnummer", "fylke"},
	} {
		check(c[0], c[1], c[2])
	}
	for _, list := range []string{"stedstatus", "navnestatus", "navnesakstatus", "skrivemaatestatus", "sortering2",
		"karttype", "dokumenttype",
		"kommune", "fylke", "vedtaksmyndighet", "stedMerknadstype", "stedsnavnMerknadstype", "skrivemaateMerknadstype",
		"tilleggsopplysningstype"} {
		for code := range known[list] {
			if !used[list][code] {
				t.Errorf("no record has %q of list %s", code, list)
			}
		}
	}
}

func TestSharesAreSane(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	const n = 20_000
	r := read(t, n)
	kinds, letters, several := map[byte]int{}, map[rune]int{}, 0
	r.Each(t, "sted", func(get func(string) any) {
		kinds[get("geom").(store.Geometry).WKB[1]]++
		for _, l := range get("visningsnavn").(string) {
			letters[l]++
		}
		var numbers []string
		if err := json.Unmarshal([]byte(get("kommuner").(string)), &numbers); err != nil || len(numbers) == 0 ||
			numbers[0] != get("kommunenummer") {
			t.Errorf("kommuner %v of a place in %v: %v", get("kommuner"), get("kommunenummer"), err)
		}
		if len(numbers) > 1 {
			several++
		}
	})
	drawn := n - 729
	for kind, percent := range map[byte]int{4: 10, 2: 3, 3: 2} {
		if got := 100 * float64(kinds[kind]) / float64(drawn); got < float64(percent)*0.8 ||
			got > float64(percent)*1.2 {
			t.Errorf("geometry kind %d: %.1f percent, want about %d", kind, got, percent)
		}
	}
	if share := float64(several) / n; share < 0.02 || share > 0.05 {
		t.Errorf("%.3f of all places lie in several municipalities", share)
	}
	for _, l := range "áčđŋšžäöåæøÁČĐŠŽÅØ–" {
		if letters[l] == 0 {
			t.Errorf("no display name holds %c", l)
		}
	}
	spellings, first := 0, 0
	perName := map[any]int{}
	r.Each(t, "skrivemaate", func(get func(string) any) {
		spellings++
		perName[get("stedsnavn_id")]++
		if get("skrivemaatestatusdato") == "1991-07-01" {
			first++
		}
	})
	if share := float64(first) / float64(spellings); share < 0.4 || share > 0.6 {
		t.Errorf("%.2f of the statuses date from 1991-07-01, want about half", share)
	}
	// The same share whatever the case: the parts of a record are drawn independently of each other.
	names, respelt := map[any]int{}, map[any]int{}
	r.Each(t, "stedsnavn", func(get func(string) any) {
		names[get("navnesakstatus")]++
		if perName[get("id")] > 1 {
			respelt[get("navnesakstatus")]++
		}
	})
	for _, state := range []string{"ubehandlet", "iverksattVedtak", "forenkletVedtak", "samlevedtak"} {
		if share := float64(respelt[state]) / float64(names[state]); share < 0.05 || share > 0.11 {
			t.Errorf("%.3f of the names that are %s have several spellings", share, state)
		}
	}
	arts, public := map[string]int{}, 0
	r.Each(t, "dokumentasjon", func(get func(string) any) {
		arts[get("art").(string)]++
		if get("art") == "kartforekomst" && get("offentlig").(bool) {
			public++
		}
	})
	for _, art := range []string{"bok", "kartforekomst", "opplysning", "lokalInnsamling", "vedtak", "delAvSamlevedtak",
		"klage", "dokument"} {
		if arts[art] < 50 {
			t.Errorf("%d documents of kind %s", arts[art], art)
		}
	}
	if public == 0 || public == arts["kartforekomst"] {
		t.Errorf("of %d map documents %d are in public use", arts["kartforekomst"], public)
	}
}

func TestTimesAreInOrder(t *testing.T) {
	t.Parallel()
	r := read(t, small)
	for _, table := range []string{"sted", "stedsnavn", "skrivemaate", "navnesak", "vedtak", "samlevedtak",
		"sted_tilleggsopplysning", "stedsnavn_tilleggsopplysning"} {
		later := 0
		r.Each(t, table, func(get func(string) any) {
			from, to := get("registrert").(time.Time), get("oppdatert").(time.Time)
			if from.Year() < 1991 || from.After(to) {
				t.Errorf("%s: registered %v, updated %v", table, from, to)
			}
			if to.After(from) {
				later++
			}
		})
		if later == 0 {
			t.Errorf("%s: nothing was updated", table)
		}
	}
	dates := map[string][]string{
		"sted":                  {"sluttdato"},
		"stedsnavn":             {"skrivemaatestatusdato"},
		"skrivemaate":           {"skrivemaatestatusdato"},
		"sted_historikk":        {"fra_dato"},
		"skrivemaate_historikk": {"fra_dato"},
		"navnesak": {
			"reist",
			"sluttdato",
		},
		"vedtak":        {"vedtaksdato"},
		"samlevedtak":   {"vedtaksdato"},
		"klage":         {"klagedato"},
		"dokumentasjon": {"dato"},
	}
	for table, columns := range dates {
		r.Each(t, table, func(get func(string) any) {
			for _, c := range columns {
				s, ok := get(c).(string)
				if !ok {
					continue
				}
				if d, err := time.Parse("2006-01-02", s); err != nil || d.Year() < 1750 || d.Year() > 2025 {
					t.Errorf("%s.%s is %q", table, c, s)
				}
			}
		})
	}
}

func TestFoldedColumnsAreTheFoldsOfTheirTexts(t *testing.T) {
	t.Parallel()
	r := read(t, small)
	for table, columns := range r.Columns {
		for _, c := range columns {
			text, ok := strings.CutSuffix(c, "_norm")
			if !ok {
				continue
			}
			r.Each(t, table, func(get func(string) any) {
				s, _ := get(text).(string)
				if n, _ := get(c).(string); n != fold.Norm(s) {
					t.Errorf("%s.%s of %q is %q", table, c, s, n)
				}
			})
		}
	}
	r.Each(t, "skrivemaate", func(get func(string) any) {
		s, norm := get("langnavn").(string), []rune(get("norm").(string))
		if get("eksakt") != fold.CaseI(s) || string(norm) != fold.Norm(s) {
			t.Errorf("folds of %q: %q, %q", s, get("eksakt"), get("norm"))
		}
		slices.Reverse(norm)
		if get("rev") != string(norm) {
			t.Errorf("rev of %q is %q", s, get("rev"))
		}
	})
}

func TestGenerateTellsProgressAndCanBeStopped(t *testing.T) {
	t.Parallel()
	var last, total int
	err := register.Generate(
		t.Context(),
		registertest.New(false),
		register.Options{Places: 12_000, Seed: 1, Progress: func(d, of int) {
			if d < last || d > of {
				t.Errorf("progress goes from %d to %d of %d", last, d, of)
			}
			last, total = d, of
		}},
	)
	if err != nil || last != total || total == 0 {
		t.Errorf("ended at %d of %d: %v", last, total, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = register.Generate(ctx, registertest.New(false),
		register.Options{Places: 12_000, Seed: 1, Progress: func(int, int) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped generation gives %v", err)
	}
}

func TestGenerateRefusesImpossibleSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 0, register.MaxPlaces + 1} {
		if err := register.Generate(t.Context(), registertest.New(false), register.Options{Places: n}); err == nil {
			t.Errorf("%d places are accepted", n)
		}
	}
	if err := register.Generate(t.Context(), registertest.New(false), register.Options{Places: 1}); err != nil {
		t.Error(err)
	}
}

// failing fails after some rows.
type failing struct {
	*registertest.Recording
	left int
}

var errFull = errors.New("disk full")

func (f *failing) Insert(ctx context.Context, table string, columns []string) (func(...any) error, error) {
	insert, err := f.Recording.Insert(ctx, table, columns)
	return func(values ...any) error {
		if f.left--; f.left < 0 {
			return errFull
		}
		return insert(values...)
	}, err
}

func TestGenerateReturnsTheErrorOfTheWriter(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 2_000, 5_000} {
		w := &failing{registertest.New(false), rows}
		if err := register.Generate(t.Context(), w, register.Options{Places: 1_000}); !errors.Is(err, errFull) {
			t.Errorf("after %d rows: %v", rows, err)
		}
	}
}

// hits are the properties from which the hits of the searches are written; ? marks those that may be null.
var hits = map[string]string{
	"sted": "stedsnummer stedsnavn visningsnavn navneobjekttype stedstatus kommuner land spraakprioritering " +
		"sortering1 sortering2 " +
		"antall_tilleggsopplysninger antall_merknader rang",
	"stedsnavn": "sted_id visningsnavn stedsnummer stedsnavnnummer skrivemaater antall_beste_skrivemaater " +
		"antall_skrivemaater spraak " +
		"har_primaerfunksjon navnestatus navneobjekttype navnesakstatus skrivemaatestatus " +
		"skrivemaatestatusdato kommuner " +
		"antall_tilleggsopplysninger antall_merknader rang",
	"skrivemaate": "sted_id stedsnavn_id visningsnavn stedsnummer stedsnavnnummer skrivemaatenummer langnavn " +
		"skrivemaatestatus " +
		"skrivemaatestatusdato prioritert spraak kasustype navneobjekttype navnesakstatus vedtaksmyndighet kommuner " +
		"registrert oppdatert " +
		"antall_merknader rang",
	"matrikkel_sted": "sted_id stedsnummer stedsnavn visningsnavn navneobjekttype kommunenummer tilleggsopplysning? " +
		"gaardsnummer bruksnummer " +
		"festenummer seksjonsnummer av_allmenn_interesse rang",
	"matrikkel_stedsnavn": "sted_id stedsnavn_id visningsnavn stedsnummer stedsnavnnummer stedsnavn " +
		"skrivemaatestatus skrivemaatestatusdato " +
		"navnesakstatus navnestatus spraak navneobjekttype kommunenummer tilleggsopplysning? gaardsnummer " +
		"bruksnummer festenummer " +
		"seksjonsnummer av_allmenn_interesse rang",
	"matrikkel_skrivemaate": "sted_id stedsnavn_id skrivemaate_id visningsnavn stedsnummer stedsnavnnummer " +
		"skrivemaatenummer langnavn " +
		"skrivemaatestatus skrivemaatestatusdato navnesakstatus navnestatus navneobjekttype kommunenummer " +
		"tilleggsopplysning? gaardsnummer " +
		"bruksnummer festenummer seksjonsnummer av_allmenn_interesse rang",
	"navnesak": "aar saksnummer klagesak avsluttet beskrivelse vedtaksmyndighet omraade arkivreferanse stedsnavn " +
		"registrert oppdatert",
	"vedtak": "aar saksnummer arkivloepenummer vedtaksdato skrivemaater vedtaksmyndighet omraade " +
		"utoever_kommunenummer? " +
		"utoever_fylkesnummer? registrert oppdatert",
	"samlevedtak": "aar saksnummer beskrivelse arkivreferanse stedsnavn registrert oppdatert vedtaksdato",
	"bok":         "tittel isbn utgave forfatter utgiver utgivelsesaar rang",
	"kartprodukt": "kartblad karttype utgivelsesaar",
}

func TestHitsAreReadFromOneRow(t *testing.T) {
	t.Parallel()
	r := read(t, small)
	for _, c := range register.Collections() {
		if c.ID == "kode" {
			continue
		}
		for _, name := range strings.Fields(hits[c.ID]) {
			name, optional := strings.CutSuffix(name, "?")
			p, ok := c.Find(name)
			if !ok {
				t.Errorf("%s has no property %s", c.ID, name)
				continue
			}
			nulls := 0
			r.Each(t, c.Table, func(get func(string) any) {
				v := get(p.Column)
				if v == nil {
					nulls++
				} else if !fits(v, p.Type) {
					t.Errorf("%s.%s is %v, which is no %v", c.ID, name, v, p.Type)
				}
			})
			if !optional && nulls > 0 || optional && nulls == 0 {
				t.Errorf("%s.%s is null in %d rows", c.ID, name, nulls)
			}
		}
	}
}

// fits reports whether a written value is of the type of its property.
func fits(v any, t cql2.Type) bool {
	switch v := v.(type) {
	case string:
		return t == cql2.TypeText || t == cql2.TypeDate && len(v) == len("2006-01-02") ||
			t == cql2.TypeJSON && json.Valid([]byte(v))
	case int64:
		return t == cql2.TypeInteger
	case bool:
		return t == cql2.TypeBool
	case time.Time:
		return t == cql2.TypeTimestamp
	}
	return false
}
