package history_test

import (
	"strings"
	"testing"

	"grense/internal/history"
)

// valuesOf harmonises a table over a scheme; a line a cell: code, value, mark.
func valuesOf(t testing.TB, s *history.Scheme, table string, o history.SeriesOptions) (string, history.SeriesReport) {
	t.Helper()
	x, err := s.NewSeries(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Read(strings.NewReader("code,date,value\n"+table), history.SeriesColumns{}, nil); err != nil {
		t.Fatal(err)
	}
	var out []string
	r, err := x.Cells(func(c history.Cell) error {
		out = append(out, strings.TrimSpace(c.Code+" "+c.Value)+" "+string(c.Mark))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, ", "), r
}

// TestAMoveOfTerritoryMakesValuesAcrossItInexact, forwards and backwards, by the people who moved where they are known.
func TestAMoveOfTerritoryMakesValuesAcrossItInexact(t *testing.T) {
	t.Parallel()
	const move = "date,from,to,transfer,people\n2021-01-01,A,B,true,100\n"
	const two = "A,2020,1000\nB,2020,500\n"
	people := history.SeriesOptions{To: 20220101, Weights: history.PopulationWeights}
	for _, tt := range []struct {
		name, changes, table, want string
		o                          history.SeriesOptions
	}{
		{"refused", move, two, "A missing, B missing", history.SeriesOptions{To: 20220101}},
		{"by people", move, two, "A 900 estimated, B 600 estimated", people},
		{"back in time", move, "A,2022,900\nB,2022,600\n", "A 1000 estimated, B 500 estimated",
			history.SeriesOptions{To: 20200101, Weights: history.PopulationWeights}},
		{"of unknown size", "date,from,to,transfer\n2021-01-01,A,B,true\n", two, "A missing, B missing", people},
		{"of nobody", "date,from,to,transfer,people\n2021-01-01,A,B,true,0\n", two,
			"A 1000 estimated, B 500 estimated", people},
		{"of nobody, back in time", "date,from,to,transfer,people\n2021-01-01,A,B,true,0\n", "A,2022,900\nB,2022,600\n",
			"A 900 estimated, B 600 estimated",
			history.SeriesOptions{To: 20200101, Weights: history.PopulationWeights}},
		{"of nobody out of nothing", "date,from,to,transfer,people\n2021-01-01,A,B,true,0\n", "A,2020,0\nB,2020,500\n",
			"A 0 estimated, B 500 estimated", people},
		{"of nobody, in a split", "date,from,to,people\n2021-01-01,A,A,8\n2021-01-01,A,B,0\n", "A,2020,1000\n",
			"A 1000 estimated, B 0 estimated", people},
		{"of nobody, before a split of unknown size",
			"date,from,to,transfer,people\n2021-01-01,A,B,true,0\n2021-07-01,B,C,,\n2021-07-01,B,D,,\n", two,
			"A 1000 estimated, C missing, D missing", people},
		{"of nobody and of unknown size", "date,from,to,transfer,people\n2021-01-01,A,B,true,0\n2021-07-01,A,B,true,\n",
			two, "A missing, B missing", people},
		{"of more people than there were", move, "A,2020,99\nB,2020,500\n", "A missing, B missing", people},
		{"after it", move, "A,2021,1000\nB,2021,500\n", "A 1000 exact, B 500 exact", people},
		{"before it", move, two, "A 1000 exact, B 500 exact", history.SeriesOptions{To: 20201231}},
		{"others", move + "2021-01-01,C,D,,\n", "C,2020,7\n", "D 7 exact", people},
		{"by area that is not known", move, two, "A missing, B missing",
			history.SeriesOptions{To: 20220101, Weights: history.AreaWeights}},
		{"of a ratio", move, "A,2020,5\nB,2020,5\n", "A missing, B missing",
			history.SeriesOptions{To: 20220101, Ratio: true}},
		{"with weights of one's own", move, two, "A 1000 estimated, B 500 estimated",
			history.SeriesOptions{To: 20220101, Weights: history.SuppliedWeights,
				Supplied: []history.SuppliedWeight{{Code: "A", To: "A", Weight: "1"}}}},
		{"two in a row", move + "2022-01-01,B,C,true,60\n", two + "C,2020,10\n",
			"A 900 estimated, B 540 estimated, C 70 estimated",
			history.SeriesOptions{To: 20230101, Weights: history.PopulationWeights}},
		{"after a merger", "date,from,to,transfer,people\n2020-06-01,A,M,,\n2020-06-01,B,M,,\n2021-01-01,M,C," +
			"true,150\n", two + "C,2020,10\n", "C 160 estimated, M 1350 estimated", people},
		{"with those who stayed", "date,from,to,transfer,people\n2021-01-01,A,A,,300\n2021-01-01,A,B,true,100\n",
			"A,2020,8\nB,2020,5\n", "A 6 estimated, B 7 estimated", people},
	} {
		got, r := valuesOf(t, replayOf(t, nil, tt.changes), tt.table, tt.o)
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if !tt.o.Ratio && !strings.Contains(got, "missing") && r.LeftOut != "0" {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
	s := replayOf(t, nil, move)
	if got := became(t, s, "A", 20200101, 20220101); got != "A" {
		t.Errorf("A became %s", got)
	}
	if m, err := s.Matches("A", 20200101, 20220101); err != nil || m[0].Share != nil {
		t.Errorf("%v, %v", m[0].Share, err)
	}
}

// TestMovesBetweenMunicipalitiesOfNorway are nine, of which three are in both directions.
func TestMovesBetweenMunicipalitiesOfNorway(t *testing.T) {
	t.Parallel()
	kommune, _ := norwayOf(t)
	got := map[string]int{}
	for _, e := range kommune.Events {
		if e.Source != "" && strings.Contains(e.Source, "notes") {
			got[e.Date.String()+" "+e.Title()] = len(e.Edges)
			if e.Kind != history.Transfer || e.Seq <= int64(len(kommune.Events)-9) && e.Recorded == "" {
				t.Errorf("%+v", e)
			}
		}
	}
	if len(got) != 9 || got["2021-01-01 1539 Rauma → 1535 Vestnes"] != 1 ||
		got["2024-01-01 1108 Sandnes, 1130 Strand → 1108 Sandnes, 1130 Strand"] != 2 {
		t.Errorf("%v", got)
	}
	if got, _ := valuesOf(t, kommune, "1539,2019,7\n1535,2019,6\n0301,2019,5\n",
		history.SeriesOptions{To: 20240101}); got != "0301 5 exact, 1535 missing, 1539 missing" {
		t.Error(got)
	}
	if got := became(t, kommune, "1539", 20190101, 20240101); got != "1539" {
		t.Error(got)
	}
}
