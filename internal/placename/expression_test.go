package placename_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/geo/crs"
	"grense/internal/placename"
	"grense/internal/store"
)

func TestExpressionsAreReadByTheirGrammar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want [][]string
		pos  int // of the fault, in characters
	}{
		{in: "stor", want: [][]string{{"stor"}}},
		{in: "  stor \t dal ", want: [][]string{{"stor", "dal"}}},
		{in: "stor dal|vik", want: [][]string{{"stor", "dal"}, {"vik"}}},
		{in: "a|b | c", want: [][]string{{"a"}, {"b"}, {"c"}}},
		{in: "stor -dal", want: [][]string{{"stor", "-dal"}}},
		{in: "Nord-Fron", want: [][]string{{"Nord-Fron"}}},
		{in: "a=b~c", want: [][]string{{"a=b~c"}}},
		{in: `"Store  berg" vik`, want: [][]string{{`"Store  berg"`, "vik"}}},
		{in: `-"Store berg"`, want: [][]string{{`-"Store berg"`}}},
		{in: `ab"cd ef"gh`, want: [][]string{{"ab", `"cd ef"`, "gh"}}},
		{in: `"a|b"`, want: [][]string{{`"a|b"`}}},
		{in: "=Å", want: [][]string{{"=Å"}}},
		{in: `="Store berg"`, want: [][]string{{"=Store berg"}}},
		{in: "-=Å -~dal", want: [][]string{{"-=Å", "-~dal"}}},
		{in: "=-a ==", want: [][]string{{"=-a", "=="}}},
		{in: "=Å*", want: [][]string{{"=Å*"}}},
		{in: "", pos: 1},
		{in: "   ", pos: 4},
		{in: "|stor", pos: 1},
		{in: "stor|", pos: 6},
		{in: "stor||dal", pos: 6},
		{in: "Ås | | dal", pos: 6},
		{in: "stor - dal", pos: 7},
		{in: "stor -", pos: 7},
		{in: "--stor", pos: 2},
		{in: "= stor", pos: 2},
		{in: "~", pos: 2},
		{in: "~sto*", pos: 2},
		{in: `stor "dal`, pos: 6},
		{in: `stor ""`, pos: 6},
		{in: `stor " "`, pos: 6},
		{in: `ÅÅ ="dal`, pos: 5},
	} {
		if got, pos := placename.ParseExpression(c.in); !reflect.DeepEqual(got, c.want) || pos != c.pos {
			t.Errorf("%q: %q, fault at %d; want %q, fault at %d", c.in, got, pos, c.want, c.pos)
		}
	}
}

func FuzzParseExpression(f *testing.F) {
	for _, s := range []string{"stor dal|vik", `-"Store berg" =Å ~dal`, "--", `"`, "|", "a\x80b", "~*", "= \u00a0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, pos := placename.ParseExpression(s)
		if n := utf8.RuneCountInString(s); pos < 0 || pos > n+1 || (pos == 0) != (e != nil) {
			t.Fatalf("%q: %d alternatives, fault at %d", s, len(e), pos)
		}
		for _, list := range e {
			if len(list) == 0 ||
				slices.ContainsFunc(list,
					func(x string) bool {
						return slices.Contains([]string{"", "=", "~", `""`}, strings.TrimPrefix(x, "-"))
					}) {
				t.Fatalf("%q: an empty term in %q", s, list)
			}
		}
	})
}

// Each expression is compared with a test of one text written out in Go.
func TestExpressionsSelectTheTextsThatTheySay(t *testing.T) {
	t.Parallel()
	f := setup(t)
	has := func(part string) func(string) bool {
		return func(s string) bool { return strings.Contains(f.fold(s), part) }
	}
	whole := func(pattern string) func(string) bool {
		return func(s string) bool { return f.like(pattern, s) }
	}
	phrase := func(p string) func(string) bool {
		return func(s string) bool { return strings.Contains(" "+f.fold(s)+" ", " "+p+" ") }
	}
	and := func(a, b func(string) bool) func(string) bool {
		return func(s string) bool { return a(s) && b(s) }
	}
	or := func(a, b func(string) bool) func(string) bool {
		return func(s string) bool { return a(s) || b(s) }
	}
	not := func(a func(string) bool) func(string) bool { return func(s string) bool { return !a(s) } }
	is := func(text string) func(string) bool { return func(s string) bool { return s == text } }
	for _, c := range []struct {
		in   string
		want func(string) bool
		none bool // no spelling of the register is meant to match
	}{
		{in: "dal", want: has("dal")},
		{in: "VATN", want: has("vatn")},
		{in: "berg nord", want: and(has("berg"), has("nord"))},
		{in: "dal|vik", want: or(has("dal"), has("vik"))},
		{in: "dal|vik sand", want: or(has("dal"), and(has("vik"), has("sand")))},
		{in: "dal -stor", want: and(has("dal"), not(has("stor")))},
		{in: "-dal -vik", want: and(not(has("dal")), not(has("vik")))},
		{in: "-dal|dal", want: func(string) bool { return true }},
		{in: "nord-fron", want: has("nord fron")},
		{in: "dal*", want: whole("dal*")},
		{in: "*dal", want: whole("*dal")},
		{in: "*a?e*", want: whole("*a?e*")},
		{in: `"nord fron"`, want: phrase("nord fron")},
		{in: `"Søre"`, want: phrase("sore")},
		{in: `-"Søre" sor`, want: and(not(phrase("sore")), has("sor"))},
		{in: `"s?re"`, want: func(s string) bool {
			return slices.ContainsFunc(strings.Fields(f.fold(s)), func(w string) bool {
				return len(w) == 4 && w[0] == 's' && w[2:] == "re"
			})
		}},
		{in: "=Oslo", want: is("Oslo")},
		{in: "=oslo", want: is("oslo"), none: true},
		{in: "=Ås", want: is("Ås")},
		{in: `="Nord-Fron"|=Oslo`, want: or(is("Nord-Fron"), is("Oslo"))},
		{in: "=Å?e*", want: func(s string) bool {
			r := []rune(s)
			return len(r) > 2 && r[0] == 'Å' && r[2] == 'e'
		}},
		{in: "=Ås*", want: func(s string) bool { return strings.HasPrefix(s, "Ås") }},
		{in: "dal -=Årdal", want: and(has("dal"), not(is("Årdal")))},
		{in: "~Kristiansand", want: similar(f, "Kristiansand")},
		{in: "~osla", want: similar(f, "osla")},
		{in: `~"nord fron"`, want: similar(f, "nord fron")},
		{in: "~as", want: similar(f, "as")},
		{in: "~xqzwxqzw", want: similar(f, "xqzwxqzw"), none: true},
		{in: "dal -~ardal", want: and(has("dal"), not(similar(f, "ardal")))},
		{in: "100%", want: has("100%"), none: true},
		{in: `da_`, want: has(`da_`), none: true},
		{in: `dal\`, want: has(`dal\`), none: true},
	} {
		t.Run(c.in, func(t *testing.T) {
			t.Parallel()
			advanced, in := true, c.in
			var want []string
			for _, r := range f.sorted("skrivemaate", func(r row) bool { return c.want(r.text("langnavn")) }) {
				want = append(want, r.id())
			}
			if (len(want) == 0) != c.none {
				t.Fatalf("the register has %d such spellings", len(want))
			}
			q := &api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{Stedsnavn: &in, AvansertSoek: &advanced}}
			var got []string
			for _, h := range hits[api.SkrivemaateTreff, api.SkrivemaateTreffList](t, f.service(), q) {
				got = append(got, h.SkrivemaateId)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d spellings, want %d", len(got), len(want))
			}
			// A place is found when one of its spellings fulfils the whole expression.
			var wantPlaces, places []string
			for _, r := range f.sorted("sted", func(r row) bool {
				return slices.ContainsFunc(f.where("skrivemaate", "sted_id", r["id"]), func(s row) bool {
					return c.want(s.text("langnavn"))
				})
			}) {
				wantPlaces = append(wantPlaces, r.id())
			}
			for _, h := range hits[api.StedTreff, api.StedTreffList](t, f.service(),
				&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: &in, AvansertSoek: &advanced}}) {
				places = append(places, h.StedId)
			}
			if !slices.Equal(places, wantPlaces) {
				t.Errorf("%d places, want %d", len(places), len(wantPlaces))
			}
		})
	}
}

func TestSimilarNamesAreLookedUpWhereTheSearchIs(t *testing.T) {
	t.Parallel()
	f := setup(t)
	whole, in := "~kristiansand", []string{"4204", "1505"}
	want := f.sorted("sted", func(r row) bool {
		return f.inKommuner(in, r["id"]) && r.text("navneobjekttype") == "by" &&
			slices.ContainsFunc(f.where("skrivemaate", "sted_id", r["id"]),
				func(s row) bool { return similar(f, whole[1:])(s.text("langnavn")) })
	})
	got := hits[api.StedTreff, api.StedTreffList](t, f.service(), &api.FindSteder{StedSoek: api.StedSoek{
		Stedsnavn: &whole, AvansertSoek: ptr(true), KommunerIds: in, NavneobjekttyperIds: []string{"by"}}})
	if len(want) < 2 || !slices.EqualFunc(got, want, func(h api.StedTreff, r row) bool { return h.StedId == r.id() }) {
		t.Errorf("%d places, want %d", len(got), len(want))
	}
}

// wordRecord is a record that has nothing but a text.
type wordRecord string

func (w wordRecord) Value(string) (any, error)             { return string(w), nil }
func (wordRecord) Geometry(string) ([]byte, crs.ID, error) { return nil, 0, nil }
func (wordRecord) Rows(string) ([]cql2.Record, error)      { return nil, nil }

func TestEveryTextThatIsSimilarEnoughIsACandidate(t *testing.T) {
	t.Parallel()
	texts, last := []string{}, []string{""}
	for range 5 {
		var next []string
		for _, s := range last {
			for _, c := range []string{"b", "c", " "} {
				next = append(next, s+c)
			}
		}
		last = next
		texts = append(
			texts,
			slices.DeleteFunc(slices.Clone(next), func(s string) bool { return fold.Norm(s) != s || s == "" })...)
	}
	similar, left := 0, 0
	for _, own := range texts {
		m := cql2.NewMatcher(placename.SimilarTo(own))
		for _, s := range texts {
			hit, err := m.Eval(wordRecord(s))
			if err != nil {
				t.Fatal(err)
			}
			switch enough := placename.Similarity(own, s) >= 0.4; {
			case enough && hit != cql2.True:
				t.Fatalf("%q is similar to %q and no candidate", s, own)
			case enough:
				similar++
			case hit != cql2.True:
				left++
			}
		}
	}
	if similar < 1000 || left < 1000 {
		t.Errorf("%d similar pairs, %d that are no candidates", similar, left)
	}
}

func TestSimilarNamesAreRefusedWhereThereAreTooMany(t *testing.T) {
	t.Parallel()
	f := setup(t)
	one, two := len(similarTexts(f, "kristiansand")), len(similarTexts(f, "fredrikstad"))
	r := &api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("~kristiansand|~fredrikstad"), AvansertSoek: ptr(true)}}
	for _, c := range []struct {
		candidates, similar int
		fine                bool
	}{{places * 9, one + two, true}, {1, one + two, false}, {places * 9, one + two - 1, false},
		{places * 9, one - 1, false}} {
		s := f.service()
		s.LimitSimilar(c.candidates, c.similar)
		if c.fine {
			if n := len(hits[api.StedTreff, api.StedTreffList](t, s, r)); n < 2 {
				t.Errorf("%d hits", n)
			}
			continue
		}
		if got := refusal(t, s, r); got[0].Reason != api.TooManyHits || got[0].Path != "findSteder/stedSoek/stedsnavn" {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// similarTexts are the folded texts that are similar.
func similarTexts(f *fixture, to string) map[string]bool {
	texts := map[string]bool{}
	for _, r := range f.rows["skrivemaate"] {
		if similar(f, to)(r.text("langnavn")) {
			texts[f.fold(r.text("langnavn"))] = true
		}
	}
	return texts
}

// similar counts trigrams with maps: of each word with two blanks before and one after it, each once; common ones by
// all, 0.4 or more.
func similar(f *fixture, to string) func(string) bool {
	grams := func(s string) map[string]bool {
		m := map[string]bool{}
		for word := range strings.FieldsSeq(fold.Norm(s)) {
			padded := []rune("  " + word + " ")
			for i := 3; i <= len(padded); i++ {
				m[string(padded[i-3:i])] = true
			}
		}
		return m
	}
	a := grams(to)
	return func(s string) bool {
		b, common := grams(s), 0
		for g := range a {
			if b[g] {
				common++
			}
		}
		return 10*common >= 4*(len(a)+len(b)-common)
	}
}

// leaving is a store whose asker leaves while spellings are read.
type leaving struct {
	store.Store
	leave func()
	read  int
}

func (l *leaving) Fetch(
	_ context.Context,
	collection string,
	rows []store.Row,
	want store.Want,
	fn func(*store.Feature) error,
) error {
	l.leave()
	return l.Store.Fetch(context.Background(), collection, rows, want, func(f *store.Feature) error {
		l.read++
		return fn(f)
	})
}

func (l *leaving) All(ctx context.Context, q store.AllQuery) (*store.All, error) {
	p, err := l.Page(context.Background(), q.Query)
	if err != nil {
		return nil, err
	}
	return store.AllOf(ctx, l, q, p)
}

func TestSimilarNamesStopWhenTheCallerLeaves(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	st := &leaving{Store: setup(t).store, leave: cancel}
	_, err := placename.New(st, placename.Options{}).
		Search(ctx, &api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("~Kristiansand"), AvansertSoek: ptr(true)}})
	if !errors.Is(err, context.Canceled) || st.read != 1 {
		t.Errorf("%v after %d spellings", err, st.read)
	}
}
