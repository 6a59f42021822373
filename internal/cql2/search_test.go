package cql2_test

import (
	"slices"
	"strings"
	"testing"

	"grense/internal/cql2"
)

func TestParseSearch(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"oslo":                          {"oslo"},
		"Bø, Ås":                        {"bo", "as"},
		"  Mo \t i\nRana ":              {"mo i rana"},
		"Nord-Fron":                     {"nord fron"},
		",,oslo,,OSLO,":                 {"oslo"},
		"St. (Étienne)":                 {"st etienne"},
		"Kárášjohka":                    {"karasjohka"},
		"0301":                          {"0301"},
		`"quoted" OR x*`:                {"quoted or x"},
		"":                              nil,
		" , -- ,%":                      nil,
		strings.Repeat("å", 200):        {strings.Repeat("a", 200)}, // no run is shortened
		strings.Repeat("ø", 201):        nil,
		strings.Repeat("a", 4):          {"aa"},
		"\xff":                          nil,
		"'; DROP TABLE kommuner; --":    {"drop table kommuner"},
		"東京,Москва":                     {"東京", "москва"},
		strings.Repeat("x", 198) + ",y": {strings.Repeat("x", 198), "y"},
	}
	for s, want := range tests {
		got, err := cql2.ParseSearch(s)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v; want %q", s, got, err, want)
		}
	}
}

func TestRankOfSearch(t *testing.T) {
	t.Parallel()
	const none = -1
	tests := []struct {
		text, q string
		rank    int
	}{
		{"Oslo", "oslo", cql2.RankWhole}, {"OSLO", "Oslo", cql2.RankWhole}, {"Oslo", "os", cql2.RankStart},
		{"Oslo", "slo", none}, {"Oslo", "oslos", none},
		{"Nord-Fron", "fron", cql2.RankWord}, {"Nord-Fron", "nord fron", cql2.RankWhole},
		{"Nord-Fron", "nor fr", cql2.RankStart}, {"Nord-Fron", "fron nord", none},
		{"Mo i Rana", "i ra", cql2.RankWord}, {"Mo i Rana", "mo rana", none}, {"Mo i Rana", "mo i rana by", none},
		{"Mo i Rana", "xx,ra", cql2.RankWord},
		{"Mo i Rana", "ra,mo i rana", cql2.RankWhole}, {"Mo i Rana", "ra,mo", cql2.RankStart},
		{"Sør-Aurdal (ny)", "ny", cql2.RankWord}, {"St. Étienne", "st etienne", cql2.RankWhole},
		{"ab abc", "abc", cql2.RankWord}, {"a ab abc", "ab abc", cql2.RankWord}, {"", "x", none}, {"-", "x", none},
		{"L'Haÿ-les-Roses", "lhay les", cql2.RankStart},
	}
	for _, tt := range tests {
		terms, err := cql2.ParseSearch(tt.q)
		if err != nil {
			t.Fatal(err)
		}
		rank, ok := cql2.RankWords(cql2.Words(tt.text), terms)
		if ok != (tt.rank != none) || ok && rank != tt.rank {
			t.Errorf("%q in %q: %d, %v; want %d", tt.q, tt.text, rank, ok, tt.rank)
		}
	}
}

func TestSearchOfARecord(t *testing.T) {
	t.Parallel()
	row := record{values: map[string]any{"navn": "Vik", "annet": nil, "sted": "Ny Vik"}}
	for want, props := range map[int][]string{cql2.RankWhole: {"sted", "annet", "navn"}, cql2.RankWord: {"sted"}} {
		s := cql2.Search{Props: props, Terms: []string{"vik"}}
		rank, ok, err := s.Rank(row)
		if v, everr := cql2.Eval(s, row); rank != want || !ok || err != nil || v != cql2.True || everr != nil {
			t.Errorf("%v: %d, %v, %v; %v, %v", props, rank, ok, err, v, everr)
		}
	}
	null := cql2.Search{Props: []string{"annet"}, Terms: []string{"vik"}}
	if v, err := cql2.Eval(null, row); v != cql2.False || err != nil {
		t.Errorf("of null: %v, %v", v, err)
	}
	if _, err := cql2.Check(cql2.Search{Props: []string{"n"}, Terms: []string{"x"}},
		columns{"n": cql2.TypeInteger}); err == nil {
		t.Error("a search in a number is taken")
	}
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"oslo", "Mo i,Rana", "\xff,", "ẞ ǽ", "'\x00--"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		terms, err := cql2.ParseSearch(s)
		if err != nil {
			return
		}
		for _, term := range terms {
			words := cql2.Words(term)
			if words != strings.ReplaceAll(term, "aa", "a") || term == "" {
				// which came of å and a, and would be folded again
				t.Errorf("%q: the words of %q are %q", s, term, words)
			}
			if words != term {
				continue
			}
			if rank, ok := cql2.RankWords(term, []string{term}); !ok || rank != cql2.RankWhole {
				t.Errorf("%q does not find itself", term)
			}
		}
	})
}
