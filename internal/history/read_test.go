package history_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"grense/internal/history"
	"grense/internal/history/changes"
	"grense/internal/sharedtest"
)

// sharedFile is the content of a gzipped file of the shared data; the test is skipped without it.
func sharedFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := io.ReadAll(sharedtest.Open(t, "data", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readChanges is the changes of a table.
func readChanges(r io.Reader) ([]history.ChangeRow, changes.Form, error) {
	reg, err := changes.Read(r, changes.Options{})
	if err != nil {
		return nil, "", err
	}
	return reg.Changes, reg.Form, nil
}

func replayed(t *testing.T, scheme string, changes []byte, list *history.List) *history.Scheme {
	t.Helper()
	rows, _, err := readChanges(bytes.NewReader(changes))
	if err != nil {
		t.Fatal(err)
	}
	if scheme == "kommune" { // the one that stayed and took up a part of another without a line of its own
		rows = append(
			rows,
			history.ChangeRow{
				EdgeRow:  history.EdgeRow{Date: 19920101, From: "0128", To: "0128"},
				FromName: "Rakkestad",
				ToName:   "Rakkestad",
			},
		)
	}
	r, err := history.Replay(scheme, rows, list)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return h.Scheme(scheme)
}

// TestChangesOfKlassGiveEveryList replays the published changes from the newest list back to 1971 and forward again.
func TestChangesOfKlassGiveEveryList(t *testing.T) {
	t.Parallel()
	lists := map[history.Date][]string{}
	newest := &history.List{At: 20240101}
	for _, r := range sharedTable(t, "no-klass131-versions-1971-2024.csv.gz") {
		d := day(t, r[1])
		if r[3] == "9999" {
			continue
		}
		lists[d] = append(lists[d], r[3])
		if d == newest.At {
			newest.Codes = append(newest.Codes, history.Listed{Code: r[3], Name: label.ReplaceAllString(r[4], "")})
		}
	}
	asJSON := sharedFile(t, "lineage/no-klass131-changes-1971-2024.json.gz")
	s := replayed(t, "kommune", asJSON, newest)
	for d, want := range lists {
		if got := codes(s.On(d)); !slices.Equal(got, want) {
			t.Errorf("%s: %d codes, want %d", d, len(got), len(want))
		}
	}
	rows, form, err := readChanges(bytes.NewReader(asJSON))
	if err != nil || form != changes.KlassJSON {
		t.Fatalf("%s %v", form, err)
	}
	var b bytes.Buffer // the same as CSV
	w := csv.NewWriter(&b)
	w.Comma = ';'
	w.Write([]string{"oldCode", "oldName", "oldShortName", "newCode", "newName", "newShortName", "changeOccurred"})
	for _, r := range rows {
		w.Write([]string{r.From, r.FromName, "", r.To, r.ToName, "", r.Date.String()})
	}
	w.Flush()
	if c := replayed(t, "kommune", b.Bytes(), newest); len(c.Versions) != len(s.Versions) ||
		len(c.Events) != len(s.Events) {
		t.Errorf("CSV: %d versions and %d events, JSON: %d and %d", len(c.Versions), len(c.Events), len(s.Versions),
			len(s.Events))
	}
}

// TestMovementsOfInseeGiveTheCommunesOfEachYear replays France from the communes of 2026.
func TestMovementsOfInseeGiveTheCommunesOfEachYear(t *testing.T) {
	t.Parallel()
	moves := sharedFile(t, "lineage/fr-mouvements-communes-cog2026.csv.gz")
	list, err := changes.ReadList(bytes.NewReader(sharedFile(t, "lineage/fr-communes-2026-com.csv.gz")), 20260101,
		changes.Insee)
	if err != nil {
		t.Fatal(err)
	}
	rows, form, err := readChanges(bytes.NewReader(moves))
	if err != nil || form != changes.Insee {
		t.Fatalf("%s %v", form, err)
	}
	rows = slices.DeleteFunc(rows, func(c history.ChangeRow) bool { return c.Date < 20160102 })
	r, err := history.Replay("commune", rows, list)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.New(r)
	if err != nil {
		t.Fatal(err)
	}
	s := h.Scheme("commune")
	for d, want := range map[history.Date]int{20180101: 35357, 20190101: 34970, 20200101: 34968, 20210101: 34965,
		20220101: 34955, 20230101: 34945, 20240101: 34935, 20250101: 34875, 20260101: 34875} {
		if got := len(s.On(d)); got != want {
			t.Errorf("%s: %d communes, want %d", d, got, want)
		}
	}
	var want []string
	for _, l := range list.Codes {
		want = append(want, l.Code)
	}
	if slices.Sort(want); !slices.Equal(codes(s.On(20260101)), want) {
		t.Error("2026 differs by code")
	}
	want = nil
	for line := range bytes.Lines(sharedFile(t, "france/france-communes-2018.geojsonl.gz")) {
		_, rest, _ := bytes.Cut(line, []byte(`"properties":{"code":"`))
		code, _, _ := bytes.Cut(rest, []byte(`"`))
		want = append(want, string(code))
	}
	slices.Sort(want)
	if got := codes(s.On(20180101)); !slices.Equal(got, slices.Compact(want)) {
		t.Errorf("2018 differs by code: %d, want %d", len(got), len(want))
	}
	if got, err := s.Translate("15031", 20250101, 20180101); err != nil || strings.Join(codes(got), " ") != "15141" {
		t.Errorf("15031 of 2025 was %v; %v", codes(got), err)
	}
}

func TestOurOwnTableOfChanges(t *testing.T) {
	t.Parallel()
	const table = `date,from,from_name,to,to_name,made_of,people,source,recorded,transfer
2020-01-01,A,Ask,C,Cedar,,,law,2019-05-01T00:00:00Z,
2020-01-01,B,Birch,C,Cedar,,,law,2019-05-01T00:00:00Z,
2024-01-01,C,Cedar,D,Dogwood,A,700,,,
2024-01-01,C,Cedar,E,Elm,B,300,,,
2025-01-01,D,Dogwood,E,Elm,,,,,true
2026-01-01,,,F,Fir,,,,,
`
	s := replayed(t, "krets", []byte(table), nil)
	if got := s.Events[0]; got.Kind != history.Merge || got.Recorded != "2019-05-01T00:00:00Z" || got.Source != "law" {
		t.Errorf("%+v", got)
	}
	var kinds []string
	for _, e := range s.Events {
		kinds = append(kinds, string(e.Kind))
	}
	if strings.Join(kinds, " ") != "merge split transfer create" {
		t.Errorf("%v", kinds)
	}
	if got, err := s.Translate("A", 20190601, 20240601); err != nil || strings.Join(codes(got), " ") != "D" {
		t.Errorf("%v %v", codes(got), err)
	}
	if got, err := s.Matches("C", 20230101, 20240601); err != nil || got[0].Share.RatString() != "7/10" {
		t.Errorf("%v %v", got, err)
	}
}

func TestTablesThatDoNotFitAreToldWithLineAndReason(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]string{
		"date,from,to\n2020-13-01,A,B\n": `line 2: date is "2020-13-01"; ` +
			`write a day, such as 2020-01-31 or 31.01.2020`,
		"date,from,to,people\n2020-01-01,A,B,many\n": `line 2: people is "many"; ` +
			`write a whole number, or nothing where it is not known`,
		"date,from,to\n2020-01-01,,\n": "line 2: a change names no code",
		"date,from,to\n2020-01-01,A,B\n2021-01-01,A,C\n": "line 3: A changes on 2021-01-01, " +
			"but is not in use before",
		"date,from,to\n2020-01-01,A,B\n2020-01-01,C,D\n2021-01-01,B,D\n": "line 4: D begins on 2021-01-01, " +
			"but is in use already; where it stays and takes up others, add a line with D on both sides",
		"date,from,to\n2020-01-01,A,B\n\"": "line 3: extraneous or missing \" in " +
			"quoted-field",
		"date,from,to\n2020-01-01,A,A\n": "no line changes a code or a name",
		"date,from,to,recorded\n2020-01-01,A,B,yesterday\n": `line 2: recorded is "yesterday"; ` +
			`write a moment, as 2024-02-16T12:00:00Z`,
		"date,from,to,people\n2020-01-01,A,B,5\n2020-01-01,A,B,7\n": "line 3: A to B on 2020-01-01 stands " +
			"twice, with other numbers",
		"date,from,to\n2020-01-01,A\a,B\n": `line 2: "A\a" holds control characters`,
		"d\x00a\x00t\x00e\x00": "the table holds NUL, as UTF-16 does; " +
			"save it as UTF-8",
		"a,b\n1,2\n": "the table is of no known form. " +
			"Its first line has to name the columns of one of these:\n  KLASS: oldCode, newCode, changeOccurred\n",
		"": "the table is empty",
		"{": "the document is no table of changes of " +
			"KLASS: unexpected end of JSON input",
	} {
		rows, _, err := readChanges(strings.NewReader(table))
		if err == nil {
			_, err = history.Replay("x", rows, nil)
		}
		if err == nil || err.Error() != want &&
			!(strings.HasSuffix(want, "\n") && strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %s", table, err, want)
		}
	}
}

// TestLinesMayEndWithCarriageReturns, with area that moves between codes that no other line names.
func TestLinesMayEndWithCarriageReturns(t *testing.T) {
	t.Parallel()
	s := replayed(t, "ward", []byte("date,from,to,transfer\r2020-01-01,A,B,true\r"), nil)
	if len(s.Events) != 1 || s.Events[0].Kind != history.Transfer || s.Events[0].Title() != "A → B" {
		t.Errorf("%+v", s.Events)
	}
}

// TestNumbersThroughACodeOfOneDay: what comes to a code that begins and ends on one day and goes on from it is known
// only where one is alone on a side.
func TestNumbersThroughACodeOfOneDay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, table, after, want string }{
		{"one to several", "A,X,100\nX,E,60\nX,C,40\n", "CE", "A>C:40 A>E:60"},
		{"several to one", "A,X,100\nA,D,20\nB,X,5\nX,C,105\n", "CD", "A>C:100 A>D:20 B>C:5"},
		{"one to one", "A,X,100\nX,E,\nA,C,1\n", "CE", "A>C:1 A>E:100"},
		{"several to several", "A,X,100\nB,X,100\nX,C,150\nX,D,50\n", "CD", "A>C: A>D: B>C: B>D:"},
		{"two ways to one", "A,X,60\nX,C,60\nA,C,40\nA,D,5\n", "CD", "A>C:100 A>D:5"},
	} {
		list := &history.List{At: 20200101}
		for _, code := range tt.after {
			list.Codes = append(list.Codes, history.Listed{Code: string(code)})
		}
		s := replayed(
			t,
			"ward",
			[]byte(
				"date,from,to,people\n2020-01-01,"+strings.ReplaceAll(strings.TrimSpace(tt.table), "\n",
					"\n2020-01-01,")+"\n",
			),
			list,
		)
		var got []string
		for i := range s.Edges {
			e := &s.Edges[i]
			got = append(got, fmt.Sprintf("%s>%s:%s", e.From.Code, e.To.Code, e.People))
		}
		if slices.Sort(got); strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
}

// TestStepsOfOneDayAreOne: a table may list what takes up others and what becomes of it on the same day, in any order
// of lines. A list of a later day says that the code between them is gone.
func TestStepsOfOneDayAreOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, lines, list, want string }{
		{"a new code", "X,Xan,Z,Zed; A,Ask,X,Xan; X,Xan,X,Xan", "Z", "A Ask, X Xan | Z Zed"},
		{"both go on", "X,Xan,Z,Zed; A,Ask,X,Xan; X,Xan,X,Xan", "X Z", "A Ask, X Xan | X Xan, Z Zed"},
		{"a new name and a new code", "X,Xenia,Z,Zed; X,Xan,X,Xenia", "", "X Xan | Z Zed"},
		{"others join, then a new name", "A,Ask,X,Xan; X,Xan,X,Xan; X,Xan,X,Xenia", "", "A Ask, X Xan | X Xenia"},
		{"a new name, then others join", "X,Xan,X,Xenia; X,Xenia,X,Xenia; A,Ask,X,Xenia", "", "A Ask, X Xan | X Xenia"},
		{"others join, then a new name and a new code", "X,Xenia,Z,Zed; A,Ask,X,Xan; X,Xan,X,Xenia", "",
			"A Ask, X Xan | Z Zed"},
	} {
		lines := strings.Split(tt.lines, "; ")
		for range 2 {
			slices.Reverse(lines)
			var list *history.List
			if tt.list != "" {
				list = &history.List{At: 20210101}
				for code := range strings.FieldsSeq(tt.list) {
					list.Codes = append(list.Codes, history.Listed{Code: code})
				}
			}
			s := replayed(t, "ward",
				[]byte("date,from,from_name,to,to_name\n2020-01-01,"+strings.Join(lines, "\n2020-01-01,")+"\n"), list)
			var got []string
			for _, day := range []history.Date{20191231, 20200101} {
				var on []string
				for _, v := range s.On(day) {
					on = append(on, v.Code+" "+v.Name)
				}
				slices.Sort(on)
				got = append(got, strings.Join(on, ", "))
			}
			if g := strings.Join(got, " | "); g != tt.want {
				t.Errorf("%s: %s, want %s (%q)", tt.name, g, tt.want, lines)
			}
		}
	}
}

// TestSharesAreFollowedOverManyWays: a code that is parted and merged again and again, which makes two ways of each
// turn.
func TestSharesAreFollowedOverManyWays(t *testing.T) {
	t.Parallel()
	table := "date,from,to,people\n"
	for i := range 60 {
		table += fmt.Sprintf(
			"%d-01-01,A%d,B%d,1\n%[1]d-01-01,A%[2]d,C%[2]d,2\n%[1]d-07-01,B%[2]d,A%[4]d,\n%[1]d-07-01,C%[2]d,A%[4]d,\n",
			1900+i,
			i,
			i,
			i+1,
		)
	}
	s := replayed(t, "ward", []byte(table), nil)
	for day, want := range map[history.Date]string{19600101: "A60 1", 19590201: "B59 1/3 C59 2/3"} {
		got, err := s.Matches("A0", 18990601, day)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, m := range got {
			told = append(told, m.Code, m.Share.RatString())
		}
		if strings.Join(told, " ") != want {
			t.Errorf("%s: %v, want %s", day, told, want)
		}
	}
}

// TestNumbersThatAreTooLargeAreRefused, since their sums would not fit.
func TestNumbersThatAreTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	rows, _, err := readChanges(
		strings.NewReader(
			"date,from,to,people\n2020-01-01,A,B,9223372036854775807\n2020-01-01,A,C,9223372036854775807\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	r, err := history.Replay("ward", rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = history.New(r); err == nil ||
		!strings.HasPrefix(err.Error(), "line 2: people and area are numbers from 0 to 1000000000000000") {
		t.Error(err)
	}
}

// TestListsAreReadAsTheirChangesAre: names of KLASS lose what distinguishes them there, those of others nothing.
func TestListsAreReadAsTheirChangesAre(t *testing.T) {
	t.Parallel()
	for form, want := range map[changes.Form]string{changes.KlassCSV: "1 Ask", changes.Plain: "1 Ask (old), 9999 Elm"} {
		l, err := changes.ReadList(strings.NewReader("code,name\n1,Ask (old)\n9999,Elm\n"), 20240101, form)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range l.Codes {
			got = append(got, c.Code+" "+c.Name)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", form, got, want)
		}
	}
}

func FuzzReadChanges(f *testing.F) {
	f.Add([]byte("date,from,to\n2020-01-01,A,B\n"))
	f.Add([]byte(`{"codeChanges":[{"oldCode":"1","newCode":"2","changeOccurred":"2020-01-01"}]}`))
	f.Add([]byte("MOD,DATE_EFF,TYPECOM_AV,COM_AV,TYPECOM_AP,COM_AP\n21,2020-01-01,COM,1,COM,2\n"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		rows, _, err := readChanges(bytes.NewReader(b))
		if err != nil {
			return
		}
		if r, err := history.Replay("x", rows, nil); err == nil {
			_, _ = history.New(r)
		}
	})
}

func TestNumbersOfEventsStayAndCorrectionsComeLast(t *testing.T) {
	t.Parallel()
	build := func(table string) *history.History {
		t.Helper()
		changes, _, err := readChanges(strings.NewReader("date,from,to,people\n" + table))
		if err != nil {
			t.Fatal(err)
		}
		r, err := history.Replay("ward", changes, nil)
		if err != nil {
			t.Fatal(err)
		}
		h, err := history.New(r)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	numbers := func(h *history.History) string {
		var out []string
		for _, e := range h.Scheme("ward").Events {
			out = append(out, fmt.Sprintf("%s=%d", e.ID, e.Seq))
		}
		return strings.Join(out, " ")
	}
	first := build("2020-01-01,A,B,\n2022-01-01,B,C,\n2024-01-01,C,D,7\n2024-01-01,C,E,3\n")
	if got, want := numbers(first), "ward-2020-01-01-A=1 ward-2022-01-01-B=2 ward-2024-01-01-C=3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	second := build(
		"2020-01-01,A,B,\n2021-01-01,X,Y,\n2022-01-01,B,C,\n2024-01-01,C,D,8\n2024-01-01,C,E,2\n2025-01-01,E,F,\n",
	)
	second.Follow(first)
	if got, want := numbers(second), "ward-2020-01-01-A=1 ward-2021-01-01-X=4 ward-2022-01-01-B=2 "+
		"ward-2024-01-01-C=5 ward-2025-01-01-E=6"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
