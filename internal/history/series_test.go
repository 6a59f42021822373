package history_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"grense/internal/history"
)

// harmonise reads a table and writes the other.
func harmonise(
	t *testing.T,
	out *strings.Builder,
	table string,
	cols history.SeriesColumns,
	o history.SeriesOptions,
) (told []string, r history.SeriesReport, err error) {
	t.Helper()
	kommune, _ := norwayOf(t)
	x, err := kommune.NewSeries(o)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err = x.Read(strings.NewReader(table), cols, func(f history.SeriesFault) {
		told = append(told, f.Error())
	}); err == nil {
		r, err = x.Write(out, cols)
	}
	return told, r, err
}

// harmonised is the answer to a table, its heading left out.
func harmonised(t *testing.T, table string, o history.SeriesOptions, by ...string) (string, history.SeriesReport) {
	t.Helper()
	if o.To == 0 {
		o.To = 20240101
	}
	var out strings.Builder
	_, r, err := harmonise(t, &out, table, history.SeriesColumns{By: by}, o)
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(out.String(), "\n")
	return rows, r
}

func TestASeriesOfManyYearsIsOfTheDivisionsOfOneDay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		table, want string
		o           history.SeriesOptions
	}{
		"renumbered, and as it is": {table: "code,date,value\n3805,2023,5\n3909,2024-01-01,7\n",
			want: "3909,Larvik,2023-01-01,5,exact,\n3909,Larvik,2024-01-01,7,exact,\n"},
		"zeros that were lost": {table: "code,date,value\n301,2024,5.50\n",
			want: "0301,Oslo,2024-01-01,5.50,exact,\n"},
		"an undone merger": {
			table: "code;date;value\n1504;2019;10\n1523;2019;1\n1529;2019;2\n1546;2019;3\n1534;2019;4\n",
			want:  "1508;Ålesund;2019-01-01;16;exact;\n1580;Haram;2019-01-01;4;exact;\n"},
		"a split is refused": {table: "code,date,value\n1507,2023,100\n",
			want: "1508,Ålesund,2023-01-01,,missing,\"1507 became several, and no weights are to be used\"\n" +
				"1580,Haram,2023-01-01,,missing,\"1507 became several, and no weights are to be used\"\n"},
		"a split by people": {table: "code,date,value\n1507,2023,100\n",
			o: history.SeriesOptions{Weights: history.PopulationWeights},
			want: "1508,Ålesund,2023-01-01,86,estimated,a part of 1507 by population\n1580,Haram,2023-01-01,14," +
				"estimated,a part of 1507 by population\n"},
		"a split by area that is not known": {table: "code,date,value\n1507,2023,100\n",
			o: history.SeriesOptions{Weights: history.AreaWeights},
			want: "1508,Ålesund,2023-01-01,,missing,\"1507 became several, and by area it is not known how much is " +
				"where\"\n1580,Haram,2023-01-01,,missing,\"1507 became several, and by area it is not known how much " +
				"is where\"\n"},
		"a split by own weights": {table: "code,date,value\n1507,2023,-1.0\n",
			o: history.SeriesOptions{Weights: history.SuppliedWeights, Supplied: []history.SuppliedWeight{
				{Code: "1507", To: "1508", Weight: "2"}, {Code: "1507", To: "1580", Weight: "1"},
				{Code: "1507", Date: 20200101, To: "1580", Weight: "99"}}},
			want: "1508,Ålesund,2023-01-01,-0.7,estimated,a part of 1507 by supplied\n1580,Haram,2023-01-01,-0.3," +
				"estimated,a part of 1507 by supplied\n"},
		"a part without a value": {table: "code,date,value\n1504,2019,10\n1523,2019,\n1529,2019,..\n1546,2019,3\n",
			want: "1508,Ålesund,2019-01-01,,missing,\"no value of 1523, 1529\"\n"},
		"backwards, a merger is several": {table: "code,date,value\n1507,2023,10\n",
			o:    history.SeriesOptions{To: 20190101},
			want: "1504,Ålesund,2023-01-01,,missing,\"1507 became several, and no weights are to be used\"\n"},
		"ratios that are alike": {table: "code,date,value\n1504,2019,10\n1523,2019,10.0\n1529,2019,10\n1546,2019,10\n",
			o: history.SeriesOptions{Ratio: true}, want: "1508,Ålesund,2019-01-01,10,exact,\n"},
		"ratios that differ": {table: "code,date,value\n1504,2019,10\n1523,2019,11\n1529,2019,10\n1546,2019,10\n",
			o:    history.SeriesOptions{Ratio: true},
			want: "1508,Ålesund,2019-01-01,,missing,how much 1504 counts in the mean is not known; supply weights\n"},
		"ratios by weights": {table: "code,date,value\n1504,2019,10\n1523,2019,11\n1529,2019,10\n1546,2019,10\n",
			o: history.SeriesOptions{Ratio: true, Weights: history.SuppliedWeights, Supplied: []history.SuppliedWeight{
				{Code: "1504", Weight: "4"}, {Code: "1523", Weight: "1"}, {Code: "1529", Weight: "0.5"},
				{Code: "1546", Weight: "0.5"}}}, want: "1508,Ålesund,2019-01-01,10.17,estimated,a mean by supplied\n"},
		"a ratio of what was split": {table: "code,date,value\n1507,2023,5\n",
			o: history.SeriesOptions{Ratio: true, Weights: history.PopulationWeights},
			want: "1508,Ålesund,2023-01-01,5,estimated,\"1507 became several, which are taken to be alike\"\n1580," +
				"Haram,2023-01-01,5,estimated,\"1507 became several, which are taken to be alike\"\n"},
	} {
		got, _ := harmonised(t, tt.table, tt.o)
		if name == "backwards, a merger is several" {
			got, _, _ = strings.Cut(got, "\n")
			got += "\n"
		}
		if got != tt.want {
			t.Errorf("%s:\n%swant\n%s", name, got, tt.want)
		}
	}
	got, _ := harmonised(t, "sex,code,date,value\nf,0301,2024,1\nm,0301,2024,2\n", history.SeriesOptions{}, "sex")
	if want := "0301,Oslo,2024-01-01,f,1,exact,\n0301,Oslo,2024-01-01,m,2,exact,\n"; got != want {
		t.Errorf("by sex:\n%s", got)
	}
}

// TestTotalsOfASeriesAreConserved harmonises random values with random weights and adds up.
func TestTotalsOfASeriesAreConserved(t *testing.T) {
	t.Parallel()
	kommune, _ := norwayOf(t)
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 20 {
		o := history.SeriesOptions{
			To: 20240101,
			Weights: []history.Weights{history.RefuseWeights, history.PopulationWeights,
				history.SuppliedWeights}[r.IntN(3)],
		}
		d := history.Date(19720101 + 10000*r.IntN(52))
		var table strings.Builder
		table.WriteString("code,date,value\n")
		total := new(big.Rat)
		for _, v := range kommune.On(d) {
			value := fmt.Sprintf("%d.%0*d", r.IntN(1e6)-1000, 1+r.IntN(5), r.IntN(10))
			x, ok := new(big.Rat).SetString(value)
			if !ok {
				t.Fatal(value)
			}
			total.Add(total, x)
			fmt.Fprintf(&table, "%s,%s,%s\n", v.Code, d, value)
			if o.Weights == history.SuppliedWeights {
				to, err := kommune.Translate(v.Code, d, o.To)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range to {
					o.Supplied = append(o.Supplied,
						history.SuppliedWeight{Code: v.Code, To: x.Code, Weight: fmt.Sprint(1 + r.IntN(7))})
				}
			}
		}
		rows, report := harmonised(t, table.String(), o)
		placed := new(big.Rat)
		for line := range strings.Lines(rows) {
			f := strings.Split(line, ",")
			if x, ok := new(big.Rat).SetString(f[3]); ok {
				placed.Add(placed, x)
			} else if f[4] != "missing" {
				t.Fatalf("%s", line)
			}
		}
		rat := func(s string) *big.Rat { x, _ := new(big.Rat).SetString(s); return x }
		if rat(report.Total).Cmp(total) != 0 || rat(report.Placed).Cmp(placed) != 0 ||
			new(big.Rat).Add(placed, rat(report.LeftOut)).Cmp(total) != 0 {
			t.Errorf("%s of %s: %+v, want %s and %s", o.Weights, d, report, total.FloatString(6), placed.FloatString(6))
		}
		if o.Weights == history.SuppliedWeights && (report.Missing > 0 || rat(report.LeftOut).Sign() != 0) {
			t.Errorf("with all weights of %s: %+v", d, report)
		}
		if o.Weights == history.RefuseWeights && report.Estimated > 0 {
			t.Errorf("estimated without weights: %+v", report)
		}
	}
}

func TestASeriesThatIsWrongIsRefusedByRow(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]string{
		"":                        "heading: the table is empty",
		"code,day,value\n":        `heading: there is no column "date"; there are code, day, value`,
		"code,date,value,value\n": `heading: the column "value" stands twice; name each once`,
		"code,date,value\r0301,2024,1\r": "heading: the lines end with carriage returns alone; " +
			"save the table with line feeds",
		"code,date,value\n0301,2024,1e5\n": `row 1: "1e5" is no number; write digits, with a point before decimals`,
		"code,date,value\n0301,24,1\n":     `row 1: "24" is no day; write it as 2020-01-01`,
		"code,date,value\n0301,2024,1\n0301,2024,1\n": "row 2: 0301 on 2024-01-01 stands twice; " +
			"name the columns that tell the rows apart",
	} {
		var fault *history.SeriesFault
		_, _, err := harmonise(t, &strings.Builder{}, table, history.SeriesColumns{},
			history.SeriesOptions{To: 20240101})
		if !errors.As(err, &fault) || err.Error() != want {
			t.Errorf("%q: %v, want %s", table, err, want)
		}
	}
	told, r, err := harmonise(t, &strings.Builder{}, "code,date,value\n9999,2024,5\n1507,2024,2\n0301,2024,1\n",
		history.SeriesColumns{}, history.SeriesOptions{To: 20240101})
	if want := []string{"row 1: 9999 was not in use on 2024-01-01",
		"row 2: 1507 was not in use on 2024-01-01"}; err != nil ||
		!slices.Equal(told, want) ||
		r.Unknown != 2 ||
		r.LeftOut != "7" ||
		r.Placed != "1" {
		t.Errorf("%v %+v %v", told, r, err)
	}
	_, _, err = harmonise(t, &strings.Builder{}, "code,date,value\n0301,2024,5\n0301,2023,5\n", history.SeriesColumns{},
		history.SeriesOptions{To: 20240101, MaxCells: 1})
	if err == nil || !strings.Contains(err.Error(), "harmonise it in parts") {
		t.Errorf("too many: %v", err)
	}
}
