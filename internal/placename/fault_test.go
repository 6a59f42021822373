package placename_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	api "grense/api/placename"
	"grense/internal/placename"
	"grense/internal/problem"
	"grense/internal/store"
)

// refusal runs a search that must be refused.
func refusal(t *testing.T, s api.Searcher, r api.Request) []api.Fault {
	t.Helper()
	_, err := s.Search(t.Context(), r)
	x, ok := errors.AsType[*api.Refusal](err)
	if !ok {
		t.Fatalf("%s: %v, want a refusal", describe(r), err)
	}
	return x.Faults
}

func ptr[T any](v T) *T { return &v }

func many(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%04d", i))
	}
	return out
}

func TestBadValuesAreRefusedWithTheirPath(t *testing.T) {
	t.Parallel()
	f := setup(t)
	long := strings.Repeat("å", 201)
	for name, c := range map[string]struct {
		r    api.Request
		want []api.Fault
	}{
		"name too long": {&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: &long}},
			[]api.Fault{{Path: "findSteder/stedSoek/stedsnavn", Value: long, Reason: api.LongText, N: 200}}},
		"expression too long": {&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: &long, AvansertSoek: ptr(true)}},
			[]api.Fault{{Path: "findSteder/stedSoek/stedsnavn", Value: long, Reason: api.LongText, N: 200}}},
		"name of a decision too long": {&api.FindVedtak{VedtakSoek: api.VedtakSoek{Skrivemaate: &long}},
			[]api.Fault{{Path: "findVedtak/vedtakSoek/skrivemaate", Value: long, Reason: api.LongText, N: 200}}},
		"text too long": {
			&api.FindNavnesaker{NavnesakSoek: api.NavnesakSoek{Beskrivelse: ptr(strings.Repeat("a", 1001))}},
			[]api.Fault{{Path: "findNavnesaker/navnesakSoek/beskrivelse", Value: strings.Repeat("a", 1001),
				Reason: api.LongText, N: 1000}}},
		"list too long": {&api.FindSteder{StedSoek: api.StedSoek{StedstatuserIds: many(1001), KommunerIds: many(1001)}},
			[]api.Fault{
				{Path: "findSteder/stedSoek/kommunerIds", Reason: api.LongList, N: 1000},
				{Path: "findSteder/stedSoek/stedstatuserIds", Reason: api.LongList, N: 1000}}},
		"wildcards only": {&api.FindStedsnavn{StedsnavnSoek: api.StedsnavnSoek{Stedsnavn: ptr("*?")}},
			[]api.Fault{{Path: "findStedsnavn/stedsnavnSoek/stedsnavn", Value: "*?", Reason: api.FewLiterals, N: 2}}},
		"one letter and a wildcard in a second name": {
			&api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{Stedsnavn: ptr("Oslo/Å*")}},
			[]api.Fault{{Path: "findSkrivemaater/skrivemaateSoek/stedsnavn", Value: "Oslo/Å*",
				Reason: api.FewLiterals, N: 2}}},
		"one letter and a wildcard": {
			&api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{Stedsnavn: ptr("Å *")}},
			[]api.Fault{{Path: "findSkrivemaater/skrivemaateSoek/stedsnavn", Value: "Å *",
				Reason: api.FewLiterals, N: 2}}},
		"nothing left after folding": {&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("''*")}},
			[]api.Fault{{Path: "findSteder/stedSoek/stedsnavn", Value: "''*", Reason: api.FewLiterals, N: 2}}},
		"a text of hard blanks, however the rest narrows the search": {
			&api.FindSteder{StedSoek: api.StedSoek{Merknadstekst: ptr("\u00a0"), KommunerIds: []string{"0301"}}},
			[]api.Fault{{Path: "findSteder/stedSoek/merknadstekst", Value: "\u00a0", Reason: api.FewLiterals, N: 2}}},
		"one letter and a wildcard, and a flag": {
			&api.FindSteder{StedSoek: api.StedSoek{Merknadstekst: ptr("x*"), AvAllmennInteresse: ptr(true)}},
			[]api.Fault{{Path: "findSteder/stedSoek/merknadstekst", Value: "x*", Reason: api.FewLiterals, N: 2}}},
		"two such patterns": {&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("Å*"), Merknadstekst: ptr("x*")}},
			[]api.Fault{
				{Path: "findSteder/stedSoek/stedsnavn", Value: "Å*", Reason: api.FewLiterals, N: 2},
				{Path: "findSteder/stedSoek/merknadstekst", Value: "x*", Reason: api.FewLiterals, N: 2}}},
		"one letter in one alternative of an expression": {
			&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr(`Oslo|Å`), AvansertSoek: ptr(true)}},
			[]api.Fault{{Path: "findSteder/stedSoek/stedsnavn", Value: "Oslo|Å", Reason: api.FewLiterals, N: 2}}},
		"one letter beside what is not meant": {
			&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr(`-Oslo Å`), AvansertSoek: ptr(true)}},
			[]api.Fault{{Path: "findSteder/stedSoek/stedsnavn", Value: "-Oslo Å", Reason: api.FewLiterals, N: 2}}},
		"one letter in phrase and pattern": {
			&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr(`"Å" =Å*`), AvansertSoek: ptr(true)}},
			[]api.Fault{{Path: "findSteder/stedSoek/stedsnavn", Value: `"Å" =Å*`, Reason: api.FewLiterals, N: 2}}},
		"one letter and similarity": {&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr(`~Å`),
			AvansertSoek: ptr(true), KommunerIds: []string{"0301"}}},
			[]api.Fault{{Path: "findSteder/stedSoek/stedsnavn", Value: `~Å`, Reason: api.FewLiterals, N: 2}}},
		"broken expression": {
			&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("Ås||dal"), AvansertSoek: ptr(true)}},
			[]api.Fault{{Path: "findSteder/stedSoek/stedsnavn", Value: "Ås||dal", Reason: api.BadExpression, N: 4}}},
		"municipalities": {
			&api.FindSteder{StedSoek: api.StedSoek{KommunerIds: []string{"0301", "Oslo", "301", "03012"}}}, []api.Fault{
				{Path: "findSteder/stedSoek/kommunerIds", Value: "Oslo", Reason: api.NotNumber},
				{Path: "findSteder/stedSoek/kommunerIds", Value: "301", Reason: api.BadKommune},
				{Path: "findSteder/stedSoek/kommunerIds", Value: "03012", Reason: api.BadKommune}}},
		"cadastral numbers": {&api.FindStederForMatrikkelenhetreferanse{Soek: api.StedMatrikkelenhetreferanseSoek{
			Kommunenummer: "30l", Gaardsnummer: " ", Bruksnummer: ptr("1-"), Stedsnavn: ptr("''*")}}, []api.Fault{
			{Path: "findStederForMatrikkelenhetreferanse/soek/kommunenummer", Value: "30l", Reason: api.BadKommune},
			{Path: "findStederForMatrikkelenhetreferanse/soek/gaardsnummer", Value: " ", Reason: api.Blank},
			{Path: "findStederForMatrikkelenhetreferanse/soek/bruksnummer", Value: "1-", Reason: api.BadNumberList},
			{Path: "findStederForMatrikkelenhetreferanse/soek/stedsnavn", Value: "''*",
				Reason: api.FewLiterals, N: 2}}},
		"nested searches": {&api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{
			BokSoek: &api.BokSoek{Tittel: ptr("x?")}, AnnenKartforekomstSoek: &api.KartforekomstSoek{
				Kartblad: ptr("*")}, KlageSoek: &api.DokumentertKlageSoek{Beskrivelse: ptr("?")},
			DokumentSoek: &api.DokumentSoek{Entry: []api.DokumentSoekEntry{{Key: "brev", Value: "'"}}}}}, []api.Fault{
			{Path: "findSkrivemaater/skrivemaateSoek/dokumentSoek/entry[1]/value", Value: "'",
				Reason: api.FewLiterals, N: 2}}},
		"wildcards in nested searches": {&api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{
			BokSoek: &api.BokSoek{Tittel: ptr("x?")}, AnnenKartforekomstSoek: &api.KartforekomstSoek{
				Kartblad: ptr("*")}, KlageSoek: &api.DokumentertKlageSoek{Beskrivelse: ptr("?")},
			OpplysningSoek: &api.OpplysningSoek{Informant: ptr("x*")}}}, []api.Fault{
			{Path: "findSkrivemaater/skrivemaateSoek/bokSoek/tittel", Value: "x?", Reason: api.FewLiterals, N: 2},
			{Path: "findSkrivemaater/skrivemaateSoek/annenKartforekomstSoek/kartblad", Value: "*",
				Reason: api.FewLiterals, N: 2},
			{Path: "findSkrivemaater/skrivemaateSoek/opplysningSoek/informant", Value: "x*",
				Reason: api.FewLiterals, N: 2},
			{Path: "findSkrivemaater/skrivemaateSoek/klageSoek/beskrivelse", Value: "?",
				Reason: api.FewLiterals, N: 2}}},
		"too many documents": {&api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{
			DokumentSoek: &api.DokumentSoek{Entry: make([]api.DokumentSoekEntry, 101)}}},
			[]api.Fault{{Path: "findSkrivemaater/skrivemaateSoek/dokumentSoek", Reason: api.LongList, N: 100}}},
		"books without words": {&api.FindBoeker{Soeketekst: " \t"},
			[]api.Fault{{Path: "findBoeker/soeketekst", Value: " \t", Reason: api.Blank}}},
		"books with letters only": {&api.FindBoeker{Soeketekst: "a b *"},
			[]api.Fault{{Path: "findBoeker/soeketekst", Value: "a b *", Reason: api.ShortWords, N: 2}}},
		"books with a long text": {&api.FindBoeker{Soeketekst: strings.Repeat("a ", 501)},
			[]api.Fault{{Path: "findBoeker/soeketekst", Value: strings.Repeat("a ", 501),
				Reason: api.LongText, N: 1000}}},
		"books with punctuation only": {&api.FindBoeker{Soeketekst: ": , ;"},
			[]api.Fault{{Path: "findBoeker/soeketekst", Value: ": , ;", Reason: api.ShortWords, N: 2}}},
		"map sheet of one character and a wildcard": {&api.FindKartprodukter{Kartblad: ptr("1*")},
			[]api.Fault{{Path: "findKartprodukter/kartblad", Value: "1*", Reason: api.FewLiterals, N: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := refusal(t, f.service(), c.r); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// The path of a fault is that of the contract, for every field that can have one here.
func TestTextsAndListsBeyondTheLimitAreRefusedUnderTheNameOfTheContract(t *testing.T) {
	t.Parallel()
	f := setup(t)
	lower := func(path string) string {
		parts := strings.Split(path, ".")
		for i, p := range parts {
			parts[i] = strings.ToLower(p[:1]) + p[1:]
		}
		return strings.Join(parts, "/")
	}
	refused := 0
	for op, s := range searches {
		for _, path := range leaves(s.target(s.request()).Type(), "") {
			r, want := s.request(), op+"/"+lower(path)
			if s.object != "" {
				want = op + "/" + lower(s.object) + "/" + lower(path)
			}
			if s.object == "Soek" {
				set(s.target(r), "Kommunenummer", "0301")
				set(s.target(r), "Gaardsnummer", "1")
			}
			zero := s.target(s.request())
			set(zero, path, zeroOf(zero, path))
			switch leaf(zero, path).Interface().(type) {
			case string:
				set(s.target(r), path, strings.Repeat("x", 1001))
			case []string:
				set(s.target(r), path, many(1001))
			default:
				continue
			}
			_, err := f.service().Search(t.Context(), r)
			x, ok := errors.AsType[*api.Refusal](err)
			switch {
			case strings.HasSuffix(path, "Id"): // a code; the protocol limits it
				if err != nil {
					t.Errorf("%s: %v", want, err)
				}
			case !ok || len(x.Faults) != 1 || x.Faults[0].Path != want:
				t.Errorf("%v, want a fault of %s", err, want)
			default:
				refused++
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d fields", refused)
	}
}

// leaf returns the value at the end of a path whose pointers are set.
func leaf(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		v = reflect.Indirect(v).FieldByName(name)
	}
	return reflect.Indirect(v)
}

// zeroOf returns the zero value of the type at the end of a path, without a pointer.
func zeroOf(v reflect.Value, path string) any {
	t := v.Type()
	for name := range strings.SplitSeq(path, ".") {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		f, _ := t.FieldByName(name)
		t = f.Type
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.Zero(t).Interface()
}

func TestNumberListsAreReadOrRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for in, fine := range map[string]bool{
		"1": true, "01": true, "1,2": true, " 1 - 5 , 7 ": true, "3-3": true, "0": true, "999999999999": true,
		"1,": false, ",1": false, "1--5": false, "-5": false, "5-1": false, "1.5": false, "a": false, "1-5-7": false,
		"+1": false, "١": false, "99999999999999999999": false,
	} {
		r := &api.FindStederForMatrikkelenhetreferanse{
			Soek: api.StedMatrikkelenhetreferanseSoek{Kommunenummer: "0301", Gaardsnummer: in},
		}
		if !fine {
			if got := refusal(t, f.service(), r); got[0].Reason != api.BadNumberList {
				t.Errorf("%q: %+v", in, got)
			}
			continue
		}
		searches[r.Operation()].compare(t, f, f.service(), r)
	}
}

func TestMoreThanTwentyFaultsAreNotTold(t *testing.T) {
	t.Parallel()
	r := &api.FindSteder{StedSoek: api.StedSoek{KommunerIds: slices.Repeat([]string{"x"}, 500)}}
	if got := refusal(t, setup(t).service(), r); len(got) != 20 {
		t.Errorf("%d faults", len(got))
	}
}

func TestASearchIsRefusedWhenItFindsMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	f := setup(t)
	r := &api.FindSteder{StedSoek: api.StedSoek{NavneobjekttyperIds: []string{"fylke"}}}
	n := len(f.steder(&r.StedSoek))
	if got := hits[api.StedTreff, api.StedTreffList](t, placename.New(f.store, placename.Options{MaxHits: n}),
		r); len(got) != n {
		t.Errorf("%d hits at the limit, want %d", len(got), n)
	}
	want := []api.Fault{{Path: "findSteder", Reason: api.TooManyHits, N: int64(n - 1)}}
	if got := refusal(t, placename.New(f.store, placename.Options{MaxHits: n - 1}), r); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if text := (&api.Refusal{Faults: want}).Text(api.English); !strings.Contains(text, fmt.Sprint(n-1)) ||
		!(&api.Refusal{Faults: want}).Limit() {
		t.Errorf("the text does not name the limit: %s", text)
	}
}

func TestBlankTextsAndEmptyResultsAreNoFaults(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for name, r := range map[string]api.Request{
		"unknown code":         &api.FindSteder{StedSoek: api.StedSoek{NavneobjekttyperIds: []string{"finnesIkke"}}},
		"unknown municipality": &api.FindSteder{StedSoek: api.StedSoek{KommunerIds: []string{"9999"}}},
		"unknown country":      &api.FindSteder{StedSoek: api.StedSoek{LandId: ptr("QQ")}},
		"name of silent signs": &api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("'")}},
		"name of hard blanks":  &api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("\u00a0\u2003")}},
		"later than it is": &api.FindSteder{StedSoek: api.StedSoek{
			OppdatertEtter: ptr(time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -14*3600)))}},
		"earlier than it was": &api.FindSteder{
			StedSoek: api.StedSoek{OppdatertFoer: ptr(time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 14*3600)))}},
		"an empty window": &api.FindSteder{StedSoek: api.StedSoek{
			OppdatertEtter: ptr(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)),
			OppdatertFoer:  ptr(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))}},
		"an empty window of days": &api.FindVedtak{
			VedtakSoek: api.VedtakSoek{VedtattEtter: ptr(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)),
				VedtattFoer: ptr(time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC))}},
		"a negative number": &api.FindSteder{StedSoek: api.StedSoek{Stedsnummer: ptr(int64(-1))}},
		"a huge number":     &api.FindSteder{StedSoek: api.StedSoek{Stedsnummer: ptr(int64(1<<63 - 1))}},
	} {
		a, err := f.service().Search(t.Context(), r)
		if err != nil || a.Count != 0 || a.Next != nil {
			t.Errorf("%s: %d hits, %v", name, a.Count, err)
		}
	}
	for _, at := range []time.Time{time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.FixedZone("", -14*3600)),
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		r := &api.FindSteder{StedSoek: api.StedSoek{OppdatertFoer: &at}}
		if n := searches["findSteder"].compare(t, f, f.service(), r); n != places {
			t.Errorf("before %v: %d places", at, n)
		}
	}
}

func TestASnapshotBeforeTheDataIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	extract := f.store.Catalog().Modified
	if extract.IsZero() {
		t.Fatal("the store does not know the time of its data")
	}
	for _, c := range []struct {
		at   time.Time
		fine bool
	}{{time.Time{}, true}, {extract, true}, {time.Date(9999, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)), true},
		{extract.Add(-time.Second), false}} {
		r := &api.FindBoeker{StedsnavnContext: api.StedsnavnContext{SnapshotVersion: c.at}, Soeketekst: "norske"}
		if c.fine {
			searches["findBoeker"].compare(t, f, f.service(), r)
		} else if got := refusal(t, f.service(), r); got[0].Reason != api.OldSnapshot ||
			got[0].Path != "findBoeker/stedsnavnContext/snapshotVersion" {
			t.Errorf("%+v", got)
		}
	}
}

// Long inputs that are legal must not meet a limit of the database.
func TestTheLargestLegalRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	f := setup(t)
	lists := api.SkrivemaateSoek{
		SkrivemaatestatuserIds: many(
			1000,
		), NavneobjekttyperIds: many(1000), VedtaksmyndigheterIds: many(1000), KommunerIds: many(1000),
		SpraakIds:           many(1000),
		NavnesakstatuserIds: many(1000), MerknadstyperIds: many(1000), DokumentSoek: &api.DokumentSoek{},
		Stedsnavn: ptr(strings.Repeat("ab|", 66) + "cd"), AvansertSoek: ptr(true),
	}
	for range 100 {
		lists.DokumentSoek.Entry = append(lists.DokumentSoek.Entry,
			api.DokumentSoekEntry{Key: "brev", Value: strings.Repeat("*b", 500)})
	}
	for name, r := range map[string]api.Request{
		"lists": &api.FindSkrivemaater{SkrivemaateSoek: lists},
		"ranges": &api.FindStederForMatrikkelenhetreferanse{Soek: api.StedMatrikkelenhetreferanseSoek{
			Kommunenummer: "0301", Gaardsnummer: strings.Repeat("1-2,", 249) + "1-2",
			Bruksnummer: ptr(strings.Repeat("1,", 499) + "1")}},
		"words": &api.FindBoeker{Soeketekst: strings.Repeat("ab ", 333)},
		"negations": &api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr(strings.Repeat("-ab ", 50)),
			AvansertSoek: ptr(true)}},
		"similarity": &api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("~" + strings.Repeat("abcdefghij", 19)),
			AvansertSoek: ptr(true)}},
		"phrases": &api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr(strings.Repeat(`"ab"|`, 39) + "cd"),
			AvansertSoek: ptr(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := f.service().Search(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
}

// broken is a store with errors of our choice.
type broken struct {
	store.Store
	catalog     *store.Catalog
	page, fetch error
}

func (b broken) Catalog() *store.Catalog {
	if b.catalog != nil {
		return b.catalog
	}
	return b.Store.Catalog()
}

func (b broken) All(ctx context.Context, q store.AllQuery) (*store.All, error) {
	if b.page != nil {
		return nil, b.page
	}
	return b.Store.All(ctx, q)
}

func (b broken) Fetch(
	ctx context.Context,
	c string,
	rows []store.Row,
	w store.Want,
	fn func(*store.Feature) error,
) error {
	if b.fetch != nil {
		return b.fetch
	}
	return b.Store.Fetch(ctx, c, rows, w, fn)
}

func TestErrorsOfTheStoreHaveAClass(t *testing.T) {
	t.Parallel()
	f := setup(t)
	secret := errors.New("secret")
	ask := func(b broken, r api.Request) error {
		b.Store = f.store
		a, err := placename.New(b, placename.Options{}).Search(t.Context(), r)
		if err == nil {
			_, err = a.Next(t.Context())
		}
		return err
	}
	oslo := func() *api.FindSkrivemaater {
		return &api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{Stedsnavn: ptr("Oslo")}}
	}
	for name, c := range map[string]struct {
		b    broken
		kind problem.Kind
	}{
		"page":        {broken{page: secret}, problem.Internal},
		"fetch":       {broken{fetch: secret}, problem.Internal},
		"store away":  {broken{page: fmt.Errorf("x: %w", store.ErrUnavailable)}, problem.Unavailable},
		"record gone": {broken{fetch: fmt.Errorf("x: %w", store.ErrNotFound)}, problem.Unavailable},
		"no register": {broken{catalog: &store.Catalog{}}, problem.Unavailable},
		"other register": {broken{catalog: &store.Catalog{Collections: []*store.Collection{{ID: "skrivemaate"}}}},
			problem.Internal},
	} {
		err := ask(c.b, oslo())
		if p, ok := errors.AsType[*problem.Error](err); !ok || p.Kind != c.kind ||
			strings.Contains(p.Detail, "secret") {
			t.Errorf("%s: %#v", name, err)
		}
	}
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		if err := ask(broken{page: fmt.Errorf("x: %w", want)}, oslo()); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.service().Search(ctx, oslo()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the caller left: %v", err)
	}
}

// mistaken gives one property another value than the register has.
type mistaken struct {
	store.Store
	property string
	value    any
}

func (m mistaken) Fetch(
	ctx context.Context,
	c string,
	rows []store.Row,
	w store.Want,
	fn func(*store.Feature) error,
) error {
	return m.Store.Fetch(ctx, c, rows, w, func(f *store.Feature) error {
		if i := slices.Index(w.Properties, m.property); i >= 0 {
			f.Values[i] = m.value
		}
		return fn(f)
	})
}

func TestAValueOfTheWrongTypeIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, c := range []struct {
		property string
		value    any
		fine     bool
	}{
		{"stedsnummer", int64(7), true}, {"stedsnummer", "7", false}, {"antall_skrivemaater", int64(1) << 40, false},
		{"antall_skrivemaater", nil, true},
		{"antall_beste_skrivemaater", 1.5, false}, {"kommuner", store.JSON(`["0301"]`), true},
		{"kommuner", store.JSON(`{`), false}, {"kommuner", "0301", false},
		{"har_primaerfunksjon", int64(1), false}, {"spraak", true, false}, {"sted_id", int64(7), true},
		{"skrivemaatestatusdato", "2024-02-29", true},
		{"skrivemaatestatusdato", "2024-02-30", false}, {"skrivemaatestatusdato", int64(2024), false},
	} {
		s := placename.New(mistaken{f.store, c.property, c.value}, placename.Options{})
		a, err := s.Search(t.Context(), &api.FindStedsnavn{StedsnavnSoek: api.StedsnavnSoek{Stedsnavn: ptr("Oslo")}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Next(t.Context())
		p, ok := errors.AsType[*problem.Error](err)
		if c.fine != (err == nil) ||
			!c.fine && (!ok || p.Kind != problem.Internal || !strings.Contains(err.Error(), c.property)) {
			t.Errorf("%s = %v: %v", c.property, c.value, err)
		}
	}
}
