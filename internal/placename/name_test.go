package placename_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	api "grense/api/placename"
	"grense/internal/cql2/fold"
)

// compare makes the search op with one field alone.
func (f *fixture) compare(t *testing.T, op, field, in string) {
	t.Helper()
	s := searches[op]
	r := s.request()
	set(s.target(r), field, in)
	s.compare(t, f, f.service(), r)
}

// Forms of a name with * for a run and ? for a character; o.like compares with a regular expression.
func TestWildcardsMayStandAnywhereInAName(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for name, f := range setup(t).inBothStores(t) {
		t.Run(name, func(t *testing.T) { namesAreFoundAsTheOracleSays(t, f) })
	}
}

func namesAreFoundAsTheOracleSays(t *testing.T, f *fixture) {
	for _, in := range []string{
		"Oslo", "oslo", "ÖSLO", "Os*", "*lo", "*sl*", "O*o", "O*l*", "Os?o", "?slo", "Osl?", "??lo", "Os??", "Oslo*",
		"*Oslo", "*Oslo*", "O**lo", "*?slo", "?*slo",
		"Osl??", "Nord-Fron",
		"Nes.", "nes..", "Oslo /Bergen", "Nord-Fron/Oslo", "Oslo – Nes", "Oslo - Nes.", "Oslo -Nes", "Os*/Berg*",
		"Ne*/Oslo", "Nes*/Å", "Oslo/", "/", ".", "oslo/OSLO", "\u00a0", "Nes\u00a0", "Sør-Fron/Nes/Ås",
		"nord fron", "nordfron", "Nord*", "Nord *", "*-Fron", "Aas", "Ås", "As", "Aa?", "Ås*", "*ås", "Kárášjohka",
		"karasjohka", "KARASJOHKA*",
		"*šj*", "Bergen ", " Ber*", "Sør-*", "S?r-*", "S?r *", "*berget", "St* *", "'Oslo", "Os'lo", "Oslo%", "Os_o",
		`Os\lo`, "[O]slo", "Os[l]o*", "*?*?*?*?lo", "Å",
		"Norđ*", "Ŋa*", "*æ*r", "*ae*r", strings.Repeat("*a", 100), "o" + strings.Repeat("*?", 90) + "slo",
	} {
		for op, field := range map[string]string{"findSteder": "Stedsnavn", "findStedsnavn": "Stedsnavn",
			"findSkrivemaater": "Stedsnavn", "findVedtak": "Skrivemaate"} {
			f.compare(t, op, field, in)
		}
	}
}

func TestEqualSpellingsComeBeforeThoseThatAreEqualWhenFolded(t *testing.T) {
	t.Parallel()
	f := setup(t)
	byNorm := map[string]map[string]bool{}
	for _, r := range f.rows["skrivemaate"] {
		text := r.text("langnavn")
		if byNorm[f.fold(text)] == nil {
			byNorm[f.fold(text)] = map[string]bool{}
		}
		byNorm[f.fold(text)][text] = true
	}
	reordered := 0
	for _, texts := range byNorm {
		if len(texts) < 2 {
			continue
		}
		for text := range texts {
			for _, op := range []string{"findSteder", "findStedsnavn", "findSkrivemaater"} {
				s := searches[op]
				r := s.request()
				set(s.target(r), "Stedsnavn", text)
				s.compare(t, f, f.service(), r)
				if op == "findSkrivemaater" {
					plain := f.sorted("skrivemaate", func(r row) bool {
						return f.fold(r.text("langnavn")) == f.fold(text)
					})
					if !slices.EqualFunc(plain, f.skrivemaater(&api.SkrivemaateSoek{Stedsnavn: &text}),
						func(a, b row) bool { return a.id() == b.id() }) {
						reordered++
					}
				}
			}
		}
	}
	if reordered == 0 {
		t.Error("the register has no spellings whose order this changes")
	}
}

func TestEqualSpellingsAreNotFoundWhereTheOtherFieldsForbidThem(t *testing.T) {
	t.Parallel()
	f := setup(t)
	q := api.StedSoek{Stedsnavn: ptr("Oslo"), NavneobjekttyperIds: []string{"by", "fylke"}}
	n := searches["findSteder"].compare(t, f, f.service(), &api.FindSteder{StedSoek: q})
	if all := len(f.steder(&api.StedSoek{Stedsnavn: ptr("Oslo")})); n != 2 || all < 3 {
		t.Errorf("%d of %d places", n, all)
	}
}

func TestFreeTextsNeedNoWildcardToBeContained(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, in := range []string{"navnesak", "Navnesak*", "*Oslo", "*om*i*", "skrivemåten av", "SKRIVEMÅTEN",
		"skrivematen", "om  skrivemåten", "n?vnesak*", "navnesak?", "*-*sak*",
		"kla", "  Oslo  "} {
		s := searches["findNavnesaker"]
		r := s.request()
		set(s.target(r), "Beskrivelse", in)
		s.compare(t, f, f.service(), r)
	}
}

func TestSearchesForBooksWantEveryWord(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := searches["findBoeker"]
	for in, some := range map[string]bool{
		"norske": true, "NORSKE navn": true, "Stedsnavn i Oslo": true, "navn navn": true, "norske xqzw": false,
		"stedsn* oslo": true, "st?dsnavn": true,
		"978-82-9999": true, "9788299990": true, "978829999": true, "978-82": true, "bygdebok fjell-fjord": false,
		"grenseland":           true,
		"Bygdebok: for Askøy.": true, "Strandheim, Åse": true, "(Fjell; og «Fjord»)": true, "Rønning,Vigdis": true,
		"norske: , navn": true, "978-82-9999-013-4.": true,
	} {
		if n := s.compare(t, f, f.service(), &api.FindBoeker{Soeketekst: in}); (n > 0) != some {
			t.Errorf("%q finds %d books", in, n)
		}
	}
}

// TestASingleCharacterIsAValue: it is equal to the whole text, since most texts contain it.
func TestASingleCharacterIsAValue(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for op, fields := range map[string][]string{"findKartprodukter": {"Kartblad"},
		"findNavnesaker":   {"Beskrivelse", "Arkivreferanse"},
		"findSkrivemaater": {"BokSoek.Utgave", "KlageSoek.Beskrivelse"}, "findSteder": {"Stedsnavn", "Merknadstekst"}} {
		for _, field := range fields {
			for _, in := range []string{"1", "Å", " e "} {
				f.compare(t, op, field, in)
			}
		}
	}
}

// TestShortPatternsAreComparedWithWhatOtherCriteriaLeave compares them with the oracle, which reads all.
func TestShortPatternsAreComparedWithWhatOtherCriteriaLeave(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s, found := searches["findSteder"], 0
	for _, text := range []string{"Å*", "*n", "?", "*", "S*", "*e*"} {
		found += s.compare(t, f, f.service(),
			&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: &text, KommunerIds: []string{"0301", "1103", "5001"}}})
		s.compare(t, f, f.service(),
			&api.FindSteder{StedSoek: api.StedSoek{Merknadstekst: &text, NavneobjekttyperIds: []string{"by", "gard"}}})
		s.compare(t, f, f.service(),
			&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("N*s"), Merknadstekst: &text}})
	}
	if found == 0 {
		t.Error("no hits prove anything")
	}
	for _, in := range []string{"Nes a", "s Nes", "Nes =N*", "Nes|=N* nes", "a -Nes nes"} {
		if _, err := f.service().Search(t.Context(),
			&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: &in, AvansertSoek: ptr(true)}}); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// A fold may change the number of characters; patterns see the folded text.
func TestAQuestionMarkIsACharacterOfTheFoldedText(t *testing.T) {
	t.Parallel()
	f := setup(t)
	i := slices.IndexFunc(f.rows["skrivemaate"], func(r row) bool {
		return strings.Count(r.text("langnavn"), "æ") == 1 &&
			utf8.RuneCountInString(fold.Norm(r.text("langnavn"))) == utf8.RuneCountInString(r.text("langnavn"))+1
	})
	if i < 0 {
		t.Fatal("the register has no spelling with æ")
	}
	text := f.rows["skrivemaate"][i].text("langnavn")
	for in, want := range map[string]bool{strings.Replace(text, "æ", "??", 1): true,
		strings.Replace(text, "æ", "?", 1): false} {
		got := false
		for _, h := range hits[api.SkrivemaateTreff, api.SkrivemaateTreffList](t, f.service(),
			&api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{Stedsnavn: &in}}) {
			got = got || h.Skrivemaate == text
		}
		if got != want {
			t.Errorf("%q finds %q: %v, want %v", in, text, got, want)
		}
	}
}
