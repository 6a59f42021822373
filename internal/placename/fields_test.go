package placename_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	api "grense/api/placename"
)

func TestTheTablesHoldEveryFieldOfEverySearch(t *testing.T) {
	t.Parallel()
	if len(searches) != 11 {
		t.Errorf("%d searches, want 11", len(searches))
	}
	for op, s := range searches {
		r := s.request()
		if r.Operation() != op {
			t.Errorf("%s is the request of %s", r.Operation(), op)
		}
		want := leaves(s.target(r).Type(), "")
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(s.draws)); !slices.Equal(got, want) {
			t.Errorf("%s: fields %q, want %q", op, got, want)
		}
	}
}

// newDrawing draws the same values for the same test.
func newDrawing(t *testing.T, f *fixture) *drawing {
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	return &drawing{Rand: rand.New(rand.NewPCG(h.Sum64(), 1)), f: f}
}

// fill makes a request with values that suit a record; false when the record has none for a field.
func (s *search) fill(d *drawing, r row, fields []string) (api.Request, bool) {
	request := s.request()
	if v := reflect.ValueOf(request).Elem().FieldByName("BeregnVisningsnavn"); v.IsValid() {
		v.SetBool(d.IntN(2) == 0)
	}
	apply := func(name string, by draw) bool {
		d.path = name
		settings := by(d, r)
		for _, x := range settings {
			set(s.target(request), x.path, x.value)
		}
		return settings != nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.always)) {
		apply(name, s.always[name])
	}
	// An expression sets the name too, and rules.
	slices.SortFunc(fields, func(a, b string) int {
		switch {
		case a == "AvansertSoek":
			return 1
		case b == "AvansertSoek":
			return -1
		}
		return 0
	})
	for _, name := range fields {
		if !apply(name, s.draws[name]) {
			return nil, false
		}
	}
	return request, true
}

// all is the number of records that a search without optional fields finds beside the record.
func (s *search) all(d *drawing, r row) int {
	if s.object != "Soek" {
		return len(d.f.rows[s.table])
	}
	return len(d.f.where(s.table, "kommunenummer", r["kommunenummer"]))
}

func TestEachFieldRestrictsAsTheOracleSays(t *testing.T) {
	t.Parallel()
	f := setup(t)
	service := f.service()
	for op, s := range searches {
		for name := range s.draws {
			t.Run(op+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := newDrawing(t, f)
				tries, restricted := 0, false
				for _, i := range d.Perm(len(f.rows[s.table])) {
					record := f.rows[s.table][i]
					r, ok := s.fill(d, record, []string{name})
					if !ok {
						continue
					}
					total := s.all(d, record)
					if name == "Kommunenummer" {
						total = len(f.rows[s.table])
					}
					if tries >= 4 && total < 2 {
						continue
					}
					n := s.compare(t, f, service, r)
					restricted = restricted || n > 0 && n < total
					if tries++; t.Failed() || tries >= 4 && restricted || tries == 60 {
						break
					}
				}
				if !restricted {
					t.Errorf("in %d tries the field never left some and not all records", tries)
				}
			})
		}
	}
}

func TestCombinationsOfFieldsRestrictAsTheOracleSays(t *testing.T) {
	t.Parallel()
	f := setup(t)
	service := f.service()
	for op, s := range searches {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			d := newDrawing(t, f)
			names := slices.Sorted(maps.Keys(s.draws))
			found := 0
			for range 25 {
				record := pick(d, f.rows[s.table])
				var chosen []string
				for len(chosen) < min(len(names), 2+d.IntN(3)) {
					if n := pick(d, names); !slices.Contains(chosen, n) && offered(s, d, record, n) {
						chosen = append(chosen, n)
					} else if d.IntN(50) == 0 {
						break
					}
				}
				r, ok := s.fill(d, record, chosen)
				if !ok {
					continue
				}
				if s.compare(t, f, service, r) > 0 {
					found++
				}
				if t.Failed() {
					return
				}
			}
			if found < 6 {
				t.Errorf("only %d combinations found something", found)
			}
		})
	}
}

// Fields that describe one related record hold for the same one.
func TestFieldsOfOneRelatedRecordHoldTogether(t *testing.T) {
	t.Parallel()
	f := setup(t)
	service := f.service()
	for op, pairs := range map[string][][]string{
		"findSteder": {{"TilleggsopplysningstyperIds", "Tilleggsopplysningtekst"},
			{"MerknadstyperIds", "Merknadstekst"}, {"NavneobjekttyperIds", "KommunerIds"}},
		"findStedsnavn": {{"TilleggsopplysningstyperIds", "Tilleggsopplysningtekst"},
			{"MerknadstyperIds", "Merknadstekst"}, {"NavneobjekttyperIds", "KommunerIds"}},
		"findSkrivemaater": {
			{"MerknadstyperIds", "Merknadstekst"}, {"NavneobjekttyperIds", "KommunerIds"},
			{"DokumentasjonsdatoEtter", "DokumentasjonsdatoFoer"},
			{"BokSoek.Tittel", "BokSoek.Utgiver"},
			{"OffentligKartforekomstSoek.ProduktId", "OffentligKartforekomstSoek.Kartblad"},
			{"VedtakSoek.Aar", "VedtakSoek.Arkivloepenummer"},
			{"VedtakSoek.Saksnummer", "KlageSoek.Saksnummer"}, {"SamlevedtakSoek.Saksnummer",
				"SamlevedtakSoek.Arkivloepenummer"}, {"DokumentSoek.Entry", "BokSoek.Tittel"},
		},
	} {
		s := searches[op]
		for _, pair := range pairs {
			t.Run(op+"/"+pair[0]+" "+pair[1], func(t *testing.T) {
				t.Parallel()
				d := newDrawing(t, f)
				tries, found := 0, 0
				for _, i := range d.Perm(len(f.rows[s.table])) {
					r, ok := s.fill(d, f.rows[s.table][i], pair)
					if !ok {
						continue
					}
					if s.compare(t, f, service, r) > 0 {
						found++
					}
					if tries++; tries == 8 || t.Failed() {
						break
					}
				}
				if found == 0 && pair[0] != "DokumentSoek.Entry" {
					t.Errorf("nothing found in %d tries", tries)
				}
			})
		}
	}
}

func TestPlaceAndNumberNameOnePartOfACombinedDecision(t *testing.T) {
	t.Parallel()
	f := setup(t)
	found := [3]int{}
	for _, part := range f.rows["del_av_samlevedtak"][:40] {
		for n := range int32(3) {
			q := api.SamlevedtakSoek{Stedsnummer: ptr(part.number("stedsnummer")), Stedsnavnnummer: ptr(n)}
			found[n] += searches["findSamlevedtak"].compare(t, f, f.service(), &api.FindSamlevedtak{SamlevedtakSoek: q})
		}
	}
	if found[0] != 0 || found[1] == 0 || found[2] >= found[1] {
		t.Errorf("decisions on names 0, 1 and 2: %d", found)
	}
}

// offered reports whether the record has a value for a field.
func offered(s *search, d *drawing, r row, name string) bool {
	_, ok := s.fill(d, r, []string{name})
	return ok
}

func TestASearchWithoutCriteriaFindsEverythingInOrder(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for op, s := range searches {
		if s.always != nil {
			continue
		}
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			if n := s.compare(t, f, f.service(), s.request()); n != len(f.rows[s.table]) {
				t.Errorf("%d hits of %d records", n, len(f.rows[s.table]))
			}
		})
	}
}

func Example_pathsOfFields() {
	fmt.Println(leaves(reflect.TypeFor[api.BokSoek](), "BokSoek."))
	// Output: [BokSoek.Tittel BokSoek.Utgave BokSoek.Utgiver]
}
