package history_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"grense/internal/history"
	"grense/internal/history/changes"
)

// replayOf builds the scheme x of tables of changes, read one after the other.
func replayOf(t testing.TB, list *history.List, tables ...string) *history.Scheme {
	t.Helper()
	var all []history.ChangeRow
	for _, table := range tables {
		rows, _, err := readChanges(strings.NewReader(table))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	r, err := history.Replay("x", all, list)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return h.Scheme("x")
}

// became is what a code is on another day; codes that the source leaves open have a question mark.
func became(t testing.TB, s *history.Scheme, code string, from, to history.Date) string {
	t.Helper()
	all, err := s.Matches(code, from, to)
	if err != nil {
		t.Fatalf("%s of %s: %v", code, from, err)
	}
	var out []string
	for _, m := range all {
		name := m.Code
		if m.Unsure {
			name += "?"
			if m.Share != nil {
				t.Errorf("%s of %s: the share %s in %s is invented", code, from, m.Share, m.Code)
			}
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

const movements = "MOD,DATE_EFF,TYPECOM_AV,COM_AV,LIBELLE_AV,TYPECOM_AP,COM_AP,LIBELLE_AP\n"

// TestWhatIsReestablishedIsWhatItWas: MOD 21 says which commune comes back, with and without a row of the associated
// commune.
func TestWhatIsReestablishedIsWhatItWas(t *testing.T) {
	t.Parallel()
	const merged = movements + "33,1972-01-01,COM,A,Ask,COM,A,Ask\n33,1972-01-01,COM,B,Birch,COM,A,Ask\n33," +
		"1972-01-01,COM,C,Cedar,COM,A,Ask\n" +
		"33,1972-01-01,COM,C,Cedar,COMA,C,Cedar\n32,1980-01-01,COM,A,Ask,COM,A,Ask\n32,1980-01-01,COM,D,Dogwood," +
		"COM,A,Ask\n"
	for name, table := range map[string]string{
		"an associated commune": merged + "21,1987-01-01,COM,A,Ask,COM,A,Ask\n21,1987-01-01,COM,A,Ask,COM,C," +
			"Cedar\n21,1987-01-01,COMA,C,Cedar,COM,C,Cedar\n",
		"a commune": merged + "21,1987-01-01,COM,A,Ask,COM,A,Ask\n21,1987-01-01,COM,A,Ask,COM,C,Cedar\n",
	} {
		s := replayOf(t, nil, table)
		for _, tt := range []struct {
			code     string
			from, to history.Date
			want     string
		}{
			{"C", 19600101, 20170101, "C"}, {"A", 19600101, 20170101, "A"}, {"B", 19600101, 20170101, "A"},
			{"D", 19600101, 20170101, "A"},
			{"C", 19600101, 19750101, "A"}, {"A", 19750101, 20170101, "A C"}, {"A", 19850101, 20170101, "A C"},
			{"C", 20170101, 19600101, "C"},
			{"A", 20170101, 19600101, "A B D"}, {"A", 20170101, 19750101, "A D"}, {"C", 20170101, 19750101, "A"},
		} {
			if got := became(t, s, tt.code, tt.from, tt.to); got != tt.want {
				t.Errorf("%s: %s of %s is %s on %s, want %s", name, tt.code, tt.from, got, tt.to, tt.want)
			}
		}
		if all := s.Unsure(); all != nil {
			t.Errorf("%s: unsure %v", name, all)
		}
	}
}

// TestAMergerIsNotUndoneByGuessing: a table without a word on the parts leads to all of them, unsure; a second table
// settles it.
func TestAMergerIsNotUndoneByGuessing(t *testing.T) {
	t.Parallel()
	const merger = "date,from,to\n2020-01-01,A,M\n2020-01-01,B,M\n2024-01-01,M,P\n2024-01-01,M,Q\n"
	s := replayOf(t, nil, merger)
	for _, tt := range []struct {
		code     string
		from, to history.Date
		want     string
	}{{"A", 20190101, 20250101, "P? Q?"}, {"B", 20190101, 20250101, "P? Q?"}, {"M", 20230101, 20250101, "P Q"},
		{"P", 20250101, 20190101, "A? B?"}, {"P", 20250101, 20230101, "M"}} {
		if got := became(t, s, tt.code, tt.from, tt.to); got != tt.want {
			t.Errorf("%s of %s is %s on %s, want %s", tt.code, tt.from, got, tt.to, tt.want)
		}
	}
	if got := codes(s.Unsure()); !slices.Equal(got, []string{"M"}) {
		t.Errorf("unsure: %v", got)
	}
	const more = "date,from,to,made_of,people\n2024-01-01,M,P,A,70\n2024-01-01,M,Q,B,30\n"
	s = replayOf(t, nil, merger, more)
	if a, b := became(t, s, "A", 20190101, 20250101), became(t, s, "Q", 20250101, 20190101); a != "P" || b != "B" ||
		s.Unsure() != nil {
		t.Errorf("A is %s, Q was %s", a, b)
	}
	if got, err := s.Matches("M", 20230101, 20250101); err != nil || got[0].Share.RatString() != "7/10" {
		t.Errorf("%v, %v", got, err)
	}
	rows, _, err := readChanges(strings.NewReader("date,from,to,made_of\n2024-01-01,M,P,A\n2024-01-01,M,P,B\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = history.Replay("x", rows, nil); err == nil ||
		err.Error() != "line 3: M to P on 2024-01-01 stands twice, with other codes in made_of" {
		t.Error(err)
	}
}

// TestReestablishedCommunesOfFranceAreThemselves looks up every commune of MOD 21 that stays until 2017 and was there
// in 1960.
func TestReestablishedCommunesOfFranceAreThemselves(t *testing.T) {
	t.Parallel()
	list, err := changes.ReadList(bytes.NewReader(sharedFile(t, "lineage/fr-communes-2026-com.csv.gz")), 20260101,
		changes.Insee)
	if err != nil {
		t.Fatal(err)
	}
	s := replayOf(t, list, string(sharedFile(t, "lineage/fr-mouvements-communes-cog2026.csv.gz")))
	asked := map[string]bool{}
	for _, r := range sharedTable(t, "fr-mouvements-communes-cog2026.csv.gz") {
		if code := r[9]; r[0] == "21" && r[8] == "COM" && r[3] != code && !asked[code] {
			_, before := s.At(code, 19600101)
			_, after := s.At(code, 20170101)
			if asked[code] = true; before != nil || after != nil || r[1] > "2017-01-01" {
				continue
			}
			if got := became(t, s, code, 19600101, 20170101); got != code {
				t.Errorf("%s is %s", code, got)
			}
			if got := became(t, s, code, 20170101, 19600101); !strings.Contains(" "+got+" ", " "+code+" ") {
				t.Errorf("%s was %s", code, got)
			}
		}
	}
	if got := became(t, s, "53111", 19600101, 20170101); len(asked) < 200 || got != "53111" {
		t.Errorf("%d communes; 53111 is %s", len(asked), got)
	}
}

func TestAnUnknownStartIsOpenAndABoundOneIsNotKnownBefore(t *testing.T) {
	t.Parallel()
	list := &history.List{At: 20260101, Codes: []history.Listed{{Code: "75056", Name: "Paris"}, {Code: "B"}}}
	const table = "date,from,to\n2016-01-01,A,B\n"
	s := replayOf(t, list, table)
	for code, at := range map[string]history.Date{"75056": 20150601, "A": 10101} {
		if v, err := s.At(code, at); err != nil || v.From != 0 {
			t.Errorf("%s: %v, %v", code, v, err)
		}
	}
	if _, err := s.At("B", 20150101); err != history.ErrNotThen || s.Begin() != 0 {
		t.Errorf("B: %v, from %s", err, s.Begin())
	}
	rows, _, err := readChanges(strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	r, err := history.Replay("x", rows, list)
	if err != nil {
		t.Fatal(err)
	}
	r.Since(20160101)
	h, err := history.New(r)
	if err != nil {
		t.Fatal(err)
	}
	s = h.Scheme("x")
	if _, err := s.At("75056", 20151231); err != history.ErrNotKnown || s.Begin() != 20160101 {
		t.Errorf("%v, from %s", err, s.Begin())
	}
	if v, err := s.At("B", 20160101); err != nil || len(s.Edges) != 0 || len(s.Meanings("A")) != 0 {
		t.Errorf("%v, %v", v, err)
	}
	for _, to := range []history.Date{20200101, 20100101} {
		got, err := s.NewTranslator(map[bool]history.Date{true: 20100101, false: 20200101}[to == 20200101], to,
			history.ChooseList).
			Translate("B")
		if err != nil || got.Fault != "nothing is known before 2016-01-01" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestWhatComesBackMayBeMadeOfWhatIsForgotten: a bound leaves out the merger that is undone; names that never were are
// still refused.
func TestWhatComesBackMayBeMadeOfWhatIsForgotten(t *testing.T) {
	t.Parallel()
	for of, want := range map[string]string{"A": "A2 B2",
		"X": "line 4: X was never part of C, so A2 is not made of it"} {
		changes, _, err := readChanges(
			strings.NewReader(
				"date,from,to,made_of\n2000-01-01,A,C,\n2000-01-01,B,C,\n2010-01-01,C,A2," + of +
					"\n2010-01-01,C,B2,\n",
			),
		)
		if err != nil {
			t.Fatal(err)
		}
		r, err := history.Replay("x", changes, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Since(20050101)
		h, err := history.New(r)
		if err != nil {
			if err.Error() != want {
				t.Errorf("%s: %v", of, err)
			}
			continue
		}
		if got := became(t, h.Scheme("x"), "C", 20060101, 20120101); strings.ReplaceAll(got, "?", "") != want {
			t.Errorf("%s: %s, want %s", of, got, want)
		}
	}
}

func TestUnknownColumnsAreErrorsWithTheNearestName(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"date,from,to,transfers":     `line 1: there is no column "transfers"; write transfer, or leave it out`,
		"date,from,to,madeof":        `line 1: there is no column "madeof"; write made_of, or leave it out`,
		"date,from,to,peple":         `line 1: there is no column "peple"; write people, or leave it out`,
		"date,from,to,people,people": `line 1: the column "people" stands twice; name each once`,
		"date,from,to,kommentarfelt": `line 1: there is no column "kommentarfelt"; leave it out. ` +
			`The columns are date, from, to, from_name, to_name, made_of, transfer, people, area, source, recorded`,
		"Date,From,To,Made_Of,SOURCE": "",
	} {
		_, _, err := readChanges(strings.NewReader(head + "\n"))
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %s", head, err, want)
		}
	}
	if _, err := history.ReadWeights(strings.NewReader("code,weight,too\n")); err == nil ||
		!strings.Contains(err.Error(), `there is no column "too"; write to`) {
		t.Error(err)
	}
}

func TestACodeIsWrittenWithTheZerosThatItLost(t *testing.T) {
	t.Parallel()
	kommune, fylke := norwayOf(t)
	for code, want := range map[string]string{"101": "0101", "0101": "0101", "99": "99", "1": "1", "": "", "x1": "x1",
		"00101": "00101"} {
		if got := kommune.Whole(code); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
	if got := fylke.Whole("3"); got != "03" {
		t.Error(got)
	}
	if got := replayOf(t, nil, "date,from,to\n2020-01-01,01,002\n").Whole("1"); got != "1" {
		t.Errorf("a scheme without one length: %s", got)
	}
	for code, want := range map[string]bool{"0436": true, "0712": false, "0301": true, "1534": true, "1103": true} {
		if got := kommune.Related(code); got != want {
			t.Errorf("%s: related %t", code, got)
		}
	}
}
