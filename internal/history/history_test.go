package history_test

import (
	"encoding/csv"
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"grense/internal/history"
	"grense/internal/sharedtest"
)

func norwayOf(t testing.TB) (kommune, fylke *history.Scheme) {
	t.Helper()
	h, err := history.Norway()
	if err != nil {
		t.Fatal(err)
	}
	return h.Scheme(history.Kommune), h.Scheme(history.Fylke)
}

// sharedTable reads a gzipped CSV of the shared data; the test is skipped without it.
func sharedTable(t *testing.T, name string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(sharedtest.Open(t, "data", "lineage", name)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// label is what is put behind a name to distinguish it from the same name elsewhere.
var label = regexp.MustCompile(` \([^()]*\)$`)

func day(t testing.TB, s string) history.Date {
	t.Helper()
	d, err := history.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func codes(vs []*history.Version) (out []string) {
	for _, v := range vs {
		out = append(out, v.Code)
	}
	return out
}

func TestCodesAndNamesOfEachPublishedVersionAreThoseOfTheList(t *testing.T) {
	t.Parallel()
	kommune, _ := norwayOf(t)
	lists := map[history.Date][]string{}
	for _, r := range sharedTable(t, "no-klass131-versions-1971-2024.csv.gz") {
		if r[3] != "9999" {
			d := day(t, r[1])
			lists[d] = append(lists[d], r[3]+" "+label.ReplaceAllString(r[4], ""))
		}
	}
	if len(lists) != 29 {
		t.Fatalf("%d versions", len(lists))
	}
	for d, want := range lists {
		var got []string
		for _, v := range kommune.On(d) {
			got = append(got, v.Code+" "+v.Name)
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %d codes, want %d", d, len(got), len(want))
		}
	}
}

func TestNumberOfDivisionsOfEachYear(t *testing.T) {
	t.Parallel()
	kommune, fylke := norwayOf(t)
	for d, want := range map[history.Date]int{20050101: 433, 20060101: 431, 20080101: 430, 20120101: 429, 20130101: 428,
		20170101: 426, 20180101: 422, 20190101: 422, 20200101: 356, 20231231: 356,
		20240101: 357, 20300101: 357} {
		if got := len(kommune.On(d)); got != want {
			t.Errorf("%s: %d municipalities, want %d", d, got, want)
		}
	}
	for d, want := range map[history.Date]int{19720101: 19, 20171231: 19, 20180101: 18, 20200101: 11, 20240101: 15} {
		if got := len(fylke.On(d)); got != want {
			t.Errorf("%s: %d counties, want %d", d, got, want)
		}
	}
}

// TestReplayGivesEveryList goes from the first day to the last and back by the events alone.
func TestReplayGivesEveryList(t *testing.T) {
	t.Parallel()
	for _, s := range func() []*history.Scheme { k, f := norwayOf(t); return []*history.Scheme{k, f} }() {
		state := map[*history.Version]bool{}
		for _, v := range s.On(s.Versions[0].From) {
			state[v] = true
		}
		for i := range s.Versions { // what begins with the scheme
			if v := &s.Versions[i]; len(s.In(v)) == 0 {
				state[v] = true
			}
		}
		same := func(d history.Date) {
			t.Helper()
			n := 0
			for _, v := range s.On(d) {
				if !state[v] {
					t.Fatalf("%s on %s: %s is missing", s.ID, d, v.Code)
				}
				n++
			}
			if n != len(state) {
				t.Fatalf("%s on %s: %d divisions, want %d", s.ID, d, len(state), n)
			}
		}
		step := func(e *history.Event, out, in []*history.Version) {
			if e.Kind == history.Transfer && e.Edges[0].Part && len(e.Edges) == 1 {
				return
			}
			for _, v := range out {
				if !state[v] {
					t.Fatalf("%s: %s is not there", e.ID, v.Code)
				}
				delete(state, v)
			}
			for _, v := range in {
				state[v] = true
			}
		}
		for i := range s.Events {
			e := &s.Events[i]
			step(e, e.Before(), e.After())
			if i+1 == len(s.Events) || s.Events[i+1].Date != e.Date {
				same(e.Date)
			}
		}
		for i := len(s.Events) - 1; i >= 0; i-- {
			e := &s.Events[i]
			step(e, e.After(), e.Before())
			if i > 0 && s.Events[i-1].Date != e.Date {
				same(s.Events[i-1].Date)
			}
		}
	}
}

func TestUndoneMergersLeadToThePartThatWas(t *testing.T) {
	t.Parallel()
	kommune, fylke := norwayOf(t)
	for _, tt := range []struct {
		s        *history.Scheme
		code     string
		from, to history.Date
		want     string
	}{
		{kommune, "1504", 20190101, 20240101, "1508"}, {kommune, "1523", 20190101, 20240101, "1508"},
		{kommune, "1529", 20190101, 20240101, "1508"}, {kommune, "1546", 20190101, 20240101, "1508"},
		{kommune, "1534", 20190101, 20240101, "1580"}, {kommune, "1507", 20230101, 20240101, "1508 1580"},
		{kommune, "1534", 20190101, 20230101, "1507"},
		{kommune, "1580", 20240101, 20190101, "1534"}, {kommune, "1508", 20240101, 20190101, "1504 1523 1529 1546"},
		{kommune, "1508", 20240101, 20230101, "1507"},
		{kommune, "0612", 19630101, 19770101, "0612"}, {kommune, "0613", 19630101, 20240101, "3305"},
		{kommune, "0612", 19770101, 19630101, "0612"},
		{kommune, "1526", 19640101, 19770101, "1526"}, {kommune, "0301", 19500101, 20240101, "0301"},
		{kommune, "0720", 20160101, 20240101, "3905 3907"},
		{kommune, "1850", 20190101, 20240101, "1806 1875"}, {kommune, "5012", 20190101, 20200101, "5055 5056 5059"},
		{kommune, "0712", 20190101, 20240101, "3909"},
		{fylke, "20", 20190101, 20240101, "56"}, {fylke, "01", 20190101, 20240101, "31 32"},
		{fylke, "02", 20190101, 20240101, "32"}, {fylke, "56", 20240101, 20190101, "20"},
		{fylke, "16", 20170101, 20200101, "50"}, {fylke, "54", 20200101, 20240101, "55 56"},
	} {
		got, err := tt.s.Translate(tt.code, tt.from, tt.to)
		if err != nil || strings.Join(codes(got), " ") != tt.want {
			t.Errorf("%s %s on %s is %v on %s, want %s; %v", tt.s.ID, tt.code, tt.from, codes(got), tt.to, tt.want, err)
		}
	}
}

func TestACodeMayMeanSeveral(t *testing.T) {
	t.Parallel()
	kommune, _ := norwayOf(t)
	entities := map[string]bool{}
	for _, v := range kommune.Meanings("0712") {
		entities[v.Entity] = true
	}
	if len(entities) != 2 {
		t.Errorf("0712 meant %v", entities)
	}
	if v, err := kommune.At("0712", 20191231); err != nil || v.Name != "Larvik" {
		t.Errorf("0712 in 2019: %v %v", v, err)
	}
	if v, err := kommune.At("0712", 19631231); err != nil || v.Name != "Skoger" {
		t.Errorf("0712 in 1963: %v %v", v, err)
	}
	if _, err := kommune.At("0712", 20000101); !errors.Is(err, history.ErrNotThen) {
		t.Errorf("0712 in 2000: %v", err)
	}
	if _, err := kommune.Translate("9999", 20000101, 20240101); !errors.Is(err, history.ErrUnknown) {
		t.Errorf("9999: %v", err)
	}
}

func TestWhatGoesOnIsOneEntity(t *testing.T) {
	t.Parallel()
	kommune, _ := norwayOf(t)
	entity := func(code string, d history.Date) string {
		v, err := kommune.At(code, d)
		if err != nil {
			t.Fatal(err)
		}
		return v.Entity
	}
	for _, same := range [][4]any{{"1103", history.Date(20190101), "1103", history.Date(20200101)},
		{"0709", history.Date(20170101), "3909", history.Date(20240101)},
		{"0301", history.Date(19000101), "0301", history.Date(20240101)}} {
		a, b := entity(same[0].(string), same[1].(history.Date)), entity(same[2].(string), same[3].(history.Date))
		if same[0] == "0709" { // a merger came between
			if a == b {
				t.Errorf("%v is one entity", same)
			}
		} else if a != b {
			t.Errorf("%v: %s and %s", same, a, b)
		}
	}
	if a, b := entity("1507", 20230101), entity("1508", 20240101); a == b {
		t.Error("what was split goes on")
	}
}

// TestTranslationKeepsItsWord translates all codes of some days: there and back contains the start, and the direct way
// is within that over a day between.
func TestTranslationKeepsItsWord(t *testing.T) {
	t.Parallel()
	kommune, fylke := norwayOf(t)
	days := []history.Date{
		18380601,
		19000101,
		19600101,
		19650601,
		19760101,
		19770101,
		19920101,
		20010101,
		20170101,
		20190101,
		20200101,
		20240101,
	}
	for _, s := range []*history.Scheme{kommune, fylke} {
		for _, a := range days {
			if s == fylke && a < 19720101 {
				continue
			}
			for _, b := range days {
				if s == fylke && b < 19720101 {
					continue
				}
				there, back := s.Table(a, b), s.Table(b, a)
				for _, v := range s.On(a) {
					to, err := there.Translate(v.Code)
					if err != nil || len(to) == 0 {
						t.Fatalf("%s %s of %s is nothing on %s: %v", s.ID, v.Code, a, b, err)
					}
					for _, code := range to {
						if again, err := back.Translate(code); err != nil || !slices.Contains(again, v.Code) {
							t.Fatalf("%s %s of %s is %s on %s, and back %v; %v", s.ID, v.Code, a, code, b, again, err)
						}
					}
				}
			}
		}
		within(t, s, days)
	}
}

func within(t *testing.T, s *history.Scheme, days []history.Date) {
	t.Helper()
	for i := 0; i+2 < len(days); i++ {
		a, b, c := days[i], days[i+1], days[i+2]
		direct, first, then := s.Table(a, c), s.Table(a, b), s.Table(b, c)
		for _, v := range s.On(a) {
			if len(s.On(b)) == 0 {
				continue
			}
			over := map[string]bool{}
			mid, err := first.Translate(v.Code)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range mid {
				to, err := then.Translate(m)
				if err != nil {
					t.Fatal(err)
				}
				for _, code := range to {
					over[code] = true
				}
			}
			to, err := direct.Translate(v.Code)
			if err != nil {
				t.Fatal(err)
			}
			for _, code := range to {
				if !over[code] {
					t.Errorf("%s %s of %s is %s on %s, but not over %s", s.ID, v.Code, a, code, c, b)
				}
			}
		}
	}
}

func TestKnownSharesSumToOneAndOthersAreNotInvented(t *testing.T) {
	t.Parallel()
	kommune, _ := norwayOf(t)
	for _, a := range []history.Date{19770101, 20160101, 20190101, 20230101} {
		for _, v := range kommune.On(a) {
			got, err := kommune.Matches(v.Code, a, 20240101)
			if err != nil {
				t.Fatal(err)
			}
			sum, known := new(big.Rat), 0
			for _, m := range got {
				if m.Share != nil {
					sum.Add(sum, m.Share)
					known++
				}
			}
			if known == len(got) && sum.Cmp(big.NewRat(1, 1)) != 0 {
				t.Errorf("shares of %s of %s sum to %s", v.Code, a, sum)
			}
		}
	}
	got, err := kommune.Matches("1507", 20230101, 20240101)
	if err != nil || len(got) != 2 || got[0].Share.Cmp(big.NewRat(58509, 67866)) != 0 ||
		got[1].Share.Cmp(big.NewRat(9357, 67866)) != 0 {
		t.Errorf("1507: %v %v", got, err)
	}
	if got, err = kommune.Matches("0720", 20160101, 20170101); err != nil || len(got) != 2 || got[0].Share != nil ||
		got[1].Share != nil {
		t.Errorf("0720 was split by %v, %v", got, err)
	}
	if got, err = kommune.Matches("1534", 20190101, 20240101); err != nil || len(got) != 1 ||
		got[0].Share.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("1534: %v %v", got, err)
	}
}

func TestFateOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	kommune, _ := norwayOf(t)
	for _, tt := range []struct {
		code string
		day  history.Date
		want history.Kind
	}{{"1507", 20230101, history.Split}, {"1534", 20190101, history.Merge}, {"0712", 20190101, history.Renumber},
		{"0301", 20240101, ""}, {"3401", 20240101, ""}} {
		v, err := kommune.At(tt.code, tt.day)
		if err != nil || kommune.Fate(v) != tt.want {
			t.Errorf("%s: %v, want %s; %v", tt.code, kommune.Fate(v), tt.want, err)
		}
	}
}

func TestRowsThatDoNotFitAreToldWithLineAndReason(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]history.Rows{
		"line 2: A begins on 2001-01-01, but is in use since 2000-01-01": {
			Versions: []history.VersionRow{{Line: 1, Code: "A", From: 20000101}, {Line: 2, Code: "A", From: 20010101}}},
		"line 1: A begins on 2000-01-01 and ends on 1999-01-01": {
			Versions: []history.VersionRow{{Line: 1, Code: "A", From: 20000101, To: 19990101}}},
		"line 1: A ends on 2001-01-01, and no change says what becomes of it\nline 2: B begins on 2001-01-01, " +
			"and no change says what it was": {
			Versions: []history.VersionRow{{Line: 1, Code: "A", From: 20000101, To: 20010101},
				{Line: 2, Code: "B", From: 20010101}}},
		"line 7: no version of C ends on 2001-01-01": {Versions: []history.VersionRow{{Line: 1, Code: "A",
			From: 20000101}}, Edges: []history.EdgeRow{{Line: 7, Date: 20010101, From: "C", To: "A"}}},
		"line 3: of the 2 changes that end A on 2001-01-01, 1 have numbers; give them for all or none": {
			Versions: []history.VersionRow{{Code: "A", From: 20000101, To: 20010101}, {Code: "B", From: 20010101},
				{Code: "C", From: 20010101}},
			Edges: []history.EdgeRow{{Line: 3, Date: 20010101, From: "A", To: "B", People: history.CountOf(5)},
				{Line: 4, Date: 20010101, From: "A", To: "C"}}},
		"line 3: X was never part of A, so B is not made of it": {
			Versions: []history.VersionRow{{Code: "A", From: 20000101, To: 20010101}, {Code: "B", From: 20010101}},
			Edges:    []history.EdgeRow{{Line: 3, Date: 20010101, From: "A", To: "B", Of: []string{"X"}}}},
	} {
		if _, err := history.New(&r); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestTranslationOfOneCodeAllocatesItsAnswerOnly(t *testing.T) {
	kommune, _ := norwayOf(t)
	if n := testing.AllocsPerRun(100, func() { _, _ = kommune.Translate("1534", 20190101, 20240101) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkTranslate: one code 1 to 2 µs, over whatever time; a code of a table 30 ns, so 30 million a second on one
// core.
func BenchmarkTranslate(b *testing.B) {
	kommune, _ := norwayOf(b)
	for name, from := range map[string]history.Date{"years=5": 20190101, "years=60": 19631231, "years=186": 18380101} {
		all := kommune.On(from)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := kommune.Translate(all[i%len(all)].Code, from, 20240101); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("table/"+name, func(b *testing.B) {
			table := kommune.Table(from, 20240101)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := table.Translate(all[i%len(all)].Code); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
